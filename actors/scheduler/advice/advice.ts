// Advice: which one change would let a request fit that no host fits. What was noted of hosts, one by one, is counted for
// all of them, and the changes that ask least are advised. An amount that lets several instances fit is searched for over
// all hosts together.

import type { Advice } from '../../messages/advice.ts';
import type { RequestSpec, ResourceGroup } from '../../messages/common.ts';
import { unmet } from '../../placement/conditions.ts';
import { isSoft, keepsTogether } from '../../placement/groups.ts';
import type { Provider } from '../../placement/providers.ts';
import { present } from '../../present.ts';
import { passing, type Steps } from '../steps.ts';
import { silentFew } from '../view/silence.ts';
import { type Adviser, changeKey, changesOf, nothingMore, type RoomWith, roomWith } from './adviser.ts';
import { timesAtMost } from './amount-ranges.ts';
import { type Amount, type Amounts, budgetOf, nearestOf, noteAllAmounts, specWith } from './amounts.ts';
import { COST_OF_SEVERAL, morePerHost, toldOf, withoutFilter, withoutInstanceGroup } from './changes.ts';
import { limitersFor } from './limits.ts';
import { type Away, type Back, effortOf, fewestBack, fewestLeftOut } from './lists.ts';
import { add, both, letFor, noRoom, type Room, roomOf, roomsOf, rootOfTree } from './rooms.ts';

/** How many changes are advised. */
const MAX_ADVICE = 3;
/** How many of the hosts that are to come back are named. */
const MAX_HOSTS_NAMED = 5;
/** How many changes are tried on the hosts that fit without any, and on about how many hosts in all. */
const MAX_CHANGES_TRIED = 64;
const MAX_HOSTS_TRIED = 8_192;
const MAX_HOSTS_OF_MANY = 1_024;
/** After how many hosts no further changes are tried of which filters of a deployment's own are asked: half a second. */
const MAX_HOSTS_ASKED = 131_072;

/** A change that may be advised. */
interface Candidate extends RoomWith {
  /** Has another amount, further off, tried in its stead; absent where it is not of an amount. */
  readonly next?: () => Steps<void>;
  /** Of hosts out of service, those that are to come back. */
  readonly back?: Back;
}

interface Search {
  readonly adviser: Adviser;
  /** The trees of the hosts that fit as it is. */
  readonly fitting: readonly (readonly Provider[])[];
  readonly candidates: Candidate[];
  /** How many hosts amounts were tried on. */
  looked: number;
  /** Of how many hosts filters of a deployment's own were asked. */
  asked: number;
}

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
  const most = MAX_ADVICE - (before?.advised.size ?? 0);
  if (most === 0) return [];
  if (fitting.length > 0) yield* noteAll(adviser, fitting);
  const candidates: Candidate[] = [...adviser.rooms.values()];
  const search: Search = { adviser, fitting, candidates, looked: 0, asked: 0 };
  yield* addAmounts(search);
  yield* findBack(search);
  const advised: Advice[] = [];
  for (let tried = 0; advised.length < most && !isEnough(search, tried); tried += 1) {
    const isMore = isOneMore([...adviser.advised, ...(before?.advised ?? [])]);
    candidates.sort((one, other) => isMore(one) - isMore(other) || inOrder(one, other));
    const candidate = candidates.shift();
    if (candidate === undefined) break;
    const { change, next } = candidate;
    if (before?.advised.has(changeKey(change)) === true) continue;
    const advice = yield* adviceFor(search, candidate);
    if (advice !== null) {
      adviser.advised.add(changeKey(change));
      advised.push(advice);
    } else if (next !== undefined) {
      // No amount further off is tried where a nearer one is advised.
      yield* next();
    }
  }
  return advised;
}

