// Ranked hosts for each shape of request, kept up to date by the hosts that changed: requests of one shape share the
// work, and choosing among many hosts costs about what choosing among few does. Shapes that differ in amounts alone share
// what they go by of each host, see families.ts.

import { effort } from '../fitting/effort.ts';
import type { ServerPreference } from '../fitting/offer.ts';
import type { Obstacle } from './census.ts';
import {
  type Demand,
  type Family,
  familyKeyOf,
  isBeyondUnit,
  KIND,
  keepUp,
  lackOn,
  newFamily,
  shortOf,
  weightIn,
} from './families.ts';
import { ALWAYS } from './filters/always.ts';
import { type Asked, type Filter, filtersFor } from './filters/filter.ts';
import { HARD_TO_TELL, judge } from './judging.ts';
import { type Request, rankedPart } from './request.ts';
import { type RankedBy, type Searched, Shape } from './shape.ts';
import { EachOnce, Slots } from './slots.ts';
import { changesEnd, type View } from './view.ts';
import { lookAgainAt } from './view-hosts.ts';
import { preferredCell } from './weighers/preferred-cell.ts';
import { changeOf, type Overrides, preferenceOf, type Weigher, weighersFor, weightOf } from './weighers/weigher.ts';

/** How many shapes are kept ranked; the one used longest ago goes first. */
const MAX_SHAPES = 1_024;
/** Of how many more shapes than are kept is known what searching for them has cost: so many times as many. */
const MAX_SEARCHED = 4;
/** How many hosts all shapes may rank together, some twenty bytes each. */
const MAX_RANKED_HOSTS = 10_000_000;
/** How many families are kept; the one used longest ago goes first. */
const MAX_FAMILIES = 64;
/** How many hosts all families may know together, some hundred bytes each. */
const MAX_FAMILY_HOSTS = 1_000_000;

/**
 * How many looks at providers hosts that are weighed in one go may cost, for each of them and beyond, before those that
 * are left are searched only as far as can be told at once; as much again is for those that fitted before. Dozens of
 * groups that nearly fit each of thousands of hosts would take minutes, in which nobody else is served: such hosts are
 * searched later, a few a turn; see searching.ts.
 */
const LOOKS_FOR_EACH = 300;
const LOOKS_BEYOND = { ofAll: 1_000_000, ofChanged: 100_000 } as const;

export interface Rankings {
  /** All that are in use, those that every scheduler has first. */
  readonly filters: readonly Filter[];
  /** Those that limit the instances of hosts, or how many of them are being built. */
  readonly limits: readonly Filter[];
  /** With the one by which explanations tell that a host is in a cell that the request prefers. */
  readonly weighers: readonly Weigher[];
  readonly overrides: Overrides;
  /** Names the scheduler: hosts of equal weight are ordered differently by each. */
  readonly salt: string;
  /** Among how many of the best hosts one is picked. */
  readonly pickAmong: number;
  readonly preference: ServerPreference | undefined;
  readonly maxShapes: number;
  /** Whether each shape has a census of what refuses hosts. */
  readonly countsRefusals: boolean;
  readonly shapes: Map<string, Shape>;
  /** By what they have in common. */
  readonly families: Map<string, Family>;
  /** Of what would be a family if there were another member: the key of the only one so far, by what they would have in common. */
  readonly alone: Map<string, string>;
  familyUsedLast: Family | null;
  /** Null until hosts are ranked. */
  slots: Slots | null;
  readonly eachOnce: EachOnce;
  /** What searching for each shape has cost, also for those that are not kept now. */
  readonly searched: Map<string, Searched>;
  /** What each request asks of the ranking. */
  readonly asked: WeakMap<Request, AskedOf>;
}

/** All hosts as a scheduler knows them, and as it ranks them; its state is one. */
export interface Fleet {
  readonly view: View;
  readonly rankings: Rankings;
}

interface AskedOf extends RankedBy {
  /** The same for requests that are ranked alike. */
  readonly key: string;
  /** The filters that are asked when a host is picked. */
  readonly late: readonly Asked[];
}

