// Advice: which one change would let a request fit that no host fits. Each host is tried with one condition of the
// request left out, or one amount changed to what the host can give, but only those that stand in its way; so what is
// advised has been tried on the very hosts that are counted. An amount that lets several instances fit is searched for
// over all hosts together.

import { effort } from '../fitting/effort.ts';
import { fit } from '../fitting/fit.ts';
import type { Advice } from '../messages/advice.ts';
import type { InstanceGroup, RequestSpec, ResourceGroup } from '../messages/common.ts';
import { unmet } from '../placement/conditions.ts';
import { isSoft, keepsTogether } from '../placement/groups.ts';
import type { Provider } from '../placement/providers.ts';
import { present } from '../present.ts';
import {
  type AdviserOnAmounts,
  budgetOf,
  considerAmounts,
  MAX_LOOKS_ON_ONE,
  nearestOf,
  noteAllAmounts,
  specWith,
} from './advice-amounts.ts';
import {
  type Change,
  type ChangeOfRequest,
  type Changes,
  morePerHost,
  newChanges,
  WHEN_EMPTY,
  withOwnRule,
  withoutFilter,
  withoutInstanceGroup,
} from './advice-changes.ts';
import { type Emptied, noteEmptiest, type ToEmpty } from './advice-empty.ts';
import { type Away, addTo, fewestBack, fewestLeftOut, type Parts } from './advice-lists.ts';
import type { Wish } from './advice-places.ts';
import {
  add,
  letFor,
  MAX_LOOKS_AT_ROOMS,
  noRoom,
  type Room,
  roomOf,
  roomOn,
  roomsOf,
  rootOfTree,
  silencedOf,
} from './advice-rooms.ts';
import { timesAtMost } from './amount-ranges.ts';
import type { GroupSoFar } from './group-rules.ts';
import { silentFew } from './silence.ts';
import { passing, type Steps } from './steps.ts';
import type { ViewHost } from './view.ts';

/** How many changes are advised. */
const MAX_ADVICE = 3;
/** How many of the hosts that are to come back are named. */
const MAX_HOSTS_NAMED = 5;
/** How many of the aggregates whose limits are in the way are named. */
const MAX_AGGREGATES_NAMED = 3;
/** How many changes are tried on the hosts that fit without any, and on about how many hosts in all. */
const MAX_CHANGES_TRIED = 64;
const MAX_HOSTS_TRIED = 8_192;
const MAX_HOSTS_OF_MANY = 1_024;
/** After how many hosts no further changes are tried of which filters of a deployment's own are asked: half a second. */
const MAX_HOSTS_ASKED = 131_072;

export interface Adviser extends AdviserOnAmounts {
  /** The filters that limit how many instances a host may have. */
  readonly limits: readonly string[];
  /** The aggregates by whose limits such a filter keeps a host, by its root, from so many more; none where it is its own. */
  readonly limitersOn: (root: string, filter: string, more: number) => readonly string[];
  readonly group: GroupSoFar;
  /** Whether some instance must stay on a host, by its root, for the request's own sake. */
  readonly mustStay: (root: string) => boolean;
  /** What each change that is not of an amount would let fit. */
  readonly rooms: Map<string, RoomWith>;
  /** What may be left out of the request; null: it was not asked yet. */
  changes: Changes | null;
  /** Some host would hold all instances, if the group that they keep together with had no members elsewhere. */
  holdsNewGroup: boolean;
  /** What it has advised. */
  readonly advised: Set<string>;
}

interface RoomWith {
  readonly change: Change;
  readonly room: Room;
  /** Of a list of what to avoid: what its names keep out. */
  readonly parts: Parts;
  /** Of hosts out of service: the hosts. */
  readonly away: Away[];
  /** Of a filter that limits, whose limits it keeps to. */
  readonly limiters: Limiters;
  /** Of hosts that would have to be empty, the few that would hold most, or have fewest instances. */
  readonly toEmpty: ToEmpty[];
  /** The hosts of the room, where it is to be asked again of each whether it may serve. */
  readonly toAsk: { readonly root: string; readonly times: number }[];
}

/** What else is known of the request and of hosts. */
type Known = Pick<
  Adviser,
  'membersAllowed' | 'instancesAllowed' | 'limits' | 'limitersOn' | 'letBy' | 'silencedOn' | 'group' | 'mustStay'
>;

const NOTHING_KNOWN: Known = {
  membersAllowed: () => Number.POSITIVE_INFINITY,
  instancesAllowed: () => Number.POSITIVE_INFINITY,
  limits: [],
  limitersOn: () => [],
  group: { hasMembers: false },
  mustStay: () => false,
};

