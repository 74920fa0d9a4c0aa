// Whether a claim may be granted as things stand: every condition that the claim carries is checked here, at the
// moment of the decision, so a candidate chosen from a stale picture can never win.

import type { Allocation } from '../../machines/instance-build.ts';
import { shortened } from '../count-words.ts';
import type { RequestSpec, ResourceGroup } from '../messages/common.ts';
import type { Claim, Refusal } from '../messages/placement.ts';
import type { Consumers } from './consumers.ts';
import { type Groups, refusalOfGroup } from './groups.ts';
import { refusalOf } from './inventory.ts';
import { type Provider, type Providers, rootServing } from './providers.ts';
import { isSubtree } from './subtree.ts';
import { refusalOfTenants } from './tenants.ts';
import { outsideWords } from './tree-conditions.ts';

/** The first condition that does not hold, or null when the claim may be granted. */
export function refusalOfClaim(
  claim: Claim,
  state: { readonly providers: Providers; readonly groups: Groups; readonly consumers: Consumers },
): Refusal | null {
  const { allocations, spec } = claim;
  const { providers } = state;
  return (
    outsideOneTree(allocations, providers) ??
    notAsRequested(allocations, spec) ??
    (asksOfRoot(spec) ? unmetByRoot(spec, rootServing(allocations, providers) as Provider) : null) ??
    unmetGroup(allocations, spec, providers) ??
    notIsolated(allocations, spec) ??
    notOneSubtree(allocations, spec, providers) ??
    refusalOfGroup(claim, state) ??
    refusalOfTenants(claim, state) ??
    noRoom(allocations, providers)
  );
}

function outsideOneTree(allocations: readonly Allocation[], providers: Providers): Refusal | null {
  let root: string | undefined;
  for (const { provider: id } of allocations) {
    const provider = providers.get(id);
    if (provider === undefined) {
      return { code: 'unknown-provider', message: `there is no provider '${id}'`, provider: id };
    }
    root ??= provider.root;
    if (provider.root !== root) {
      const message = `providers '${root}' and '${provider.root}' are of different trees`;
      return { code: 'not-one-tree', message, provider: id };
    }
  }
  return null;
}

/** The allocations must serve the request exactly: each group what it asks, a named one from a single provider. */
export function notAsRequested(allocations: readonly Allocation[], spec: RequestSpec): Refusal | null {
  let served = 0;
  for (const group of spec.groups) {
    const serving = allocations.filter((allocation) => allocation.group === group.name);
    served += serving.length;
    if (group.name !== '' && serving.length > 1) return unserved(group, 'is spread over several providers');
    for (const resourceClass in group.resources) {
      let given = 0;
      for (const { resources } of serving) given += resources[resourceClass] ?? 0;
      if (given !== group.resources[resourceClass]) {
        return unserved(group, `asks ${group.resources[resourceClass]} ${resourceClass} and is given ${given}`);
      }
    }
    for (const { resources } of serving) {
      for (const resourceClass in resources) {
        if (group.resources[resourceClass] === undefined) return unserved(group, `does not ask for ${resourceClass}`);
      }
    }
  }
  if (served === allocations.length) return null;
  return { code: 'does-not-serve-request', message: 'an allocation serves no group of the request' };
}

function unserved(group: ResourceGroup, what: string): Refusal {
  return { code: 'does-not-serve-request', message: `group '${group.name}' ${what}` };
}

export function asksOfRoot({ rootRequired, rootForbidden }: RequestSpec): boolean {
  return rootRequired !== undefined || rootForbidden !== undefined;
}

/** What is asked of the host itself, wherever in its tree the groups are served. */
export function unmetByRoot({ rootRequired, rootForbidden }: RequestSpec, root: Provider): Refusal | null {
  const asked = { name: '', resources: {}, required: rootRequired ?? [], forbidden: rootForbidden ?? [] };
  return unmet(asked, [root], root);
}

function unmetGroup(allocations: readonly Allocation[], spec: RequestSpec, providers: Providers): Refusal | null {
  const root = rootServing(allocations, providers) as Provider;
  for (const group of spec.groups) {
    if (!hasConditions(group)) continue;
    const serving: Provider[] = [];
    for (const { provider, group: name } of allocations) {
      if (name === group.name) serving.push(providers.get(provider) as Provider);
    }
    // A group that asks for traits alone is served by the host itself.
    const refusal = unmet(group, serving.length > 0 ? serving : [root], root);
    if (refusal !== null) return refusal;
  }
  return null;
}

