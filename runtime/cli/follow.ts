// Follows all traffic for `cellwright tap`. It subscribes below the prefix alone, so what JetStream and the inboxes say
// is not among it.

import { clipped } from '../../actors/messages/common.ts';
import type { BusMessage } from '../bus/bus.ts';
import { connectNats } from '../bus/nats.ts';
import { shownAddresses } from '../bus/nats-addresses.ts';
import type { NatsStatus } from '../bus/nats-options.ts';
import { HEADERS } from '../frames.ts';
import { checkToken, subjectsOf } from '../subjects.ts';
import { systemClock } from '../system-clock.ts';
import { mentions, saidOrWhyNot } from './bodies.ts';
import { onInterrupt } from './interrupt.ts';
import { natsOf, type ServerFlags } from './server-flags.ts';
import { tell } from './tell.ts';
import { printable } from './text.ts';

export interface TapFlags extends ServerFlags {
  instance?: string;
  prefix: string;
}

/** How much of a body a line shows, in characters. */
const MOST_SHOWN = 200;

/** @throws CellwrightError `permission-denied` when the server does not allow it; what connecting throws. */
export async function follow(flags: TapFlags): Promise<void> {
  const { instance, servers, prefix } = flags;
  if (instance !== undefined) checkToken(instance, '--instance');
  const { prefix: checked } = subjectsOf(prefix);
  const interrupt = onInterrupt();
  const clock = systemClock();
  const onStatus = (status: NatsStatus) => tellGap(status, clock.now());
  const bus = await connectNats({ ...natsOf(flags), name: 'tap', signal: interrupt.signal, onError: tell, onStatus });
  const all = `${checked}.>`;
  const show = (message: BusMessage): void => {
    for (const line of linesOf(message, clock.now(), instance, bus.maxPayloadBytes)) console.log(printable([line]));
  };
  try {
    /** Also later, when the server's users are changed. */
    const forbidden = new Promise<never>((_, reject) => {
      bus.subscribe(all, show, { onForbidden: reject });
    });
    // The server says no before it answers this.
    await Promise.race([bus.flush(), interrupt.happened, forbidden]);
    // Not on stdout, which is for the traffic alone.
    console.error(`following '${all}' at ${shownAddresses(servers)}`);
    await Promise.race([interrupt.happened, forbidden]);
  } finally {
    interrupt.dispose();
    await bus.close();
  }
}

/** What is said while the server is away is not shown: nobody shall take that for silence. */
function tellGap(status: NatsStatus, at: number): void {
  if (status.type === 'disconnected') {
    console.error(`${timeOf(at)} disconnected from ${status.server}: what is said now is not shown`);
  } else if (status.type === 'reconnected') {
    console.error(`${timeOf(at)} connected again, to ${status.server}`);
  }
}

function timeOf(at: number): string {
  return new Date(at).toISOString().slice(11, 23);
}

/** The lines of a message of the bus: one for each message in its body that names the instance, if one is wanted. */
export function linesOf(
  { subject, data, headers }: BusMessage,
  at: number,
  instance: string | undefined,
  maxBytes: number,
): string[] {
  const time = timeOf(at);
  return saidOrWhyNot(data, maxBytes)
    .filter(({ message }) => instance === undefined || mentions(message, instance))
    .map(({ from, message }) => {
      const { type, ...others } = message as { type?: unknown };
      const isNamed = typeof type === 'string';
      const name = isNamed ? type : (headers[HEADERS.type] ?? '-');
      const sender = from === '' ? (headers[HEADERS.from] ?? '-') : from;
      const body = JSON.stringify(isNamed || type === undefined ? others : message);
      return `${time} ${subject} ${name} ${sender} ${clipped(body, MOST_SHOWN)}`;
    });
}
