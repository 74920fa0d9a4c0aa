// Where the hosts of a family stand: those of which numbers tell all in boxes of each cell; those that are refused whatever the
// amounts by what refuses them, which is the same for all of its members; those that lack a trait or the like in boxes too, by
// what they lack, since a request may find them short of a class first; and which are left that each member looks at itself.

import { isShardSilent } from '../view/silence.ts';
import type { View } from '../view/view.ts';
import { type Box, Boxes, type Measures } from './boxes.ts';
import { type Obstacle, reasonKey } from './census.ts';
import type { Slots } from './slots.ts';
import { type Hearing, Stands } from './stands.ts';

/** What is known of a host. */
export const KIND = {
  /** It must be looked at itself. */
  other: 0,
  /** Its numbers tell all. */
  plain: 1,
  /** It is refused, whatever the amounts. */
  refused: 2,
  /** It is refused for a trait or the like, unless it is short of a class that is asked for before that. */
  unmet: 3,
  /** It is none, or no more. */
  none: 4,
} as const;

/** Hosts that are told by numbers and stand together. */
export type Place = PlaceOfCell | PlaceOfUnmet;

/** Those of a cell: those that were heard lately, or those that are silent. */
export interface PlaceOfCell {
  readonly kind: typeof KIND.plain;
  readonly boxes: Boxes;
  readonly cell: string;
  readonly hearing: Hearing;
}

/** Those that are refused for what they are, unless they are short of one of the first few classes. */
export interface PlaceOfUnmet {
  readonly kind: typeof KIND.unmet;
  readonly boxes: Boxes;
  readonly obstacle: Obstacle;
  readonly classes: number;
}

/**
 * From so many cells on, hosts of all cells stand together, too. Otherwise whoever looks for the best of all looks into some
 * boxes of each cell: of two or three that takes about as much as to keep a host that has changed in two places.
 */
const MANY_CELLS = 8;

export class FamilyHosts {
  /** Those that are refused whatever the amounts. */
  readonly refused: Stands;
  /** The slots of those that must be looked at themselves. */
  readonly others = new Set<number>();
  readonly measures: Measures;
  readonly #slots: Slots;
  readonly #view: View;
  /** By slot. */
  readonly #kinds: number[] = [];
  readonly #places: (Place | undefined)[] = [];
  readonly #boxes: (Box | undefined)[] = [];
  readonly #byCell: Record<Hearing, Map<string, PlaceOfCell>> = { heard: new Map(), silent: new Map() };
  readonly #unmet = new Map<string, PlaceOfUnmet>();
  /** Those of all cells that were heard lately; null: there are few cells. */
  #ofAllCells: Boxes | null = null;
  readonly #boxesOfAllCells: (Box | undefined)[] = [];
  /** Those that are told by numbers and stand in no box yet, for boxes of many are made together; null: all do. */
  #toBePut: Map<Place, number[]> | null = new Map();
  #making: Iterator<number, void> | null = null;
  /** The placement shards whose hosts stand apart. */
  #silentShards: ReadonlySet<number>;

  constructor(slots: Slots, view: View, measures: Measures) {
    this.#slots = slots;
    this.#view = view;
    this.measures = measures;
    this.refused = new Stands(slots, view);
    this.#silentShards = view.silentShards;
  }

  kindOf(slot: number): number {
    return this.#kinds[slot] ?? KIND.none;
  }

  /** Undefined: it is not told by numbers. */
  placeOf(slot: number): Place | undefined {
    return this.#places[slot];
  }

  /** Its numbers tell all of a host: it stands with those that it is like. */
  putPlain(slot: number, cell: string): void {
    this.#put(slot, this.#placeFor(slot, cell));
  }

  /** @param classes Of how many classes, of those that a request asks for first, it is told before what stands in the way. */
  putUnmet(slot: number, obstacle: Obstacle, classes: number): void {
    this.#put(slot, this.#placeOfUnmet(obstacle, classes));
  }

