// Spreads by one resource class, or packs with a negative multiplier: how large a part of it the host would have left.
// It is the part, not the amount, that is compared: small hosts fill at the same pace as large ones.

import { stockOf } from '../view/host-facts.ts';
import type { Weigher } from './weigher.ts';

const classes = new WeakMap<Weigher['weigh'], string>();

/** The class by which a weigher goes that `free` has made, whatever its multiplier is now. */
export const classOfFree = ({ weigh }: Weigher): string | undefined => classes.get(weigh);

export function free(resourceClass: string): Weigher {
  const weigher: Weigher = {
    name: `free-${resourceClass}`,
    multiplier: 1,
    ignoresStats: true,
    weigh({ tree, allocations }) {
      const stock = stockOf(tree, resourceClass);
      let left = stock.free;
      for (const { resources } of allocations) left -= resources[resourceClass] ?? 0;
      return stock.capacity > 0 ? left / stock.capacity : 0;
    },
  };
  classes.set(weigher.weigh, resourceClass);
  return weigher;
}
