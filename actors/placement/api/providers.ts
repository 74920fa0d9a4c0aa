// Decides what callers of the Placement API ask for providers: making them, naming and moving them in trees, and
// their inventories, traits and aggregates.

import type { ApiInventories, ApiInventory, ApiMessage } from '../../messages/placement-api.ts';
import { isKnownTrait } from '../catalog.ts';
import { capacityOf } from '../inventory.ts';
import { inUse, type Provider } from '../providers.ts';
import type { ApiRecord } from '../records.ts';
import type { PlacementState } from '../state.ts';
import { hasChildren, subtreeOf } from '../trees.ts';
import { staleness, unknownClass } from './checks.ts';
import { type Decision, decline, done } from './decision.ts';
import { providerView } from './reads.ts';
import { duplicateId, duplicateName, noParent, noProvider, noTrait, refused } from './refusals.ts';

/** A change of a provider that is answered with how the provider stands after it. */
function changed(state: PlacementState, id: string, record: ApiRecord | null): Decision {
  return { record, answer: () => ({ ok: providerView(state.providers.get(id) as Provider) }) };
}

export function createProvider(state: PlacementState, asked: ApiMessage<'provider-create'>, at: number): Decision {
  const { id, name, parent } = asked;
  if (name === '') return decline(refused('no-name', 'a provider needs a name'));
  if (parent === id) return decline(refused('own-parent', `provider '${id}' cannot be its own parent`));
  if (parent !== null && !state.providers.has(parent)) return decline(noParent(parent));
  if (state.providers.has(id)) return decline(duplicateId(id));
  if (state.indexes.names.has(name)) return decline(duplicateName(name));
  return changed(state, id, { type: 'provider-created', id, name, parent, at });
}

export function updateProvider(state: PlacementState, asked: ApiMessage<'provider-update'>, at: number): Decision {
  const { id, name, reparent } = asked;
  const provider = state.providers.get(id);
  if (provider === undefined) return decline(noProvider(id));
  const { parent: before, name: oldName } = provider.spec;
  const parent = asked.parent === undefined ? before : asked.parent;
  if (parent !== null) {
    if (!state.providers.has(parent)) return decline(noParent(parent));
    if (before !== null && before !== parent && !reparent) {
      return decline(refused('no-reparenting', `provider '${id}' has a parent already`));
    }
    if (parent !== before && subtreeOf(state, id).includes(parent)) {
      return decline(refused('loop', `provider '${parent}' is below '${id}' or is it`));
    }
  } else if (before !== null && !reparent) {
    return decline(refused('no-unparenting', `provider '${id}' has a parent`));
  }
  if (name === '') return decline(refused('no-name', 'a provider needs a name'));
  if (name !== oldName && state.indexes.names.has(name)) return decline(duplicateName(name));
  return changed(state, id, { type: 'provider-updated', id, name, parent, at, keepsOthers: true });
}

export function deleteProvider(state: PlacementState, { id }: ApiMessage<'provider-delete'>): Decision {
  const provider = state.providers.get(id);
  if (provider === undefined) return decline(noProvider(id));
  if (hasChildren(state, id)) return decline(refused('has-children', `provider '${id}' has children`));
  if (inUse(provider)) return decline(refused('provider-in-use', `something is held on provider '${id}'`));
  return done({ type: 'provider-deleted', id });
}

export function putInventories(state: PlacementState, asked: ApiMessage<'inventories-put'>, at: number): Decision {
  const { id, how, inventories: given, removed, allReserved } = asked;
  const provider = state.providers.get(id);
  if (provider === undefined) return decline(noProvider(id));
  const stale = staleness(provider, asked.generation);
  if (stale !== null) return decline(stale);
  for (const [resourceClass, inventory] of Object.entries(given)) {
    if (!reservedFits(inventory, allReserved)) {
      const message = `${resourceClass} of provider '${id}' has too much reserved`;
      return decline(refused('reserved-exceeds-total', message, { provider: id, resourceClass }));
    }
  }
  const named = [...Object.keys(given), ...removed];
  const fault = unknownClass(state, named);
  if (fault !== null) return decline(fault);
  const had = provider.spec.inventories;
  const after: ApiInventories = { ...(how === 'all' ? {} : had), ...given };
  for (const name of removed) delete after[name];
  if (how === 'add') {
    const twice = named.find((name) => name in had);
    if (twice !== undefined) {
      const message = `provider '${id}' has an inventory of ${twice}`;
      return decline(refused('inventory-exists', message, { provider: id, resourceClass: twice }));
    }
  }
  const gone = Object.keys(had).filter((name) => !(name in after));
  const busy = gone.filter((name) => (provider.stocks.get(name)?.used ?? 0) > 0);
  if (busy.length > 0) {
    const message = `something of ${busy.join(', ')} is held on provider '${id}'`;
    return decline(refused('inventory-in-use', message, { provider: id, resourceClass: busy.join(', ') }));
  }
  if (how === 'update' || how === 'remove') {
    const missing = named.find((name) => !(name in had));
    if (missing !== undefined) {
      const message = `provider '${id}' has no inventory of ${missing}`;
      return decline(refused('no-inventory-record', message, { provider: id, resourceClass: missing }));
    }
  }
  return changed(state, id, { type: 'inventories', id, inventories: after, at });
}

export function putTraits(state: PlacementState, asked: ApiMessage<'traits-put'>, at: number): Decision {
  const { id } = asked;
  const provider = state.providers.get(id);
  if (provider === undefined) return decline(noProvider(id));
  const stale = staleness(provider, asked.generation);
  if (stale !== null) return decline(stale);
  const traits = [...new Set(asked.traits)];
  const unknown = traits.filter((name) => !isKnownTrait(state.catalog, name));
  if (unknown.length > 0) return decline(noTrait(unknown.join(', ')));
  const same = traits.length === provider.traits.size && traits.every((name) => provider.traits.has(name));
  return changed(state, id, same ? null : { type: 'traits', id, traits, at });
}

export function putAggregates(state: PlacementState, asked: ApiMessage<'aggregates-put'>, at: number): Decision {
  const { id, counted } = asked;
  const provider = state.providers.get(id);
  if (provider === undefined) return decline(noProvider(id));
  const stale = staleness(provider, asked.generation);
  if (stale !== null) return decline(stale);
  const aggregates = [...new Set(asked.aggregates)];
  return changed(state, id, { type: 'aggregates', id, aggregates, counted, at });
}

function reservedFits(inventory: ApiInventory, allReserved: boolean): boolean {
  const capacity = Math.trunc(capacityOf(inventory));
  return allReserved ? capacity >= 0 : capacity > 0;
}
