// Asks the API for a command: connects, asks, and ends the connection, also when it is interrupted meanwhile.

import { unlessAborted } from '../abortable.ts';
import { type Connection, connect } from '../connect.ts';
import { checkRequest, type Verb } from '../gateway/requests.ts';
import { onInterrupt } from './interrupt.ts';
import { natsOf, type ServerFlags } from './server-flags.ts';
import { tell } from './tell.ts';

export interface ClientFlags extends ServerFlags {
  prefix: string;
}

/**
 * @param verb What is asked; the request is checked as the API would, before anything is connected to.
 * @throws CellwrightError `interrupted`: what was asked may have been done; what checking, connecting and asking throw.
 */
export async function withClient<Result>(
  flags: ClientFlags,
  verb: Verb,
  request: object,
  ask: (client: Connection) => Promise<Result>,
): Promise<Result> {
  checkRequest(verb, request);
  const interrupt = onInterrupt();
  const { signal } = interrupt;
  try {
    const client = await connect({ ...natsOf(flags), prefix: flags.prefix, signal, onError: tell });
    try {
      return await unlessAborted(ask(client), signal, 'the question');
    } finally {
      await client.close();
    }
  } finally {
    interrupt.dispose();
  }
}
