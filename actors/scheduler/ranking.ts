// Ranked hosts for each shape of request, kept up to date by the hosts that changed: requests of one shape share the
// work, and choosing among many hosts costs about what choosing among few does. Each cell has heaps of its own, so that
// hosts of one cell are found without passing those of the others, and hosts of silent placement shards stand apart:
// nothing is built on those, so that they would soon be the first in rank, and be passed each time.

import type { Allocation } from '../../machines/instance-build.ts';
import { effort } from '../fitting/effort.ts';
import type { ServerPreference } from '../fitting/offer.ts';
import type { RequestSpec } from '../messages/common.ts';
import type { WeighingText } from '../messages/stored-decision.ts';
import { fnv1a } from '../routing.ts';
import { type Census, emptyCensus, refuse, unrefuse } from './census.ts';
import { ALWAYS } from './filters/always.ts';
import { type Asked, type Filter, filtersFor } from './filters/filter.ts';
import { type Entry, type Heap, insert, remove, replace } from './heap.ts';
import { HARD_TO_TELL, judge } from './judging.ts';
import { type Request, rankedPart } from './request.ts';
import { isShardSilent } from './silence.ts';
import { changesEnd, type View } from './view.ts';
import { lookAgainAt } from './view-hosts.ts';
import { preferredCell } from './weighers/preferred-cell.ts';
import {
  type AskedWeigher,
  changeOf,
  type Overrides,
  preferenceOf,
  type Weigher,
  weighersFor,
  weightOf,
} from './weighers/weigher.ts';

/** How many shapes are kept ranked; the one used longest ago goes first. */
const MAX_SHAPES = 256;
/** Of how many more shapes than are kept is known what searching for them has cost: so many times as many. */
const MAX_SEARCHED = 4;
/** How many hosts all shapes may rank together, a hundred bytes or so each. */
const MAX_RANKED_HOSTS = 5_000_000;

/**
 * How many looks at providers hosts that are weighed in one go may cost, for each of them and beyond, before those that
 * are left are searched only as far as can be told at once; as much again is for those that fitted before. Dozens of
 * groups that nearly fit each of thousands of hosts would take minutes, in which nobody else is served: such hosts are
 * searched later, a few a turn; see searching.ts.
 */
const LOOKS_FOR_EACH = 300;
const LOOKS_BEYOND = { ofAll: 1_000_000, ofChanged: 100_000 } as const;

/** One weighing of a host. */
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
interface Searched {
  looks: number;
  since: number;
}

/** Hosts whose placement shard was heard lately, and those whose shard is silent. */
export const HEARINGS = ['heard', 'silent'] as const;
export type Hearing = (typeof HEARINGS)[number];

export interface Shape {
  /** What of a request is ranked by. */
  readonly spec: RequestSpec;
  readonly filters: readonly Asked[];
  readonly weighers: readonly AskedWeigher[];
  readonly current: Map<string, Weighed>;
  /** The same, by cell. */
  readonly heaps: Readonly<Record<Hearing, Map<string, Heap<Weighed>>>>;
  /** The placement shards whose hosts stand apart. */
  silentShards: ReadonlySet<number>;
  /** The hosts that are not ranked, by what refuses them. */
  readonly census: Census;
  /** Those of them that are still to be searched to the end, in order. */
  readonly unsearched: Set<string>;
  readonly searched: Searched;
  /** The position in the view's changes up to which this ranking is true. */
  seen: number;
}

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

interface AskedOf extends Pick<Shape, 'spec' | 'filters' | 'weighers'> {
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
  /** How many shapes are kept ranked; default 256. */
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
  const byFilters: unknown[] = [];
  const byWeighers: unknown[] = [];
  for (const { filter, part } of filters) if (filter.goesBy !== undefined) byFilters.push(filter.name, part);
  for (const { weigher, part } of weighers) if (weigher.goesBy !== undefined) byWeighers.push(weigher.name, part);
  const isPlain = byFilters.length + byWeighers.length === 0;
  const key = JSON.stringify(isPlain ? spec : [spec, byFilters, byWeighers]);
  const one = { key, spec, filters, weighers, late: filtersFor(inUse, request, true) };
  asked.set(request, one);
  return one;
}

/** The filters that a request concerns when a host is picked for it. */
export function lateFiltersOf(rankings: Rankings, request: Request): readonly Asked[] {
  return askedBy(rankings, request).late;
}

