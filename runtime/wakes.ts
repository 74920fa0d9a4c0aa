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
  readonly id: string;
  readonly of: ArmedWakes;
  timer: Timer;
  /** When the timer comes, and when the wake is due, which may be later. */
  comesAt: number;
  dueAt: number;
  /** Whose answer is waited for until then. */
  awaited: Address | undefined;
  /** It was brought forward. */
  isEarly: boolean;
  /** Its neighbours among those that await the same. */
  previous: Armed | undefined;
  next: Armed | undefined;
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

/**
 * The wakes of many actors by whose answer is awaited until then: of ten thousand actors with as many wakes few wait for
 * the one that comes up. They are chained, as many come and go with each build.
 */
export class AwaitedWakes {
  readonly #first = new PassingMap<Address, Armed>();

  add(armed: Armed): void {
    const { awaited } = armed;
    if (awaited === undefined) return;
    const next = this.#first.get(awaited);
    armed.next = next;
    if (next !== undefined) next.previous = armed;
    this.#first.set(awaited, armed);
  }

  remove(armed: Armed): void {
    const { awaited, previous, next } = armed;
    if (awaited === undefined) return;
    if (previous !== undefined) previous.next = next;
    else if (next !== undefined) this.#first.set(awaited, next);
    else this.#first.delete(awaited);
    if (next !== undefined) next.previous = previous;
    armed.previous = undefined;
    armed.next = undefined;
  }

  /** Brings forward the wakes until which an answer of `who` is awaited. */
  cameUp(who: Address): void {
    for (const armed of this.of(who)) armed.of.bringForward(armed);
  }

  *of(who: Address): Generator<Armed> {
    for (let armed = this.#first.get(who); armed !== undefined; armed = armed.next) yield armed;
  }
}

/** @param awaiting Where it is noted whose answers are awaited; several actors may share it. */
export function wakesOf(clock: Clock, wake: OnWake, awaiting = new AwaitedWakes()): Wakes {
  return new ArmedWakes(clock, wake, awaiting);
}

/** A class, for a process may have thousands of them: its methods are made once. */
class ArmedWakes implements Wakes {
  readonly #wakes = new PassingMap<string, Armed>();
  readonly #clock: Clock;
  readonly #wake: OnWake;
  readonly #awaiting: AwaitedWakes;

  constructor(clock: Clock, wake: OnWake, awaiting: AwaitedWakes) {
    this.#clock = clock;
    this.#wake = wake;
    this.#awaiting = awaiting;
  }

  /** Most are put off before they are due, as a build goes on: their timers are left to come, and are set anew then. */
  arm(id: string, afterMs: number, awaited?: Address): void {
    const armed = this.#wakes.get(id);
    if (armed === undefined) return this.#armNew(id, afterMs, awaited);
    this.#putOff(armed, afterMs);
    armed.isEarly = false;
    if (armed.awaited === awaited) return;
    this.#awaiting.remove(armed);
    armed.awaited = awaited;
    this.#awaiting.add(armed);
  }

  #armNew(id: string, afterMs: number, awaited: Address | undefined): void {
    const dueAt = this.#clock.monotonic() + afterMs;
    const timer = this.#clock.after(afterMs, () => this.#timerCame(id));
    const armed: Armed = {
      id,
      of: this,
      timer,
      comesAt: dueAt,
      dueAt,
      awaited,
      isEarly: false,
      previous: undefined,
      next: undefined,
    };
    this.#wakes.set(id, armed);
    this.#awaiting.add(armed);
  }

  #putOff(armed: Armed, afterMs: number): void {
    const dueAt = this.#clock.monotonic() + afterMs;
    armed.dueAt = dueAt;
    if (armed.comesAt <= dueAt) return;
    armed.timer.cancel();
    armed.comesAt = dueAt;
    armed.timer = this.#clock.after(afterMs, () => this.#timerCame(armed.id));
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
    this.#awaiting.remove(armed);
    this.#wake(id, armed.isEarly);
  }

  cancel(id: string): void {
    const armed = this.#wakes.take(id);
    if (armed === undefined) return;
    armed.timer.cancel();
    this.#awaiting.remove(armed);
  }

  cancelAll(): void {
    for (const armed of this.#wakes.values()) {
      armed.timer.cancel();
      this.#awaiting.remove(armed);
    }
    this.#wakes.clear();
  }

  cameUp(who?: Address): void {
    for (const armed of who === undefined ? this.#wakes.values() : this.#awaiting.of(who)) {
      if (armed.of === this && armed.awaited !== undefined) this.bringForward(armed);
    }
  }

  bringForward(armed: Armed): void {
    const soonMs = fnv1a(armed.id) % SAID_AGAIN_WITHIN_MS;
    if (this.#clock.monotonic() + soonMs < armed.dueAt) this.#putOff(armed, soonMs);
    armed.isEarly = true;
  }
}
