// Spreads: prefers the host that would have the largest part of its scarcest requested class left, wherever in its tree
// that class is.

import type { Allocation } from '../../../machines/instance-build.ts';
import { isFirstToTake, shareLeft } from './shares.ts';
import type { Weigher } from './weigher.ts';

export const freeShare: Weigher = {
  name: 'free-share',
  multiplier: 1,
  ignoresStats: true,
  weigh({ tree, allocations }) {
    let least = 1;
    for (let position = 0; position < allocations.length; position += 1) {
      const { resources } = allocations[position] as Allocation;
      for (const resourceClass in resources) {
        if (!isFirstToTake(allocations, position, resourceClass)) continue;
        least = Math.min(least, shareLeft(tree, allocations, resourceClass));
      }
    }
    return least;
  },
};
