// Waiting by the clock port: for a time, and for a condition. It sets no timer of its own.

import type { Clock } from '../clock.ts';
import { CellwrightError } from '../errors.ts';

/** The error with which a replay ends when its caller interrupts it. */
export function interrupted(): CellwrightError {
  return new CellwrightError('interrupted', 'the replay was interrupted');
}

/** @throws CellwrightError `interrupted`. */
export function throwIfInterrupted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw interrupted();
}

/**
 * Waits for this many milliseconds of the clock.
 * @throws CellwrightError `interrupted` as soon as the signal says so.
 */
export function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(interrupted());
    const onAbort = () => {
      timer.cancel();
      reject(interrupted());
    };
    const timer = clock.at(clock.now() + ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

export interface UntilOptions {
  readonly clock: Clock;
  /** How long to wait at most, ms. The last look is taken when it is over. */
  readonly limitMs: number;
  /** How long to wait before the second look, ms; each wait after it is twice as long, up to `mostMs`. */
  readonly firstMs: number;
  /** The longest wait between two looks, ms. */
  readonly mostMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Looks until what is seen is `good`, or the limit is reached; answers what was seen last. */
export async function lookUntil<Seen>(
  look: () => Promise<Seen>,
  good: (seen: Seen) => boolean,
  { clock, limitMs, firstMs, mostMs, signal }: UntilOptions,
): Promise<Seen> {
  const deadline = clock.now() + limitMs;
  for (let waitMs = firstMs; ; waitMs = Math.min(mostMs, waitMs * 2)) {
    throwIfInterrupted(signal);
    const seen = await look();
    if (good(seen) || clock.now() >= deadline) return seen;
    await pause(clock, Math.min(waitMs, deadline - clock.now()), signal);
  }
}