export function newAdviser(spec: RequestSpec, count: number, known = NOTHING_KNOWN): Adviser {
  const found = {
    rooms: new Map(),
    amounts: new Map(),
    changes: null,
    holdsNewGroup: false,
    advised: new Set<string>(),
  };
  const budget = { isCut: false, looksLeft: MAX_LOOKS_AT_ROOMS };
  return { spec, count, ...known, ...found, ...budget };
}

/** A host that is out of service, and its tree: it might fit when it comes back. */
export function considerAway(adviser: Adviser, host: ViewHost, tree: readonly Provider[]): void {
  const times = roomOn(adviser, adviser.spec, tree);
  if (times === 0) return;
  // Those that are set aside come back by themselves; the others need an operator.
  const cost = host.state === 'set-aside' ? 0.4 : 0.8;
  const change = { advice: { code: 'host-state' as const, about: host.state }, cost };
  const { room, away } = roomsWith(adviser, change);
  away.push({ host: `${host.cell}/${host.host}`, times, until: host.until });
  add(room, times, silencedOf(adviser, tree));
}

/** A host that only one filter refuses, or for which it fails, and its tree. */
export function considerFilter(adviser: Adviser, filter: string, hasFailed: boolean, tree: readonly Provider[]): void {
  const times = roomOn(adviser, adviser.spec, tree, { but: filter });
  if (times === 0) return;
  const { advice, cost } = withoutFilter(filter);
  const change = { advice: hasFailed ? { ...advice, failed: true as const } : advice, cost };
  note(adviser, change, times, tree);
  if (adviser.limits.includes(filter)) noteLimiters(roomsWith(adviser, change).limiters, adviser, filter, tree, times);
}

/** Whose limits a filter keeps to. */
interface Limiters {
  readonly aggregates: Set<string>;
  /** On some host it is the filter's own. */
  isOwn: boolean;
}

function noteLimiters(
  limiters: Limiters,
  { limitersOn }: Pick<Adviser, 'limitersOn'>,
  filter: string,
  tree: readonly Provider[],
  more: number,
): void {
  const found = limitersOn(rootOfTree(tree), filter, more);
  if (found.length === 0) limiters.isOwn = true;
  for (const aggregate of found) limiters.aggregates.add(aggregate);
}

/** The first of the aggregates whose limits they are, if they are any one's. */
function limitersTold({ aggregates, isOwn }: Limiters): Pick<Advice, 'aggregates' | 'own' | 'needed'> {
  if (aggregates.size === 0) return {};
  const named = [...aggregates].sort().slice(0, MAX_AGGREGATES_NAMED);
  const more = aggregates.size > named.length ? { needed: aggregates.size } : {};
  return { aggregates: named, ...more, ...(isOwn ? { own: true as const } : {}) };
}

/** A host that only one wish of the request refuses, of where it may go, and its tree. */
export function considerWish(
  adviser: Adviser,
  { advice, against }: Pick<Wish, 'advice' | 'against'>,
  tree: readonly Provider[],
): void {
  const times = roomOn(adviser, adviser.spec, tree);
  if (times === 0) return;
  // What is kept for others only an operator opens.
  const cost = advice.code === 'without-kept' ? 0.8 : 0.6;
  const { room, parts } = roomsWith(adviser, { advice, cost });
  add(room, times, silencedOf(adviser, tree));
  if (against !== undefined) addTo(parts, against, times, silencedOf(adviser, tree));
}

/** A host that only the rule of the instance group refuses, and its tree. */
export function considerGroup(adviser: Adviser, tree: readonly Provider[]): void {
  const change = withoutInstanceGroup(adviser.spec);
  const times = roomOn(adviser, change.changed, tree);
  if (times > 0) note(adviser, change, times, tree);
  // A new group would have to be on one host, too.
  if (keepsTogether(adviser.spec) && roomOn(adviser, adviser.spec, tree) > 0) adviser.holdsNewGroup = true;
}

/** A host that the group would let it have if the request said the rule that its members have, and its tree. */
export function considerOwnRule(adviser: Adviser, byOwnRule: InstanceGroup, tree: readonly Provider[]): void {
  const change = withOwnRule(adviser.spec, byOwnRule);
  const times = roomOn(adviser, change.changed, tree);
  if (times > 0) note(adviser, change, times, tree);
}

