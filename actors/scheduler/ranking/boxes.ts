// Hosts in boxes of those that are alike: a k-d tree. Of each box it is known between which bounds all that counts of its
// hosts lies, so whoever looks for the best of them, or counts those that have room, looks into few boxes whatever is asked
// for. A host that changes is put into the box where it belongs then, and set apart from those that it was like till then.
// Where many have gone to other boxes since they were divided, which was done by what they were like at that time, they are
// divided anew.

import type { Bounds } from './bounds.ts';
import type { Rows } from './rows.ts';
import type { Slots } from './slots.ts';

/** What counts of hosts. */
export interface Measures {
  /** A row for each slot, which begins with its measures. */
  readonly rows: Rows;
  readonly count: number;
  /** Those of all boxes. */
  readonly bounds: Bounds;
  /** How far hosts are apart that lie between two values of a measure; those that are not apart are not divided by it. */
  distance(measure: number, least: number, most: number): number;
}

export interface Box {
  count: number;
  /** That of its bounds. */
  readonly row: number;
  /** Of one that is not divided. */
  slots: number[] | null;
  division: Division | null;
  /** The one of which it is a half. */
  whole: Box | null;
  /** How many hosts have come since it was divided. */
  came: number;
}

interface Division {
  /** The measure by which it is divided; `BY_TIE`: its hosts are alike, as far as distances tell. */
  readonly by: number;
  /** The upper half has those that are not below this. */
  readonly at: number;
  lower: Box;
  upper: Box;
}

interface Halves extends Pick<Division, 'by' | 'at'> {
  readonly below: number[];
  readonly above: number[];
}

const BY_TIE = -1;

/** With how many hosts a box is divided, and with how many it is not any more; so many has one at most that is new. */
const DIVIDED_BEYOND = 24;
const UNDIVIDED_TO = 8;
const MOST_AT_FIRST = 16;
/** Of more than so many that are new, each half is put in by itself. */
const MOST_IN_ONE_GO = 5_000;
/** By so many hosts of a box, or a few less, it is decided how it is divided. */
const MOST_COMPARED = 64;
/** So many may have come, for each host that a box has and beyond, before it is divided anew. */
const MAY_COME = { forEach: 1, beyond: 64 } as const;

/** The hosts of one place, such as a cell. */
export class Boxes {
  root: Box | null = null;
  readonly #slots: Slots;
  readonly #measures: Measures;
  /** The box of each host, by slot, of all places. */
  readonly #boxes: (Box | undefined)[];

  constructor(slots: Slots, measures: Measures, boxes: (Box | undefined)[]) {
    this.#slots = slots;
    this.#measures = measures;
    this.#boxes = boxes;
  }

  /** Puts many in, where there are none: of as many as take some milliseconds it tells when they are in. */
  *fill(slots: number[]): Generator<number, void> {
    this.root = this.#newBox(null);
    yield* this.#fillInParts(this.root, slots, false);
  }

