// What placement ought to answer, by the plainest reckoning there is: allocations are added up anew for every question.
// It shares no code with actors/placement/.

import type { Claim, Inventory, ProviderSpec, Release } from '../../actors/messages/placement.ts';
import type { Allocation } from '../../machines/instance-build.ts';

export interface Oracle {
  /** The trees as told last, by root, and what of them is still in use though it is told no more. */
  put(providers: readonly ProviderSpec[]): void;
  /**
   * What the consumer then holds for the attempt, or null when the claim is refused. Where what the claim names has no room
   * and others of the tree have, it is any of what they could give: then `granted`, if that is one of them.
   */
  claim(claim: Claim, now: number, granted?: readonly Allocation[]): readonly Allocation[] | null;
  release(release: Release): void;
  /** What is held of a class of a provider. */
  used(provider: string, resourceClass: string): number;
  capacity(provider: string, resourceClass: string): number;
  held(): Record<string, { attempt: number; allocations: readonly Allocation[] }[]>;
  providers(): string[];
}

interface Holder {
  latest: number;
  held: Map<number, readonly Allocation[]>;
}

/** Whether two lists give the same, in whatever order; what one provider gives a group may stand in several of them. */
function sameGiven(one: readonly Allocation[], other: readonly Allocation[] | undefined): boolean {
  const given = (list: readonly Allocation[]) =>
    list
      .flatMap(({ provider, group, resources }) =>
        Object.entries(resources).map(([resourceClass, amount]) => `${provider} ${group} ${resourceClass} ${amount}`),
      )
      .sort()
      .join();
  return other !== undefined && given(one) === given(other);
}

export function placementOracle(): Oracle {
  const inventories = new Map<string, { root: string; of: Readonly<Record<string, Inventory>> }>();
  const holders = new Map<string, Holder>();
  const deleted = new Set<string>();

  const allocations = () => [...holders.values()].flatMap(({ held }) => [...held.values()].flat());

  function used(provider: string, resourceClass: string): number {
    return allocations()
      .filter((one) => one.provider === provider)
      .reduce((sum, { resources }) => sum + (resources[resourceClass] ?? 0), 0);
  }

  function capacity(provider: string, resourceClass: string): number {
    const inventory = inventories.get(provider)?.of[resourceClass];
    return inventory === undefined ? 0 : (inventory.total - inventory.reserved) * inventory.allocation_ratio;
  }

  function serves({ allocations: asked, spec }: Claim): boolean {
    const key = (group: string, resourceClass: string) => `${group} ${resourceClass}`;
    const wanted = new Map<string, number>();
    for (const { name, resources } of spec.groups) {
      for (const [resourceClass, amount] of Object.entries(resources)) wanted.set(key(name, resourceClass), amount);
    }
    for (const { group, resources } of asked) {
      for (const [resourceClass, amount] of Object.entries(resources)) {
        wanted.set(key(group, resourceClass), (wanted.get(key(group, resourceClass)) ?? 0) - amount);
      }
    }
    const spread = spec.groups.some(
      ({ name }) => name !== '' && asked.filter(({ group }) => group === name).length > 1,
    );
    return !spread && [...wanted.values()].every((left) => left === 0);
  }

  function fits(claim: Claim): boolean {
    const { allocations: asked } = claim;
    if (!asked.every(({ provider }) => inventories.has(provider))) return false;
    if (new Set(asked.map(({ provider }) => inventories.get(provider)?.root)).size > 1) return false;
    if (!serves(claim)) return false;
    return asked.every(({ provider, resources }) =>
      Object.entries(resources).every(([resourceClass, amount]) => {
        const inventory = inventories.get(provider)?.of[resourceClass];
        if (inventory === undefined) return false;
        const { min_unit, max_unit, step_size } = inventory;
        if (amount < min_unit || amount > max_unit || amount % step_size !== 0) return false;
        const all = asked
          .filter((one) => one.provider === provider)
          .reduce((sum, one) => sum + (one.resources[resourceClass] ?? 0), 0);
        return all <= max_unit && used(provider, resourceClass) + all <= capacity(provider, resourceClass);
      }),
    );
  }

  /** All that a tree could give instead of what a claim names of it; the unnamed group is the host's own. */
  function ways(claim: Claim): (readonly Allocation[])[] {
    const { root } = claim;
    const tree = [...inventories].filter(([, known]) => known.root === root).map(([id]) => id);
    const isOfOneTree = claim.allocations.every(({ provider }) => (inventories.get(provider)?.root ?? root) === root);
    if (root === undefined || !inventories.has(root) || !isOfOneTree || !serves(claim)) return [];
    let found: Allocation[][] = [[]];
    for (const one of claim.allocations) {
      const servers = one.group === '' ? [root] : tree;
      found = found.flatMap((before) => servers.map((provider) => [...before, { ...one, provider }]));
    }
    return found.filter((allocated) => fits({ ...claim, allocations: allocated }));
  }

  function inUse(provider: string): boolean {
    return allocations().some((one) => one.provider === provider);
  }

  return {
    put(providers) {
      const root = (providers[0] as ProviderSpec).id;
      for (const [id, known] of inventories) {
        if (known.root !== root || providers.some((spec) => spec.id === id)) continue;
        if (inUse(id)) inventories.set(id, { root, of: {} });
        else inventories.delete(id);
      }
      for (const { id, inventories: of } of providers) inventories.set(id, { root, of });
    },
    claim(claim, now, told) {
      const { consumer, attempt, keep } = claim;
      if (deleted.has(consumer)) return null;
      const holder = holders.get(consumer);
      if (holder !== undefined && attempt <= holder.latest) {
        return attempt === holder.latest ? (holder.held.get(attempt) ?? null) : null;
      }
      if (now > claim.expiresAt) return null;
      for (const one of [...(holder?.held.keys() ?? [])]) if (!keep.includes(one)) holder?.held.delete(one);
      const among = fits(claim) ? [claim.allocations] : ways(claim);
      const granted = among.find((way) => sameGiven(way, told)) ?? among[0] ?? null;
      if (granted !== null || holder !== undefined) {
        const kept = holder?.held ?? new Map<number, readonly Allocation[]>();
        if (granted !== null) kept.set(attempt, granted);
        holders.set(consumer, { latest: attempt, held: kept });
      }
      return granted;
    },
    release({ consumer, attempt, keep, deleted: forGood }) {
      const holder = holders.get(consumer);
      // What a deleted consumer was left with goes back attempt by attempt.
      if (attempt === undefined && deleted.has(consumer)) return;
      for (const one of [...(holder?.held.keys() ?? [])]) {
        if (attempt === undefined ? !keep?.includes(one) : one === attempt) holder?.held.delete(one);
      }
      if (forGood) deleted.add(consumer);
    },
    used,
    capacity,
    held: () =>
      Object.fromEntries(
        [...holders]
          .filter(([, { held }]) => held.size > 0)
          .map(([consumer, { held }]) => [
            consumer,
            [...held].map(([attempt, allocated]) => ({ attempt, allocations: allocated })),
          ]),
      ),
    providers: () => [...inventories.keys()].sort(),
  };
}
