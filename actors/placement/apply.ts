// How the records of a placement shard change what it owns: the one account of that, live and on replay.

import { applyApiRecord } from './api/apply.ts';
import { type Consumer, forgetDeleted } from './consumers.ts';
import { forgetFences } from './fences.ts';
import { applyGroupHome } from './group-homes.ts';
import { locate } from './groups.ts';
import { applyHold } from './hold-apply.ts';
import { forgetEnded } from './holds.ts';
import type { PlacementRecord, RecallRecord } from './records.ts';
import type { PlacementState } from './state.ts';
import { giveBack, take } from './taking.ts';
import { applyTransaction, forgetSettled } from './transactions.ts';
import { applyTree } from './tree-apply.ts';

export function applyToPlacement(state: PlacementState, record: PlacementRecord): void {
  const { consumers, untold } = state;
  // Whatever is about one consumer may change it.
  if ('consumer' in record) consumers.holding.touch(record.consumer);
  switch (record.type) {
    case 'tree':
      return applyTree(state, record);
    case 'claimed': {
      const consumer = decided(state, record);
      take(state, record.consumer, consumer, record.attempt, record.allocations);
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
        if (record.deleted && consumer.held.length > 0) untold.deleted.add(record.consumer);
        giveBack(state, record.consumer, consumer, drop);
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
      return applyGroupHome(state.groupHomes, record);
    default:
      return applyApiRecord(state, record);
  }
}

/** The consumer of a claim that was decided just now, with what the claim gave back gone. */
function decided(
  state: PlacementState,
  claim: { consumer: string; attempt: number; keep: readonly number[] },
): Consumer {
  const { consumers } = state;
  let consumer = consumers.holding.get(claim.consumer);
  if (consumer === undefined) {
    consumer = { latest: claim.attempt, held: [], refusal: null, generation: 1 };
    consumers.holding.set(claim.consumer, consumer);
    return consumer;
  }
  giveBack(state, claim.consumer, consumer, (attempt) => !claim.keep.includes(attempt));
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
  const { consumers } = state;
  let consumer = consumers.holding.get(id);
  if (consumer === undefined) {
    consumer = { latest: 0, held: [], refusal: null, generation: 0 };
    consumers.holding.set(id, consumer);
  }
  giveBack(state, id, consumer, (attempt) => attempt < before && !keep.includes(attempt));
  consumer.generation += 1;
  if (consumer.latest < before) consumer.away = true;
  if (consumer.latest < before - 1) {
    consumer.latest = before - 1;
    consumer.refusal = null;
  }
  locate(state, id);
}

function applyRecall(state: PlacementState, record: RecallRecord): void {
  const { consumers, fences } = state;
  const { consumer: id, order } = record;
  const consumer = consumers.holding.get(id);
  if (record.type === 'adopted') {
    if (consumer !== undefined) consumer.order = order;
    return;
  }
  if (consumer !== undefined) {
    giveBack(state, id, consumer, () => true);
    locate(state, id);
    consumers.holding.delete(id);
  }
  fences.set(id, { order, until: record.until, refusal: null });
}
