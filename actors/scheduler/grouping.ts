// Choosing for a member of an instance group: where the rest of it is comes before the rank. The rankings know nothing
// of groups, so that requests of one shape share them. A hard rule only spares claims that placement would refuse; a soft
// one is kept among the hosts that fit, whatever weighers say.

import { effort } from '../fitting/effort.ts';
import { fit } from '../fitting/fit.ts';
import type { RequestSpec } from '../messages/common.ts';
import { isSoft } from '../placement/groups.ts';
import { mayHoldAll, roomForAll, roomTogether } from './explaining/room-together.ts';
import { fullByRule, groupAllows } from './group-rules.ts';
import { best, bestOfAll, byChance, type Ranked, rankedAmong, rankedOf } from './picking.ts';
import { type Fleet, shapeOf } from './ranking/ranking.ts';
import type { Weighed } from './ranking/weighings.ts';
import type { Request } from './request.ts';
import { firstFew, type SoftHomes, softHomes } from './soft-homes.ts';
import { hasMembers, membersOn, rootsOf } from './view/groups-view.ts';
import { isShardSilent, silenceOf } from './view/silence.ts';
import { treeOf, type View } from './view/view.ts';

/** The host that is picked for a request. */
export interface Picked {
  readonly found: Ranked;
  /** The hosts that its group's soft rule goes by, if it has one. */
  readonly soft: SoftHomes | null;
  /** It was picked, before others, because it has room for all of several that would rather keep together. */
  readonly isForAll?: true;
}

/**
 * After how many looks at providers in one pick no further host is counted for how many it holds: a quarter of a second. What
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
  /** Only without what is preferred is there room for all of them. */
  readonly isCounted?: boolean;
}

/**
 * The best host that `skip` does not name.
 * @param seed Makes chance repeatable: the same seed picks the same of the best few.
 */
export function pickOfGroup(
  fleet: Fleet,
  request: Request,
  toPlace: ToPlace,
  skip: (root: string) => boolean,
  seed: string,
): Picked | null {
  const picked = pickedOf(fleet, request, toPlace, skip, seed);
  if (picked === null) return null;
  const { count, isOfSeveral, isCounted = false } = toPlace;
  const policy = request.spec.instanceGroup?.policy;
  const isCountedForAll =
    picked.isForAll === true || (isOfSeveral && (policy === 'affinity' || (policy === 'soft-affinity' && count === 1)));
  return isCounted || isCountedForAll ? { ...picked, found: asCounted(fleet, request, picked.found) } : picked;
}

function pickedOf(
  fleet: Fleet,
  request: Request,
  { count }: ToPlace,
  skip: (root: string) => boolean,
  seed: string,
): Picked | null {
  const { view } = fleet;
  const { spec } = request;
  const mayNot = (root: string) => skip(root) || !groupAllows(view, spec, root);
  const picked = (found: Ranked | null) => (found === null ? null : { found, soft: null });
  switch (spec.instanceGroup?.policy) {
    case undefined:
      return picked(best(fleet, request, skip, seed));
    case 'anti-affinity':
      return picked(best(fleet, request, mayNot, seed, undefined, fullByRule(spec)));
    case 'affinity':
      return picked(pickTogether(fleet, request, count, skip, seed));
    default:
      return pickSoftly(fleet, request, count, skip, seed);
  }
}

/** All of them on one host or none: one that has room for some only would be claimed in vain. */
function pickTogether(
  fleet: Fleet,
  request: Request,
  count: number,
  skip: (root: string) => boolean,
  seed: string,
): Ranked | null {
  const { groups } = fleet.view;
  const { spec, groupAt } = request;
  const endOfLooks = effort.looks + MAX_LOOKS_AT_ROOM;
  const roots = rootsOf(groups, spec.instanceGroup?.id ?? '');
  const several = roots.length === 0 && count > 1 ? mayHoldAll(fleet, request, count) : undefined;
  const full = new Set<string>();
  let isAnyHardToTell = false;
  const isRoom = (root: string) => {
    const room = roomTogether(fleet, request, root, count, endOfLooks);
    isAnyHardToTell ||= room === undefined;
    if (room === false) full.add(root);
    return room;
  };
  const bestAmong = (some: readonly string[], lacksRoom: (root: string) => boolean) =>
    rankedAmong(fleet, request, some, (root) => skip(root) || lacksRoom(root))[0] ?? null;
  const isFull = (root: string) => isRoom(root) === false;
  // Placement has said that the group is there: another host would be claimed in vain.
  const there = roots.length > 0 || groupAt === undefined ? null : bestAmong([groupAt], isFull);
  if (there !== null) return there;
  const pick = (lacksRoom: (root: string) => boolean) =>
    roots.length > 0
      ? bestAmong(roots, lacksRoom)
      : best(fleet, request, (root) => skip(root) || lacksRoom(root), seed, several);
  // Of one that was not counted to the end the claims decide: only where none is known to have room.
  const found = pick((root) => isRoom(root) !== true) ?? (isAnyHardToTell ? pick(isFull) : null);
  for (const root of full) several?.refuse(root);
  return found;
}

