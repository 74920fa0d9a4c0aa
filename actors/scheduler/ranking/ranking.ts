// Ranked hosts for each shape of request, kept up to date by the hosts that changed: requests of one shape share the
// work, and choosing among many hosts costs about what choosing among few does. Shapes that differ in amounts alone share
// what they go by of each host, see families.ts.

import { effort } from '../../fitting/effort.ts';
import type { ServerPreference } from '../../fitting/offer.ts';
import { mapKey } from '../../map-key.ts';
import { ALWAYS } from '../filters/always.ts';
import { type Asked, type Filter, filtersFor } from '../filters/filter.ts';
import { type Request, rankedPart } from '../request.ts';
import { isPlain } from '../request-parts.ts';
import type { View } from '../view/view.ts';
import { preferredCell } from '../weighers/preferred-cell.ts';
import { type Overrides, preferenceOf, type Weigher, weighersFor } from '../weighers/weigher.ts';
import { type Family, familyKeyOf, newFamily, tellsOfAll } from './families.ts';
import { type RankedBy, type Searched, Shape } from './shape.ts';
import { EachOnce, Slots } from './slots.ts';
import { catchUp } from './weighing.ts';

/** How many shapes are kept ranked; the one used longest ago goes first. */
const MAX_SHAPES = 1_024;
/** Of how many more shapes than are kept is known what searching for them has cost: so many times as many. */
const MAX_SEARCHED = 4;
/** How many hosts all shapes may rank together, some twenty bytes each. */
const MAX_RANKED_HOSTS = 10_000_000;
/** After so many more shapes it is counted anew how many hosts all rank: those that are kept grow. */
const COUNTED_AFTER = 32;
/** What is known of a host that was picked or looked at more closely takes as much as so many that are ranked. */
const FOR_EACH_WEIGHING = 10;
/** How many families are kept; the one used longest ago goes first. */
const MAX_FAMILIES = 64;
/** How many hosts all families may know together, some three hundred bytes each. */
const MAX_FAMILY_HOSTS = 1_000_000;

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
  readonly maxRankedHosts: number;
  /** Whether hosts only fill up: what refuses them is then final, and each shape has no census of it. */
  readonly onlyFills: boolean;
  readonly shapes: Map<string, Shape>;
  /** All of those that have hosts to be searched to the end, and perhaps others that are kept. */
  readonly unsearched: Set<Shape>;
  /** How many hosts these rank, with those that have gone since that was counted, and how many were added since. */
  taken: number;
  addedUncounted: number;
  shapeUsedLast: Shape | null;
  /** Those for which hosts are being ranked, some at a time. */
  readonly forming: Map<string, Shape>;
  /** By what they have in common. */
  readonly families: Map<string, Family>;
  /** Of what would be a family if there were another member: the key of the only one so far, by what they would have in common. */
  readonly alone: Map<string, string>;
  familyUsedLast: Family | null;
  /** How many rankings were asked for, of those that have a family. */
  choices: number;
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
  /** How many hosts all shapes may rank together; default 10,000,000. */
  readonly maxRankedHosts?: number;
  /**
   * True: all hosts are known from the first, and nothing that is taken of them is given back. Those that are refused are
   * then not looked at again, and what refuses them, which takes longer to find out, is not told. Default: false.
   */
  readonly onlyFills?: boolean;
}

