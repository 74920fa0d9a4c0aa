// Spreads: prefers the host that would have the largest part of its scarcest requested class left.

import type { Provider } from '../../placement/providers.ts';
import type { Weigher } from './weigher.ts';

export const freeShare: Weigher = {
  name: 'free-share',
  multiplier: 1,
  ignoresStats: true,
  weigh({ tree, allocations }) {
    const root = tree[0] as Provider;
    let least = 1;
    for (const { provider, resources } of allocations) {
      if (provider !== root.spec.id) continue;
      for (const resourceClass in resources) {
        const stock = root.stocks.get(resourceClass);
        if (stock === undefined) continue;
        least = Math.min(least, (stock.capacity - stock.used - (resources[resourceClass] as number)) / stock.capacity);
      }
    }
    return Math.max(0, least);
  },
};
