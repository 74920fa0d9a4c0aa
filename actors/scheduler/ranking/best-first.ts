// The best hosts of several heaps and boxes, best first, as if they stood in one list: without changing any, and with a look
// at few of the others. And the first few of all hosts, kept from one choice to the next.

import type { Box } from './boxes.ts';
import { type Member, mostIn, NO_ROOM, weightIn } from './family-numbers.ts';
import { comesBefore, type Heap, type Order } from './heap.ts';
import type { Slots } from './slots.ts';

/** Hosts to choose from. */
export interface Among {
  /** What those in heaps are ordered by. */
  readonly order: Order;
  readonly heaps: readonly Heap[];
  readonly boxes: readonly Box[];
  /** What those in boxes are asked for; null: there are no boxes. */
  readonly member: Member | null;
  /** Which of them are left out; null: none. */
  readonly isOut: ((slot: number) => boolean) | null;
}

/** How many more are looked for at once than are wanted, in case that one is not accepted. */
const SPARE = 1;
/** So many times as many are looked for when these were too few. */
const MORE = 4;

/** Up to `most` of those that fit and are accepted, best first: by weight, and among equals by the lower tie. */
export function bestOf(among: Among, most: number, accept: (slot: number) => boolean): number[] {
  if (most === 1 && among.boxes.length === 0) {
    const first = firstOf(among);
    if (first === undefined) return [];
    if ((among.isOut === null || !among.isOut(first)) && accept(first)) return [first];
  }
  const found: number[] = [];
  let seen = 0;
  for (let count = most + SPARE; found.length < most; count *= MORE) {
    const first = firstFew(among, count);
    for (; seen < first.length && found.length < most; seen += 1) {
      if (accept(first[seen] as number)) found.push(first[seen] as number);
    }
    if (first.length < count) break;
  }
  return found;
}

/** Hosts as they are ranked now. */
export interface RankedNow {
  readonly slots: Slots;
  /** What a host weighs; `NO_ROOM` of one that does not fit. */
  weightOf(slot: number): number;
}

/**
 * How many hosts are kept at the front at first, where it is looked at again soon, and at most: twice as many as before
 * where these were used up by changes that were followed. More are kept where many were refused.
 */
const AT_FRONT = { first: 3, again: 16, most: 128 } as const;
/** After more changes than this the front is found anew: to follow them costs more, and others took the best of it. */
const MAX_FOLLOWED = 32;
/** To pass so many hosts or cells takes about as long as to follow one change. */
const PASSED_AS_FOLLOWED = 8;

/**
 * The first in rank of all hosts, kept for the next one who asks: any host that is not among them comes after the last one,
 * unless it has changed since; so of few changes only the hosts that have changed are looked at.
 */
export class Front {
  readonly #ranked: RankedNow;
  readonly #passed: (() => number) | null;
  /** Best first, and what they weigh. */
  #slots: number[] = [];
  #weights: number[] = [];
  /** What the last one was when they were found. */
  #least = { weight: NO_ROOM, tie: 0 };
  /** There are no others. */
  #isWhole = false;
  /** The position in the changes up to which this is true; -1: nothing is kept. */
  #seen = -1;
  #count: number = AT_FRONT.first;
  /** How many were looked at for the last one who asked: where a group may have none of them, the next one will pass them by, too. */
  #judged = 0;

  /** @param passed How many hosts, or cells, are passed, about, where the front is found anew; null: few. */
  constructor(ranked: RankedNow, passed: (() => number) | null = null) {
    this.#ranked = ranked;
    this.#passed = passed;
  }

  /** How many hosts are kept. */
  get size(): number {
    return this.#slots.length;
  }

  /** As the function of that name, of all hosts. */
  bestOf(among: () => Among, most: number, accept: (slot: number) => boolean): number[] {
    if (most <= 0) return [];
    this.#follow();
    const found = this.#bestOf(among, most, accept);
    this.#trim();
    return found;
  }