  *#fillInParts(box: Box, slots: number[], areAlike: boolean): Generator<number, void> {
    const halves = slots.length <= MOST_IN_ONE_GO ? null : this.#halved(slots, areAlike);
    if (halves === null) {
      this.#fill(box, slots, areAlike);
      yield slots.length;
      return;
    }
    const division = this.#divide(box, halves);
    yield* this.#fillInParts(division.lower, halves.below, halves.by === BY_TIE);
    yield* this.#fillInParts(division.upper, halves.above, halves.by === BY_TIE);
    box.count = slots.length;
    this.#embrace(box, division);
  }

  add(slot: number): void {
    this.root ??= this.#newBox(null);
    const box = this.#boxFor(slot);
    const slots = box.slots as number[];
    slots.push(slot);
    this.#boxes[slot] = box;
    let crowded: Box | null = null;
    let isWithin = false;
    for (let one: Box | null = box; one !== null; one = one.whole) {
      one.count += 1;
      one.came += 1;
      // What is within the bounds of a box is within those of all that it is part of.
      if (!isWithin) isWithin = !this.#stretch(one, slot);
      if (isCrowded(one)) crowded = one;
    }
    if (crowded !== null) this.#fillAnew(crowded);
    else if (box.count > DIVIDED_BEYOND) this.#fill(box, slots);
  }

  remove(slot: number): void {
    const box = this.#boxes[slot] as Box;
    this.#boxes[slot] = undefined;
    const slots = box.slots as number[];
    const last = slots.pop() as number;
    if (last !== slot) slots[slots.indexOf(slot)] = last;
    let emptied: Box | null = null;
    for (let one: Box | null = box; one !== null; one = one.whole) {
      one.count -= 1;
      if (one.count <= UNDIVIDED_TO && one.division !== null) emptied = one;
    }
    if (this.root?.count === 0) {
      this.#release(this.root);
      this.root = null;
    } else if (emptied !== null) {
      this.#fillAnew(emptied);
      if (emptied.whole !== null) this.#refit(emptied.whole);
    } else if (box.count === 0) this.#dissolve(box.whole as Box, box);
    else this.#narrow(box, slots);
  }

  /** A host of these has other measures than it had. */
  move(slot: number): void {
    const box = this.#boxes[slot] as Box;
    if (box !== this.#boxFor(slot)) {
      this.remove(slot);
      this.add(slot);
      return;
    }
    const { rows, bounds } = this.#measures;
    const isWider = this.#stretch(box, slot);
    const isNarrower = bounds.narrow(box.row, rows, box.slots as number[]);
    if ((isWider || isNarrower) && box.whole !== null) this.#refit(box.whole);
  }

  /** The box where a host belongs; a new one, where it is not like those with which it stood or would stand. */
  #boxFor(slot: number): Box {
    let box = this.root as Box;
    let isLikeThese = false;
    while (box.division !== null) {
      const { by, at, lower, upper } = box.division;
      if (by === BY_TIE && !isLikeThese) {
        const apart = this.#farthestWith(box, slot);
        if (apart !== BY_TIE) return this.#setApart(box, apart, slot);
        isLikeThese = true;
      }
      box = this.#valueBy(by, slot) < at ? lower : upper;
    }
    return box;
  }

  /**
   * An empty box beside one whose hosts are alike, for a host that is not. They are divided in the middle between both, so
   * that of hosts of which each is a little nearer than the last as many boxes stand in one another as it takes halvings to
   * come as near.
   */
  #setApart(alike: Box, by: number, slot: number): Box {
    const { count, whole } = alike;
    const { bounds } = this.#measures;
    const [least, most] = [bounds.least(alike.row, by), bounds.most(alike.row, by)];
    const value = this.#valueBy(by, slot);
    const isAbove = value > most;
    const at = isAbove ? middleOf(most, value) : middleOf(value, least);
    const both = this.#newBox(whole);
    both.count = count;
    both.slots = null;
    bounds.copy(alike.row, both.row);
    const apart = this.#newBox(both);
    both.division = { by, at, lower: isAbove ? alike : apart, upper: isAbove ? apart : alike };
    this.#replace(alike, both);
    alike.whole = both;
    return apart;
  }

  /** Of a box of which a half is empty only the other half is left. */
  #dissolve(box: Box, empty: Box): void {
    const { lower, upper } = box.division as Division;
    const other = lower === empty ? upper : lower;
    this.#replace(box, other);
    other.whole = box.whole;
    for (const { row } of [box, empty]) this.#measures.bounds.giveBack(row);
    if (other.whole !== null) this.#refit(other.whole);
  }

  /** Puts another box in the place of one. */
  #replace(box: Box, other: Box): void {
    const { whole } = box;
    if (whole === null) {
      this.root = other;
      return;
    }
    const division = whole.division as Division;
    if (division.lower === box) division.lower = other;
    else division.upper = other;
  }

  #newBox(whole: Box | null): Box {
    const row = this.#measures.bounds.take();
    this.#measures.bounds.clear(row);
    return { count: 0, row, slots: [], division: null, whole, came: 0 };
  }

  /** A box is none any more, and neither are those that are part of it. */
  #release({ row, division }: Box): void {
    this.#measures.bounds.giveBack(row);
    if (division !== null) this.#releaseHalves(division);
  }

  #releaseHalves({ lower, upper }: Division): void {
    this.#release(lower);
    this.#release(upper);
  }

  /** Widens the bounds of a box so that a host is within them; answers whether it was not. */
  #stretch({ row }: Box, slot: number): boolean {
    const { rows, bounds } = this.#measures;
    const { ties, commonTies } = this.#slots;
    return bounds.stretch(row, rows, slot, ties[slot] as number, commonTies[slot] as number);
  }

  /** Narrows the bounds of a box from which a host has gone, and of those that it is part of. */
  #narrow({ row, whole }: Box, slots: readonly number[]): void {
    const { rows, bounds } = this.#measures;
    const isNarrower = bounds.narrow(row, rows, slots);
    const isOfOtherTies = bounds.narrowTies(row, this.#slots, slots);
    if ((isNarrower || isOfOtherTies) && whole !== null) this.#refit(whole);
  }

  /** Finds the bounds of a box anew by those of its halves, and of those that it is part of. */
  #refit(box: Box): void {
    for (let one: Box | null = box; one !== null; one = one.whole) {
      if (!this.#embrace(one, one.division as Division)) return;
    }
  }

  #embrace({ row }: Box, { lower, upper }: Division): boolean {
    return this.#measures.bounds.embrace(row, lower.row, upper.row);
  }

  /** Divides the hosts of a box by what they are like now. */
  #fillAnew(box: Box): void {
    const slots = slotsIn(box);
    if (box.division !== null) this.#releaseHalves(box.division);
    this.#fill(box, slots);
  }

  /**
   * Has a box hold these hosts and no others, divided by what they are like.
   * @param areAlike It is known that they are.
   */
  #fill(box: Box, slots: number[], areAlike = false): void {
    box.count = slots.length;
    box.came = 0;
    const halves = slots.length <= MOST_AT_FIRST ? null : this.#halved(slots, areAlike);
    if (halves === null) {
      box.division = null;
      box.slots = slots;
      this.#measures.bounds.clear(box.row);
      for (const slot of slots) {
        this.#boxes[slot] = box;
        this.#stretch(box, slot);
      }
      return;
    }
    const division = this.#divide(box, halves);
    this.#fill(division.lower, halves.below, halves.by === BY_TIE);
    this.#fill(division.upper, halves.above, halves.by === BY_TIE);
    this.#embrace(box, division);
  }

  #divide(box: Box, { by, at }: Halves): Division {
    const division = { by, at, lower: this.#newBox(box), upper: this.#newBox(box) };
    box.slots = null;
    box.division = division;
    return division;
  }

  /** Hosts by the measure in which they are farthest apart, in halves as far as that is seen of some; null: they are alike. */
  #halved(slots: readonly number[], areAlike: boolean): Halves | null {
    const step = Math.ceil(slots.length / MOST_COMPARED);
    const some = step === 1 ? slots : slots.filter((_, place) => place % step === 0);
    const by = areAlike ? BY_TIE : this.#farthestAmong(some, slots);
    const at = aboveLeast(this.#valuesBy(by, some)) ?? aboveLeast(this.#valuesBy(by, slots));
    if (at === null) return null;
    const below: number[] = [];
    const above: number[] = [];
    for (const slot of slots) (this.#valueBy(by, slot) < at ? below : above).push(slot);
    return { by, at, below, above };
  }

  /** The measure in which hosts are farthest apart, as far as that is seen of some, if these are apart at all. */
  #farthestAmong(some: readonly number[], all: readonly number[]): number {
    const compared = this.#newBox(null);
    for (const slot of some) this.#stretch(compared, slot);
    let by = this.#farthestIn(compared);
    if (by === BY_TIE && some !== all) {
      for (const slot of all) this.#stretch(compared, slot);
      by = this.#farthestIn(compared);
    }
    this.#release(compared);
    return by;
  }

  /** The measure in which the hosts of a box and one more are farthest apart. */
  #farthestWith(box: Box, slot: number): number {
    const compared = this.#newBox(null);
    this.#measures.bounds.copy(box.row, compared.row);
    this.#stretch(compared, slot);
    const by = this.#farthestIn(compared);
    this.#release(compared);
    return by;
  }

  /** The measure in which the hosts of a box are farthest apart. */
  #farthestIn({ row }: Box): number {
    const { bounds, count } = this.#measures;
    let by = BY_TIE;
    let farthest = 0;
    for (let measure = 0; measure < count; measure += 1) {
      const [least, most] = [bounds.least(row, measure), bounds.most(row, measure)];
      const distance = least === most ? 0 : this.#measures.distance(measure, least, most);
      if (distance <= farthest) continue;
      by = measure;
      farthest = distance;
    }
    return by;
  }

  /** What a host has of that by which hosts are divided. */
  #valueBy(by: number, slot: number): number {
    if (by === BY_TIE) return this.#slots.ties[slot] as number;
    const { values, width } = this.#measures.rows;
    return values[slot * width + by] as number;
  }

  #valuesBy(by: number, slots: readonly number[]): Float64Array {
    return Float64Array.from(slots, (slot) => this.#valueBy(by, slot));
  }
}

