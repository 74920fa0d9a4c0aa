// How many instances have something of a tree, each attempt of a build for itself: counted by root as it is taken and given
// back, so that a claim may say how many there may be, and told with the use of the root. What callers of the Placement API
// hold for consumers of their own is none.

import { adjust } from '../amounts.ts';
import { howMany } from '../count-words.ts';
import type { Claim, Refusal } from '../messages/placement.ts';
import { OF_NO_BUILD } from '../messages/placement.ts';
import type { Consumers, Held } from './consumers.ts';
import { holdersOf } from './holders.ts';
import { noteQuietly, type Provider, type Providers, rootOf, rootServing } from './providers.ts';

/**
 * Counts an attempt on the trees of which it holds something (1), or no longer (-1), whose use of providers is counted
 * already. `changed` gets the roots that are to be told though nothing of their own is used.
 */
export function countTenant(held: Held, sign: 1 | -1, providers: Providers, changed: Set<string>): void {
  for (const root of rootsOf(held, providers)) {
    root.tenants += sign;
    if (!held.allocations.some(({ provider }) => provider === root.spec.id)) noteQuietly(providers, root, changed);
  }
}

/** The roots of the trees of which an attempt of a build holds something. */
function rootsOf({ attempt, allocations }: Held, providers: Providers): readonly Provider[] {
  const roots: Provider[] = [];
  if (attempt === OF_NO_BUILD) return roots;
  // A build holds something of one tree; only a caller of the Placement API may give it more.
  for (const { provider } of allocations) {
    const root = rootOf(provider, providers);
    if (root !== undefined && !roots.includes(root)) roots.push(root);
  }
  return roots;
}

/** Counts anew on the providers of two trees, of which one has got a part of the other. */
export function countTenants(
  trees: readonly Provider[],
  { holding }: Consumers,
  providers: Providers,
  changed: Set<string>,
): void {
  const holders = new Set(trees.flatMap((provider) => [...holdersOf(provider)]));
  const counts = new Map<Provider, number>();
  for (const consumer of holders) {
    for (const held of holding.get(consumer)?.held ?? []) {
      for (const root of rootsOf(held, providers)) adjust(counts, root, 1);
    }
  }
  for (const provider of trees) {
    const tenants = counts.get(provider) ?? 0;
    if (provider.tenants === tenants) continue;
    provider.tenants = tenants;
    noteQuietly(providers, provider, changed);
  }
}

/** Whether the host has as many instances as the claim allows. The claimant itself does not count: it may be moving. */
export function refusalOfTenants(
  { consumer, allocations, maxInstances }: Claim,
  { providers, consumers }: { readonly providers: Providers; readonly consumers: Consumers },
): Refusal | null {
  if (maxInstances === undefined) return null;
  const root = rootServing(allocations, providers);
  if (root === undefined) return null;
  const own = (consumers.holding.get(consumer)?.held ?? []).filter(
    ({ attempt, allocations: held }) =>
      attempt !== OF_NO_BUILD && held.some(({ provider }) => rootOf(provider, providers) === root),
  );
  const others = root.tenants - own.length;
  if (others < maxInstances) return null;
  const { id: provider, name } = root.spec;
  const message = `host '${name}' has ${howMany(others, 'instance')}, and may have ${maxInstances}`;
  return { code: 'too-many-instances', message, provider, short: others + 1 - maxInstances };
}
