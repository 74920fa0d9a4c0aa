// Surveys: how each host stands to a request, counted over all hosts. They answer whether a request would fit, and advise
// what to change when it does not.

import { effort } from '../../fitting/effort.ts';
import { MAX_LOOKS_TO_COUNT, timesIn } from '../../fitting/fit-times.ts';
import type { Advice } from '../../messages/advice.ts';
import type { RequestSpec } from '../../messages/common.ts';
import {
  type Absent,
  type GroupHeld,
  MAX_ROOMS_NAMED,
  type RoomForSome,
  type RunsOut,
  type TooLarge,
  type UnknownName,
} from '../../messages/decision.ts';
import type { FittingHost } from '../../messages/questions.ts';
import { traitsRequired } from '../../messages/where.ts';
import { keepsTogether } from '../../placement/groups.ts';
import type { Provider } from '../../placement/providers.ts';
import { present } from '../../present.ts';
import { adviceOf } from '../advice/advice.ts';
import { type Adviser, newAdviser } from '../advice/adviser.ts';
import { allBuilt, emptied, mayServeIfEmpty, mayServeWhenBuilt } from '../advice/empty.ts';
import {
  consider,
  considerAway,
  considerBuilt,
  considerEmpty,
  considerFilter,
  considerGroup,
  considerIfEmpty,
  considerOwnRule,
  considerWish,
} from '../advice/hosts.ts';
import { wishesOf } from '../advice/places.ts';
import { roomOn } from '../advice/rooms.ts';
import { weighingOf } from '../decision.ts';
import { ALWAYS } from '../filters/always.ts';
import { company } from '../filters/company.ts';
import { type Asked, FILTER_FAILED, limitersOf, refusedBy } from '../filters/filter.ts';
import { serviceState } from '../filters/service-state.ts';
import { groupSoFar, INSTANCE_GROUP, membersAllowed, toldMisfitOfGroup } from '../group-rules.ts';
import { instancesLeft, leftByLimits } from '../instance-room.ts';
import { Census, type Counted } from '../ranking/census.ts';
import { allFiltersFor, hardToTell, judge } from '../ranking/judging.ts';
import type { Rankings } from '../ranking/ranking.ts';
import type { Request } from '../request.ts';
import type { Sweep, Work } from '../state.ts';
import { mapped } from '../steps.ts';
import { membersOn } from '../view/groups-view.ts';
import {
  addSilenced,
  isAnySilenced,
  noneSilenced,
  silencedFor,
  silencedIn,
  silentAmong,
  silentFew,
} from '../view/silence.ts';
import { treeOf, type View, type ViewHost } from '../view/view.ts';
import { factsOf } from '../view/view-hosts.ts';
import { weighersFor, weightOf } from '../weighers/weigher.ts';
import { absentOf } from './explain.ts';
import { groupHeld } from './group-held.ts';
import { filtersRefusing, isAllThatLacks, isTold, refusingOf, WISHES } from './more-obstacles.ts';
import { beforeWeight, comesBefore } from './precedence.ts';
import { type Held, type Needs, RoomHeard } from './room-heard.ts';
import { noRoomTogether, shortForAll } from './room-together.ts';
import { type Filled, runningOut } from './running-out.ts';
import { refusedHosts } from './standing.ts';
import { LargestHosts } from './too-large.ts';
import {
  type LikeNamesFound,
  lookForLike,
  lookForNames,
  meetCell,
  namesToFind,
  unknownNames,
} from './unknown-names.ts';

/** How many instances one host is counted to hold at most. */
const MAX_TIMES = 1_000_000;

export interface Survey extends Needs {
  readonly hosts: number;
  readonly fits: number;
  /** How many instances would fit, on all hosts together; on the host that holds most where they must share one. */
  readonly times: number;
  /** Some hosts were not searched to the end. */
  readonly partly?: true;
  readonly refused: ReturnType<typeof refusedHosts>;
  /** Where some would fit, and not all; not of those that keep together. */
  readonly room?: RoomForSome;
  /** Where some would fit, and not all, for want of resources. */
  readonly runsOut?: RunsOut;
  /** Where it does not fit: the classes of which no host is large enough. */
  readonly tooLarge?: TooLarge[];
  /** Where its group is held, if that keeps it from fitting. */
  readonly groupHeld?: GroupHeld;
  readonly absent?: Absent;
  readonly unknown?: UnknownName[];
  /** The best hosts, as far as they were asked for. */
  readonly best: readonly FittingHost[];
  readonly silentCells: readonly string[];
  readonly silentShards: readonly number[];
  /** What would let it fit, if it does not. */
  readonly advice: readonly Advice[];
}

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