export interface RankingOptions {
  /** Beside those that every scheduler has. */
  readonly filters?: readonly Filter[];
  readonly overrides?: Overrides;
  readonly pickAmong?: number | undefined;
  /** How many shapes are kept ranked; default 1,024. */
  readonly maxShapes?: number;
  /** False: nobody will ask what refuses hosts, which takes longer to find out than that they do not fit. Default: true. */
  readonly countsRefusals?: boolean;
}

export function emptyRankings(weighers: readonly Weigher[], salt: string, options: RankingOptions = {}): Rankings {
  const { filters = [], overrides = new Map(), pickAmong = 1, maxShapes = MAX_SHAPES, countsRefusals = true } = options;
  return {
    filters: [...ALWAYS, ...filters],
    limits: filters.filter(({ mostInstances, mostBuilds }) => (mostInstances ?? mostBuilds) !== undefined),
    weighers: weighers.some(({ name }) => name === preferredCell.name) ? weighers : [...weighers, preferredCell],
    overrides,
    salt,
    pickAmong,
    preference: preferenceOf(weighers),
    maxShapes,
    countsRefusals,
    shapes: new Map(),
    families: new Map(),
    alone: new Map(),
    familyUsedLast: null,
    slots: null,
    eachOnce: new EachOnce(),
    searched: new Map(),
    asked: new WeakMap(),
  };
}

/** Whether a change of a host's counts alone is a reason to weigh it anew. */
export function statsMatter({ filters, limits, weighers }: Rankings): boolean {
  return limits.length > 0 || [...filters, ...weighers].some(({ ignoresStats }) => ignoresStats !== true);
}

/** Whether a host may be refused for what it is building. */
export function buildsMatter({ filters }: Rankings): boolean {
  return filters.some(({ mostBuilds, ignoresStats }) => mostBuilds !== undefined || ignoresStats !== true);
}

/** What of a request is ranked by, which is worked out once for each. */
function askedBy({ filters: inUse, weighers: weighing, asked }: Rankings, request: Request): AskedOf {
  const known = asked.get(request);
  if (known !== undefined) return known;
  const spec = rankedPart(request);
  const filters = filtersFor(inUse, request, false);
  const weighers = weighersFor(weighing, request);
  const key = JSON.stringify([spec, ...partsOf({ filters, weighers })]);
  const one = { key, spec, filters, weighers, late: filtersFor(inUse, request, true) };
  asked.set(request, one);
  return one;
}

/** What filters and weighers go by, beside the spec. */
function partsOf({ filters, weighers }: Pick<RankedBy, 'filters' | 'weighers'>): readonly unknown[][] {
  const byFilters: unknown[] = [];
  const byWeighers: unknown[] = [];
  for (const { filter, part } of filters) if (filter.goesBy !== undefined) byFilters.push(filter.name, part);
  for (const { weigher, part } of weighers) if (weigher.goesBy !== undefined) byWeighers.push(weigher.name, part);
  return [byFilters, byWeighers];
}

/** The filters that a request concerns when a host is picked for it. */
export function lateFiltersOf(rankings: Rankings, request: Request): readonly Asked[] {
  return askedBy(rankings, request).late;
}

