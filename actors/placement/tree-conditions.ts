// The conditions of a claim on the whole tree that serves it: its aggregates, which tree it is, and who else holds
// something of it. They are checked where the claim is decided, whoever claims: a scheduler, or later an alternate.

import { shortened } from '../count-words.ts';
import type { TreeConditions } from '../messages/common.ts';
import type { Claim, Refusal } from '../messages/placement.ts';
import type { Consumers, Held } from './consumers.ts';
import { type Provider, type Providers, rootServing } from './providers.ts';

/** The first condition on the tree that does not hold, or null. */
export function refusalOfTree(
  { consumer, allocations, spec: { tree } }: Claim,
  providers: Providers,
  consumers: Consumers,
): Refusal | null {
  if (tree === undefined) return null;
  const root = rootServing(allocations, providers);
  if (root === undefined) return null;
  return (
    outsideAggregates(tree, root) ??
    notTheRoot(tree, root) ??
    wrongCompany(tree, root, {
      isHomeOf: (other) => other !== consumer && homesOf(other, consumers, providers).has(root.spec.id),
      holds: (other) => other !== consumer && rootsOf(other, consumers, providers).has(root.spec.id),
    })
  );
}

/** The roots of all trees of which a consumer holds something. */
export function rootsOf(consumer: string, { holding }: Consumers, providers: Providers): Set<string> {
  return rootsOfHeld(holding.get(consumer)?.held ?? [], providers);
}

/** The roots where a consumer is: what an earlier attempt left behind, which only waits to be cleared away, is not it. */
export function homesOf(consumer: string, { holding }: Consumers, providers: Providers): Set<string> {
  const known = holding.get(consumer);
  if (known === undefined || known.away === true) return new Set();
  const current = known.held.filter(({ attempt }) => attempt === known.latest);
  return rootsOfHeld(current, providers);
}

function rootsOfHeld(held: readonly Held[], providers: Providers): Set<string> {
  const roots = new Set<string>();
  for (const { allocations } of held) {
    for (const { provider } of allocations) {
      const root = providers.get(provider)?.root;
      if (root !== undefined) roots.add(root);
    }
  }
  return roots;
}

/** `is not in aggregate gold`: of which it is to be in one. */
export function outsideWords(aggregates: readonly string[]): string {
  const [only, ...others] = aggregates;
  return others.length === 0
    ? `is not in aggregate ${only}`
    : `is in none of the aggregates ${shortened(aggregates.join(', '))}`;
}

function outsideAggregates({ memberOf, notMemberOf }: TreeConditions, root: Provider): Refusal | null {
  const { id: provider, name } = root.spec;
  for (const aggregates of memberOf ?? []) {
    if (aggregates.some((aggregate) => root.aggregates.has(aggregate))) continue;
    const condition = aggregates.join(', ');
    const message = `provider '${name}' ${outsideWords(aggregates)}`;
    return { code: 'not-in-aggregate', message, provider, condition };
  }
  const avoided = root.aggregates.size === 0 ? undefined : notMemberOf?.find((one) => root.aggregates.has(one));
  if (avoided === undefined) return null;
  const message = `provider '${name}' is in aggregate ${avoided}, which is closed to the request`;
  return { code: 'in-avoided-aggregate', message, provider, condition: avoided };
}

export function notTheRoot({ oneOf, noneOf }: TreeConditions, root: Provider): Refusal | null {
  const { id: provider, name } = root.spec;
  if (oneOf !== undefined && !oneOf.includes(provider)) {
    return {
      code: 'not-a-named-provider',
      message: `provider '${name}' is none of those that the request names`,
      provider,
    };
  }
  if (noneOf?.includes(provider) !== true) return null;
  return { code: 'avoided-provider', message: `provider '${name}' is one that the request avoids`, provider };
}

/**
 * Whoever wants to be with others is to be where they are, and whoever keeps apart also from where something of them may
 * still run.
 */
function wrongCompany(
  { heldBy, notHeldBy }: TreeConditions,
  root: Provider,
  { isHomeOf, holds }: Record<'isHomeOf' | 'holds', (consumer: string) => boolean>,
): Refusal | null {
  const { id: provider, name } = root.spec;
  if (heldBy !== undefined && !heldBy.some(isHomeOf)) {
    const message = `provider '${name}' has none of ${heldBy.join(', ')}`;
    return { code: 'consumer-missing', message, provider };
  }
  const present = notHeldBy?.find(holds);
  if (present === undefined) return null;
  return { code: 'consumer-present', message: `provider '${name}' holds ${present}, to be kept apart`, provider };
}
