// Whether a host has room for several instances of one request at once.

import type { Allocation } from '../../machines/instance-build.ts';
import { fit } from '../fitting/fit.ts';
import type { RequestSpec } from '../messages/common.ts';
import type { Provider } from '../placement/providers.ts';

/** Whether `count` requests like this one fit a tree together: each is fitted beside those before it. */
export function holdsTimes(spec: RequestSpec, tree: readonly Provider[], count: number): boolean {
  if (count > 1 && !mayHold(spec, tree, count)) return false;
  const taken: (readonly Allocation[])[] = [];
  let holds = true;
  while (holds && taken.length < count) {
    const allocations = fit(spec, tree);
    holds = allocations !== null;
    if (allocations === null) break;
    taken.push(allocations);
    use(tree, allocations, 1);
  }
  for (const allocations of taken) use(tree, allocations, -1);
  return holds;
}

/** Whether there is as much of every class in the tree, taken together, as all need: cheap, and mostly enough to say no. */
function mayHold({ groups }: RequestSpec, tree: readonly Provider[], count: number): boolean {
  const needed = new Map<string, number>();
  for (const { resources } of groups) {
    for (const resourceClass in resources) {
      needed.set(resourceClass, (needed.get(resourceClass) ?? 0) + count * (resources[resourceClass] as number));
    }
  }
  for (const [resourceClass, amount] of needed) {
    let free = 0;
    for (const { stocks } of tree) {
      const stock = stocks.get(resourceClass);
      if (stock !== undefined) free += Math.max(0, stock.capacity - stock.used);
    }
    if (free < amount) return false;
  }
  return true;
}

function use(tree: readonly Provider[], allocations: readonly Allocation[], sign: 1 | -1): void {
  for (const { provider: id, resources } of allocations) {
    const stocks = tree.find(({ spec }) => spec.id === id)?.stocks;
    for (const resourceClass in resources) {
      const stock = stocks?.get(resourceClass);
      if (stock !== undefined) stock.used += sign * (resources[resourceClass] as number);
    }
  }
}
