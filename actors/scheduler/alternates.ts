// The alternates of a selection: hosts to be tried, in order, should a build fail.

import type { Selection } from '../../machines/instance-build.ts';
import { roomFor } from '../fitting/fit.ts';
import { isSoft } from '../placement/groups.ts';
import { fullByRule } from './group-rules.ts';
import { mayBeAlternate } from './grouping.ts';
import { mostInstances } from './instance-room.ts';
import { bestOfCell, isInPart, type PartOfCell, type Ranked, rankedAmong } from './picking.ts';
import type { Fleet } from './ranking/ranking.ts';
import type { Hearing } from './ranking/stands.ts';
import type { Request } from './request.ts';
import { homesInOrder, softHomes } from './soft-homes.ts';
import { treeOf, type View, type ViewHost } from './view/view.ts';
import { factsOf } from './view/view-hosts.ts';

/** How many hosts are looked at, at least, for some that have room to spare. */
const MIN_RANKED = 32;
/** With room for this many more of its kind, or all that would keep together, a host is as good as any as an alternate. */
const AMPLE_ROOM = 4;

/** A host as it is to be claimed, with the conditions that filters make of the claim. */
export function selectionOf({ rankings, view }: Fleet, request: Request, ranked: Ranked): Selection {
  const { cell, host, root, allocations } = ranked;
  const selection = { cell, host, provider: root, allocations };
  if (rankings.limits.length === 0) return selection;
  const facts = factsOf(view, view.hosts.get(root) as ViewHost, treeOf(view, root));
  const most = mostInstances(rankings, request, facts);
  return most === Number.POSITIVE_INFINITY ? selection : { ...selection, maxInstances: most };
}

/** An instance that has a host, and what it is dealt. */
interface Hand {
  /** The root of its own host. */
  readonly own: string;
  readonly alternates: Ranked[];
}

/**
 * Up to `wanted` alternates for each of the hosts that a request has claimed: the next in rank in the cell of that
 * host. Nothing is held for an alternate, and by the time that it is needed others will have been given its room; so
 * those that could hold several more like it come before those that are nearly full. The instances of one request are
 * given different ones, so that several that fail do not all turn to the same host. Where there are too few they have the
 * hosts of one another, as far as those have room for one more, before any has one that another has, too; where a soft
 * rule orders them, only where one's own list would be too short. Those that would rather keep together are given the same
 * ones, first those with room for all.
 */
export function alternatesFor(
  fleet: Fleet,
  request: Request,
  chosen: readonly Selection[],
  wanted: number,
): Selection[][] {
  const { view } = fleet;
  const mayBe = mayBeAlternate(view, request.spec);
  if (wanted === 0 || mayBe === null) return chosen.map(() => []);
  const claimed = new Set(chosen.map(({ provider }) => provider));
  const { instanceGroup } = request.spec;
  const areTogether = instanceGroup?.policy === 'soft-affinity';
  const hands = chosen.map(({ provider }): Hand => ({ own: provider, alternates: [] }));
  for (const cell of new Set(chosen.map((one) => one.cell))) {
    const inCell = hands.filter((_, position) => chosen[position]?.cell === cell);
    const needed = areTogether ? wanted : wanted * inCell.length;
    const isOut = (root: string) => claimed.has(root) || !mayBe(root);
    const ample = areTogether ? Math.max(AMPLE_ROOM, inCell.length) : AMPLE_ROOM;
    const pool = heardFirst(view, needed, (hearing) => poolOf(fleet, request, { cell, hearing }, needed, ample, isOut));
    // A soft rule is followed rather than that hosts differ: those of others have members.
    const isSoftly = instanceGroup !== undefined && isSoft(instanceGroup);
    const isEnough = pool.length >= (isSoftly ? wanted : needed) || inCell.length === 1;
    if (areTogether) for (const { alternates } of inCell) alternates.push(...pool.slice(0, wanted));
    else if (isSoftly || isEnough) deal(pool, inCell, wanted);
    if (isEnough) continue;
    const own = new Set(inCell.map((hand) => hand.own));
    const shared = poolOfClaimed(fleet, request, own, (root) => !own.has(root) || !mayBe(root));
    const inOrder = inOrderOf(shared, inCell);
    if (isSoftly) deal(shared, inOrder, wanted - pool.length);
    else deal([...pool, ...shared], inOrder, wanted);
  }
  return hands.map(({ alternates }) => alternates.map((one) => selectionOf(fleet, request, one)));
}

/** Hosts of which the placement shard was heard lately, and others only where these are fewer than needed. */
function heardFirst(view: View, needed: number, find: (hearing: Hearing) => readonly Ranked[]): readonly Ranked[] {
  const found = find('heard');
  if (view.silentShards.size === 0 || found.length >= needed) return found;
  return [...found, ...find('silent')];
}