/** The ranking for requests like this one, up to date. */
export function shapeOf(fleet: Fleet, request: Request): Shape {
  const { rankings, view } = fleet;
  const { shapes } = rankings;
  const { key, spec, filters, weighers } = askedBy(rankings, request);
  let shape = shapes.get(key);
  if (shape === undefined || shape.seen < view.changesDropped) {
    const census = emptyCensus();
    const searched = rankings.searched.get(key);
    const begun = effort.looks;
    shape = {
      spec,
      filters,
      weighers,
      current: new Map(),
      heaps: { heard: new Map(), silent: new Map() },
      silentShards: view.silentShards,
      census,
      unsearched: new Set(),
      searched: searched ?? { looks: 0, since: view.now },
      seen: changesEnd(view),
    };
    weighAll(fleet, shape, view.hosts.keys(), LOOKS_FOR_EACH * view.hosts.size + LOOKS_BEYOND.ofAll);
    // One that is made again and again, because there is no room to keep it, is not searched without end.
    if (searched !== undefined) searched.looks += effort.looks - begun;
    if (shape.unsearched.size > 0) noteSearched(rankings, key, shape.searched);
  } else {
    if (shape.silentShards !== view.silentShards) setApart(view, shape);
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

/** Puts hosts apart anew, since other shards are silent than were. */
function setApart(view: View, shape: Shape): void {
  shape.silentShards = view.silentShards;
  for (const heaps of Object.values(shape.heaps)) heaps.clear();
  for (const one of shape.current.values()) insert(heapOf(view, shape, one), one);
}

function noteSearched({ searched, maxShapes }: Rankings, key: string, one: Searched): void {
  searched.delete(key);
  searched.set(key, one);
  if (searched.size > MAX_SEARCHED * maxShapes) searched.delete(searched.keys().next().value as string);
}

/** Weighs the hosts anew that have changed since this was done last. */
function catchUp(fleet: Fleet, shape: Shape): void {
  const { view } = fleet;
  const { changes, changesDropped } = view;
  const first = shape.seen - changesDropped;
  if (changes.length === first + 1) weighAnew(fleet, shape, changes[first] as string, true);
  else {
    const changed = new Set(changes.slice(first));
    weighAll(fleet, shape, changed, LOOKS_FOR_EACH * changed.size + LOOKS_BEYOND.ofChanged);
  }
  shape.seen = changesEnd(view);
}

function weighAll(fleet: Fleet, shape: Shape, roots: Iterable<string>, looks: number): void {
  const others: string[] = [];
  // Those that fitted come first, so that none is lost because of what others cost.
  let end = effort.looks + looks;
  for (const root of roots) {
    if (shape.current.has(root)) weighAnew(fleet, shape, root, effort.looks < end);
    else others.push(root);
  }
  end = effort.looks + looks;
  for (const root of others) weighAnew(fleet, shape, root, effort.looks < end);
}

/** Weighs a host anew. */
export function weighAnew(fleet: Fleet, shape: Shape, root: string, isThorough: boolean): void {
  const { view } = fleet;
  const { current } = shape;
  const known = current.get(root);
  const weighed = weigh(fleet, shape, root, isThorough, known?.tie);
  if (known !== undefined && weighed !== null && known.cell === weighed.cell) {
    replace(heapOf(view, shape, known), known, weighed);
    current.set(root, weighed);
    return;
  }
  if (known !== undefined) {
    remove(heapOf(view, shape, known), known);
    current.delete(root);
  }
  if (weighed === null) return;
  insert(heapOf(view, shape, weighed), weighed);
  current.set(root, weighed);
}

function heapOf({ shards }: View, { heaps, silentShards }: Shape, { root, cell }: Weighed): Heap<Weighed> {
  const ofCells = isShardSilent({ silentShards, shards }, root) ? heaps.silent : heaps.heard;
  let heap = ofCells.get(cell);
  if (heap === undefined) {
    heap = [];
    ofCells.set(cell, heap);
  }
  return heap;
}

function weigh(
  { rankings: { overrides, salt, preference, countsRefusals }, view }: Fleet,
  shape: Shape,
  root: string,
  isThorough: boolean,
  tie = fnv1a(salt + root),
): Weighed | null {
  const host = view.hosts.get(root);
  const judged =
    host === undefined
      ? undefined
      : judge(view, shape.filters, shape.spec, host, preference, isThorough, countsRefusals);
  if (judged === undefined || judged.obstacle === null) unrefuse(shape.census, root);
  else if (countsRefusals) refuse(shape.census, root, judged.obstacle);
  // A filter of somebody's own may say the same word: what was searched to the end is not searched again.
  if (!isThorough && judged?.obstacle?.code === HARD_TO_TELL) shape.unsearched.add(root);
  else shape.unsearched.delete(root);
  if (host === undefined || judged === undefined || judged.obstacle !== null) return null;
  const { facts, tree, allocations } = judged;
  const weight = weightOf(shape.weighers, { host: facts, tree, allocations }, overrides);
  for (const { weigher } of shape.weighers) {
    const at = weigher.changesAt === undefined ? null : changeOf(weigher, facts);
    if (at !== null && at > view.now) lookAgainAt(view, root, at);
  }
  return {
    root,
    cell: host.cell,
    host: host.host,
    weight,
    tie,
    at: 0,
    told: null,
    offered: null,
    holds: null,
    tooMany: Number.POSITIVE_INFINITY,
    most: null,
  };
}
