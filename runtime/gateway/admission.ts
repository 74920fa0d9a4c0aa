// The admission of builds and deletions: a conductor shard is asked for no more of them at once than it takes in good time,
// and what is beyond that waits here, in the order in which it came. It would else be put to it again and again, by this
// process and by whoever asks, until its mailbox has no room for anything.

import { AskingWindow, LOST_AFTER_MS } from '../../actors/asking-window.ts';
import { PassingMap } from '../../actors/passing-map.ts';
import type { Clock } from '../clock.ts';
import { OverloadedError } from '../errors.ts';
import { stopping } from './asking.ts';

/** So many wait at most; more are turned away at once. */
const MOST_IN_LINE = 100_000;
/** Nobody waits longer, ms: somewhat less than clients do, so that they hear of it. */
const LONGEST_MS = 8_000;

interface Waiting {
  readonly request: string;
  readonly since: number;
  readonly admitted: Promise<void>;
  readonly admit: () => void;
  readonly refuse: (error: Error) => void;
}

export class Admission {
  readonly #clock: Clock;
  readonly #conductor: string;
  readonly #window = new AskingWindow();
  /** By their numbers, in order. */
  readonly #line = new PassingMap<number, Waiting>();
  /** The number of whoever waits for a request, the last one where there are several. */
  readonly #numbers = new PassingMap<string, number>();
  #joined = 0;
  #isTimed = false;
  #isStopped = false;

  /** @param conductor The address of the shard, for people. */
  constructor(clock: Clock, conductor: string) {
    this.#clock = clock;
    this.#conductor = conductor;
  }

  /**
   * Asks the shard when it is the request's turn.
   * @throws OverloadedError where too many wait, or it has waited for too long; `closed` when the node stops: the shard was
   * not asked.
   */
  async enter<Answer>(request: string, ask: () => Promise<Answer>): Promise<Answer> {
    const inLine = this.#join(request);
    if (inLine !== null) await inLine;
    try {
      return await ask();
    } finally {
      this.#window.heard(request, this.#clock.monotonic());
      this.#admit();
    }
  }

  #join(request: string): Promise<void> | null {
    if (this.#isStopped) throw stopping();
    const now = this.#clock.monotonic();
    if (this.#line.size === 0 && this.#window.hasRoom(now)) {
      this.#window.asked(request, 1, now);
      return null;
    }
    if (this.#line.size >= MOST_IN_LINE) throw overloaded(this.#conductor, this.#msToGo());
    let settle: Pick<Waiting, 'admit' | 'refuse'> | undefined;
    const admitted = new Promise<void>((admit, refuse) => {
      settle = { admit, refuse };
    });
    this.#joined += 1;
    this.#line.set(this.#joined, { request, since: now, admitted, ...(settle as NonNullable<typeof settle>) });
    this.#numbers.set(request, this.#joined);
    this.#lookAgain();
    return admitted;
  }

  /** Whoever waits is turned away, and whoever comes. */
  stop(): void {
    this.#isStopped = true;
    for (const waiting of this.#line.values()) waiting.refuse(stopping());
    this.#line.clear();
    this.#numbers.clear();
  }

  /** What is to be asked about a request that waits must not overtake it; null: it does not wait. */
  behind(request: string): Promise<void> | null {
    const number = this.#numbers.get(request);
    return number === undefined ? null : (this.#line.get(number) as Waiting).admitted.catch(() => undefined);
  }

  #admit(): void {
    const now = this.#clock.monotonic();
    // By the line as it was: whoever is turned away now would be told that nobody waits.
    const retryAfterMs = this.#msToGo();
    for (const [number, waiting] of this.#line) {
      const isLate = now - waiting.since >= LONGEST_MS;
      if (!isLate && !this.#window.hasRoom(now)) return;
      this.#line.delete(number);
      if (this.#numbers.get(waiting.request) === number) this.#numbers.delete(waiting.request);
      if (isLate) {
        waiting.refuse(overloaded(this.#conductor, retryAfterMs));
        continue;
      }
      this.#window.asked(waiting.request, 1, now);
      waiting.admit();
    }
  }

  /** Of a shard that does not answer nobody says that anything is over. */
  #lookAgain(): void {
    if (this.#isTimed) return;
    this.#isTimed = true;
    this.#clock.after(LOST_AFTER_MS, () => {
      this.#isTimed = false;
      this.#admit();
      if (this.#line.size > 0) this.#lookAgain();
    });
  }

  /** How long it will take, by the pace of late, until nobody waits, ms. */
  #msToGo(): number {
    return Math.max(
      LOST_AFTER_MS,
      Math.min(LONGEST_MS, Math.ceil(this.#window.msFor(this.#line.size, this.#clock.monotonic()))),
    );
  }
}

function overloaded(conductor: string, retryAfterMs: number): OverloadedError {
  const why = `'${conductor}' has more to do than it can; try again in ${retryAfterMs} ms`;
  return new OverloadedError(conductor, retryAfterMs, why);
}
