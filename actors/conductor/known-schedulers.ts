// Which schedulers there are, and how much each was asked for by name. The queue group of all schedulers goes on dealing to
// one that is stopped or cut off for minutes, until the server takes it for gone; what is dealt to it waits until it is
// asked for again, after seconds. So once one was asked in vain, questions are put to schedulers by name for a while, each
// to the one that owes the fewest answers: whoever is slow is asked for less, and whoever is not there for next to nothing.

import type { Address, SteadyTime } from '../actor.ts';
import { PassingMap } from '../passing-map.ts';

/** For at least so long after one was asked in vain, ms. */
export const BY_NAME_MS = 10_000;
/** One in so many new questions goes to the group all the same: so somebody new is heard of. */
const GROUP_TAKES_ONE_IN = 64;
/** And until so many were not in vain: where requests come seldom, one is in doubt for longer. */
export const BY_NAME_QUESTIONS = 3 * GROUP_TAKES_ONE_IN;
/** But for no longer than this after one was asked in vain, ms: the server has taken whoever is gone for gone by then. */
export const BY_NAME_MOST_MS = 600_000;
/** Who was not heard for so long is asked only if none other was heard since, ms. */
const LATELY_MS = 60_000;
/** Who was not heard for so long is forgotten, ms. */
const FORGOTTEN_AFTER_MS = BY_NAME_MOST_MS;

/** All that are told that a scheduler has come up are told within this, ms. */
const TOLD_WITHIN_MS = 500;
/** What was on its way when a question was put comes within this, ms. */
export const ON_ITS_WAY_MS = 100;

interface Known {
  readonly scheduler: Address;
  heardAt: SteadyTime;
  /** How many questions were put to it by name that are not settled. */
  owes: number;
  /** How many questions it owed in vain, or may have owed, since anything was heard of it. */
  inVain: number;
  /** How often somebody had been picked when it was picked last. */
  pickedAt: number;
}

export class KnownSchedulers {
  readonly #known = new Map<Address, Known>();
  /** Whom a question was put to by name. */
  readonly #askedOf = new PassingMap<string, Known>();
  #latest: { readonly scheduler: Address; readonly at: SteadyTime } | null = null;
  /** When somebody was asked in vain last, and how many new questions had been dealt by then. */
  #inVainAt = Number.NEGATIVE_INFINITY;
  #dealtByThen = 0;
  #cameUpAt = Number.NEGATIVE_INFINITY;
  /** How often somebody was picked. */
  #picked = 0;
  /** How many new questions were put by name, or to the group in their stead. */
  #dealt = 0;

  heard(scheduler: Address, now: SteadyTime): void {
    this.#latest = { scheduler, at: now };
    const known = this.#known.get(scheduler);
    if (known !== undefined) {
      known.heardAt = now;
      known.inVain = 0;
      return;
    }
    for (const [other, { heardAt }] of this.#known) {
      if (now - heardAt >= FORGOTTEN_AFTER_MS) this.#known.delete(other);
    }
    this.#known.set(scheduler, { scheduler, heardAt: now, owes: 0, inVain: 0, pickedAt: 0 });
  }

  /**
   * A scheduler has come up, under whatever name: it may be any of those that were not heard since, which is no more then.
   * Answers whether that is news: many are told of it, one after the other. Who was asked for since the last one came up is
   * told of yet another.
   */
  cameUp(now: SteadyTime, askedAt: SteadyTime = Number.NEGATIVE_INFINITY): boolean {
    const isOfAnother = askedAt >= this.#cameUpAt && now - askedAt >= ON_ITS_WAY_MS;
    const isNews = isOfAnother || now - this.#cameUpAt >= TOLD_WITHIN_MS;
    if (isNews) this.#cameUpAt = now;
    return isNews;
  }

  /** When a scheduler came up last, as far as that is known. */
  get cameUpAt(): SteadyTime {
    return this.#cameUpAt;
  }