function isCrowded({ came, count, division }: Box): boolean {
  if (division === null || division.by === BY_TIE) return false;
  return came > MAY_COME.forEach * count + MAY_COME.beyond;
}

/** More than the less of two values, and not more than the other. */
function middleOf(less: number, more: number): number {
  const middle = less + (more - less) / 2;
  return middle > less && middle < more ? middle : more;
}

/** All hosts of a box. */
export function slotsIn(box: Box): number[] {
  const found: number[] = [];
  const gather = ({ slots, division }: Box): void => {
    if (slots !== null) for (const slot of slots) found.push(slot);
    if (division === null) return;
    gather(division.lower);
    gather(division.upper);
  };
  gather(box);
  return found;
}

/** The host of a box that stands at a position, in no order that means anything. */
export function hostAt(box: Box, position: number): number {
  let one = box;
  let rest = position;
  while (one.division !== null) {
    const { lower, upper } = one.division;
    if (rest < lower.count) one = lower;
    else {
      rest -= lower.count;
      one = upper;
    }
  }
  return (one.slots as number[])[rest] as number;
}

/** The one in the middle of some values, or the next that is above the least; null: they are all the same. */
function aboveLeast(values: Float64Array): number | null {
  const inOrder = values.sort();
  const least = inOrder[0] as number;
  for (let place = inOrder.length >> 1; place < inOrder.length; place += 1) {
    const value = inOrder[place] as number;
    if (value > least) return value;
  }
  return null;
}
