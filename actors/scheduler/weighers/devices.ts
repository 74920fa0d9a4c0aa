// Which providers of a host are devices, such as GPUs, and not parts of the machine itself, such as NUMA nodes.

import type { Provider } from '../../placement/providers.ts';

/** Whether a provider stands below its host and gives something other than processors and memory. */
export function isDevice({ spec, stocks, traits }: Provider): boolean {
  if (spec.parent === null || stocks.size === 0) return false;
  return !(stocks.has('VCPU') || stocks.has('PCPU') || stocks.has('MEMORY_MB') || traits.has('HW_NUMA_ROOT'));
}
