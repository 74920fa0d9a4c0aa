// Claims: what a consumer is to hold, granted if everything that the claim asks is so at this moment. Said again, a claim is
// answered again. What a claim names of a tree is what its sender saw: where others have it by now, and the request fits
// the tree all the same, it is granted what is free there.

import type { Allocation } from '../../machines/instance-build.ts';
import type { Address } from '../actor.ts';
import { fitAtOnce } from '../fitting/fit.ts';
import type { Claim, Refusal } from '../messages/placement.ts';
import { notAsRequested, refusalOfClaim } from './conditions.ts';
import type { Held } from './consumers.ts';
import { refusalByFence } from './fences.ts';
import { askKeeper, mustAsk, waitsNoLonger } from './group-keeping.ts';
import { blockersOf } from './lock-keys.ts';
import type { PlacementRecord } from './records.ts';
import type { PlacementState } from './state.ts';
import { giveBack } from './taking.ts';
import { refusalOfTree } from './tree-conditions.ts';
import { treeOf } from './trees.ts';
import { grant, usagesOf } from './usages.ts';
import { commit, type ShardWork, tell, tellReleased } from './work.ts';

/** @param elsewhere Why the group may not be here, if that is known of other shards. */
export function claim(work: ShardWork, asked: Claim, from: Address, elsewhere: Refusal | null = null): void {
  const { state, turn, shards } = work;
  const { consumer: id, attempt, keep, order } = asked;
  const consumer = state.consumers.holding.get(id);
  if (state.consumers.deleted.has(id)) {
    return refuse(work, asked, from, { code: 'consumer-deleted', message: `consumer '${id}' is deleted` });
  }
  if (consumer !== undefined && attempt <= consumer.latest) {
    const isLatest = attempt === consumer.latest;
    const held = consumer.held.find((one) => one.attempt === attempt);
    if (isLatest && held !== undefined) return grant(state, asked, held.allocations, from, turn);
    const superseded = `attempt ${attempt} of '${id}' comes after attempt ${consumer.latest} was decided`;
    const refusal = isLatest ? consumer.refusal : null;
    return refuse(work, asked, from, refusal ?? { code: 'superseded', message: superseded });
  }
  const early = state.fences.size === 0 ? null : refusalByFence(state.fences, asked);
  if (early !== null) return refuse(work, asked, from, early);
  if (turn.now > asked.expiresAt) {
    // Granted by whoever has superseded this shard, it may be refused here: then it is not told.
    commit(work, { type: 'read' });
    const message = `the claim of '${id}' came after whoever sent it gave up`;
    return refuse(work, asked, from, { code: 'expired', message });
  }
  // What the claim gives back is free for what it takes: this is a move, decided as one.
  const movesOut = consumer !== undefined && consumer.held.length > 0;
  const isOpen = shards > 1 && elsewhere === null && mustAsk(state, asked);
  if (isOpen && movesOut) return askKeeper(work, asked, from);
  const left = movesOut ? consumer.held.filter((one) => !keep.includes(one.attempt)) : [];
  if (movesOut) {
    state.consumers.holding.touch(id);
    giveBack(state, id, consumer, (one) => !keep.includes(one));
  }
  const refusal = refusalOf(state, asked) ?? elsewhere;
  if (refusal === null) return isOpen ? askKeeper(work, asked, from) : take(work, asked, asked.allocations, left, from);
  const instead = elsewhere === null ? servedInstead(state, asked, refusal) : null;
  if (instead !== null) return isOpen ? askKeeper(work, asked, from) : take(work, asked, instead, left, from);
  // A first claim that is refused changed nothing and needs no memory: the next one is for another host. Only where that
  // may be another shard's must this one, should it come once more, be refused once more.
  if (consumer !== undefined) commit(work, { type: 'refused', consumer: id, attempt, keep, refusal });
  else if (order !== undefined) commit(work, { type: 'fenced', consumer: id, order, until: asked.expiresAt, refusal });
  tellReleased(work, id, left, false);
  refuse(work, asked, from, refusal);
}

function refusalOf(state: PlacementState, asked: Claim): Refusal | null {
  return refusalOfClaim(asked, state) ?? refusalOfTree(asked, state.providers, state.consumers);
}

/** What is said of a provider that is named, for which another one of its tree may do. */
const OF_ONE_PROVIDER: ReadonlySet<Refusal['code']> = new Set([
  'unknown-provider',
  'no-inventory',
  'unit-constraint',
  'exceeds-capacity',
  'trait-missing',
  'trait-forbidden',
  'not-in-aggregate',
  'not-one-subtree',
]);

/**
 * Allocations of the tree that is meant which serve a claim for which those that it names do not; null: there are none, or
 * they are not found at once. Nobody else is served while one is searched for, so there is no thorough search: where that
 * alone would tell, the claim is refused for what it names, and whoever sent it searches on.
 */
function servedInstead(state: PlacementState, asked: Claim, refusal: Refusal): readonly Allocation[] | null {
  const { allocations: named, root, spec } = asked;
  if (root === undefined || !OF_ONE_PROVIDER.has(refusal.code) || notAsRequested(named, spec) !== null) return null;
  const { providers } = state;
  if (named.some(({ provider }) => (providers.get(provider)?.root ?? root) !== root)) return null;
  const tree = treeOf(state, root);
  if (tree.length < 2) return null;
  const allocations = fitAtOnce(
    spec,
    tree.filter((one) => one.spec.id === root || !isLocked(state, asked, [one.spec.id])),
  );
  if (allocations === null || allocations === undefined || allocations.length === 0) return null;
  const isOpen = !isLocked(
    state,
    asked,
    allocations.map(({ provider }) => provider),
  );
  return isOpen && refusalOf(state, { ...asked, allocations: [...allocations] }) === null ? allocations : null;
}

/** Whether a claim of these providers would have to wait for changes over several shards. */
function isLocked(state: PlacementState, asked: Claim, providers: readonly string[]): boolean {
  if (state.holds.locks.size === 0) return false;
  const allocations = providers.map((provider) => ({ provider, group: '', resources: {} }));
  return blockersOf(state, { ...asked, allocations } as Claim, false) !== null;
}

function take(
  work: ShardWork,
  asked: Claim,
  allocations: readonly Allocation[],
  left: readonly Held[],
  from: Address,
): void {
  const { state, turn } = work;
  const { consumer, attempt, keep, order } = asked;
  const group = asked.spec.instanceGroup;
  const record: PlacementRecord = { type: 'claimed', consumer, attempt, keep, allocations };
  if (group !== undefined) record.group = group;
  if (order !== undefined) record.order = order;
  commit(work, record);
  waitsNoLonger(state, asked);
  grant(state, asked, allocations, from, turn);
  tellReleased(work, consumer, left, false);
  tell(turn, allocations[0]?.provider ?? '', 'granted', { consumer, attempt, allocations });
}

function refuse({ state, turn }: ShardWork, asked: Claim, from: Address, refusal: Refusal): void {
  const { consumer, attempt, order, allocations } = asked;
  turn.send(from, {
    type: 'claim-refused',
    consumer,
    attempt,
    refusal,
    usages: usagesOf(state, allocations, refusal.provider),
    ...(order === undefined ? {} : { order }),
  });
  tell(turn, allocations[0]?.provider ?? '', 'refused', { consumer, attempt, ...refusal });
}
