// The clock port: the only place from which the runtime learns the time or asks to be woken.
// Simulation and in-memory replays put a VirtualClock here; nothing else may read Date or set a timer.

export interface Timer {
  cancel(): void;
}

/** What time it is, and wakes: all that the runtime knows of time. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /**
   * Calls `wake` once, at or after the time `at` (milliseconds since the epoch), as far off as it is now: when the time
   * of day is set meanwhile, `now` may say something else by then.
   */
  at(at: number, wake: () => void): Timer;
  /**
   * Milliseconds since some moment of the past. Never goes back and does not jump when the time of day is set: for
   * measuring how long something has lasted.
   */
  monotonic(): number;
  /** Calls `wake` once, `delayMs` from now, however the time of day is set meanwhile. */
  after(delayMs: number, wake: () => void): Timer;
  /** Runs `task` soon, after what is running now: the tick in which all ready actors take their turns. */
  soon(task: () => void): void;
}
