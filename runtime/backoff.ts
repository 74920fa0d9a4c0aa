// When to come back to somebody who is overloaded: when they say, later each time they say it again, and never all
// callers at once.

import type { Clock } from './clock.ts';
import { CellwrightError, TimeoutError } from './errors.ts';
import { sleep } from './pause.ts';
import type { Random } from './random.ts';

/** What is waited when nobody says, ms. */
const UNTOLD_MS = 100;
const MOST_DOUBLINGS = 6;

/** How long to wait before the next try, ms, after so many that came to nothing before this one. */
function comeBackMs({ retryAfterMs = UNTOLD_MS }: CellwrightError, tries: number, random: Random): number {
  // Half as early to half as late again: those who were turned away together come back apart.
  return Math.ceil(retryAfterMs * 2 ** Math.min(tries, MOST_DOUBLINGS) * (0.5 + random.next()));
}

/**
 * Calls again as long as the one who is called is overloaded, and has not taken the call, and there is time.
 * @param call Is told how much of the time is left, ms.
 * @throws What the call throws; when the time is over, that it is overloaded, or, if it is being called then, that it has not
 * answered, and what it said before.
 */
export async function untilTaken<Answer>(
  call: (leftMs: number) => Promise<Answer>,
  { clock, random, limitMs }: { clock: Clock; random: Random; limitMs: number },
): Promise<Answer> {
  const deadline = clock.monotonic() + limitMs;
  let said: string | undefined;
  for (let tries = 0; ; tries += 1) {
    try {
      return await call(Math.max(0, deadline - clock.monotonic()));
    } catch (error) {
      if (error instanceof TimeoutError && said !== undefined) {
        throw new TimeoutError('', limitMs, `${error.message}; before that it said: ${said}`);
      }
      if (!(error instanceof CellwrightError) || error.code !== 'overloaded') throw error;
      said = error.message;
      const pauseMs = comeBackMs(error, tries, random);
      if (clock.monotonic() + pauseMs >= deadline) throw error;
      await sleep(clock, pauseMs);
    }
  }
}
