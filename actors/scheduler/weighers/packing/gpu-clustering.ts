// GPU clustering: requests for devices go where requests of their class are: shares of one device with such shares,
// requests for one whole device with their like, and requests for k devices, or for shares of k, with others for k. A host
// with that class alone comes first, then one that has it among others, then an idle one; within each the fullest.

import type { Weigher } from '../weigher.ts';
import { type DeviceLoad, devicesOf, hundredths, loadOf, type PackingScale } from './load.ts';

/** How many hundredths stand between one kind of host and the next. */
const STEP = 25;
/** Of how many devices it is remembered what was given: those of hosts that are no more are never seen idle. */
const MAX_GIVEN = 200_000;

export function gpuClustering(scale: PackingScale): Weigher {
  /**
   * The classes of what was given of each device since it was last seen idle, as far as this scheduler claimed it: that
   * it is in use does not say so. Of what others claimed, a device that is in use whole counts as taken by itself.
   */
  const given = new Map<string, Set<string>>();

  function classesOf({ provider, free, capacity }: DeviceLoad): Iterable<string> {
    const { id } = provider.spec;
    if (free === capacity) {
      given.delete(id);
      return [];
    }
    return given.get(id) ?? [classOf([{ asked: capacity - free, capacity }])];
  }

  return {
    name: 'gpu-clustering',
    multiplier: 1,
    ignoresStats: true,
    weigh(candidate) {
      const { devicesFree, devicesAsked } = loadOf(candidate, scale);
      if (devicesAsked === 0) return 0;
      const devices = devicesOf(candidate, scale);
      const wanted = classOf(devices.filter(({ asked }) => asked > 0));
      const there = new Set(devices.flatMap((device) => [...classesOf(device)]));
      const used = Math.trunc((STEP * (scale.largestDevices - devicesFree)) / scale.largestDevices);
      if (there.has(wanted)) return hundredths(used + (there.size === 1 ? 3 : 2) * STEP);
      return hundredths(used + (there.size === 0 ? STEP : 0));
    },
    granted(allocations) {
      const capacity = scale.wholeDevice;
      const taken = new Map<string, Pick<DeviceLoad, 'asked' | 'capacity'>>();
      for (const { provider, resources } of allocations) {
        const amount = resources[scale.device];
        if (amount === undefined) continue;
        taken.set(provider, { asked: (taken.get(provider)?.asked ?? 0) + amount, capacity });
      }
      const one = classOf([...taken.values()]);
      for (const [provider, { asked }] of taken) {
        const classes = given.get(provider);
        // Where all is given, nothing of what was there before is left.
        if (classes === undefined || asked >= capacity) given.set(provider, new Set([one]));
        else classes.add(one);
      }
      for (const oldest of given.keys()) {
        if (given.size <= MAX_GIVEN) break;
        given.delete(oldest);
      }
    },
  };
}

/** The class of a request that takes so much of each of these devices. */
function classOf(taken: readonly Pick<DeviceLoad, 'asked' | 'capacity'>[]): string {
  const [first] = taken;
  if (taken.length === 1 && first !== undefined && first.asked < first.capacity) return 'share';
  return `${taken.length} devices`;
}
