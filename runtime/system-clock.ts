// The clock of production: the machine's wall clock, its timers, and its event loop.
// The only file that may read Date or set a timer for the runtime.

import type { Clock, Timer } from './clock.ts';
import { CellwrightError } from './errors.ts';
import { timerHeap } from './timer-heap.ts';

/** setTimeout takes 31 bits of milliseconds and turns anything above into 1 ms. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/** The time of day is read in whole milliseconds: a difference of so many is no sign that it was set. */
const UNSET_WITHIN_MS = 2;

/**
 * How often what was asked for `soon` in a tick is run in that same tick: a turn, then the sending of what it lets out.
 * More would keep input and output waiting.
 */
const ROUNDS_IN_TICK = 3;

/**
 * The time of day is the wall clock's; timers go by one that nobody sets, so that all that is said again after a while
 * is, however the time of day is changed meanwhile. `soon` is the next turn of the event loop, so input and output go on
 * between ticks. A pending timer keeps the process alive until it is cancelled.
 */
export function systemClock(): Clock {
  const steady = timers();
  const now = () => Date.now();
  /** By how much the time of day is ahead of the clock that nobody sets: the same for all timers until it is set. */
  let ahead = now() - performance.now();
  const steadyTimeOf = (time: number) => {
    // Between two readings the process may be held up for a while.
    const before = performance.now();
    const wall = now();
    const after = performance.now();
    if (ahead < wall - after - UNSET_WITHIN_MS || ahead > wall - before + UNSET_WITHIN_MS) ahead = wall - after;
    return time - ahead;
  };
  return {
    now,
    at(time, wake) {
      if (!Number.isFinite(time)) throw new CellwrightError('bad-time', `a clock cannot reach the time ${time}`);
      return steady(steadyTimeOf(time), wake);
    },
    monotonic: () => performance.now(),
    after(delayMs, wake) {
      // Among the others it would stand nowhere, and upset their order.
      if (Number.isNaN(delayMs)) throw new CellwrightError('bad-time', 'a clock cannot wait for NaN ms');
      return steady(performance.now() + Math.max(delayMs, 0), wake);
    },
    soon: ticks(),
  };
}

/**
 * Timers by the monotonic clock. Nearly all of them are deadlines that are met: they stand in a heap, where setting and
 * cancelling one costs next to nothing, and the event loop is asked for the earliest only.
 */
function timers(): (time: number, wake: () => void) => Timer {
  const now = () => performance.now();
  const heap = timerHeap();
  let handle: NodeJS.Timeout | undefined;
  let armedFor = Number.POSITIVE_INFINITY;

  function arm(): void {
    const first = heap.peek();
    if (first === undefined || first.at >= armedFor) return;
    clearTimeout(handle);
    armedFor = first.at;
    handle = setTimeout(fire, Math.min(Math.max(first.at - now(), 0), LONGEST_TIMEOUT_MS));
  }

  // A long wait takes several timeouts; and a timeout may end a millisecond before its time.
  function fire(): void {
    armedFor = Number.POSITIVE_INFINITY;
    const until = now();
    try {
      for (let first = heap.peek(); first !== undefined && first.at <= until; first = heap.peek()) heap.take()?.();
    } finally {
      arm();
    }
  }

  return (time, wake) => {
    const timer = heap.add(time, wake);
    // Without timers the event loop need not wait; the one that it was asked for comes to nothing.
    if (heap.size() === 1) handle?.ref();
    arm();
    return {
      cancel() {
        heap.cancel(timer);
        if (heap.size() === 0) handle?.unref();
      },
    };
  };
}

/** Runs tasks in the order in which they came, those of one tick together, so that what they send goes out as one. */
function ticks(): (task: () => void) => void {
  let waiting: (() => void)[] = [];
  let asked = false;

  function ask(): void {
    if (asked || waiting.length === 0) return;
    asked = true;
    setImmediate(tick);
  }

  function tick(): void {
    let tasks: (() => void)[] = [];
    let next = 0;
    try {
      for (let round = 0; round < ROUNDS_IN_TICK && waiting.length > 0; round += 1) {
        tasks = waiting;
        waiting = [];
        for (next = 0; next < tasks.length; ) (tasks[next++] as () => void)();
      }
    } finally {
      // After one that threw, the others still have their turn.
      if (next < tasks.length) waiting = [...tasks.slice(next), ...waiting];
      asked = false;
      ask();
    }
  }

  return (task) => {
    waiting.push(task);
    ask();
  };
}
