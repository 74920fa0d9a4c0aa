// How hosts that are looked at one by one stand to a shape of request: those that fit, in heaps of each cell, so that hosts
// of one cell are found without passing those of the others; and those that do not, by what refuses them, the nearest first.
// Hosts of silent placement shards stand apart: nothing is built on those, so that they would soon be the first in rank, and
// be passed each time. What is known of each host stands in arrays: there may be a thousand shapes, and each follows every
// host that changes.

import { isShardSilent } from '../view/silence.ts';
import type { View } from '../view/view.ts';
import { type Obstacle, type Reason, reasonKey, reasonOf } from './census.ts';
import { emptyHeap, type Heap, insert, move, type Order, remove } from './heap.ts';
import type { Slots } from './slots.ts';

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
}

/** The hosts of a cell that are ranked. */
export interface HeapOfCell extends Heap {
  readonly cell: string;
}

/** The hosts that one reason refuses. */
export interface Refusing {
  readonly reason: Reason;
  readonly hosts: number;
  /** The slot of the nearest, and by how much it fell short; undefined: of none that can be said. */
  readonly nearest: { readonly slot: number; readonly short: number } | undefined;
}

/** What stands for no place in `#placeAt`, in which others are counted from 1. */
const NOWHERE = 0;

/** What a host weighs of which it cannot be said how much it fell short. */
const UNTOLD = Number.NEGATIVE_INFINITY;

export class Stands implements Order {
  /** By slot: what a host weighs; of one that is refused, how much it fell short, below nothing. */
  weights = new Float64Array(0);
  at = new Int32Array(0);
  /** By slot: the number of its place. */
  #placeAt = new Int32Array(0);
  readonly #places: (Place | null)[] = [null];
  /** Numbers of places of reasons that refuse nobody any more. */
  readonly #freePlaces: number[] = [];
  readonly #byCell: Record<Hearing, Map<string, number>> = { heard: new Map(), silent: new Map() };
  readonly #ranked: Record<Hearing, HeapOfCell[]> = { heard: [], silent: [] };
  readonly #reasons = new Map<string, number>();
  readonly #slots: Slots;
  readonly #view: View;
  /** The placement shards whose hosts stand apart. */
  #silentShards: ReadonlySet<number>;
  fits = 0;
  refused = 0;

  constructor(slots: Slots, view: View) {
    this.#slots = slots;
    this.#view = view;
    this.#silentShards = view.silentShards;
  }

  /** For how many hosts there is room. */
  get size(): number {
    return this.at.length;
  }

  isRanked(slot: number): boolean {
    const place = this.#places[this.#placeAt[slot] ?? NOWHERE];
    return place != null && place.cell !== null;
  }

  /** Neither ranks nor refuses any host. */
  get isEmpty(): boolean {
    return this.fits === 0 && this.refused === 0;
  }

  /** In how many cells hosts are ranked, at most. */
  get cells(): number {
    return this.#ranked.heard.length;
  }

  /** The heaps of some cells, or of all. */
  heaps(hearing: Hearing, cells?: readonly string[]): readonly HeapOfCell[] {
    if (cells === undefined) return this.#ranked[hearing];
    return cells.flatMap((cell) => (this.heapOf(hearing, cell) as HeapOfCell | undefined) ?? []);
  }

  heapOf(hearing: Hearing, cell: string): Heap | undefined {
    const number = this.#byCell[hearing].get(cell);
    return number === undefined ? undefined : (this.#places[number] as Place);
  }

  /** What refuses hosts, in no order. */
  refusing(): Refusing[] {
    return [...this.#reasons.values()].map((number) => {
      const { reason, hosts, slots } = this.#places[number] as Place;
      const slot = slots[0];
      const nearest = slot === undefined ? undefined : { slot, short: -(this.weights[slot] as number) };
      return { reason: reason as Reason, hosts, nearest };
    });
  }

