// Hosts with nothing on them, as advice supposes them: one that is only too full, of resources or of instances, would fit if
// it were empty. It is something else if it is too small.

import type { Provider } from '../placement/providers.ts';
import { present } from '../present.ts';
import { company } from './filters/company.ts';
import type { Filter } from './filters/filter.ts';
import { INSTANCE_GROUP, toldMisfitOfGroup } from './group-rules.ts';
import type { HostFacts } from './host-facts.ts';
import { filtersRefusing } from './more-obstacles.ts';
import type { Request } from './request.ts';
import type { View } from './view.ts';

/** How many of the hosts that would have to be empty are named. */
const MAX_EMPTIED_NAMED = 3;

export interface ToEmpty {
  /** `<cell>/<host>`. */
  readonly host: string;
  readonly instances: number;
}

/** The tree of a host with nothing on it. */
export function emptied(tree: readonly Provider[]): Provider[] {
  return tree.map((provider) => ({
    ...provider,
    stocks: new Map([...provider.stocks].map(([resourceClass, stock]) => [resourceClass, { ...stock, used: 0 }])),
  }));
}

/** What may refuse a host for the instances that run there, beside filters that limit how many. */
export const BY_WHAT_RUNS: ReadonlySet<string> = new Set([INSTANCE_GROUP, company.name]);

/** A host with nothing on it. */
export function ifEmpty(facts: HostFacts): HostFacts {
  return { ...facts, tree: emptied(facts.tree), stats: { ...facts.stats, instances: 0, builds: 0 } };
}

/** Whether no filter, nor the rule of the instance group, would refuse a host with nothing on it. */
export function mayServeIfEmpty(
  filters: readonly Filter[],
  view: View,
  request: Request,
  root: string,
  facts: HostFacts,
): boolean {
  const misfit = toldMisfitOfGroup(view, request.spec, root);
  if (misfit !== null && misfit.code !== 'group-anti-affinity') return false;
  const { company: known } = request;
  const apart = known && { ...known, far: new Set([...known.far].filter((far) => far !== root)) };
  return filtersRefusing(filters, { ...request, ...present({ company: apart }) }, ifEmpty(facts)).length === 0;
}

/** Keeps the few that are to lose fewest instances, those first. */
export function noteEmptiest(some: ToEmpty[], one: ToEmpty): void {
  const before = some.findLastIndex(
    (other) => other.instances < one.instances || (other.instances === one.instances && other.host < one.host),
  );
  some.splice(before + 1, 0, one);
  some.length = Math.min(some.length, MAX_EMPTIED_NAMED);
}
