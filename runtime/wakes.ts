// The wakes that an actor has asked for, by their ids. They go by the clock that nobody sets.

import type { Address } from '../actors/actor.ts';
import { PassingMap } from '../actors/passing-map.ts';
import { fnv1a } from '../actors/routing.ts';
import type { Clock, Timer } from './clock.ts';

/** Over how long it is spread what is said again to somebody who came up anew, ms. */
const SAID_AGAIN_WITHIN_MS = 200;

/** A wake that comes so little early is in time, ms: sums of times are rounded. */
const IN_TIME_MS = 1;

interface Armed {
  timer: Timer;
  /** When the timer comes, and when the wake is due, which may be later. */
  comesAt: number;
  dueAt: number;
  /** Whose answer is waited for until then. */
  awaited: Address | undefined;
}

export interface Wakes {
  /** Has `wake` called with the id once, `afterMs` from now; a second call for the same id replaces the first. */
  arm(id: string, afterMs: number, awaited?: Address): void;
  cancel(id: string): void;
  cancelAll(): void;
  /** Brings forward the wakes until which somebody's answer is awaited; of everybody where nobody is named. */
  cameUp(who?: Address): void;
}

export function wakesOf(clock: Clock, wake: (id: string) => void): Wakes {
  const wakes = new PassingMap<string, Armed>();

  /** Most are put off before they are due, as a build goes on: their timers are left to come, and are set anew then. */
  function arm(id: string, afterMs: number, awaited?: Address): void {
    const dueAt = clock.monotonic() + afterMs;
    const armed = wakes.get(id);
    if (armed !== undefined && armed.comesAt <= dueAt) {
      armed.dueAt = dueAt;
      armed.awaited = awaited;
      return;
    }
    armed?.timer.cancel();
    wakes.set(id, { timer: clock.after(afterMs, () => timerCame(id)), comesAt: dueAt, dueAt, awaited });
  }

  function timerCame(id: string): void {
    const armed = wakes.get(id) as Armed;
    const leftMs = armed.dueAt - clock.monotonic();
    if (leftMs >= IN_TIME_MS) {
      armed.comesAt = armed.dueAt;
      armed.timer = clock.after(leftMs, () => timerCame(id));
      return;
    }
    wakes.delete(id);
    wake(id);
  }

  return {
    arm,
    cancel(id) {
      wakes.take(id)?.timer.cancel();
    },
    cancelAll() {
      for (const { timer } of wakes.values()) timer.cancel();
      wakes.clear();
    },
    cameUp(who) {
      const now = clock.monotonic();
      for (const [id, { dueAt, awaited }] of wakes) {
        if (awaited === undefined || (who !== undefined && awaited !== who)) continue;
        const soonMs = fnv1a(id) % SAID_AGAIN_WITHIN_MS;
        if (now + soonMs < dueAt) arm(id, soonMs, awaited);
      }
    },
  };
}
