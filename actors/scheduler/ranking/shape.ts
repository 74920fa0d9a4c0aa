// The hosts as one shape of request ranks them: those that fit, of which some come first in rank (first-in-rank.ts), and those
// that do not by what refuses them (refusals.ts). Of most hosts its family tells that, where it has one; the others are looked
// at one by one (weighing.ts), and stands.ts keeps how they stand.

import type { SteadyTime } from '../../actor.ts';
import type { RequestSpec } from '../../messages/common.ts';
import type { Asked } from '../filters/filter.ts';
import { changesEnd, type View } from '../view/view.ts';
import type { AskedWeigher } from '../weighers/weigher.ts';
import type { RankedNow } from './best-first.ts';
import type { Family } from './families.ts';
import { KIND } from './family-hosts.ts';
import { LACKS_NOTHING, lackOn, type Member, memberOf, NO_ROOM, slotsWithRoom, weightIn } from './family-numbers.ts';
import { FirstInRank } from './first-in-rank.ts';
import { Refusals } from './refusals.ts';
import type { RankedHosts } from './several.ts';
import type { Slots } from './slots.ts';
import { HEARINGS, Stands } from './stands.ts';
import { Tally } from './tally.ts';
import type { Unseen } from './unseen.ts';
import { type Weighed, Weighings } from './weighings.ts';

/** Looks at providers that were spent on searching hosts for a shape lately, and since when. */
export interface Searched {
  looks: number;
  since: SteadyTime;
}

/** The hosts that fit a shape of request, by their roots. */
export interface Current {
  readonly size: number;
  has(root: string): boolean;
  get(root: string): Weighed | undefined;
  keys(): Iterable<string>;
  values(): Iterable<Weighed>;
}

/** What of a request is ranked by. */
export interface RankedBy {
  /** The same for requests that are ranked alike. */
  readonly key: string;
  readonly spec: RequestSpec;
  readonly filters: readonly Asked[];
  readonly weighers: readonly AskedWeigher[];
}

export class Shape implements RankedBy, RankedNow, RankedHosts {
  readonly key: string;
  readonly spec: RequestSpec;
  readonly filters: readonly Asked[];
  readonly weighers: readonly AskedWeigher[];
  readonly slots: Slots;
  /** The hosts that fit. */
  readonly current: Current = new FittingHosts(this);
  /** Those of them that come first in rank. */
  readonly first: FirstInRank;
  readonly refusals: Refusals;
  /** Null: it has no family. */
  readonly member: Member | null;
  /** The hosts of which no family tells. */
  readonly own: Stands;
  /** Those of the hosts that are refused that are still to be searched to the end, in order. */
  readonly unsearched = new Set<string>();
  readonly searched: Searched;
  /** Null: it is not known yet which hosts are to be looked at. */
  unseen: Unseen | null = null;
  /** The position in the view's changes up to which this ranking is true, once all hosts have been looked at. */
  seen: number;
  #tally: Tally | null = null;
  readonly #weighings: Weighings;
  readonly #view: View;

  constructor(
    { key, spec, filters, weighers }: RankedBy,
    view: View,
    slots: Slots,
    family: Family | null,
    searched: Searched,
    countsRefusals: boolean,
  ) {
    this.key = key;
    this.spec = spec;
    this.filters = filters;
    this.weighers = weighers;
    this.slots = slots;
    this.member = family === null ? null : memberOf(family, spec);
    this.own = new Stands(slots, view);
    this.searched = searched;
    this.seen = changesEnd(view);
    this.#view = view;
    this.#weighings = new Weighings(this, view);
    this.first = new FirstInRank(this, view);
    this.refusals = new Refusals(this, countsRefusals);
  }

  get fits(): number {
    return this.own.fits + (this.tallied()?.fits ?? 0);
  }

  isRanked(slot: number): boolean {
    if (this.member?.known.hosts.kindOf(slot) === KIND.plain) return lackOn(this.member, slot) === LACKS_NOTHING;
    return this.own.isRanked(slot);
  }

  /** Of a host that fits, as long as nothing has changed since the hosts were ranked. */
  weighed(slot: number): Weighed {
    return this.#weighings.of(slot);
  }

  cellOf(slot: number): string | undefined {
    return this.#view.hosts.get(this.slots.roots[slot] as string)?.cell;
  }

  weightOf(slot: number): number {
    if (this.member?.known.hosts.kindOf(slot) === KIND.plain) return weightIn(this.member, slot);
    return this.own.isRanked(slot) ? (this.own.weights[slot] as number) : NO_ROOM;
  }

  /** How many hosts of a cell fit. */
  fitsIn(cell: string): number {
    const own = HEARINGS.reduce((sum, hearing) => sum + (this.own.heapOf(hearing, cell)?.slots.length ?? 0), 0);
    return own + (this.tallied()?.fitsIn(cell) ?? 0);
  }

  /** The cells of the hosts that fit, each once, and perhaps others. */
  cells(): ReadonlySet<string> {
    const cells = new Set<string>();
    for (const hearing of HEARINGS) {
      for (const { cell } of this.own.heaps(hearing)) cells.add(cell);
      for (const { cell } of this.member?.known.hosts.placesOf(hearing) ?? []) cells.add(cell);
    }
    return cells;
  }

  /** What the family tells of its hosts as they are now. */
  tallied(): Tally | null {
    if (this.member === null) return null;
    this.#tally ??= new Tally(this.member);
    this.#tally.catchUp();
    return this.#tally;
  }

  /** How many weighings are kept. */
  get weighings(): number {
    return this.#weighings.size;
  }

  /** For how many hosts there is room in what is kept of them. */
  get size(): number {
    return this.own.size + this.first.size;
  }

  /** The slots of all that fit. */
  *slotsThatFit(): Iterable<number> {
    yield* this.own.ranked();
    if (this.member === null) return;
    for (const hearing of HEARINGS) {
      for (const { boxes } of this.member.known.hosts.placesOf(hearing)) {
        if (boxes.root !== null) yield* slotsWithRoom(this.member, boxes.root);
      }
    }
  }
}

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
    for (const slot of this.#shape.slotsThatFit()) yield this.#shape.slots.roots[slot] as string;
  }

  *values(): Iterable<Weighed> {
    for (const slot of this.#shape.slotsThatFit()) yield this.#shape.weighed(slot);
  }
}
