// Decides changes over several shards: as the coordinator of those that this shard was asked for, and as one of the shards
// that hold a part. The coordinator asks the shards one after the other, in the order of their numbers, and a shard holds
// one change of a consumer at a time: so two changes never wait for each other, and none is refused for the other's sake.

import type { Address } from '../actor.ts';
import { type Patience, waitMs } from '../builds.ts';
import type { AnyMessage } from '../messages/any.ts';
import type { PlacementMessage } from '../messages/placement.ts';
import type { ApiRefusal, PlacementApiMessage } from '../messages/placement-api.ts';
import type { Part, TransactionMessage, TransactionMessageOf } from '../messages/transactions.ts';
import { placementAddress } from '../routing.ts';
import { decideConsumers } from './api-allocations.ts';
import { answer } from './api-answer.ts';
import { refused } from './api-refusals.ts';
import { heldBy } from './consumers.ts';
import type { PlacementState } from './state.ts';
import type { Outcome, Transaction } from './transactions.ts';
import type { ShardWork } from './work.ts';

/** How long a change may wait for its turn and for shards that are away, ms; then it is refused, and held by nobody. */
const DECIDED_WITHIN_MS = 30_000;
const PATIENCE: Patience = { firstMs: 200, mostMs: 2_000 };

const wakeOf = (id: string): string => `transaction ${id}`;
export const isTransactionWake = (wake: string): boolean => wake.startsWith('transaction ');

export function takeTransaction(work: ShardWork, message: TransactionMessage, from: Address): void {
  switch (message.type) {
    case 'change-together':
      return open(work, message, from);
    case 'hold':
      return hold(work, message, from);
    case 'held':
      return held(work, message.transaction, from);
    case 'hold-refused':
      return holdRefused(work, message, from);
    case 'end-hold':
      return endHold(work, message, from);
    case 'hold-ended':
      return holdEnded(work, message.transaction, from);
    case 'consumers-read':
      // Nothing changes; but a shard that was superseded, which knows too little, cannot record it, and its answer is lost.
      work.commit({ type: 'read' });
      return answer(from, message.ask, { ok: readOf(work.state, message.consumers) }, work.turn);
  }
}

/** Whether a message is about a consumer of which something is in doubt: it waits until whoever sent it says it again. */
export function isInDoubt({ holds: { doubtful } }: PlacementState, message: { readonly type: string }): boolean {
  const asked = message as PlacementMessage | PlacementApiMessage;
  switch (asked.type) {
    case 'claim':
    case 'recall':
    case 'unclaim':
    case 'release':
    case 'allocations-delete':
      return doubtful.has(asked.consumer);
    case 'allocations-put':
    case 'reshape':
      return asked.consumers.some(({ consumer }) => doubtful.has(consumer));
    case 'class-rename':
      return true;
    default:
      return false;
  }
}

// --- the coordinator

function open(work: ShardWork, asked: TransactionMessageOf<'change-together'>, from: Address): void {
  const { transactions } = work.state;
  const standing = transactions.known.get(transactions.byKey.get(asked.key) ?? '');
  if (standing !== undefined) {
    if (standing.outcome !== null) tell(work, from, asked.ask, standing.outcome);
    return;
  }
  const parts = [...asked.parts].sort((one, other) => one.shard - other.shard);
  const twice = parts.find(({ shard }, position) => parts[position - 1]?.shard === shard);
  if (twice !== undefined) {
    const refusal = refused('bad-parts', `shard ${twice.shard} has two parts of one change`);
    return answer(from, asked.ask, refusal, work.turn);
  }
  const id = `${work.shard}-${transactions.count + 1}`;
  work.commit({
    type: 'transaction-opened',
    id,
    key: asked.key,
    from,
    ask: asked.ask,
    parts,
    at: work.turn.now,
  });
  pursue(work, transactions.known.get(id) as Transaction);
}

/** Does what a transaction owes, and again until all have answered. */
export function pursue(work: ShardWork, transaction: Transaction): void {
  const { id, parts, at, outcome, settled } = transaction;
  if (settled) return;
  if (outcome === null && work.turn.now > at + DECIDED_WITHIN_MS) {
    const message = `not all shards could hold their part within ${DECIDED_WITHIN_MS} ms`;
    return decide(work, transaction, { confirmed: false, ...refusalOf('not-decided', message) });
  }
  if (outcome === null) holdNext(work, transaction);
  else {
    for (const { shard } of parts) {
      if (transaction.ended.has(shard)) continue;
      say(work, shard, { type: 'end-hold', transaction: id, confirmed: outcome.confirmed });
    }
  }
  work.turn.wakeAt(wakeOf(id), work.turn.now + waitMs(PATIENCE, transaction.repeats, id));
  transaction.repeats += 1;
}

function holdNext(work: ShardWork, { id, parts, held: holding, at }: Transaction): void {
  const next = parts.find(({ shard }) => !holding.has(shard)) as Part;
  const { shard, consumers } = next;
  say(work, shard, { type: 'hold', transaction: id, consumers, expiresAt: at + DECIDED_WITHIN_MS });
}

