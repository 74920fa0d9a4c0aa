// Whether a request fits the tree of a host, and with which allocations: schedulers choose by it, and so does placement
// where what a claim names is taken. The unnamed group is served wherever in the tree there is room, the host itself first;
// named groups are served by single providers, the tightest fit first.

import type { Allocation } from '../../machines/instance-build.ts';
import type { RequestSpec, ResourceGroup } from '../messages/common.ts';
import { asksOfRoot, unmet, unmetByRoot } from '../placement/conditions.ts';
import { hasRoom } from '../placement/inventory.ts';
import type { Provider } from '../placement/providers.ts';
import { type Plan, planOf } from './fit-choices.ts';
import { serve, serveAtOnce } from './fit-search.ts';
import type { ServerPreference } from './offer.ts';

/**
 * The allocations with which the request fits the tree (the root first), or null. Without a preference a named group
 * is served by the provider that is left with least, so that whole devices stay whole.
 */
export function fit(
  spec: RequestSpec,
  tree: readonly Provider[],
  preference?: ServerPreference,
): readonly Allocation[] | null {
  return fitBy(serve, spec, tree, preference);
}

/** The same as far as it is found at once; undefined when only a thorough search would tell. */
export function fitAtOnce(
  spec: RequestSpec,
  tree: readonly Provider[],
  preference?: ServerPreference,
): readonly Allocation[] | null | undefined {
  return fitBy(serveAtOnce, spec, tree, preference);
}

function fitBy<Found>(
  search: (plan: Plan, spec: RequestSpec, tree: readonly Provider[], preference?: ServerPreference) => Found,
  spec: RequestSpec,
  tree: readonly Provider[],
  preference: ServerPreference | undefined,
): readonly Allocation[] | null | Found {
  const root = tree[0] as Provider;
  if (asksOfRoot(spec) && unmetByRoot(spec, root) !== null) return null;
  const [group] = spec.groups;
  if (tree.length === 1 && spec.groups.length === 1 && group?.name === '') return serveByRoot(group, root);
  const plan = planOf(spec);
  for (const asking of plan.ofHost) if (unmet(asking, [root], root) !== null) return null;
  return search(plan, spec, tree, preference);
}

/** For one unnamed group on a host without children: what most ask of most. */
function serveByRoot(group: ResourceGroup, root: Provider): readonly Allocation[] | null {
  const { name, resources } = group;
  let asksForSome = false;
  for (const resourceClass in resources) {
    asksForSome = true;
    const stock = root.stocks.get(resourceClass);
    if (stock === undefined || !hasRoom(stock, resources[resourceClass] as number)) return null;
  }
  if (unmet(group, [root], root) !== null) return null;
  return asksForSome ? [{ provider: root.spec.id, group: name, resources }] : [];
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
