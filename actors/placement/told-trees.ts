// Trees as computes tell them, whole: whether what is told is news, and may be put in. What that changes is in tree-apply.ts.

import type { Address } from '../actor.ts';
import type { ProviderSpec, PutTree } from '../messages/placement.ts';
import { present } from '../present.ts';
import { isSame } from '../same.ts';
import { keyOf, partsOf, withoutDoubtful } from './newcomers.ts';
import { treeFault } from './providers.ts';
import { comesLate, isOfLast } from './puts.ts';
import type { PlacementState } from './state.ts';
import { giveUpComing, openChange } from './together.ts';
import { isEmptied, toldNoMore } from './tree-apply.ts';
import { commit, type ShardWork } from './work.ts';

export function putTree(work: ShardWork, asked: PutTree, from: Address): void {
  const { state, turn } = work;
  const { providers, puts } = state;
  const { ask, incarnation, providers: told, again = false } = asked;
  const root = (told[0] as ProviderSpec).id;
  const last = puts.get(root);
  if (comesLate(last, asked)) return turn.send(from, { type: 'tree-put', ask, root });
  giveUpComing(work, root, keyOf({ root, ...asked }));
  if (again && isOfLast(last, asked) && providers.has(root) && isAsTold(state, root, told))
    return turn.send(from, { type: 'tree-put', ask, root });
  const tree = withoutMoved(told, providers);
  const fault = treeFault(tree, providers);
  if (fault !== null) return turn.send(from, { type: 'tree-refused', ask, root, reason: fault });
  const { tree: sure, doubtful } = withoutDoubtful(state, tree);
  const come = () => letCome(work, asked, doubtful, from);
  if (incarnation !== undefined) puts.set(root, { incarnation, ask });
  // Whether it can be put in at all is known when the other shards have answered.
  if (sure.length === 0) return come();
  const isUnchanged =
    sure.every((spec) => isSame(providers.get(spec.id)?.told, spec)) && isNothingLeft(state, root, sure);
  if (!isUnchanged) commit(work, { type: 'tree', providers: sure, keepsOthers: true });
  come();
  turn.send(from, { type: 'tree-put', ask, root });
}

/** Lets what may be with another shard come in, if it is with none. */
function letCome(work: ShardWork, asked: PutTree, doubtful: readonly ProviderSpec[], from: Address): void {
  if (doubtful.length === 0) return;
  const { ask, incarnation, providers: told } = asked;
  const root = (told[0] as ProviderSpec).id;
  const comes = { root, providers: [...doubtful], ask, ...present({ incarnation }) };
  openChange(work, { key: keyOf(comes), from, ask, parts: partsOf(work, comes), brief: true });
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
