// Performs `cellwright explain` and its like, by the API.

import { type Connection, connect } from '../connect.ts';
import { natsOf, type ServerFlags } from './server-flags.ts';
import { printable } from './text.ts';

export interface AskFlags extends ServerFlags {
  prefix: string;
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
  ask: (client: Connection) => Promise<Answer>,
): Promise<Answer> {
  const { prefix, json = false } = flags;
  const client = await connect({ ...natsOf(flags), prefix });
  try {
    const answer = await ask(client);
    console.log(json ? JSON.stringify(answer, null, 2) : printable(answer.words));
    return answer;
  } finally {
    await client.close();
  }
}