  #bestOf(among: () => Among, most: number, accept: (slot: number) => boolean): number[] {
    const found: number[] = [];
    for (let judged = 0; ; judged += 1) {
      this.#judged = judged;
      if (found.length === most) return found;
      if (judged === this.#slots.length) {
        if (this.#isWhole) return found;
        this.#find(among(), Math.max(this.#count, most + SPARE, MORE * judged));
        this.#count = Math.min(AT_FRONT.most, 2 * this.#count);
        if (judged === this.#slots.length) return found;
      }
      const slot = this.#slots[judged] as number;
      if (accept(slot)) found.push(slot);
    }
  }

  forget(): void {
    this.#seen = -1;
  }

  /** A host is ranked in another way though it has not changed. */
  note(slot: number): void {
    if (this.#seen < 0) return;
    this.#note(slot);
    this.#trim();
  }

  #find(among: Among, count: number): void {
    this.#slots = firstFew(among, count);
    this.#weights = this.#slots.map((slot) => this.#ranked.weightOf(slot));
    this.#isWhole = this.#slots.length < count;
    this.#cut();
  }

  /** Takes the last one for the least that is kept. */
  #cut(): void {
    const last = this.#slots.at(-1);
    if (this.#isWhole || last === undefined) return;
    this.#least = { weight: this.#weights.at(-1) as number, tie: this.#ranked.slots.ties[last] as number };
  }

  /** Takes note of the hosts that have changed, or forgets all where these are many. */
  #follow(): void {
    const { changes, changesDropped } = this.#ranked.slots;
    const first = this.#seen - changesDropped;
    const passed = this.#passed === null ? 0 : this.#passed();
    const mostFollowed = Math.max(MAX_FOLLOWED, passed / PASSED_AS_FOLLOWED);
    const isKept = this.#seen >= 0 && first >= 0 && changes.length - first <= mostFollowed;
    this.#seen = changesDropped + changes.length;
    if (!isKept) {
      this.#slots = [];
      this.#isWhole = false;
      this.#count = AT_FRONT.first;
      return;
    }
    if (first === changes.length) return;
    this.#count = Math.max(AT_FRONT.again, this.#count);
    for (let position = first; position < changes.length; position += 1) this.#note(changes[position] as number);
    this.#trim();
  }

