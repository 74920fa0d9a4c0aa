// Trees that grow and change one provider at a time: a provider is planted, gets another parent with all that is
// below it, or goes.

import type { MovingProvider } from '../messages/placement-api.ts';
import { learnNames } from './catalog.ts';
import { countAnew, noteHolders } from './counting-anew.ts';
import { install, uninstall } from './indexes.ts';
import { makeProvider, type Provider, type Providers } from './providers.ts';
import type { PlacementState } from './state.ts';

/** A new provider: a root of its own, or below a parent. */
export function plant(
  state: PlacementState,
  { id, name, parent, at }: { id: string; name: string; parent: string | null; at: number },
): void {
  const root = parent === null ? id : (state.providers.get(parent)?.root ?? id);
  const provider = makeProvider({ id, name, parent, inventories: {}, traits: [], aggregates: [] }, root);
  provider.changedAt = at;
  install(state, provider);
  state.trees.set(root, root === id ? [id] : [...(state.trees.get(root) ?? [root]), id]);
  state.untold.changed.add(id);
  state.untold.removed.delete(id);
  const holders = new Set<string>();
  noteHolders(provider, holders);
  countAnew(state, holders, treeOf(state, root));
}

/** Takes out providers of one tree: some leaf, or a provider and all below it. */
export function uproot(state: PlacementState, ids: readonly string[]): void {
  const gone = ids.toReversed().flatMap((id) => state.providers.get(id) ?? []);
  const [first] = gone;
  if (first === undefined) return;
  const holders = new Set<string>();
  for (const provider of gone) {
    const { id } = provider.spec;
    noteHolders(provider, holders);
    uninstall(state, id);
    state.untold.changed.delete(id);
    state.untold.removed.add(id);
  }
  prune(state, first.root, new Set(ids));
  countAnew(state, holders, treeOf(state, first.root));
}

/** Providers that come from another shard, below a parent; that is no change of theirs that callers compare. */
export function graft(
  state: PlacementState,
  { parent, providers, at }: { parent: string; providers: readonly MovingProvider[]; at: number },
): void {
  const root = state.providers.get(parent)?.root ?? parent;
  const holders = new Set<string>();
  for (const [position, { generation, quiet, changedAt, ...told }] of providers.entries()) {
    const spec = position === 0 ? { ...told, parent } : told;
    const provider = makeProvider(spec, root);
    Object.assign(provider, {
      generation: generation + 1,
      quiet: quiet + 1,
      changedAt: position === 0 ? at : changedAt,
    });
    install(state, provider);
    noteHolders(provider, holders);
    learnNames(state.catalog, spec);
    state.untold.changed.add(spec.id);
    state.untold.removed.delete(spec.id);
  }
  state.trees.set(root, [...(state.trees.get(root) ?? [root]), ...providers.map(({ id }) => id)]);
  for (const look of state.looks) look.grown?.(root);
  countAnew(state, holders, treeOf(state, root));
}

/** The ids of a provider and of all below it, parents before their children. */
export function subtreeOf({ providers, trees }: Pick<PlacementState, 'providers' | 'trees'>, id: string): string[] {
  const root = providers.get(id)?.root;
  const below = new Map<string, string[]>();
  for (const one of trees.get(root ?? '') ?? []) {
    const parent = providers.get(one)?.spec.parent;
    if (parent === null || parent === undefined) continue;
    const siblings = below.get(parent);
    if (siblings === undefined) below.set(parent, [one]);
    else siblings.push(one);
  }
  const found = [id];
  for (let next = 0; next < found.length; next += 1) found.push(...(below.get(found[next] as string) ?? []));
  return found;
}

/**
 * Gives a provider another parent, or none; all below it comes along.
 * @param keepsOthers Whether it is left as it is by the compute of the tree that it comes to.
 */
export function moveSubtree(state: PlacementState, id: string, parent: string | null, keepsOthers: boolean): void {
  const { providers, trees, untold } = state;
  const moving = subtreeOf(state, id);
  const oldRoot = (providers.get(id) as Provider).root;
  const root = parent === null ? id : (providers.get(parent) as Provider).root;
  for (const one of moving) {
    const before = providers.get(one) as Provider;
    const spec = one === id ? { ...before.spec, parent } : before.spec;
    // The compute that told it tells another tree; to that of the tree that it comes to it is somebody else's.
    const isTakenOut = keepsOthers && root !== oldRoot;
    const after = makeProvider(spec, root, before, isTakenOut ? null : before.told);
    after.wasHost ||= isTakenOut && before.told?.parent === null;
    after.quiet += 1;
    install(state, after);
    untold.changed.add(one);
  }
  if (root === oldRoot) return;
  prune(state, oldRoot, new Set(moving));
  trees.set(root, root === id ? moving : [...(trees.get(root) ?? [root]), ...moving]);
  for (const look of state.looks) look.grown?.(root);
}

function prune({ trees }: Pick<PlacementState, 'trees'>, root: string, gone: ReadonlySet<string>): void {
  const left = (trees.get(root) ?? []).filter((one) => !gone.has(one));
  if (left.length === 0) trees.delete(root);
  else trees.set(root, left);
}

/** The providers of a tree, the root first. */
export function treeOf(
  { providers, trees }: { readonly providers: Providers; readonly trees: PlacementState['trees'] },
  root: string,
): Provider[] {
  return (trees.get(root) ?? []).map((id) => providers.get(id) as Provider);
}

export function hasChildren({ providers, trees }: Pick<PlacementState, 'providers' | 'trees'>, id: string): boolean {
  const tree = trees.get(providers.get(id)?.root ?? '') ?? [];
  return tree.some((one) => providers.get(one)?.spec.parent === id);
}
