// What a tree that a compute tells, whole, changes: what is new or other than it told before is put in, and what it tells no
// more goes, unless something is still held on it. What others have set meanwhile, callers of the Placement API, stays: an
// aggregate, a trait, a ratio, a provider below the host.

import type { Inventory, ProviderSpec } from '../messages/placement.ts';
import { isSame } from '../same.ts';
import { learnNames } from './catalog.ts';
import { countAnew, locateHolders, noteHolders } from './counting-anew.ts';
import { isPool, shares } from './groups.ts';
import { install, uninstall } from './indexes.ts';
import { inUse, makeProvider, type Provider } from './providers.ts';
import type { PlacementRecord } from './records.ts';
import type { PlacementState } from './state.ts';
import { treeOf } from './trees.ts';

export function applyTree(
  state: PlacementState,
  { providers: tree, ...record }: Extract<PlacementRecord, { type: 'tree' }>,
): void {
  const { providers, trees, untold } = state;
  const keepsOthers = record.keepsOthers === true;
  const root = (tree[0] as ProviderSpec).id;
  const gone = toldNoMore(state, root, tree, keepsOthers);
  const staying = new Set(tree.map(({ id }) => id));
  const holders = new Set<string>();
  const rootBefore = providers.get(root);
  const wasPool = rootBefore !== undefined && isPool(rootBefore);
  for (const told of tree) {
    const before = providers.get(told.id);
    const spec = before === undefined || !keepsOthers ? told : merged(before, told);
    if (before !== undefined && isSame(before.spec, spec)) {
      providers.touch(told.id);
      before.told = isSame(before.spec, told) ? before.spec : told;
      continue;
    }
    const provider = makeProvider(spec, root, before, told);
    install(state, provider);
    if (before === undefined) noteHolders(provider, holders);
    learnNames(state.catalog, spec);
    untold.changed.add(told.id);
  }
  for (const id of trees.get(root) ?? []) staying.add(id);
  for (const { provider, stays } of gone) {
    const { id } = provider.spec;
    if (!stays) {
      noteHolders(provider, holders);
      uninstall(state, id);
      staying.delete(id);
      untold.removed.add(id);
    } else if (!isEmptied(provider)) {
      const told = { ...(provider.told ?? provider.spec), ...NOTHING_TOLD };
      install(state, makeProvider(emptied(provider), root, provider, told));
      untold.changed.add(id);
    }
  }
  trees.set(root, [...staying]);
  // A pool that a compute tells of is a host from now on.
  if (wasPool || (rootBefore !== undefined && shares(rootBefore) !== shares(providers.get(root) as Provider)))
    locateHolders(state, treeOf(state, root));
  if (holders.size > 0) countAnew(state, holders, treeOf(state, root));
}

/** Providers that the compute of a tree tells, below what is there of it, or the whole tree; and what goes below them. */
export function grow(
  state: PlacementState,
  { root, providers: told }: { root: string; providers: readonly ProviderSpec[] },
): void {
  const { providers, trees, untold } = state;
  const holders = new Set<string>();
  const added: string[] = [];
  for (const one of told) {
    const before = providers.get(one.id);
    const spec = before === undefined ? one : merged(before, one);
    const provider = makeProvider(spec, root, before, one);
    install(state, provider);
    learnNames(state.catalog, spec);
    untold.changed.add(one.id);
    untold.removed.delete(one.id);
    if (before !== undefined) continue;
    noteHolders(provider, holders);
    added.push(one.id);
  }
  trees.set(root, [...(trees.get(root) ?? []), ...added]);
  for (const look of state.looks) look.grown?.(root);
  countAnew(state, holders, treeOf(state, root));
}

/**
 * The providers that the compute told before, and tells no more. One stays, empty, while something is held on it, or
 * something that stays is below it.
 * @param keepsOthers Whether those that no compute told are left as they are.
 */
