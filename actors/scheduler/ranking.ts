// Ranked hosts for each shape of request, kept up to date by the hosts that changed: requests of one shape share the
// work, and choosing among many hosts costs about what choosing among few does. Shapes that differ in amounts alone share
// what they go by of each host, see families.ts.

import { effort } from '../fitting/effort.ts';
import type { ServerPreference } from '../fitting/offer.ts';
import { type Family, familyKeyOf, newFamily } from './families.ts';
import { Worked } from './family-numbers.ts';
import { ALWAYS } from './filters/always.ts';
import { type Asked, type Filter, filtersFor } from './filters/filter.ts';
import { type Request, rankedPart } from './request.ts';
import { type RankedBy, type Searched, Shape } from './shape.ts';
import { EachOnce, Slots } from './slots.ts';
import { changesEnd, type View } from './view.ts';
import { preferredCell } from './weighers/preferred-cell.ts';
import { type Overrides, preferenceOf, type Weigher, weighersFor } from './weighers/weigher.ts';
import { isFarBehind, weighAll } from './weighing.ts';

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
  readonly worked: Worked;
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
    worked: new Worked(),
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
    const family = familyOf(fleet, asked);
    shape = new Shape(asked, view, slots, family, known ?? { looks: 0, since: view.now });
    const unused = family === null ? null : takeUnused(fleet, family);
    if (unused !== null) shape.takeOver(unused);
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
  if (shapes.size > 1 && shapes.size > mostShapes(rankings.maxShapes, view)) {
    shapes.delete(shapes.keys().next().value as string);
  }
  return shape;
}

/** The ranking that was used longest ago, if it is of this family and would go, or be made anew when it is used again. */
function takeUnused({ rankings: { shapes, maxShapes }, view }: Fleet, family: Family): Shape | null {
  const [oldest] = shapes;
  if (oldest === undefined) return null;
  const [key, shape] = oldest;
  if (!shape.isToldByFamily || shape.family?.known !== family) return null;
  const isLast = shapes.size >= mostShapes(maxShapes, view);
  if (!isLast && !isFarBehind(shape, changesEnd(view) - shape.seen)) return null;
  shapes.delete(key);
  return shape;
}

const mostShapes = (maxShapes: number, { hosts }: View): number =>
  Math.min(maxShapes, MAX_RANKED_HOSTS / Math.max(1, hosts.size));

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