/** A host that does not fit, and its tree: which change would help there? */
export function consider(adviser: Adviser, tree: readonly Provider[], empty: () => Emptied): void {
  const { spec } = adviser;
  const { ofGroups, ofRoot, betweenGroups } = changesOf(adviser);
  // In the way are groups that do not fit even alone; when each does, any of them may be.
  const unfit = spec.groups.length > 1 ? ofGroups.filter(({ alone }) => fit(alone, tree) === null) : [];
  const inTheWay = unfit.length > 0 ? unfit : ofGroups;
  // Those of the whole request are few, and most likely to help where it is hard to tell.
  const endOfChanges = effort.looks + MAX_LOOKS_ON_ONE;
  considerChanges(adviser, ofRoot, tree, endOfChanges);
  considerChanges(adviser, betweenGroups, tree, endOfChanges);
  for (const { ofConditions, ofResources } of inTheWay) {
    considerChanges(adviser, ofConditions, tree, endOfChanges);
    considerChanges(adviser, ofResources, tree, endOfChanges);
  }
  const endOfAmounts = effort.looks + MAX_LOOKS_ON_ONE;
  for (const { position, group } of inTheWay)
    for (const resourceClass of Object.keys(group.resources))
      considerAmounts(adviser, position, resourceClass, tree, endOfAmounts);
  if (effort.looks > endOfAmounts) adviser.isCut = true;
  const isUsed = tree.some(({ stocks }) => [...stocks.values()].some(({ used }) => used > 0));
  if (isUsed) considerEmpty(adviser, tree, empty());
}

/** A host that is only too full, of resources or of instances: it is something else if it is too small. */
export function considerEmpty(
  adviser: Adviser,
  tree: readonly Provider[],
  { facts, allowed, instances }: Emptied,
): void {
  // Which part of it those have that must stay is not known.
  if (allowed === 0 || adviser.mustStay(rootOfTree(tree))) return;
  const endOfLooks = effort.looks + MAX_LOOKS_ON_ONE;
  const times = roomOn(adviser, adviser.spec, facts.tree, { endOfLooks, allowed });
  if (effort.looks > endOfLooks) adviser.isCut = true;
  if (times === 0) return;
  note(adviser, WHEN_EMPTY, times, tree);
  const { cell, host } = facts;
  noteEmptiest(roomsWith(adviser, WHEN_EMPTY).toEmpty, { host: `${cell}/${host}`, times, instances });
}

function considerChanges(
  adviser: Adviser,
  changes: readonly ChangeOfRequest[],
  tree: readonly Provider[],
  endOfLooks: number,
): void {
  for (const change of changes) {
    if (effort.looks > endOfLooks) break;
    const times = roomOn(adviser, change.changed, tree, { endOfLooks });
    if (times > 0) note(adviser, change, times, tree);
  }
  if (effort.looks > endOfLooks) adviser.isCut = true;
}

/**
 * Where hosts fit, and too few: with any one condition less they might hold more. Not with one that holds none of their
 * providers back, as those on the host itself: to try it would only take the place of what helps.
 */
function* noteAllConditions(adviser: Adviser, fitting: readonly (readonly Provider[])[]): Steps<void> {
  const { spec, limits } = adviser;
  const { ofGroups, betweenGroups } = changesOf(adviser);
  for (const { group, ofConditions, ofResources } of ofGroups) {
    for (const change of ofConditions) {
      const heldBack = yield* passing(fitting, (tree) => holdsBack(change.only, group, tree));
      if (heldBack.length > 0) roomWith(adviser, change);
    }
    for (const change of ofResources) roomWith(adviser, change);
  }
  for (const change of betweenGroups) roomWith(adviser, change);
  for (const limit of limits) roomWith(adviser, withoutFilter(limit));
  if (spec.instanceGroup !== undefined && !isSoft(spec.instanceGroup)) roomWith(adviser, withoutInstanceGroup(spec));
}

/** The least that a host would have to be let have of a group whose first members these are, so that all find room. */
function* noteMorePerHost(adviser: Adviser, fitting: readonly (readonly Provider[])[]): Steps<void> {
  const { spec, count, group } = adviser;
  const { policy, maxPerHost: from = 1 } = spec.instanceGroup ?? {};
  if (policy !== 'anti-affinity' || group.hasMembers || from >= count) return;
  const { changed } = morePerHost(spec, count);
  const rooms = yield* roomsOf(adviser, changed, fitting);
  for (let to = from + 1; to <= count; to += 1) {
    const times = rooms.reduce((sum, room) => sum + Math.min(room, to), 0);
    if (times < count) continue;
    roomWith(adviser, morePerHost(spec, to));
    return;
  }
}

/** Whether a condition keeps a provider from serving the group that has some of what the group asks for. */
function holdsBack(only: ResourceGroup, { resources }: ResourceGroup, tree: readonly Provider[]): boolean {
  const classes = Object.keys(resources);
  return tree.some(
    (provider) =>
      (classes.length === 0 || classes.some((resourceClass) => provider.stocks.has(resourceClass))) &&
      unmet(only, [provider], tree[0] as Provider) !== null,
  );
}

