// Who could serve a part of a request, seen from one tree: providers of the tree, and providers elsewhere that share
// with it through an aggregate.

import type { CandidateGroup } from '../../../messages/placement-api.ts';
import type { Provider } from '../../providers.ts';
import type { PlacementState } from '../../state.ts';
import { canGive } from '../reads.ts';

/**
 * One choice to be made: a provider for one class of the unnamed group, or for all of a named group.
 */
export interface Slot {
  readonly group: CandidateGroup;
  /** Amounts by class; empty when a group asks for a provider with certain traits and nothing of it. */
  readonly resources: Readonly<Record<string, number>>;
  readonly options: readonly Provider[];
}

/** The providers that share with a tree, by its root; a tree's own are among them. */
export type Sharers = ReadonlyMap<string, readonly Provider[]>;

/** `foreign`: providers of other shards that share. */
export function sharersOf({ providers, indexes }: PlacementState, foreign: readonly Provider[]): Sharers {
  const sharers = new Map<string, Set<Provider>>();
  const own = [...indexes.sharing].map((id) => providers.get(id) as Provider);
  for (const sharer of [...own, ...foreign]) {
    for (const aggregate of sharer.aggregates) {
      for (const member of indexes.aggregates.get(aggregate) ?? []) {
        const { root } = providers.get(member) as Provider;
        const known = sharers.get(root);
        if (known === undefined) sharers.set(root, new Set([sharer]));
        else known.add(sharer);
      }
    }
  }
  return new Map([...sharers].map(([root, ofRoot]) => [root, [...ofRoot]]));
}

/** The choices to be made for a request in one tree, or null when one of them has no option. */
export function slotsOf(
  groups: readonly CandidateGroup[],
  tree: readonly Provider[],
  sharers: readonly Provider[],
  treesAsked: ReadonlyMap<CandidateGroup, string>,
): Slot[] | null {
  const slots: Slot[] = [];
  for (const group of groups) {
    const treeAsked = treesAsked.get(group);
    if (group.suffix !== '') {
      const options = namedOptions(group, tree, sharers, treeAsked);
      if (options.length === 0) return null;
      slots.push({ group, resources: group.resources, options });
      continue;
    }
    for (const resourceClass in group.resources) {
      const amount = group.resources[resourceClass] as number;
      const options = unnamedOptions(group, resourceClass, amount, tree, sharers, treeAsked);
      if (options.length === 0) return null;
      slots.push({ group, resources: { [resourceClass]: amount }, options });
    }
  }
  return slots;
}

/** A named group is served by one provider, which meets all that the group asks by itself. */
function namedOptions(
  group: CandidateGroup,
  tree: readonly Provider[],
  sharers: readonly Provider[],
  treeAsked: string | undefined,
): Provider[] {
  const resourceless = Object.keys(group.resources).length === 0;
  // Asked for nothing and with nothing that it must be or belong to, no provider is meant: as in the reference.
  if (resourceless && group.required.length === 0 && group.memberOf.length === 0) return [];
  const serves = (provider: Provider): boolean => {
    if (treeAsked !== undefined && !resourceless && provider.root !== treeAsked) return false;
    for (const resourceClass in group.resources) {
      if (!canGive(provider, resourceClass, group.resources[resourceClass] as number)) return false;
    }
    const { traits } = provider;
    return (
      group.required.every((any) => any.some((trait) => traits.has(trait))) &&
      !group.forbidden.some((trait) => traits.has(trait)) &&
      inAggregates(provider, group.memberOf) &&
      !inAny(provider, group.notMemberOf)
    );
  };
  const options = tree.filter(serves);
  for (const sharer of sharers) if (!tree.includes(sharer) && serves(sharer)) options.push(sharer);
  return options;
}

/**
 * The unnamed group may be spread: each class comes from any provider of the tree, or from one that shares with it. Its
 * traits are looked at when all choices are made, but a forbidden one rules a provider out at once.
 */
function unnamedOptions(
  group: CandidateGroup,
  resourceClass: string,
  amount: number,
  tree: readonly Provider[],
  sharers: readonly Provider[],
  treeAsked: string | undefined,
): Provider[] {
  const root = tree[0] as Provider;
  if (treeAsked !== undefined && root.root !== treeAsked) return [];
  if (inAny(root, group.notMemberOf)) return [];
  const rootIsMember = inAggregates(root, group.memberOf);
  const serves = (provider: Provider): boolean =>
    canGive(provider, resourceClass, amount) &&
    !group.forbidden.some((trait) => provider.traits.has(trait)) &&
    !inAny(provider, group.notMemberOf);
  const options = tree.filter((one) => (rootIsMember || inAggregates(one, group.memberOf)) && serves(one));
  if (treeAsked !== undefined) return options;
  for (const sharer of sharers) {
    if (!tree.includes(sharer) && inAggregates(sharer, group.memberOf) && serves(sharer)) options.push(sharer);
  }
  return options;
}

/** Whether a provider is, for each list, in one aggregate of it. */
function inAggregates({ aggregates }: Provider, lists: readonly (readonly string[])[]): boolean {
  return lists.every((list) => list.some((aggregate) => aggregates.has(aggregate)));
}

function inAny({ aggregates }: Provider, list: readonly string[]): boolean {
  return list.some((aggregate) => aggregates.has(aggregate));
}