function held(work: ShardWork, id: string, from: Address): void {
  const transaction = work.state.transactions.known.get(id);
  const shard = partOf(transaction, from);
  if (transaction === undefined || transaction.outcome !== null || shard === undefined) return;
  transaction.held.add(shard);
  if (transaction.held.size === transaction.parts.length) return decide(work, transaction, { confirmed: true });
  holdNext(work, transaction);
}

function holdRefused(work: ShardWork, asked: TransactionMessageOf<'hold-refused'>, from: Address): void {
  const transaction = work.state.transactions.known.get(asked.transaction);
  const shard = partOf(transaction, from);
  if (transaction === undefined || transaction.outcome !== null || shard === undefined) return;
  // What it holds it has not refused.
  if (transaction.held.has(shard)) return;
  decide(work, transaction, { confirmed: false, refusal: asked.refusal as ApiRefusal });
}

function decide(work: ShardWork, transaction: Transaction, outcome: Outcome): void {
  work.commit({ type: 'transaction-decided', id: transaction.id, outcome });
  tell(work, transaction.from, transaction.ask, outcome);
  transaction.repeats = 0;
  pursue(work, transaction);
}

function holdEnded(work: ShardWork, id: string, from: Address): void {
  const transaction = work.state.transactions.known.get(id);
  const shard = partOf(transaction, from);
  if (transaction === undefined || transaction.outcome === null || transaction.settled || shard === undefined) return;
  transaction.ended.add(shard);
  if (transaction.ended.size < transaction.parts.length) return;
  work.commit({ type: 'transaction-settled', id });
  work.turn.cancelWake(wakeOf(id));
}

export function wakeTransaction(work: ShardWork, wake: string): void {
  const transaction = work.state.transactions.known.get(wake.slice(wakeOf('').length));
  if (transaction !== undefined) pursue(work, transaction);
}

function partOf(transaction: Transaction | undefined, from: Address): number | undefined {
  return transaction?.parts.find(({ shard }) => placementAddress(shard) === from)?.shard;
}

function tell({ turn }: ShardWork, to: Address, ask: number, outcome: Outcome): void {
  answer(to, ask, outcome.confirmed ? { ok: null } : { refused: outcome.refusal }, turn);
}

function refusalOf(code: ApiRefusal['code'], message: string): { refusal: ApiRefusal } {
  return { refusal: { code, message } };
}

function say({ turn }: ShardWork, shard: number, message: AnyMessage): void {
  turn.send(placementAddress(shard), message);
}

// --- a shard that holds a part

function hold(work: ShardWork, asked: TransactionMessageOf<'hold'>, from: Address): void {
  const { state, turn } = work;
  const { transaction, consumers, expiresAt } = asked;
  const { open: holding, doubtful, ended } = state.holds;
  if (holding.has(transaction)) return turn.send(from, { type: 'held', transaction });
  // One that is over comes late; one that waits for another is asked again.
  if (ended.has(transaction) || consumers.some(({ consumer }) => doubtful.has(consumer))) return;
  const decided =
    turn.now > expiresAt
      ? refused('not-decided', `'${transaction}' came after its coordinator gave up`)
      : decideConsumers(state, consumers, ({ spec }) => spec.inventories);
  if ('refused' in decided) return turn.send(from, { type: 'hold-refused', transaction, refusal: decided.refused });
  work.commit({ type: 'held', transaction, consumers: decided });
  turn.send(from, { type: 'held', transaction });
}

function endHold(work: ShardWork, asked: TransactionMessageOf<'end-hold'>, from: Address): void {
  const { transaction, confirmed } = asked;
  if (!work.state.holds.ended.has(transaction)) {
    work.commit({ type: 'hold-ended', transaction, confirmed, at: work.turn.now });
  }
  work.turn.send(from, { type: 'hold-ended', transaction });
}

/** What is read of consumers in one shard; see reading.ts for how what several say is put together. */
export interface ConsumerRead {
  readonly allocations: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** The transaction that changed it last, as far as that is remembered. */
  readonly changedBy: string | null;
  /** A transaction of which the shard does not know the outcome yet. */
  readonly doubt: string | null;
}

function readOf({ consumers, holds }: PlacementState, ids: readonly string[]): Record<string, ConsumerRead> {
  const read = ids.map((id): [string, ConsumerRead] => {
    const allocations: Record<string, Record<string, number>> = {};
    for (const { provider, resources } of heldBy(consumers.holding.get(id))) {
      const sums = allocations[provider] ?? {};
      allocations[provider] = sums;
      for (const [name, amount] of Object.entries(resources)) sums[name] = (sums[name] ?? 0) + amount;
    }
    return [id, { allocations, changedBy: holds.changedBy.get(id) ?? null, doubt: holds.doubtful.get(id) ?? null }];
  });
  return Object.fromEntries(read);
}

/** Whether there is something of transactions that may be forgotten. */
export function hasOldTransactions({ holds, transactions }: PlacementState, before: number): boolean {
  for (const at of holds.ended.values()) return at < before || hasOldSettled(transactions.known.values(), before);
  return hasOldSettled(transactions.known.values(), before);
}

function hasOldSettled(known: Iterable<Transaction>, before: number): boolean {
  for (const { at, settled } of known) {
    if (at >= before) return false;
    if (settled) return true;
  }
  return false;
}
