// How a host stands towards the typical requests, kept up to date device by device: its fragmentation is then a sum
// over the typical requests, and what it would be after a claim costs no more than the devices that the claim takes.
// All amounts are whole numbers and every sum is taken in the same order, so a host that a claim makes neither better
// nor worse comes out exactly even.

import type { Provider } from '../../../placement/providers.ts';
import type { TypicalRequest } from './fragmentation.ts';
import type { PackingScale } from './load.ts';

/** The typical requests, field by field: they are gone through for every host and every device. */
export interface TypicalTable {
  readonly size: number;
  readonly processor: Float64Array;
  readonly devices: Float64Array;
  readonly share: Float64Array;
  readonly probability: Float64Array;
  /** Which of them a device may serve: one list for all devices of the same traits. */
  servedBy(device: Provider): Served;
}

/** For each typical request, 1 if a device may serve it. */
export type Served = Uint8Array;

export function typicalTable(typical: readonly TypicalRequest[]): TypicalTable {
  const byTraits = new Map<string, Served>();
  return {
    size: typical.length,
    processor: Float64Array.from(typical, ({ processor }) => processor),
    devices: Float64Array.from(typical, ({ devices }) => devices),
    share: Float64Array.from(typical, ({ share }) => share),
    probability: Float64Array.from(typical, ({ probability }) => probability),
    servedBy({ traits }) {
      const key = [...traits].sort().join(' ');
      let served = byTraits.get(key);
      if (served === undefined) {
        const may = ({ anyOf }: TypicalRequest) => anyOf.every((list) => list.some((trait) => traits.has(trait)));
        served = Uint8Array.from(typical, (request) => (may(request) ? 1 : 0));
        byTraits.set(key, served);
      }
      return served;
    },
  };
}

type Stock = { readonly capacity: number; readonly used: number };

export interface DeviceStanding {
  readonly id: string;
  readonly stock: Stock;
  readonly serves: Served;
  free: number;
}

export interface Standing {
  /** The providers of the host, the root first. */
  readonly tree: readonly Provider[];
  readonly processor: Stock | undefined;
  processorFree: number;
  readonly devices: readonly DeviceStanding[];
  devicesFree: number;
  /** For each typical request, how many devices have room for it, and how much is free on those that have none. */
  readonly able: Float64Array;
  readonly useless: Float64Array;
  fragmentation: number;
}

/** A device of a host and how much a claim takes of it. */
export interface Taken {
  readonly device: DeviceStanding;
  readonly amount: number;
}

/** A host of which nothing is known to be free. */
export function newStanding(tree: readonly Provider[], table: TypicalTable, scale: PackingScale): Standing {
  const devices: DeviceStanding[] = [];
  for (const provider of tree) {
    const stock = provider.stocks.get(scale.device);
    if (stock !== undefined) devices.push({ id: provider.spec.id, stock, serves: table.servedBy(provider), free: 0 });
  }
  return {
    tree,
    processor: tree[0]?.stocks.get(scale.processor),
    processorFree: 0,
    devices,
    devicesFree: 0,
    able: new Float64Array(table.size),
    useless: new Float64Array(table.size),
    fragmentation: 0,
  };
}

/** Whether a standing is of these very providers: one that is told anew may have other traits. */
export function isOf(standing: Standing, tree: readonly Provider[]): boolean {
  if (standing.tree.length !== tree.length) return false;
  for (let position = 0; position < tree.length; position += 1) {
    if (standing.tree[position] !== tree[position]) return false;
  }
  return true;
}

/** Takes what is free now; only the devices that changed cost anything. Answers whether any did. */
export function bringUpToDate(standing: Standing, table: TypicalTable): boolean {
  const processorFree = freeOf(standing.processor);
  let changed = standing.processorFree !== processorFree;
  standing.processorFree = processorFree;
  for (const device of standing.devices) {
    const free = freeOf(device.stock);
    if (free === device.free) continue;
    changed = true;
    const { able, useless } = standing;
    for (let request = 0; request < table.size; request += 1) {
      const share = table.share[request] as number;
      const may = device.serves[request] === 1;
      if (may && device.free >= share) (able[request] as number) -= 1;
      else (useless[request] as number) -= device.free;
      if (may && free >= share) (able[request] as number) += 1;
      else (useless[request] as number) += free;
    }
    standing.devicesFree += free - device.free;
    device.free = free;
  }
  if (changed) standing.fragmentation = fragmentationAfter(standing, table, 0, []);
  return changed;
}

function freeOf(stock: Stock | undefined): number {
  return stock === undefined ? 0 : Math.max(0, stock.capacity - stock.used);
}

/** How fragmented the host would be after a claim of this much processor and these parts of its devices. */
export function fragmentationAfter(
  standing: Standing,
  { size, processor, devices, share, probability }: TypicalTable,
  processorTaken: number,
  taken: readonly Taken[],
): number {
  const processorFree = standing.processorFree - processorTaken;
  let devicesFree = standing.devicesFree;
  for (const { amount } of taken) devicesFree -= amount;
  let sum = 0;
  for (let request = 0; request < size; request += 1) {
    const chance = probability[request] as number;
    const needed = devices[request] as number;
    if (needed === 0 || processorFree < (processor[request] as number)) {
      sum += chance * devicesFree;
      continue;
    }
    const asked = share[request] as number;
    let able = standing.able[request] as number;
    let useless = standing.useless[request] as number;
    for (const { device, amount } of taken) {
      const may = device.serves[request] === 1;
      if (may && device.free >= asked) able -= 1;
      else useless -= device.free;
      if (may && device.free - amount >= asked) able += 1;
      else useless += device.free - amount;
    }
    sum += chance * (able < needed ? devicesFree : useless);
  }
  return sum;
}
