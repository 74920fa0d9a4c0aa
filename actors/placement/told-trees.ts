// Trees as computes tell them, whole: what is new or other than they told before is put in, and what they tell no more
// goes, unless something is still held on it. What others have set meanwhile, callers of the Placement API, stays: an
// aggregate, a trait, a ratio, a provider below the host.

import type { Address } from '../actor.ts';
import type { Inventory, ProviderSpec, PutTree } from '../messages/placement.ts';
import { isSame } from '../same.ts';
import { learnNames } from './catalog.ts';
import { install, uninstall } from './indexes.ts';
import { inUse, makeProvider, type Provider, treeFault } from './providers.ts';
import type { PlacementRecord } from './records.ts';
import type { PlacementState, Put } from './state.ts';
import { treeOf } from './trees.ts';
import type { ShardWork } from './work.ts';

export function putTree({ state, turn, commit }: ShardWork, asked: PutTree, from: Address): void {
  const { providers, puts } = state;
  const { ask, incarnation, providers: told, again = false } = asked;
  const root = (told[0] as ProviderSpec).id;
  const last = puts.get(root);
  if (comesLate(last, asked)) return turn.send(from, { type: 'tree-put', ask, root });
  if (again && isOfLast(last, asked) && providers.has(root) && isAsTold(state, root, told))
    return turn.send(from, { type: 'tree-put', ask, root });
  const tree = withoutMoved(told, providers);
  const fault = treeFault(tree, providers);
  if (fault !== null) return turn.send(from, { type: 'tree-refused', ask, root, reason: fault });
  const isUnchanged =
    tree.every((spec) => isSame(providers.get(spec.id)?.told, spec)) && isNothingLeft(state, root, tree);
  if (!isUnchanged) commit({ type: 'tree', providers: tree, keepsOthers: true });
  if (incarnation !== undefined) puts.set(root, { incarnation, ask });
  turn.send(from, { type: 'tree-put', ask, root });
}

/** Whether the same life of the compute has told the last one later, though it came before. */
export function comesLate(last: Pick<PutTree, 'incarnation' | 'ask'> | undefined, asked: PutTree): boolean {
  const { incarnation, ask } = asked;
  return incarnation !== undefined && last?.incarnation === incarnation && ask < last.ask;
}

/** Whether, as far as is known, nothing else was taken since: what another life told may lack what this one has. */
function isOfLast(last: Put | undefined, { incarnation, ask }: PutTree): boolean {
  if (last === undefined || incarnation === undefined) return true;
  return last.incarnation === incarnation && last.ask === ask;
}

/**
 * What a compute told before may have come after what it tells now. What others have taken away stays away, or with the tree
 * to which they moved it; what has come back from there is as it was when it went.
 */
function isAsTold(state: PlacementState, root: string, tree: readonly ProviderSpec[]): boolean {
  const isSo = tree.every((spec) => {
    const known = state.providers.get(spec.id);
    if (known === undefined) return true;
    return known.told === null ? known.root !== root : isSame(known.told, spec);
  });
  return isSo && isNothingLeft(state, root, tree);
}

/** Whether of what is told no more only that is there which has to stay, and nothing is left of it to give. */
function isNothingLeft(state: PlacementState, root: string, tree: readonly ProviderSpec[]): boolean {
  return toldNoMore(state, root, tree).every(({ provider, stays }) => stays && isEmptied(provider));
}

/** A tree without what callers have moved to other trees, where it is theirs, and without what would be below that. */
function withoutMoved(tree: readonly ProviderSpec[], providers: PlacementState['providers']): readonly ProviderSpec[] {
  const [root] = tree;
  const moved = new Set<string>();
  for (const { id, parent } of tree) {
    const known = providers.get(id);
    const isMoved = known !== undefined && known.told === null && known.root !== root?.id;
    if ((isMoved && parent !== null) || moved.has(parent ?? '')) moved.add(id);
  }
  return moved.size === 0 ? tree : tree.filter(({ id }) => !moved.has(id));
}

export function applyTree(
  state: PlacementState,
  { providers: tree, ...record }: Extract<PlacementRecord, { type: 'tree' }>,
): void {
  const { providers, trees, untold } = state;
  const keepsOthers = record.keepsOthers === true;
  const root = (tree[0] as ProviderSpec).id;
  const gone = toldNoMore(state, root, tree, keepsOthers);
  const staying = new Set(tree.map(({ id }) => id));
  for (const told of tree) {
    const before = providers.get(told.id);
    const spec = before === undefined || !keepsOthers ? told : merged(before, told);
    if (before !== undefined && isSame(before.spec, spec)) {
      providers.touch(told.id);
      before.told = isSame(before.spec, told) ? before.spec : told;
      continue;
    }
    install(state, makeProvider(spec, root, before, told));
    learnNames(state.catalog, spec);
    untold.changed.add(told.id);
  }
  for (const id of trees.get(root) ?? []) staying.add(id);
  for (const { provider, stays } of gone) {
    const { id } = provider.spec;
    if (!stays) {
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
}

/**
 * The providers that the compute told before, and tells no more. One stays, empty, while something is held on it, or
 * something that stays is below it.
 * @param keepsOthers Whether those that no compute told are left as they are.
 */
function toldNoMore(state: PlacementState, root: string, tree: readonly ProviderSpec[], keepsOthers = true) {
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

function isEmptied({ spec, told }: Provider): boolean {
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
