// Whether a request fits a host as the view has it, and with which allocations. The unnamed group is served wherever
// in the tree there is room, the host itself first; named groups are dealt to single providers by a search that takes
// the tightest fit first and gives up after a bounded number of steps.

import type { Allocation } from '../../machines/instance-build.ts';
import type { RequestSpec, ResourceGroup } from '../messages/common.ts';
import type { Refusal } from '../messages/placement.ts';
import { asksOfRoot, unmet, unmetByRoot } from '../placement/conditions.ts';
import { refusalOf, unitAllowed } from '../placement/inventory.ts';
import type { Provider } from '../placement/providers.ts';
import { type Subtrees, subtreesOf } from './subtrees.ts';

/** How many placements of a group on a provider one search may try. */
const MAX_SEARCH_STEPS = 2_000;

/** What the claim being put together takes already, by provider and class. */
type Taken = Map<string, number>;

/** The allocations with which the request fits the tree (the root first), or null. */
export function fit(spec: RequestSpec, tree: readonly Provider[]): readonly Allocation[] | null {
  if (asksOfRoot(spec) && unmetByRoot(spec, tree[0] as Provider) !== null) return null;
  const taken: Taken = new Map();
  const allocations: Allocation[] = [];
  const named: ResourceGroup[] = [];
  for (const group of spec.groups) {
    if (group.name !== '') named.push(group);
    else if (!serveUnnamed(group, tree, taken, allocations)) return null;
  }
  const isolate = spec.groupPolicy === 'isolate';
  const subtrees =
    spec.sameSubtree === undefined
      ? null
      : subtreesOf(spec.sameSubtree, named, tree, (group) => optionsOf(group, tree));
  const search = { named: subtrees?.order ?? named, isolate, subtrees, tree, taken, steps: 0 };
  if (!deal(search, 0, allocations)) return null;
  return subtrees === null ? allocations : inOrderOf(spec.groups, allocations);
}

/** The providers that could serve a group if nothing else were asked. */
function optionsOf(group: ResourceGroup, tree: readonly Provider[]): Provider[] {
  return serversOf(group, { named: [], isolate: false, subtrees: null, tree, taken: new Map(), steps: 0 }, []);
}

function inOrderOf(groups: readonly ResourceGroup[], allocations: readonly Allocation[]): Allocation[] {
  return groups.flatMap(({ name }) => allocations.filter(({ group }) => group === name));
}

function serveUnnamed(
  group: ResourceGroup,
  tree: readonly Provider[],
  taken: Taken,
  allocations: Allocation[],
): boolean {
  const given = new Map<Provider, Record<string, number>>();
  for (const resourceClass in group.resources) {
    const amount = group.resources[resourceClass] as number;
    const server = tree.find((provider) => hasRoom(provider, resourceClass, amount, taken));
    if (server === undefined) return false;
    change(taken, server, resourceClass, amount);
    const resources = given.get(server) ?? {};
    resources[resourceClass] = amount;
    given.set(server, resources);
  }
  for (const [{ spec }, resources] of given) allocations.push({ provider: spec.id, group: group.name, resources });
  const root = tree[0] as Provider;
  return unmet(group, given.size > 0 ? [...given.keys()] : [root], root) === null;
}

function hasRoom(provider: Provider, resourceClass: string, amount: number, taken: Taken): boolean {
  const stock = provider.stocks.get(resourceClass);
  if (stock === undefined || !unitAllowed(stock.inventory, amount)) return false;
  return stock.used + takenOf(taken, provider, resourceClass) + amount <= stock.capacity;
}

function takenOf(taken: Taken, provider: Provider, resourceClass: string): number {
  return taken.size === 0 ? 0 : (taken.get(`${provider.spec.id} ${resourceClass}`) ?? 0);
}

function change(taken: Taken, provider: Provider, resourceClass: string, by: number): void {
  const key = `${provider.spec.id} ${resourceClass}`;
  taken.set(key, (taken.get(key) ?? 0) + by);
}

interface Search {
  readonly named: readonly ResourceGroup[];
  readonly isolate: boolean;
  readonly subtrees: Subtrees | null;
  readonly tree: readonly Provider[];
  readonly taken: Taken;
  steps: number;
}

/** Serves the groups from `position` on; allocations made on the way to a dead end are taken back. */
function deal(search: Search, position: number, allocations: Allocation[]): boolean {
  const group = search.named[position];
  if (group === undefined) return true;
  for (const provider of serversOf(group, search, allocations)) {
    search.steps += 1;
    if (search.steps > MAX_SEARCH_STEPS) return false;
    const { resources } = group;
    for (const resourceClass in resources)
      change(search.taken, provider, resourceClass, resources[resourceClass] as number);
    allocations.push({ provider: provider.spec.id, group: group.name, resources });
    if (deal(search, position + 1, allocations)) return true;
    allocations.pop();
    for (const resourceClass in resources)
      change(search.taken, provider, resourceClass, -(resources[resourceClass] as number));
  }
  return false;
}

