// `cellwright tap`: all traffic of a deployment as it passes, a readable line for each message. It subscribes below the
// prefix alone, so what JetStream and the inboxes say is not among it.

import type { Command } from 'commander';
import type { BusMessage } from '../bus/bus.ts';
import { connectNats } from '../bus/nats.ts';
import { HEADERS } from '../frames.ts';
import { checkToken, DEFAULT_PREFIX, subjectsOf } from '../subjects.ts';
import { systemClock } from '../system-clock.ts';
import { mentions, saidOrWhyNot } from './bodies.ts';
import { onInterrupt } from './interrupt.ts';
import { list } from './options.ts';

interface TapFlags {
  instance?: string;
  servers: string;
  prefix: string;
}

/** How much of a body a line shows, in characters. */
const MOST_SHOWN = 200;

export function addTap(program: Command): void {
  program
    .command('tap')
    .description('follow all traffic, a line for each message: time, subject, type, sender, body')
    .option('--instance <id>', 'only what names this instance')
    .option('--servers <urls>', 'the NATS server', 'nats://127.0.0.1:4222')
    .option('--prefix <prefix>', 'the first token of every subject', DEFAULT_PREFIX)
    .action(tap);
}

async function tap({ instance, servers, prefix }: TapFlags): Promise<void> {
  if (instance !== undefined) checkToken(instance, '--instance');
  const { prefix: checked } = subjectsOf(prefix);
  const interrupt = onInterrupt();
  const clock = systemClock();
  const bus = await connectNats({ servers: list(servers), name: 'tap' });
  bus.subscribe(`${checked}.>`, (message) => {
    for (const line of linesOf(message, clock.now(), instance, bus.maxPayloadBytes)) console.log(line);
  });
  await interrupt.happened;
  await bus.close();
}

/** The lines of a message of the bus: one for each message in its body that names the instance, if one is wanted. */
export function linesOf(
  { subject, data, headers }: BusMessage,
  at: number,
  instance: string | undefined,
  maxBytes: number,
): string[] {
  const time = new Date(at).toISOString().slice(11, 23);
  return saidOrWhyNot(data, maxBytes)
    .filter(({ message }) => instance === undefined || mentions(message, instance))
    .map(({ from, message }) => {
      const { type = headers[HEADERS.type] ?? '-', ...body } = message as { type?: unknown };
      const sender = from === '' ? (headers[HEADERS.from] ?? '-') : from;
      return `${time} ${subject} ${type} ${sender} ${shortened(body)}`;
    });
}

function shortened(body: object): string {
  const text = JSON.stringify(body);
  return text.length <= MOST_SHOWN ? text : `${text.slice(0, MOST_SHOWN - 1)}…`;
}
