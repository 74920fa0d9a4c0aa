// Counting how hosts stand to a request, one after the other: how many fit, for how many instances they have room and which
// are the best of them, and what refuses the others.

import { effort } from '../../fitting/effort.ts';
import { MAX_LOOKS_TO_COUNT, timesIn } from '../../fitting/fit-times.ts';
import type { RequestSpec } from '../../messages/common.ts';
import { MAX_ROOMS_NAMED, type RoomForSome } from '../../messages/decision.ts';
import type { FittingHost } from '../../messages/questions.ts';
import { keepsTogether } from '../../placement/groups.ts';
import type { Provider } from '../../placement/providers.ts';
import { emptied } from '../advice/empty.ts';
import { considerIfEmpty } from '../advice/hosts.ts';
import { roomOn } from '../advice/rooms.ts';
import { weighingOf } from '../decision.ts';
import { type Asked, FILTER_FAILED } from '../filters/filter.ts';
import { membersAllowed, toldMisfitOfGroup } from '../group-rules.ts';
import { leftByLimits } from '../instance-room.ts';
import { Census, type Obstacle } from '../ranking/census.ts';
import { allFiltersFor, hardToTell, type Judged, judge } from '../ranking/judging.ts';
import type { Rankings } from '../ranking/ranking.ts';
import type { Request } from '../request.ts';
import { isAnySilenced, type Silenced, silencedFor, silencedIn } from '../view/silence.ts';
import { treeOf, type View, type ViewHost } from '../view/view.ts';
import { factsOf } from '../view/view-hosts.ts';
import { type AskedWeigher, weighersFor, weightOf } from '../weighers/weigher.ts';
import { filtersRefusing, isAllThatLacks } from './more-obstacles.ts';
import { beforeWeight, ranksBefore } from './precedence.ts';
import { RoomHeard } from './room-heard.ts';
import { noRoomTogether, shortForAll } from './room-together.ts';
import type { Filled } from './running-out.ts';
import { type Advisers, advise, advisersOn, leftOn, newAdvisers } from './survey-advice.ts';
import { LargestHosts } from './too-large.ts';
import { meetCell, type NamesToFind, namesToFind } from './unknown-names.ts';

/** How many instances one host is counted to hold at most. */
const MAX_TIMES = 1_000_000;

export interface SurveyOptions {
  readonly request: Request;
  /** How many instances must fit for the request to fit. */
  readonly count: number;
  /** How many of the best hosts are named. */
  readonly limit: number;
  /** Whether it is enough to know that all fit, so that no host is counted further; default false. */
  readonly roughly?: boolean;
  /** Whether anything was heard of a cell, which may have no host; default: its hosts alone tell of it. */
  readonly isHeardOf?: (cell: string) => boolean;
}

type Serving = Extract<Judged, { readonly obstacle: null }>;
type Refusing = Exclude<Judged, Serving>;

/** A survey under way: what it goes by, and what it has counted so far. */
export interface Counting {
  readonly rankings: Rankings;
  readonly view: View;
  readonly request: Request;
  readonly count: number;
  readonly limit: number;
  /** How many instances one host is counted to hold at most. */
  readonly most: number;
  readonly isHeardOf: (cell: string) => boolean;
  readonly filters: readonly Asked[];
  readonly weighers: readonly AskedWeigher[];
  /** One host must hold several. */
  readonly isTogether: boolean;
  /** Whether a class, where a host is short of it, is all that it lacks. */
  readonly isAll: ReturnType<typeof isAllThatLacks>;
  /** Who is silent as it begins. */
  readonly silent: Silenced;
  readonly advisers: Advisers;
  readonly names: NamesToFind;
  hosts: number;
  fits: number;
  readonly census: Census;
  /** Hosts that fall short of more than they are counted for: near only where none falls short of that alone. */
  readonly lackingMore: Census;
  /** For how many instances there is room. */
  readonly roomHeard: RoomHeard;
  /** The hosts that fit by their roots, as long as too few do, fewer than there are instances. */
  readonly fitting: Map<string, Fitting>;
  /** Those of them that hold most. */
  readonly roomiest: RoomForSome['named'];
  readonly largest: LargestHosts;
  readonly best: FittingHost[];
  /** Whether every host was searched to the end: else there may be more than are counted. */
  isWhole: boolean;
}

/** A host that fits, how many it holds, and the rules and limits that let in no more, whatever is left. */
interface Fitting extends Pick<Filled, 'instances' | 'rules'> {
  readonly cell: string;
  /** Nobody is silent of it. */
  readonly isHeard: boolean;
}