/** Counts how all hosts stand to a request. */
export function surveyOf(
  rankings: Rankings,
  view: View,
  { request, count, limit, roughly = false, isHeardOf = () => false }: SurveyOptions,
  done: (survey: Survey, work: Work) => void,
): Sweep {
  const { spec } = request;
  const filters = allFiltersFor(rankings.filters, request);
  const weighers = weighersFor(rankings.weighers, request);
  const census = new Census();
  /** Hosts that fall short of more than they are counted for: near only where none falls short of that alone. */
  const lackingMore = new Census();
  /** One host must hold several. */
  const isTogether = count > 1 && keepsTogether(spec);
  const isAll = isAllThatLacks(spec, isTogether ? count : 1);
  /** Who is silent as it begins. */
  const silent = silencedIn(view);
  const silencedOn = ({ cell, root }: Pick<ViewHost, 'cell' | 'root'>) => silencedFor(silent, cell, root, view.shards);
  const isSilent = (host: ViewHost) => isAnySilenced(silencedOn(host));
  const newOne = (more: Pick<Adviser, 'silencedOn'> = {}) =>
    newAdviser(spec, count, {
      membersAllowed: (asked, root) => membersAllowed(view, asked, root),
      instancesAllowed: (root, but) => leftOn(rankings, view, request, root, but),
      limits: rankings.limits.map(({ name }) => name),
      limitersOn: (root, name, more) => limitersOn(rankings, view, root, name, more),
      letBy: letByAll(letByOwn(rankings, view, request), letByTraits(view, request)),
      group: groupSoFar(view, spec),
      mustStay: (root) => hasCompany(view, request, root),
      ...more,
    });
  /** Of hosts of which nobody is silent; and of all, where some are. */
  const adviser = newOne();
  const onAll = isAnySilenced(silent)
    ? newOne({ silencedOn: (root) => silencedOn({ cell: view.hosts.get(root)?.cell ?? '', root }) })
    : undefined;
  const advisersFor = (host: ViewHost): Adviser[] => [
    ...(isSilent(host) ? [] : [adviser]),
    ...(onAll === undefined ? [] : [onAll]),
  ];
  const names = namesToFind(request);
  let likeNames: LikeNamesFound = new Map();
  const best: FittingHost[] = [];
  /**
   * The hosts that fit, as long as too few do, fewer than there are instances: how many each holds, the rules and limits that
   * let in no more, whatever is left, whether nobody is silent of it, and its cell.
   */
  const fitting = new Map<
    string,
    Pick<Filled, 'instances' | 'rules'> & { readonly isHeard: boolean; readonly cell: string }
  >();
  /** Those of them that hold most. */
  const roomiest: RoomForSome['named'] = [];
  let advice: Advice[] = [];
  /** What would let it fit only with hosts of those that are silent. */
  let adviceOnSilent: Advice[] = [];
  let runsOut: RunsOut | undefined;
  let hosts = 0;
  let fits = 0;
  const largest = new LargestHosts(spec, isTogether ? count : 1);
  /** For how many instances there is room. */
  const roomHeard = new RoomHeard(keepsTogether(spec));
  /** Whether every host was searched to the end: else there may be more than are counted. */
  let isWhole = true;
  return {
    visit(host, isThorough) {
      hosts += 1;
      meetCell(names, host.cell);
      if (!isThorough) isWhole = false;
      if (roomHeard.all.times < count) largest.note(treeOf(view, host.root));
      const judged = judge(view, filters, spec, host, rankings.preference, isThorough);
      if (judged.obstacle === null) {
        const { facts, tree, allocations } = judged;
        const byGroup = membersAllowed(view, spec, host.root);
        const { toHave, toBuild } = leftByLimits(rankings, request, facts);
        const allowed = Math.min(byGroup, toHave, toBuild);
        const endOfLooks = effort.looks + MAX_LOOKS_TO_COUNT;
        const most = roughly ? count : MAX_TIMES;
        const room = Math.min(timesIn(spec, tree, most, isThorough, endOfLooks), allowed);
        const isCounted = isThorough && effort.looks <= endOfLooks;
        if (!isCounted) isWhole = false;
        if (roomHeard.all.times < count) {
          const { cell, host: name } = host;
          const rules = [
            ...(room === byGroup ? ['group-anti-affinity'] : []),
            ...(room === toHave ? ['too-many-instances'] : []),
            ...(room === toBuild ? ['too-many-builds'] : []),
          ];
          fitting.set(host.root, { instances: room, rules, isHeard: !isSilent(host), cell });
          const isRoomier = (other: { instances: number }) => room > other.instances;
          rank(roomiest, MAX_ROOMS_NAMED, isRoomier, () => ({ cell, host: name, instances: room }));
        }
        const before = beforeWeight(view, spec, host.root);
        const { cells, shards } = silencedOn(host);
        roomHeard.note(room, cells.size > 0, shards.size > 0);
        if (isTogether && room < count) {
          const isCertain = isCounted || allowed < count;
          const short = isCounted || room === allowed ? count - room : undefined;
          const lack = { ...noRoomTogether(count, host.host), short };
          census.refuse(host.root, isCertain ? lack : hardToTell(host));
          if (roomHeard.all.times < count && isThorough) {
            for (const one of advisersFor(host)) considerIfEmpty(one, tree, emptied(rankings, request, facts));
          }
          return true;
        }
        fits += 1;
        const weight = weightOf(weighers, { host: facts, tree, allocations }, rankings.overrides);
        const { cell, host: name, root } = host;
        rank(
          best,
          limit,
          (other) => comesBefore(view, request, { cell, weight, ...before }, other),
          () => ({
            ...weighingOf(weighers, rankings.overrides, view, { root, cell, host: name, weight, allocations }),
            times: room,
            ...before,
          }),
        );
      } else {
        const { filter } = judged;
        const told = judged.obstacle;
        const obstacle = isTogether ? shortForAll(told, spec, treeOf(view, host.root), count) : told;
        // What another is nearer than is not looked into: only the nearest is told.
        const isNear =
          isThorough &&
          obstacle.short !== undefined &&
          // Whatever filters say, one that never had a class that is asked for is not near.
          (filter === undefined || hasClasses(spec, treeOf(view, host.root))) &&
          census.comesNearest(host.root, obstacle) &&
          mayUse(rankings, view, request, host, filter);
        const isAlone =
          isNear &&
          toldMisfitOfGroup(view, spec, host.root) === null &&
          (!isTogether || leftOn(rankings, view, request, host.root, filter) >= count) &&
          // Where a filter refuses it, resources have not been looked at.
          (filter === undefined
            ? isAll(obstacle, treeOf(view, host.root))
            : roomOn(adviser, spec, treeOf(view, host.root), { but: filter }) > 0);
        census.refuse(host.root, isAlone ? obstacle : { ...obstacle, short: undefined });
        if (isNear && !isAlone) lackingMore.refuse(host.root, obstacle);
        if (roomHeard.all.times < count && isThorough) {
          for (const one of advisersFor(host))
            advise(one, rankings, view, request, host, obstacle.code === FILTER_FAILED);
        }
      }
      return true;
    },
    *conclude() {
      yield* lookForNames(names, view);
      likeNames = yield* lookForLike(names, view, request);
      const { times, hosts: holding } = roomHeard.all;
      if (times >= count) return;
      // Some may be gone since they were looked at, and others go while it is found out which are.
      const still = yield* mapped([...fitting], ([root, one]) =>
        isTold(view, root) ? [{ tree: treeOf(view, root), ...one }] : [],
      );
      const filled = still.flat();
      if (times > 0 && isWhole) {
        const most = keepsTogether(spec) ? filled.filter(({ instances }) => instances === times) : filled;
        const found = yield* runningOut(spec, most);
        if (found !== undefined) runsOut = { instances: times, of: count, hosts: holding, ...found };
      }
      const treesOf = (some: typeof filled) => some.map(({ tree }) => tree);
      advice = yield* adviceOf(adviser, treesOf(filled.filter(({ isHeard }) => isHeard)));
      if (onAll !== undefined) adviceOnSilent = yield* adviceOf(onAll, treesOf(filled), adviser);
    },
    done(work) {
      const { all, heard } = roomHeard;
      const { times, hosts: holding } = all;
      const isForSome = times > 0 && times < count && isWhole;
      if (isForSome) {
        advice.unshift(...fewer(heard, count));
        if (times > heard.times) {
          const named = noneSilenced();
          for (const [root, { instances, cell }] of fitting) {
            const isCounted = keepsTogether(spec) ? instances === times : instances > 0;
            if (isCounted) addSilenced(named, silencedOn({ cell, root }));
          }
          adviceOnSilent.unshift(...fewer(all, count).map((one) => ({ ...one, ...silentFew(named) })));
        }
      }
      advice.push(...adviceOnSilent);
      const holdsNewGroup = adviser.holdsNewGroup || onAll?.holdsNewGroup === true;
      const isPartly = !isWhole || adviser.isCut || onAll?.isCut === true;
      if (isPartly) advice = advice.map((one) => ({ ...one, partly: true as const }));
      done(
        {
          hosts,
          fits,
          times,
          ...(isWhole ? {} : { partly: true as const }),
          refused: refusedHosts(view, withNearest(census.counted(), lackingMore.counted())),
          ...present({
            absent: absentOf(view, request),
            unknown: unknownNames(names, view, request, isHeardOf, likeNames),
            // Of those that keep together it is said how many the nearest host has room for.
            room:
              isForSome && !isTogether ? { instances: times, of: count, hosts: holding, named: roomiest } : undefined,
          }),
          ...(times >= count ? {} : present({ tooLarge: largest.tooLarge() })),
          ...present({ runsOut, groupHeld: groupHeld(view, spec, advice, holdsNewGroup) }),
          best,
          ...silentAmong(view),
          ...(times >= count ? roomHeard.needs(count) : {}),
          advice,
        },
        work,
      );
    },
  };
}

