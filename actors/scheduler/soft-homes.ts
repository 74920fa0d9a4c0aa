// Where the members of a group with a soft rule are, and which of their hosts the rule prefers.

import { isSoft } from '../placement/groups.ts';
import { acceptedAmong, type Ranked, rankedOf } from './picking.ts';
import { before } from './ranking/heap.ts';
import { type Fleet, shapeOf } from './ranking/ranking.ts';
import type { Weighed } from './ranking/weighings.ts';
import type { Request } from './request.ts';
import { membersOn, rootsOf, toldOn } from './view/groups-view.ts';
import { isShardSilent, SILENCE, silenceOf } from './view/silence.ts';

/** Of how many homes one is chosen: a group that is on more of them is neither together nor apart, whatever becomes of one more. */
const MAX_HOMES = 1_024;

/** The hosts that have members of a group with a soft rule. */
export interface SoftHomes {
  /** Whether they come before hosts without a member. */
  readonly first: boolean;
  has(root: string): boolean;
  /** Those that can serve the request and that `skip` does not name, in no order, as far as they are looked at. */
  fitting(): readonly Weighed[];
  /** Whether the rule, and then the rank, puts one before another. */
  isBefore(one: Weighed, other: Weighed): boolean;
}

/** Null where the request has no soft rule. */
export function softHomes(fleet: Fleet, request: Request, skip: (root: string) => boolean): SoftHomes | null {
  const { groups } = fleet.view;
  const group = request.spec.instanceGroup;
  if (group === undefined || !isSoft(group)) return null;
  const first = group.policy === 'soft-affinity';
  const at = first ? request.groupAt : undefined;
  const preferred = request.where?.preferCells;
  const told = (root: string) => toldOn(groups, group.id, root) || Number(root === at);
  const members = (root: string) => membersOn(groups, group.id, root);
  const isPreferred = (cell: string) => Number(preferred?.includes(cell) === true);
  let found: readonly Weighed[] | undefined;
  return {
    first,
    has: (root) => root === at || members(root) > 0,
    fitting() {
      if (found !== undefined) return found;
      const roots = rootsOf(groups, group.id);
      if (at !== undefined && members(at) === 0) roots.push(at);
      found = fittingAmong(fleet, request, roots, skip);
      return found;
    },
    isBefore(one, other) {
      // Where members are comes before where they may come: claims that are refused could draw each other to and fro.
      const byMembers = first
        ? told(other.root) - told(one.root) || members(other.root) - members(one.root)
        : members(one.root) - members(other.root);
      const difference = byMembers || isPreferred(other.cell) - isPreferred(one.cell);
      return difference === 0 ? before(one, other) : difference < 0;
    },
  };
}

/** Of very many those that are heard come first: others are taken only where there is no other. */
function fittingAmong(
  fleet: Fleet,
  request: Request,
  roots: readonly string[],
  skip: (root: string) => boolean,
): readonly Weighed[] {
  const { view } = fleet;
  if (roots.length <= MAX_HOMES || (view.silentCells.size === 0 && view.silentShards.size === 0)) {
    return acceptedAmong(fleet, request, roots, skip, MAX_HOMES);
  }
  const isHeard = (root: string) =>
    silenceOf(view, view.hosts.get(root)?.cell ?? '', isShardSilent(view, root)) === SILENCE.ofNobody;
  const heard = acceptedAmong(fleet, request, roots, (root) => skip(root) || !isHeard(root), MAX_HOMES);
  const others = MAX_HOMES - heard.length;
  return [...heard, ...acceptedAmong(fleet, request, roots, (root) => skip(root) || isHeard(root), others)];
}

/** All that fit, in the order in which the rule prefers them. */
export function homesInOrder(fleet: Fleet, request: Request, homes: SoftHomes): readonly Ranked[] {
  const shape = shapeOf(fleet, request);
  return firstFew(homes.fitting(), Number.POSITIVE_INFINITY, homes.isBefore).map((one) => rankedOf(fleet, shape, one));
}

/** The first few of a list, in order. */
export function firstFew<One>(all: readonly One[], most: number, isBefore: (one: One, other: One) => boolean): One[] {
  if (most >= all.length) return [...all].sort((one, other) => (isBefore(one, other) ? -1 : 1));
  const few: One[] = [];
  for (const one of all) {
    if (few.length === most && !isBefore(one, few[most - 1] as One)) continue;
    let place = few.length;
    while (place > 0 && isBefore(one, few[place - 1] as One)) place -= 1;
    few.splice(place, 0, one);
    if (few.length > most) few.pop();
  }
  return few;
}
