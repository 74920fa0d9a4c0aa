// What else stands in the way of a request on a host, beside the first thing that does.

import { effort } from '../../fitting/effort.ts';
import { fit, fitAtOnce } from '../../fitting/fit.ts';
import { MAX_LOOKS_TO_COUNT, timesIn } from '../../fitting/fit-times.ts';
import type { RequestSpec, ResourceGroup } from '../../messages/common.ts';
import type { Stock } from '../../placement/inventory.ts';
import type { Provider } from '../../placement/providers.ts';
import { groupsToChange, hasConditions } from '../advice/groups.ts';
import { wishesOf } from '../advice/places.ts';
import { aggregates } from '../filters/aggregates.ts';
import { cells } from '../filters/cells.ts';
import { company } from '../filters/company.ts';
import { type Filter, refusedBy } from '../filters/filter.ts';
import { namedHosts } from '../filters/named-hosts.ts';
import { INSTANCE_GROUP, toldMisfitOfGroup } from '../group-rules.ts';
import type { Obstacle } from '../ranking/census.ts';
import { allFiltersFor, type Judged } from '../ranking/judging.ts';
import type { Request } from '../request.ts';
import type { HostFacts } from '../view/host-facts.ts';
import { treeOf, type View, type ViewHost } from '../view/view.ts';
import { factsOf } from '../view/view-hosts.ts';

/** The filters that go by what a request says of where it may go. */
export const WISHES: ReadonlySet<string> = new Set([aggregates.name, cells.name, namedHosts.name, company.name]);

/** Those that say one thing alone, though several of what a request says may stand in the way. */
export const SAYING_ONE: ReadonlySet<string> = new Set([...WISHES].filter((name) => name !== aggregates.name));

/**
 * Whether more than its obstacle keeps a request off a host, as far as that is known.
 * @param count How many instances the host must hold; what it lacks is counted for all of them.
 */
export function isMoreInTheWay(
  filters: readonly Filter[],
  view: View,
  request: Request,
  host: ViewHost,
  { obstacle, filter }: Exclude<Judged, { readonly obstacle: null }>,
  count = 1,
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
    return SAYING_ONE.has(filter) && wishesOf(request, facts).every(({ without }) => refusing(without).length > 0);
  }
  // It is the rule of its group that refuses it.
  if (isFitting) return false;
  if (toldMisfitOfGroup(view, spec, root) !== null) return true;
  if (isOfClass(spec, obstacle)) return !isAllThatLacks(spec, count)(obstacle, tree);
  const left = withoutCondition(spec, obstacle);
  return left !== null && fit(left, tree) === null;
}

const OF_TRAITS: ReadonlySet<string> = new Set(['trait-missing', 'trait-forbidden']);

/** Whether an obstacle is about a resource class that is asked for: a trait may have the name of one. */
export const isOfClass = ({ groups }: RequestSpec, { code, about = '' }: Obstacle): boolean =>
  !OF_TRAITS.has(code) && groups.some(({ resources }) => resources[about] !== undefined);

/**
 * Whether a request would fit a host but for a class of which it is short: with so much less of it in one group, or with so
 * much more of it on one of its devices. Where it is off the units, with an amount in one group that is as much smaller or
 * larger, or if its devices gave any amount. All conditions stay. Where no provider has the class beside others, with the
 * class in groups of its own; where else it is not said how much it is short of, without the class in all groups.
 * @param count How many instances the host must hold.
 */
