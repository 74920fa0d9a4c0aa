// The clock of simulations and in-memory replays: time stands still while code runs, then jumps to the next
// timer. The same calls in the same order give the same run. It may not read Date, Math.random or set timers.

import type { Clock } from './clock.ts';
import { CellwrightError } from './errors.ts';
import { timerHeap } from './timer-heap.ts';

/** A run is taken to go round in circles after this many tasks and timers. */
const DEFAULT_MAX_STEPS = 10_000_000;

export interface VirtualClockOptions {
  /** Where time begins, in milliseconds since the epoch; default 0. */
  startMs?: number;
}

interface RunLimits {
  /** Tasks and timers to run at most; default 10 million. One more is an error, as it shows an endless loop. */
  maxSteps?: number;
}

/** A clock of which time passes only when it is told to: for simulations and tests. */
export interface VirtualClock extends Clock {
  /** Tasks and timers that have not run and are not cancelled. */
  readonly pending: number;
  /** When the next timer is due, in milliseconds since the epoch; undefined when there is none. */
  readonly nextAt: number | undefined;
  /**
   * Runs one thing: the oldest task, or when there is none the next timer, moving time to it.
   * @returns false when there was nothing to run.
   */
  step(): boolean;
  /**
   * Runs everything due up to and including `at`, and leaves the time there. Going back is not possible.
   * @throws CellwrightError `bad-time`, `clock-runaway`.
   */
  advanceTo(at: number, limits?: RunLimits): void;
  /**
   * Runs until nothing is left, or nothing before or at `untilMs`; the time stays at the last thing run.
   * @returns How many tasks and timers ran.
   * @throws CellwrightError `clock-runaway`.
   */
  runUntilIdle(limits?: RunLimits & { untilMs?: number }): number;
  /**
   * For code that awaits promises: as `runUntilIdle`, but lets every promise continuation run before time
   * moves, and ends when `until()` holds.
   * @throws CellwrightError `clock-idle` when nothing is left to run and `until()` still does not hold;
   * `clock-runaway`.
   */
  runAsync(until: () => boolean, limits?: RunLimits): Promise<void>;
}

/** What a task throws comes out of the call that ran it; that task is gone and the clock can go on. */
export function virtualClock({ startMs = 0 }: VirtualClockOptions = {}): VirtualClock {
  let now = checked(startMs);
  const timers = timerHeap();
  // Tasks run from `batch` while new ones gather in `gathering`; then the two change places.
  let batch: (() => void)[] = [];
  let done = 0;
  let gathering: (() => void)[] = [];

  const tasks = (): number => batch.length - done + gathering.length;

  const runTask = (): boolean => {
    if (done === batch.length) {
      batch.length = 0;
      done = 0;
      [batch, gathering] = [gathering, batch];
      if (batch.length === 0) return false;
    }
    const task = batch[done++] as () => void;
    task();
    return true;
  };

  const runTimer = (untilMs: number): boolean => {
    const next = timers.peek();
    if (next === undefined || next.at > untilMs) return false;
    now = Math.max(now, next.at);
    timers.take()?.();
    return true;
  };

  const run = (untilMs: number, maxSteps: number): number => {
    let steps = 0;
    while (runTask() || runTimer(untilMs)) {
      if (++steps > maxSteps) throw runaway(maxSteps);
    }
    return steps;
  };

  return {
    now: () => now,
    at(at, wake) {
      const timer = timers.add(checked(at), wake);
      return { cancel: () => timers.cancel(timer) };
    },
    monotonic: () => now,
    after(delayMs, wake) {
      const timer = timers.add(checked(now + delayMs), wake);
      return { cancel: () => timers.cancel(timer) };
    },
    soon(task) {
      gathering.push(task);
    },
    get pending() {
      return tasks() + timers.size();
    },
    get nextAt() {
      return timers.peek()?.at;
    },
    step: () => runTask() || runTimer(Infinity),
    advanceTo(at, { maxSteps = DEFAULT_MAX_STEPS } = {}) {
      if (checked(at) < now) throw new CellwrightError('bad-time', `time cannot go back from ${now} to ${at}`);
      run(at, maxSteps);
      now = at;
    },
    runUntilIdle: ({ untilMs = Infinity, maxSteps = DEFAULT_MAX_STEPS } = {}) => run(untilMs, maxSteps),
    async runAsync(until, { maxSteps = DEFAULT_MAX_STEPS } = {}) {
      for (let steps = 0; !until(); steps++) {
        if (steps >= maxSteps) throw runaway(maxSteps);
        if (runTask()) continue;
        // A turn of the event loop: all promise continuations, however long their chains, run before it.
        await new Promise(setImmediate);
        if (tasks() > 0 || until()) continue;
        if (!runTimer(Infinity)) {
          throw new CellwrightError('clock-idle', 'nothing is left to run and the awaited condition does not hold');
        }
      }
    },
  };
}

function checked(time: number): number {
  // NaN would break the order of the heap silently.
  if (!Number.isFinite(time)) throw new CellwrightError('bad-time', `a clock cannot reach the time ${time}`);
  return time;
}

function runaway(maxSteps: number): CellwrightError {
  return new CellwrightError('clock-runaway', `the clock did not come to rest within ${maxSteps} steps`);
}
