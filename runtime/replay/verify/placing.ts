// Placing: what an active instance holds is what it asked for. Each named group is served by exactly one provider that
// has the traits it asks for, groups that are to be isolated by distinct ones, all of them of the instance's own host.
// Pure.

import { addAmounts } from '../../../actors/amounts.ts';
import type { InstanceView } from '../../../actors/messages/gateway.ts';
import type { ProviderState } from '../../../actors/messages/placement.ts';
import type { BuildSpec } from '../../workload/workload.ts';
import type { Census } from '../census.ts';
import type { Fault } from './fault.ts';

type Allocations = Census['consumers'][number]['held'][number]['allocations'];
type RequestGroup = NonNullable<BuildSpec['groups']>[number];
type Providers = ReadonlyMap<string, ProviderState>;

/** The most faults that are told of one instance. */
const MOST_TOLD = 3;

export function placingFaults(
  { providers, consumers }: Pick<Census, 'providers' | 'consumers'>,
  live: ReadonlyMap<string, InstanceView>,
  specs: ReadonlyMap<string, BuildSpec>,
): Fault[] {
  const byId = new Map(providers.map((provider) => [provider.id, provider]));
  const faults: Fault[] = [];
  for (const { consumer, held } of consumers) {
    const view = live.get(consumer);
    const allocations = held.find(({ attempt }) => attempt === view?.attempt)?.allocations;
    // What is held by or for somebody else is a leak, and told as one.
    if (view?.state !== 'active' || allocations === undefined) continue;
    const spec = specs.get(consumer);
    const wrong =
      spec === undefined
        ? ['nobody asked for it']
        : [...wrongHost(allocations, view, byId), ...wrongGroups(spec, allocations, byId)];
    for (const what of wrong.slice(0, MOST_TOLD)) faults.push({ kind: 'misplaced', what: `'${consumer}': ${what}` });
  }
  return faults;
}

function wrongHost(allocations: Allocations, { host }: InstanceView, providers: Providers): string[] {
  return allocations.flatMap(({ provider }) => {
    const root = providers.get(providers.get(provider)?.root ?? '');
    return root?.name === host ? [] : [`provider '${provider}' is not of its host '${host}'`];
  });
}

function wrongGroups(spec: BuildSpec, allocations: Allocations, providers: Providers): string[] {
  const { groups = [], groupPolicy, ...unnamed } = spec;
  const asked: RequestGroup[] = [{ ...unnamed, name: '' }, ...groups];
  const wrong: string[] = [];
  for (const group of asked) {
    const serving = allocations.filter((one) => one.group === group.name);
    const named = group.name === '' ? 'its unnamed group' : `group '${group.name}'`;
    if (group.name !== '' && serving.length !== 1) wrong.push(`${named} is on ${serving.length} providers, not on one`);
    if (!sameAmounts(group.resources, serving)) wrong.push(`${named} does not hold what it asked for`);
    wrong.push(...wrongTraits(group, serving, providers).map((what) => `${named} ${what}`));
  }
  const strangers = allocations.filter(({ group }) => !asked.some(({ name }) => name === group));
  wrong.push(...strangers.map(({ group }) => `it holds resources for a group '${group}' that it did not ask for`));
  const used = groups.flatMap(({ name }) => allocations.filter(({ group }) => group === name));
  if (groupPolicy === 'isolate' && new Set(used.map(({ provider }) => provider)).size < used.length) {
    wrong.push('two of its groups share a provider and are to be isolated');
  }
  return wrong;
}

function sameAmounts(asked: Readonly<Record<string, number>> = {}, serving: Allocations): boolean {
  const given: Record<string, number> = {};
  for (const { resources } of serving) addAmounts(given, resources);
  const classes = Object.keys(asked);
  return Object.keys(given).length === classes.length && classes.every((one) => given[one] === asked[one]);
}

function wrongTraits(
  { required = [], anyOf = [], forbidden = [] }: RequestGroup,
  serving: Allocations,
  providers: Providers,
): string[] {
  const traits = new Set(serving.flatMap(({ provider }) => providers.get(provider)?.traits ?? []));
  return [
    ...required.filter((trait) => !traits.has(trait)).map((trait) => `lacks the trait ${trait}`),
    ...anyOf
      .filter((choice) => !choice.some((trait) => traits.has(trait)))
      .map((choice) => `has none of the traits ${choice.join(', ')}`),
    ...forbidden.filter((trait) => traits.has(trait)).map((trait) => `has the forbidden trait ${trait}`),
  ];
}
