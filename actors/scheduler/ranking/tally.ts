// How many hosts that numbers tell of have room for a request, and what the others are the first to lack. All are counted
// once, whole boxes where all of their hosts are alike in that; from then on what was counted is put right by the hosts that
// have changed, as long as that takes fewer looks than to count all again.

import type { Box } from './boxes.ts';
import { type Reason, reasonOf } from './census.ts';
import { OF_COLUMN } from './columns.ts';
import { KIND, type Place, type PlaceOfUnmet } from './family-hosts.ts';
import type { Member } from './family-numbers.ts';
import type { Rows } from './rows.ts';
import { HEARINGS, type Refusing } from './stands.ts';

/** A class that is asked for, and what is known of those that lack it. */
interface Asked {
  readonly amount: number;
  /** How much of it a host must have. */
  readonly total: number;
  /** Where rows have its measures, and how much of it is used. */
  readonly at: number;
  readonly usedAt: number;
  readonly short: Lack;
  readonly beyondUnit: Lack;
}

interface Lack {
  readonly reason: Reason;
  readonly isBeyondUnit: boolean;
  hosts: number;
  /** The nearest; `UNKNOWN` until it is sought. */
  slot: number;
  /** By how much it falls short, and its tie; of one that is to be sought, none is nearer than this. */
  least: number;
  tie: number;
}

const UNKNOWN = -1;

/** For each change a host is looked at twice: as it was, and as it is. */
const LOOKS_AT_CHANGED = 2;

export class Tally {
  /** How many have room. */
  fits = 0;
  /** How many boxes and hosts were ever looked at. */
  looks = 0;
  readonly #known: Member['known'];
  readonly #asked: readonly Asked[];
  readonly #fitsIn = new Map<string, number>();
  /** Those that lack no class that is told before what else stands in their way. */
  readonly #unmet = new Map<PlaceOfUnmet, number>();
  /** The position in the family's moves up to which this is true; -1: nothing was counted. */
  #seen = -1;
  /** How many looks it took to count all. */
  #looksAtAll = 0;

