// The transactions that a shard coordinates, and how records change them. Each is known before anybody is asked to hold,
// so that whatever dies, the next life goes on with it: it decides once, and tells everybody until all have done so.

import type { Address, SteadyTime } from '../actor.ts';
import { olderThan } from '../deleted.ts';
import type { ApiRefusal } from '../messages/placement-api.ts';
import type { Part, PartContent } from '../messages/transactions.ts';

export interface Transaction {
  readonly id: string;
  readonly key: string;
  /** Who waits for the answer, and by which number. */
  readonly from: Address;
  readonly ask: number;
  /** In the order of the shards. */
  readonly parts: readonly Part[];
  /** When it began, ms since the epoch. */
  readonly at: number;
  /** It is answered when it is settled, and forgotten then. */
  readonly brief?: true;
  /** How long it may take until it is decided, ms. */
  readonly withinMs?: number;
  /** Null: not decided. */
  outcome: Outcome | null;
  /** All shards have done what was decided. */
  settled: boolean;
  /** How far this life has come with it; not recorded. */
  readonly pursuit: Pursuit;
}

interface Pursuit {
  /** The shards that hold their part, and those that have ended it. */
  readonly held: Set<number>;
  readonly ended: Set<number>;
  /** Who waits for the answer has it. */
  answered: boolean;
  /** How often it was asked for what is owed now. */
  repeats: number;
  /** When it is refused if it is not decided; null: it was not taken up in this life yet. */
  endsAt: SteadyTime | null;
}

export type Outcome = { readonly confirmed: true } | { readonly confirmed: false; readonly refusal: ApiRefusal };

/** What a compute has told of its tree that comes in by a change. */
export type Newcomers = Required<PartContent>['comes'];

export function comingBy({ parts }: Pick<Transaction, 'parts'>): Newcomers | undefined {
  return parts.find(({ comes }) => comes !== undefined)?.comes;
}

export interface Transactions {
  /** How many there ever were: the number of the last one. */
  count: number;
  /** By id, oldest first; those that are settled are kept for a while, for whoever asks again. */
  readonly known: Map<string, Transaction>;
  readonly byKey: Map<string, string>;
  /** By root, those by which something comes into a told tree; follows from `known`. */
  readonly coming: Map<string, Set<string>>;
}

export type TransactionRecord =
  | {
      type: 'transaction-opened';
      id: string;
      key: string;
      from: Address;
      ask: number;
      parts: readonly Part[];
      at: number;
      brief?: true;
      withinMs?: number;
    }
  | { type: 'transaction-decided'; id: string; outcome: Outcome }
  | { type: 'transaction-settled'; id: string }
  /** Nothing changes; but a shard that was superseded, which may never have heard of it, cannot record it. */
  | { type: 'transaction-unknown'; id: string };

type Stored = Omit<Transaction, 'pursuit'>;
export interface StoredTransactions {
  readonly count: number;
  readonly known: readonly Stored[];
}

export function noTransactions(): Transactions {
  return { count: 0, known: new Map(), byKey: new Map(), coming: new Map() };
}

export function applyTransaction(transactions: Transactions, record: TransactionRecord): void {
  const { known } = transactions;
  switch (record.type) {
    case 'transaction-opened': {
      const { type: _, ...facts } = record;
      transactions.count += 1;
      return keep(transactions, { ...facts, outcome: null, settled: false });
    }
    case 'transaction-decided':
      (known.get(record.id) as Transaction).outcome = record.outcome;
      return;
    case 'transaction-settled': {
      const transaction = known.get(record.id) as Transaction;
      transaction.settled = true;
      if (transaction.brief === true) forget(transactions, transaction);
      return;
    }
    case 'transaction-unknown':
      return;
  }
}

function newPursuit(): Pursuit {
  return { held: new Set(), ended: new Set(), answered: false, repeats: 0, endsAt: null };
}

function keep({ known, byKey, coming }: Transactions, stored: Stored): void {
  const { id, key } = stored;
  known.set(id, { ...stored, pursuit: newPursuit() });
  byKey.set(key, id);
  const root = comingBy(stored)?.root;
  if (root !== undefined) coming.set(root, (coming.get(root) ?? new Set()).add(id));
}

function forget({ known, byKey, coming }: Transactions, transaction: Transaction): void {
  const { id, key } = transaction;
  known.delete(id);
  if (byKey.get(key) === id) byKey.delete(key);
  const root = comingBy(transaction)?.root ?? '';
  const ofRoot = coming.get(root);
  ofRoot?.delete(id);
  if (ofRoot?.size === 0) coming.delete(root);
}

/** Forgets those that are settled and began before `before`. */
export function forgetSettled(transactions: Transactions, before: number): void {
  for (const [, transaction] of olderThan(transactions.known, ([, { at }]) => at, before)) {
    if (transaction.settled) forget(transactions, transaction);
  }
}

export function storeTransactions({ count, known }: Transactions): StoredTransactions {
  return { count, known: [...known.values()].map(({ pursuit: _, ...stored }) => stored) };
}

export function restoreTransactions(transactions: Transactions, { count, known }: StoredTransactions): void {
  transactions.count = count;
  for (const stored of known) keep(transactions, stored);
}
