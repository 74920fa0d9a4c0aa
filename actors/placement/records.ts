// What placement shards journal. How each record changes a shard is in apply.ts.

import type { Allocation } from '../../machines/instance-build.ts';
import type { InstanceGroup } from '../messages/common.ts';
import type { ProviderSpec, Refusal } from '../messages/placement.ts';
import type { ApiInventories, MovingProvider } from '../messages/placement-api.ts';
import type { GroupHomeRecord } from './group-homes.ts';
import type { Keys } from './locks.ts';
import type { Owner } from './tallies.ts';
import type { TransactionRecord } from './transactions.ts';

export type PlacementRecord =
  /** `keepsOthers`: what others have set stays; records without it are of before that was so. */
  | { type: 'tree'; providers: readonly ProviderSpec[]; keepsOthers?: true }
  | {
      type: 'claimed';
      consumer: string;
      attempt: number;
      keep: readonly number[];
      allocations: readonly Allocation[];
      group?: InstanceGroup | undefined;
      order?: number | undefined;
    }
  | RecallRecord
  | { type: 'refused'; consumer: string; attempt: number; keep: readonly number[]; refusal: Refusal }
  | {
      type: 'released';
      consumer: string;
      attempt?: number | undefined;
      keep?: readonly number[] | undefined;
      deleted: boolean;
      at: number;
    }
  /**
   * Changes nothing. Whoever is told that nothing is held acts on it, and a shard that was superseded may not have heard
   * of the claim: its journal refuses the record, and the answer never leaves.
   */
  | { type: 'nothing-held'; consumer: string }
  /** Changes nothing, for the same reason: what is read is put together with what other shards say. */
  | { type: 'read' }
  /** The attempts before this one are given back, but those to keep, and can be claimed no more. */
  | { type: 'moved-away'; consumer: string; before: number; keep: readonly number[] }
  | { type: 'fenced'; consumer: string; order: number; until: number; refusal: Refusal | null }
  | { type: 'forgotten'; before: number }
  | HoldRecord
  | TransactionRecord
  | GroupHomeRecord
  | ApiRecord;

export type RecallRecord =
  /** Whoever makes claims of this order knows what is held. */
  | { type: 'adopted'; consumer: string; order: number }
  | { type: 'unclaimed'; consumer: string; order: number; until: number };

/** What a consumer holds after a change, and whose it is. Without allocations it is gone. */
export interface ConsumerRecord {
  readonly consumer: string;
  readonly allocations: readonly Allocation[];
  readonly owner: Owner;
  /** The generation that it gets; absent: one more than it had. */
  readonly generation?: number;
  /** It holds something with other shards too. */
  readonly several?: boolean;
  /** In the consumer's home shard: with which other shards it holds something. */
  readonly homes?: readonly number[];
  /** What it is, as other shards know it: its latest attempt, and the instance group that it is a member of. */
  readonly latest?: number;
  readonly group?: InstanceGroup;
}

export type ApiRecord =
  | { type: 'provider-created'; id: string; name: string; parent: string | null; at: number }
  /** `keepsOthers`: to the tree that it comes to it is somebody else's; records without it are of before that was so. */
  | { type: 'provider-updated'; id: string; name: string; parent: string | null; at: number; keepsOthers?: true }
  | { type: 'provider-deleted'; id: string }
  /** The parents are told before their children. */
  | { type: 'subtree-left'; ids: readonly string[] }
  | { type: 'subtree-joined'; parent: string; providers: readonly MovingProvider[]; at: number }
  /** What a compute has told of its tree, and no other shard has. */
  | { type: 'tree-grown'; root: string; providers: readonly ProviderSpec[] }
  | { type: 'inventories'; id: string; inventories: ApiInventories; at: number }
  | { type: 'traits'; id: string; traits: readonly string[]; at: number }
  | { type: 'aggregates'; id: string; aggregates: readonly string[]; counted: boolean; at: number }
  | { type: 'class-made'; name: string }
  | { type: 'class-renamed'; name: string; to: string }
  | { type: 'class-removed'; name: string }
  | { type: 'trait-made'; name: string }
  | { type: 'trait-removed'; name: string }
  /** `counted`: the providers that it names count a change, as the reference does but for a plain deletion. */
  | { type: 'allocated'; consumers: readonly ConsumerRecord[]; counted: boolean; at: number }
  | {
      type: 'reshaped';
      inventories: readonly { provider: string; inventories: ApiInventories }[];
      consumers: readonly ConsumerRecord[];
      at: number;
    };

/** What a part comes to when it is confirmed. */
export interface HeldPart {
  readonly consumers: readonly ConsumerRecord[];
  /** What else changes; with inventories, what the consumers hold is in it too. */
  readonly record?: ApiRecord;
  /** Ids that are with another shard then. */
  readonly elsewhere?: readonly string[];
  /** What is locked beside the consumers and what they hold. */
  readonly locks?: Keys;
  /** False: the providers do not count it. */
  readonly counted?: boolean;
  /** Something of it is to be seen in other shards too. */
  readonly wide?: boolean;
  /** Nobody asks for it again by its key. */
  readonly brief?: boolean;
}

export type HoldRecord =
  | ({ type: 'held'; transaction: string } & HeldPart)
  | { type: 'hold-ended'; transaction: string; confirmed: boolean; at: number; brief?: boolean };