  /** Keeps no more than are of use. */
  #trim(): void {
    const kept = Math.max(AT_FRONT.again, this.#count, 2 * this.#judged);
    if (this.#slots.length <= 2 * kept) return;
    this.#slots.length = kept;
    this.#weights.length = kept;
    this.#isWhole = false;
    this.#cut();
  }

  #note(slot: number): void {
    const known = this.#slots.indexOf(slot);
    if (known >= 0) {
      this.#slots.splice(known, 1);
      this.#weights.splice(known, 1);
    }
    const weight = this.#ranked.weightOf(slot);
    if (weight === NO_ROOM) return;
    const { ties } = this.#ranked.slots;
    const tie = ties[slot] as number;
    const isBehind = (otherWeight: number, otherTie: number) =>
      otherWeight > weight || (otherWeight === weight && otherTie < tie);
    if (!this.#isWhole && isBehind(this.#least.weight, this.#least.tie)) return;
    let place = this.#slots.length;
    while (place > 0) {
      const other = place - 1;
      if (isBehind(this.#weights[other] as number, ties[this.#slots[other] as number] as number)) break;
      place = other;
    }
    this.#slots.splice(place, 0, slot);
    this.#weights.splice(place, 0, weight);
  }
}

function firstOf({ order, heaps }: Among): number | undefined {
  let first: number | undefined;
  for (const heap of heaps) {
    const [top] = heap.slots;
    if (top !== undefined && (first === undefined || comesBefore(order, heap, top, first))) first = top;
  }
  return first;
}

function firstFew({ order, heaps, boxes, member, isOut }: Among, most: number): number[] {
  const few = new Few(most, isOut);
  for (const heap of heaps) lookIntoHeap(few, order, heap, 0);
  if (member !== null && boxes.length > 0) {
    const { ties } = member.known.slots;
    const mostOfEach = boxes.map((box) => mostIn(member, box));
    const inOrder = boxes.map((_, place) => place);
    inOrder.sort((one, other) => (mostOfEach[other] as number) - (mostOfEach[one] as number));
    for (const place of inOrder) lookIntoBox(few, member, ties, boxes[place] as Box, mostOfEach[place] as number);
  }
  return few.inOrder();
}

function lookIntoHeap(few: Few, order: Order, heap: Heap, at: number): void {
  const slot = heap.slots[at];
  if (slot === undefined || !few.offer(slot, order.weights[slot] as number, heap.ties[slot] as number)) return;
  lookIntoHeap(few, order, heap, 2 * at + 1);
  lookIntoHeap(few, order, heap, 2 * at + 2);
}

/** @param most What its best host weighs at most. */
function lookIntoBox(few: Few, member: Member, ties: readonly number[], box: Box, most: number): void {
  const { bounds } = member.known;
  if (!few.mayTake(most, bounds.tieOf(box.row))) return;
  if (box.division === null) {
    for (const slot of box.slots as number[]) {
      const tie = ties[slot] as number;
      if (!few.mayTake(most, tie)) continue;
      const weight = weightIn(member, slot);
      if (weight !== NO_ROOM) few.offer(slot, weight, tie);
    }
    return;
  }
  const { lower, upper } = box.division;
  const mostOfLower = mostIn(member, lower);
  const mostOfUpper = mostIn(member, upper);
  // The sooner the best are found, the fewer boxes are looked into.
  const isLowerFirst =
    mostOfLower === mostOfUpper ? bounds.tieOf(lower.row) < bounds.tieOf(upper.row) : mostOfLower > mostOfUpper;
  if (isLowerFirst) lookIntoBox(few, member, ties, lower, mostOfLower);
  lookIntoBox(few, member, ties, upper, mostOfUpper);
  if (!isLowerFirst) lookIntoBox(few, member, ties, lower, mostOfLower);
}

/** The best of all that are offered, in a heap of which the first is the one that comes last. */
class Few {
  readonly #most: number;
  readonly #isOut: Among['isOut'];
  readonly #slots: number[] = [];
  readonly #weights: number[] = [];
  readonly #ties: number[] = [];

  constructor(most: number, isOut: Among['isOut']) {
    this.#most = most;
    this.#isOut = isOut;
  }

  /** Whether one of such a weight and tie would be taken; no host weighs as little as one without room. */
  mayTake(weight: number, tie: number): boolean {
    if (weight === NO_ROOM) return false;
    return this.#slots.length < this.#most || this.#isLast(0, weight, tie);
  }

  /** Answers whether it is taken, or would be if it were not left out. */
  offer(slot: number, weight: number, tie: number): boolean {
    const isFull = this.#slots.length === this.#most;
    if (isFull && !this.#isLast(0, weight, tie)) return false;
    if (this.#isOut?.(slot) === true) return true;
    if (isFull) this.#sink(slot, weight, tie);
    else this.#rise(slot, weight, tie);
    return true;
  }

  inOrder(): number[] {
    const places = this.#slots.map((_, place) => place);
    places.sort((one, other) =>
      this.#isLast(one, this.#weights[other] as number, this.#ties[other] as number) ? 1 : -1,
    );
    return places.map((place) => this.#slots[place] as number);
  }

  /** Whether what stands at a place comes after something else. */
  #isLast(place: number, weight: number, tie: number): boolean {
    const known = this.#weights[place] as number;
    return known < weight || (known === weight && (this.#ties[place] as number) > tie);
  }

  #rise(slot: number, weight: number, tie: number): void {
    let place = this.#slots.length;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (this.#isLast(parent, weight, tie)) break;
      this.#put(place, this.#slots[parent] as number, this.#weights[parent] as number, this.#ties[parent] as number);
      place = parent;
    }
    this.#put(place, slot, weight, tie);
  }

  /** Puts one in for the first. */
  #sink(slot: number, weight: number, tie: number): void {
    const { length } = this.#slots;
    let place = 0;
    for (let child = 1; child < length; child = 2 * place + 1) {
      const other = child + 1;
      if (other < length && this.#isLast(other, this.#weights[child] as number, this.#ties[child] as number))
        child = other;
      if (!this.#isLast(child, weight, tie)) break;
      this.#put(place, this.#slots[child] as number, this.#weights[child] as number, this.#ties[child] as number);
      place = child;
    }
    this.#put(place, slot, weight, tie);
  }

  #put(place: number, slot: number, weight: number, tie: number): void {
    this.#slots[place] = slot;
    this.#weights[place] = weight;
    this.#ties[place] = tie;
  }
}
