// How many times a request fits a tree, one after the other, each with what the ones before it left.

import type { Allocation } from '../../machines/instance-build.ts';
import { adjustAll } from '../amounts.ts';
import type { RequestSpec } from '../messages/common.ts';
import { MAX_COUNT } from '../messages/limits.ts';
import { freeOf, type Stock } from '../placement/inventory.ts';
import type { Provider } from '../placement/providers.ts';
import { effort, spend } from './effort.ts';
import { fit, fitAtOnce } from './fit.ts';

/** How often the allocations may change from one to the next before the count is cut short. */
const MAX_ROUNDS = 2_000;
/** After how many looks at providers a count is cut short, unless told otherwise. */
export const MAX_LOOKS_TO_COUNT = 50_000;
/**
 * So many times a request for several groups is fitted one by one, for where the next fits best may change with each: as
 * many as one request can ask for. Of more, as often at once, but for the last few.
 */
const ONE_BY_ONE = MAX_COUNT;
const LAST_ONE_BY_ONE = 8;

/**
 * How many times a request fits a tree (the root first), at most `most`: what is claimed one after the other fits as often.
 * @param isThorough Without it, at least how many times: as far as that is found at once.
 * @param endOfLooks After how many looks at providers in all it counts no further; default: `MAX_LOOKS_TO_COUNT` from now.
 */
export function timesIn(
  spec: RequestSpec,
  tree: readonly Provider[],
  most: number,
  isThorough = true,
  endOfLooks = effort.looks + MAX_LOOKS_TO_COUNT,
): number {
  const search = isThorough ? fit : fitAtOnce;
  const first = search(spec, tree) ?? null;
  if (first === null) return 0;
  if (most === 1) return 1;
  return fill(spec, copyOf(tree), first, most, isThorough, endOfLooks);
}

/** What a tree has left once a request is served by it so many times, or as often as it fits. */
export function leftAfter(spec: RequestSpec, tree: readonly Provider[], times: number): readonly Provider[] {
  const left = copyOf(tree);
  const first = fit(spec, left);
  if (first !== null) fill(spec, left, first, times, true, effort.looks + MAX_LOOKS_TO_COUNT);
  return left;
}

type Filling = Omit<Provider, 'stocks'> & { readonly stocks: Map<string, Stock & { used: number }> };

function copyOf(tree: readonly Provider[]): Filling[] {
  return tree.map((provider) => ({
    ...provider,
    stocks: new Map([...provider.stocks].map(([resourceClass, stock]) => [resourceClass, { ...stock }])),
  }));
}

/** Takes of a tree what a request is given, one time after the other; answers how many times there was room. */
function fill(
  spec: RequestSpec,
  left: readonly Filling[],
  first: readonly Allocation[],
  most: number,
  isThorough: boolean,
  endOfLooks: number,
): number {
  const search = isThorough ? fit : fitAtOnce;
  const byId = new Map(left.map((provider) => [provider.spec.id, provider]));
  const isOfGroups = spec.groups.length > 1;
  let times = 0;
  for (let round = 0; round < MAX_ROUNDS && times < most && (round === 0 || effort.looks <= endOfLooks); round += 1) {
    const allocations = round === 0 ? first : (search(spec, left) ?? null);
    if (allocations === null) break;
    spend(1);
    const taken = new Map<{ capacity: number; used: number }, number>();
    for (const { provider, resources } of allocations) {
      for (const resourceClass in resources) {
        const stock = byId.get(provider)?.stocks.get(resourceClass);
        if (stock !== undefined) taken.set(stock, (taken.get(stock) ?? 0) + (resources[resourceClass] as number));
      }
    }
    let more = 1;
    if (!isOfGroups || !isThorough || times >= ONE_BY_ONE) {
      // The same allocations fit again until one of the providers has too little.
      const few = isOfGroups ? LAST_ONE_BY_ONE : 0;
      more = most - times + few;
      for (const [{ capacity, used }, amount] of taken) more = Math.min(more, Math.floor((capacity - used) / amount));
      more = Math.max(1, more - few);
    }
    for (const [stock, amount] of taken) stock.used += more * amount;
    times += more;
  }
  return times;
}

/**
 * How many times at most a request fits a tree, by how much of every class it has, taken together: cheap, and mostly enough
 * to say that it is too few.
 */
export function mostTimes({ groups }: RequestSpec, tree: readonly Provider[]): number {
  const needed = new Map<string, number>();
  for (const { resources } of groups) adjustAll(needed, resources, 1);
  let most = Number.POSITIVE_INFINITY;
  for (const [resourceClass, amount] of needed) {
    let free = 0;
    for (const { stocks } of tree) {
      const stock = stocks.get(resourceClass);
      if (stock !== undefined) free += freeOf(stock);
    }
    most = Math.min(most, Math.floor(free / amount));
  }
  return most;
}