export function newCounting(
  rankings: Rankings,
  view: View,
  { request, count, limit, roughly = false, isHeardOf = () => false }: SurveyOptions,
): Counting {
  const { spec } = request;
  const isTogether = count > 1 && keepsTogether(spec);
  const onOneHost = isTogether ? count : 1;
  const silent = silencedIn(view);
  return {
    rankings,
    view,
    request,
    count,
    limit,
    most: roughly ? count : MAX_TIMES,
    isHeardOf,
    filters: allFiltersFor(rankings.filters, request),
    weighers: weighersFor(rankings.weighers, request),
    isTogether,
    isAll: isAllThatLacks(spec, onOneHost),
    silent,
    advisers: newAdvisers(rankings, view, request, count, silent),
    names: namesToFind(request),
    hosts: 0,
    fits: 0,
    census: new Census(),
    lackingMore: new Census(),
    roomHeard: new RoomHeard(keepsTogether(spec)),
    fitting: new Map(),
    roomiest: [],
    largest: new LargestHosts(spec, onOneHost),
    best: [],
    isWhole: true,
  };
}

/** Whether there is room for too few, of the hosts that were looked at. */
export const hasTooFew = ({ roomHeard, count }: Counting): boolean => roomHeard.all.times < count;

/** Whether there is room for some, and for certain not for all. */
export const hasRoomForSome = (counting: Counting): boolean =>
  counting.roomHeard.all.times > 0 && hasTooFew(counting) && counting.isWhole;

export const silencedOn = ({ silent, view }: Counting, { cell, root }: Pick<ViewHost, 'cell' | 'root'>): Silenced =>
  silencedFor(silent, cell, root, view.shards);

const isHeard = (counting: Counting, host: ViewHost): boolean => !isAnySilenced(silencedOn(counting, host));

/** Looks at one more host. */
export function countHost(counting: Counting, host: ViewHost, isThorough: boolean): void {
  const { rankings, view, request, filters, names, largest } = counting;
  counting.hosts += 1;
  meetCell(names, host.cell);
  if (!isThorough) counting.isWhole = false;
  if (hasTooFew(counting)) largest.note(treeOf(view, host.root));
  const judged = judge(view, filters, request.spec, host, rankings.preference, isThorough);
  if (judged.obstacle === null) countServing(counting, host, judged, isThorough);
  else countRefused(counting, host, judged, isThorough);
}

/** Of a host that would serve one instance. */
function countServing(counting: Counting, host: ViewHost, serving: Serving, isThorough: boolean): void {
  const { count, isTogether, roomHeard } = counting;
  const room = roomFor(counting, host, serving, isThorough);
  const { instances, isCounted } = room;
  if (!isCounted) counting.isWhole = false;
  if (hasTooFew(counting)) keepFitting(counting, host, room);
  const { cells, shards } = silencedOn(counting, host);
  roomHeard.note(instances, cells.size > 0, shards.size > 0);
  if (isTogether && instances < count) return countTooSmall(counting, host, serving, room, isThorough);
  counting.fits += 1;
  rankFitting(counting, host, serving, instances);
}

/** For how many instances a host has room. */
interface HostRoom {
  readonly instances: number;
  /** What lets in no more than so many, whatever is left: the rule of the instance group, and limits. */
  readonly byGroup: number;
  readonly toHave: number;
  readonly toBuild: number;
  /** What its resources hold was counted to the end. */
  readonly isCounted: boolean;
}

const allowedBy = ({ byGroup, toHave, toBuild }: Omit<HostRoom, 'instances' | 'isCounted'>): number =>
  Math.min(byGroup, toHave, toBuild);

function roomFor(
  { rankings, view, request, most }: Counting,
  { root }: ViewHost,
  { facts, tree }: Serving,
  isThorough: boolean,
): HostRoom {
  const { spec } = request;
  const byGroup = membersAllowed(view, spec, root);
  const { toHave, toBuild } = leftByLimits(rankings, request, facts);
  const endOfLooks = effort.looks + MAX_LOOKS_TO_COUNT;
  const held = timesIn(spec, tree, most, isThorough, endOfLooks);
  const isCounted = isThorough && effort.looks <= endOfLooks;
  return { instances: Math.min(held, allowedBy({ byGroup, toHave, toBuild })), byGroup, toHave, toBuild, isCounted };
}

function keepFitting(counting: Counting, host: ViewHost, { instances, byGroup, toHave, toBuild }: HostRoom): void {
  const { fitting, roomiest } = counting;
  const { root, cell, host: name } = host;
  const rules = [
    ...(instances === byGroup ? ['group-anti-affinity'] : []),
    ...(instances === toHave ? ['too-many-instances'] : []),
    ...(instances === toBuild ? ['too-many-builds'] : []),
  ];
  fitting.set(root, { instances, rules, isHeard: isHeard(counting, host), cell });
  const isRoomier = (other: { instances: number }) => instances > other.instances;
  rank(roomiest, MAX_ROOMS_NAMED, isRoomier, () => ({ cell, host: name, instances }));
}

