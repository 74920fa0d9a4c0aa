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

/** The providers that share with others through an aggregate. */
export interface Sharers {
  /** Whether any tree is shared with. */
  readonly areAny: boolean;
  /** Those that share with a tree; its own are among them. */
  with(tree: readonly Provider[]): readonly Provider[];
  /** Whether one of them is in such a tree, or in such an aggregate. */
  areIn(where: (sharer: Provider) => boolean): boolean;
}

/**
 * Of each tree it is found when it is come to: an aggregate may have all hosts, of which a question looks at a few.
 * @param foreign Providers of other shards that share.
 */
export function sharersOf({ providers, indexes }: PlacementState, foreign: readonly Provider[]): Sharers {
  const own = [...indexes.sharing].map((id) => providers.get(id) as Provider);
  // One that has come here from another shard is as it is here.
  const all = [...own, ...foreign.filter(({ spec }) => !providers.has(spec.id))];
  const byAggregate = new Map<string, Provider[]>();
  for (const sharer of all) {
    for (const aggregate of sharer.aggregates) {
      if (!indexes.aggregates.has(aggregate)) continue;
      const known = byAggregate.get(aggregate);
      if (known === undefined) byAggregate.set(aggregate, [sharer]);
      else known.push(sharer);
    }
  }
  return {
    areAny: byAggregate.size > 0,
    with(tree) {
      if (byAggregate.size === 0) return [];
      const found = new Set<Provider>();
      for (const { aggregates } of tree) {
        for (const aggregate of aggregates) for (const sharer of byAggregate.get(aggregate) ?? []) found.add(sharer);
      }
      return found.size < 2 ? [...found] : all.filter((sharer) => found.has(sharer));
    },
    areIn: (where) => all.some(where),
  };
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
    if (lacksTrait(group, tree, sharers)) return null;
    for (const resourceClass in group.resources) {
      const amount = group.resources[resourceClass] as number;
      const options = unnamedOptions(group, resourceClass, amount, tree, sharers, treeAsked);
      if (options.length === 0) return null;
      slots.push({ group, resources: { [resourceClass]: amount }, options });
    }
  }
  return slots;
}

/** Whether nobody has a trait that what serves the unnamed group must have; then no choice needs to be tried. */
function lacksTrait(
  { required, resources }: CandidateGroup,
  tree: readonly Provider[],
  sharers: readonly Provider[],
): boolean {
  if (required.length === 0 || Object.keys(resources).length === 0) return false;
  const has = (any: readonly string[]) => (one: Provider) => any.some((trait) => one.traits.has(trait));
  return !required.every((any) => tree.some(has(any)) || sharers.some(has(any)));
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