  /** Who was heard last, if that was after then. */
  latestSince(at: SteadyTime): Address | undefined {
    return this.#latest !== null && this.#latest.at > at ? this.#latest.scheduler : undefined;
  }

  /** A question is put to a scheduler, or to the group. */
  asked(question: string, scheduler: Address | undefined): void {
    this.settled(question);
    const known = scheduler === undefined ? undefined : this.#known.get(scheduler);
    if (known === undefined) return;
    this.#askedOf.set(question, known);
    known.owes += 1;
  }

  /** A question was answered, by whomever, or is not put any more. */
  settled(question: string): void {
    const known = this.#askedOf.take(question);
    if (known !== undefined) known.owes -= 1;
  }

  /** A question that was put then is to be put again, as nobody answers it. */
  askedInVain(question: string, askedAt: SteadyTime, now: SteadyTime): void {
    this.#inVainAt = now;
    this.#dealtByThen = this.#dealt;
    const byName = this.#askedOf.get(question);
    if (byName !== undefined) {
      if (byName.heardAt <= askedAt) byName.inVain += 1;
      return;
    }
    // Whom the group dealt it to is not known: it may be any of those that were not heard since.
    for (const known of this.#known.values()) if (known.heardAt <= askedAt) known.inVain += 1;
  }

  /**
   * Another than the one who was asked before: one that was heard after then, or whoever is the likeliest to be there.
   * @param askedBefore Who had the question before the group had it: whom that dealt it to is not known.
   */
  another(question: string, at: SteadyTime, now: SteadyTime, askedBefore?: Address): Address | undefined {
    const before = this.#askedOf.get(question)?.scheduler ?? askedBefore;
    return this.#leastOwing(Math.max(at, this.#cameUpAt), before) ?? this.#likeliest(now, before);
  }

  /** Who is to be asked rather than the group, if anybody is. */
  insteadOfGroup(now: SteadyTime): Address | undefined {
    const isCertain = this.#dealt - this.#dealtByThen >= BY_NAME_QUESTIONS;
    if (now - this.#inVainAt >= (isCertain ? BY_NAME_MS : BY_NAME_MOST_MS)) return undefined;
    this.#dealt += 1;
    if (this.#dealt % GROUP_TAKES_ONE_IN === 0) return undefined;
    return this.#leastOwing(Math.max(this.#cameUpAt, now - LATELY_MS), undefined) ?? this.#likeliest(now, undefined);
  }

  /** Of several that owe as little, the one that was picked longest ago. */
  #leastOwing(heardAfter: SteadyTime, butFor: Address | undefined): Address | undefined {
    let least: Known | undefined;
    for (const known of this.#known.values()) {
      if (known.heardAt <= heardAfter || known.scheduler === butFor) continue;
      const less = least === undefined ? -1 : known.owes + known.inVain - (least.owes + least.inVain);
      if (less > 0 || (less === 0 && known.pickedAt > (least as Known).pickedAt)) continue;
      least = known;
    }
    this.#picked += 1;
    if (least !== undefined) least.pickedAt = this.#picked;
    return least?.scheduler;
  }

  /** Who was asked in vain least often since it was heard; of several, the one that was heard last. */
  #likeliest(now: SteadyTime, butFor: Address | undefined): Address | undefined {
    // One that was not heard since another came up may be that one, which has another name now.
    const heardAfter = Math.max(this.#cameUpAt, now - FORGOTTEN_AFTER_MS);
    let likeliest: Known | undefined;
    for (const known of this.#known.values()) {
      if (known.scheduler === butFor || known.heardAt <= heardAfter) continue;
      const less = likeliest === undefined ? -1 : known.inVain - likeliest.inVain;
      if (less < 0 || (less === 0 && known.heardAt > (likeliest as Known).heardAt)) likeliest = known;
    }
    return likeliest?.scheduler;
  }
}