  #put(slot: number, place: Place): void {
    this.#setKind(slot, place.kind);
    this.refused.leave(slot);
    if (this.#toBePut !== null) {
      const slots = this.#toBePut.get(place);
      if (slots === undefined) this.#toBePut.set(place, [slot]);
      else slots.push(slot);
      return;
    }
    this.#putAmongAll(slot, place);
    const before = this.#places[slot];
    if (before === place) return place.boxes.move(slot);
    before?.boxes.remove(slot);
    this.#places[slot] = place;
    place.boxes.add(slot);
  }

  #putAmongAll(slot: number, place: Place | undefined): void {
    if (this.#ofAllCells === null) return;
    const stood = this.#boxesOfAllCells[slot] !== undefined;
    const stands = place !== undefined && isHeard(place);
    if (stood && stands) this.#ofAllCells.move(slot);
    else if (stood) this.#ofAllCells.remove(slot);
    else if (stands) this.#ofAllCells.add(slot);
  }

  /** Once all hosts have been put for the first time, makes the boxes of so many, or some more; answers whether all are made. */
  makeBoxes(most: number): boolean {
    if (this.#toBePut === null) return true;
    this.#making ??= this.#make(this.#toBePut);
    for (let made = 0; made < most; ) {
      const { done, value } = this.#making.next();
      if (done === true) {
        this.#toBePut = null;
        this.#making = null;
        return true;
      }
      made += value;
    }
    return false;
  }

  *#make(toBePut: ReadonlyMap<Place, number[]>): Generator<number, void> {
    for (const [place, slots] of toBePut) {
      for (const slot of slots) this.#places[slot] = place;
      yield* place.boxes.fill(slots);
    }
    yield* this.#makeOfAllCells();
  }

  *#makeOfAllCells(): Generator<number, void> {
    if (this.#ofAllCells !== null || this.#byCell.heard.size < MANY_CELLS) return;
    const heard: number[] = [];
    for (const [slot, place] of this.#places.entries()) {
      if (place !== undefined && isHeard(place)) heard.push(slot);
    }
    this.#ofAllCells = new Boxes(this.#slots, this.measures, this.#boxesOfAllCells);
    yield* this.#ofAllCells.fill(heard);
  }

  putRefused(slot: number, obstacle: Obstacle): void {
    this.putAside(slot, KIND.refused);
    this.refused.refuse(slot, obstacle);
  }

  /** Nothing is told of it. */
  putAside(slot: number, kind: number): void {
    this.#setKind(slot, kind);
    this.refused.leave(slot);
    this.#putAmongAll(slot, undefined);
    this.#places[slot]?.boxes.remove(slot);
    this.#places[slot] = undefined;
  }

  /** Those of some cells, or of all. */
  placesOf(hearing: Hearing, cells?: readonly string[]): Iterable<PlaceOfCell> {
    const all = this.#byCell[hearing];
    return cells === undefined ? all.values() : cells.flatMap((cell) => all.get(cell) ?? []);
  }

  /** The boxes of all cells: one that has all of them, where there is one. */
  *boxesOfAllCells(hearing: Hearing): Iterable<Boxes> {
    if (hearing === 'heard' && this.#ofAllCells !== null) yield this.#ofAllCells;
    else for (const { boxes } of this.#byCell[hearing].values()) yield boxes;
  }

  placesOfUnmet(): Iterable<PlaceOfUnmet> {
    return this.#unmet.values();
  }

  /** Puts hosts apart anew where other shards are silent than were. */
  setApart(): void {
    if (this.#silentShards === this.#view.silentShards) return;
    this.#silentShards = this.#view.silentShards;
    for (const [slot, place] of this.#places.entries()) {
      if (this.#kinds[slot] !== KIND.plain) continue;
      const { cell } = place as PlaceOfCell;
      if (this.#placeFor(slot, cell) !== place) this.putPlain(slot, cell);
    }
  }

  #setKind(slot: number, kind: number): void {
    if (kind === KIND.other) this.others.add(slot);
    else this.others.delete(slot);
    this.#kinds[slot] = kind;
  }

  #placeOfUnmet(obstacle: Obstacle, classes: number): PlaceOfUnmet {
    const key = `${classes} ${reasonKey(obstacle)}`;
    let place = this.#unmet.get(key);
    if (place === undefined) {
      place = { kind: KIND.unmet, obstacle, classes, boxes: new Boxes(this.#slots, this.measures, this.#boxes) };
      this.#unmet.set(key, place);
    }
    return place;
  }

  #placeFor(slot: number, cell: string): PlaceOfCell {
    const root = this.#slots.roots[slot] as string;
    const isSilent = isShardSilent({ silentShards: this.#silentShards, shards: this.#view.shards }, root);
    const hearing = isSilent ? 'silent' : 'heard';
    const places = this.#byCell[hearing];
    let place = places.get(cell);
    if (place === undefined) {
      place = { kind: KIND.plain, cell, hearing, boxes: new Boxes(this.#slots, this.measures, this.#boxes) };
      places.set(cell, place);
      if (this.#toBePut === null) void [...this.#makeOfAllCells()];
    }
    return place;
  }
}

const isHeard = (place: Place): boolean => place.kind === KIND.plain && place.hearing === 'heard';
