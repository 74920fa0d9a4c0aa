// GPU clustering: requests for devices go where requests of their class are: shares of a device with shares, requests
// for k whole devices with others for k. A host with that class alone comes first, then one that has it among others,
// then an idle one; within each the fullest.

import type { Weigher } from '../weigher.ts';
import { type DeviceLoad, devicesOf, hundredths, loadOf, type PackingScale } from './load.ts';

/** How many hundredths stand between one kind of host and the next. */
const STEP = 25;

export function gpuClustering(scale: PackingScale): Weigher {
  /**
   * The class of what was last given of each device, as far as this scheduler claimed it: that it is in use does not say
   * so. Of what others claimed, a device that is in use whole counts as taken by itself.
   */
  const given = new Map<string, string>();

  function classOf({ provider, free, capacity }: DeviceLoad): string | null {
    if (free === capacity) return null;
    return free > 0 ? 'share' : (given.get(provider.spec.id) ?? wholeClass(1));
  }

  return {
    name: 'gpu-clustering',
    multiplier: 1,
    ignoresStats: true,
    weigh(candidate) {
      const { devicesFree, devicesAsked } = loadOf(candidate, scale);
      if (devicesAsked === 0) return 0;
      const devices = devicesOf(candidate, scale);
      const wanted = classAsked(devices);
      const there = new Set(devices.map(classOf).filter((one) => one !== null));
      const used = Math.trunc((STEP * (scale.largestDevices - devicesFree)) / scale.largestDevices);
      if (there.has(wanted)) return hundredths(used + (there.size === 1 ? 3 : 2) * STEP);
      return hundredths(used + (there.size === 0 ? STEP : 0));
    },
    granted(allocations) {
      const devices = allocations.filter(({ resources }) => resources[scale.device] !== undefined);
      const shares = devices.every(({ resources }) => (resources[scale.device] as number) < scale.wholeDevice);
      for (const { provider } of devices) given.set(provider, shares ? 'share' : wholeClass(devices.length));
    },
  };
}

function classAsked(devices: readonly DeviceLoad[]): string {
  const taken = devices.filter(({ asked }) => asked > 0);
  const shares = taken.every(({ asked, capacity }) => asked < capacity);
  return shares ? 'share' : wholeClass(taken.length);
}

function wholeClass(devices: number): string {
  return `${devices} whole`;
}
