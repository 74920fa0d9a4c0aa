// Capacity: on every provider and class, what is used fits (total - reserved) * allocation_ratio, and is exactly what
// the consumers hold. Pure.

import { sumsOf } from '../../actors/amounts.ts';
import type { ConsumerState, ProviderState } from '../../actors/messages/placement.ts';
import { capacityOf } from '../../actors/placement/inventory.ts';
import type { Allocation } from '../../machines/instance-build.ts';
import type { Difference } from './differences.ts';

export function capacityDifferences(
  providers: readonly ProviderState[],
  consumers: readonly ConsumerState[],
  inDoubt: readonly Allocation[] = [],
): Difference[] {
  const held = sumsOf([...consumers.flatMap(allocationsOf), ...inDoubt]);
  const differences: Difference[] = [];
  for (const { id, inventories, used } of providers) {
    const allocated = held.get(id) ?? new Map<string, number>();
    held.delete(id);
    for (const resourceClass of new Set([...Object.keys(used), ...allocated.keys()])) {
      const inventory = inventories[resourceClass];
      const capacity = inventory === undefined ? 0 : capacityOf(inventory);
      const counted = used[resourceClass] ?? 0;
      const sum = allocated.get(resourceClass) ?? 0;
      const where = `${resourceClass} of provider '${id}'`;
      if (Math.max(counted, sum) > capacity) {
        const what = `${where}: ${counted} counted, ${sum} allocated, ${capacity} is all`;
        differences.push({ kind: 'over-capacity', what, provider: id });
      } else if (counted !== sum) {
        const what = `${where}: ${counted} counted, but ${sum} allocated`;
        differences.push({ kind: 'usage-differs', what, provider: id });
      }
    }
  }
  for (const [id, amounts] of held) {
    // A device that was taken for its traits alone may be there no more.
    if (amounts.size === 0) continue;
    const what = `provider '${id}' is not known, but allocated from`;
    differences.push({ kind: 'usage-differs', what, provider: id });
  }
  return differences;
}

function allocationsOf({ held }: ConsumerState): readonly Allocation[] {
  return held.flatMap(({ allocations }) => allocations);
}