/** The ranking for requests like this one, up to date. */
export function shapeOf(fleet: Fleet, request: Request): Shape {
  const { rankings, view } = fleet;
  const { shapes } = rankings;
  const slots = slotsOf(rankings, view);
  const asked = askedBy(rankings, request);
  const { key } = asked;
  let shape = shapes.get(key);
  if (shape === undefined || shape.seen < slots.changesDropped) {
    const known = rankings.searched.get(key);
    const begun = effort.looks;
    shape = new Shape(asked, view, slots, familyOf(fleet, asked), known ?? { looks: 0, since: view.now });
    weighAll(fleet, shape, slots.all, LOOKS_FOR_EACH * view.hosts.size + LOOKS_BEYOND.ofAll);
    // One that is made again and again, because there is no room to keep it, is not searched without end.
    if (known !== undefined) known.looks += effort.looks - begun;
    if (shape.unsearched.size > 0) noteSearched(rankings, key, shape.searched);
  } else {
    if (shape.leftFamily !== null) rejoin(rankings, shape);
    if (shape.family !== null) noteUsed(rankings, shape.family.known);
    if (shape.silentShards !== view.silentShards) shape.setApart();
    if (shape.seen < changesEnd(view)) catchUp(fleet, shape);
    if (shapes.size === 1) return shape;
  }
  shapes.delete(key);
  shapes.set(key, shape);
  if (shapes.size > 1 && shapes.size > Math.min(rankings.maxShapes, MAX_RANKED_HOSTS / Math.max(1, view.hosts.size))) {
    shapes.delete(shapes.keys().next().value as string);
  }
  return shape;
}

/** All hosts by their numbers, as they are now. */
function slotsOf(rankings: Rankings, view: View): Slots {
  if (rankings.slots?.isOf(view) !== true) {
    rankings.slots = new Slots(rankings.salt, view);
    rankings.shapes.clear();
    rankings.families.clear();
    rankings.alone.clear();
    rankings.familyUsedLast = null;
  }
  rankings.slots.follow();
  return rankings.slots;
}

/** The family of a request; null where it is the only one of it so far: to look at hosts for it alone is less. */
function familyOf({ rankings, view }: Fleet, asked: AskedOf): Family | null {
  const { families, alone, shapes, maxShapes } = rankings;
  const key = familyKeyOf(asked, ...partsOf(asked));
  if (key === undefined) return null;
  const known = families.get(key);
  if (known !== undefined) {
    noteUsed(rankings, known);
    return known;
  }
  const other = alone.get(key) ?? asked.key;
  alone.delete(key);
  if (other === asked.key) {
    alone.set(key, other);
    if (alone.size > maxShapes) alone.delete(alone.keys().next().value as string);
    return null;
  }
  const family = newFamily(key, asked);
  families.set(key, family);
  noteUsed(rankings, family);
  const most = Math.max(1, Math.min(MAX_FAMILIES, MAX_FAMILY_HOSTS / Math.max(1, view.hosts.size)));
  if (families.size > most) leaveOut(rankings, families.keys().next().value as string);
  // The first was ranked by itself, and is to be one of them from now on.
  shapes.delete(other);
  return family;
}

/** Its members have their hosts looked at one by one from now on, unless it is made anew. */
function leaveOut({ families, shapes }: Rankings, key: string): void {
  const family = families.get(key);
  families.delete(key);
  for (const shape of shapes.values()) {
    if (shape.family?.known !== family) continue;
    shape.family = null;
    shape.leftFamily = key;
  }
}

function rejoin({ families }: Rankings, shape: Shape): void {
  const family = families.get(shape.leftFamily ?? '');
  if (family !== undefined) shape.join(family);
}

function noteUsed(rankings: Rankings, family: Family): void {
  if (rankings.familyUsedLast === family) return;
  rankings.familyUsedLast = family;
  rankings.families.delete(family.key);
  rankings.families.set(family.key, family);
}

function noteSearched({ searched, maxShapes }: Rankings, key: string, one: Searched): void {
  searched.delete(key);
  searched.set(key, one);
  if (searched.size > MAX_SEARCHED * maxShapes) searched.delete(searched.keys().next().value as string);
}

/** Weighs the hosts anew that have changed since this was done last. */
function catchUp(fleet: Fleet, shape: Shape): void {
  const { slots } = shape;
  const first = shape.seen - slots.changesDropped;
  const changed =
    slots.changes.length === first + 1
      ? slots.changes.slice(first)
      : fleet.rankings.eachOnce.of(slots.changes, first, slots.size);
  weighAll(fleet, shape, changed, LOOKS_FOR_EACH * changed.length + LOOKS_BEYOND.ofChanged);
}

