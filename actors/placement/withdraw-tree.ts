// A tree whose host is gone for good goes with all that is in it, unless somebody still holds something there.

import type { Address } from '../actor.ts';
import { firstListed } from '../count-words.ts';
import type { WithdrawTree } from '../messages/placement.ts';
import { holdersOf } from './holders.ts';
import { inUse, type Provider } from './providers.ts';
import type { PlacementState } from './state.ts';
import { giveUpComing } from './together.ts';
import { subtreeOf, treeOf } from './trees.ts';
import { commit, type ShardWork } from './work.ts';

/** Of how many consumers it is said which they are. */
const MOST_NAMED = 3;

export function withdrawTree(work: ShardWork, { ask, root }: WithdrawTree, from: Address): void {
  const { state, turn } = work;
  const reason = whyKept(state, root);
  if (reason !== null) return turn.send(from, { type: 'tree-kept', ask, root, reason });
  giveUpComing(work, root);
  const ids = state.trees.has(root) ? subtreeOf(state, root) : [];
  // Recorded also when nothing is there: a shard that was superseded cannot, and may not know of the tree.
  commit(work, ids.length === 0 ? { type: 'read' } : { type: 'subtree-left', ids });
  turn.send(from, { type: 'tree-withdrawn', ask, root });
}

function whyKept(state: PlacementState, root: string): string | null {
  const provider = state.providers.get(root);
  if (provider === undefined) return null;
  if (provider.root !== root) return `provider '${root}' has been put below another, '${provider.root}'`;
  const tree = treeOf(state, root);
  if (!tree.some(inUse)) return null;
  const holders = holdersIn(tree);
  // A change that is not decided yet may use it for somebody who holds nothing there.
  if (holders.length === 0) return `something is held on provider '${root}' or below it`;
  const named = holders.slice(0, MOST_NAMED).map((consumer) => `'${consumer}'`);
  return `${firstListed(named, holders.length)} still ${holders.length === 1 ? 'holds' : 'hold'} something there`;
}

function holdersIn(tree: readonly Provider[]): string[] {
  const found = new Set<string>();
  for (const provider of tree) for (const consumer of holdersOf(provider)) found.add(consumer);
  return [...found];
}
