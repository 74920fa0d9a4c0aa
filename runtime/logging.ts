// What a node says of itself goes to a logger: the caller's, or warnings and errors to stderr. What becomes of it must
// not end what it is about: the disk of the logs may be full, and the caller's logger may throw.

import pino, { type Logger } from 'pino';

/** What is written together to stderr, and kept while it cannot be written, bytes; what comes then is dropped. */
const MAX_KEPT_BYTES = 1_000_000;
const LEVELS = ['info', 'warn', 'error', 'fatal'] as const satisfies (keyof Logger)[];

/** A logger that never fails: the given one, or one that writes warnings and errors to stderr, as JSON lines. */
export function unfailingLogger(given: Logger | undefined): Logger {
  const logger: Logger = given ?? toStderr();
  const unfailing: Logger = Object.create(logger);
  for (const level of LEVELS) {
    unfailing[level] = (...said: readonly unknown[]): void => {
      try {
        const done: unknown = (logger[level] as (...said: readonly unknown[]) => unknown).apply(
          logger,
          said as unknown[],
        );
        // It may be anybody's code: one that writes by and by may fail by and by.
        if (done instanceof Promise) done.catch(() => undefined);
      } catch {
        // There is nobody left to tell.
      }
    };
  }
  return unfailing;
}

function toStderr(): Logger {
  const destination = pino.destination({ dest: 2, sync: true, maxLength: MAX_KEPT_BYTES });
  return pino({ name: 'cellwright', level: 'warn' }, destination);
}
