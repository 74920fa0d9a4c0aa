// Counts anew with whom consumers are, and on how many trees, whose providers came to another tree, went or came again: a
// provider that is held for its traits alone may, since nothing of it is in use.

import { locate } from './groups.ts';
import type { Provider } from './providers.ts';
import type { PlacementState } from './state.ts';
import { countTenants } from './tenants.ts';

export function noteHolders({ holders }: Provider, among: Set<string>): void {
  for (const consumer of holders instanceof Map ? holders.keys() : holders) among.add(consumer);
}

/** On what members of groups are goes by which roots share: one has come to, or does no more. */
export function locateHolders(state: PlacementState, tree: readonly Provider[]): void {
  const holders = new Set<string>();
  for (const provider of tree) noteHolders(provider, holders);
  for (const consumer of holders) locate(state, consumer);
}

/**
 * @param holders Those who hold something of the providers.
 * @param trees All providers of the trees in which these were or are.
 */
export function countAnew(state: PlacementState, holders: ReadonlySet<string>, trees: readonly Provider[]): void {
  if (holders.size === 0) return;
  for (const consumer of holders) locate(state, consumer);
  countTenants(trees, state.consumers, state.providers, state.untold.used);
}