/** Of each state of hosts that are out of service, those that are enough. */
function* findBack({ adviser, fitting, candidates }: Search): Steps<void> {
  if (candidates.every(({ away }) => away.length === 0)) return;
  const before = yield* roomOf(adviser, adviser.spec, fitting);
  for (const [at, one] of candidates.entries()) {
    if (one.away.length === 0 || !holdsAll(adviser, adviser.spec, both(before, one.room))) continue;
    candidates[at] = { ...one, back: fewestBack(one.away, before, (room) => holdsAll(adviser, adviser.spec, room)) };
    yield;
  }
}

/** A group that keeps together is on one host. */
const holdsAll = ({ count }: Adviser, spec: RequestSpec, { most, times }: Room): boolean =>
  (keepsTogether(spec) ? most : times) >= count;

const isEnough = ({ fitting, asked }: Search, tried: number): boolean =>
  tried >= MAX_CHANGES_TRIED || tried * fitting.length >= MAX_HOSTS_TRIED || asked >= MAX_HOSTS_ASKED;

/** Of each class of each group the amount that is nearest to what is asked. */
function* addAmounts(search: Search): Steps<void> {
  const { adviser, fitting } = search;
  const budget = budgetOf(adviser);
  for (const noted of adviser.amounts.values()) {
    const nearest = yield* nearestOf(adviser, noted, fitting, budget);
    yield* addAmount(search, noted, nearest);
  }
}

function* addAmount(search: Search, noted: Amounts, [nearest, ...others]: readonly Amount[]): Steps<void> {
  if (nearest === undefined) return;
  const { of, resourceClass, asked: from } = noted;
  const { to } = nearest;
  const code = to < from ? ('less' as const) : ('more' as const);
  const advice = { code, ...toldOf(of), about: resourceClass, from, to };
  const cost = Math.abs(from - to) / Math.max(from, to) + (of.names === undefined ? 0 : COST_OF_SEVERAL);
  search.candidates.push({
    change: { advice, cost, changed: specWith(search.adviser, noted, to) },
    room: yield* roomWithAmount(search, noted, nearest),
    ...nothingMore(),
    next: () => addAmount(search, noted, others),
  });
}

/**
 * What an amount would let fit. Hosts for which another amount is nearer may fit with this one too; of very many, only those
 * known are counted, or as many as may be looked at, where it is not known of them whether filters would let them.
 */
function* roomWithAmount(search: Search, noted: Amounts, { to, room: known }: Amount): Steps<Room> {
  const { adviser } = search;
  const mayFit = (tree: readonly Provider[]) => timesAtMost(to, noted.resourceClass, tree) > 0;
  const changed = specWith(adviser, noted, to);
  const able = yield* passing(to < noted.asked ? noted.trees : noted.treesForMore, mayFit);
  const trees = yield* letFor(adviser, changed, able, rootOfTree);
  if (adviser.letBy !== undefined) search.asked += able.length;
  search.looked += trees.length;
  if (search.looked <= MAX_HOSTS_TRIED) {
    const room = yield* roomOf(adviser, changed, trees);
    // The hosts that could give most are often those that are taken next: of them it is told how they stood when looked at.
    return room.hosts === 0 && adviser.letBy === undefined ? known : room;
  }
  adviser.isCut = true;
  if (adviser.letBy === undefined) return known;
  return yield* roomOf(adviser, changed, trees.slice(0, MAX_HOSTS_OF_MANY));
}