export function emptyRankings(weighers: readonly Weigher[], salt: string, options: RankingOptions = {}): Rankings {
  const { filters = [], overrides = new Map(), pickAmong = 1, onlyFills = false } = options;
  const { maxShapes = MAX_SHAPES, maxRankedHosts = MAX_RANKED_HOSTS } = options;
  return {
    filters: [...ALWAYS, ...filters],
    limits: filters.filter(({ mostInstances, mostBuilds }) => (mostInstances ?? mostBuilds) !== undefined),
    weighers: weighers.some(({ name }) => name === preferredCell.name) ? weighers : [...weighers, preferredCell],
    overrides,
    salt,
    pickAmong,
    preference: preferenceOf(weighers),
    maxShapes,
    maxRankedHosts,
    onlyFills,
    shapes: new Map(),
    unsearched: new Set(),
    taken: 0,
    addedUncounted: 0,
    shapeUsedLast: null,
    forming: new Map(),
    families: new Map(),
    alone: new Map(),
    familyUsedLast: null,
    choices: 0,
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

/** Whether a host that refused a request may take it for a change of its counts alone: whatever it weighs, it fits or not. */
export function statsAdmit({ filters, limits }: Rankings): boolean {
  return limits.length > 0 || filters.some(({ ignoresStats }) => ignoresStats !== true);
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
  const key = mapKey(JSON.stringify([spec, ...partsOf({ filters, weighers })]));
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

/** The same for requests that are ranked alike, and that the same late filters judge alike; null: that cannot be told. */
export function rankedAlike(rankings: Rankings, request: Request): string | null {
  const { key, late } = askedBy(rankings, request);
  try {
    if (!late.every(({ part }) => isPlain(part))) return null;
    return JSON.stringify([key, late.map(({ filter, part }) => [filter.name, part])]);
  } catch {
    // What anybody's filter goes by may go in a circle, or run code of his when it is read.
    return null;
  }
}

const ALL_HOSTS = Number.POSITIVE_INFINITY;
/** Of how many kinds of requests hosts are being ranked, as a rule of one; what was begun first is begun anew. */
const MAX_FORMING = 4;

/** The ranking for requests like this one, up to date. */
export function shapeOf(fleet: Fleet, request: Request): Shape {
  return knownShape(fleet, request, false) ?? (newShape(fleet, request, false, ALL_HOSTS) as Shape);
}

/**
 * The same, with a family if it may have one: how many instances at once a host has room for is asked of all hosts, and for
 * any number of them numbers tell that.
 */
export function shapeToldByNumbers(fleet: Fleet, request: Request): Shape {
  return knownShape(fleet, request, true) ?? (newShape(fleet, request, true, ALL_HOSTS) as Shape);
}

/**
 * Whether hosts are ranked for requests like this one; where they are not, looks at so many of them or some more.
 * @param isToldByNumbers Whether numbers are to tell as much of hosts as they can.
 */
export function isRanked(fleet: Fleet, request: Request, most: number, isToldByNumbers: boolean): boolean {
  if (knownShape(fleet, request, isToldByNumbers) !== undefined) return true;
  return (most > 0 || isToldAtOnce(fleet, request)) && newShape(fleet, request, isToldByNumbers, most) !== undefined;
}

/** Undefined: there is none, or it is too far behind, or numbers could tell more than it does. */
function knownShape(fleet: Fleet, request: Request, isToldByNumbers: boolean): Shape | undefined {
  const { rankings, view } = fleet;
  const { shapes } = rankings;
  const slots = slotsOf(rankings, view);
  const asked = askedBy(rankings, request);
  const shape = shapes.get(asked.key);
  if (shape === undefined || shape.seen < slots.changesDropped) return undefined;
  if (isToldByNumbers && mayHaveFamily(fleet, asked, shape)) return undefined;
  if (shape.member !== null) noteUsed(rankings, shape.member.known);
  catchUp(fleet, shape, ALL_HOSTS);
  if (shape.unsearched.size > 0) rankings.unsearched.add(shape);
  if (rankings.shapeUsedLast !== shape) putLast(rankings, asked.key, shape);
  return shape;
}

/** Goes on ranking hosts, up to so many of those that were not looked at or some more; undefined: some are left. */
function newShape(fleet: Fleet, request: Request, isToldByNumbers: boolean, most: number): Shape | undefined {
  const { rankings } = fleet;
  const { forming, searched } = rankings;
  const shape = formingShape(fleet, request, isToldByNumbers);
  const { key, member, unsearched } = shape;
  const begun = effort.looks;
  const isRanked = catchUp(fleet, shape, most);
  // One that is made again and again, because there is no room to keep it, is not searched without end.
  if (searched.get(key) === shape.searched) shape.searched.looks += effort.looks - begun;
  if (!isRanked) return undefined;
  forming.delete(key);
  if (unsearched.size > 0) noteSearched(rankings, key, shape.searched);
  if (member !== null) dropReplaced(rankings, member.known);
  keep(rankings, key, shape);
  return shape;
}

function formingShape(fleet: Fleet, request: Request, isToldByNumbers: boolean): Shape {
  const { rankings, view } = fleet;
  const { forming, searched, onlyFills } = rankings;
  const slots = slotsOf(rankings, view);
  const asked = askedBy(rankings, request);
  const { key } = asked;
  const begun = forming.get(key);
  const isTrue = begun !== undefined && begun.seen >= slots.changesDropped;
  if (isTrue && !(isToldByNumbers && mayHaveFamily(fleet, asked, begun))) {
    if (begun.member !== null) noteUsed(rankings, begun.member.known);
    return begun;
  }
  const family = familyOf(fleet, asked, isToldByNumbers);
  const spent = searched.get(key) ?? { looks: 0, since: view.steady };
  const shape = new Shape(asked, view, slots, family, spent, !onlyFills);
  forming.delete(key);
  forming.set(key, shape);
  if (forming.size > MAX_FORMING) forming.delete(forming.keys().next().value as string);
  return shape;
}

function mayHaveFamily(fleet: Fleet, asked: AskedOf, { member }: Shape): boolean {
  return member === null && familyOf(fleet, asked, true) !== null;
}

/** Whether a family that is known has nothing left to look at for a request. */
function isToldAtOnce({ rankings }: Fleet, request: Request): boolean {
  const asked = askedBy(rankings, request);
  const key = familyKeyOf(asked, ...partsOf(asked));
  const family = key === undefined ? undefined : rankings.families.get(key);
  return family !== undefined && tellsOfAll(family);
}

/** A ranking knows more of hosts than it did: others may have to go for it. */
export function noteGrown(rankings: Rankings, request: Request, shape: Shape): void {
  keep(rankings, askedBy(rankings, request).key, shape);
}

/** Keeps a new ranking, and lets go of those that were used longest ago where there are too many, or too large ones. */
function keep(rankings: Rankings, key: string, shape: Shape): void {
  const { shapes, maxShapes, maxRankedHosts } = rankings;
  if (shapes.get(key) !== shape) drop(rankings, key);
  putLast(rankings, key, shape);
  if (shape.unsearched.size > 0) rankings.unsearched.add(shape);
  rankings.taken += takenBy(shape);
  rankings.addedUncounted += 1;
  if (rankings.taken > maxRankedHosts || rankings.addedUncounted >= COUNTED_AFTER) countTaken(rankings);
  for (const [oldest, one] of shapes) {
    if (shapes.size === 1 || (shapes.size <= maxShapes && rankings.taken <= maxRankedHosts)) return;
    drop(rankings, oldest);
    rankings.taken -= takenBy(one);
  }
}

/** Nothing else may hold it: it is counted no more among what all shapes take. */
function drop({ shapes, unsearched }: Pick<Rankings, 'shapes' | 'unsearched'>, key: string): void {
  const shape = shapes.get(key);
  if (shape === undefined) return;
  shapes.delete(key);
  unsearched.delete(shape);
}

/** Those of which hosts are still to be searched to the end. */
export function* unsearchedOf({ unsearched }: Rankings): Iterable<Shape> {
  for (const shape of unsearched) {
    if (shape.unsearched.size > 0) yield shape;
    else unsearched.delete(shape);
  }
}

function countTaken(rankings: Rankings): void {
  rankings.taken = 0;
  rankings.addedUncounted = 0;
  for (const shape of rankings.shapes.values()) rankings.taken += takenBy(shape);
}

function putLast(rankings: Rankings, key: string, shape: Shape): void {
  rankings.shapes.delete(key);
  rankings.shapes.set(key, shape);
  rankings.shapeUsedLast = shape;
}

const takenBy = ({ size, weighings }: Shape): number => size + FOR_EACH_WEIGHING * weighings;

/** All hosts by their numbers, as they are now. */
function slotsOf(rankings: Rankings, view: View): Slots {
  if (rankings.slots?.isOf(view) !== true) {
    rankings.slots = new Slots(rankings.salt, view);
    rankings.shapes.clear();
    rankings.unsearched.clear();
    rankings.shapeUsedLast = null;
    rankings.forming.clear();
    rankings.families.clear();
    rankings.alone.clear();
    rankings.familyUsedLast = null;
  }
  rankings.slots.follow();
  return rankings.slots;
}

/**
 * The family of a request; null where it is the only one of it so far: to look at hosts for it alone is less.
 * @param isWanted Whether it is of use to a single one.
 */
function familyOf({ rankings, view }: Fleet, asked: AskedOf, isWanted: boolean): Family | null {
  const { families, alone, maxShapes } = rankings;
  const key = familyKeyOf(asked, ...partsOf(asked));
  if (key === undefined) return null;
  const known = families.get(key);
  if (known !== undefined) {
    noteUsed(rankings, known);
    return known;
  }
  const other = alone.get(key);
  alone.delete(key);
  const isAlone = other === undefined || other === asked.key;
  if ((isAlone && !isWanted) || !makesRoom(rankings, view)) {
    alone.set(key, asked.key);
    if (alone.size > maxShapes) alone.delete(alone.keys().next().value as string);
    return null;
  }
  const family = newFamily(key, asked, rankings.slots as Slots, view, isAlone ? null : other);
  families.set(key, family);
  noteUsed(rankings, family);
  return family;
}

/** The first was ranked by itself, and is to be one of them from now on. */
function dropReplaced(rankings: Rankings, family: Family): void {
  if (family.replaces !== null) drop(rankings, family.replaces);
  family.replaces = null;
}

/**
 * Whether there is room for one more family: that of one goes that was not used for as many choices as there are hosts, for
 * to look at all of them for a family takes as long as some thousand choices.
 */
function makesRoom(rankings: Rankings, { hosts }: View): boolean {
  const { families, shapes, forming, choices } = rankings;
  const most = Math.max(1, Math.min(MAX_FAMILIES, MAX_FAMILY_HOSTS / Math.max(1, hosts.size)));
  for (const [key, family] of families) {
    if (families.size < most) return true;
    if (choices - family.usedAt < hosts.size) return false;
    families.delete(key);
    for (const [ofShape, { member }] of shapes) if (member?.known === family) drop(rankings, ofShape);
    for (const [ofShape, { member }] of forming) if (member?.known === family) forming.delete(ofShape);
  }
  return true;
}

function noteUsed(rankings: Rankings, family: Family): void {
  rankings.choices += 1;
  family.usedAt = rankings.choices;
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
