// What a start of a node waits for, such as a server that is slow to answer, and for how long.

import { SparseSet } from '../actors/sparse-set.ts';
import type { Clock } from './clock.ts';
import { CellwrightError, messageOf } from './errors.ts';
import { sleep } from './pause.ts';

/** How long a start waits for what may pass, ms. */
export const PATIENCE_MS = 30_000;
/**
 * How long it waits, ms, for a JetStream that is not there: the link to a server that has one may not be up yet, but
 * mostly nobody has turned it on.
 */
const PATIENCE_FOR_JETSTREAM_MS = 5_000;
/** How long it pauses between two tries at the most, ms. */
export const MOST_PAUSE_MS = 2_000;

/** Whether waiting may mend it. */
export function mayPass(error: unknown): boolean {
  return error instanceof CellwrightError && error.retryable;
}

type OnError = (error: unknown, what: string) => void;

/** Tells of each reason once, however often what waits for it fails of it. */
export function eachOnce(onError: OnError): OnError {
  const told = new SparseSet<string>();
  return (error, what) => {
    const reason = `${what}: ${messageOf(error)}`;
    if (told.has(reason)) return;
    told.add(reason);
    onError(error, what);
  };
}

/**
 * Tries again what fails of something that may pass, and reports each reason once.
 * @throws What it fails of for good, or after half a minute; `no-jetstream` after five seconds.
 */
export async function patiently<Result>(
  work: () => Promise<Result>,
  { clock, what, onError }: { clock: Clock; what: string; onError: OnError },
): Promise<Result> {
  const from = clock.monotonic();
  const tell = eachOnce(onError);
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const limitMs = (error as { code?: string }).code === 'no-jetstream' ? PATIENCE_FOR_JETSTREAM_MS : PATIENCE_MS;
      if (!mayPass(error) || clock.monotonic() - from >= limitMs) throw error;
      tell(error, what);
      await sleep(clock, MOST_PAUSE_MS / 2);
    }
  }
}
