// Trees as computes tell them, whole: whether what is told is news, and may be put in. What that changes is in tree-apply.ts.

import type { Address } from '../actor.ts';
import type { ProviderSpec, PutTree } from '../messages/placement.ts';
import { isSame } from '../same.ts';
import { treeFault } from './providers.ts';
import { comesLate, isOfLast } from './puts.ts';
import type { PlacementState } from './state.ts';
import { isEmptied, toldNoMore } from './tree-apply.ts';
import { commit, type ShardWork } from './work.ts';

export function putTree(work: ShardWork, asked: PutTree, from: Address): void {
  const { state, turn } = work;
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
  if (!isUnchanged) commit(work, { type: 'tree', providers: tree, keepsOthers: true });
  if (incarnation !== undefined) puts.set(root, { incarnation, ask });
  turn.send(from, { type: 'tree-put', ask, root });
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