function hasConditions({ required, anyOf, forbidden, memberOf }: ResourceGroup): boolean {
  return required !== undefined || anyOf !== undefined || forbidden !== undefined || memberOf !== undefined;
}

/** Required traits may be spread over what serves the group; a forbidden one may be nowhere in it. */
export function unmet(group: ResourceGroup, serving: readonly Provider[], root: Provider): Refusal | null {
  const { id: provider, name } = (serving[0] as Provider).spec;
  for (const trait of group.required ?? []) {
    if (!serving.some(({ traits }) => traits.has(trait))) {
      const message = `provider '${name}' lacks the required trait ${trait}`;
      return { code: 'trait-missing', message, provider, condition: trait };
    }
  }
  for (const traitsOfList of group.anyOf ?? []) {
    if (!serving.some(({ traits }) => traitsOfList.some((trait) => traits.has(trait)))) {
      const condition = traitsOfList.join(', ');
      return {
        code: 'trait-missing',
        message: `provider '${name}' has none of the traits ${shortened(condition)}`,
        provider,
        condition,
      };
    }
  }
  for (const trait of group.forbidden ?? []) {
    const offender = serving.find(({ traits }) => traits.has(trait));
    if (offender !== undefined) {
      const message = `provider '${offender.spec.name}' has the forbidden trait ${trait}`;
      return { code: 'trait-forbidden', message, provider: offender.spec.id, condition: trait };
    }
  }
  for (const aggregates of group.memberOf ?? []) {
    const outsider = serving.find(
      (one) => !aggregates.some((aggregate) => one.aggregates.has(aggregate) || root.aggregates.has(aggregate)),
    );
    if (outsider !== undefined) {
      const condition = aggregates.join(', ');
      const message = `provider '${outsider.spec.name}' ${outsideWords(aggregates)}`;
      return { code: 'not-in-aggregate', message, provider: outsider.spec.id, condition };
    }
  }
  return null;
}

function notIsolated(allocations: readonly Allocation[], spec: RequestSpec): Refusal | null {
  if (spec.groupPolicy !== 'isolate') return null;
  const taken = new Map<string, string>();
  for (const { provider, group } of allocations) {
    if (group === '') continue;
    const other = taken.get(provider);
    if (other !== undefined && other !== group) {
      const message = `groups '${other}' and '${group}' must be on different providers, not both on '${provider}'`;
      return { code: 'not-isolated', message, provider };
    }
    taken.set(provider, group);
  }
  return null;
}

function notOneSubtree(allocations: readonly Allocation[], spec: RequestSpec, providers: Providers): Refusal | null {
  if (spec.sameSubtree === undefined) return null;
  const root = rootServing(allocations, providers) as Provider;
  for (const names of spec.sameSubtree) {
    const serving: Provider[] = [];
    for (const name of names) {
      const provider = providers.get(allocations.find(({ group }) => group === name)?.provider ?? '');
      // A group that asks for traits alone is served by the host itself.
      const server = provider ?? (spec.groups.some((group) => group.name === name) ? root : undefined);
      if (server !== undefined && !serving.includes(server)) serving.push(server);
    }
    if (serving.length < 2 || isSubtree(serving, providers)) continue;
    const told = serving.map((one) => `'${one.spec.name}'`).join(', ');
    const message = `groups ${names.map((name) => `'${name}'`).join(', ')} must be served by one subtree, not by ${told}`;
    return { code: 'not-one-subtree', message, provider: (serving[0] as Provider).spec.id };
  }
  return null;
}

function noRoom(allocations: readonly Allocation[], providers: Providers): Refusal | null {
  for (const [position, { provider: id, resources }] of allocations.entries()) {
    const { spec, stocks } = providers.get(id) as Provider;
    for (const resourceClass in resources) {
      let sameClaim = 0;
      for (let earlier = 0; earlier < position; earlier += 1) {
        const other = allocations[earlier] as Allocation;
        if (other.provider === id) sameClaim += other.resources[resourceClass] ?? 0;
      }
      const amount = resources[resourceClass] as number;
      const refusal = refusalOf(spec, resourceClass, stocks.get(resourceClass), amount, sameClaim);
      if (refusal !== null) return refusal;
    }
  }
  return null;
}
