// Waiting for a condition, never for a time.

import type { VirtualClock } from '../../runtime/virtual-clock.ts';

const POLL_MS = 2;

/** Resolves when `condition` holds. @throws Error naming `what` when it does not within `timeoutMs`. */
export async function until(what: string, condition: () => boolean, timeoutMs = 60_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`still not so after ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** The error with which `work` fails. @throws Error when it does not. */
export async function failureOf(work: () => unknown): Promise<Error & { code?: string }> {
  try {
    await work();
  } catch (error) {
    if (error instanceof Error) return error;
    throw new Error(`threw no Error but ${String(error)}`);
  }
  throw new Error('did not fail');
}

/** Lets virtual time pass until `work` is over, and answers as it does. */
export async function settled<T>(clock: VirtualClock, work: Promise<T>): Promise<T> {
  let over = false;
  const end = () => {
    over = true;
  };
  work.then(end, end);
  await clock.runAsync(() => over);
  return work;
}
