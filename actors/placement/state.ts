// What a placement shard owns, and how its records change it: the one account of its state, live and on replay.

import type { Allocation } from '../../machines/instance-build.ts';
import type { InstanceGroup } from '../messages/common.ts';
import type { Inventory, ProviderSpec, Refusal } from '../messages/placement.ts';
import { PassingSet } from '../passing-set.ts';
import { type Snapshot, snapshotOf } from '../snapshot.ts';
import { rowsOf, Table } from '../table.ts';
import { type ApiRecord, applyApiRecord } from './api-apply.ts';
import { type Catalog, emptyCatalog, learnNames } from './catalog.ts';
import { type Consumer, type Consumers, forgetDeleted, giveBack, noConsumers, take } from './consumers.ts';
import { type Fence, type Fences, forgetFences } from './fences.ts';
import {
  applyGroupHome,
  type GroupHomeRecord,
  type GroupHomes,
  noGroupHomes,
  restoreGroupHomes,
  type StoredGroupHomes,
  storeGroupHomes,
} from './group-homes.ts';
import { emptyGroups, type Groups, locate } from './groups.ts';
import {
  applyHold,
  forgetEnded,
  type HoldRecord,
  type Holds,
  noHolds,
  restoreChanges,
  restoreHolds,
  type StoredHolds,
  type StoredLately,
  storeHolds,
} from './holds.ts';
import { emptyIndexes, type Indexes, install } from './indexes.ts';
import { makeProvider, type Provider, type Providers, restoreUntold, untoldInventories } from './providers.ts';
import { applyRecall, type RecallRecord } from './recalling.ts';
import { applyTree } from './told-trees.ts';
import {
  applyTransaction,
  forgetSettled,
  noTransactions,
  restoreTransactions,
  type StoredTransactions,
  storeTransactions,
  type TransactionRecord,
  type Transactions,
} from './transactions.ts';

export type PlacementRecord =
  | { type: 'tree'; providers: readonly ProviderSpec[] }
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

export interface PlacementState {
  readonly providers: Providers;
  /** The ids of each tree, by root, the root first. */
  readonly trees: Map<string, readonly string[]>;
  readonly consumers: Consumers;
  /** Up to which order first claims of consumers are void. */
  readonly fences: Fences;
  /** Parts of changes over several shards that are held here. */
  readonly holds: Holds;
  /** Of consumers whose home shard this is: with which other shards they hold something. */
  readonly homes: Table<readonly number[]>;
  /** Changes over several shards that are coordinated here. */
  readonly transactions: Transactions;
  /** Where the members of instance groups are. Made of the consumers; not recorded. */
  readonly groups: Groups;
  /** With which shard each group is that keeps together, where there are several. */
  readonly groupHomes: GroupHomes;
  /** The resource classes and traits beyond the standard ones. */
  readonly catalog: Catalog;
  /** Made of the providers; not recorded. */
  readonly indexes: Indexes;
  /** What the feed has still to tell of this turn; not recorded. */
  readonly untold: { readonly changed: Set<string>; readonly used: Set<string>; readonly removed: Set<string> };
  /** The numbering of the feed in this life of the shard; not recorded. */
  readonly feed: { epoch: number; sequence: number };
}

export interface StoredPlacement {
  providers: {
    spec: ProviderSpec;
    root: string;
    generation: number;
    quiet?: number;
    changedAt?: number;
    untold: [string, Inventory][];
  }[];
  /** Absent in what was stored before there was a catalog. */
  catalog?: { classes: string[]; traits: string[] };
  trees: [string, readonly string[]][];
  holding: [string, Consumer][];
  deleted: [string, number][];
  /** Absent when there are none, as in what was stored before there were several shards. */
  fences?: [string, Fence][];
  holds?: StoredHolds;
  homes?: [string, readonly number[]][];
  lately?: StoredLately;
  changedBy?: [string, string][];
  transactions?: StoredTransactions;
  groupHomes?: StoredGroupHomes;
}

