// Decides changes over several shards, as the coordinator of those that this shard was asked for. It asks the shards one
// after the other, in the order of their numbers, and what one change locks no other holds: so two changes never wait for
// each other, and none is refused for the other's sake. What it says to itself is done in the same turn.

import type { Address } from '../actor.ts';
import { type Patience, waitMs } from '../builds.ts';
import { olderThan } from '../deleted.ts';
import type { AnyMessage } from '../messages/any.ts';
import type { ConsumerChange } from '../messages/placement-api.ts';
import type { Part, TransactionMessage, TransactionMessageOf } from '../messages/transactions.ts';
import { placementAddress } from '../routing.ts';
import { wakeId } from '../wakes.ts';
import { answer } from './api/answer.ts';
import { refused } from './api/refusals.ts';
import { consider, endHold, hold, readConsumers } from './holding.ts';
import { leftToCome, mayYetCome, partsOf, wordOf } from './newcomers.ts';
import { park } from './parking.ts';
import type { PlacementState } from './state.ts';
import { comingBy, type Outcome, type Transaction } from './transactions.ts';
import { commit, type ShardWork } from './work.ts';

/** How long a change may wait for its turn and for shards that are away, ms; then it is refused, and held by nobody. */
const DECIDED_WITHIN_MS = 30_000;
const PATIENCE: Patience = { firstMs: 200, mostMs: 2_000 };

export const TRANSACTION_WAKE = 'transaction';

export function takeTransaction(work: ShardWork, message: TransactionMessage, from: Address): void {
  switch (message.type) {
    case 'change-together':
      return open(work, message, from);
    case 'hold':
      return hold(work, message, (said) => say(work, from, said, message.brief));
    case 'held':
      return held(work, message.transaction, from);
    case 'hold-refused':
      return holdRefused(work, message, from);
    case 'end-hold':
      return endHold(work, message, (said) => say(work, from, said, message.brief));
    case 'hold-ended':
      return holdEnded(work, message.transaction, from);
    case 'consider':
      return consider(work, message, from);
    case 'consumers-read':
      return readConsumers(work, message, from);
  }
}

function open(work: ShardWork, asked: TransactionMessageOf<'change-together'>, from: Address): void {
  const { transactions } = work.state;
  const standing = transactions.known.get(transactions.byKey.get(asked.key) ?? '');
  if (standing !== undefined) {
    const isDone = standing.brief === true ? standing.settled : standing.outcome !== null;
    if (isDone && standing.outcome !== null) tell(work, { ...standing, from, ask: asked.ask }, standing.outcome);
    return;
  }
  const parts = [...asked.parts].sort((one, other) => one.shard - other.shard);
  const twice = parts.find(({ shard }, position) => parts[position - 1]?.shard === shard);
  if (twice !== undefined) {
    const refusal = refused('bad-parts', `shard ${twice.shard} has two parts of one change`);
    return answer(from, asked.ask, refusal, work.turn);
  }
  begin(work, { ...asked, from, parts });
}

/** What came in by it was given up, and is told again before all shards have heard. */
const isGivenUp = ({ outcome }: Transaction): boolean =>
  outcome !== null && !outcome.confirmed && outcome.refusal.code === 'changed-meanwhile';

type Change = Pick<Transaction, 'key' | 'ask' | 'parts'> & { from: Address; brief?: boolean; withinMs?: number };

/** Begins a change of this shard's own, unless it is on its way. */
export function openChange(work: ShardWork, change: Change): void {
  const { known, byKey } = work.state.transactions;
  const standing = known.get(byKey.get(change.key) ?? '');
  if (standing === undefined || isGivenUp(standing)) begin(work, change);
}

function begin(work: ShardWork, { key, from, ask, parts, brief, withinMs }: Change): void {
  const { transactions } = work.state;
  const id = `${work.shard}-${transactions.count + 1}`;
  const facts = { id, key, from, ask, parts, at: work.turn.now };
  commit(work, {
    type: 'transaction-opened',
    ...facts,
    ...(brief === true ? { brief } : {}),
    ...(withinMs === undefined ? {} : { withinMs }),
  });
  pursue(work, transactions.known.get(id) as Transaction);
}

