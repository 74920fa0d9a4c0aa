// Keeps hosts with devices for those who ask for devices.

import { isDevice } from './devices.ts';
import type { Weigher } from './weigher.ts';

export const spareDevices: Weigher = {
  name: 'spare-devices',
  multiplier: 8,
  ignoresStats: true,
  weigh({ tree, allocations }) {
    if (tree.length === 1) return 1;
    let spared = false;
    for (const one of tree) {
      if (!isDevice(one)) continue;
      if (allocations.some(({ provider }) => provider === one.spec.id)) return 1;
      spared = true;
    }
    return spared ? 0 : 1;
  },
};
