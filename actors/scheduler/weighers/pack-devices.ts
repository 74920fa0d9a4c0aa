// Packs devices: a request for devices goes where the smallest part of them would be left, so that large free sets stay
// together. Of several classes of devices each counts the same.

import type { Provider } from '../../placement/providers.ts';
import { isDevice } from './devices.ts';
import { isFirstToTake, shareLeft } from './shares.ts';
import type { Weigher } from './weigher.ts';

export const packDevices: Weigher = {
  name: 'pack-devices',
  multiplier: 4,
  ignoresStats: true,
  weigh({ tree, allocations }) {
    const root = tree[0] as Provider;
    if (allocations.every(({ provider }) => provider === root.spec.id)) return 0;
    const devices = tree.filter(isDevice);
    const taken = allocations.filter(({ provider }) => devices.some(({ spec }) => spec.id === provider));
    let classes = 0;
    let used = 0;
    for (const [position, { resources }] of taken.entries()) {
      for (const resourceClass in resources) {
        if (!isFirstToTake(taken, position, resourceClass)) continue;
        classes += 1;
        used += 1 - shareLeft(devices, taken, resourceClass);
      }
    }
    return classes === 0 ? 0 : used / classes;
  },
};
