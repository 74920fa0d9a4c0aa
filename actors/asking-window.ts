// How much somebody is asked for at once: as much as he has answered within the last half second, or as he answers in
// time. Who is asked for more than that is asked again, for all of it, and his answers to the first questions are of no
// use: of sixteen thousand requests that came at once each was claimed for four times, and they took five times as long
// as they need; and on a processor that two others used, of four thousand that came at 300 a second none was built until
// those others had ended. What finds no room waits with the one who asks.

import type { SteadyTime } from './actor.ts';
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

/** Whoever answers nothing for so long may be gone, ms: to stand still for a second or two is no more than being busy. */
export const SILENT_AFTER_MS = 4_000;
/** How long an answer is expected at most to what takes up room no longer, ms. */
const FORGOTTEN_FOR_MS = 60_000;

interface Asked {
  /** Tells it from the same question put before. */
  readonly round: number;
  /** How many were put before it. */
  readonly number: number;
  readonly at: SteadyTime;
  readonly size: number;
  isGivenUp: boolean;
}

export class AskingWindow {
  /** The questions to which nothing was heard yet, oldest first. */
  readonly #asked = new PassingMap<string, Asked>();
  /** Their sizes together. */
  #size = 0;
  /** Those that take up room no longer, and may be answered all the same. */
  readonly #forgotten = new PassingMap<string, Asked>();
  /** How much was forgotten since anything was answered. */
  #forgottenSince = 0;
  /** For how much there is room because answers come in time. */
  #inTime = LEAST;
  /** How many were ever put. */
  #put = 0;
  /** The number of the latest of those that were answered. */
  #latestAnswered = -1;
  /** When one of them was answered last. */
  #heardAt: SteadyTime = Number.NEGATIVE_INFINITY;
  /** Which part of time is counted now; what was answered in it, and in the one before. */
  #part = 0;
  #answered = 0;
  #answeredBefore = 0;

  hasRoom(now: SteadyTime): boolean {
    this.#turnTo(now);
    if (this.#size >= this.#room) this.#forgetLost(now);
    return this.#size < this.#room || this.#asked.size < FEW;
  }

  /** A question was put, be it once more: what it was asked before counts no longer. */
  asked(question: string, size: number, now: SteadyTime, round = 0): void {
    const before = this.#take(question) ?? this.#forgotten.take(question);
    if (before !== undefined && now - before.at >= IN_TIME_MS) this.#learn(-before.size);
    this.#asked.set(question, { round, number: this.#put, at: now, size, isGivenUp: false });
    this.#put += 1;
    this.#size += size;
  }

  /** A question is answered, and nothing more will be heard of it. */
  heard(question: string, now: SteadyTime, round = 0): void {
    this.#turnTo(now);
    const asked = this.#asked.get(question) ?? this.#forgotten.get(question);
    if (asked === undefined) return;
    // Whoever answers an earlier round, which is of no use, is behind and not gone.
    this.#heardAt = now;
    this.#forgottenSince = 0;
    if (asked.round !== round) return;
    this.#take(question);
    this.#forgotten.delete(question);
    this.#answered += asked.size;
    this.#learn(now - asked.at < IN_TIME_MS ? asked.size : -asked.size);
    this.#latestAnswered = Math.max(this.#latestAnswered, asked.number);
  }

  /** It is to be put once more, whoever is at it. */
  giveUp(question: string): void {
    const asked = this.#asked.get(question) ?? this.#forgotten.get(question);
    if (asked !== undefined) asked.isGivenUp = true;
  }

  /**
   * Whether an answer is still to be expected, though it takes long: whoever was asked has answered others since, of
   * those that were put before. Asked again he would begin anew, and what he is at be in vain.
   */
  isUnderWay(question: string, now: SteadyTime): boolean {
    const asked = this.#asked.get(question) ?? this.#forgotten.get(question);
    if (asked === undefined || this.#heardAt <= asked.at || this.#isOvertaken(asked, now)) return false;
    return !asked.isGivenUp && now - this.#heardAt < SILENT_AFTER_MS;
  }

  /** How long it will take, by the pace of late, until so much more is answered, ms. */
  msFor(size: number, now: SteadyTime): number {
    this.#turnTo(now);
    return (size / Math.max(LEAST, this.#answered + this.#answeredBefore)) * 2 * PART_MS;
  }

  get #room(): number {
    return Math.max(LEAST, this.#inTime - this.#forgottenSince, this.#answered + this.#answeredBefore);
  }

  #learn(more: number): void {
    this.#inTime = Math.min(MOST_IN_TIME, Math.max(LEAST, this.#inTime + more));
  }

  #take(question: string): Asked | undefined {
    const asked = this.#asked.take(question);
    this.#size -= asked?.size ?? 0;
    return asked;
  }

  #forgetLost(now: SteadyTime): void {
    for (const [question, { at }] of this.#forgotten) {
      if (now - at < FORGOTTEN_FOR_MS) break;
      this.#forgotten.delete(question);
    }
    for (const [question, asked] of this.#asked) {
      if (!this.#isLost(asked, now)) return;
      this.#take(question);
      this.#forgotten.set(question, asked);
      this.#forgottenSince += asked.size;
    }
  }

  #isLost(asked: Asked, now: SteadyTime): boolean {
    if (this.#isOvertaken(asked, now)) return true;
    // Of somebody who is slow nothing is lost as long as he answers, in order.
    return now - asked.at >= LOST_AFTER_MS && now - this.#heardAt >= LOST_AFTER_MS;
  }

  /** By one that is answered. */
  #isOvertaken({ number, at }: Asked, now: SteadyTime): boolean {
    return this.#latestAnswered > number && now - at >= OVERTAKEN_AFTER_MS;
  }

  #turnTo(now: SteadyTime): void {
    const part = Math.floor(now / PART_MS);
    if (part === this.#part) return;
    this.#answeredBefore = part === this.#part + 1 ? this.#answered : 0;
    this.#answered = 0;
    this.#part = part;
  }
}
