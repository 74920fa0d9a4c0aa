// Trees as computes tell them, whole: what is new or other than before is put in, and what is told no more goes, unless
// something is still held on it.

import type { Address } from '../actor.ts';
import type { ProviderSpec, PutTree } from '../messages/placement.ts';
import { learnNames } from './catalog.ts';
import { install, uninstall } from './indexes.ts';
import { inUse, isLeftover, makeProvider, type Provider, sameAsTold, treeFault } from './providers.ts';
import type { PlacementState } from './state.ts';
import type { ShardWork } from './work.ts';

export function putTree({ state, turn, commit }: ShardWork, { ask, providers: tree }: PutTree, from: Address): void {
  const { providers, trees } = state;
  const root = (tree[0] as ProviderSpec).id;
  const fault = treeFault(tree, providers);
  if (fault !== null) return turn.send(from, { type: 'tree-refused', ask, root, reason: fault });
  const told = new Set(tree.map(({ id }) => id));
  const isUnchanged =
    tree.every((spec) => sameAsTold(providers.get(spec.id), spec)) &&
    (trees.get(root) ?? []).every((id) => told.has(id) || isLeftover(providers.get(id) as Provider));
  if (!isUnchanged) commit({ type: 'tree', providers: tree });
  turn.send(from, { type: 'tree-put', ask, root });
}

export function applyTree(state: PlacementState, tree: readonly ProviderSpec[]): void {
  const { providers, trees, untold } = state;
  const root = (tree[0] as ProviderSpec).id;
  const told = new Set<string>();
  for (const spec of tree) {
    told.add(spec.id);
    const before = providers.get(spec.id);
    if (sameAsTold(before, spec)) continue;
    install(state, makeProvider(spec, root, before));
    learnNames(state.catalog, spec);
    untold.changed.add(spec.id);
  }
  const staying: string[] = [...told];
  for (const id of trees.get(root) ?? []) {
    if (told.has(id)) continue;
    const gone = providers.get(id) as Provider;
    if (isLeftover(gone)) {
      staying.push(id);
    } else if (inUse(gone)) {
      // It is no longer told, but something is held on it: it stays, empty, until the tree is told without that.
      install(state, makeProvider({ ...gone.spec, inventories: {} }, root, gone));
      untold.changed.add(id);
      staying.push(id);
    } else {
      uninstall(state, id);
      untold.removed.add(id);
    }
  }
  trees.set(root, staying);
}
