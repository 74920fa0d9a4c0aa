// What the server forbids is asked of it again after a while.

import type { NatsConnection } from 'nats';
import type { Clock, Timer } from '../clock.ts';

/**
 * After which the server is asked again to let this user hear what it forbade, in milliseconds: the client takes it for
 * an answer for good, and an operator who mends the permissions would find a process that is deaf, and owns what it owned.
 */
const FORBIDDEN_PAUSE_MS = 5_000;

export class Pauses {
  readonly #clock: Clock;
  readonly #connection: NatsConnection;
  readonly #timers = new Set<Timer>();
  #isEnded = false;

  constructor(clock: Clock, connection: NatsConnection) {
    this.#clock = clock;
    this.#connection = connection;
  }

  /** Nothing is asked any more of a server that is left, whatever it still says. */
  get isOver(): boolean {
    return this.#isEnded || this.#connection.isClosed();
  }

  after(work: () => void): Timer | undefined {
    if (this.#isEnded) return undefined;
    const timer = this.#clock.after(FORBIDDEN_PAUSE_MS, () => {
      this.#timers.delete(timer);
      if (!this.isOver) work();
    });
    this.#timers.add(timer);
    return timer;
  }

  cancel(timer: Timer | undefined): void {
    timer?.cancel();
    if (timer !== undefined) this.#timers.delete(timer);
  }

  /** The bus is being closed. */
  end(): void {
    this.#isEnded = true;
    for (const timer of this.#timers) timer.cancel();
  }
}
