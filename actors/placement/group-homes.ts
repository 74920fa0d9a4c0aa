// What a shard knows of groups that keep together, where there are several shards (see group-keeping.ts).

import type { Address } from '../actor.ts';
import type { Claim } from '../messages/placement.ts';

/** With which shard a group is. */
interface GroupHome {
  readonly shard: number;
  /** Counts up with everything that the keeper ever gave: an answer to an earlier question is known by it. */
  readonly number: number;
  /** When it was given, ms since the epoch. */
  readonly at: number;
}

interface WaitingClaim {
  readonly claim: Claim;
  readonly from: Address;
}

export interface GroupHomes {
  /** Of what this shard has numbered: never twice the same, in no life. */
  count: number;
  /** As keeper: the groups that are with a shard. */
  readonly kept: Map<string, GroupHome>;
  /** As keeper: groups that a shard is asked to leave, and who wants them, with the tokens; not recorded. */
  readonly leaving: Map<string, { readonly number: number; readonly wanted: Map<Address, number> }>;
  /** The groups that this shard was told are its own, in this life, and has not left; not recorded. */
  readonly own: Set<string>;
  /** Claims that wait until the keeper has said whose a group is; not recorded. */
  readonly asking: Map<string, { token: number; readonly claims: Map<string, WaitingClaim> }>;
  /** As keeper: the groups that the sweep under way has still to come to; null: none is under way. Not recorded. */
  unswept: Iterator<[string, GroupHome]> | null;
}

export type GroupHomeRecord =
  | { type: 'group-asked'; group: string }
  | { type: 'group-given'; group: string; shard: number; at: number }
  | { type: 'group-dropped'; group: string };

export interface StoredGroupHomes {
  readonly count: number;
  readonly kept: readonly [string, GroupHome][];
}

export function noGroupHomes(): GroupHomes {
  return { count: 0, kept: new Map(), leaving: new Map(), own: new Set(), asking: new Map(), unswept: null };
}

export function applyGroupHome(groupHomes: GroupHomes, record: GroupHomeRecord): void {
  if (record.type === 'group-dropped') {
    groupHomes.kept.delete(record.group);
    return;
  }
  groupHomes.count += 1;
  if (record.type === 'group-asked') return;
  const { group, shard, at } = record;
  groupHomes.kept.set(group, { shard, number: groupHomes.count, at });
}

export function storeGroupHomes({ count, kept }: GroupHomes): StoredGroupHomes {
  return { count, kept: [...kept] };
}

export function restoreGroupHomes(homes: GroupHomes, { count, kept }: StoredGroupHomes): void {
  homes.count = count;
  for (const [group, home] of kept) homes.kept.set(group, home);
}