/** That fewer would fit, where there is room for some. */
function fewer({ times, hosts }: Held, count: number): Advice[] {
  return times === 0 ? [] : [{ code: 'fewer-instances', from: count, to: times, hosts }];
}

/** Whether a host has all classes that a request asks for, whatever of them is free. */
function hasClasses({ groups }: RequestSpec, tree: readonly Provider[]): boolean {
  return groups.every(({ resources }) =>
    Object.keys(resources).every((resourceClass) => tree.some(({ stocks }) => stocks.has(resourceClass))),
  );
}

/** The reasons, with the nearest of others where they name none. */
function withNearest(reasons: readonly Counted[], others: readonly Counted[]): Counted[] {
  return reasons.map((reason) => {
    if (reason.nearest !== undefined) return reason;
    const near = others.find(({ code, about }) => code === reason.code && about === reason.about)?.nearest;
    return near === undefined ? reason : { ...reason, nearest: { ...near, lacksMore: true } };
  });
}

/** Whether a host has instances that the request must be with: those whose host it is to share, or members of its group. */
function hasCompany({ groups }: View, { spec, company }: Request, root: string): boolean {
  const { instanceGroup } = spec;
  const hasMembers = instanceGroup !== undefined && membersOn(groups, instanceGroup.id, root) > 0;
  return company?.near?.has(root) === true || (keepsTogether(spec) && hasMembers);
}

