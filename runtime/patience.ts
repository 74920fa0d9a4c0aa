// What a start of a node waits for, such as a server that is slow to answer, and for how long.

import type { Clock } from './clock.ts';
import { CellwrightError } from './errors.ts';

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

/**
 * Tries again what fails of something that may pass, and reports each failure.
 * @throws What it fails of for good, or after half a minute; `no-jetstream` after five seconds.
 */
export async function patiently<Result>(
  work: () => Promise<Result>,
  { clock, what, onError }: { clock: Clock; what: string; onError(error: unknown, what: string): void },
): Promise<Result> {
  const from = clock.monotonic();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const limitMs = (error as { code?: string }).code === 'no-jetstream' ? PATIENCE_FOR_JETSTREAM_MS : PATIENCE_MS;
      if (!mayPass(error) || clock.monotonic() - from >= limitMs) throw error;
      onError(error, what);
      await new Promise<void>((resolve) => clock.after(MOST_PAUSE_MS / 2, resolve));
    }
  }
}
