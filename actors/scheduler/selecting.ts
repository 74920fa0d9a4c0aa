// A selection under way: what is known of it, what is promised for it while a claim is not answered, and its end.

import { allocationsOf } from '../allocations.ts';
import { waitMs } from '../builds.ts';
import type { ProviderUsage } from '../messages/placement.ts';
import { wakeId } from '../wakes.ts';
import { emptyDraft } from './decision.ts';
import { isWarmingUp } from './following.ts';
import { awaitedOf } from './rounds.ts';
import type { Open, SelectionSnapshot, Work } from './state.ts';
import { promiseMember } from './view/groups-view.ts';
import { endPromise } from './view/promises.ts';
import { learnUsage } from './view/view.ts';
import { expectNoMore } from './view/view-hosts.ts';

export const SELECT_WAKE = 'select';
export const RIVALS_WAKE = 'rivals';

/** Has what is not answered said again after a while. */
export function armAgain(work: Work, open: Open): void {
  const { turn, patience } = work;
  // One that has just come up is heard as often as ever: it must not be taken for gone.
  const repeats = isWarmingUp(work) ? 0 : open.repeats;
  turn.wakeAfter(wakeId(SELECT_WAKE, open.key), waitMs(patience, repeats, open.key), awaitedOf(open));
}

export function openOf(work: Work, instance: string): Open | undefined {
  return work.state.open.get(work.state.selecting.get(instance) ?? '');
}

/** Whether it is still under way: it may have come to its end meanwhile, or been asked for anew. */
export function isOpen({ state }: Work, open: Open): boolean {
  return state.open.get(open.key) === open;
}

export function contextOf(open: Open, instance: string) {
  return (open.machines.get(instance) as SelectionSnapshot).context;
}

export function draftOf(open: Open, instance: string) {
  let draft = open.drafts.get(instance);
  if (draft === undefined) {
    draft = emptyDraft(open.asked);
    open.drafts.set(instance, draft);
  }
  return draft;
}

/**
 * What was promised for an instance is promised no longer.
 * @param usages What placement tells of use with the grant, if it was one.
 */
export function settle(
  work: Work,
  open: Open,
  instance: string,
  usages: readonly ProviderUsage[] = [],
  shard = 0,
): void {
  const promised = open.promised.get(instance);
  open.promised.delete(instance);
  open.groupKnown.delete(instance);
  if (promised !== undefined) work.state.claims.delete(promised);
  const { spec } = open.asked;
  const { view } = work.state;
  if (promised === undefined) {
    for (const usage of usages) learnUsage(view, usage, shard);
    return;
  }
  endPromise(view, promised.provider, allocationsOf(spec, promised), usages, shard);
  const group = spec.instanceGroup;
  if (group !== undefined) promiseMember(view.groups, group.id, promised.provider, -1);
}

/** The rule of the group stands in the way of one, and so of the others: nothing comes of what was claimed for them. */
export function settleRest(work: Work, open: Open): void {
  for (const instance of [...open.promised.keys()]) {
    expectNoMore(work.state.view, instance);
    settle(work, open, instance);
  }
}

export function close(work: Work, open: Open): void {
  for (const instance of open.asked.instances) {
    settle(work, open, instance);
    work.state.selecting.delete(instance);
  }
  work.state.open.delete(open.key);
  work.state.awaitingRanking.delete(open.key);
  work.state.awaitingSearch.delete(open.key);
  work.state.awaitingClaims.delete(open.key);
  if (open.locating !== null) work.state.locating.delete(open.locating.ask);
  work.turn.cancelWake(wakeId(SELECT_WAKE, open.key));
  if (open.outwaits !== null) work.turn.cancelWake(wakeId(RIVALS_WAKE, open.key));
}

/** Tells whoever asked that it takes some time: to be asked again would begin it anew, here or at another scheduler. */
export function tellSelecting(work: Work, open: Open): void {
  const { request, round } = open.asked;
  if (isOpen(work, open)) work.turn.send(open.from, { type: 'selecting', request, round });
}

/** For how many instances a host is chosen: those that none is promised yet. */
export function countToPlace({ waiting, promised }: Open): number {
  return waiting.size - promised.size;
}
