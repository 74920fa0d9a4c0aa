// Who holds what. A consumer holds allocations by attempt: one home, and during a move the home it is leaving, for as
// long as something may run there. A deleted consumer is remembered, so that a claim that arrives late is refused.

import type { Allocation } from '../../machines/instance-build.ts';
import { Deleted } from '../deleted.ts';
import type { InstanceGroup } from '../messages/common.ts';
import { OF_NO_BUILD, type Refusal } from '../messages/placement.ts';
import { Table } from '../table.ts';
import { noTallies, type Owner, type Tallies } from './tallies.ts';

export interface Held {
  readonly attempt: number;
  readonly allocations: readonly Allocation[];
  /** A caller of the Placement API gave it together with allocations of other shards; a claim takes of one tree. */
  readonly several?: true;
}

export interface Consumer {
  /** The attempt that was decided last; older ones are refused. */
  latest: number;
  held: readonly Held[];
  /** Why `latest` was refused, if it was, so that asked again it gets the same answer. */
  refusal: Refusal | null;
  /** Counts its changes, for callers of the Placement API that compare it. */
  generation: number;
  /** How late among its first claims, or recalls, the one was by which it is known to hold this; see Order. */
  order?: number;
  /** Its home is in another shard: what it holds here was left behind. */
  away?: true;
  /** The group that it is a member of, as its latest granted claim said. */
  group?: InstanceGroup;
  /** When a caller of the Placement API changed it last, ms since the epoch. */
  changedAt?: number;
  /** Who it belongs to, as a caller of the Placement API said. */
  owner?: Owner;
  /** It holds something with other shards too, as a caller of the Placement API had it. */
  several?: true;
}

export interface Consumers {
  readonly holding: Table<Consumer>;
  /** When each deleted consumer was deleted, ms since the epoch, oldest first. */
  readonly deleted: Deleted;
  /** Made of those that hold something; not recorded. */
  readonly tallies: Tallies;
}

export function noConsumers(): Consumers {
  const holding = new Table<Consumer>((consumer, id) => [id, { ...consumer }]);
  return { holding, deleted: new Deleted(), tallies: noTallies() };
}

/** The project and user of a consumer of which nobody said whose it is, as in the reference. */
export const UNKNOWN_OWNER = '00000000-0000-0000-0000-000000000000';

/** Forgets the consumers that were deleted before `before` and hold nothing any more. */
export function forgetDeleted(consumers: Consumers, before: number): void {
  consumers.deleted.forget(before, (consumer) => consumers.holding.has(consumer));
}

/** Whose a consumer is, as far as anybody said. */
export function ownerOf(consumer: Consumer | undefined): Owner {
  return consumer?.owner ?? { project: UNKNOWN_OWNER, user: UNKNOWN_OWNER, consumerType: null };
}

/** What a consumer is: which attempt its home is of, and what it is a member of. */
export type Identity = Pick<Consumer, 'latest' | 'group' | 'away'>;

/**
 * What a consumer is that is given something to hold: as it is known here while it holds something, otherwise as it is
 * said to be by whoever has looked at the other shards.
 */
export function identityOf(
  known: Consumer | undefined,
  { latest = OF_NO_BUILD, group = known?.group }: { readonly latest?: number; readonly group?: InstanceGroup },
): Identity {
  if (known !== undefined && known.held.length > 0) return known;
  const identity = { latest: Math.max(latest, known?.latest ?? OF_NO_BUILD) };
  return group === undefined ? identity : { ...identity, group };
}

/** All that a consumer holds, of whatever attempt. */
export function heldBy(consumer: Consumer | undefined): Allocation[] {
  return (consumer?.held ?? []).flatMap(({ allocations }) => [...allocations]);
}
