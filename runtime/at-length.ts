// Work that may take seconds, such as to read a large state, in steps: others have their turns in between, and leases are
// renewed. However many such works there are by one clock, one of them goes on at a time.

import type { Clock } from './clock.ts';

/** How long all of them hold others up at a time, ms. */
const MAX_MS = 20;

/** Those that wait to go on, by the clock that they go by. */
const waitingBy = new WeakMap<Clock, (() => void)[]>();

/** Does all steps: at once where they are few. Resolves with undefined where the work came to be wanted no more. */
export function atLength<Result>(
  clock: Clock,
  steps: Iterator<void, Result>,
  isWanted: () => boolean,
): Result | Promise<Result | undefined> {
  const waiting = waitingBy.get(clock) ?? [];
  waitingBy.set(clock, waiting);
  const ended = waiting.length === 0 ? someOf(steps, clock) : undefined;
  return ended === undefined ? othersOf(steps, clock, waiting, isWanted) : ended.value;
}

async function othersOf<Result>(
  steps: Iterator<void, Result>,
  clock: Clock,
  waiting: (() => void)[],
  isWanted: () => boolean,
): Promise<Result | undefined> {
  for (;;) {
    await pause(clock, waiting);
    if (!isWanted()) return undefined;
    const ended = someOf(steps, clock);
    if (ended !== undefined) return ended.value;
  }
}

/** Goes on for as long as others may be held up; answers what comes of the work when it is over. */
function someOf<Result>(steps: Iterator<void, Result>, clock: Clock): { readonly value: Result } | undefined {
  const begunAt = clock.monotonic();
  do {
    const { done, value } = steps.next();
    if (done === true) return { value };
  } while (clock.monotonic() - begunAt < MAX_MS);
  return undefined;
}

function pause(clock: Clock, waiting: (() => void)[]): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) letOn(clock, waiting);
  });
}

/** One more goes on after what is due meanwhile. */
function letOn(clock: Clock, waiting: (() => void)[]): void {
  clock.after(0, () => {
    waiting.shift()?.();
    if (waiting.length > 0) letOn(clock, waiting);
  });
}
