// Changes over several shards, as one of the shards that hold a part: it holds what its coordinator asks for, or waits until
// it can, or refuses; and ends that when it is told how it was decided.

import type { Address } from '../actor.ts';
import { addAmounts } from '../amounts.ts';
import type { AnyMessage } from '../messages/any.ts';
import type { TransactionMessageOf } from '../messages/transactions.ts';
import { placementAddress } from '../routing.ts';
import { answer } from './api/answer.ts';
import { refused } from './api/refusals.ts';
import { heldBy } from './consumers.ts';
import { isOver } from './holds.ts';
import { decidePart } from './parts.ts';
import type { PlacementState } from './state.ts';
import { commit, type ShardWork } from './work.ts';

/** Says something to the coordinator. */
type Say = (message: AnyMessage) => void;

export function hold(work: ShardWork, asked: TransactionMessageOf<'hold'>, say: Say): void {
  const { state, turn } = work;
  const { transaction, expiresAt, brief } = asked;
  if (state.holds.open.has(transaction)) return say({ type: 'held', transaction });
  // One that is over comes late.
  if (isOver(state.holds, transaction)) return;
  const decided =
    turn.now > expiresAt
      ? refused('not-decided', `'${transaction}' came after its coordinator gave up`)
      : decidePart(state, asked, turn.now);
  if ('refused' in decided) {
    // Nothing changes; but a shard that was superseded, which knows too little, cannot record it, and refuses nothing.
    commit(work, { type: 'read' });
    return say({ type: 'hold-refused', transaction, refusal: decided.refused });
  }
  commit(work, { type: 'held', transaction, ...decided, ...(brief === true ? { brief } : {}) });
  say({ type: 'held', transaction });
}

export function endHold(work: ShardWork, asked: TransactionMessageOf<'end-hold'>, say: Say): void {
  const { transaction, confirmed, brief } = asked;
  if (!isOver(work.state.holds, transaction)) {
    const at = work.turn.now;
    commit(work, { type: 'hold-ended', transaction, confirmed, at, ...(brief === true ? { brief } : {}) });
  }
  say({ type: 'hold-ended', transaction });
}

/** Whether a part could be held, as things stand. */
export function consider({ state, turn }: ShardWork, asked: TransactionMessageOf<'consider'>, from: Address): void {
  const decided = decidePart(state, asked, turn.now);
  answer(from, asked.ask, 'refused' in decided ? decided : { ok: null }, turn);
}

/** Asks the coordinators what came of all that is held here: what was said in another life may be lost. */
export function askAgain({ state, turn }: ShardWork): void {
  for (const transaction of state.holds.open.keys()) {
    turn.send(placementAddress(Number.parseInt(transaction, 10)), { type: 'held', transaction });
  }
}

/** What consumers hold with this shard. */
export function readConsumers(work: ShardWork, asked: TransactionMessageOf<'consumers-read'>, from: Address): void {
  // Nothing changes; but a shard that was superseded, which knows too little, cannot record it, and its answer is lost.
  commit(work, { type: 'read' });
  answer(from, asked.ask, { ok: readOf(work.state, asked.consumers) }, work.turn);
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
      addAmounts(sums, resources);
    }
    return [id, { allocations, changedBy: holds.changedBy.get(id) ?? null, doubt: holds.doubtful.get(id) ?? null }];
  });
  return Object.fromEntries(read);
}
