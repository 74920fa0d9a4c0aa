// Keeps hosts with devices for those who ask for devices.

import type { Provider } from '../../placement/providers.ts';
import type { Weigher } from './weigher.ts';

export const spareDevices: Weigher = {
  name: 'spare-devices',
  multiplier: 8,
  ignoresStats: true,
  weigh({ tree, allocations }) {
    const root = (tree[0] as Provider).spec.id;
    return tree.length === 1 || allocations.some(({ provider }) => provider !== root) ? 1 : 0;
  },
};
