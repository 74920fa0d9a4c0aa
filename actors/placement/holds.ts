// What a shard holds for changes over several shards that are not decided yet. It counts as used, and nobody sees it: what
// the consumers hold is what they held before, until the coordinator has decided. Meanwhile nothing else is decided for
// these consumers; whoever asks is not answered, and asks again.

import type { Allocation } from '../../machines/instance-build.ts';
import { type ConsumerRecord, replaceAllocations } from './api-apply.ts';
import { heldBy } from './consumers.ts';
import { adjustUse } from './providers.ts';
import type { PlacementState } from './state.ts';

export interface Hold {
  readonly consumers: readonly ConsumerRecord[];
  /** What is counted as used beyond what the consumers hold already. */
  readonly extra: readonly Allocation[];
}

export interface Holds {
  /** By transaction. */
  readonly open: Map<string, Hold>;
  /** Consumers of which something is in doubt; follows from `open`. */
  readonly doubtful: Map<string, string>;
  /** Transactions that are over, oldest first: when, ms since the epoch. One that comes late is not held again. */
  readonly ended: Map<string, number>;
  /** The transaction by which each consumer was changed last, of those that are remembered. */
  readonly changedBy: Map<string, string>;
}

export type HoldRecord =
  | { type: 'held'; transaction: string; consumers: readonly ConsumerRecord[] }
  | { type: 'hold-ended'; transaction: string; confirmed: boolean; at: number };

export interface StoredHolds {
  readonly open: readonly [string, Hold][];
  readonly ended: readonly [string, number][];
  readonly changedBy: readonly [string, string][];
}

export function noHolds(): Holds {
  return { open: new Map(), doubtful: new Map(), ended: new Map(), changedBy: new Map() };
}

export function applyHold(state: PlacementState, record: HoldRecord): void {
  const { holds } = state;
  const { transaction } = record;
  if (record.type === 'held') {
    const hold = { consumers: record.consumers, extra: extraOf(state, record.consumers) };
    holds.open.set(transaction, hold);
    for (const { consumer } of hold.consumers) holds.doubtful.set(consumer, transaction);
    countUse(state, hold, 1);
    return;
  }
  const hold = holds.open.get(transaction);
  holds.ended.set(transaction, record.at);
  if (hold === undefined) return;
  holds.open.delete(transaction);
  countUse(state, hold, -1);
  for (const { consumer } of hold.consumers) {
    holds.doubtful.delete(consumer);
    if (record.confirmed) holds.changedBy.set(consumer, transaction);
  }
  if (record.confirmed) replaceAllocations(state, hold.consumers, true, record.at);
}

/** By how much more the consumers shall hold of each provider than they do. */
function extraOf({ consumers }: PlacementState, changes: readonly ConsumerRecord[]): Allocation[] {
  const sums = new Map<string, Map<string, number>>();
  const count = (allocations: readonly Allocation[], sign: 1 | -1) => {
    for (const { provider, resources } of allocations) {
      const ofProvider = sums.get(provider) ?? new Map<string, number>();
      sums.set(provider, ofProvider);
      for (const [name, amount] of Object.entries(resources)) {
        ofProvider.set(name, (ofProvider.get(name) ?? 0) + sign * amount);
      }
    }
  };
  for (const { consumer, allocations } of changes) {
    count(allocations, 1);
    count(heldBy(consumers.holding.get(consumer)), -1);
  }
  return [...sums].flatMap(([provider, ofProvider]) => {
    const resources = Object.fromEntries([...ofProvider].filter(([, amount]) => amount > 0));
    return Object.keys(resources).length === 0 ? [] : [{ provider, group: '', resources }];
  });
}

function countUse({ providers, untold }: PlacementState, { extra }: Hold, sign: 1 | -1): void {
  for (const { provider: id, resources } of extra) {
    const provider = providers.get(id);
    if (provider === undefined) continue;
    adjustUse(provider, resources, sign);
    provider.generation += 1;
    provider.quiet += 1;
    untold.used.add(id);
  }
}

/** Forgets transactions that ended before `before`. */
export function forgetEnded({ ended, changedBy }: Holds, before: number): void {
  const forgotten = new Set<string>();
  for (const [transaction, at] of ended) {
    if (at >= before) break;
    ended.delete(transaction);
    forgotten.add(transaction);
  }
  if (forgotten.size === 0) return;
  for (const [consumer, transaction] of changedBy) if (forgotten.has(transaction)) changedBy.delete(consumer);
}

export function storeHolds({ open, ended, changedBy }: Holds): StoredHolds {
  return { open: [...open], ended: [...ended], changedBy: [...changedBy] };
}

/** Puts back what was stored; the providers and what the consumers hold are there already. */
export function restoreHolds(state: PlacementState, stored: StoredHolds): void {
  const { holds } = state;
  for (const [transaction, hold] of stored.open) {
    holds.open.set(transaction, hold);
    for (const { consumer } of hold.consumers) holds.doubtful.set(consumer, transaction);
    countUse(state, hold, 1);
  }
  for (const [transaction, at] of stored.ended) holds.ended.set(transaction, at);
  for (const [consumer, transaction] of stored.changedBy) holds.changedBy.set(consumer, transaction);
}
