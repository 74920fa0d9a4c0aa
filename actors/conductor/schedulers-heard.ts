// Which schedulers answer of late. The queue group of all schedulers goes on dealing to one that is stopped or cut off for
// minutes, until the server takes it for gone: whatever is dealt to it waits until it is asked for again, after seconds.
// So once one was asked in vain, whoever has answered others meanwhile is asked rather than the group.

import type { Address } from '../actor.ts';

/** For so long after one was asked in vain, ms. */
export const DOUBTED_MS = 10_000;
/** One in so many questions goes to the group even so: whoever is new there, or there again, is heard of by that. */
const GROUP_TAKES_ONE_IN = 64;
/** Of many who answer all that are there are heard within this, ms. */
const OF_LATE_MS = 500;
/** Who was not heard for so long is forgotten, ms. */
const FORGOTTEN_AFTER_MS = 60_000;

export class SchedulersHeard {
  /** When each was heard last, ms. */
  readonly #heard = new Map<Address, number>();
  #latest: { readonly scheduler: Address; readonly at: number } | null = null;
  #doubtedAt = Number.NEGATIVE_INFINITY;
  /** How many questions somebody was picked for. */
  #picked = 0;

  /** @param now By the clock of every other time that is told here, ms. */
  heard(scheduler: Address, now: number): void {
    if (!this.#heard.has(scheduler)) this.#forgetBefore(now - FORGOTTEN_AFTER_MS);
    this.#heard.set(scheduler, now);
    this.#latest = { scheduler, at: now };
  }

  /** Somebody was asked in vain: the group may deal to one that is not there. */
  doubtGroup(now: number): void {
    this.#doubtedAt = now;
  }

  /** Who was heard last, if that was after then. */
  latestSince(at: number): Address | undefined {
    return this.#latest !== null && this.#latest.at > at ? this.#latest.scheduler : undefined;
  }

  /** One of those that answer of late, in turn; or who was heard last; if that was after then. */
  oneSince(at: number, now: number): Address | undefined {
    const there = [...this.#heard].filter(([, heardAt]) => heardAt > Math.max(at, now - OF_LATE_MS));
    this.#picked += 1;
    return there[this.#picked % there.length]?.[0] ?? this.latestSince(at);
  }

  /** Who is to be asked rather than the group, if anybody is. */
  insteadOfGroup(now: number): Address | undefined {
    if (now - this.#doubtedAt >= DOUBTED_MS) return undefined;
    const one = this.oneSince(now - DOUBTED_MS, now);
    return this.#picked % GROUP_TAKES_ONE_IN === 0 ? undefined : one;
  }

  /** The clock may have been set back: what was heard at a time that is still to come was not heard. */
  forgetFuture(now: number): void {
    if (this.#latest === null || this.#latest.at <= now) return;
    this.#latest = null;
    this.#heard.clear();
    this.#doubtedAt = Number.NEGATIVE_INFINITY;
  }

  #forgetBefore(at: number): void {
    for (const [scheduler, heardAt] of this.#heard) if (heardAt < at) this.#heard.delete(scheduler);
  }
}
