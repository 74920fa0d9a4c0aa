// Performs `cellwright explain` and its like, by the API.

import type { Client } from '../client.ts';
import { printable } from './text.ts';
import { type ClientFlags, withClient } from './with-client.ts';

export interface AskFlags extends ClientFlags {
  json?: boolean;
}

export async function explain(id: string, flags: AskFlags): Promise<void> {
  await answered(flags, (client) => client.explain(id));
}

/** @param host Its name, or `<cell>/<host>`. */
export async function whyNot(id: string, host: string, flags: AskFlags): Promise<void> {
  await answered(flags, (client) => client.whyNot({ id, host }));
}

/** Prints an answer: its words, or all of it as JSON. */
export async function answered<Answer extends { words: readonly string[] }>(
  flags: AskFlags,
  ask: (client: Client) => Promise<Answer>,
): Promise<Answer> {
  const answer = await withClient(flags, ask);
  console.log(flags.json === true ? JSON.stringify(answer, null, 2) : printable(answer.words));
  return answer;
}
