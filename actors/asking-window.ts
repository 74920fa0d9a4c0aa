// How much somebody is asked for at once: as much as he has answered within the last half second, or as he answers in
// time. Who is asked for more than that is asked again, for all of it, and his answers to the first questions are of no
// use: of sixteen thousand requests that came at once each was claimed for four times, and they took five times as long
// as they need; and on a processor that two others used, of four thousand that came at 300 a second none was built until
// those others had ended. What finds no room waits with the one who asks.

import { PassingMap } from './passing-map.ts';

/** There is always room for so much: nothing is known yet of how fast it is answered. */
export const LEAST = 64;
/** And for as much more as was answered in time since it last was not, up to this, however seldom the answers come. */
export const MOST_IN_TIME = 512;
/** Those that take longer come when the same is about to be asked again, with the usual patience, ms. */
export const IN_TIME_MS = 1_500;
/** And for so many questions, however large: there may be several to answer them, and each may take long. */
const FEW = 4;
/** Half of the time over which answers are counted, ms. */
const PART_MS = 250;
/** A question takes up room no longer, when none is answered for so long, ms: it may be lost, with the one who was asked. */
export const LOST_AFTER_MS = 1_000;
/** Nor does one longer than this when one is answered that was put later, ms: whoever is busy answers in order. */
const OVERTAKEN_AFTER_MS = 250;

interface Asked {
  /** How many were put before it. */
  readonly number: number;
  readonly at: number;
  readonly size: number;
}

export class AskingWindow {
  /** The questions to which nothing was heard yet, oldest first. */
  readonly #asked = new PassingMap<string, Asked>();
  /** Their sizes together. */
  #size = 0;
  /** Those that take up room no longer, but may be answered in time all the same. */
  readonly #forgotten = new PassingMap<string, Asked>();
  /** For how much there is room because answers come in time. */
  #inTime = LEAST;
  /** How many were ever put. */
  #put = 0;
  /** The number of the latest of those that were answered. */
  #latestAnswered = -1;
  /** When one of them was answered last. */
  #heardAt = Number.NEGATIVE_INFINITY;
  /** Which part of time is counted now; what was answered in it, and in the one before. */
  #part = 0;
  #answered = 0;
  #answeredBefore = 0;

  /** @param now By the clock of every other time that is told here, ms. */
  hasRoom(now: number): boolean {
    this.#turnTo(now);
    if (this.#size >= this.#room) this.#forgetLost(now);
    return this.#size < this.#room || this.#asked.size < FEW;
  }

  /** A question was put, be it once more. */
  asked(question: string, size: number, now: number): void {
    this.#take(question);
    this.#forgotten.delete(question);
    this.#asked.set(question, { number: this.#put, at: now, size });
    this.#put += 1;
    this.#size += size;
  }

  /** Something was heard of a question. */
  heard(question: string, now: number): void {
    this.#turnTo(now);
    const isForgotten = this.#forgotten.has(question);
    const asked = this.#take(question) ?? this.#forgotten.take(question);
    // Of one that takes long more may be heard again and again, while whatever came after it is lost.
    if (asked === undefined) return;
    this.#heardAt = now;
    this.#answered += asked.size;
    const { at, size } = asked;
    const isInTime = now - at < IN_TIME_MS;
    // What was forgotten was taken for lost.
    if (isForgotten) this.#learn(isInTime ? 2 * size : 0);
    else this.#learn(isInTime ? size : -size);
    this.#latestAnswered = Math.max(this.#latestAnswered, asked.number);
  }

  /**
   * Whether an answer is still to be expected, though it takes long: whoever was asked has answered others since, of
   * those that were put before. Asked again he would begin anew, and what he is at be in vain.
   */
  isUnderWay(question: string, now: number): boolean {
    const asked = this.#asked.get(question);
    return asked !== undefined && this.#heardAt > asked.at && !this.#isLost(asked, now);
  }

  /** How long it will take, by the pace of late, until so much more is answered, ms. */
  msFor(size: number): number {
    return (size / this.#room) * 2 * PART_MS;
  }

  get #room(): number {
    return Math.max(this.#inTime, this.#answered + this.#answeredBefore);
  }

  #learn(more: number): void {
    this.#inTime = Math.min(MOST_IN_TIME, Math.max(LEAST, this.#inTime + more));
  }

  #take(question: string): Asked | undefined {
    const asked = this.#asked.take(question);
    this.#size -= asked?.size ?? 0;
    return asked;
  }

  #forgetLost(now: number): void {
    for (const [question, { at }] of this.#forgotten) {
      if (now >= at && now - at < IN_TIME_MS) break;
      this.#forgotten.delete(question);
    }
    for (const [question, asked] of this.#asked) {
      if (!this.#isLost(asked, now)) return;
      this.#take(question);
      this.#forgotten.set(question, asked);
      this.#learn(-asked.size);
    }
  }

  /** Of somebody who is slow nothing is lost as long as he answers, in order. The clock may have been set back. */
  #isLost({ number, at }: Asked, now: number): boolean {
    if (now < at || (this.#latestAnswered > number && now - at >= OVERTAKEN_AFTER_MS)) return true;
    if (this.#heardAt > now) this.#heardAt = Number.NEGATIVE_INFINITY;
    return now - Math.max(at, this.#heardAt) >= LOST_AFTER_MS;
  }

  #turnTo(now: number): void {
    const part = Math.floor(now / PART_MS);
    if (part === this.#part) return;
    this.#answeredBefore = part === this.#part + 1 ? this.#answered : 0;
    this.#answered = 0;
    this.#part = part;
  }
}