/** They are tried on host after host, and are the same for each. A request that waits is kept for long, and without them. */
function changesOf(adviser: Adviser): Changes {
  adviser.changes ??= newChanges(adviser.spec);
  return adviser.changes;
}

function note(adviser: Adviser, change: Change, times: number, tree: readonly Provider[]): void {
  const { room, toAsk } = roomsWith(adviser, change);
  add(room, times, silencedOf(adviser, tree));
  if (adviser.letBy !== undefined && change.changed !== undefined) toAsk.push({ root: rootOfTree(tree), times });
}

/** What a change would let fit, of the hosts that may serve then. */
function* roomLet(adviser: Adviser, { change: { changed }, room, toAsk }: RoomWith): Steps<Room> {
  if (changed === undefined || toAsk.length === 0) return room;
  const found = noRoom();
  for (const { root, times } of yield* letFor(adviser, changed, toAsk, (one) => one.root)) {
    add(found, times, adviser.silencedOn?.(root));
  }
  return found;
}

/** What is counted so far of what a change would let fit. */
const roomWith = (adviser: Adviser, change: Change): Room => roomsWith(adviser, change).room;

const nothingMore = (): Pick<RoomWith, 'parts' | 'away' | 'limiters' | 'toEmpty' | 'toAsk'> => ({
  parts: new Map(),
  away: [],
  limiters: { aggregates: new Set(), isOwn: false },
  toEmpty: [],
  toAsk: [],
});

function roomsWith({ rooms }: Adviser, change: Change): RoomWith {
  const key = keyOf(change);
  let found = rooms.get(key);
  if (found === undefined) {
    found = { change, room: noRoom(), ...nothingMore() };
    rooms.set(key, found);
  }
  return found;
}

const keyOf = ({ advice: { code, group, about, failed, to } }: Change): string =>
  `${code} ${group} ${about} ${failed} ${to}`;

/**
 * The changes that would let all instances fit, the one that asks least first.
 * @param fitting The trees of the hosts that fit as it is: what they would hold with a change is counted with the rest.
 * @param before Who has advised on fewer hosts: what it advises is not said again.
 */
