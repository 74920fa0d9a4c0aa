// Best fit: prefers the host that would have least left, of processor and devices alike.

import type { Weigher } from '../weigher.ts';
import { hundredths, loadOf, type PackingScale } from './load.ts';

export function bestFit(scale: PackingScale): Weigher {
  return {
    name: 'best-fit',
    multiplier: 1,
    ignoresStats: true,
    weigh(candidate) {
      const { processorFree, processorAsked, devicesFree, devicesAsked } = loadOf(candidate, scale);
      const processorLeft = (processorFree - processorAsked) / scale.largestProcessor;
      const devicesLeft = (devicesFree - devicesAsked) / scale.largestDevices;
      return hundredths(100 * (1 - (0.5 * processorLeft + 0.5 * devicesLeft)));
    },
  };
}
