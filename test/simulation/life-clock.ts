// The clock of one life of an actor: it can be held up, as a process that is stopped, and then everything that became
// due meanwhile is done when it goes on. It may be fast or slow by some time, as clocks of machines are. It counts the
// steps of its actor, so that one can be ended between any two.

import type { Clock } from '../../runtime/clock.ts';

export interface LifeClock extends Clock {
  readonly held: boolean;
  /** Does something now, or when it goes on: what comes from outside. */
  arrive(task: () => void): void;
  hold(): void;
  /** Sets the time of day forward, or back when it is negative; what is waited for still comes after as long. */
  set(byMs: number): void;
  /** Goes on, and does what became due. */
  resume(): void;
  /** Nothing of what is due is done any more. */
  end(): void;
  /** Called after each step. */
  onStep: (() => void) | null;
}

/** @param fastMs How far it is ahead of the world's clock, ms; negative when it is behind. */
export function lifeClock(world: Clock, fastMs: number): LifeClock {
  let ahead = fastMs;
  let held = false;
  let ended = false;
  let parked: (() => void)[] = [];

  function run(task: () => void): void {
    if (ended) return;
    if (held) {
      parked.push(task);
      return;
    }
    task();
    clock.onStep?.();
  }

  const clock: LifeClock = {
    onStep: null,
    now: () => world.now() + ahead,
    at(at, wake) {
      let cancelled = false;
      const timer = world.at(at - ahead, () =>
        run(() => {
          if (!cancelled) wake();
        }),
      );
      return {
        cancel() {
          cancelled = true;
          timer.cancel();
        },
      };
    },
    monotonic: () => world.monotonic(),
    after: (delayMs, wake) => clock.at(clock.now() + delayMs, wake),
    soon(task) {
      world.soon(() => run(task));
    },
    arrive: run,
    get held() {
      return held;
    },
    hold() {
      held = true;
    },
    set(byMs) {
      ahead += byMs;
    },
    resume() {
      held = false;
      const due = parked;
      parked = [];
      for (const task of due) world.soon(() => run(task));
    },
    end() {
      ended = true;
      parked = [];
    },
  };
  return clock;
}
