// GPU packing: devices that are in use before idle devices of hosts in use, and those before idle hosts; so that whole
// devices and whole hosts stay free for those who ask for whole ones.

import type { Weigher } from '../weigher.ts';
import { devicesOf, hundredths, loadOf, type PackingScale } from './load.ts';

/** The least score of a host on whose used devices there is room, and the most of one with an idle device. */
const DEVICES_IN_USE = 50;
/** The least score of a host in use, and the most of an idle one. */
const HOST_IN_USE = 33;

export function gpuPacking(scale: PackingScale): Weigher {
  return {
    name: 'gpu-packing',
    multiplier: 1,
    ignoresStats: true,
    weigh(candidate) {
      if (loadOf(candidate, scale).devicesAsked === 0) return 0;
      const devices = devicesOf(candidate, scale);
      let idle = 0;
      let idleTaken = 0;
      let freeOfTaken = 0;
      for (const { free, capacity, asked } of devices) {
        if (free === capacity) idle += 1;
        if (asked === 0) continue;
        if (free === capacity) idleTaken += 1;
        freeOfTaken += Math.trunc((100 * free) / capacity);
      }
      if (idle === devices.length) return hundredths(Math.min(HOST_IN_USE, Math.max(HOST_IN_USE - idle, idle)));
      if (idleTaken > 0) return hundredths(Math.max(DEVICES_IN_USE - idleTaken, HOST_IN_USE));
      return hundredths(Math.max(100 - Math.trunc(freeOfTaken / 10), DEVICES_IN_USE));
    },
  };
}
