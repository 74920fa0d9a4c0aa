// What placement is told of the host: its tree of providers, and what has changed of it while the host is up.

import type { Address } from '../actor.ts';
import type { ComputeMessage } from '../messages/compute.ts';
import type { ProviderSpec } from '../messages/placement.ts';
import { fnv1a, placementOf } from '../routing.ts';
import { askWhatRuns } from './missing.ts';
import { forgetOld } from './orders.ts';
import { isSameTree } from './same-tree.ts';
import type { Work } from './state.ts';

/**
 * How often the driver is asked what the host has until placement is told its tree again, in case that is gone, or what it
 * was told before came late: a caller of the Placement API may have taken it away.
 */
const LOOKS_UNTIL_TOLD = 5;

type TreeAnswer = Extract<ComputeMessage, { type: 'tree-put' | 'tree-refused' }>;

/** Placement has answered what it was told; where that has changed since, it may have come after what it is now. */
export function treeHeard({ state }: Work, { type, ask }: TreeAnswer): void {
  const isOfNow = ask === state.changes;
  if (!isOfNow) state.taken = null;
  else if (type === 'tree-put') state.taken = state.providers;
  if (state.phase === 'up') state.owesTree = !isOfNow;
}

/** The driver has been asked again what the host has. What placement did not take is told again, for it may now. */
export function inventoryRead(work: Work, providers: readonly ProviderSpec[]): void {
  const { state } = work;
  if (state.phase !== 'up') return;
  if (!isSameTree(providers, state.providers)) {
    state.providers = providers;
    state.changes += 1;
  }
  if (state.providers === state.taken) return;
  state.owesTree = true;
  tellTree(work);
}

/** Something may have been put into the host, or have failed. */
export function lookAgain(work: Work): void {
  const { settings, state, turn } = work;
  turn.send(settings.toDriver, { type: 'read-inventory' });
  askWhatRuns(work);
  // From when it was due, not from when it came: after a heartbeat that was a few ms late it would wait for one more.
  state.looksAt = Math.max(state.looksAt, turn.steady - settings.heartbeatMs) + settings.inventoryEveryMs;
  state.looks += 1;
  if (state.looks % LOOKS_UNTIL_TOLD !== 0) return;
  forgetOld(work);
  state.owesTree = true;
}

/** Placement has no tree of this host any more; what it has answered before may still be on its way. */
export function treeWithdrawn(work: Work): void {
  const { state } = work;
  state.owesTree = true;
  if (state.phase === 'up') tellTree(work);
}

export function tellTree({ settings: { placementShards }, state, turn }: Work): Address {
  const { providers, taken, changes, incarnation } = state;
  const placement = placementOf((providers[0] as ProviderSpec).id, placementShards);
  const ofAgain = providers === taken ? { again: true } : {};
  turn.send(placement, { type: 'put-tree', ask: changes, incarnation, providers, ...ofAgain });
  return placement;
}

/** Hosts that came up together do not look again together, nor tell. */
export function firstLook({ settings: { host, inventoryEveryMs }, state, turn }: Work): void {
  state.looks = fnv1a(host) % LOOKS_UNTIL_TOLD;
  state.looksAt = turn.steady + (fnv1a(host) % inventoryEveryMs);
}
