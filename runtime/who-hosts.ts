// Asking whether an actor is hosted by another node already.

import type { Address } from '../actors/actor.ts';
import type { Bus } from './bus/bus.ts';
import { decode, isJson } from './codec.ts';
import { WHO } from './endpoints.ts';
import { CellwrightError, NoRespondersError, TimeoutError } from './errors.ts';
import { HEADERS } from './frames.ts';
import { refuseOfStream } from './stream-answer.ts';

const WHO_TIMEOUT_MS = 1_000;

/** The node that hosts an actor; null: nobody listens there. */
async function hostOf(bus: Bus, subject: string): Promise<string | null> {
  try {
    const headers = { [HEADERS.type]: WHO };
    const { data } = await bus.request(subject, new Uint8Array(0), { timeoutMs: WHO_TIMEOUT_MS, headers });
    if (isJson(data)) refuseOfStream(subject, decode(data));
    return Buffer.from(data).toString();
  } catch (error) {
    if (error instanceof NoRespondersError) return null;
    throw error;
  }
}

/** One who is there and does not answer is taken for gone. */
export async function refuseIfHosted(bus: Bus, subject: string, address: Address): Promise<void> {
  try {
    refuse(address, await hostOf(bus, subject));
  } catch (error) {
    if (!(error instanceof TimeoutError)) throw error;
  }
}

/** Without leases: somebody who hears and says nothing may be the owner, held up. Most often it is a mere listener. */
export async function refuseIfHeard(bus: Bus, subject: string, address: Address): Promise<void> {
  try {
    refuse(address, await hostOf(bus, subject));
  } catch (error) {
    if (!(error instanceof TimeoutError)) throw error;
    const heard = `somebody listens on '${subject}', and did not say within ${WHO_TIMEOUT_MS} ms who it is`;
    const help = 'let it listen only once the node has started or, if it is a node that is held up, end that';
    throw new TimeoutError('', WHO_TIMEOUT_MS, `whether '${address}' is hosted is not known: ${heard}; ${help}`);
  }
}

function refuse(address: Address, node: string | null): void {
  if (node === null) return;
  throw new CellwrightError('already-hosted', `'${address}' is hosted by the node '${node}'`, { field: 'roles' });
}
