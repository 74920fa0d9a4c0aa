// Decides what callers of the Placement API ask for resource classes and traits of their own.

import type { ApiMessage } from '../../messages/placement-api.ts';
import { STANDARD_RESOURCE_CLASSES } from '../../messages/resource-classes.ts';
import { isKnownClass, isKnownTrait } from '../catalog.ts';
import type { PlacementState } from '../state.ts';
import { type Decision, decline, done } from './decision.ts';
import { noClass, noTrait, refused } from './refusals.ts';

const CUSTOM = 'CUSTOM_';

/** Answers whether the class is new. */
export function putClass({ catalog }: PlacementState, { name }: ApiMessage<'class-put'>): Decision {
  if (isKnownClass(catalog, name)) return done(null, { made: false });
  return done({ type: 'class-made', name }, { made: true });
}

export function renameClass({ catalog }: PlacementState, asked: ApiMessage<'class-rename'>): Decision {
  const { name, to } = asked;
  if (!isKnownClass(catalog, name)) return decline(noClass(name));
  if (STANDARD_RESOURCE_CLASSES.has(name)) return decline(refused('class-standard', `${name} is a standard class`));
  if (name === to) return done(null);
  if (isKnownClass(catalog, to)) return decline(refused('class-exists', `there is a class ${to}`));
  return done({ type: 'class-renamed', name, to });
}

export function deleteClass({ catalog, providers }: PlacementState, { name }: ApiMessage<'class-delete'>): Decision {
  if (!isKnownClass(catalog, name)) return decline(noClass(name));
  if (STANDARD_RESOURCE_CLASSES.has(name)) return decline(refused('class-standard', `${name} is a standard class`));
  for (const { stocks, spec } of providers.values()) {
    // Of what its owner tells no more a stock may be left, with which nothing is done any more.
    if (name in spec.inventories || (stocks.get(name)?.used ?? 0) > 0) {
      return decline(
        refused('class-in-use', `provider '${spec.id}' has an inventory of ${name}`, { provider: spec.id }),
      );
    }
  }
  return done({ type: 'class-removed', name });
}

/** Answers whether the trait is new. */
export function putTrait({ catalog }: PlacementState, { name }: ApiMessage<'trait-put'>): Decision {
  if (isKnownTrait(catalog, name)) return done(null, { made: false });
  return done({ type: 'trait-made', name }, { made: true });
}

export function deleteTrait(
  { catalog, providers, indexes }: PlacementState,
  { name }: ApiMessage<'trait-delete'>,
): Decision {
  if (!isKnownTrait(catalog, name)) return decline(noTrait(name));
  if (!name.startsWith(CUSTOM)) return decline(refused('trait-standard', `${name} is a standard trait`));
  if (!indexes.traits.has(name)) return done({ type: 'trait-removed', name });
  const provider = [...providers.values()].find(({ traits }) => traits.has(name))?.spec.id ?? '';
  return decline(refused('trait-in-use', `provider '${provider}' has the trait ${name}`, { provider }));
}
