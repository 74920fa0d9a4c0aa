// How much somebody is asked for at once: as much as he has answered within the last half second. Who is asked for more
// than he can answer in time is asked again, for all of it, and his answers to the first questions are of no use: of
// sixteen thousand requests that came at once each was claimed for four times, and they took five times as long as they
// need. What finds no room waits with the one who asks.

import { PassingMap } from './passing-map.ts';

/** There is always room for so much: nothing is known yet of how fast it is answered. */
const LEAST = 512;
/** And for so many questions, however large: there may be several to answer them, and each may take long. */
const FEW = 4;
/** Half of the time over which answers are counted, ms. */
const PART_MS = 250;
/** A question takes up room no longer, ms: it may be lost, with the one who was asked. */
export const LOST_AFTER_MS = 1_000;
/** As may one when others are answered that were put so much later, ms: whoever is busy answers in order. */
const OVERTAKEN_BY_MS = 250;

interface Asked {
  readonly at: number;
  readonly size: number;
}

export class AskingWindow {
  /** The questions to which nothing was heard yet, oldest first. */
  readonly #asked = new PassingMap<string, Asked>();
  /** Their sizes together. */
  #size = 0;
  /** When the latest of those was put that were answered. */
  #latestAnswered = Number.NEGATIVE_INFINITY;
  /** Which part of time is counted now; what was answered in it, and in the one before. */
  #part = 0;
  #answered = 0;
  #answeredBefore = 0;

  /** @param now By the clock of every other time that is told here, ms. */
  hasRoom(now: number): boolean {
    this.#turnTo(now);
    const room = Math.max(LEAST, this.#answered + this.#answeredBefore);
    if (this.#size >= room) this.#forgetLost(now);
    return this.#size < room || this.#asked.size < FEW;
  }

  /** A question was put, be it once more. */
  asked(question: string, size: number, now: number): void {
    this.#take(question);
    this.#asked.set(question, { at: now, size });
    // The clock may have been set back.
    if (this.#latestAnswered > now) this.#latestAnswered = Number.NEGATIVE_INFINITY;
    this.#size += size;
  }

  /** Something was heard of a question. */
  heard(question: string, now: number): void {
    this.#turnTo(now);
    const asked = this.#take(question);
    if (asked === undefined) return;
    this.#answered += asked.size;
    this.#latestAnswered = Math.max(this.#latestAnswered, asked.at);
  }

  /** How long it will take, by the pace of late, until so much more is answered, ms. */
  msFor(size: number): number {
    return (size / Math.max(LEAST, this.#answered + this.#answeredBefore)) * 2 * PART_MS;
  }

  #take(question: string): Asked | undefined {
    const asked = this.#asked.take(question);
    this.#size -= asked?.size ?? 0;
    return asked;
  }

  #forgetLost(now: number): void {
    for (const [question, { at }] of this.#asked) {
      const isLate = now < at || now - at >= LOST_AFTER_MS || this.#latestAnswered - at >= OVERTAKEN_BY_MS;
      if (!isLate) return;
      this.#take(question);
    }
  }

  #turnTo(now: number): void {
    const part = Math.floor(now / PART_MS);
    if (part === this.#part) return;
    this.#answeredBefore = part === this.#part + 1 ? this.#answered : 0;
    this.#answered = 0;
    this.#part = part;
  }
}
