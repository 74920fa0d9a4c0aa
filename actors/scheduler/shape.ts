// The hosts as one shape of request ranks them: those that fit, in heaps of each cell, so that hosts of one cell are found
// without passing those of the others; and those that do not, by what refuses them, the nearest first. Hosts of silent
// placement shards stand apart: nothing is built on those, so that they would soon be the first in rank, and be passed each
// time. What is known of each host stands in arrays: there may be a thousand shapes, and each follows every host that changes.

import type { Allocation } from '../../machines/instance-build.ts';
import type { RequestSpec } from '../messages/common.ts';
import type { WeighingText } from '../messages/stored-decision.ts';
import { type Counted, inOrder, keyOf, type Obstacle, type Reason, reasonOf } from './census.ts';
import type { Family } from './families.ts';
import { type Demand, demandsOf } from './family-numbers.ts';
import type { Asked } from './filters/filter.ts';
import { type Entry, emptyHeap, type Heap, insert, loosen, move, type Order, remove, topOf } from './heap.ts';
import { isShardSilent } from './silence.ts';
import type { Slots } from './slots.ts';
import type { View } from './view.ts';
import type { AskedWeigher } from './weighers/weigher.ts';

/** One weighing of a host: what is known of it until it is weighed anew. */
export interface Weighed extends Entry {
  readonly root: string;
  readonly cell: string;
  readonly host: string;
  /** What each weigher had in it, once a record has told of it. */
  told: WeighingText | null;
  /** What the host would give, once somebody has asked. */
  offered: readonly Allocation[] | null;
  /** How many instances at once it was counted to hold, of so many; at least, where that took too long. Null: nobody has asked. */
  holds: { readonly count: number; readonly times: number; readonly isWhole: boolean } | null;
  /** So many instances at once, or more, were counted not to fit; placed in another way more of them may. */
  tooMany: number;
  /** How many at most it can hold, however they are placed; null: nobody has asked. */
  most: number | null;
}

/** Looks at providers that were spent on searching hosts for a shape lately, and since when, ms since the epoch. */
export interface Searched {
  looks: number;
  since: number;
}

/** Hosts whose placement shard was heard lately, and those whose shard is silent. */
export const HEARINGS = ['heard', 'silent'] as const;
export type Hearing = (typeof HEARINGS)[number];

/** Hosts that stand together: those of a cell that are ranked, or those that one reason refuses. */
interface Place extends Heap {
  /** Of those that one reason refuses, also the ones of which it cannot be said how much they fell short. */
  hosts: number;
  /** Of those that are ranked; null: they are refused. */
  readonly cell: string | null;
  readonly hearing: Hearing;
  /** Of those that are refused. */
  reason: Reason | null;
  /** Whether more stands in the way of the nearest; null: nobody has asked since it changed. */
  asked: { readonly slot: number; readonly lacksMore: boolean } | null;
}

/** The hosts of a cell that are ranked. */
export interface PlaceOfCell extends Heap {
  readonly cell: string;
}

/** The hosts that fit a shape of request, by their roots. */
export interface Current {
  readonly size: number;
  has(root: string): boolean;
  get(root: string): Weighed | undefined;
  keys(): Iterable<string>;
  values(): Iterable<Weighed>;
}

/** What stands for no place in `placeAt`, in which others are counted from 1. */
const NOWHERE = 0;

/** What of a request is ranked by. */
export interface RankedBy {
  readonly spec: RequestSpec;
  readonly filters: readonly Asked[];
  readonly weighers: readonly AskedWeigher[];
}

