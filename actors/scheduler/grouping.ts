// Choosing for a member of an instance group: where the rest of it is comes before the rank. The rankings know nothing
// of groups, so that requests of one shape share them. A hard rule only spares claims that placement would refuse; a soft
// one is kept among the hosts that fit, whatever weighers say.

import { effort } from '../fitting/effort.ts';
import { fit } from '../fitting/fit.ts';
import { MAX_LOOKS_TO_COUNT, mayHold, timesTogether } from '../fitting/fit-times.ts';
import type { RequestSpec } from '../messages/common.ts';
import { isSoft, keepsTogether } from '../placement/groups.ts';
import type { FilterRefusal } from './filters/filter.ts';
import { groupAllows } from './group-rules.ts';
import { membersOn, rootsOf, toldOn } from './groups-view.ts';
import { instancesLeft } from './instance-room.ts';
import { best, bestOfAll, type Ranked, rankedAmong, rankedOf } from './picking.ts';
import { type Fleet, shapeOf, type Weighed } from './ranking.ts';
import type { Request } from './request.ts';
import { isShardSilent, SILENCES, silenceOf } from './silence.ts';
import { treeOf, type View } from './view.ts';
import { factsOf } from './view-hosts.ts';

/** The host that is picked for a request. */
export interface Picked {
  readonly found: Ranked;
  /** The hosts that its group's soft rule goes by, if it has one. */
  readonly soft: SoftlyRanked | null;
  /** It was picked, before others, because it has room for all of several that would rather keep together. */
  readonly isForAll?: true;
}

/**
 * After how many looks at providers in one pick no further host is counted for how many it holds: a tenth of a second. What
 * was counted is kept, so the next pick goes on from there.
 */
const MAX_LOOKS_AT_ROOM = 500_000;

/** Of how many hosts it is asked whether they have room for all that would rather keep together. */
const MAX_WISHED = 256;

/** For whom a host is picked. */
export interface ToPlace {
  /** For how many instances at once there must be room, where they keep together: for one, once others have their host. */
  readonly count: number;
  /** Whether it is one of several of a request: what they get must leave room for the others, whatever is preferred. */
  readonly isOfSeveral: boolean;
}

/**
 * The best host that `skip` does not name.
 * @param seed Makes chance repeatable: the same seed picks the same of the best few.
 */
export function pickOfGroup(
  fleet: Fleet,
  request: Request,
  { count, isOfSeveral }: ToPlace,
  skip: (root: string) => boolean,
  seed: string,
): Picked | null {
  const { view } = fleet;
  const { spec, groupAt } = request;
  const group = spec.instanceGroup;
  const bestBut = (mayNot: (root: string) => boolean) =>
    best(fleet, request, (root) => skip(root) || mayNot(root), seed);
  const picked = (found: Ranked | null, soft: SoftlyRanked | null = null) => (found === null ? null : { found, soft });
  if (group === undefined) return picked(best(fleet, request, skip, seed));
  if (group.policy === 'anti-affinity') return picked(bestBut((root) => !groupAllows(view, spec, root)));
  const endOfLooks = effort.looks + MAX_LOOKS_AT_ROOM;
  const soft = softlyRanked(fleet, request, skip);
  if (soft !== null) {
    const isFirstOfSeveral = soft.first && soft.ranked.length === 0 && count > 1;
    const forAll = isFirstOfSeveral ? withRoomForAll(fleet, request, count, skip, endOfLooks) : null;
    if (forAll !== null) return { found: asCounted(fleet, request, forAll), soft, isForAll: true };
    const without = bestBut(soft.has);
    const others = without === null ? [] : [without];
    const inOrder = soft.first ? [...soft.ranked, ...others] : [...others, ...soft.ranked];
    // One of which nothing was heard only if there is no other.
    for (const silence of SILENCES) {
      const found = inOrder.find((one) => silenceOf(view, one.cell, isShardSilent(view, one.root)) <= silence);
      if (found === undefined) continue;
      const isAfterOthers = isOfSeveral && soft.first && count === 1;
      return picked(isAfterOthers ? asCounted(fleet, request, found) : found, soft);
    }
    return null;
  }
  // All of them on one host or none: a host that has room for some only would be claimed in vain.
  const lacksRoom = (root: string) => roomTogether(fleet, request, root, count, endOfLooks) === false;
  const bestAmong = (roots: readonly string[]) =>
    rankedAmong(fleet, request, roots, (root) => skip(root) || lacksRoom(root))[0] ?? null;
  const roots = rootsOf(view.groups, group.id);
  const found =
    roots.length > 0 ? bestAmong(roots) : ((groupAt === undefined ? null : bestAmong([groupAt])) ?? bestBut(lacksRoom));
  return picked(found === null || !isOfSeveral ? found : asCounted(fleet, request, found));
}

/** The best host that has room for all of several that would rather keep together: of those that rank first, and are heard. */
function withRoomForAll(
  fleet: Fleet,
  request: Request,
  count: number,
  skip: (root: string) => boolean,
  endOfLooks: number,
): Ranked | null {
  const { view } = fleet;
  const found = bestOfAll(fleet, request, MAX_WISHED, skip).find(
    ({ cell, root }) =>
      silenceOf(view, cell, isShardSilent(view, root)) === SILENCES[0] &&
      roomForAll(fleet, request, root, count, endOfLooks) === true,
  );
  return found === undefined ? null : rankedOf(fleet, shapeOf(fleet, request), found);
}

/** With what the host would give as it was counted to hold all of several: without preference. */
function asCounted({ rankings, view }: Fleet, { spec }: Request, found: Ranked): Ranked {
  if (rankings.preference === undefined) return found;
  return { ...found, allocations: fit(spec, treeOf(view, found.root)) ?? found.allocations };
}

