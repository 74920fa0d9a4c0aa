// What a shard holds for changes over several shards that are not decided yet. It counts as used, and nobody sees it: what
// the consumers hold is what they held before, until the coordinator has decided. Meanwhile nothing else is decided for
// what is locked (locks.ts): whoever asks for it waits, or is not answered, and asks again.

import type { Allocation } from '../../machines/instance-build.ts';
import type { Address, Message } from '../actor.ts';
import { Table } from '../table.ts';
import { type ApiRecord, applyApiRecord, type ConsumerRecord, replaceAllocations } from './api-apply.ts';
import { heldBy } from './consumers.ts';
import {
  CLASSES,
  type Keys,
  keysOfConsumers,
  type Locks,
  lock,
  PROVIDERS,
  TRAITS,
  unlock,
  usageTopic,
} from './locks.ts';
import { adjustUse } from './providers.ts';
import type { PlacementState } from './state.ts';

/** How long it is remembered that a transaction is over that nobody asks for by its key, ms: longer than it may wait. */
const REMEMBERED_MS = 120_000;

/** What a part comes to when it is confirmed. */
export interface HeldPart {
  readonly consumers: readonly ConsumerRecord[];
  /** What else changes; with inventories, what the consumers hold is in it too. */
  readonly record?: ApiRecord;
  /** What is locked beside the consumers and what they hold. */
  readonly locks?: Keys;
  /** False: the providers do not count it. */
  readonly counted?: boolean;
  /** Something of it is to be seen in other shards too. */
  readonly wide?: boolean;
  /** Nobody asks for it again by its key. */
  readonly brief?: boolean;
}

export interface Hold extends HeldPart {
  /** What is counted as used beyond what the consumers hold already. */
  readonly extra: readonly Allocation[];
  /** All that it locks. */
  readonly keys: readonly Keys[];
}

interface Lately {
  readonly at: number;
  readonly consumers: readonly string[];
}

/** A message that waits for transactions to be over. */
export interface Parked {
  readonly message: Message;
  readonly from: Address;
  readonly awaits: Set<string>;
}

export interface Holds {
  /** By transaction. */
  readonly open: Map<string, Hold>;
  /** What is locked; follows from `open`. */
  readonly locks: Locks;
  /** Messages that wait; not recorded: who sent one that is lost asks again, or gives up. */
  readonly parked: Parked[];
  /** Consumers of which something is in doubt; follows from `open`. */
  readonly doubtful: Map<string, string>;
  /** Transactions that are over, oldest first: when, ms since the epoch. One that comes late is not held again. */
  readonly ended: Map<string, number>;
  /** The transaction by which each consumer was changed last, of those that are remembered. */
  readonly changedBy: Table<string>;
  /** The brief ones that are over, oldest first, with the consumers that each has changed. */
  readonly lately: OverLately;
  /** The last change over several shards that shows in a listing, by what it lists, oldest first; not recorded. */
  readonly seen: Map<string, { readonly transaction: string; readonly at: number }>;
}

export type HoldRecord =
  | ({ type: 'held'; transaction: string } & HeldPart)
  | { type: 'hold-ended'; transaction: string; confirmed: boolean; at: number; brief?: boolean };

export interface StoredHolds {
  readonly open: readonly [string, HeldPart & { readonly extra: readonly Allocation[] }][];
  readonly ended: readonly [string, number][];
  /** Of snapshots of before it was a table of its own. */
  readonly changedBy?: readonly [string, string][];
}

export type StoredLately = readonly [string, Lately][];

/** The brief transactions that are over, oldest first, with the consumers that each has changed. */
class OverLately extends Table<Lately> {
  #newest = 0;

  constructor() {
    super((over, transaction) => [transaction, over]);
  }

  /** Remembers one from now on. Where clocks differ it counts as over no earlier than those before it. */
  remember(transaction: string, at: number, consumers: readonly string[]): void {
    this.#newest = this.size === 0 ? at : Math.max(at, this.#newest);
    this.set(transaction, { at: this.#newest, consumers });
  }
}

export function noHolds(): Holds {
  return {
    open: new Map(),
    locks: new Map(),
    parked: [],
    doubtful: new Map(),
    ended: new Map(),
    changedBy: new Table((transaction, consumer) => [consumer, transaction]),
    lately: new OverLately(),
    seen: new Map(),
  };
}

/** Whether a transaction is known to be over. */
export function isOver({ ended, lately }: Holds, transaction: string): boolean {
  return ended.has(transaction) || lately.has(transaction);
}

export function applyHold(state: PlacementState, record: HoldRecord): void {
  const { holds } = state;
  const { transaction } = record;
  if (record.type === 'held') {
    const { type: _, transaction: __, ...part } = record;
    return open(state, transaction, { ...part, extra: extraOf(state, part.consumers) });
  }
  const hold = holds.open.get(transaction);
  for (const { awaits } of holds.parked) awaits.delete(transaction);
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
  for (const [topic, before] of seen) {
    if (before.at >= at - REMEMBERED_MS) break;
    seen.delete(topic);
  }
  for (const key of keys) {
    if (!LISTINGS.has(key) && !key.startsWith(usageTopic(''))) continue;
    seen.delete(key);
    seen.set(key, { transaction, at });
  }
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

function forgetLately({ lately, changedBy }: Holds, before: number): void {
  for (const [transaction, { at, consumers }] of lately) {
    if (at >= before) return;
    lately.delete(transaction);
    for (const consumer of consumers) if (changedBy.get(consumer) === transaction) changedBy.delete(consumer);
  }
}

/** Forgets transactions that ended before `before`. */
export function forgetEnded(holds: Holds, before: number): void {
  const { ended, changedBy } = holds;
  forgetLately(holds, before);
  const forgotten = new Set<string>();
  for (const [transaction, at] of ended) {
    if (at >= before) break;
    ended.delete(transaction);
    forgotten.add(transaction);
  }
  if (forgotten.size === 0) return;
  for (const [consumer, transaction] of changedBy) if (forgotten.has(transaction)) changedBy.delete(consumer);
}

export function storeHolds({ open, ended }: Holds): StoredHolds {
  return { open: [...open].map(([transaction, { keys: _, ...hold }]) => [transaction, hold]), ended: [...ended] };
}

/** Puts back what was stored; the providers and what the consumers hold are there already. */
export function restoreHolds(state: PlacementState, stored: StoredHolds): void {
  const { holds } = state;
  for (const [transaction, part] of stored.open) open(state, transaction, part);
  for (const [transaction, at] of stored.ended) holds.ended.set(transaction, at);
  for (const [consumer, transaction] of stored.changedBy ?? []) holds.changedBy.set(consumer, transaction);
}

/** Puts back by what consumers were changed, and which transactions were over lately, oldest first. */
export function restoreChanges(
  { changedBy, lately }: Holds,
  stored: { readonly lately?: StoredLately; readonly changedBy?: readonly [string, string][] },
): void {
  for (const [consumer, transaction] of stored.changedBy ?? []) changedBy.set(consumer, transaction);
  const inOrder = [...(stored.lately ?? [])].sort(([, one], [, other]) => one.at - other.at);
  for (const [transaction, { at, consumers }] of inOrder) lately.remember(transaction, at, consumers);
}
