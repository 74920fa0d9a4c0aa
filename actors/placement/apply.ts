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

type RecordOf<Kind extends PlacementRecord['type']> = Extract<PlacementRecord, { type: Kind }>;

export function applyToPlacement(state: PlacementState, record: PlacementRecord): void {
  const { consumers } = state;
  // Whatever is about one consumer may change it.
  if ('consumer' in record) consumers.holding.touch(record.consumer);
  switch (record.type) {
    case 'tree':
      return applyTree(state, record);
    case 'claimed':
      return applyClaimed(state, record);
    case 'adopted':
    case 'unclaimed':
      return applyRecall(state, record);
    case 'refused':
      decided(state, record).refusal = record.refusal;
      return locate(state, record.consumer);
    case 'released':
      return applyReleased(state, record);
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

function applyClaimed(state: PlacementState, record: RecordOf<'claimed'>): void {
  const { consumer: id, attempt, allocations, group, order } = record;
  const consumer = decided(state, record);
  take(state, id, consumer, { attempt, allocations });
  if (state.fences.size > 0) state.fences.delete(id);
  if (group !== undefined) consumer.group = group;
  else delete consumer.group;
  if (order !== undefined) consumer.order = order;
  locate(state, id);
}

function applyReleased(
  state: PlacementState,
  { consumer: id, attempt, keep, deleted, at }: RecordOf<'released'>,
): void {
  const { consumers, untold, fences, homes } = state;
  const consumer = consumers.holding.get(id);
  if (consumer !== undefined) {
    const drop = attempt === undefined ? (one: number) => !keep?.includes(one) : (one: number) => one === attempt;
    if (deleted && consumer.held.length > 0) untold.deleted.add(id);
    giveBack(state, id, consumer, drop);
    consumer.generation += 1;
    locate(state, id);
    if (consumer.held.length === 0 && (deleted || consumers.deleted.has(id))) consumers.holding.delete(id);
  }
  if (!deleted) return;
  if (!consumers.deleted.has(id)) consumers.deleted.remember(id, at);
  if (fences.size > 0) fences.delete(id);
  if (homes.size > 0) homes.delete(id);
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
function moveAway(state: PlacementState, { consumer: id, before, keep }: RecordOf<'moved-away'>): void {
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
