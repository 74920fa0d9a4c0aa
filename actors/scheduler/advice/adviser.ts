// The adviser of a request that no host fits: what it knows of the request and of hosts, and what it has noted, host by
// host, of what each change would let fit.

import type { RequestSpec } from '../../messages/common.ts';
import type { Provider } from '../../placement/providers.ts';
import type { GroupSoFar } from '../group-rules.ts';
import type { AdviserOnAmounts } from './amounts.ts';
import { type Change, type Changes, newChanges } from './changes.ts';
import type { ToEmpty } from './empty.ts';
import type { AdviserOnLimits, Limiters } from './limits.ts';
import type { Away, Parts } from './lists.ts';
import { add, MAX_LOOKS_AT_ROOMS, noRoom, type Room, rootOfTree, silencedOf } from './rooms.ts';

export interface Adviser extends AdviserOnAmounts, AdviserOnLimits {
  readonly group: GroupSoFar;
  /** Whether some instance must stay on a host, by its root, for the request's own sake. */
  readonly mustStay: (root: string) => boolean;
  /** What each change that is not of an amount would let fit. */
  readonly rooms: Map<string, RoomWith>;
  /** What may be left out of the request; null: it was not asked yet. */
  changes: Changes | null;
  /** Some host would hold all instances, if the group that they keep together with had no members elsewhere. */
  holdsNewGroup: boolean;
  /** The trees of hosts that only filters of a deployment's own refuse: they may let a changed request have them. */
  readonly heldBack: (readonly Provider[])[];
  /** There are more of those than are kept. */
  isMoreHeldBack: boolean;
  /** What it has advised. */
  readonly advised: Set<string>;
}

export interface RoomWith {
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

export function newAdviser(spec: RequestSpec, count: number, known: Known): Adviser {
  const found = {
    rooms: new Map(),
    amounts: new Map(),
    changes: null,
    holdsNewGroup: false,
    heldBack: [],
    isMoreHeldBack: false,
    advised: new Set<string>(),
  };
  const budget = { isCut: false, looksLeft: MAX_LOOKS_AT_ROOMS };
  return { spec, count, ...known, ...found, ...budget };
}

/** They are tried on host after host, and are the same for each. A request that waits is kept for long, and without them. */
export function changesOf(adviser: Adviser): Changes {
  adviser.changes ??= newChanges(adviser.spec);
  return adviser.changes;
}

export function note(adviser: Adviser, change: Change, times: number, tree: readonly Provider[]): void {
  const { room, toAsk } = roomWith(adviser, change);
  add(room, times, silencedOf(adviser, tree));
  if (adviser.letBy !== undefined && change.changed !== undefined) toAsk.push({ root: rootOfTree(tree), times });
}

export const nothingMore = (): Pick<RoomWith, 'parts' | 'away' | 'limiters' | 'toEmpty' | 'toAsk'> => ({
  parts: new Map(),
  away: [],
  limiters: { aggregates: new Set(), isOwn: false },
  toEmpty: [],
  toAsk: [],
});

/** What is known so far of what a change would let fit. */
export function roomWith({ rooms }: Adviser, change: Change): RoomWith {
  const key = changeKey(change);
  let found = rooms.get(key);
  if (found === undefined) {
    found = { change, room: noRoom(), ...nothingMore() };
    rooms.set(key, found);
  }
  return found;
}

export const changeKey = ({ advice: { code, group, groups, about, failed, to } }: Change): string =>
  `${code} ${group} ${groups} ${about} ${failed} ${to}`;
