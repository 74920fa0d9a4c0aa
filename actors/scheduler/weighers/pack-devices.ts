// Packs devices: a request for devices goes where the fewest would be left, so that large free sets stay together.

import type { Provider } from '../../placement/providers.ts';
import type { Weigher } from './weigher.ts';

export const packDevices: Weigher = {
  name: 'pack-devices',
  multiplier: 4,
  ignoresStats: true,
  weigh({ tree, allocations }) {
    const root = tree[0] as Provider;
    let capacity = 0;
    let left = 0;
    for (const { provider, resources } of allocations) {
      if (provider === root.spec.id) continue;
      for (const resourceClass in resources) left -= resources[resourceClass] as number;
    }
    if (left === 0) return 0;
    for (const device of tree) {
      if (device === root) continue;
      for (const stock of device.stocks.values()) {
        capacity += stock.capacity;
        left += stock.capacity - stock.used;
      }
    }
    return capacity === 0 ? 0 : 1 - left / capacity;
  },
};
