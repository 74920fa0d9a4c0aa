// Hosts with devices for the tests of packing: what they have, what is in use of it, and what a request would take.

import type { RequestSpec } from '../../../actors/messages/common.ts';
import type { Inventory, ProviderSpec } from '../../../actors/messages/placement.ts';
import { adjustUse, makeProvider, type Provider } from '../../../actors/placement/providers.ts';
import type { Allocation } from '../../../machines/instance-build.ts';

export interface HostPlan {
  readonly name?: string;
  /** Thousandths of processors: all that there are, and what is free of them. */
  readonly processor?: number;
  readonly processorFree: number;
  /** What is free of each device, of which each has 1,000. */
  readonly free: readonly number[];
  /** The model of the devices. */
  readonly model?: string;
}

const inventory = (total: number): Inventory => {
  return { total, reserved: 0, min_unit: 1, max_unit: total, step_size: 1, allocation_ratio: 1 };
};

/** The tree of a host, the root first: `<name>`, `<name>-0`, `<name>-1` and so on. */
export function treeOf({ name = 'h', processor, processorFree, free, model = 'T4' }: HostPlan): Provider[] {
  const spec = (id: string, parent: string | null, inventories: ProviderSpec['inventories'], traits: string[]) =>
    makeProvider({ id, name: id, parent, inventories, traits, aggregates: [] }, name);
  const total = processor ?? Math.max(1, processorFree);
  const root = spec(name, null, { CUSTOM_CPU_MILLI: inventory(total), MEMORY_MB: inventory(1_000_000) }, []);
  use(root, 'CUSTOM_CPU_MILLI', total - processorFree);
  const devices = free.map((left, position) => {
    const one = spec(`${name}-${position}`, name, { CUSTOM_GPU_MILLI: inventory(1_000) }, [`CUSTOM_GPU_${model}`]);
    use(one, 'CUSTOM_GPU_MILLI', 1_000 - left);
    return one;
  });
  return [root, ...devices];
}

function use(provider: Provider, resourceClass: string, amount: number): void {
  adjustUse(provider, { [resourceClass]: amount }, 1);
}

/** A request for processor and for a part of each of so many devices. */
export function specOf(processor: number, devices = 0, share = 1_000, models: readonly string[] = []): RequestSpec {
  const anyOf = models.length === 0 ? {} : { anyOf: [models.map((model) => `CUSTOM_GPU_${model}`)] };
  const named = Array.from({ length: devices }, (_, position) => {
    return { name: `gpu${position}`, resources: { CUSTOM_GPU_MILLI: share }, ...anyOf };
  });
  const unnamed = processor === 0 ? [] : [{ name: '', resources: { CUSTOM_CPU_MILLI: processor } }];
  return { groups: [...unnamed, ...named], groupPolicy: devices > 1 ? 'isolate' : 'none' };
}

/** The devices that serve a request, by their position. */
export function devicesOf(allocations: readonly Allocation[] | null): number[] | null {
  if (allocations === null) return null;
  return allocations.filter(({ group }) => group !== '').map(({ provider }) => Number(provider.split('-').at(-1)));
}