export function toldNoMore(state: PlacementState, root: string, tree: readonly ProviderSpec[], keepsOthers = true) {
  const told = new Set(tree.map(({ id }) => id));
  const others = treeOf(state, root).filter(({ spec: { id } }) => !told.has(id));
  const needed = new Set<string>();
  const isKept = (provider: Provider) => (keepsOthers && provider.told === null) || inUse(provider);
  for (const provider of others) if (isKept(provider)) noteAbove(state, provider, needed);
  return others
    .filter((provider) => !keepsOthers || provider.told !== null)
    .map((provider) => ({ provider, stays: inUse(provider) || (keepsOthers && needed.has(provider.spec.id)) }));
}

function noteAbove({ providers }: Pick<PlacementState, 'providers'>, { spec }: Provider, above: Set<string>): void {
  for (let { parent } = spec; parent !== null && !above.has(parent); ) {
    above.add(parent);
    parent = providers.get(parent)?.spec.parent ?? null;
  }
}

const NOTHING_TOLD = { inventories: {}, traits: [], aggregates: [] };

/** Nor has it what its compute said of it: a group that asks for traits alone would be served by what is not there. */
function emptied({ spec, told }: Provider): ProviderSpec {
  const { traits, aggregates } = told ?? spec;
  return {
    ...spec,
    inventories: {},
    traits: mergedList(spec.traits, traits, []),
    aggregates: mergedList(spec.aggregates, aggregates, []),
  };
}

/** Whether nothing is left of a provider to give. */
export function isEmptied({ spec, told }: Provider): boolean {
  const { inventories, traits, aggregates } = told ?? NOTHING_TOLD;
  const isToldEmpty = Object.keys(inventories).length === 0 && traits.length === 0 && aggregates.length === 0;
  return Object.keys(spec.inventories).length === 0 && isToldEmpty;
}

/**
 * A provider as it is, but for what its compute tells otherwise than it did. Where it stands in the tree is as the compute
 * tells: moved by others, providers could stand below each other.
 */
function merged({ spec: now, told }: Provider, spec: ProviderSpec): ProviderSpec {
  const before = told ?? { ...now, ...NOTHING_TOLD };
  const one: ProviderSpec = {
    ...spec,
    name: spec.name === before.name ? now.name : spec.name,
    inventories: mergedInventories(now.inventories, before.inventories, spec.inventories),
    traits: mergedList(now.traits, before.traits, spec.traits),
    aggregates: mergedList(now.aggregates, before.aggregates, spec.aggregates),
  };
  return isSame(one, spec) ? spec : one;
}

function mergedList(now: readonly string[], before: readonly string[], told: readonly string[]): string[] {
  const left = now.filter((one) => told.includes(one) || !before.includes(one));
  return [...left, ...told.filter((one) => !before.includes(one) && !now.includes(one))];
}

type Inventories = ProviderSpec['inventories'];

function mergedInventories(now: Inventories, before: Inventories, told: Inventories): Inventories {
  const one: Record<string, Inventory> = {};
  for (const [resourceClass, inventory] of Object.entries(told)) {
    const toldBefore = before[resourceClass];
    const present = now[resourceClass];
    if (toldBefore === undefined || present === undefined) {
      // What somebody else took away stays away, until something else is told of it.
      if (!isSame(toldBefore, inventory)) one[resourceClass] = inventory;
    } else one[resourceClass] = mergedInventory(present, toldBefore, inventory);
  }
  for (const [resourceClass, inventory] of Object.entries(now)) {
    if (!(resourceClass in told) && !(resourceClass in before)) one[resourceClass] = inventory;
  }
  return one;
}

/** A ratio that an operator has set stays where the host only grows. */
function mergedInventory(now: Inventory, before: Inventory, told: Inventory): Inventory {
  const one = { ...told };
  for (const field of Object.keys(told) as (keyof Inventory)[])
    if (told[field] === before[field]) one[field] = now[field];
  const { reserved, total, min_unit: least, max_unit: most } = one;
  return { ...one, reserved: Math.min(reserved, total), min_unit: Math.min(least, most) };
}
