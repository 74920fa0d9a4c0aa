// What whoever claims is told of the providers concerned, so that his picture of them is mended by the answer.

import type { Allocation } from '../../machines/instance-build.ts';
import type { Address, Turn } from '../actor.ts';
import type { ProviderUsage } from '../messages/placement.ts';
import { type Provider, usageOf } from './providers.ts';
import type { PlacementRecord } from './records.ts';
import type { PlacementState } from './state.ts';

/** How the providers of allocations stand, and one more. */
export function usagesOf(
  { providers }: PlacementState,
  allocations: readonly Allocation[],
  besides?: string,
): ProviderUsage[] {
  const usages: ProviderUsage[] = [];
  for (const { provider: id } of allocations) {
    const provider = providers.get(id);
    if (provider === undefined) continue;
    addUsage(usages, provider);
    if (provider.root === id) continue;
    // Who is on a host stands with its root.
    const root = providers.get(provider.root);
    if (root !== undefined) addUsage(usages, root);
  }
  const another = besides === undefined ? undefined : providers.get(besides);
  if (another !== undefined) addUsage(usages, another);
  return usages;
}

function addUsage(usages: ProviderUsage[], provider: Provider): void {
  const { id } = provider.spec;
  for (const usage of usages) if (usage.id === id) return;
  usages.push(usageOf(provider));
}

/** Answers a claim, or a recall, with what is held for the attempt. */
export function grant(
  state: PlacementState,
  { consumer, attempt, order }: { consumer: string; attempt: number; order?: number | undefined },
  allocations: readonly Allocation[],
  to: Address,
  turn: Turn<PlacementRecord>,
): void {
  const usages = usagesOf(state, allocations);
  if (order === undefined) turn.send(to, { type: 'claim-granted', consumer, attempt, allocations, usages });
  else turn.send(to, { type: 'claim-granted', consumer, attempt, allocations, usages, order });
}