  constructor({ known, demands }: Member) {
    this.#known = known;
    this.#asked = demands.map(({ amount, total, column, at }): Asked => {
      const { resourceClass: about, usedAt } = column;
      const lack = (code: string, isBeyondUnit: boolean): Lack => {
        const reason = { code, about, message: undefined };
        return { reason, isBeyondUnit, hosts: 0, slot: UNKNOWN, least: 0, tie: 0 };
      };
      const [short, beyondUnit] = [lack('exceeds-capacity', false), lack('unit-constraint', true)];
      return { amount, total, at, usedAt, short, beyondUnit };
    });
  }

  fitsIn(cell: string): number {
    return this.#fitsIn.get(cell) ?? 0;
  }

  get refused(): number {
    let refused = 0;
    for (const { short, beyondUnit } of this.#asked) refused += short.hosts + beyondUnit.hosts;
    for (const hosts of this.#unmet.values()) refused += hosts;
    return refused;
  }

  /** What refuses hosts. */
  refusing(): Refusing[] {
    const found: Refusing[] = [];
    for (const [place, { short, beyondUnit }] of this.#asked.entries()) {
      for (const lack of [short, beyondUnit]) {
        if (lack.hosts === 0) continue;
        if (lack.slot === UNKNOWN) this.#seekNearest(place, lack);
        const { reason, hosts, slot, least } = lack;
        found.push({ reason, hosts, nearest: { slot, short: least } });
      }
    }
    for (const place of this.#known.hosts.placesOfUnmet()) {
      const hosts = this.#unmet.get(place) ?? 0;
      if (hosts > 0) found.push({ reason: reasonOf(place.obstacle), hosts, nearest: undefined });
    }
    return found;
  }

  /** Has the figures be true of all hosts as their family knows them. */
  catchUp(): void {
    const { moves } = this.#known;
    const isFollowed =
      this.#seen >= 0 &&
      moves.areKeptFrom(this.#seen) &&
      LOOKS_AT_CHANGED * (moves.end - this.#seen) <= this.#looksAtAll;
    if (!isFollowed) this.#countAll();
    else for (let position = this.#seen; position < moves.end; position += 1) this.#follow(position);
    this.#seen = moves.end;
  }

  #countAll(): void {
    this.fits = 0;
    this.#fitsIn.clear();
    this.#unmet.clear();
    for (const { short, beyondUnit } of this.#asked) for (const lack of [short, beyondUnit]) forget(lack);
    const before = this.looks;
    for (const place of this.#places()) {
      if (place.boxes.root !== null)
        this.#addHaving(place, this.#countFrom(0, this.#classesOf(place), place.boxes.root));
    }
    this.#looksAtAll = this.looks - before;
  }

  *#places(): Iterable<Place> {
    const { hosts } = this.#known;
    for (const hearing of HEARINGS) yield* hosts.placesOf(hearing);
    yield* hosts.placesOfUnmet();
  }

  /** Of how many classes hosts are told there. */
  #classesOf(place: Place): number {
    return place.kind === KIND.plain ? this.#asked.length : place.classes;
  }

  #addHaving(place: Place, hosts: number): void {
    if (place.kind === KIND.unmet) return void this.#unmet.set(place, (this.#unmet.get(place) ?? 0) + hosts);
    this.fits += hosts;
    this.#fitsIn.set(place.cell, this.fitsIn(place.cell) + hosts);
  }

  /** Counts the hosts of a box that all have the classes before a place; answers how many have all that are told. */
  #countFrom(from: number, classes: number, box: Box): number {
    this.looks += 1;
    const { bounds } = this.#known;
    const { row, division } = box;
    for (let place = from; place < classes; place += 1) {
      const { amount, total, at, short, beyondUnit } = this.#asked[place] as Asked;
      const isAllowed = amount <= bounds.least(row, at + OF_COLUMN.maxUnit);
      if (isAllowed && total <= bounds.least(row, at + OF_COLUMN.free)) continue;
      if (amount > bounds.most(row, at + OF_COLUMN.maxUnit)) return countLacking(box, beyondUnit);
      if (isAllowed && total > bounds.most(row, at + OF_COLUMN.free)) return countLacking(box, short);
      if (division === null) return this.#countEach(place, classes, box.slots as number[]);
      return this.#countFrom(place, classes, division.lower) + this.#countFrom(place, classes, division.upper);
    }
    return box.count;
  }

  #countEach(from: number, classes: number, slots: readonly number[]): number {
    const { rows: now } = this.#known;
    let having = 0;
    for (const slot of slots) {
      const place = this.#firstLack(now, slot, from, classes);
      if (place === classes) having += 1;
      else this.#lackAt(now, slot, place).hosts += 1;
    }
    return having;
  }

  /** The place of the first class that a host lacks of those that are told; their number: it lacks none. */
  #firstLack({ values, width }: Rows, row: number, from: number, classes: number): number {
    this.looks += 1;
    for (let place = from; place < classes; place += 1) {
      const { amount, total, at } = this.#asked[place] as Asked;
      const first = row * width + at;
      const isAllowed = amount <= (values[first + OF_COLUMN.maxUnit] as number);
      if (!isAllowed || total > (values[first + OF_COLUMN.free] as number)) return place;
    }
    return classes;
  }

  /** How it lacks that. */
  #lackAt({ values, width }: Rows, row: number, place: number): Lack {
    const { amount, at, beyondUnit, short } = this.#asked[place] as Asked;
    return amount > (values[row * width + at + OF_COLUMN.maxUnit] as number) ? beyondUnit : short;
  }

  /** Counts a host that has changed no longer as it was, and as it is from now on. */
  #follow(position: number): void {
    const { moves } = this.#known;
    const slot = moves.slotOf(position);
    this.#count(slot, moves.before(position), -1);
    this.#count(slot, moves.after(position), 1);
  }

  #count(slot: number, at: number, times: 1 | -1): void {
    const { stood } = this.#known.moves;
    const place = this.#known.moves.placeAt(at);
    if (place === undefined) return;
    const classes = this.#classesOf(place);
    const first = this.#firstLack(stood, at, 0, classes);
    if (first === classes) return this.#addHaving(place, times);
    const lack = this.#lackAt(stood, at, first);
    lack.hosts += times;
    if (times < 0) {
      if (lack.slot === slot) lack.slot = UNKNOWN;
      return;
    }
    // Of the first one it is known without a search that none is nearer.
    if (lack.hosts === 1) lack.least = Number.POSITIVE_INFINITY;
    this.#comeNear(lack, slot, this.#asked[first] as Asked, stood, at);
  }

  /** Of those that lack a class, finds the one that lacks least. */
  #seekNearest(place: number, lack: Lack): void {
    lack.least = Number.POSITIVE_INFINITY;
    for (const one of this.#places()) {
      const { root } = one.boxes;
      if (root !== null && place < this.#classesOf(one))
        this.#seekIn(root, place, lack, this.#leastIn(root, place, lack));
    }
  }

  /** @param least How near a host of the box is at most. */
  #seekIn(box: Box, place: number, lack: Lack, least: number): void {
    const { bounds } = this.#known;
    const { row, division, slots } = box;
    const isAny = least < Number.POSITIVE_INFINITY;
    if (!isAny || least > lack.least || (least === lack.least && bounds.commonTieOf(row) >= lack.tie)) return;
    if (division === null) {
      const asked = this.#asked[place] as Asked;
      const { rows: now } = this.#known;
      for (const slot of slots as number[]) {
        const isOfThese = this.#firstLack(now, slot, 0, place + 1) === place && this.#lackAt(now, slot, place) === lack;
        if (isOfThese) this.#comeNear(lack, slot, asked, now, slot);
      }
      return;
    }
    const { lower, upper } = division;
    const [leastOfLower, leastOfUpper] = [this.#leastIn(lower, place, lack), this.#leastIn(upper, place, lack)];
    // The sooner one is found that is near, the fewer boxes are looked into.
    const isLowerFirst =
      leastOfLower === leastOfUpper
        ? bounds.commonTieOf(lower.row) < bounds.commonTieOf(upper.row)
        : leastOfLower < leastOfUpper;
    if (isLowerFirst) this.#seekIn(lower, place, lack, leastOfLower);
    this.#seekIn(upper, place, lack, leastOfUpper);
    if (!isLowerFirst) this.#seekIn(lower, place, lack, leastOfLower);
  }

  /** By how much hosts of a box that lack a class, and none before it, fall short at least; infinity: there is none. */
  #leastIn({ row }: Box, place: number, { isBeyondUnit }: Lack): number {
    this.looks += 1;
    const { bounds } = this.#known;
    for (let earlier = 0; earlier < place; earlier += 1) {
      const { amount, total, at } = this.#asked[earlier] as Asked;
      const isHad =
        amount <= bounds.most(row, at + OF_COLUMN.maxUnit) && total <= bounds.most(row, at + OF_COLUMN.free);
      if (!isHad) return Number.POSITIVE_INFINITY;
    }
    const asked = this.#asked[place] as Asked;
    const { amount, total, at } = asked;
    const mostUnit = bounds.most(row, at + OF_COLUMN.maxUnit);
    const isLacked = isBeyondUnit
      ? amount > bounds.least(row, at + OF_COLUMN.maxUnit)
      : total > bounds.least(row, at + OF_COLUMN.free) && amount <= mostUnit;
    if (!isLacked) return Number.POSITIVE_INFINITY;
    // Amounts are whole, and who lacks some lacks one.
    return Math.max(1, shortBy(asked, isBeyondUnit, Math.floor(bounds.most(row, at + OF_COLUMN.free)), mostUnit));
  }

  #comeNear(lack: Lack, slot: number, asked: Asked, { values, width }: Rows, row: number): void {
    const first = row * width + asked.at;
    const capacity = Math.floor(values[first + OF_COLUMN.capacity] as number);
    const left = capacity - (values[row * width + asked.usedAt] as number);
    const short = shortBy(asked, lack.isBeyondUnit, left, values[first + OF_COLUMN.maxUnit] as number);
    if (short > lack.least) return;
    const tie = this.#known.slots.commonTies[slot] as number;
    if (short === lack.least && (tie > lack.tie || (tie === lack.tie && lack.slot !== UNKNOWN))) return;
    lack.least = short;
    lack.slot = slot;
    lack.tie = tie;
  }
}

/** All hosts of a box lack a class, and none has all. */
function countLacking({ count }: Box, lack: Lack): 0 {
  lack.hosts += count;
  return 0;
}

/** Nobody is counted, and any may be the nearest of those that will be. */
function forget(lack: Lack): void {
  lack.hosts = 0;
  lack.slot = UNKNOWN;
  lack.least = Number.NEGATIVE_INFINITY;
}

/** By how much an amount is too large, as misfit.ts says: amounts are whole, so of a capacity that is not no more can be had. */
function shortBy({ amount, total }: Asked, isBeyondUnit: boolean, left: number, maxUnit: number): number {
  return isBeyondUnit ? amount - Math.max(0, Math.min(left, maxUnit)) : total - left;
}
