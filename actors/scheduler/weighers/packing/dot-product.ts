// Dot product: prefers the host whose free resources, as a vector, have the smallest product with what is asked. Full
// hosts come first, and among them those that have least of what is asked most.

import type { Weigher } from '../weigher.ts';
import { hundredths, loadOf, type PackingScale } from './load.ts';

export function dotProduct(scale: PackingScale): Weigher {
  return {
    name: 'dot-product',
    multiplier: 1,
    ignoresStats: true,
    weigh(candidate) {
      const { processorFree, processorAsked, devicesFree, devicesAsked } = loadOf(candidate, scale);
      const processor = (processorFree / scale.largestProcessor) * (processorAsked / scale.largestProcessor);
      const devices = (devicesFree / scale.largestDevices) * (devicesAsked / scale.largestDevices);
      return hundredths(100 * (1 - (processor + devices) / 2));
    },
  };
}
