// Trees of other shards in which something is shared: what a shard tells of its own, and how it sees those of others
// beside its own while it looks for candidates. What is told is a moment old; the claim decides.

import type { ApiOutcome, ForeignProvider } from '../../../messages/placement-api.ts';
import { countsOf, makeProvider, type Provider } from '../../providers.ts';
import { SHARES_VIA_AGGREGATE } from '../../standard-traits.ts';
import type { PlacementState } from '../../state.ts';
import { treeOf } from '../../trees.ts';

/** The providers among which candidates are looked for: those of the shard, and what others share. */
export interface Landscape {
  readonly state: PlacementState;
  readonly providers: { get(id: string): Provider | undefined };
  /** The providers that share, of other shards. */
  readonly sharers: readonly Provider[];
  /** The providers of a tree, the root first. */
  tree(root: string): readonly Provider[];
}

export function landscapeOf(state: PlacementState, foreign: readonly ForeignProvider[] = []): Landscape {
  if (foreign.length === 0) {
    return { state, providers: state.providers, sharers: [], tree: (root) => treeOf(state, root) };
  }
  const others = new Map(foreign.map((told) => [told.id, foreignProvider(told)]));
  const trees = new Map<string, Provider[]>();
  for (const provider of others.values()) {
    const known = trees.get(provider.root);
    if (known === undefined) trees.set(provider.root, [provider]);
    else known.push(provider);
  }
  return {
    state,
    providers: { get: (id) => state.providers.get(id) ?? others.get(id) },
    sharers: [...others.values()].filter(({ traits }) => traits.has(SHARES_VIA_AGGREGATE)),
    tree: (root) => (state.trees.has(root) ? treeOf(state, root) : (trees.get(root) ?? [])),
  };
}

function foreignProvider({ used, root, ...spec }: ForeignProvider): Provider {
  const provider = makeProvider(spec, root);
  for (const [resourceClass, stock] of countsOf(provider)) stock.used = used[resourceClass] ?? 0;
  return provider;
}

export function listSharing(state: PlacementState): ApiOutcome {
  const roots = new Set([...state.indexes.sharing].map((id) => (state.providers.get(id) as Provider).root));
  return { ok: [...roots].flatMap((root) => treeOf(state, root)).map(foreignOf) };
}

function foreignOf({ spec, root, stocks }: Provider): ForeignProvider {
  const { id, name, parent, inventories, traits, aggregates } = spec;
  const used = Object.fromEntries([...stocks].map(([resourceClass, stock]) => [resourceClass, stock.used]));
  return { id, name, parent, root, inventories, traits, aggregates, used };
}