export function emptyPlacement(): PlacementState {
  return {
    providers: new Map(),
    trees: new Map(),
    consumers: noConsumers(),
    fences: new Map(),
    holds: noHolds(),
    homes: new Table((shards, id) => [id, shards]),
    transactions: noTransactions(),
    groups: emptyGroups(),
    groupHomes: noGroupHomes(),
    catalog: emptyCatalog(),
    indexes: emptyIndexes(),
    untold: { changed: new PassingSet(), used: new PassingSet(), removed: new PassingSet() },
    feed: { epoch: 0, sequence: 0 },
  };
}

export function applyToPlacement(state: PlacementState, record: PlacementRecord): void {
  const { providers, consumers, untold } = state;
  // Whatever is about one consumer may change it.
  if ('consumer' in record) consumers.holding.touch(record.consumer);
  switch (record.type) {
    case 'tree':
      return applyTree(state, record.providers);
    case 'claimed': {
      const consumer = decided(state, record);
      take(consumer, record.attempt, record.allocations, providers, untold.used);
      if (state.fences.size > 0) state.fences.delete(record.consumer);
      if (record.group !== undefined) consumer.group = record.group;
      else delete consumer.group;
      if (record.order !== undefined) consumer.order = record.order;
      return locate(state, record.consumer);
    }
    case 'adopted':
    case 'unclaimed':
      return applyRecall(state, record);
    case 'refused':
      decided(state, record).refusal = record.refusal;
      return locate(state, record.consumer);
    case 'released': {
      const consumer = consumers.holding.get(record.consumer);
      if (consumer !== undefined) {
        const { attempt, keep } = record;
        const drop = attempt === undefined ? (one: number) => !keep?.includes(one) : (one: number) => one === attempt;
        giveBack(consumer, drop, providers, untold.used);
        consumer.generation += 1;
        locate(state, record.consumer);
        if (record.deleted && consumer.held.length === 0) consumers.holding.delete(record.consumer);
        if (consumers.deleted.has(record.consumer) && consumer.held.length === 0) {
          consumers.holding.delete(record.consumer);
        }
      }
      if (record.deleted && !consumers.deleted.has(record.consumer))
        consumers.deleted.remember(record.consumer, record.at);
      if (record.deleted && state.fences.size > 0) state.fences.delete(record.consumer);
      if (record.deleted && state.homes.size > 0) state.homes.delete(record.consumer);
      return;
    }
    case 'nothing-held':
    case 'read':
      return;
    case 'moved-away':
      return moveAway(state, record);
    case 'fenced':
      state.fences.set(record.consumer, { order: record.order, until: record.until, refusal: record.refusal });
      return;
    case 'forgotten':
      forgetFences(state.fences, record.before);
      forgetEnded(state.holds, record.before);
      forgetSettled(state.transactions, record.before);
      return forgetDeleted(consumers, record.before);
    case 'held':
    case 'hold-ended':
      return applyHold(state, record);
    case 'transaction-opened':
    case 'transaction-decided':
    case 'transaction-settled':
    case 'transaction-unknown':
      return applyTransaction(state.transactions, record);
    case 'group-asked':
    case 'group-given':
    case 'group-dropped':
      return applyGroupHome(state, record);
    default:
      return applyApiRecord(state, record);
  }
}

/** The consumer of a claim that was decided just now, with what the claim gave back gone. */
function decided(
  { consumers, providers, untold }: PlacementState,
  claim: { consumer: string; attempt: number; keep: readonly number[] },
): Consumer {
  let consumer = consumers.holding.get(claim.consumer);
  if (consumer === undefined) {
    consumer = { latest: claim.attempt, held: [], refusal: null, generation: 1 };
    consumers.holding.set(claim.consumer, consumer);
    return consumer;
  }
  giveBack(consumer, (attempt) => !claim.keep.includes(attempt), providers, untold.used);
  consumer.latest = claim.attempt;
  consumer.generation += 1;
  consumer.refusal = null;
  delete consumer.away;
  delete consumer.order;
  return consumer;
}