/** What is advised of a change; null: it would not let all instances fit. */
function* adviceFor(search: Search, candidate: Candidate): Steps<Advice | null> {
  const { adviser, fitting } = search;
  const { spec, count, limits } = adviser;
  const { parts, back, toAsk } = candidate;
  const { advice, changed = spec } = candidate.change;
  const but = advice.code === 'without-filter' ? advice.about : undefined;
  const room = yield* roomLet(adviser, candidate);
  search.asked += toAsk.length;
  const others = changed === spec ? [] : adviser.heldBack;
  search.asked += others.length;
  const able = yield* letFor(adviser, changed, [...fitting, ...others], rootOfTree);
  const all = yield* roomOf(adviser, changed, able, room, but);
  const isEnoughRoom = (one: Room) => holdsAll(adviser, changed, one);
  if (!isEnoughRoom(all)) return null;
  const ofAll = count === 1 ? {} : keepsTogether(changed) ? { instancesTogether: count } : { instances: count };
  if (parts.size > 0) {
    const { names, room: letIn } = fewestLeftOut(parts, yield* roomOf(adviser, spec, fitting), isEnoughRoom);
    return { ...advice, about: names.join(', '), hosts: letIn.hosts, ...ofAll, ...silentFew(letIn.silent) };
  }
  // Of hosts that are away it is said which they are, of others where it would fit then.
  if (back !== undefined) {
    return { ...advice, hosts: back.of, ...ofAll, ...silentFew(back.silent), ...whichOf(back.back) };
  }
  const partly = changed !== spec && adviser.isMoreHeldBack ? { partly: true as const } : {};
  const many = { ...ofAll, ...silentFew(all.silent), ...partly };
  const emptied = emptiedTold(candidate, all, adviser);
  const isLimit = but !== undefined && limits.includes(but);
  const limiters = isLimit ? yield* limitersFor(adviser, candidate.limiters, fitting, but) : {};
  return { ...advice, hosts: all.hosts, ...many, ...emptied, ...limiters };
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

/** How the hosts are told that are to come back: the one, or the first of several. */
function whichOf(
  back: readonly Away[],
): Pick<Advice, 'host' | 'named' | 'needed' | 'disabled' | 'setAside' | 'asideUntil' | 'until'> {
  const [first] = back;
  const { host, until } = first ?? {};
  const disabled = back.filter(({ isDisabled }) => isDisabled).length || undefined;
  const resting = back.flatMap(({ asideUntil }) => asideUntil ?? []);
  const setAside = resting.length || undefined;
  const asideUntil = setAside === undefined ? undefined : Math.max(...resting);
  const then = present({ disabled, setAside, asideUntil, until });
  if (back.length === 1) return { ...present({ host }), ...then };
  const named = back.slice(0, MAX_HOSTS_NAMED).map((one) => one.host);
  return { needed: back.length, named, ...then };
}

/** The change that asks least first; of those that ask as much, the same one whichever host is looked at first. */
function inOrder(one: Candidate, other: Candidate): number {
  const { cost, advice } = one.change;
  const byEffort = effortOf(one.back?.back) - effortOf(other.back?.back);
  const byWorth = cost - other.change.cost || byEffort || other.room.hosts - one.room.hosts;
  return byWorth || (nameOf(advice) < nameOf(other.change.advice) ? -1 : 1);
}

/**
 * Whether a change opens one more aggregate that is kept for others. It comes after all else: where many are, nothing
 * else would be told.
 * @param advised The changes that are advised, by their keys.
 */
function isOneMore(advised: readonly string[]): (candidate: RoomWith) => number {
  const code = 'without-kept' satisfies Advice['code'];
  const isAnyTold = advised.some((key) => key.startsWith(`${code} `));
  return ({ change }) => (isAnyTold && change.advice.code === code ? 1 : 0);
}

const nameOf = ({ code, group = '', groups = [], about = '' }: Omit<Advice, 'hosts'>): string =>
  `${code} ${group}${groups.join()} ${about}`;

/** Where hosts fit, and too few: with any one change they might hold more. */
function* noteAll(adviser: Adviser, fitting: readonly (readonly Provider[])[]): Steps<void> {
  yield* noteAllConditions(adviser, fitting);
  yield* noteMorePerHost(adviser, fitting);
  noteAllAmounts(adviser, changesOf(adviser).ofGroups);
}

/** But for one that holds none of their providers back, as those on the host itself: it would take the place of what helps. */
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

/** What a change would let fit, of the hosts that may serve then. */
function* roomLet(adviser: Adviser, { change: { changed }, room, toAsk }: RoomWith): Steps<Room> {
  if (changed === undefined || toAsk.length === 0) return room;
  const found = noRoom();
  for (const { root, times } of yield* letFor(adviser, changed, toAsk, (one) => one.root)) {
    add(found, times, adviser.silencedOn?.(root));
  }
  return found;
}
