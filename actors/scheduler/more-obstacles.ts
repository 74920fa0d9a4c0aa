// What else stands in the way of a request on a host, beside the first thing that does.

import { fit } from '../fitting/fit.ts';
import type { RequestSpec, ResourceGroup } from '../messages/common.ts';
import { type Filter, refusedBy } from './filters/filter.ts';
import { INSTANCE_GROUP, toldMisfitOfGroup } from './group-rules.ts';
import type { HostFacts } from './host-facts.ts';
import { allFiltersFor, type Judged } from './judging.ts';
import type { Request } from './request.ts';
import { treeOf, type View, type ViewHost } from './view.ts';
import { factsOf } from './view-hosts.ts';

/** Whether more than its obstacle keeps a request off a host, as far as that is known. */
export function isMoreInTheWay(
  filters: readonly Filter[],
  view: View,
  request: Request,
  host: ViewHost,
  { obstacle, filter }: Exclude<Judged, { readonly obstacle: null }>,
): boolean {
  const { root } = host;
  if (!isTold(view, root)) return false;
  const { spec } = request;
  const tree = treeOf(view, root);
  const isFitting = fit(spec, tree) !== null;
  if (filter !== undefined) {
    return !isFitting || refusingOf(filters, view, request, root, factsOf(view, host, tree)).length > 1;
  }
  // It is the rule of its group that refuses it.
  if (isFitting) return false;
  if (toldMisfitOfGroup(view, spec, root) !== null) return true;
  const { about } = obstacle;
  if (about === undefined) return false;
  const isOfClass = spec.groups.some(({ resources }) => resources[about] !== undefined);
  return fit(isOfClass ? lesserSpecs(spec)(about) : withoutCondition(spec, about), tree) === null;
}

/** Whether placement tells of a host. */
export function isTold(view: View, root: string): boolean {
  return treeOf(view, root)[0]?.spec.id === root;
}

/** The names of all filters that refuse a host, and of the rule of the instance group if it does. */
export function refusingOf(
  filters: readonly Filter[],
  view: View,
  request: Request,
  root: string,
  facts: HostFacts,
): string[] {
  const names = filtersRefusing(filters, request, facts);
  return toldMisfitOfGroup(view, request.spec, root) === null ? names : [...names, INSTANCE_GROUP];
}

/** The names of all filters that refuse a host. */
export function filtersRefusing(filters: readonly Filter[], request: Request, facts: HostFacts): string[] {
  return allFiltersFor(filters, request)
    .filter((one) => refusedBy([one], facts) !== null)
    .map(({ filter }) => filter.name);
}

/** The request as it would be without a class of resources in any of its groups. */
export function lesserSpecs(spec: RequestSpec): (resourceClass: string | undefined) => RequestSpec {
  const known = new Map<string, RequestSpec>();
  return (resourceClass = '') => {
    const lesser = known.get(resourceClass) ?? {
      ...spec,
      groups: spec.groups.map((group) => {
        const { [resourceClass]: _, ...resources } = group.resources;
        return { ...group, resources };
      }),
    };
    known.set(resourceClass, lesser);
    return lesser;
  };
}

/** The request without a trait, or list of traits or aggregates, that it requires or forbids. */
function withoutCondition(spec: RequestSpec, about: string): RequestSpec {
  const others = (names: readonly string[] = []) => names.filter((one) => one !== about);
  const otherLists = (lists: ResourceGroup['anyOf'] = []) => lists.filter((list) => list.join(', ') !== about);
  return {
    ...spec,
    rootRequired: others(spec.rootRequired),
    rootForbidden: others(spec.rootForbidden),
    groups: spec.groups.map((group) => ({
      ...group,
      required: others(group.required),
      anyOf: otherLists(group.anyOf),
      forbidden: others(group.forbidden),
      memberOf: otherLists(group.memberOf),
    })),
  };
}
