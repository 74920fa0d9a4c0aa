// Where the hosts of a family stand: those of which numbers tell all in boxes of each cell; those that a filter refuses by what
// refuses them, which is the same for all of its members; and how many are left that each member looks at by itself.

import { type Box, Boxes, type Measures } from './boxes.ts';
import type { Obstacle } from './census.ts';
import { isShardSilent } from './silence.ts';
import type { Slots } from './slots.ts';
import { type Hearing, Stands } from './stands.ts';
import type { View } from './view.ts';

/** What is known of a host. */
export const KIND = {
  /** It must be looked at itself. */
  other: 0,
  /** Its numbers tell all. */
  plain: 1,
  /** A filter refuses it, whatever the amounts. */
  refused: 2,
  /** It is none, or no more. */
  none: 3,
} as const;

/** The hosts of a cell that are told by numbers: those that were heard lately, or those that are silent. */
export interface Place {
  readonly cell: string;
  readonly boxes: Boxes;
}

export class FamilyHosts {
  /** Those that filters refuse. */
  readonly refused: Stands;
  /** How many must be looked at themselves. */
  others = 0;
  readonly measures: Measures;
  readonly #slots: Slots;
  readonly #view: View;
  /** By slot. */
  readonly #kinds: number[] = [];
  readonly #places: (Place | undefined)[] = [];
  readonly #boxes: (Box | undefined)[] = [];
  readonly #byCell: Record<Hearing, Map<string, Place>> = { heard: new Map(), silent: new Map() };
  /** Those that are told by numbers and stand in no box yet; null: all others do. */
  #toBePut: number[] | null = null;
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

  /** Its numbers tell all of a host: it stands with those that it is like. */
  putPlain(slot: number, cell: string): void {
    this.#setKind(slot, KIND.plain);
    this.refused.leave(slot);
    const place = this.#placeFor(slot, cell);
    const before = this.#places[slot];
    this.#places[slot] = place;
    if (this.#toBePut !== null) return void this.#toBePut.push(slot);
    if (before === place) return place.boxes.move(slot);
    before?.boxes.remove(slot);
    place.boxes.add(slot);
  }

  /** Has all hosts put by somebody who does it for the first time: their boxes are made in one go then. */
  putAll(put: () => void): void {
    const toBePut: number[] = [];
    this.#toBePut = toBePut;
    put();
    this.#toBePut = null;
    const byPlace = new Map<Place, number[]>();
    for (const slot of toBePut) {
      const place = this.#places[slot] as Place;
      const slots = byPlace.get(place);
      if (slots === undefined) byPlace.set(place, [slot]);
      else slots.push(slot);
    }
    for (const [{ boxes }, slots] of byPlace) boxes.fill(slots);
  }

  putRefused(slot: number, obstacle: Obstacle): void {
    this.putAside(slot, KIND.refused);
    this.refused.refuse(slot, obstacle);
  }

  /** Nothing is told of it. */
  putAside(slot: number, kind: number): void {
    this.#setKind(slot, kind);
    this.refused.leave(slot);
    this.#places[slot]?.boxes.remove(slot);
    this.#places[slot] = undefined;
  }

  /** Those of some cells, or of all. */
  placesOf(hearing: Hearing, cells?: readonly string[]): Iterable<Place> {
    const all = this.#byCell[hearing];
    return cells === undefined ? all.values() : cells.flatMap((cell) => all.get(cell) ?? []);
  }

  /** Puts hosts apart anew where other shards are silent than were. */
  setApart(): void {
    if (this.#silentShards === this.#view.silentShards) return;
    this.#silentShards = this.#view.silentShards;
    for (const [slot, place] of this.#places.entries()) if (place !== undefined) this.putPlain(slot, place.cell);
  }

  #setKind(slot: number, kind: number): void {
    this.others += Number(kind === KIND.other) - Number(this.#kinds[slot] === KIND.other);
    this.#kinds[slot] = kind;
  }

  #placeFor(slot: number, cell: string): Place {
    const root = this.#slots.roots[slot] as string;
    const isSilent = isShardSilent({ silentShards: this.#silentShards, shards: this.#view.shards }, root);
    const places = this.#byCell[isSilent ? 'silent' : 'heard'];
    let place = places.get(cell);
    if (place === undefined) {
      place = { cell, boxes: new Boxes(this.#slots, this.measures, this.#boxes) };
      places.set(cell, place);
    }
    return place;
  }
}
