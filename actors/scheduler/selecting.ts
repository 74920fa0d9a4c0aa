// A selection under way: what is known of it, what is promised for it while a claim is not answered, and its end.

import type { Allocation, Selection } from '../../machines/instance-build.ts';
import { claimsRefused, MAX_CLAIMS_PER_SELECTION } from '../../machines/selection.ts';
import { allocationsOf } from '../allocations.ts';
import { waitMs } from '../builds.ts';
import type { ClaimGranted, ProviderUsage } from '../messages/placement.ts';
import { isSoft } from '../placement/groups.ts';
import { wakeId } from '../wakes.ts';
import { emptyDraft } from './decision.ts';
import { groupKnownAt } from './group-rules.ts';
import { promiseMember } from './groups-view.ts';
import { endPromise } from './promises.ts';
import { awaitedOf, isOrdered, orderOfClaim, orderOfRecall } from './rounds.ts';
import type { Open, SelectionSnapshot, Work } from './state.ts';
import { learnUsage } from './view.ts';
import { promiseBuild } from './view-hosts.ts';

/** For how many refusals a wish is chosen anew: then what was chosen last is claimed, whatever others do meanwhile. */
const MAX_CHOSEN_ANEW = 16;

export const SELECT_WAKE = 'select';

/** Has what is not answered said again after a while. */
export function armAgain({ turn, patience }: Work, open: Open): void {
  const { key, repeats } = open;
  turn.wakeAt(wakeId(SELECT_WAKE, key), turn.now + waitMs(patience, repeats, key), awaitedOf(open));
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

/**
 * Whether a claim that is answered with these usages is that of the present candidate of an instance. How the providers
 * stand that it was for is told first, then how another one does that had to do with it.
 */
export function concerns([first]: readonly ProviderUsage[], open: Open, instance: string): boolean {
  const { candidate } = contextOf(open, instance);
  if (candidate === null) return false;
  return allocationsOf(open.asked.spec, candidate).some(({ provider }) => provider === first?.id);
}

export function draftOf(open: Open, instance: string) {
  let draft = open.drafts.get(instance);
  if (draft === undefined) {
    draft = emptyDraft(open.asked);
    open.drafts.set(instance, draft);
  }
  return draft;
}

/** Counts what is about to be claimed as taken. */
export function promiseClaim(
  work: Work,
  open: Open,
  instance: string,
  candidate: Selection,
  allocations: readonly Allocation[],
): void {
  if (open.promised.has(instance)) return;
  const { view, claims } = work.state;
  open.promised.set(instance, candidate);
  work.state.claimed += 1;
  claims.set(candidate, { of: open, number: work.state.claimed });
  promiseBuild(view, instance, candidate.provider, allocations);
  const { instanceGroup } = open.asked.spec;
  if (instanceGroup === undefined) return;
  const context = contextOf(open, instance);
  const isLast = claimsRefused(context) + 1 === MAX_CLAIMS_PER_SELECTION;
  if (isSoft(instanceGroup) && context.passing < MAX_CHOSEN_ANEW && !isLast) {
    open.groupKnown.set(instance, groupKnownAt(view, open.request, candidate.provider));
  }
  promiseMember(view.groups, instanceGroup.id, candidate.provider, 1);
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

export function close(work: Work, open: Open): void {
  for (const instance of open.asked.instances) {
    settle(work, open, instance);
    work.state.selecting.delete(instance);
  }
  work.state.open.delete(open.key);
  work.state.awaitingSearch.delete(open.key);
  work.state.awaitingClaims.delete(open.key);
  if (open.locating !== null) work.state.locating.delete(open.locating.ask);
  work.turn.cancelWake(wakeId(SELECT_WAKE, open.key));
}

/** Whether a grant answers what was said last: by now that of an earlier claim may have been given back. */
export function isAnswer(work: Work, open: Open, { consumer, order }: ClaimGranted): boolean {
  if (order === undefined || !isOrdered(work, open)) return true;
  const value = open.machines.get(consumer)?.value;
  if (value === 'recalling') return order === orderOfRecall(open);
  return value === 'claiming' && order === orderOfClaim(work, open, consumer).order;
}

/** For how many instances a host is chosen: those that none is promised yet. */
export function countToPlace({ waiting, promised }: Open): number {
  return waiting.size - promised.size;
}