/** Does what a transaction owes, and again until all have answered. */
export function pursue(work: ShardWork, transaction: Transaction): void {
  const { id, parts, outcome, brief } = transaction;
  if (transaction.settled) return;
  if (outcome === null && work.turn.steady > endOf(work, transaction)) {
    const message = `not all shards could hold their part within ${withinOf(transaction)} ms`;
    return decide(work, transaction, { confirmed: false, refusal: { code: 'not-decided', message } });
  }
  if (outcome === null) holdNext(work, transaction);
  else {
    // A shard is slow, or away: what is decided will be.
    if (transaction.pursuit.repeats > 0 && brief !== true) tellOutcome(work, transaction);
    for (const { shard } of parts) {
      if (transaction.pursuit.ended.has(shard)) continue;
      const order = { type: 'end-hold', transaction: id, confirmed: outcome.confirmed } as const;
      say(work, placementAddress(shard), brief === true ? { ...order, brief } : order, brief);
    }
  }
  // What was said to itself may have brought it further.
  if (transaction.settled || transaction.outcome !== outcome) return;
  work.turn.wakeAfter(wakeId(TRANSACTION_WAKE, id), waitMs(PATIENCE, transaction.pursuit.repeats, id));
  transaction.pursuit.repeats += 1;
}

const withinOf = ({ withinMs = DECIDED_WITHIN_MS }: Transaction): number => withinMs;

/** When it is refused if it is not decided: in another life, whose clock may have been ahead, no later than it may. */
function endOf({ turn }: ShardWork, transaction: Transaction): number {
  const { at, pursuit } = transaction;
  const withinMs = withinOf(transaction);
  pursuit.endsAt ??= turn.steady + Math.min(at + withinMs - turn.now, withinMs);
  return pursuit.endsAt;
}

function holdNext(work: ShardWork, transaction: Transaction): void {
  const { id, parts, pursuit, brief } = transaction;
  const { shard, ...content } = parts.find((part) => !pursuit.held.has(part.shard)) as Part;
  const consumers = parts.length === 1 ? content.consumers : changesIn(shard, parts);
  const expiresAt = Math.round(work.turn.now + endOf(work, transaction) - work.turn.steady);
  const order = { type: 'hold', transaction: id, ...content, consumers, expiresAt } as const;
  say(work, placementAddress(shard), brief === true ? { ...order, brief } : order, brief);
}

/** The changes of consumers in a shard: it is told which of them are to hold something with other shards. */
function changesIn(shard: number, parts: readonly Part[]): readonly ConsumerChange[] {
  const elsewhere = new Set<string>();
  let mine: readonly ConsumerChange[] = [];
  for (const part of parts) {
    if (part.shard === shard) mine = part.consumers;
    else for (const { consumer, allocations } of part.consumers) if (allocations.length > 0) elsewhere.add(consumer);
  }
  return mine.map((change) => (elsewhere.has(change.consumer) ? { ...change, elsewhere: true } : change));
}

function held(work: ShardWork, id: string, from: Address): void {
  const transaction = work.state.transactions.known.get(id);
  // One that is forgotten was settled: whoever holds a part of it yet has heard something late.
  if (transaction === undefined) {
    commit(work, { type: 'transaction-unknown', id });
    return work.turn.send(from, { type: 'end-hold', transaction: id, confirmed: false });
  }
  const shard = partOf(transaction, from);
  if (shard === undefined) return;
  if (transaction.outcome !== null) return transaction.pursuit.ended.has(shard) ? undefined : pursue(work, transaction);
  transaction.pursuit.held.add(shard);
  if (transaction.pursuit.held.size === transaction.parts.length) return decide(work, transaction, { confirmed: true });
  holdNext(work, transaction);
}

function holdRefused(work: ShardWork, asked: TransactionMessageOf<'hold-refused'>, from: Address): void {
  const transaction = work.state.transactions.known.get(asked.transaction);
  const shard = partOf(transaction, from);
  if (transaction === undefined || transaction.outcome !== null || shard === undefined) return;
  // What it holds it has not refused.
  if (transaction.pursuit.held.has(shard)) return;
  decide(work, transaction, { confirmed: false, refusal: asked.refusal });
}