/** Hosts of a part of a cell to be dealt as alternates, at least as many as are needed if there are, the best first. */
function poolOf(
  fleet: Fleet,
  request: Request,
  part: PartOfCell,
  needed: number,
  ample: number,
  isOut: (root: string) => boolean,
): readonly Ranked[] {
  const { view } = fleet;
  const { spec } = request;
  const full = fullByRule(spec);
  const upTo = (most: number, skip: (root: string) => boolean) => bestOfCell(fleet, request, part, most, skip, full);
  if (spec.instanceGroup === undefined) {
    const pool = upTo(needed, isOut);
    // Usually the first in rank have room to spare, and there is no need to look at more for others to prefer.
    const isAmple = pool.every(({ root }) => spareOn(fleet, request, root, ample) >= ample);
    if (isAmple) return pool;
    return roomyFirst(fleet, request, ample, needed >= MIN_RANKED ? pool : upTo(MIN_RANKED, isOut));
  }
  const most = Math.max(needed, MIN_RANKED);
  const soft = softHomes(fleet, request, isOut);
  if (soft === null) return roomyFirst(fleet, request, ample, upTo(most, isOut));
  const without = roomyFirst(
    fleet,
    request,
    ample,
    upTo(most, (root) => isOut(root) || soft.has(root)),
  );
  if (!soft.first && without.length >= needed) return without;
  // Hosts with members are known: what the rule prefers comes first, however many stand before it in rank.
  const withMembers = homesInOrder(fleet, request, soft).filter((one) => isInPart(view, part, one));
  return soft.first ? [...withMembers, ...without] : [...without, ...withMembers];
}

/** Of the hosts that a request has claimed those with room for one more, the best first. */
function poolOfClaimed(
  fleet: Fleet,
  request: Request,
  claimed: ReadonlySet<string>,
  isOut: (root: string) => boolean,
): readonly Ranked[] {
  const soft = softHomes(fleet, request, isOut);
  if (soft !== null) return homesInOrder(fleet, request, soft);
  return roomyFirst(fleet, request, AMPLE_ROOM, rankedAmong(fleet, request, claimed, isOut));
}

/**
 * Deals alternates to instances in rounds: the best to each first, and to none its own host or the same one twice. None
 * is dealt again before all have been, as far as that can be.
 */
function deal(pool: readonly Ranked[], hands: readonly Hand[], rounds: number): void {
  /** Whose turn has come, and whom nobody has been given since; and those that were left when all came in turn again. */
  let left: Ranked[] = [];
  const leftBefore: Ranked[] = [];
  let next = 0;
  for (let round = 0; round < Math.min(rounds, pool.length); round += 1) {
    const served: Hand[] = [];
    for (const hand of hands) {
      const host =
        fromLeft(leftBefore, hand) ??
        inTurn(hand) ??
        fromLeft(left, hand) ??
        exchanged(left, hand, served) ??
        again(hand);
      if (host === undefined) continue;
      hand.alternates.push(host);
      served.push(hand);
    }
  }

  function inTurn(hand: Hand): Ranked | undefined {
    for (; next < pool.length; next += 1) {
      const host = pool[next] as Ranked;
      if (left.includes(host)) continue;
      if (mayHave(hand, host)) {
        next += 1;
        return host;
      }
      left.push(host);
    }
    return undefined;
  }

  function again(hand: Hand): Ranked | undefined {
    if (!pool.some((host) => mayHave(hand, host))) return undefined;
    leftBefore.push(...left);
    left = [];
    next = 0;
    return inTurn(hand);
  }
}

function mayHave({ own, alternates }: Hand, host: Ranked): boolean {
  return host.root !== own && !alternates.includes(host);
}

/** Takes out what is left over and may be given to an instance. */
function fromLeft(left: Ranked[], hand: Hand): Ranked | undefined {
  const at = left.findIndex((host) => mayHave(hand, host));
  return at < 0 ? undefined : left.splice(at, 1)[0];
}

/** Of those who were given a host last, one takes what is left over, for the one that it had. */
function exchanged(left: Ranked[], hand: Hand, served: readonly Hand[]): Ranked | undefined {
  if (left.length === 0) return undefined;
  for (const other of served) {
    const host = other.alternates.at(-1) as Ranked;
    const instead = mayHave(hand, host) ? fromLeft(left, other) : undefined;
    if (instead === undefined) continue;
    other.alternates[other.alternates.length - 1] = instead;
    return host;
  }
  return undefined;
}

/** Instances in the order of their own hosts in the pool: dealt to like that, each has the host of the next. */
function inOrderOf(pool: readonly Ranked[], hands: readonly Hand[]): readonly Hand[] {
  const places = new Map(pool.map(({ root }, place) => [root, place]));
  const placeOf = ({ own }: Hand) => places.get(own) ?? pool.length;
  return [...hands].sort((one, other) => placeOf(one) - placeOf(other));
}

/** Keeps the order of rank among hosts with as much room. */
function roomyFirst(fleet: Fleet, request: Request, ample: number, ranked: readonly Ranked[]): readonly Ranked[] {
  const rooms = new Map(ranked.map((one) => [one, spareOn(fleet, request, one.root, ample)]));
  return [...ranked].sort((one, other) => (rooms.get(other) as number) - (rooms.get(one) as number));
}

/** How many more of its kind a host has room for, up to so many, as its resources and limits on instances let it. */
function spareOn({ rankings, view }: Fleet, request: Request, root: string, ample: number): number {
  const tree = treeOf(view, root);
  const room = roomFor(request.spec, tree, ample);
  if (rankings.limits.length === 0) return room;
  const facts = factsOf(view, view.hosts.get(root) as ViewHost, tree);
  return Math.max(0, Math.min(room, mostInstances(rankings, request, facts) - facts.stats.instances));
}
