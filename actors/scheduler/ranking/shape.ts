// The hosts as one shape of request ranks them: those that fit, and those that do not by what refuses them. Of most hosts its
// family tells that, where it has one; the others are looked at one by one (weighing.ts), and stands.ts keeps how they stand.

import type { Allocation } from '../../../machines/instance-build.ts';
import type { SteadyTime } from '../../actor.ts';
import type { RequestSpec } from '../../messages/common.ts';
import type { WeighingText } from '../../messages/stored-decision.ts';
import type { Asked } from '../filters/filter.ts';
import { type FullBy, membersOn, rootCount, rootsOf } from '../view/groups-view.ts';
import { changesEnd, type View } from '../view/view.ts';
import type { AskedWeigher } from '../weighers/weigher.ts';
import { type Among, bestOf, Front, type RankedNow } from './best-first.ts';
import { type Box, hostAt } from './boxes.ts';
import { type Counted, mostRefusingFirst, type Reason, reasonKey } from './census.ts';
import type { Family } from './families.ts';
import { KIND } from './family-hosts.ts';
import { LACKS_NOTHING, lackOn, type Member, memberOf, mostIn, NO_ROOM, weightIn } from './family-numbers.ts';
import { Fronts, type Part } from './fronts.ts';
import { FullForGroup } from './full-for-group.ts';
import { before, type Heap, type Rank } from './heap.ts';
import { type RankedHosts, Several } from './several.ts';
import type { Slots } from './slots.ts';
import { HEARINGS, type Hearing, type Refusing, Stands } from './stands.ts';
import { Tally } from './tally.ts';
import type { Unseen } from './unseen.ts';

/** One weighing of a host: what is known of it until it changes. */
export interface Weighed extends Rank {
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
  /** The version of its slot. */
  readonly version: number;
}

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

/** Some of the hosts that fit. */
export interface Choice {
  /** Of cells whose placement shards were heard lately, or are silent. */
  readonly hearings: readonly Hearing[];
  /** Only of these cells; undefined: of all. */
  readonly cells?: readonly string[] | undefined;
  /** And of none of these. */
  readonly avoids?: ReadonlySet<string> | undefined;
  /** And only those of these; undefined: of all that fit. */
  readonly several?: Several | undefined;
  /** These are not accepted; undefined: of no group that is known. */
  readonly full?: FullBy | undefined;
}

