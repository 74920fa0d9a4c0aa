// The checks that several changes asked through the Placement API share.

import { isKnownClass } from '../catalog.ts';
import { type Provider, revisionOf } from '../providers.ts';
import type { PlacementState } from '../state.ts';
import { noClass, refused } from './refusals.ts';

/** The refusal of a change that goes by an old picture of the provider, or null. */
export function staleness(provider: Provider, given: number | undefined) {
  const expected = revisionOf(provider);
  if (given === undefined || given === expected) return null;
  const { id } = provider.spec;
  const message = `provider '${id}' is at generation ${expected}, not ${given}`;
  return refused('provider-generation', message, { provider: id, expected, given });
}

/** The refusal that names the first class that nobody knows, or null. */
export function unknownClass({ catalog }: PlacementState, names: readonly string[]) {
  const unknown = names.find((name) => !isKnownClass(catalog, name));
  return unknown === undefined ? null : noClass(unknown);
}
