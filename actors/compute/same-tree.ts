// Whether a driver says the same of its host as before: it may list providers, classes and traits in another order.

import type { ProviderSpec } from '../messages/placement.ts';
import { isSame } from '../same.ts';

export function isSameTree(one: readonly ProviderSpec[], other: readonly ProviderSpec[]): boolean {
  return isSame(one, other) || isSame(inOrder(one), inOrder(other));
}

function inOrder(providers: readonly ProviderSpec[]): ProviderSpec[] {
  const known = providers.map((provider) => ({
    ...provider,
    inventories: Object.fromEntries(
      Object.entries(provider.inventories).sort(([one], [other]) => (one < other ? -1 : 1)),
    ),
    traits: provider.traits.toSorted(),
    aggregates: provider.aggregates.toSorted(),
  }));
  return known.sort(({ id: one }, { id: other }) => (one < other ? -1 : 1));
}
