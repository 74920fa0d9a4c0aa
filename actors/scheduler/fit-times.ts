// How many times a request fits a tree, one after the other, each with what the ones before it left.

import { fit, fitAtOnce } from '../fitting/fit.ts';
import type { RequestSpec } from '../messages/common.ts';
import type { Provider } from '../placement/providers.ts';

/** How often the allocations may change from one to the next before the count is cut short. */
const MAX_ROUNDS = 1_000;
/** The last so many times a request for several groups is fitted one by one: what one takes may change where the next fits. */
const ONE_BY_ONE = 8;

/**
 * How many times a request fits a tree (the root first), at most `most`.
 * @param isThorough Without it, at least how many times: as far as that is found at once.
 */
export function timesIn(spec: RequestSpec, tree: readonly Provider[], most: number, isThorough = true): number {
  const search = isThorough ? fit : fitAtOnce;
  if ((search(spec, tree) ?? null) === null) return 0;
  if (most === 1) return 1;
  const left = tree.map((provider) => ({
    ...provider,
    stocks: new Map([...provider.stocks].map(([resourceClass, stock]) => [resourceClass, { ...stock }])),
  }));
  const byId = new Map(left.map((provider) => [provider.spec.id, provider]));
  const few = spec.groups.length > 1 ? ONE_BY_ONE : 0;
  let times = 0;
  for (let round = 0; round < MAX_ROUNDS && times < most; round += 1) {
    const allocations = search(spec, left) ?? null;
    if (allocations === null) break;
    const taken = new Map<{ capacity: number; used: number }, number>();
    for (const { provider, resources } of allocations) {
      for (const resourceClass in resources) {
        const stock = byId.get(provider)?.stocks.get(resourceClass);
        if (stock !== undefined) taken.set(stock, (taken.get(stock) ?? 0) + (resources[resourceClass] as number));
      }
    }
    // The same allocations fit again until one of the providers has too little: as often at once.
    let more = most - times + few;
    for (const [{ capacity, used }, amount] of taken) more = Math.min(more, Math.floor((capacity - used) / amount));
    more = Math.max(1, more - few);
    for (const [stock, amount] of taken) stock.used += more * amount;
    times += more;
  }
  return times;
}
