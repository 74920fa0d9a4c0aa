// What packing policies look at: how much processor a host has free, how much of each of its devices, and what a
// candidate would take of them. Devices are the providers of the tree that have the device class.

import type { Offer } from '../../../fitting/offer.ts';
import { freeOf } from '../../../placement/inventory.ts';
import type { Provider } from '../../../placement/providers.ts';

/** Which resource classes count, and how much of each the largest host has: the scale on which hosts are compared. */
export interface PackingScale {
  /** The class of processor on the root of the tree. */
  readonly processor: string;
  readonly largestProcessor: number;
  /** The class of which each device has a stock. */
  readonly device: string;
  /** All devices of the largest host together. */
  readonly largestDevices: number;
  /** How much one device has. */
  readonly wholeDevice: number;
}

/** Thousandths of processors and of GPUs, with the largest host of the published experiments: 128 cores and 8 GPUs. */
export const MILLI_SCALE: PackingScale = {
  processor: 'CUSTOM_CPU_MILLI',
  largestProcessor: 128_000,
  device: 'CUSTOM_GPU_MILLI',
  largestDevices: 8_000,
  wholeDevice: 1_000,
};

export interface DeviceLoad {
  readonly provider: Provider;
  readonly capacity: number;
  readonly free: number;
  /** What the candidate takes of it. */
  readonly asked: number;
}

interface HostLoad {
  readonly processorFree: number;
  readonly processorAsked: number;
  /** All devices together. */
  readonly devicesFree: number;
  readonly devicesAsked: number;
}

/** The host as it stands before the claim, and what the claim would take. */
export function loadOf({ tree, allocations }: Offer, scale: PackingScale): HostLoad {
  const root = tree[0] as Provider;
  let devicesFree = 0;
  for (const { stocks } of tree) {
    const stock = stocks.get(scale.device);
    if (stock !== undefined) devicesFree += freeOf(stock);
  }
  let processorAsked = 0;
  let devicesAsked = 0;
  for (const { provider, resources } of allocations) {
    if (provider === root.spec.id) processorAsked += resources[scale.processor] ?? 0;
    devicesAsked += resources[scale.device] ?? 0;
  }
  return { processorFree: processorFreeOf(root, scale), processorAsked, devicesFree, devicesAsked };
}

/** The same of each device, in the order of the tree. */
export function devicesOf({ tree, allocations }: Offer, scale: PackingScale): DeviceLoad[] {
  const devices: DeviceLoad[] = [];
  for (const provider of tree) {
    const stock = provider.stocks.get(scale.device);
    if (stock === undefined) continue;
    let asked = 0;
    for (const { provider: id, resources } of allocations) {
      if (id === provider.spec.id) asked += resources[scale.device] ?? 0;
    }
    devices.push({ provider, capacity: stock.capacity, free: freeOf(stock), asked });
  }
  return devices;
}

function processorFreeOf(root: Provider, scale: PackingScale): number {
  const stock = root.stocks.get(scale.processor);
  return stock === undefined ? 0 : freeOf(stock);
}

/**
 * A score in whole hundredths, as the scheduler of the published experiments counts it. What is cut off matters: hosts
 * that are nearly as good count as equals, and equals are taken in an order that does not change, so that the first
 * of them is filled before the next. From 0 down, on hosts that are larger than the scale, it comes ever closer to 0,
 * in the same order.
 */
export function hundredths(score: number): number {
  const whole = Math.trunc(score);
  return whole > 0 ? whole / 100 : 0.005 / (1 - whole);
}
