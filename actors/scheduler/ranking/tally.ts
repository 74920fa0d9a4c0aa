// How many hosts that numbers tell of have room for a request, and what the others are the first to lack: whole boxes are
// counted where all of their hosts are alike in that.

import type { Box } from './boxes.ts';
import type { Reason } from './census.ts';
import type { Column } from './families.ts';
import { LEAST, type Member, MOST } from './family-numbers.ts';

/** The hosts that lack a class, or may not give as much of it in one allocation. */
export interface Lacking {
  readonly reason: Reason;
  readonly hosts: number;
  readonly nearest: { readonly slot: number; readonly short: number };
}

/** A class that is asked for, and what is known of those that lack it. */
interface Asked {
  readonly amount: number;
  /** How much of it a host must have. */
  readonly total: number;
  /** Where boxes have their bounds of its measures. */
  readonly at: number;
  readonly column: Column;
  readonly short: Lack;
  readonly beyondUnit: Lack;
}

interface Lack {
  readonly reason: Reason;
  readonly isBeyondUnit: boolean;
  hosts: number;
  /** The nearest, by how much it falls short, and its tie. */
  slot: number;
  least: number;
  tie: number;
}

export class Tally {
  readonly #asked: readonly Asked[];
  readonly #ties: readonly number[];

  constructor({ known, demands }: Member) {
    this.#ties = known.slots.commonTies;
    this.#asked = demands.map(({ amount, total, column, at }): Asked => {
      const { resourceClass: about } = column;
      const lack = (code: string, isBeyondUnit: boolean): Lack => {
        const reason = { code, about, message: undefined };
        return { reason, isBeyondUnit, hosts: 0, slot: -1, least: Number.POSITIVE_INFINITY, tie: 0 };
      };
      return {
        amount,
        total,
        at,
        column,
        short: lack('exceeds-capacity', false),
        beyondUnit: lack('unit-constraint', true),
      };
    });
  }

  /** What hosts lack, of which there are any. */
  lacking(): readonly Lacking[] {
    const found: Lacking[] = [];
    for (const { short, beyondUnit } of this.#asked) {
      for (const { reason, hosts, slot, least } of [short, beyondUnit]) {
        if (hosts > 0) found.push({ reason, hosts, nearest: { slot, short: least } });
      }
    }
    return found;
  }

  /** Counts the hosts of a box; answers how many have all that is asked of the first so many classes. */
  count(box: Box, classes = this.#asked.length): number {
    return this.#countFrom(0, classes, box);
  }

  /** Of hosts that all have the classes before a place. */
  #countFrom(from: number, classes: number, box: Box): number {
    const { bounds, division } = box;
    for (let place = from; place < classes; place += 1) {
      const asked = this.#asked[place] as Asked;
      const { amount, total, at } = asked;
      const isAllowed = amount <= (bounds[at + LEAST.maxUnit] as number);
      if (isAllowed && total <= (bounds[at + LEAST.free] as number)) continue;
      if (amount > (bounds[at + MOST.maxUnit] as number)) return this.#countLacking(box, asked, asked.beyondUnit);
      if (isAllowed && total > (bounds[at + MOST.free] as number)) return this.#countLacking(box, asked, asked.short);
      if (division === null) return this.#countEach(place, classes, box.slots as number[]);
      return this.#countFrom(place, classes, division.lower) + this.#countFrom(place, classes, division.upper);
    }
    return box.count;
  }

  #countEach(from: number, classes: number, slots: readonly number[]): number {
    let having = 0;
    for (const slot of slots) {
      let place = from;
      for (; place < classes; place += 1) {
        const asked = this.#asked[place] as Asked;
        const { amount, total, column } = asked;
        const isBeyondUnit = amount > (column.maxUnit[slot] as number);
        if (!isBeyondUnit && total <= (column.free[slot] as number)) continue;
        const lack = isBeyondUnit ? asked.beyondUnit : asked.short;
        lack.hosts += 1;
        this.#comeNear(slot, asked, lack);
        break;
      }
      if (place === classes) having += 1;
    }
    return having;
  }

  /** All hosts of a box lack a class, and none has all. */
  #countLacking(box: Box, asked: Asked, lack: Lack): 0 {
    lack.hosts += box.count;
    if (box.count > 0) this.#seekNearest(box, asked, lack);
    return 0;
  }

  #seekNearest({ bounds, commonTie, division, slots }: Box, asked: Asked, lack: Lack): void {
    const { at } = asked;
    const left = Math.floor(bounds[at + MOST.free] as number);
    const least = shortBy(asked, lack.isBeyondUnit, left, bounds[at + MOST.maxUnit] as number);
    if (least > lack.least || (least === lack.least && commonTie >= lack.tie)) return;
    if (division === null) {
      for (const slot of slots as number[]) this.#comeNear(slot, asked, lack);
      return;
    }
    const { lower, upper } = division;
    // The sooner one is found that is near, the fewer boxes are looked into.
    const more = (upper.bounds[at + MOST.free] as number) - (lower.bounds[at + MOST.free] as number);
    const isUpperFirst = more === 0 ? upper.commonTie < lower.commonTie : more > 0;
    this.#seekNearest(isUpperFirst ? upper : lower, asked, lack);
    this.#seekNearest(isUpperFirst ? lower : upper, asked, lack);
  }

  #comeNear(slot: number, asked: Asked, lack: Lack): void {
    const { capacity, used, maxUnit } = asked.column;
    const left = Math.floor(capacity[slot] as number) - (used[slot] as number);
    const short = shortBy(asked, lack.isBeyondUnit, left, maxUnit[slot] as number);
    if (short > lack.least) return;
    const tie = this.#ties[slot] as number;
    if (short === lack.least && tie >= lack.tie) return;
    lack.least = short;
    lack.slot = slot;
    lack.tie = tie;
  }
}

/** By how much an amount is too large, as misfit.ts says: amounts are whole, so of a capacity that is not no more can be had. */
function shortBy({ amount, total }: Asked, isBeyondUnit: boolean, left: number, maxUnit: number): number {
  return isBeyondUnit ? amount - Math.max(0, Math.min(left, maxUnit)) : total - left;
}