/** The providers that can serve a group, the one that is left with least first, so that whole devices stay whole. */
function serversOf(group: ResourceGroup, search: Search, allocations: readonly Allocation[]): Provider[] {
  const { isolate, subtrees, tree, taken } = search;
  const root = tree[0] as Provider;
  const servers: { provider: Provider; left: number }[] = [];
  for (const provider of tree) {
    if (isolate && allocations.some((one) => one.group !== '' && one.provider === provider.spec.id)) continue;
    if (subtrees !== null && !subtrees.mayServe(group.name, provider, allocations)) continue;
    let left = 0;
    let room = true;
    for (const resourceClass in group.resources) {
      const amount = group.resources[resourceClass] as number;
      room = hasRoom(provider, resourceClass, amount, taken);
      if (!room) break;
      const { capacity, used } = provider.stocks.get(resourceClass) as { capacity: number; used: number };
      left += (capacity - used - takenOf(taken, provider, resourceClass) - amount) / capacity;
    }
    if (room && unmet(group, [provider], root) === null) servers.push({ provider, left });
  }
  return servers.sort((one, other) => one.left - other.left).map(({ provider }) => provider);
}

/**
 * About how many requests like this one the tree could hold, up to `most`: a measure of how likely it is that one will
 * still fit later. Groups are counted each by itself.
 */
export function roomFor(spec: RequestSpec, tree: readonly Provider[], most: number): number {
  const root = tree[0] as Provider;
  const named = spec.groups.filter(({ name }) => name !== '').length;
  let room = most;
  for (const group of spec.groups) {
    if (group.name === '') {
      for (const resourceClass in group.resources) {
        let times = 0;
        for (const provider of tree) {
          times = Math.max(times, timesOf(provider, resourceClass, group.resources[resourceClass] as number));
        }
        room = Math.min(room, times);
      }
    } else {
      const serving = tree.filter((provider) => unmet(group, [provider], root) === null);
      const times = serving.reduce((sum, provider) => sum + timesIn(provider, group.resources), 0);
      room = Math.min(room, Math.floor(times / named));
    }
  }
  return room;
}

/** How many times a provider could give these resources. */
function timesIn(provider: Provider, resources: Readonly<Record<string, number>>): number {
  let times = Number.POSITIVE_INFINITY;
  for (const resourceClass in resources) {
    times = Math.min(times, timesOf(provider, resourceClass, resources[resourceClass] as number));
  }
  return times;
}

function timesOf({ stocks }: Provider, resourceClass: string, amount: number): number {
  const stock = stocks.get(resourceClass);
  return stock === undefined ? 0 : Math.floor((stock.capacity - stock.used) / amount);
}

/** Why a request does not fit a tree: what stood in the way first, said of the provider that came nearest. */
export function misfitOf(spec: RequestSpec, tree: readonly Provider[]): Refusal {
  const root = tree[0] as Provider;
  const ofRoot = asksOfRoot(spec) ? unmetByRoot(spec, root) : null;
  if (ofRoot !== null) return ofRoot;
  for (const group of spec.groups) {
    const refusals = tree.map((provider) => misfitOfProvider(group, provider, root));
    if (group.name !== '' || Object.keys(group.resources).length === 0) {
      if (refusals.every((refusal) => refusal !== null)) return nearest(refusals);
      continue;
    }
    for (const resourceClass in group.resources) {
      const amount = group.resources[resourceClass] as number;
      const ofClass = tree.map(({ spec: told, stocks }) =>
        refusalOf(told, resourceClass, stocks.get(resourceClass), amount, 0),
      );
      if (ofClass.every((refusal) => refusal !== null)) return nearest(ofClass);
    }
    const refusal = unmet(group, tree, root);
    if (refusal !== null) return refusal;
  }
  if (spec.sameSubtree !== undefined && fit({ ...spec, sameSubtree: [] }, tree) !== null) {
    const lists = spec.sameSubtree.map((names) => names.join(', ')).join('; ');
    const message = `no subtree of '${root.spec.name}' serves the groups that must share one: ${lists}`;
    return { code: 'not-one-subtree', message };
  }
  return {
    code: 'not-isolated',
    message: `the groups cannot all be served by the providers of '${root.spec.name}' at once`,
  };
}

function misfitOfProvider(group: ResourceGroup, provider: Provider, root: Provider): Refusal | null {
  for (const resourceClass in group.resources) {
    const stock = provider.stocks.get(resourceClass);
    const refusal = refusalOf(provider.spec, resourceClass, stock, group.resources[resourceClass] as number, 0);
    if (refusal !== null) return refusal;
  }
  return unmet(group, [provider], root);
}

/** That a provider lacks a class says least; being short of it says most, the less the nearer. */
function nearest(refusals: readonly (Refusal | null)[]): Refusal {
  const distance = ({ code, short }: Refusal) => (code === 'no-inventory' ? Number.POSITIVE_INFINITY : (short ?? 0));
  const said = refusals.filter((refusal) => refusal !== null);
  return said.reduce((best, one) => (distance(one) < distance(best) ? one : best));
}