function pickSoftly(
  fleet: Fleet,
  request: Request,
  count: number,
  skip: (root: string) => boolean,
  seed: string,
): Picked | null {
  const { view } = fleet;
  const soft = softHomes(fleet, request, skip) as SoftHomes;
  const silenceAt = ({ cell, root }: Weighed | Ranked) => silenceOf(view, cell, isShardSilent(view, root));
  if (soft.first && count > 1 && soft.fitting().length === 0) {
    const forAll = withRoomForAll(fleet, request, count, skip, seed);
    if (forAll !== null) return { found: forAll, soft, isForAll: true };
  }
  const mayNot = (root: string) => skip(root) || soft.has(root);
  const without = best(fleet, request, mayNot, seed, undefined, fullByRule(request.spec));
  const silence = without === null ? Number.POSITIVE_INFINITY : silenceAt(without);
  // Hosts without members come first, and nobody is heard better than one that is.
  if (!soft.first && silence === 0) return { found: without as Ranked, soft };
  const [home] = firstFew(soft.fitting(), 1, (one, other) => {
    const louder = silenceAt(one) - silenceAt(other);
    return louder === 0 ? soft.isBefore(one, other) : louder < 0;
  });
  // One of which nothing was heard only if there is no other.
  const isHome = home !== undefined && (soft.first ? silenceAt(home) <= silence : silenceAt(home) < silence);
  const found = isHome ? rankedOf(fleet, shapeOf(fleet, request), home) : without;
  return found === null ? null : { found, soft };
}

/**
 * One of the best hosts that have room for all of several that would rather keep together, of those that rank first: of which
 * nothing was heard only if that is so of all hosts that fit.
 */
function withRoomForAll(
  fleet: Fleet,
  request: Request,
  count: number,
  skip: (root: string) => boolean,
  seed: string,
): Ranked | null {
  const { rankings, view } = fleet;
  const one = best(fleet, request, skip, seed);
  if (one === null) return null;
  const silence = silenceOf(view, one.cell, isShardSilent(view, one.root));
  const endOfLooks = effort.looks + MAX_LOOKS_AT_ROOM;
  const able: Weighed[] = [];
  for (const host of bestOfAll(fleet, request, MAX_WISHED, skip, silence)) {
    if (able.length === rankings.pickAmong) break;
    if (roomForAll(fleet, request, host.root, count, endOfLooks) === true) able.push(host);
  }
  const preferred = request.where?.preferCells;
  const isPreferred = ({ cell }: Weighed) => preferred?.includes(cell) === true;
  // A cell that is preferred is, whatever hosts of others weigh.
  const [first] = able;
  const alike = able.filter((host) => isPreferred(host) === isPreferred(first as Weighed));
  const found = byChance(alike, rankings.salt, seed);
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
    const without = bestOfAll(fleet, request, most, (root) => soft.has(root), undefined, fullByRule(spec));
    if (!soft.first && without.length >= most) return without;
    const withMembers = firstFew(soft.fitting(), most, soft.isBefore);
    return (soft.first ? [...withMembers, ...without] : [...without, ...withMembers]).slice(0, most);
  }
  const isFirst = count === 1 && groupAt === undefined && !hasMembers(view.groups, group.id);
  if (group.policy === 'affinity' && !isFirst) return [weighed(found)];
  return bestOfAll(fleet, request, most, (root) => !groupAllows(view, spec, root), undefined, fullByRule(spec));
}

/**
 * Which hosts may be alternates of an instance of the group that is claimed; null: none, as it would have to leave the rest
 * of its group behind.
 */
export function mayBeAlternate(view: View, spec: RequestSpec): ((root: string) => boolean) | null {
  const group = spec.instanceGroup;
  if (group === undefined || isSoft(group)) return () => true;
  if (group.policy === 'anti-affinity') return (root) => groupAllows(view, spec, root);
  const members = rootsOf(view.groups, group.id).reduce((sum, root) => sum + membersOn(view.groups, group.id, root), 0);
  return members <= 1 ? () => true : null;
}