/** The consumer has its home in another shard from this attempt on; here it keeps what may still run. */
function moveAway(
  state: PlacementState,
  { consumer: id, before, keep }: { consumer: string; before: number; keep: readonly number[] },
): void {
  const { consumers, providers, untold } = state;
  let consumer = consumers.holding.get(id);
  if (consumer === undefined) {
    consumer = { latest: 0, held: [], refusal: null, generation: 0 };
    consumers.holding.set(id, consumer);
  }
  giveBack(consumer, (attempt) => attempt < before && !keep.includes(attempt), providers, untold.used);
  consumer.generation += 1;
  if (consumer.latest < before) consumer.away = true;
  if (consumer.latest < before - 1) {
    consumer.latest = before - 1;
    consumer.refusal = null;
  }
  locate(state, id);
}

export function storePlacement(state: PlacementState): Snapshot {
  const { providers, trees, consumers, catalog, fences, holds, homes, transactions, groupHomes } = state;
  return snapshotOf(
    {
      catalog: { classes: [...catalog.classes], traits: [...catalog.traits] },
      ...(fences.size === 0 ? {} : { fences: [...fences] }),
      ...(holds.open.size + holds.ended.size === 0 ? {} : { holds: storeHolds(holds) }),
      ...(transactions.count === 0 ? {} : { transactions: storeTransactions(transactions) }),
      ...(groupHomes.count === 0 ? {} : { groupHomes: storeGroupHomes(groupHomes) }),
    },
    {
      providers: rowsOf([...providers.values()].map(storeProvider)),
      trees: rowsOf([...trees]),
      holding: consumers.holding.capture(),
      deleted: consumers.deleted.capture(),
      ...(homes.size === 0 ? {} : { homes: homes.capture() }),
      ...(holds.lately.size === 0 ? {} : { lately: holds.lately.capture() }),
      ...(holds.changedBy.size === 0 ? {} : { changedBy: holds.changedBy.capture() }),
    },
  );
}

function storeProvider(provider: Provider): StoredPlacement['providers'][number] {
  const { spec, root, generation, quiet, changedAt } = provider;
  return { spec, root, generation, quiet, changedAt, untold: untoldInventories(provider) };
}

export function restorePlacement(stored: StoredPlacement): PlacementState {
  const { providers, trees, holding, deleted } = stored;
  const state = emptyPlacement();
  for (const name of stored.catalog?.classes ?? []) state.catalog.classes.add(name);
  for (const name of stored.catalog?.traits ?? []) state.catalog.traits.add(name);
  for (const { spec, root, untold } of providers) {
    const provider = makeProvider(spec, root);
    restoreUntold(provider, untold);
    install(state, provider);
    learnNames(state.catalog, spec);
  }
  for (const [root, ids] of trees) state.trees.set(root, ids);
  for (const [id, consumer] of holding) {
    if (state.consumers.holding.has(id)) continue;
    state.consumers.holding.set(id, { ...consumer, held: [], generation: consumer.generation ?? 1 });
    const restored = state.consumers.holding.get(id) as Consumer;
    for (const { attempt, allocations } of consumer.held) {
      take(restored, attempt, allocations, state.providers, state.untold.used);
    }
    locate(state, id);
  }
  state.consumers.deleted.restore(deleted);
  if (stored.holds !== undefined) restoreHolds(state, stored.holds);
  restoreChanges(state.holds, stored);
  if (stored.transactions !== undefined) restoreTransactions(state.transactions, stored.transactions);
  if (stored.groupHomes !== undefined) restoreGroupHomes(state.groupHomes, stored.groupHomes);
  for (const [id, homes] of stored.homes ?? []) state.homes.set(id, homes);
  for (const [id, fence] of stored.fences ?? []) state.fences.set(id, fence);
  for (const { spec, generation, quiet = 0, changedAt = 0 } of providers) {
    Object.assign(state.providers.get(spec.id) as Provider, { generation, quiet, changedAt });
  }
  return state;
}