export class Shape implements RankedBy, RankedNow, RankedHosts {
  readonly key: string;
  readonly spec: RequestSpec;
  readonly filters: readonly Asked[];
  readonly weighers: readonly AskedWeigher[];
  readonly slots: Slots;
  /** The hosts that fit. */
  readonly current: Current = new FittingHosts(this);
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
  readonly #front = new Front(this, () => this.own.cells);
  /** The same of all cells that are heard. */
  readonly #heard: Fronts;
  #silencesNoted = 0;
  /** Weighings that somebody has looked at, by slot. */
  readonly #weighed = new Map<number, Weighed>();
  /** With so many of them those are let go that are not true any more. */
  #dropsAt = MIN_WEIGHED;
  /** Of the nearest of each reason, whether more stands in its way. */
  readonly #lacksMore = new Map<
    string,
    { readonly slot: number; readonly version: number; readonly lacksMore: boolean }
  >();
  /** By how many instances at once; those that were used longest ago come first. */
  readonly #several = new Map<number, Several>();
  /** By group and how many of it a host may have; those that were used longest ago come first. */
  readonly #full = new Map<string, FullForGroup>();
  readonly #view: View;
  readonly #countsRefusals: boolean;

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
    this.#heard = new Fronts(this, null, () => view.hostsIn.size);
    this.#countsRefusals = countsRefusals;
  }

  get fits(): number {
    return this.own.fits + (this.tallied()?.fits ?? 0);
  }

  get refused(): number {
    if (this.member === null || !this.#countsRefusals) return this.own.refused;
    return this.own.refused + this.member.known.hosts.refused.refused + (this.tallied() as Tally).refused;
  }

  isRanked(slot: number): boolean {
    if (this.member?.known.hosts.kindOf(slot) === KIND.plain) return lackOn(this.member, slot) === LACKS_NOTHING;
    return this.own.isRanked(slot);
  }

  /** Of a host that fits, as long as nothing has changed since the hosts were ranked. */
  weighed(slot: number): Weighed {
    const { roots, ties, versions } = this.slots;
    const version = versions[slot] as number;
    const known = this.#weighed.get(slot);
    if (known?.version === version) return known;
    const root = roots[slot] as string;
    const { cell, host } = this.#view.hosts.get(root) as { cell: string; host: string };
    const one: Weighed = {
      root,
      cell,
      host,
      weight: this.weightOf(slot),
      tie: ties[slot] as number,
      told: null,
      offered: null,
      holds: null,
      tooMany: Number.POSITIVE_INFINITY,
      most: null,
      version,
    };
    if (this.#weighed.size >= this.#dropsAt) this.#dropOld();
    this.#weighed.set(slot, one);
    return one;
  }

  /** Lets go of weighings of hosts that have changed. */
  #dropOld(): void {
    const { versions } = this.slots;
    for (const [slot, { version }] of this.#weighed) if (version !== versions[slot]) this.#weighed.delete(slot);
    this.#dropsAt = Math.max(MIN_WEIGHED, 2 * this.#weighed.size);
  }

  cellOf(slot: number): string | undefined {
    return this.#view.hosts.get(this.slots.roots[slot] as string)?.cell;
  }

  weightOf(slot: number): number {
    if (this.member?.known.hosts.kindOf(slot) === KIND.plain) return weightIn(this.member, slot);
    return this.own.isRanked(slot) ? (this.own.weights[slot] as number) : NO_ROOM;
  }

  /** Up to `most` hosts that fit and are accepted, best first. */
  bestOf(choice: Choice, most: number, accept: (one: Weighed) => boolean): Weighed[] {
    const { hearings, cells, avoids, several, full } = choice;
    const arePassed = this.#arePassed(choice);
    const from: Choice = arePassed ? { hearings, cells, avoids: undefined, several, full } : choice;
    const isAccepted = (slot: number) => {
      const one = this.weighed(slot);
      return !(arePassed && avoids?.has(one.cell)) && accept(one);
    };
    const found =
      full === undefined ? this.#bestOf(from, most, isAccepted) : this.#bestBut(full, from, most, isAccepted);
    return found.map((slot) => this.weighed(slot));
  }

  #bestOf(from: Choice, most: number, accept: (slot: number) => boolean): number[] {
    // Of one cell the first are found at once.
    const part = from.cells === undefined ? this.#partOf(from) : undefined;
    if (part === undefined) return bestOf(this.#among(from), most, accept);
    const among = () => this.#among(from);
    return part === null ? this.#front.bestOf(among, most, accept) : this.#heard.bestOf(part, among, most, accept);
  }

  /** Of which part of the hosts some are; undefined: of none of which the first are kept. */
  #partOf({ cells, avoids, several }: Choice): Part | undefined {
    const { silentShards, silentCells } = this.#view;
    if (several !== undefined || silentShards.size > 0) return undefined;
    if (avoids === undefined) return cells === undefined ? null : cells.length === 1 ? cells[0] : undefined;
    if (cells !== undefined || avoids !== silentCells) return undefined;
    this.#noteSilences();
    return avoids;
  }

  /** What was found where other cells were silent is so no more. */
  #noteSilences(): void {
    const { silencesNoted } = this.#view;
    if (this.#silencesNoted === silencesNoted) return;
    this.#silencesNoted = silencesNoted;
    this.#heard.forget();
    for (const full of this.#full.values()) full.fronts.forget();
  }

  /** Where hosts that are full for a group were many of the first in rank, they are passed once, and not by each choice. */
  #bestBut(by: FullBy, from: Choice, most: number, accept: (slot: number) => boolean): number[] {
    const full = this.#passedFor(by);
    if (full === null) {
      let refused = 0;
      const found = this.#bestOf(from, most, (slot) => {
        const isAccepted = accept(slot);
        if (!isAccepted) refused += 1;
        return isAccepted;
      });
      if (refused > FEW_ROOTS) this.#notePassed(by);
      return found;
    }
    const part = this.#partOf(from);
    const among = () => this.#among(from, full);
    return part === undefined ? bestOf(among(), most, accept) : full.fronts.bestOf(part, among, most, accept);
  }

  /** Hosts that are full for a group, if it was seen that they are many of the first in rank. */
  #passedFor(by: FullBy): FullForGroup | null {
    return this.#full.get(keyOf(by))?.arePassed === true ? this.#notePassed(by) : null;
  }

  #notePassed(by: FullBy): FullForGroup | null {
    if (rootCount(this.#view.groups, by.group) <= FEW_ROOTS) return null;
    const full = this.#followed(by);
    full.arePassed = true;
    return full;
  }

  /** Whether hosts of the cells to avoid are passed one by one: to look at each of the other cells takes longer. */
  #arePassed({ cells, avoids }: Choice): boolean {
    if (avoids === undefined || cells !== undefined) return false;
    const { hostsIn } = this.#view;
    let hosts = 0;
    for (const cell of avoids) {
      hosts += hostsIn.get(cell) ?? 0;
      if (hosts > hostsIn.size) return false;
    }
    return true;
  }

  /** A host is ranked in another way though it has not changed. */
  rankedAnew(slot: number): void {
    this.#front.forget();
    this.#heard.forget();
    for (const several of this.#several.values()) several.look(slot);
    for (const full of this.#full.values()) {
      full.look(slot);
      full.fronts.forget();
    }
  }

  /** Those of the hosts that fit that have room for several at once, as far as numbers tell. */
  severalOf(count: number, isAsMany: (root: string) => boolean, areNumbersAll: boolean): Several {
    let several = this.#several.get(count);
    this.#several.delete(count);
    if (several?.follow() !== true) several = new Several(this, this.#view, count, isAsMany, areNumbersAll);
    this.#several.set(count, several);
    if (this.#several.size > MAX_SEVERAL) this.#several.delete(this.#several.keys().next().value as number);
    return several;
  }

  /** How many of the hosts that fit have as many members of a group as a host may have. */
  fullFor(group: string, mostOnHost: number): number {
    const { groups } = this.#view;
    if (rootCount(groups, group) <= FEW_ROOTS) {
      const isFull = (root: string) => this.current.has(root) && membersOn(groups, group, root) >= mostOnHost;
      return rootsOf(groups, group).filter(isFull).length;
    }
    return this.#followed({ group, mostOnHost }).count;
  }

  #followed(by: FullBy): FullForGroup {
    const key = keyOf(by);
    const known = this.#full.get(key);
    this.#full.delete(key);
    const full = known?.follow() === true ? known : new FullForGroup(this, this.#view.groups, by);
    full.arePassed = known?.arePassed === true;
    this.#full.set(key, full);
    if (this.#full.size > MAX_FULL) this.#full.delete(this.#full.keys().next().value as string);
    return full;
  }

  #among({ hearings, cells, avoids, several }: Choice, full: FullForGroup | null = null): Among {
    const { own, member } = several ?? this;
    const named = cells === undefined ? undefined : [...new Set(cells)];
    const heaps: Heap[] = [];
    const boxes: Box[] = [];
    for (const hearing of hearings) {
      for (const heap of own.heaps(hearing, named)) if (avoids?.has(heap.cell) !== true) heaps.push(heap);
      if (member === null) continue;
      const { hosts } = member.known;
      if (named === undefined && avoids === undefined) {
        for (const { root } of hosts.boxesOfAllCells(hearing)) if (root !== null) boxes.push(root);
        continue;
      }
      for (const { cell, boxes: all } of hosts.placesOf(hearing, named)) {
        if (all.root !== null && avoids?.has(cell) !== true) boxes.push(all.root);
      }
    }
    return { order: own, heaps, boxes, member, isOut: full === null ? null : full.has };
  }

  /**
   * One that fits and is accepted, each as likely as the others; undefined: there is none.
   * @param draw A number below the one that it is given, another one each time.
   */
  anyOf(choice: Choice, accept: (one: Weighed) => boolean, draw: (below: number) => number): Weighed | undefined {
    const { heaps, boxes: all, member } = this.#among(choice);
    const boxes = all.filter((box) => mostIn(member as Member, box) !== NO_ROOM);
    const counts = [...heaps.map(({ slots }) => slots.length), ...boxes.map(({ count }) => count)];
    const hosts = counts.reduce((sum, count) => sum + count, 0);
    for (let draws = 0; hosts > 0 && draws < MAX_DRAWS; draws += 1) {
      let position = draw(hosts);
      let place = 0;
      for (; position >= (counts[place] as number); place += 1) position -= counts[place] as number;
      const heap = heaps[place];
      const slot = heap?.slots[position] ?? hostAt(boxes[place - heaps.length] as Box, position);
      if (this.isRanked(slot) && accept(this.weighed(slot))) return this.weighed(slot);
    }
    const slots = [
      ...heaps.flatMap((heap) => heap.slots),
      ...boxes.flatMap((box) => slotsWithRoom(member as Member, box)),
    ];
    const accepted = slots.filter((slot) => accept(this.weighed(slot)));
    return accepted.length === 0 ? undefined : this.weighed(accepted[draw(accepted.length)] as number);
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

  /** What refuses hosts. */
  reasons(): Pick<Reason, 'code' | 'about'>[] {
    return this.#refusing().map(({ reason }) => reason);
  }

  /**
   * Every reason with its hosts.
   * @param more What is asked of the host that came nearest; once until it changes, if it is kept.
   */
  counted(more: More): Counted[] {
    const counts = this.#refusing().map(({ reason, hosts, nearest }) => ({ ...reason, hosts, found: nearest }));
    return mostRefusingFirst(counts).map(({ found, ...count }, position) => {
      if (found === undefined) return count;
      const { slot, short } = found;
      const nearest = { root: this.slots.roots[slot] as string, short };
      if (position >= MAX_ASKED || !this.#doesLackMore(reasonKey(count), slot, nearest.root, more)) {
        return { ...count, nearest };
      }
      return { ...count, nearest: { ...nearest, lacksMore: true as const } };
    });
  }

  #doesLackMore(key: string, slot: number, root: string, more: More): boolean {
    const version = this.slots.versions[slot] as number;
    const known = more.isKept ? this.#lacksMore.get(key) : undefined;
    if (known?.slot === slot && known.version === version) return known.lacksMore;
    const lacksMore = more.lacksMore(root);
    if (more.isKept) this.#lacksMore.set(key, { slot, version, lacksMore });
    return lacksMore;
  }

  /** What refuses hosts, whoever tells of it. */
  #refusing(): Refusing[] {
    const own = this.own.refusing();
    if (this.member === null || !this.#countsRefusals) return own;
    const found = new Map(own.map((one) => [reasonKey(one.reason), one]));
    const add = (one: Refusing) => {
      const key = reasonKey(one.reason);
      const known = found.get(key);
      found.set(key, known === undefined ? one : this.#together(known, one));
    };
    for (const one of this.member.known.hosts.refused.refusing()) add(one);
    for (const one of (this.tallied() as Tally).refusing()) add(one);
    return [...found.values()];
  }

  #together(one: Refusing, other: Refusing): Refusing {
    const hosts = one.hosts + other.hosts;
    return { ...one, hosts, nearest: this.#nearer(one.nearest, other.nearest) };
  }

  #nearer(one: Refusing['nearest'], other: Refusing['nearest']): Refusing['nearest'] {
    if (one === undefined || other === undefined) return one ?? other;
    const { commonTies } = this.slots;
    const [tie, otherTie] = [commonTies[one.slot] as number, commonTies[other.slot] as number];
    return before({ weight: -one.short, tie }, { weight: -other.short, tie: otherTie }) ? one : other;
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
    return this.#weighed.size;
  }

  /** For how many hosts there is room in what is kept of them. */
  get size(): number {
    let { size } = this.own;
    for (const { own } of this.#several.values()) size += own.size;
    for (const full of this.#full.values()) size += full.size;
    return size + this.#heard.size;
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

/** The hosts of a box that fit. */
function slotsWithRoom(member: Member, box: Box): number[] {
  const found: number[] = [];
  const gather = (one: Box): void => {
    if (mostIn(member, one) === NO_ROOM) return;
    const { division, slots } = one;
    for (const slot of slots ?? []) if (lackOn(member, slot) === LACKS_NOTHING) found.push(slot);
    if (division === null) return;
    gather(division.lower);
    gather(division.upper);
  };
  gather(box);
  return found;
}

/** Whether more stands in the way of a host that came nearest, and whether that is known until the host changes. */
interface More {
  lacksMore(root: string): boolean;
  readonly isKept: boolean;
}

/** Of how many reasons it is asked whether more stands in the way: of hardly any request there are more. */
const MAX_ASKED = 16;

/** So many weighings are kept whether they are true or not. */
const MIN_WEIGHED = 16;

/** Of how many numbers of instances at once it is kept which hosts have room. */
const MAX_SEVERAL = 4;

/** Of how many groups it is kept which hosts are full. */
const MAX_FULL = 64;
/** A group that is on so few is looked for on all of them each time. */
const FEW_ROOTS = 64;

const keyOf = ({ group, mostOnHost }: FullBy): string => `${mostOnHost} ${group}`;

/** How often any host is drawn, before those that are accepted are gathered. */
const MAX_DRAWS = 64;

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
