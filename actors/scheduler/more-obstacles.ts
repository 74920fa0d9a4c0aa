// What else stands in the way of a request on a host, beside the first thing that does.

import { fit } from '../fitting/fit.ts';
import type { RequestSpec, ResourceGroup } from '../messages/common.ts';
import type { Provider } from '../placement/providers.ts';
import { wishesOf } from './advice-places.ts';
import type { Obstacle } from './census.ts';
import { aggregates } from './filters/aggregates.ts';
import { cells } from './filters/cells.ts';
import { company } from './filters/company.ts';
import { type Filter, refusedBy } from './filters/filter.ts';
import { namedHosts } from './filters/named-hosts.ts';
import { INSTANCE_GROUP, toldMisfitOfGroup } from './group-rules.ts';
import type { HostFacts } from './host-facts.ts';
import { allFiltersFor, type Judged } from './judging.ts';
import type { Request } from './request.ts';
import { treeOf, type View, type ViewHost } from './view.ts';
import { factsOf } from './view-hosts.ts';

/** The filters that go by what a request says of where it may go. */
export const WISHES: ReadonlySet<string> = new Set([aggregates.name, cells.name, namedHosts.name, company.name]);

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
    const facts = factsOf(view, host, tree);
    const refusing = (asked: Request) => refusingOf(filters, view, asked, root, facts);
    if (!isFitting || refusing(request).length > 1) return true;
    return WISHES.has(filter) && wishesOf(request, facts).every(({ without }) => refusing(without).length > 0);
  }
  // It is the rule of its group that refuses it.
  if (isFitting) return false;
  if (toldMisfitOfGroup(view, spec, root) !== null) return true;
  const { about } = obstacle;
  if (about === undefined) return false;
  const isOfClass = spec.groups.some(({ resources }) => resources[about] !== undefined);
  return isOfClass ? !isAllThatLacks(spec)(obstacle, tree) : fit(withoutCondition(spec, about), tree) === null;
}

/**
 * Whether a request would fit a host but for a class of which it is short: with so much less of it, or with so much more of
 * it on one of its providers, of which the group that asks for it may want more than that.
 */
export function isAllThatLacks(spec: RequestSpec): (obstacle: Obstacle, tree: readonly Provider[]) => boolean {
  const lesserBy = lesserSpecs(spec);
  return (obstacle, tree) => {
    if (lesserBy(obstacle, tree).some((one) => fit(one, tree) !== null)) return true;
    const { code, about = '', short = 0 } = obstacle;
    if (code !== 'exceeds-capacity') return false;
    return tree.some((provider) => {
      const stock = provider.stocks.get(about);
      if (stock === undefined) return false;
      const more = { ...stock, used: stock.used - short };
      const stocks = new Map(provider.stocks).set(about, more);
      return (
        fit(
          spec,
          tree.map((one) => (one === provider ? { ...provider, stocks } : one)),
        ) !== null
      );
    });
  };
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

/**
 * The request as it would be with as much less of a class as it is short of on a host, and as its steps take, in any one
 * group that asks for so much; where no group does, or less would not be the remedy, without the class in all of them.
 */
function lesserSpecs(spec: RequestSpec): (obstacle: Obstacle, tree: readonly Provider[]) => RequestSpec[] {
  const known = new Map<string, RequestSpec[]>();
  return ({ code, about = '', short = 0 }, tree) => {
    const by = code === 'exceeds-capacity' ? short : 0;
    const steps = new Set(tree.map(({ stocks }) => stocks.get(about)?.inventory.step_size ?? 1));
    return [...(by === 0 ? [1] : steps)].flatMap((step) => {
      const key = `${about} ${by} ${step}`;
      const lesser = known.get(key) ?? newLesserSpecs(spec, about, by, step);
      known.set(key, lesser);
      return lesser;
    });
  };
}

function newLesserSpecs(spec: RequestSpec, resourceClass: string, by: number, step: number): RequestSpec[] {
  const { groups } = spec;
  const enough = by === 0 ? [] : groups.filter(({ resources }) => (resources[resourceClass] ?? 0) >= by);
  if (enough.length === 0) return [{ ...spec, groups: groups.map((group) => lessOf(group, resourceClass, 0)) }];
  return enough.map((one) => {
    const left = (one.resources[resourceClass] as number) - by;
    const lesser = lessOf(one, resourceClass, left - (left % step));
    return { ...spec, groups: groups.map((group) => (group === one ? lesser : group)) };
  });
}

/** A group that asks for no more of a class than is left. By name, and with nothing to ask for, it has no conditions either. */
function lessOf(group: ResourceGroup, resourceClass: string, left: number): ResourceGroup {
  const { [resourceClass]: amount, ...others } = group.resources;
  if (amount === undefined) return group;
  if (left > 0) return { ...group, resources: { ...others, [resourceClass]: left } };
  const isEmptied = group.name !== '' && Object.keys(others).length === 0;
  return isEmptied ? { name: group.name, resources: {} } : { ...group, resources: others };
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