  /** The slots of all that are ranked. */
  *ranked(): Iterable<number> {
    for (const hearing of HEARINGS) for (const { slots } of this.#ranked[hearing]) yield* slots;
  }

  /** The host fits. */
  rank(slot: number, root: string, cell: string, weight: number): void {
    this.#widen(slot);
    const hearing = this.#hearingOf(root);
    const known = this.#places[this.#placeAt[slot] as number];
    if (known != null && known.cell === cell && known.hearing === hearing) {
      if (this.weights[slot] === weight) return;
      this.weights[slot] = weight;
      move(this, known, slot);
      return;
    }
    this.leave(slot);
    const number = this.#byCell[hearing].get(cell) ?? this.#addCell(hearing, cell);
    const place = this.#places[number] as Place;
    this.#placeAt[slot] = number;
    this.weights[slot] = weight;
    place.hosts += 1;
    this.fits += 1;
    insert(this, place, slot);
  }

  /** The host is refused. */
  refuse(slot: number, obstacle: Obstacle): void {
    this.#widen(slot);
    const { code, about, short, message } = obstacle;
    const weight = short === undefined ? UNTOLD : -short;
    const known = this.#places[this.#placeAt[slot] as number];
    const reason = known?.reason;
    if (known != null && reason != null && reason.code === code && reason.about === about) {
      if (reason.message !== undefined && reason.message !== message) known.reason = reasonOf(obstacle);
      const before = this.weights[slot];
      if (before === weight) return;
      if (before === UNTOLD || weight === UNTOLD) this.#leaveHeap(known, slot);
      this.weights[slot] = weight;
      if (before === UNTOLD) insert(this, known, slot);
      else if (weight !== UNTOLD) move(this, known, slot);
      return;
    }
    this.leave(slot);
    const number = this.#reasons.get(reasonKey({ code, about })) ?? this.#addReason(obstacle);
    const place = this.#places[number] as Place;
    if (place.reason?.message !== undefined) place.reason = reasonOf(obstacle);
    this.#placeAt[slot] = number;
    this.weights[slot] = weight;
    place.hosts += 1;
    this.refused += 1;
    if (weight !== UNTOLD) insert(this, place, slot);
  }

  /** The host is neither ranked nor refused. */
  leave(slot: number): void {
    const number = this.#placeAt[slot] ?? NOWHERE;
    if (number === NOWHERE) return;
    const place = this.#places[number] as Place;
    this.#placeAt[slot] = NOWHERE;
    this.#leaveHeap(place, slot);
    place.hosts -= 1;
    if (place.cell !== null) {
      this.fits -= 1;
      return;
    }
    this.refused -= 1;
    if (place.hosts > 0) return;
    this.#reasons.delete(reasonKey(place.reason as Reason));
    this.#places[number] = null;
    this.#freePlaces.push(number);
  }

  /** Puts hosts apart anew where other shards are silent than were. */
  setApart(): void {
    if (this.#silentShards === this.#view.silentShards) return;
    this.#silentShards = this.#view.silentShards;
    for (let slot = 0; slot < this.#placeAt.length; slot += 1) {
      if (!this.isRanked(slot)) continue;
      const root = this.#slots.roots[slot] as string;
      const { cell, hearing } = this.#places[this.#placeAt[slot] as number] as Place;
      if (this.#hearingOf(root) !== hearing) this.rank(slot, root, cell as string, this.weights[slot] as number);
    }
  }

  #hearingOf(root: string): Hearing {
    return isShardSilent({ silentShards: this.#silentShards, shards: this.#view.shards }, root) ? 'silent' : 'heard';
  }

  /** Has room for a host; at once for all that there are. */
  #widen(slot: number): void {
    if (slot < this.at.length) return;
    const { weights, at } = this;
    const placeAt = this.#placeAt;
    const wider = Math.ceil(this.#slots.size * 1.25);
    this.weights = new Float64Array(wider);
    this.weights.set(weights);
    this.at = new Int32Array(wider);
    this.at.set(at);
    this.#placeAt = new Int32Array(wider);
    this.#placeAt.set(placeAt);
  }

  #leaveHeap(place: Place, slot: number): void {
    if (place.cell !== null || this.weights[slot] !== UNTOLD) remove(this, place, slot);
  }

  #addCell(hearing: Hearing, cell: string): number {
    const place = { ...emptyHeap(this.#slots.ties), hosts: 0, cell, hearing, reason: null };
    const number = this.#add(place);
    this.#byCell[hearing].set(cell, number);
    this.#ranked[hearing].push(place);
    return number;
  }

  #addReason(obstacle: Obstacle): number {
    const reason = reasonOf(obstacle);
    const place: Place = { ...emptyHeap(this.#slots.commonTies), hosts: 0, cell: null, hearing: 'heard', reason };
    const number = this.#add(place);
    this.#reasons.set(reasonKey(reason), number);
    return number;
  }

  #add(place: Place): number {
    const number = this.#freePlaces.pop();
    if (number === undefined) return this.#places.push(place) - 1;
    this.#places[number] = place;
    return number;
  }
}