export class Shape implements Order, RankedBy {
  readonly spec: RequestSpec;
  readonly filters: readonly Asked[];
  readonly weighers: readonly AskedWeigher[];
  readonly slots: Slots;
  /** The hosts that fit. */
  readonly current: Current = new FittingHosts(this);
  /** What it has in common with requests for other amounts; null: there is no such family. */
  family: { readonly known: Family; readonly demands: readonly Demand[] } | null = null;
  /** The key of the family that was let go of; null: it has one, or never had. */
  leftFamily: string | null = null;
  /** Those of the hosts that are refused that are still to be searched to the end, in order. */
  readonly unsearched = new Set<string>();
  readonly searched: Searched;
  /** The placement shards whose hosts stand apart. */
  silentShards: ReadonlySet<number>;
  /** The position in the view's changes up to which this ranking is true. */
  seen = -1;
  /** Whether its family tells all of every host: to be made anew costs it less than to be kept, if it is far behind. */
  isToldByFamily = false;
  /** As its family was when all hosts stood where its numbers had them, and each had room; -1: some have moved since. */
  allServedAt = -1;
  /** By slot: what a host weighs; of one that is refused, how much it fell short, below nothing. */
  weights = new Float64Array(0);
  at = new Int32Array(0);
  /** By slot: the number of its place. */
  placeAt = new Int32Array(0);
  #places: (Place | null)[] = [null];
  /** Numbers of places of reasons that refuse nobody any more. */
  #freePlaces: number[] = [];
  #byCell: Record<Hearing, Map<string, number>> = { heard: new Map(), silent: new Map() };
  #ranked: Record<Hearing, PlaceOfCell[]> = { heard: [], silent: [] };
  #reasons = new Map<string, number>();
  /** Weighings that somebody has looked at, by slot. */
  readonly #weighed = new Map<number, Weighed>();
  readonly #view: View;
  fits = 0;
  refused = 0;

  constructor(
    { spec, filters, weighers }: RankedBy,
    view: View,
    slots: Slots,
    family: Family | null,
    searched: Searched,
  ) {
    this.spec = spec;
    this.filters = filters;
    this.weighers = weighers;
    this.slots = slots;
    if (family !== null) this.join(family);
    this.searched = searched;
    this.silentShards = view.silentShards;
    this.#view = view;
  }