/** Of a host that would serve some of those that keep together. */
function countTooSmall(
  counting: Counting,
  host: ViewHost,
  { facts, tree }: Serving,
  room: HostRoom,
  isThorough: boolean,
): void {
  const { rankings, request, count, census, advisers } = counting;
  const { instances, isCounted } = room;
  const allowed = allowedBy(room);
  const isCertain = isCounted || allowed < count;
  const short = isCounted || instances === allowed ? count - instances : undefined;
  const lack = { ...noRoomTogether(count, host.host), short };
  census.refuse(host.root, isCertain ? lack : hardToTell(host));
  if (!hasTooFew(counting) || !isThorough) return;
  for (const one of advisersOn(advisers, isHeard(counting, host))) {
    considerIfEmpty(one, tree, emptied(rankings, request, facts));
  }
}

function rankFitting(
  { rankings, view, request, limit, weighers, best }: Counting,
  { root, cell, host }: ViewHost,
  { facts, tree, allocations }: Serving,
  times: number,
): void {
  const before = beforeWeight(view, request.spec, root);
  const weight = weightOf(weighers, { host: facts, tree, allocations }, rankings.overrides);
  rank(
    best,
    limit,
    (other) => ranksBefore(view, request, { cell, weight, ...before }, other),
    () => ({
      ...weighingOf(weighers, rankings.overrides, view, { root, cell, host, weight, allocations }),
      times,
      ...before,
    }),
  );
}

function countRefused(
  counting: Counting,
  host: ViewHost,
  { obstacle: told, filter }: Refusing,
  isThorough: boolean,
): void {
  const { rankings, view, request, count, isTogether, census, lackingMore, advisers } = counting;
  const { spec } = request;
  const obstacle = isTogether ? shortForAll(told, spec, treeOf(view, host.root), count) : told;
  const isNear = isThorough && comesNear(counting, host, obstacle, filter);
  const isAlone = isNear && isAllThatRefuses(counting, host, obstacle, filter);
  census.refuse(host.root, isAlone ? obstacle : { ...obstacle, short: undefined });
  if (isNear && !isAlone) lackingMore.refuse(host.root, obstacle);
  if (!hasTooFew(counting) || !isThorough) return;
  for (const one of advisersOn(advisers, isHeard(counting, host))) {
    advise(one, rankings, view, request, host, obstacle.code === FILTER_FAILED);
  }
}

/** Whether a host comes nearest of those that are refused for the same; what another is nearer than is not looked into. */
function comesNear(
  { rankings, view, request, census }: Counting,
  host: ViewHost,
  obstacle: Obstacle,
  filter: string | undefined,
): boolean {
  return (
    obstacle.short !== undefined &&
    // Whatever filters say, one that never had a class that is asked for is not near.
    (filter === undefined || hasClasses(request.spec, treeOf(view, host.root))) &&
    census.comesNearest(host.root, obstacle) &&
    mayUse(rankings, view, request, host, filter)
  );
}

/** Whether a host would serve the request but for what refused it first. */
function isAllThatRefuses(
  { rankings, view, request, count, isTogether, isAll, advisers }: Counting,
  { root }: ViewHost,
  obstacle: Obstacle,
  filter: string | undefined,
): boolean {
  const { spec } = request;
  return (
    toldMisfitOfGroup(view, spec, root) === null &&
    (!isTogether || leftOn(rankings, view, request, root, filter) >= count) &&
    // Where a filter refuses it, resources have not been looked at.
    (filter === undefined
      ? isAll(obstacle, treeOf(view, root))
      : roomOn(advisers.ofHeard, spec, treeOf(view, root), { but: filter }) > 0)
  );
}

/** Whether a host has all classes that a request asks for, whatever of them is free. */
function hasClasses({ groups }: RequestSpec, tree: readonly Provider[]): boolean {
  return groups.every(({ resources }) =>
    Object.keys(resources).every((resourceClass) => tree.some(({ stocks }) => stocks.has(resourceClass))),
  );
}

/**
 * Whether the request might use a host but for what refused it first, and the rule of its group, which the next member to
 * go may change: one of no use to it came near to nothing.
 */
function mayUse(
  { filters }: Rankings,
  view: View,
  request: Request,
  host: ViewHost,
  first: string | undefined,
): boolean {
  // What is said of its resources is said when every filter has let it pass.
  if (first === undefined) return true;
  return filtersRefusing(filters, request, factsOf(view, host, treeOf(view, host.root))).length === 1;
}

/** Puts a host in its place among the best, if it is one of them. */
function rank<One>(best: One[], limit: number, isBefore: (other: One) => boolean, told: () => One): void {
  const last = best[limit - 1];
  if (limit === 0 || (last !== undefined && !isBefore(last))) return;
  let position = best.length;
  while (position > 0 && isBefore(best[position - 1] as One)) position -= 1;
  best.splice(position, 0, told());
  if (best.length > limit) best.pop();
}