export function isAllThatLacks(
  spec: RequestSpec,
  count: number,
): (obstacle: Obstacle, tree: readonly Provider[]) => boolean {
  const groups = groupsToChange(spec).map(({ group }) => group);
  const unasked = new Map<string, Unasked>();
  return ({ code, about = '', short }, tree) => {
    const endOfLooks = effort.looks + MAX_LOOKS_TO_COUNT;
    const holds = (by: RequestSpec, on: readonly Provider[]) => timesIn(by, on, count, true, endOfLooks) >= count;
    const known = unasked.get(about) ?? unaskedOf(spec, about);
    unasked.set(about, known);
    // It is looser than all that follow, and the same for every host.
    if (fit(known.loosest, tree) === null) return false;
    const fitsWithout = () => holds(known.without, tree);
    if (code === 'not-on-one-provider') return fitsWithout() && holds(apart(spec, about, tree), tree);
    if (short === undefined) return fitsWithout();
    const isOfUnits = code === 'unit-constraint';
    const steps = [...new Set(tree.map(({ stocks }) => stocks.get(about)?.inventory.step_size ?? 1))];
    const tries: { readonly by: RequestSpec; readonly on: readonly Provider[] }[] = [];
    for (const on of isOfUnits ? [ofAnyUnits(tree, about)] : onMore(tree, about, short)) tries.push({ by: spec, on });
    // What is lacking for all of them, each asks for its part of it less.
    const shortOfEach = isOfUnits ? short : Math.ceil(short / count);
    for (const group of groups) {
      for (const amount of amountsInstead(group, about, shortOfEach, steps, isOfUnits)) {
        // Of a request for nothing a host holds any number.
        if (amount === 0 && (count > 1 || isOnlyAsked(spec, group, about))) continue;
        tries.push({ by: replacing(spec, group, lessOf(group, about, amount)), on: tree });
      }
    }
    for (const { by, on } of tries) {
      const found = fitAtOnce(by, on);
      // Where it is hard to tell, it is held to be all if nothing else is in the way without the class.
      if (found === undefined) return fitsWithout();
      if (found !== null && (count === 1 || holds(by, on))) return true;
    }
    return false;
  };
}

/** What a group might ask for of a class instead, as steps take it; nothing only where no condition would go with it. */
function amountsInstead(
  group: ResourceGroup,
  resourceClass: string,
  short: number,
  steps: readonly number[],
  isOfUnits: boolean,
): ReadonlySet<number> {
  const { [resourceClass]: asked, ...others } = group.resources;
  if (asked === undefined) return new Set();
  const isToStay = Object.keys(others).length === 0 && hasConditions(group);
  const less = steps.map((step) => asked - short - ((asked - short) % step));
  const amounts = isOfUnits ? [...less, asked + short] : less;
  return new Set(amounts.filter((amount) => amount > 0 || (amount === 0 && !isToStay)));
}

/** Whether nothing but a class in one group is asked for. */
function isOnlyAsked({ groups }: RequestSpec, group: ResourceGroup, resourceClass: string): boolean {
  return groups.every((one) => Object.keys(one.resources).every((other) => one === group && other === resourceClass));
}

/** A request that does not ask for a class. */
interface Unasked {
  readonly without: RequestSpec;
  /** Nor are there conditions on who served it. */
  readonly loosest: RequestSpec;
}

function unaskedOf(spec: RequestSpec, resourceClass: string): Unasked {
  const without = spec.groups.map((group) => lessOf(group, resourceClass, 0));
  const loosest = without.map((group, at) => (group === spec.groups[at] ? group : unconditional(group)));
  return { without: { ...spec, groups: without }, loosest: { ...spec, groups: loosest } };
}

const unconditional = ({ name, resources }: ResourceGroup): ResourceGroup => ({ name, resources });

const replacing = (spec: RequestSpec, group: ResourceGroup, by: ResourceGroup): RequestSpec => ({
  ...spec,
  groups: spec.groups.map((one) => (one === group ? by : one)),
});

/** A group that asks for no more of a class than is left. By name, and with nothing to ask for, it has no conditions either. */
function lessOf(group: ResourceGroup, resourceClass: string, left: number): ResourceGroup {
  const { [resourceClass]: amount, ...others } = group.resources;
  if (amount === undefined) return group;
  if (left > 0) return { ...group, resources: { ...others, [resourceClass]: left } };
  const isEmptied = group.name !== '' && Object.keys(others).length === 0;
  return isEmptied ? { name: group.name, resources: {} } : { ...group, resources: others };
}

/** Of how many devices of a host each is looked at with more of a class. */
const MAX_DEVICES = 32;

/** A tree with more of a class on one of its devices, for each of them. */
function onMore(tree: readonly Provider[], resourceClass: string, by: number): (readonly Provider[])[] {
  const devices = tree.filter(({ stocks }) => stocks.has(resourceClass)).slice(0, MAX_DEVICES);
  return devices.map((device) => tree.map((one) => (one === device ? withMore(device, resourceClass, by) : one)));
}