  /** Begins with where another one has its hosts, which is used no more: most of them stand there for this one too. */
  takeOver(other: Shape): void {
    this.weights = other.weights;
    this.at = other.at;
    this.placeAt = other.placeAt;
    this.#places = other.#places;
    this.#freePlaces = other.#freePlaces;
    this.#byCell = other.#byCell;
    this.#ranked = other.#ranked;
    this.#reasons = other.#reasons;
    this.fits = other.fits;
    this.refused = other.refused;
    this.allServedAt = other.allServedAt;
    this.silentShards = other.silentShards;
    if (this.silentShards !== this.#view.silentShards) this.setApart();
    for (const place of this.#places) {
      if (place?.reason?.message === undefined) continue;
      // What was said of a host then may be of none that is refused now.
      place.reason = { ...place.reason, message: TO_BE_SAID };
      this.allServedAt = -1;
    }
  }

  join(known: Family): void {
    // Another family has counted its changes by itself.
    this.allServedAt = -1;
    this.family = { known, demands: demandsOf(known, this.spec) };
    this.leftFamily = null;
  }

  isRanked(slot: number): boolean {
    const place = this.#places[this.placeAt[slot] ?? NOWHERE];
    return place != null && place.cell !== null;
  }

  isRankedAs(slot: number, cell: string, weight: number): boolean {
    return this.weights[slot] === weight && this.#places[this.placeAt[slot] ?? NOWHERE]?.cell === cell;
  }

  /** Of a host that fits, as long as nothing has changed since the hosts were ranked. */
  weighed(slot: number): Weighed {
    let one = this.#weighed.get(slot);
    if (one === undefined) {
      const root = this.slots.roots[slot] as string;
      const { cell, host } = this.#view.hosts.get(root) as { cell: string; host: string };
      const weight = this.weights[slot] as number;
      const tie = this.slots.ties[slot] as number;
      one = {
        root,
        cell,
        host,
        weight,
        tie,
        told: null,
        offered: null,
        holds: null,
        tooMany: Number.POSITIVE_INFINITY,
        most: null,
      };
      this.#weighed.set(slot, one);
    }
    return one;
  }

  /** The heaps of all cells. */
  heaps(hearing: Hearing): readonly PlaceOfCell[] {
    return this.#ranked[hearing];
  }

  heapOf(hearing: Hearing, cell: string): Heap | undefined {
    const number = this.#byCell[hearing].get(cell);
    return number === undefined ? undefined : (this.#places[number] as Place);
  }

  /** How many hosts of a cell fit. */
  fitsIn(cell: string): number {
    return HEARINGS.reduce((sum, hearing) => sum + (this.heapOf(hearing, cell)?.slots.length ?? 0), 0);
  }

  /** What refuses hosts. */
  reasons(): Reason[] {
    return this.#refusing().map(({ reason }) => reason as Reason);
  }

  #refusing(): Place[] {
    return [...this.#reasons.values()].map((number) => this.#places[number] as Place);
  }

  /**
   * Every reason with its hosts.
   * @param more What is asked of the host that came nearest; once until it changes, if it is kept.
   */
  counted(more: More): Counted[] {
    const places = this.#refusing().map((place) => ({ ...(place.reason as Reason), hosts: place.hosts, place }));
    return inOrder(places).map(({ place, ...count }, position) => {
      const slot = topOf(this, place);
      if (slot === undefined) return count;
      const root = this.slots.roots[slot] as string;
      const nearest = { root, short: -(this.weights[slot] as number) };
      if (position >= MAX_ASKED || !lacksMore(place, slot, root, more)) return { ...count, nearest };
      return { ...count, nearest: { ...nearest, lacksMore: true as const } };
    });
  }

  /** Has room for so many slots. */
  widen(size: number): void {
    if (this.at.length >= size) return;
    const { weights, at, placeAt } = this;
    const wider = Math.ceil(size * 1.25);
    this.weights = new Float64Array(wider);
    this.weights.set(weights);
    this.at = new Int32Array(wider);
    this.at.set(at);
    this.placeAt = new Int32Array(wider);
    this.placeAt.set(placeAt);
  }

  /**
   * Before all hosts are weighed in one go: where each stands in rank is found out when somebody asks.
   * @param changed Those of which what was known is not true any more.
   */
  loosen(changed: readonly number[]): void {
    if (this.#weighed.size > 0) for (const slot of changed) this.#weighed.delete(slot);
    for (const place of this.#places) {
      if (place === null) continue;
      loosen(place);
      place.asked = null;
    }
  }

  /** The host fits. */
  rank(slot: number, root: string, cell: string, weight: number): void {
    const hearing = this.#hearingOf(root);
    const known = this.#places[this.placeAt[slot] as number];
    if (known != null && known.cell === cell && known.hearing === hearing) {
      this.#weighed.delete(slot);
      if (this.weights[slot] === weight) return;
      this.weights[slot] = weight;
      move(this, known, slot);
      return;
    }
    this.leave(slot);
    const number = this.#byCell[hearing].get(cell) ?? this.#addCell(hearing, cell);
    const place = this.#places[number] as Place;
    this.placeAt[slot] = number;
    this.weights[slot] = weight;
    place.hosts += 1;
    this.fits += 1;
    insert(this, place, slot);
  }

  #hearingOf(root: string): Hearing {
    return isShardSilent({ silentShards: this.silentShards, shards: this.#view.shards }, root) ? 'silent' : 'heard';
  }

  /** The host is refused. */
  refuse(slot: number, { code, about, short, message }: Obstacle): void {
    const weight = short === undefined ? UNTOLD : -short;
    const known = this.#places[this.placeAt[slot] as number];
    const reason = known?.reason;
    if (known != null && reason != null && reason.code === code && reason.about === about) {
      if (known.asked?.slot === slot) known.asked = null;
      if (reason.message === TO_BE_SAID) known.reason = reasonOf({ code, about, message });
      const before = this.weights[slot];
      if (before === weight) return;
      if (before === UNTOLD || weight === UNTOLD) this.#leaveHeap(known, slot);
      this.weights[slot] = weight;
      if (before === UNTOLD) insert(this, known, slot);
      else if (weight !== UNTOLD) move(this, known, slot);
      return;
    }
    this.leave(slot);
    const number = this.#reasons.get(keyOf({ code, about })) ?? this.#addReason({ code, about, message });
    const place = this.#places[number] as Place;
    if (place.reason?.message === TO_BE_SAID) place.reason = reasonOf({ code, about, message });
    this.placeAt[slot] = number;
    this.weights[slot] = weight;
    place.hosts += 1;
    this.refused += 1;
    if (weight !== UNTOLD) insert(this, place, slot);
  }

  /** The host is neither ranked nor refused. */
  leave(slot: number): void {
    const number = this.placeAt[slot] as number;
    if (number === NOWHERE) return;
    const place = this.#places[number] as Place;
    this.allServedAt = -1;
    this.placeAt[slot] = NOWHERE;
    this.#leaveHeap(place, slot);
    place.hosts -= 1;
    if (place.asked?.slot === slot) place.asked = null;
    if (place.cell !== null) {
      this.fits -= 1;
      this.#weighed.delete(slot);
      return;
    }
    this.refused -= 1;
    if (place.hosts > 0) return;
    this.#reasons.delete(keyOf(place.reason as Reason));
    this.#places[number] = null;
    this.#freePlaces.push(number);
  }

  #leaveHeap(place: Place, slot: number): void {
    if (place.cell !== null || this.weights[slot] !== UNTOLD) remove(this, place, slot);
  }

  #addCell(hearing: Hearing, cell: string): number {
    const place = { ...emptyHeap(this.slots.ties), hosts: 0, cell, hearing, reason: null, asked: null };
    const number = this.#add(place);
    this.#byCell[hearing].set(cell, number);
    this.#ranked[hearing].push(place);
    return number;
  }

  #addReason(obstacle: Obstacle): number {
    const reason = reasonOf(obstacle);
    const heap = emptyHeap(this.slots.commonTies);
    const number = this.#add({ ...heap, hosts: 0, cell: null, hearing: 'heard', reason, asked: null });
    this.#reasons.set(keyOf(reason), number);
    return number;
  }

  #add(place: Place): number {
    const number = this.#freePlaces.pop();
    if (number === undefined) return this.#places.push(place) - 1;
    this.#places[number] = place;
    return number;
  }

