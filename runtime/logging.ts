// What a node says of itself goes to a logger: the caller's, or warnings and errors to stderr. What becomes of it must
// not end what it is about: the disk of the logs may be full, and the caller's logger may throw.

import pino, { type Logger } from 'pino';
import { unfailing } from './unfailing.ts';

/** What is kept while it cannot be written to stderr, bytes; what comes then is dropped. */
const MAX_KEPT_BYTES = 1_000_000;
const LEVELS = ['info', 'warn', 'error', 'fatal'] as const satisfies (keyof Logger)[];

/** A logger that never fails: the given one, or one that writes warnings and errors to stderr, as JSON lines. */
export function unfailingLogger(given: Logger | undefined): Logger {
  const logger: Logger = given ?? toStderr();
  const quietly = (level: (typeof LEVELS)[number]) => ({
    value: unfailing((...said: readonly unknown[]) => Reflect.apply(logger[level], logger, said)),
  });
  // Not by setting them: the given one may be frozen, or a module, and is nobody's to change.
  return Object.create(logger, Object.fromEntries(LEVELS.map((level) => [level, quietly(level)])));
}

function toStderr(): Logger {
  const destination = pino.destination({ dest: 2, sync: true, maxLength: MAX_KEPT_BYTES });
  return pino({ name: 'cellwright', level: 'warn' }, destination);
}