/** How many more instances a host may have, as far as filters limit that. */
function leftOn(rankings: Rankings, view: View, request: Request, root: string, but?: string): number {
  if (rankings.limits.length === 0) return MAX_TIMES;
  const host = view.hosts.get(root);
  if (host === undefined || !isTold(view, root)) return 0;
  return instancesLeft(rankings, request, factsOf(view, host, treeOf(view, root)), but);
}

/** The aggregates by whose limits a filter keeps a host from so many more. */
function limitersOn({ limits }: Rankings, view: View, root: string, name: string, more: number): readonly string[] {
  const host = view.hosts.get(root);
  const filter = limits.find((limit) => limit.name === name);
  if (filter === undefined || host === undefined || !isTold(view, root)) return [];
  return limitersOf(filter, factsOf(view, host, treeOf(view, root)), more);
}

/** Filters of a deployment's own, asked again of a request that asks for something else of the same hosts. */
function letByOwn({ filters }: Rankings, view: View, request: Request): Adviser['letBy'] {
  const own = filters.filter((filter) => !ALWAYS.includes(filter));
  if (own.length === 0) return undefined;
  const askedOf = new WeakMap<RequestSpec, readonly Asked[]>();
  return (spec, root) => {
    const host = view.hosts.get(root);
    if (host === undefined || !isTold(view, root)) return false;
    const asked = askedOf.get(spec) ?? allFiltersFor(own, { ...request, spec });
    askedOf.set(spec, asked);
    return refusedBy(asked, factsOf(view, host, treeOf(view, root))) === null;
  };
}

