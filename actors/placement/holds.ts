// What a shard holds for changes over several shards that are not decided yet. It counts as used, and nobody sees it: what
// the consumers hold is what they held before, until the coordinator has decided. Meanwhile nothing else is decided for
// what is locked (lock-keys.ts): whoever asks for it waits, or is not answered, and asks again.

import type { Allocation } from '../../machines/instance-build.ts';
import type { Address, Message } from '../actor.ts';
import { olderThan, WRONG_BY_MS } from '../deleted.ts';
import { Table } from '../table.ts';
import type { Keys, Locks } from './locks.ts';
import type { HeldPart } from './records.ts';

/** How long it is remembered that a transaction is over that nobody asks for by its key, ms: longer than it may wait. */
export const REMEMBERED_MS = 120_000;

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
  /** Whether one of them may wait for nothing any more; not recorded. */
  isAnyReady: boolean;
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

  /**
   * Remembers one from now on. Where clocks differ it counts as over no earlier than those before it; but if those were over
   * by a clock that was wrong they count as over now.
   */
  remember(transaction: string, at: number, consumers: readonly string[]): void {
    if (this.#newest - at > WRONG_BY_MS) this.#setRight(at);
    this.#newest = this.size === 0 ? at : Math.max(at, this.#newest);
    this.set(transaction, { at: this.#newest, consumers });
  }

  #setRight(now: number): void {
    this.#newest = now;
    for (const [transaction, { at, consumers }] of this) if (at > now) this.set(transaction, { at: now, consumers });
  }
}

export function noHolds(): Holds {
  return {
    open: new Map(),
    locks: new Map(),
    parked: [],
    isAnyReady: false,
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

/** Forgets brief ones that were over before `before`. */
export function forgetLately({ lately, changedBy }: Holds, before: number): void {
  for (const [transaction, { consumers }] of olderThan(lately, ([, { at }]) => at, before)) {
    lately.delete(transaction);
    for (const consumer of consumers) if (changedBy.get(consumer) === transaction) changedBy.delete(consumer);
  }
}

/** Forgets transactions that ended before `before`. */
export function forgetEnded(holds: Holds, before: number): void {
  const { ended, changedBy } = holds;
  forgetLately(holds, before);
  const forgotten = new Set<string>();
  for (const [transaction] of olderThan(ended, ([, at]) => at, before)) {
    ended.delete(transaction);
    forgotten.add(transaction);
  }
  if (forgotten.size === 0) return;
  for (const [consumer, transaction] of changedBy) if (forgotten.has(transaction)) changedBy.delete(consumer);
}

export function storeHolds({ open, ended }: Holds): StoredHolds {
  return { open: [...open].map(([transaction, { keys: _, ...hold }]) => [transaction, hold]), ended: [...ended] };
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