function decide(work: ShardWork, transaction: Transaction, outcome: Outcome): void {
  commit(work, { type: 'transaction-decided', id: transaction.id, outcome });
  if (!outcome.confirmed) tellOutcome(work, transaction);
  transaction.pursuit.repeats = 0;
  pursue(work, transaction);
}

/**
 * What was told of a tree before, and is not in, does not come any more: it was told otherwise since, or has been withdrawn.
 * @param key That of what is told now.
 */
export function giveUpComing(work: ShardWork, root: string, key?: string): void {
  const { known, coming } = work.state.transactions;
  for (const id of [...(coming.get(root) ?? [])]) {
    const transaction = known.get(id) as Transaction;
    if (transaction.key === key || !mayYetCome(transaction.outcome)) continue;
    const { refused: refusal } = refused('changed-meanwhile', `the tree of '${root}' was told otherwise meanwhile`);
    const outcome = { confirmed: false, refusal } as const;
    if (transaction.outcome === null) decide(work, transaction, outcome);
    // As for the other shards it is as it was: but nothing of it is tried again when all have heard.
    else commit(work, { type: 'transaction-decided', id, outcome });
  }
}

function holdEnded(work: ShardWork, id: string, from: Address): void {
  const transaction = work.state.transactions.known.get(id);
  const shard = partOf(transaction, from);
  if (transaction === undefined || transaction.outcome === null || transaction.settled || shard === undefined) return;
  transaction.pursuit.ended.add(shard);
  if (transaction.pursuit.ended.size < transaction.parts.length) return;
  commit(work, { type: 'transaction-settled', id });
  work.turn.cancelWake(wakeId(TRANSACTION_WAKE, id));
  if (transaction.outcome.confirmed) tellOutcome(work, transaction);
  const comes = comingBy(transaction);
  const left = comes === undefined ? null : leftToCome(comes, transaction.outcome);
  if (left === null) return;
  openChange(work, { ...transaction, parts: partsOf(work, left) });
}

/** Once in a life: as a rule when it is done everywhere, so that whoever asks anything next finds it so. */
function tellOutcome(work: ShardWork, transaction: Transaction): void {
  const { pursuit, outcome } = transaction;
  if (pursuit.answered || outcome === null) return;
  pursuit.answered = true;
  tell(work, transaction, outcome);
}

export function wakeTransaction(work: ShardWork, id: string): void {
  const transaction = work.state.transactions.known.get(id);
  if (transaction !== undefined) pursue(work, transaction);
}

function partOf(transaction: Transaction | undefined, from: Address): number | undefined {
  return transaction?.parts.find(({ shard }) => placementAddress(shard) === from)?.shard;
}

function tell({ turn }: ShardWork, transaction: Transaction, outcome: Outcome): void {
  const { from, ask } = transaction;
  const comes = comingBy(transaction);
  if (comes === undefined)
    return answer(from, ask, outcome.confirmed ? { ok: null } : { refused: outcome.refusal }, turn);
  const word = wordOf(comes, ask, outcome);
  if (word !== null) turn.send(from, word);
}

/** What a shard says to itself of a brief change it hears at once, and waits with it like any other. */
function say(work: ShardWork, to: Address, message: AnyMessage, brief: boolean | undefined): void {
  if (brief !== true || to !== placementAddress(work.shard)) return work.turn.send(to, message);
  if (park(work.state, message, to)) return;
  takeTransaction(work, message as TransactionMessage, to);
}

/** Whether there is something of transactions that may be forgotten. */
export function hasOldTransactions({ holds, transactions }: PlacementState, before: number): boolean {
  for (const _ of olderThan(holds.lately.values(), ({ at }) => at, before)) return true;
  for (const _ of olderThan(holds.ended.values(), (at) => at, before)) return true;
  for (const { settled } of olderThan(transactions.known.values(), ({ at }) => at, before)) if (settled) return true;
  return false;
}
