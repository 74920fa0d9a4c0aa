// The wakes that an actor has asked for, by their ids. They go by the clock that nobody sets.

import type { Address } from '../actors/actor.ts';
import { PassingMap } from '../actors/passing-map.ts';
import { fnv1a } from '../actors/routing.ts';
import type { Clock, Timer } from './clock.ts';

/** Over how long it is spread what is said again to somebody who came up anew, ms. */
const SAID_AGAIN_WITHIN_MS = 200;

/** A wake that comes so little early is in time, ms: sums of times are rounded. */
const IN_TIME_MS = 0.01;

interface Armed {
  timer: Timer;
  /** When the timer comes, and when the wake is due, which may be later. */
  comesAt: number;
  dueAt: number;
  /** Whose answer is waited for until then. */
  awaited: Address | undefined;
  /** It was brought forward. */
  isEarly: boolean;
}

/** @param isEarly Whether it was brought forward. */
type OnWake = (id: string, isEarly: boolean) => void;

export interface Wakes {
  /** Has `wake` called with the id once, `afterMs` from now; a second call for the same id replaces the first. */
  arm(id: string, afterMs: number, awaited?: Address): void;
  cancel(id: string): void;
  cancelAll(): void;
  /** Brings forward the wakes until which somebody's answer is awaited; of everybody where nobody is named. */
  cameUp(who?: Address): void;
}

export function wakesOf(clock: Clock, wake: OnWake): Wakes {
  return new ArmedWakes(clock, wake);
}

/** A class, for a process may have thousands of them: its methods are made once. */
class ArmedWakes implements Wakes {
  readonly #wakes = new PassingMap<string, Armed>();
  readonly #clock: Clock;
  readonly #wake: OnWake;

  constructor(clock: Clock, wake: OnWake) {
    this.#clock = clock;
    this.#wake = wake;
  }

  /** Most are put off before they are due, as a build goes on: their timers are left to come, and are set anew then. */
  arm(id: string, afterMs: number, awaited?: Address): void {
    this.#arm(id, afterMs, awaited, false);
  }

  #arm(id: string, afterMs: number, awaited: Address | undefined, isEarly: boolean): void {
    const dueAt = this.#clock.monotonic() + afterMs;
    const armed = this.#wakes.get(id);
    if (armed !== undefined && armed.comesAt <= dueAt) {
      armed.dueAt = dueAt;
      armed.awaited = awaited;
      armed.isEarly = isEarly;
      return;
    }
    armed?.timer.cancel();
    const timer = this.#clock.after(afterMs, () => this.#timerCame(id));
    this.#wakes.set(id, { timer, comesAt: dueAt, dueAt, awaited, isEarly });
  }

  #timerCame(id: string): void {
    const armed = this.#wakes.get(id) as Armed;
    const leftMs = armed.dueAt - this.#clock.monotonic();
    if (leftMs >= IN_TIME_MS) {
      armed.comesAt = armed.dueAt;
      armed.timer = this.#clock.after(leftMs, () => this.#timerCame(id));
      return;
    }
    this.#wakes.delete(id);
    this.#wake(id, armed.isEarly);
  }

  cancel(id: string): void {
    this.#wakes.take(id)?.timer.cancel();
  }

  cancelAll(): void {
    for (const { timer } of this.#wakes.values()) timer.cancel();
    this.#wakes.clear();
  }

  cameUp(who?: Address): void {
    const now = this.#clock.monotonic();
    for (const [id, armed] of this.#wakes) {
      const { dueAt, awaited } = armed;
      if (awaited === undefined || (who !== undefined && awaited !== who)) continue;
      const soonMs = fnv1a(id) % SAID_AGAIN_WITHIN_MS;
      if (now + soonMs < dueAt) this.#arm(id, soonMs, awaited, true);
      else armed.isEarly = true;
    }
  }
}
