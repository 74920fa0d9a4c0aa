// Weighers: how good a host would be that fits. Each is a small pure function of the host as it would stand after the
// claim, gives a number from 0 to 1 (higher is better), and counts with its multiplier. None looks at other hosts, so
// that a host's weight changes only when the host does.

import type { Allocation } from '../../machines/instance-build.ts';
import type { Provider } from '../placement/providers.ts';

export interface Candidate {
  /** The tree of the host, the root first. */
  readonly tree: readonly Provider[];
  readonly allocations: readonly Allocation[];
}

export interface Weigher {
  readonly name: string;
  readonly multiplier: number;
  weigh(candidate: Candidate): number;
}

/** Spreads: prefers the host that would have the largest part of its scarcest requested class left. */
const freeShare: Weigher = {
  name: 'free-share',
  multiplier: 1,
  weigh({ tree, allocations }) {
    const root = tree[0] as Provider;
    let least = 1;
    for (const { provider, resources } of allocations) {
      if (provider !== root.spec.id) continue;
      for (const resourceClass in resources) {
        const stock = root.stocks.get(resourceClass);
        if (stock === undefined) continue;
        least = Math.min(least, (stock.capacity - stock.used - (resources[resourceClass] as number)) / stock.capacity);
      }
    }
    return Math.max(0, least);
  },
};

/** Packs devices: a request for devices goes where the fewest would be left, so that large free sets stay together. */
const packDevices: Weigher = {
  name: 'pack-devices',
  multiplier: 4,
  weigh({ tree, allocations }) {
    const root = tree[0] as Provider;
    let capacity = 0;
    let left = 0;
    for (const { provider, resources } of allocations) {
      if (provider === root.spec.id) continue;
      for (const resourceClass in resources) left -= resources[resourceClass] as number;
    }
    if (left === 0) return 0;
    for (const device of tree) {
      if (device === root) continue;
      for (const stock of device.stocks.values()) {
        capacity += stock.capacity;
        left += stock.capacity - stock.used;
      }
    }
    return capacity === 0 ? 0 : 1 - left / capacity;
  },
};

/** Keeps hosts with devices for those who ask for devices. */
const spareDevices: Weigher = {
  name: 'spare-devices',
  multiplier: 8,
  weigh({ tree, allocations }) {
    const root = (tree[0] as Provider).spec.id;
    return tree.length === 1 || allocations.some(({ provider }) => provider !== root) ? 1 : 0;
  },
};

export const DEFAULT_WEIGHERS: readonly Weigher[] = [freeShare, packDevices, spareDevices];

export function weightOf(weighers: readonly Weigher[], candidate: Candidate): number {
  let weight = 0;
  for (const weigher of weighers) weight += weigher.multiplier * weigher.weigh(candidate);
  return weight;
}
