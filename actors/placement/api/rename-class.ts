// Gives a custom resource class another name, wherever it is: old callers of the Placement API may do that.

import type { Allocation } from '../../../machines/instance-build.ts';
import { install } from '../indexes.ts';
import { countsOf, makeProvider } from '../providers.ts';
import type { PlacementState } from '../state.ts';
import { renameInTallies } from '../tallies.ts';

export function renameClass(state: PlacementState, name: string, to: string): void {
  const { catalog, providers, consumers, untold } = state;
  catalog.classes.delete(name);
  catalog.classes.add(to);
  for (const before of [...providers.values()]) {
    const stock = countsOf(before).get(name);
    if (stock === undefined) continue;
    const inventories = renamed(before.spec.inventories, name, to);
    const after = makeProvider({ ...before.spec, inventories }, before.root, before);
    const stocks = countsOf(after);
    stocks.delete(name);
    const inventory = inventories[to];
    if (inventory === undefined) stocks.set(to, stock);
    else stocks.set(to, { ...stock, inventory });
    after.quiet += 1;
    install(state, after);
    untold.changed.add(before.spec.id);
  }
  renameInTallies(consumers.tallies, name, to);
  for (const [id, consumer] of consumers.holding) {
    if (!consumer.held.some(({ allocations }) => allocations.some(({ resources }) => name in resources))) continue;
    consumers.holding.touch(id);
    consumer.held = consumer.held.map(({ allocations, ...held }) => ({
      ...held,
      allocations: allocations.map((one) => (name in one.resources ? renamedIn(one, name, to) : one)),
    }));
  }
}

function renamedIn(allocation: Allocation, name: string, to: string): Allocation {
  return { ...allocation, resources: renamed(allocation.resources, name, to) };
}

function renamed<Value>(values: Readonly<Record<string, Value>>, name: string, to: string): Record<string, Value> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key === name ? to : key, value]));
}