/** A tree of which every device gives any amount of a class that it has. */
function ofAnyUnits(tree: readonly Provider[], resourceClass: string): readonly Provider[] {
  const lifted = { min_unit: 1, step_size: 1, max_unit: Number.MAX_SAFE_INTEGER };
  return tree.map((one) =>
    withStock(one, resourceClass, (stock) => ({ ...stock, inventory: { ...stock.inventory, ...lifted } })),
  );
}

function withMore(provider: Provider, resourceClass: string, by: number): Provider {
  return withStock(provider, resourceClass, (stock) => ({ ...stock, used: stock.used - by }));
}

function withStock(provider: Provider, resourceClass: string, change: (stock: Stock) => Stock): Provider {
  const stock = provider.stocks.get(resourceClass);
  if (stock === undefined) return provider;
  return { ...provider, stocks: new Map(provider.stocks).set(resourceClass, change(stock)) };
}

/** A tree of which every device that has a class gives so much more of it, in any amount. */
export function withMoreOf(tree: readonly Provider[], resourceClass: string, by: number): readonly Provider[] {
  return ofAnyUnits(tree, resourceClass).map((one) => withMore(one, resourceClass, by));
}

/**
 * A request that does not ask for a class. A group that then asks for nothing has no conditions either; one that asked for
 * nothing before keeps those that it has.
 */
export function withoutClass(spec: RequestSpec, resourceClass: string): RequestSpec {
  const groups = spec.groups.map((group) => {
    const left = lessOf(group, resourceClass, 0);
    const isEmptied = left !== group && Object.keys(left.resources).length === 0;
    return isEmptied ? unconditional(left) : left;
  });
  return { ...spec, groups };
}

/**
 * A request that asks for a class in groups of its own where no provider has it and all else that a named group asks for:
 * how much of it there is may stand in the way, too.
 */
export function apart(spec: RequestSpec, resourceClass: string, tree: readonly Provider[]): RequestSpec {
  const names = new Set(spec.groups.map(({ name }) => name));
  const groups = spec.groups.flatMap((group) => {
    const { [resourceClass]: amount, ...others } = group.resources;
    const classes = Object.keys(group.resources);
    const isOnOne = tree.some(({ stocks }) => classes.every((one) => stocks.has(one)));
    if (group.name === '' || amount === undefined || classes.length === 1 || isOnOne) return [group];
    let name = `${group.name}-${resourceClass}`;
    while (names.has(name)) name += '-';
    names.add(name);
    return [
      { ...group, resources: others },
      { name, resources: { [resourceClass]: amount } },
    ];
  });
  return { ...spec, groups };
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
 * The request without what providers were refused for, other than classes: a trait, or list of traits or aggregates, or how
 * groups are served beside each other. A trait that some groups require may be forbidden in others, which stays. Null: it is
 * for nothing of the kind.
 */
export function withoutCondition(
  spec: RequestSpec,
  { code, about }: Pick<Obstacle, 'code' | 'about'>,
): RequestSpec | null {
  const others = (names: readonly string[] = []) => names.filter((one) => one !== about);
  const otherLists = (lists: ResourceGroup['anyOf'] = []) => lists.filter((list) => list.join(', ') !== about);
  const ofGroups = (left: (group: ResourceGroup) => Partial<ResourceGroup>) =>
    spec.groups.map((group) => ({ ...group, ...left(group) }));
  switch (code) {
    case 'trait-missing': {
      const groups = ofGroups(({ required, anyOf }) => ({ required: others(required), anyOf: otherLists(anyOf) }));
      return { ...spec, rootRequired: others(spec.rootRequired), groups };
    }
    case 'trait-forbidden': {
      const groups = ofGroups(({ forbidden }) => ({ forbidden: others(forbidden) }));
      return { ...spec, rootForbidden: others(spec.rootForbidden), groups };
    }
    case 'not-in-aggregate':
      return { ...spec, groups: ofGroups(({ memberOf }) => ({ memberOf: otherLists(memberOf) })) };
    case 'not-one-subtree':
      return { ...spec, sameSubtree: [] };
    case 'not-isolated':
      return { ...spec, groupPolicy: 'none' };
    default:
      return null;
  }
}
