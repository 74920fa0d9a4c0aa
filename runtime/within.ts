// Waiting for work that may never end.

import type { Clock } from './clock.ts';

/** Waits for the end of `work`, good or bad, but not longer than that; answers whether it has ended. */
export async function within(limitMs: number, work: Promise<unknown>, clock: Clock): Promise<boolean> {
  return new Promise<boolean>((resolve) => {
    const timer = clock.after(limitMs, () => resolve(false));
    const ended = (): void => {
      timer.cancel();
      resolve(true);
    };
    work.then(ended, ended);
  });
}
