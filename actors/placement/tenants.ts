// How many instances have something of a tree: counted by root as it is taken and given back, so that a claim may say how
// many there may be. What callers of the Placement API hold for consumers of their own is none.

import type { Claim, Refusal } from '../messages/placement.ts';
import { OF_NO_BUILD } from '../messages/placement.ts';
import type { Consumers, Held } from './consumers.ts';
import type { Provider, Providers } from './providers.ts';

/** Counts an attempt on the trees of which it holds something (1), or no longer (-1). */
export function countTenant({ attempt, allocations }: Held, sign: 1 | -1, providers: Providers): void {
  if (attempt === OF_NO_BUILD) return;
  const [first] = allocations;
  // A build holds something of one tree; only a caller of the Placement API may give it more.
  if (allocations.length < 2) {
    const root = first === undefined ? undefined : rootOf(first.provider, providers);
    if (root !== undefined) root.tenants += sign;
    return;
  }
  for (const root of new Set(allocations.map(({ provider }) => rootOf(provider, providers)))) {
    if (root !== undefined) root.tenants += sign;
  }
}

function rootOf(id: string, providers: Providers): Provider | undefined {
  const provider = providers.get(id);
  return provider === undefined || provider.root === id ? provider : providers.get(provider.root);
}

/** Counts anew, after a tree has become part of another. */
export function countTenants({ holding }: Consumers, providers: Providers): void {
  for (const provider of providers.values()) provider.tenants = 0;
  for (const { held } of holding.values()) for (const one of held) countTenant(one, 1, providers);
}

/** Whether the host has as many instances as the claim allows. The claimant itself does not count: it may be moving. */
export function refusalOfTenants(
  { consumer, allocations, maxInstances }: Claim,
  { providers, consumers }: { readonly providers: Providers; readonly consumers: Consumers },
): Refusal | null {
  if (maxInstances === undefined) return null;
  const root = rootOf(allocations[0]?.provider ?? '', providers);
  if (root === undefined) return null;
  const own = (consumers.holding.get(consumer)?.held ?? []).filter(
    ({ attempt, allocations: held }) =>
      attempt !== OF_NO_BUILD && held.some(({ provider }) => rootOf(provider, providers) === root),
  );
  const others = root.tenants - own.length;
  if (others < maxInstances) return null;
  const { id: provider, name } = root.spec;
  const message = `host '${name}' has ${others} instances, and may have ${maxInstances}`;
  return { code: 'too-many-instances', message, provider, short: others + 1 - maxInstances };
}
