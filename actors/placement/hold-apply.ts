// How what a shard holds for undecided changes begins and ends, and counts meanwhile.

import type { Allocation } from '../../machines/instance-build.ts';
import { addAllocations, type Sums } from '../amounts.ts';
import { olderThan } from '../deleted.ts';
import { applyApiRecord, replaceAllocations } from './api/apply.ts';
import { heldBy } from './consumers.ts';
import { noteElsewhere } from './elsewhere.ts';
import { forgetLately, type Hold, type Holds, REMEMBERED_MS, type StoredHolds } from './holds.ts';
import { CLASSES, keysOfConsumers, PROVIDERS, TRAITS, usageTopic } from './lock-keys.ts';
import { lock, unlock } from './locks.ts';
import { adjustUse, noteQuietly } from './providers.ts';
import type { ConsumerRecord, HoldRecord } from './records.ts';
import type { PlacementState } from './state.ts';

export function applyHold(state: PlacementState, record: HoldRecord): void {
  const { holds } = state;
  const { transaction } = record;
  if (record.type === 'held') {
    const { type: _, transaction: __, ...part } = record;
    return open(state, transaction, { ...part, extra: extraOf(state, part.consumers) });
  }
  const hold = holds.open.get(transaction);
  for (const { awaits } of holds.parked) {
    if (awaits.delete(transaction) && awaits.size === 0) holds.isAnyReady = true;
  }
  if (record.brief === true) forgetLately(holds, record.at - REMEMBERED_MS);
  else holds.ended.set(transaction, record.at);
  if (hold === undefined) {
    if (record.brief === true) holds.lately.remember(transaction, record.at, []);
    return;
  }
  holds.open.delete(transaction);
  for (const keys of hold.keys) unlock(holds.locks, transaction, keys);
  countUse(state, hold, -1);
  const changed = hold.consumers.map(({ consumer }) => consumer);
  for (const consumer of changed) {
    holds.doubtful.delete(consumer);
    if (record.confirmed) holds.changedBy.set(consumer, transaction);
  }
  if (record.brief === true) holds.lately.remember(transaction, record.at, changed);
  if (!record.confirmed) return;
  if (hold.elsewhere !== undefined) noteElsewhere(state.elsewhere, hold.elsewhere);
  for (const { shared } of hold.keys) note(holds, shared, transaction, record.at);
  if (hold.record !== undefined) applyApiRecord(state, hold.record);
  else replaceAllocations(state, hold.consumers, hold.counted ?? true, record.at);
}

function open(state: PlacementState, transaction: string, part: Omit<Hold, 'keys'>): void {
  const { holds } = state;
  const ofConsumers = keysOfConsumers(state, part.consumers, part.wide ?? false);
  const hold = { ...part, keys: part.locks === undefined ? [ofConsumers] : [ofConsumers, part.locks] };
  holds.open.set(transaction, hold);
  for (const { consumer } of hold.consumers) holds.doubtful.set(consumer, transaction);
  for (const keys of hold.keys) lock(holds.locks, transaction, keys);
  countUse(state, hold, 1);
}

const LISTINGS = new Set([CLASSES, TRAITS, PROVIDERS]);

/** Notes in which listings a change shows, for as long as somebody may have begun to list before it. */
function note({ seen }: Holds, keys: readonly string[], transaction: string, at: number): void {
  for (const [topic] of olderThan(seen, ([, before]) => before.at, at - REMEMBERED_MS)) seen.delete(topic);
  for (const key of keys) {
    if (!LISTINGS.has(key) && !key.startsWith(usageTopic(''))) continue;
    seen.delete(key);
    seen.set(key, { transaction, at });
  }
}

/** By how much more the consumers shall hold of each provider than they do. */
function extraOf({ consumers }: PlacementState, changes: readonly ConsumerRecord[]): Allocation[] {
  const sums: Sums = new Map();
  for (const { consumer, allocations } of changes) {
    addAllocations(sums, allocations, 1);
    addAllocations(sums, heldBy(consumers.holding.get(consumer)), -1);
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
    noteQuietly(providers, provider, untold.used);
  }
}

/** Puts back what was stored; the providers and what the consumers hold are there already. */
export function restoreHolds(state: PlacementState, stored: StoredHolds): void {
  const { holds } = state;
  for (const [transaction, part] of stored.open) open(state, transaction, part);
  for (const [transaction, at] of stored.ended) holds.ended.set(transaction, at);
  for (const [consumer, transaction] of stored.changedBy ?? []) holds.changedBy.set(consumer, transaction);
}
