// When to come back to somebody who is overloaded: when they say, later each time they say it again, and never all
// callers at once.

import type { CellwrightError } from './errors.ts';
import type { Random } from './random.ts';

/** What is waited when nobody says, ms. */
const UNTOLD_MS = 100;
const MOST_DOUBLINGS = 6;

/** How long to wait before the next try, ms, after so many that came to nothing before this one. */
export function comeBackMs({ retryAfterMs = UNTOLD_MS }: CellwrightError, tries: number, random: Random): number {
  // Half as early to half as late again: those who were turned away together come back apart.
  return Math.ceil(retryAfterMs * 2 ** Math.min(tries, MOST_DOUBLINGS) * (0.5 + random.next()));
}
