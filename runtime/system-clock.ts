// The clock of production: the machine's wall clock, its timers, and its event loop.
// The only file that may read Date or set a timer for the runtime.

import type { Clock, Timer } from './clock.ts';
import { CellwrightError } from './errors.ts';

/** setTimeout takes 31 bits of milliseconds and turns anything above into 1 ms. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * A clock that follows the wall clock. `soon` is the next turn of the event loop, so input and output go on
 * between ticks. A pending timer keeps the process alive until it is cancelled.
 */
export function systemClock(): Clock {
  return {
    now: Date.now,
    at,
    monotonic: () => performance.now(),
    after,
    soon: (task) => void setImmediate(task),
  };
}

function after(delayMs: number, wake: () => void): Timer {
  const handle = setTimeout(wake, Math.min(Math.max(delayMs, 0), LONGEST_TIMEOUT_MS));
  return { cancel: () => clearTimeout(handle) };
}

function at(time: number, wake: () => void): Timer {
  if (!Number.isFinite(time)) throw new CellwrightError('bad-time', `a clock cannot reach the time ${time}`);
  let handle: NodeJS.Timeout;
  const arm = (): void => {
    handle = setTimeout(check, Math.min(Math.max(time - Date.now(), 0), LONGEST_TIMEOUT_MS));
  };
  // A long wait takes several timeouts; and a timeout may end a millisecond before Date.now() gets there.
  const check = (): void => {
    if (Date.now() < time) arm();
    else wake();
  };
  arm();
  return { cancel: () => clearTimeout(handle) };
}
