// Giving back what was claimed for some instances of a request, which get hosts together or none: before it is tried
// elsewhere, and before it waits, so that nothing is held for nobody. Only requests whose claims are in order can do that:
// what is under way is then void.

import {
  claimsRefused,
  MAX_CLAIMS_PER_SELECTION,
  type SelectionContext,
  selection as selectionMachine,
} from '../../machines/selection.ts';
import { begin } from '../../machines/step.ts';
import type { Address } from '../actor.ts';
import type { Unclaimed } from '../messages/scheduler.ts';
import { keepsTogether } from '../placement/groups.ts';
import { placementOf, shardOf } from '../routing.ts';
import { isOrdered, orderOfClaim } from './rounds.ts';
import { openOf, settle } from './selecting.ts';
import type { GivingBack, Open, Work } from './state.ts';
import { membersOn } from './view/groups-view.ts';
import { learnUsage } from './view/view.ts';
import { expectNoMore } from './view/view-hosts.ts';

/** Gives back whatever was claimed for the instances of a request, granted or not yet answered. */
export function giveAllBack(work: Work, open: Open, then: GivingBack['then']): void {
  const left: GivingBack['left'] = new Map();
  for (const instance of open.asked.instances) {
    const snapshot = open.machines.get(instance);
    const candidate = snapshot?.context.candidate ?? null;
    if (candidate !== null) {
      const { order = 0 } = orderOfClaim(work, open, instance);
      left.set(instance, { to: placementOf(candidate.provider, work.placementShards), order });
      open.givenBack.add(instance);
      expectNoMore(work.state.view, instance);
    }
    settle(work, open, instance);
  }
  if (left.size === 0) return then(work);
  open.machines.clear();
  open.givingBack = { left, then };
  sayUnclaims(work, open);
}

/** Asks, or asks again those who have not answered. */
export function sayUnclaims({ turn }: Work, { givingBack, asked: { expiresAt } }: Open): void {
  for (const [consumer, { to, order }] of givingBack?.left ?? []) {
    turn.send(to, { type: 'unclaim', consumer, attempt: 1, order, expiresAt });
  }
}

export function unclaimed(work: Work, { consumer, order, usages }: Unclaimed, from: Address): void {
  const { state } = work;
  for (const usage of usages) learnUsage(state.view, usage, shardOf(from));
  const open = openOf(work, consumer);
  const left = open?.givingBack?.left;
  if (open === undefined || left?.get(consumer)?.order !== order) return;
  left.delete(consumer);
  if (left.size > 0) return;
  const then = open.givingBack?.then;
  open.givingBack = null;
  then?.(work);
}

/** What the selections of a request begin again with, so that their claims come after all that were made. */
type Tried = Pick<SelectionContext, 'tried' | 'passing'>;

/**
 * The hosts that are left out when all instances of a request that keep together are tried anew, because the one on which
 * some of them are has no room for this one; or null, when others of the group are there too and none can go elsewhere.
 */
export function triedTogether(work: Work, open: Open, instance: string): Tried | null {
  const { instances, spec } = open.asked;
  const group = spec.instanceGroup;
  if (group === undefined || !keepsTogether(spec) || instances.length === 1 || !isOrdered(work, open)) return null;
  const tried = new Set<string>();
  let passing = 0;
  const fellows = new Map<string, number>();
  for (const [one, { context }] of open.machines) {
    for (const root of context.tried) tried.add(root);
    passing = Math.max(passing, context.passing);
    if (one === instance || context.candidate === null) continue;
    const root = context.candidate.provider;
    fellows.set(root, (fellows.get(root) ?? 0) + 1);
  }
  if (fellows.size === 0) return null;
  for (const [root, count] of fellows) {
    if (membersOn(work.state.view.groups, group.id, root) > count) return null;
    tried.add(root);
  }
  const all = { tried: [...tried], passing };
  return claimsRefused(all) >= MAX_CLAIMS_PER_SELECTION ? null : all;
}

/** Selections begin again, without some hosts. */
export function beginAgain(open: Open, tried: Tried): void {
  for (const instance of open.asked.instances) {
    open.waiting.add(instance);
    open.machines.set(instance, begin(selectionMachine, { instance, ...tried }).snapshot);
  }
}
