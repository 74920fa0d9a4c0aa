// Performs `cellwright explain` and its like, by the API.

import type { Client } from '../client.ts';
import { hostAndCellOf, type Verb } from '../gateway/requests.ts';
import { withFlagsIn } from './hints.ts';
import { deploymentWords } from './server-flags.ts';
import { printable } from './text.ts';
import { type ClientFlags, withClient } from './with-client.ts';

export interface AskFlags extends ClientFlags {
  json?: boolean;
}

export async function explain(id: string, flags: AskFlags): Promise<void> {
  await answered(flags, 'explain', { id }, (client) => client.explain(id));
}

/** @param host Its name, or `<cell>/<host>`. */
export async function whyNot(id: string, host: string, flags: AskFlags): Promise<void> {
  const request = { id, host };
  hostAndCellOf(request);
  const { there, now, silentCell } = await answered(flags, 'why-not', request, (client) => client.whyNot(request));
  // As with other questions, 2 is that it is not known.
  if (silentCell !== undefined && (there === null || now === null)) process.exitCode = 2;
}

/** Prints an answer: its words, or all of it as JSON. */
export async function answered<Answer extends { words: readonly string[] }>(
  flags: AskFlags,
  verb: Verb,
  request: object,
  ask: (client: Client) => Promise<Answer>,
): Promise<Answer> {
  const answer = await withClient(flags, verb, request, ask);
  const deployment = deploymentWords(flags);
  const lines = () => printable(answer.words.map((line) => withFlagsIn(line, deployment)));
  console.log(flags.json === true ? JSON.stringify(answer, null, 2) : lines());
  return answer;
}
