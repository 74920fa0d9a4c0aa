// Waiting for a time, by the clock port; also unless a signal comes first.

import type { Clock } from './clock.ts';
import { CellwrightError } from './errors.ts';

/** A time that is waited for. */
export interface Limit {
  /** Resolves when it is over; fails with `interrupted` as soon as the signal says so. */
  readonly over: Promise<void>;
  /** It is over now. */
  end(): void;
}

/** Resolves when so much time is over. */
export function sleep(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => clock.after(ms, resolve));
}

/** @param what What is interrupted, for the error. */
export function interruption(what: string): CellwrightError {
  return new CellwrightError('interrupted', `${what} was interrupted`);
}

/** @param what What waits, for the error. */
export function limitOf(clock: Clock, ms: number, what: string, signal?: AbortSignal): Limit {
  let end = () => {};
  const over = new Promise<void>((resolve, reject) => {
    if (signal?.aborted === true) return reject(interruption(what));
    const onAbort = () => {
      timer.cancel();
      reject(interruption(what));
    };
    end = () => {
      timer.cancel();
      signal?.removeEventListener('abort', onAbort);
      resolve();
    };
    const timer = clock.after(ms, () => end());
    signal?.addEventListener('abort', onAbort, { once: true });
  });
  return { over, end: () => end() };
}
