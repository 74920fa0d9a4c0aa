// Trees as computes tell them, whole: what is new or other than before is put in, and what is told no more goes, unless
// something is still held on it.

import type { ProviderSpec } from '../messages/placement.ts';
import { learnNames } from './catalog.ts';
import { install, uninstall } from './indexes.ts';
import { inUse, isLeftover, makeProvider, type Provider, sameAsTold } from './providers.ts';
import type { PlacementState } from './state.ts';

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
