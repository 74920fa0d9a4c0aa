// Waiting by the clock port: for a time, and for a condition. It sets no timer of its own.

import { setMaxListeners } from 'node:events';
import type { Clock } from '../clock.ts';
import { interruption, limitOf } from '../pause.ts';

const WHAT = 'the replay';

/** @throws CellwrightError `interrupted`. */
export function throwIfInterrupted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw interruption(WHAT);
}

/** A signal that follows the caller's, and to which any number of waits may listen. */
export function followingSignal(signal: AbortSignal | undefined): { signal: AbortSignal; dispose(): void } {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  const abort = () => controller.abort();
  if (signal?.aborted === true) abort();
  signal?.addEventListener('abort', abort, { once: true });
  return { signal: controller.signal, dispose: () => signal?.removeEventListener('abort', abort) };
}

/**
 * Waits for this many milliseconds of the clock.
 * @throws CellwrightError `interrupted` as soon as the signal says so.
 */
export function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return limitOf(clock, ms, WHAT, signal).over;
}

/**
 * Waits for the end of `work`, but not longer than `limitMs`.
 * @throws CellwrightError `interrupted` as soon as the signal says so; what `work` throws.
 */
export async function atMost(clock: Clock, limitMs: number, work: Promise<void>, signal?: AbortSignal): Promise<void> {
  const limit = limitOf(clock, limitMs, WHAT, signal);
  try {
    await Promise.race([work, limit.over]);
  } finally {
    limit.end();
  }
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
  const deadline = clock.monotonic() + limitMs;
  for (let waitMs = firstMs; ; waitMs = Math.min(mostMs, waitMs * 2)) {
    throwIfInterrupted(signal);
    const seen = await look();
    const leftMs = deadline - clock.monotonic();
    if (good(seen) || leftMs <= 0) return seen;
    await pause(clock, Math.min(waitMs, leftMs), signal);
  }
}
