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

/** What the claim being put together takes already: so few entries that looking through them is the quickest. */
type Taken = { readonly provider: Provider; readonly resourceClass: string; readonly amount: number }[];

/**
 * How good it would be that `server` serves a named group, of all providers of the tree that could: the higher the
 * sooner it is tried, equals in the order of the tree. The allocation in question is the offer's last; those
 * before it are of the groups that are served already.
 */
export type ServerPreference = (offer: Offer, server: Provider) => number;

/** What a host would give. */
export interface Offer {
  /** The tree of the host, the root first. */
  readonly tree: readonly Provider[];
  readonly allocations: readonly Allocation[];
}

/**
 * The allocations with which the request fits the tree (the root first), or null. Without a preference a named group
 * is served by the provider that is left with least, so that whole devices stay whole.
 */
export function fit(
  spec: RequestSpec,
  tree: readonly Provider[],
  preference?: ServerPreference,
): readonly Allocation[] | null {
  if (asksOfRoot(spec) && unmetByRoot(spec, tree[0] as Provider) !== null) return null;
  const { unnamed, named, alike } = planOf(spec);
  if (tree.length === 1 && unnamed.length === 1 && named.length === 0) {
    return serveByRoot(unnamed[0] as ResourceGroup, tree[0] as Provider);
  }
  const taken: Taken = [];
  const allocations: Allocation[] = [];
  for (const group of unnamed) if (!serveUnnamed(group, tree, taken, allocations)) return null;
  const isolate = spec.groupPolicy === 'isolate';
  const subtrees =
    spec.sameSubtree === undefined
      ? null
      : subtreesOf(spec.sameSubtree, named, tree, (group) => optionsOf(group, tree));
  const search = { named: subtrees?.order ?? named, alike, isolate, subtrees, tree, taken, preference, steps: 0 };
  if (!deal(search, 0, allocations)) return null;
  return subtrees === null ? allocations : inOrderOf(spec.groups, allocations);
}

/** The providers that could serve a group if nothing else were asked. */
function optionsOf(group: ResourceGroup, tree: readonly Provider[]): Provider[] {
  const search = { named: [], alike: [], isolate: false, subtrees: null, tree, taken: [], preference: undefined };
  return serversOf(group, { ...search, steps: 0 }, []);
}

function inOrderOf(groups: readonly ResourceGroup[], allocations: readonly Allocation[]): Allocation[] {
  return groups.flatMap(({ name }) => allocations.filter(({ group }) => group === name));
}

/** The groups of a request as the search takes them. */
interface Plan {
  readonly unnamed: readonly ResourceGroup[];
  readonly named: readonly ResourceGroup[];
  /** For each named group, how many from it on, without a gap, ask for the same. */
  readonly alike: readonly number[];
}

/** A request is fitted to host after host, so its plan is made once. */
const plans = new WeakMap<RequestSpec, Plan>();

function planOf(spec: RequestSpec): Plan {
  let plan = plans.get(spec);
  if (plan === undefined) {
    const named = spec.groups.filter(({ name }) => name !== '');
    const asked = named.map((group) => JSON.stringify({ ...group, name: '' }));
    const alike = named.map(() => 1);
    for (let position = named.length - 2; position >= 0; position -= 1) {
      if (asked[position] === asked[position + 1]) alike[position] = (alike[position + 1] as number) + 1;
    }
    plan = { unnamed: spec.groups.filter(({ name }) => name === ''), named, alike };
    plans.set(spec, plan);
  }
  return plan;
}

function serveUnnamed(
  group: ResourceGroup,
  tree: readonly Provider[],
  taken: Taken,
  allocations: Allocation[],
): boolean {
  const root = tree[0] as Provider;
  const given = new Map<Provider, Record<string, number>>();
  for (const resourceClass in group.resources) {
    const amount = group.resources[resourceClass] as number;
    const server = tree.find((provider) => hasRoom(provider, resourceClass, amount, taken));
    if (server === undefined) return false;
    taken.push({ provider: server, resourceClass, amount });
    const resources = given.get(server) ?? {};
    resources[resourceClass] = amount;
    given.set(server, resources);
  }
  for (const [{ spec }, resources] of given) allocations.push({ provider: spec.id, group: group.name, resources });
  return unmet(group, given.size > 0 ? [...given.keys()] : [root], root) === null;
}

/** The same for one group of resources on a host without children: what most ask of most. */
function serveByRoot(group: ResourceGroup, root: Provider): readonly Allocation[] | null {
  const { name, resources } = group;
  let asksForSome = false;
  for (const resourceClass in resources) {
    asksForSome = true;
    if (!hasRoom(root, resourceClass, resources[resourceClass] as number, NOTHING)) return null;
  }
  if (unmet(group, [root], root) !== null) return null;
  return asksForSome ? [{ provider: root.spec.id, group: name, resources }] : [];
}

const NOTHING: Taken = [];

function hasRoom(provider: Provider, resourceClass: string, amount: number, taken: Taken): boolean {
  const stock = provider.stocks.get(resourceClass);
  if (stock === undefined || !unitAllowed(stock.inventory, amount)) return false;
  return stock.used + takenOf(taken, provider, resourceClass) + amount <= stock.capacity;
}

function takenOf(taken: Taken, provider: Provider, resourceClass: string): number {
  let sum = 0;
  for (const one of taken) if (one.provider === provider && one.resourceClass === resourceClass) sum += one.amount;
  return sum;
}

interface Search extends Omit<Plan, 'unnamed'> {
  readonly isolate: boolean;
  readonly subtrees: Subtrees | null;
  readonly tree: readonly Provider[];
  readonly taken: Taken;
  readonly preference: ServerPreference | undefined;
  steps: number;
}

/** Serves the groups from `position` on; allocations made on the way to a dead end are taken back. */
function deal(search: Search, position: number, allocations: Allocation[]): boolean {
  const group = search.named[position];
  if (group === undefined) return true;
  const servers = serversOf(group, search, allocations);
  // Groups that ask for the same have the same servers, and if these are too few no order of them helps.
  if (search.isolate && search.subtrees === null && servers.length < (search.alike[position] as number)) return false;
  for (const provider of servers) {
    search.steps += 1;
    if (search.steps > MAX_SEARCH_STEPS) return false;
    const { resources } = group;
    const takenBefore = search.taken.length;
    for (const resourceClass in resources) {
      search.taken.push({ provider, resourceClass, amount: resources[resourceClass] as number });
    }
    allocations.push({ provider: provider.spec.id, group: group.name, resources });
    if (deal(search, position + 1, allocations)) return true;
    allocations.pop();
    search.taken.length = takenBefore;
  }
  return false;
}

/** The providers that can serve a group, the preferred one first. */
function serversOf(group: ResourceGroup, search: Search, allocations: Allocation[]): Provider[] {
  const { isolate, subtrees, tree, taken, preference } = search;
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
    if (!room || unmet(group, [provider], root) !== null) continue;
    if (preference !== undefined) {
      allocations.push({ provider: provider.spec.id, group: group.name, resources: group.resources });
      left = -preference({ tree, allocations }, provider);
      allocations.pop();
    }
    servers.push({ provider, left });
  }
  if (servers.length > 1) servers.sort((one, other) => one.left - other.left);
  return servers.map(({ provider }) => provider);
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