/** Has a family know of what has changed since it was looked at last. */
function keepFamilyUp({ rankings: { eachOnce, overrides }, view }: Fleet, family: Family, slots: Slots): void {
  const end = changesEnd(view);
  if (family.seen === end) return;
  const changed =
    family.seen < slots.changesDropped
      ? slots.all
      : eachOnce.of(slots.changes, family.seen - slots.changesDropped, slots.size);
  keepUp(family, slots, view, overrides, changed);
  family.seen = end;
}

function weighAll(fleet: Fleet, shape: Shape, changed: readonly number[], looks: number): void {
  const { family, slots } = shape;
  shape.widen(slots.size);
  if (family !== null) keepFamilyUp(fleet, family.known, slots);
  // Those that fitted come first, so that none is lost because of what others cost.
  let end = effort.looks + looks;
  const others: number[] = [];
  for (const slot of changed) {
    if (family !== null && byNumbers(fleet, shape, slot)) continue;
    if (shape.isRanked(slot)) weigh(fleet, shape, slot, effort.looks < end);
    else others.push(slot);
  }
  end = effort.looks + looks;
  for (const slot of others) weigh(fleet, shape, slot, effort.looks < end);
  shape.seen = changesEnd(fleet.view);
}

/** Weighs a host anew by what its family knows of it; false where that does not tell all. */
function byNumbers({ rankings: { countsRefusals } }: Fleet, shape: Shape, slot: number): boolean {
  const { known, demands } = shape.family as NonNullable<Shape['family']>;
  const kind = known.kinds[slot];
  if (kind === KIND.other) return false;
  if (shape.unsearched.size > 0) shape.unsearched.delete(shape.slots.roots[slot] as string);
  if (kind === KIND.none) {
    shape.leave(slot);
    return true;
  }
  if (kind === KIND.refused) {
    const obstacle = known.obstacles[slot] as Obstacle;
    if (countsRefusals) shape.refuse(slot, obstacle);
    else shape.leave(slot);
    return true;
  }
  if (isBeyondUnit(demands, slot)) return false;
  const lack = lackOn(demands, slot);
  if (lack === -1) {
    shape.rank(slot, shape.slots.roots[slot] as string, known.cells[slot] as string, weightIn(known, demands, slot));
  } else if (countsRefusals) {
    const demand = demands[lack] as Demand;
    const about = demand.column.resourceClass;
    shape.refuse(slot, { code: 'exceeds-capacity', about, short: shortOf(demand, slot) });
  } else shape.leave(slot);
  return true;
}

/** Weighs a host anew, of which much was not searched to the end. */
export function weighAnew(fleet: Fleet, shape: Shape, root: string, isThorough: boolean): void {
  const slot = shape.slots.of(root);
  if (slot !== undefined) weigh(fleet, shape, slot, isThorough);
}

/** Weighs a host anew by all that is known of it. */
function weigh(
  { rankings: { overrides, preference, countsRefusals }, view }: Fleet,
  shape: Shape,
  slot: number,
  isThorough: boolean,
): void {
  const root = shape.slots.roots[slot] as string;
  const host = view.hosts.get(root);
  const judged =
    host === undefined
      ? undefined
      : judge(view, shape.filters, shape.spec, host, preference, isThorough, countsRefusals);
  // A filter of somebody's own may say the same word: what was searched to the end is not searched again.
  if (!isThorough && judged?.obstacle?.code === HARD_TO_TELL) shape.unsearched.add(root);
  else shape.unsearched.delete(root);
  if (host === undefined || judged === undefined) return shape.leave(slot);
  if (judged.obstacle !== null) {
    if (countsRefusals) shape.refuse(slot, judged.obstacle);
    else shape.leave(slot);
    return;
  }
  const { facts, tree, allocations } = judged;
  const weight = weightOf(shape.weighers, { host: facts, tree, allocations }, overrides);
  for (const { weigher } of shape.weighers) {
    const at = weigher.changesAt === undefined ? null : changeOf(weigher, facts);
    if (at !== null && at > view.now) lookAgainAt(view, root, at);
  }
  shape.rank(slot, root, host.cell, weight);
}
