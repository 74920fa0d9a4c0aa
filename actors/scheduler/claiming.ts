// Claims: what is claimed for an instance counts as taken from then on, and which answer is that of which claim.

import type { Allocation, Selection } from '../../machines/instance-build.ts';
import { claimsRefused, MAX_CLAIMS_PER_SELECTION } from '../../machines/selection.ts';
import { allocationsOf } from '../allocations.ts';
import type { ClaimGranted, ProviderUsage } from '../messages/placement.ts';
import { isSoft } from '../placement/groups.ts';
import { placementOf } from '../routing.ts';
import { groupKnownAt } from './group-rules.ts';
import { isOrdered, orderOfClaim, orderOfRecall } from './rounds.ts';
import { contextOf } from './selecting.ts';
import type { Open, Work } from './state.ts';
import { promiseMember } from './view/groups-view.ts';
import { promiseBuild } from './view/view-hosts.ts';

/** For how many refusals a wish is chosen anew: then what was chosen last is claimed, whatever others do meanwhile. */
const MAX_CHOSEN_ANEW = 16;

/** Claims the candidate of an instance; done again, it says the same claim again. */
export function claim(work: Work, open: Open, instance: string): void {
  const candidate = contextOf(open, instance).candidate as Selection;
  const { provider, maxInstances } = candidate;
  const { spec, expiresAt } = open.asked;
  const allocations = allocationsOf(spec, candidate);
  open.behind = null;
  promiseClaim(work, open, instance, candidate, allocations);
  const groupKnown = open.groupKnown.get(instance);
  work.turn.send(placementOf(provider, work.placementShards), {
    type: 'claim',
    consumer: instance,
    attempt: 1,
    spec,
    allocations,
    keep: [],
    expiresAt,
    ...(allocations.every((one) => one.provider === provider) ? {} : { root: provider }),
    ...(maxInstances === undefined ? {} : { maxInstances }),
    ...(groupKnown === undefined ? {} : { groupKnown }),
    ...orderOfClaim(work, open, instance),
  });
}

/** Counts what is about to be claimed as taken. */
function promiseClaim(
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
 * Whether a claim that is answered with these usages is that of the present candidate of an instance. How the providers
 * stand that it was for is told first, then how another one does that had to do with it.
 */
export function concerns([first]: readonly ProviderUsage[], open: Open, instance: string): boolean {
  const { candidate } = contextOf(open, instance);
  if (candidate === null) return false;
  return allocationsOf(open.asked.spec, candidate).some(({ provider }) => provider === first?.id);
}

/** Whether a grant answers what was said last: by now that of an earlier claim may have been given back. */
export function isAnswer(work: Work, open: Open, { consumer, order }: ClaimGranted): boolean {
  if (order === undefined || !isOrdered(work, open)) return true;
  const value = open.machines.get(consumer)?.value;
  if (value === 'recalling') return order === orderOfRecall(open) && !open.givenBack.has(consumer);
  return value === 'claiming' && order === orderOfClaim(work, open, consumer).order;
}