/**
 * The hosts that come first, in the order in which they would be taken, without chance; those of silent cells count like
 * others. Where a group keeps together it is the one that is taken: the group is there, or others would have to be
 * searched for room for all; so too where it would rather.
 * @param count For how many instances together, as in `pickOfGroup`.
 */
export function firstOfGroup(
  fleet: Fleet,
  request: Request,
  count: number,
  most: number,
  { found, soft, isForAll }: Picked,
): readonly Weighed[] {
  const { view } = fleet;
  const { spec, groupAt } = request;
  const group = spec.instanceGroup;
  if (group === undefined) return bestOfAll(fleet, request, most);
  const { current } = shapeOf(fleet, request);
  const weighed = ({ root }: Ranked) => current.get(root) as Weighed;
  if (isForAll === true) return [weighed(found)];
  if (soft !== null) {
    const withMembers = soft.ranked.slice(0, most).map(weighed);
    const without = bestOfAll(fleet, request, most, (root) => soft.has(root));
    return (soft.first ? [...withMembers, ...without] : [...without, ...withMembers]).slice(0, most);
  }
  const isFirst = count === 1 && groupAt === undefined && rootsOf(view.groups, group.id).length === 0;
  if (group.policy === 'affinity' && !isFirst) return [weighed(found)];
  return bestOfAll(fleet, request, most, (root) => !groupAllows(view, spec, root));
}

/** What a record names where it was not counted which hosts have room for all that keep together. */
export const ROOM_TOGETHER = 'room-together';

/** The code of a host that has room for some of those that keep together, and not for all. */
export const NO_ROOM_TOGETHER = 'no-room-together';

export const noRoomTogether = (count: number, host: string): FilterRefusal => ({
  code: NO_ROOM_TOGETHER,
  message: `no room for ${count} instances on '${host}'`,
});

/** Whether a host that is ranked has room for all that must keep together. */
export const roomTogether: typeof roomForAll = (fleet, request, root, count, endOfLooks) =>
  // What is ranked has room for one.
  count === 1 || !keepsTogether(request.spec) || roomForAll(fleet, request, root, count, endOfLooks);

/**
 * Whether a host has room for so many at once.
 * @param endOfLooks After so many looks at providers in all it is not counted any more: undefined, and the claims decide.
 */
function roomForAll(
  fleet: Fleet,
  request: Request,
  root: string,
  count: number,
  endOfLooks: number,
): boolean | undefined {
  const { rankings, view } = fleet;
  const host = view.hosts.get(root);
  if (host === undefined) return false;
  const tree = treeOf(view, root);
  if (instancesLeft(rankings, request, factsOf(view, host, tree)) < count) return false;
  if (!mayHold(request.spec, tree, count)) return false;
  const ranked = shapeOf(fleet, request).current.get(root);
  const known = ranked?.holds ?? null;
  if (known !== null) {
    if (known.times >= count) return true;
    if (known.isWhole && known.times < known.count) return false;
    if (!known.isWhole && known.count === count) return undefined;
  }
  if (effort.looks > endOfLooks) return undefined;
  const endOfThis = effort.looks + MAX_LOOKS_TO_COUNT;
  const times = timesTogether(request.spec, tree, count, endOfThis);
  const isWhole = times >= count || effort.looks <= endOfThis;
  // It is weighed anew, and nothing is known of it, when it changes.
  if (ranked !== undefined) ranked.holds = { count, times, isWhole };
  return isWhole ? times >= count : undefined;
}

/**
 * Whether a host may be an alternate of an instance of the group that is claimed: one that would have to leave the rest
 * of its group behind has no alternates.
 */
export function mayBeAlternate(view: View, spec: RequestSpec): (root: string) => boolean {
  const group = spec.instanceGroup;
  if (group === undefined || isSoft(group)) return () => true;
  if (group.policy === 'anti-affinity') return (root) => groupAllows(view, spec, root);
  const members = rootsOf(view.groups, group.id).reduce((sum, root) => sum + membersOn(view.groups, group.id, root), 0);
  return () => members <= 1;
}

/** The hosts that have members of a group with a soft rule. */
interface SoftlyRanked {
  /** In the order in which the rule prefers them, those with as many members by rank; those that `skip` names left out. */
  readonly ranked: readonly Ranked[];
  /** Whether they come before hosts without a member. */
  readonly first: boolean;
  has(root: string): boolean;
}

/** Where the members of the group of a request are, as a soft rule sees it; null when it has none. */
export function softlyRanked(fleet: Fleet, request: Request, skip: (root: string) => boolean): SoftlyRanked | null {
  const { view } = fleet;
  const group = request.spec.instanceGroup;
  if (group === undefined || !isSoft(group)) return null;
  const first = group.policy === 'soft-affinity';
  const known = rootsOf(view.groups, group.id);
  const at = first ? request.groupAt : undefined;
  const roots = at === undefined || known.includes(at) ? known : [...known, at];
  const told = ({ root }: Ranked) => toldOn(view.groups, group.id, root) || Number(root === at);
  const members = ({ root }: Ranked) => membersOn(view.groups, group.id, root);
  // Where members are comes before where they may come: claims that are refused could draw each other to and fro.
  const ranked = [...rankedAmong(fleet, request, roots, skip)].sort((one, other) =>
    first ? told(other) - told(one) || members(other) - members(one) : members(one) - members(other),
  );
  const all = new Set(roots);
  return { ranked, first, has: (root) => all.has(root) };
}