export function* adviceOf(
  adviser: Adviser,
  fitting: readonly (readonly Provider[])[],
  before?: Adviser,
): Steps<Advice[]> {
  const { spec, count, rooms, amounts } = adviser;
  const most = MAX_ADVICE - (before?.advised.size ?? 0);
  if (most === 0) return [];
  if (fitting.length > 0) {
    yield* noteAllConditions(adviser, fitting);
    yield* noteMorePerHost(adviser, fitting);
  }
  const found: (RoomWith & { next?: () => Steps<void> })[] = [...rooms.values()];
  let looked = 0;
  let asked = 0;
  if (fitting.length > 0) noteAllAmounts(adviser, changesOf(adviser).ofGroups);
  const budget = budgetOf(adviser);
  for (const noted of amounts.values()) {
    const { group, resourceClass, asked: from } = noted;
    const nearest = yield* nearestOf(adviser, noted, fitting, budget);
    const next = function* (): Steps<void> {
      const amount = nearest.shift();
      if (amount === undefined) return;
      const { to, room: known } = amount;
      const mayFit = (tree: readonly Provider[]) => timesAtMost(to, resourceClass, tree) > 0;
      const changed = specWith(adviser, noted, to);
      const able = yield* passing(to < from ? noted.trees : noted.treesForMore, mayFit);
      const trees = yield* letFor(adviser, changed, able, rootOfTree);
      if (adviser.letBy !== undefined) asked += able.length;
      // Those for which another amount is nearer may fit with this one too; of very many, only those known are counted, or
      // as many as may be looked at, where it is not known of them whether filters would let them.
      looked += trees.length;
      const isMany = looked > MAX_HOSTS_TRIED;
      if (isMany) adviser.isCut = true;
      const room =
        isMany && adviser.letBy === undefined
          ? known
          : yield* roomOf(adviser, changed, isMany ? trees.slice(0, MAX_HOSTS_OF_MANY) : trees);
      const code = to < from ? ('less' as const) : ('more' as const);
      const advice = { code, group, about: resourceClass, from, to };
      found.push({
        change: { advice, cost: Math.abs(from - to) / Math.max(from, to), changed },
        room,
        ...nothingMore(),
        next,
      });
    };
    yield* next();
  }
  const advised: Advice[] = [];
  const isEnough = (tried: number) =>
    tried >= MAX_CHANGES_TRIED || tried * fitting.length >= MAX_HOSTS_TRIED || asked >= MAX_HOSTS_ASKED;
  for (let tried = 0; advised.length < most && found.length > 0 && !isEnough(tried); tried += 1) {
    found.sort(inOrder);
    const one = found.shift() as (typeof found)[number];
    const { change, parts, away, next } = one;
    if (before?.advised.has(keyOf(change)) === true) continue;
    const { code, about } = change.advice;
    const but = code === 'without-filter' ? about : undefined;
    const room = yield* roomLet(adviser, one);
    asked += one.toAsk.length;
    const { changed = spec } = change;
    const all = yield* roomOf(adviser, changed, yield* letFor(adviser, changed, fitting, rootOfTree), room, but);
    // A group that keeps together is on one host.
    const isTogether = keepsTogether(changed);
    const heldBy = ({ most, times }: Room) => (isTogether ? most : times);
    const holdsAll = (some: Room) => heldBy(some) >= count;
    if (!holdsAll(all)) {
      // No amount further off is tried where a nearer one is advised.
      if (next !== undefined) yield* next();
      continue;
    }
    adviser.advised.add(keyOf(change));
    const ofAll = count === 1 ? {} : isTogether ? { instancesTogether: count } : { instances: count };
    const many = { ...ofAll, ...silentFew(all.silent) };
    if (parts.size > 0) {
      const { names, room: letIn } = fewestLeftOut(parts, yield* roomOf(adviser, spec, fitting), holdsAll);
      advised.push({
        ...change.advice,
        about: names.join(', '),
        hosts: letIn.hosts,
        ...ofAll,
        ...silentFew(letIn.silent),
      });
      continue;
    }
    if (away.length > 0) {
      // Of hosts that are away it is said which they are, of others where it would fit then.
      const back = fewestBack(away, yield* roomOf(adviser, spec, fitting), holdsAll);
      advised.push({ ...change.advice, hosts: away.length, ...many, ...whichOf(back) });
      continue;
    }
    advised.push({
      ...change.advice,
      hosts: all.hosts,
      ...many,
      ...emptiedTold(one, all, adviser),
      ...(but === undefined || !adviser.limits.includes(but) ? {} : yield* limitersFor(adviser, one, fitting, but)),
    });
  }
  return advised;
}

/** Which hosts would have to be empty: as many as are enough for several instances, or else the first of them. */
function emptiedTold(
  { toEmpty, room }: RoomWith,
  all: Room,
  { spec, count }: Adviser,
): Pick<Advice, 'needed' | 'named'> {
  if (toEmpty.length === 0) return {};
  const named = toEmpty.map(({ host }) => host);
  if (count === 1) return { named };
  let held = keepsTogether(spec) ? 0 : all.times - room.times;
  for (const [at, { times }] of toEmpty.entries()) {
    held += times;
    if (held >= count) return { needed: at + 1, named: named.slice(0, at + 1) };
  }
  return { named };
}

/** Whose limits are in the way, also of hosts that have room for some. */
function* limitersFor(
  adviser: Adviser,
  { limiters: { aggregates, isOwn } }: RoomWith,
  fitting: readonly (readonly Provider[])[],
  filter: string,
): Steps<Pick<Advice, 'aggregates' | 'own' | 'needed'>> {
  const limiters = { aggregates: new Set(aggregates), isOwn };
  for (const tree of fitting) {
    const without = roomOn(adviser, adviser.spec, tree, { but: filter });
    if (without > roomOn(adviser, adviser.spec, tree)) noteLimiters(limiters, adviser, filter, tree, without);
    yield;
  }
  return limitersTold(limiters);
}

/** How the hosts are told that are to come back: the one, or the first of several. */
function whichOf(back: readonly Away[]): Pick<Advice, 'host' | 'named' | 'needed' | 'until'> {
  const [first] = back;
  const { host, until } = first ?? {};
  if (back.length === 1) return present({ host, until });
  const named = back.slice(0, MAX_HOSTS_NAMED).map((one) => one.host);
  return { needed: back.length, named, ...present({ until }) };
}

/** The change that asks least first; of those that ask as much, the same one whichever host is looked at first. */
function inOrder(one: RoomWith, other: RoomWith): number {
  const { cost, advice } = one.change;
  const byWorth = cost - other.change.cost || other.room.hosts - one.room.hosts;
  return byWorth || (nameOf(advice) < nameOf(other.change.advice) ? -1 : 1);
}

const nameOf = ({ code, group = '', about = '' }: Omit<Advice, 'hosts'>): string => `${code} ${group} ${about}`;
