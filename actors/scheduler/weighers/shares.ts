// How large a part of a resource class would be left: amounts of unlike classes cannot be compared, their shares can.

import type { Allocation } from '../../../machines/instance-build.ts';
import type { Provider } from '../../placement/providers.ts';
import { stockOf } from '../view/host-facts.ts';

/** The share of a class that some providers together would have left, when what is taken of them is taken: 0 to 1. */
export function shareLeft(providers: readonly Provider[], taken: readonly Allocation[], resourceClass: string): number {
  const { free, capacity } = stockOf(providers, resourceClass);
  let left = free;
  for (const { resources } of taken) left -= resources[resourceClass] ?? 0;
  return capacity > 0 ? Math.max(0, left) / capacity : 0;
}

/** Whether an allocation is the first of some that takes of a class: so that each class counts once. */
export function isFirstToTake(taken: readonly Allocation[], position: number, resourceClass: string): boolean {
  for (let before = 0; before < position; before += 1) {
    if ((taken[before] as Allocation).resources[resourceClass] !== undefined) return false;
  }
  return true;
}