  /** Puts hosts apart anew, since other shards are silent than were. */
  setApart(): void {
    this.silentShards = this.#view.silentShards;
    for (let slot = 0; slot < this.placeAt.length; slot += 1) {
      if (!this.isRanked(slot)) continue;
      const { cell, hearing } = this.#places[this.placeAt[slot] as number] as Place;
      if (this.#hearingOf(this.slots.roots[slot] as string) === hearing) continue;
      this.rank(slot, this.slots.roots[slot] as string, cell as string, this.weights[slot] as number);
    }
  }
}

/** Whether more stands in the way of a host that came nearest, and whether that is known until the host changes. */
interface More {
  lacksMore(root: string): boolean;
  readonly isKept: boolean;
}

function lacksMore(place: Place, slot: number, root: string, more: More): boolean {
  const known = more.isKept && place.asked?.slot === slot ? place.asked.lacksMore : undefined;
  const lacks = known ?? more.lacksMore(root);
  if (more.isKept) place.asked = { slot, lacksMore: lacks };
  return lacks;
}

/** Stands for what is said of the next host that is refused. */
const TO_BE_SAID = '';

/** What a host weighs of which it cannot be said how much it fell short. */
const UNTOLD = Number.NEGATIVE_INFINITY;

/** Of how many reasons it is asked whether more stands in the way: of hardly any request there are more. */
const MAX_ASKED = 16;

class FittingHosts implements Current {
  readonly #shape: Shape;

  constructor(shape: Shape) {
    this.#shape = shape;
  }

  get size(): number {
    return this.#shape.fits;
  }

  has(root: string): boolean {
    const slot = this.#shape.slots.of(root);
    return slot !== undefined && this.#shape.isRanked(slot);
  }

  get(root: string): Weighed | undefined {
    const slot = this.#shape.slots.of(root);
    return slot !== undefined && this.#shape.isRanked(slot) ? this.#shape.weighed(slot) : undefined;
  }

  *keys(): Iterable<string> {
    for (const slot of this.#ranked()) yield this.#shape.slots.roots[slot] as string;
  }

  *values(): Iterable<Weighed> {
    for (const slot of this.#ranked()) yield this.#shape.weighed(slot);
  }

  *#ranked(): Iterable<number> {
    for (const hearing of HEARINGS) for (const { slots } of this.#shape.heaps(hearing)) yield* slots;
  }
}
