// The tree of a host with NUMA nodes: processors and memory belong to the nodes, and each GPU to the node that it is
// attached to, so that a request can ask for a node and a GPU of one subtree. For fleets of the fake driver.

import { MAX_AMOUNT } from '../../actors/messages/limits.ts';
import { MalformedError } from '../errors.ts';
import { shown } from '../fault-words.ts';
import type { ProviderReport } from './driver.ts';
import { gpuProviders } from './gpus.ts';
import { MAX_PROVIDERS } from './naming.ts';

/** The shape of a host with NUMA nodes that are all alike. */
export interface NumaHost {
  readonly name: string;
  /** How many NUMA nodes it has. */
  readonly nodes: number;
  /** Processors of each node. */
  readonly vcpu: number;
  /** Memory of each node, MiB. */
  readonly memoryMb: number;
  /** GPUs of each node. */
  readonly gpus: number;
  /** Disk of the host itself, GB. */
  readonly diskGb: number;
  /** Such as `A100`, for the trait `CUSTOM_GPU_A100`; read only where there are GPUs. */
  readonly gpuModel: string;
}

/**
 * The host has its disk; each node, named `<host>-numa-<n>`, has the rest, its GPUs below it.
 * @throws MalformedError that names a field that is no whole number from 1 on, or more than can be; of GPUs there may be
 * none; a name that is no text, and a model, where there are GPUs.
 */
export function numaHost(host: NumaHost): ProviderReport {
  const { name, nodes, vcpu, memoryMb, gpus, diskGb, gpuModel } = host ?? {};
  for (const [field, value] of Object.entries({ nodes, vcpu, memoryMb, diskGb, gpus })) {
    const least = field === 'gpus' ? 0 : 1;
    const most = field === 'nodes' || field === 'gpus' ? MAX_PROVIDERS : MAX_AMOUNT;
    if (Number.isInteger(value) && value >= least && value <= most) continue;
    throw new MalformedError(`'${field}' must be a whole number from ${least} to ${most}, not ${shown(value)}`, {
      field,
    });
  }
  for (const [field, value] of Object.entries(gpus > 0 ? { name, gpuModel } : { name })) {
    if (typeof value === 'string' && value !== '') continue;
    throw new MalformedError(`'${field}' must be a text, not ${shown(value)}`, { field });
  }
  return {
    name,
    inventories: { DISK_GB: { total: diskGb } },
    children: Array.from({ length: nodes }, (_, index) => {
      const node = `${name}-numa-${index}`;
      return {
        name: node,
        inventories: { VCPU: { total: vcpu }, MEMORY_MB: { total: memoryMb } },
        traits: ['HW_NUMA_ROOT'],
        children: gpuProviders(node, gpus, gpuModel),
      };
    }),
  };
}
