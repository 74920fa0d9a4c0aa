// The resource classes and traits that callers made beyond the standard ones. Those that a told tree uses count as
// made.

import { STANDARD_RESOURCE_CLASSES } from '../messages/resource-classes.ts';
import { STANDARD_TRAITS } from './standard-traits.ts';

export interface Catalog {
  readonly classes: Set<string>;
  readonly traits: Set<string>;
}

export function emptyCatalog(): Catalog {
  return { classes: new Set(), traits: new Set() };
}

export function isKnownClass(catalog: Catalog, name: string): boolean {
  return STANDARD_RESOURCE_CLASSES.has(name) || catalog.classes.has(name);
}

export function isKnownTrait(catalog: Catalog, name: string): boolean {
  return STANDARD_TRAITS.has(name) || catalog.traits.has(name);
}

/** Learns the classes and traits that a provider is told with. */
export function learnNames(
  catalog: Catalog,
  spec: { readonly inventories: Readonly<Record<string, unknown>>; readonly traits: readonly string[] },
): void {
  for (const name in spec.inventories) if (!STANDARD_RESOURCE_CLASSES.has(name)) catalog.classes.add(name);
  for (const name of spec.traits) if (!STANDARD_TRAITS.has(name)) catalog.traits.add(name);
}