/** Hosts that are kept for requests which require some traits: one that asks for less may not have them any more. */
function letByTraits(view: View, { where }: Request): Adviser['letBy'] {
  const opened = where?.origins?.opened;
  if (opened === undefined) return undefined;
  const closedTo = new WeakMap<RequestSpec, readonly string[]>();
  return (spec, root) => {
    let closed = closedTo.get(spec);
    if (closed === undefined) {
      const required = traitsRequired(spec);
      closed = opened.filter(({ traits }) => !traits.every((one) => required.has(one))).map((one) => one.aggregate);
      closedTo.set(spec, closed);
    }
    if (closed.length === 0) return true;
    const aggregates = view.providers.get(root)?.aggregates;
    return !closed.some((id) => aggregates?.has(id));
  };
}

function letByAll(one: Adviser['letBy'], other: Adviser['letBy']): Adviser['letBy'] {
  if (one === undefined || other === undefined) return one ?? other;
  return (spec, root) => other(spec, root) && one(spec, root);
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

function advise(
  adviser: Adviser,
  rankings: Rankings,
  view: View,
  request: Request,
  host: ViewHost,
  hasFailed: boolean,
): void {
  const { root } = host;
  if (!isTold(view, root)) return;
  const { filters } = rankings;
  const tree = treeOf(view, root);
  const facts = factsOf(view, host, tree);
  const refusing = (asked: Request) => refusingOf(filters, view, asked, root, facts);
  const names = refusing(request);
  const [only, ...more] = names;
  if (only === undefined) return consider(adviser, tree, () => emptied(rankings, request, facts));
  const isOnlyBusy = (): boolean => {
    if (!mayServeWhenBuilt(rankings, request, facts, names)) return false;
    const allowed = instancesLeft(rankings, request, allBuilt(facts));
    return considerBuilt(adviser, tree, Math.min(allowed, membersAllowed(view, request.spec, host.root)));
  };
  if (!isOnlyBusy() && names.every((name) => isByWhatRuns(rankings, name))) {
    const empty = emptied(rankings, request, facts);
    if (mayServeIfEmpty(rankings, view, request, empty, root, names)) considerEmpty(adviser, tree, empty);
  }
  if (more.length > 0) return;
  if (only === serviceState.name) return considerAway(adviser, host, facts);
  if (only === INSTANCE_GROUP) {
    considerGroup(adviser, tree);
    const { byOwnRule } = adviser.group;
    if (byOwnRule === undefined) return;
    const asked = { ...request, spec: { ...request.spec, instanceGroup: byOwnRule } };
    if (refusing(asked).length === 0) considerOwnRule(adviser, byOwnRule, tree);
    return;
  }
  if (!WISHES.has(only)) return considerFilter(adviser, only, hasFailed, tree);
  for (const wish of wishesOf(request, facts)) {
    if (refusing(wish.without).length === 0) considerWish(adviser, wish, tree);
  }
}

/** Whether it may refuse a host for the instances that run there. */
const isByWhatRuns = ({ limits }: Rankings, name: string): boolean =>
  name === INSTANCE_GROUP || name === company.name || limits.some((limit) => limit.name === name);

/** Puts a host in its place among the best, if it is one of them. */
function rank<One>(best: One[], limit: number, isBefore: (other: One) => boolean, told: () => One): void {
  const last = best[limit - 1];
  if (limit === 0 || (last !== undefined && !isBefore(last))) return;
  let position = best.length;
  while (position > 0 && isBefore(best[position - 1] as One)) position -= 1;
  best.splice(position, 0, told());
  if (best.length > limit) best.pop();
}
