// How a host stands towards the typical requests, kept up to date device by device: its fragmentation is then a sum
// over the kinds of device request, and what it would be after a claim costs no more than the devices that the claim
// takes. Requests that want the same of devices are of one kind however much processor each wants: how many of them the
// processor of a host is enough for is looked up, so thousands of different requests cost about what dozens do.
// Fragmentation is counted in whole numbers, the sum over all typical requests rather than their mean: so a host that a
// claim makes neither better nor worse comes out exactly even, in whatever order things are added up.

import { freeOf, type Stock } from '../../../placement/inventory.ts';
import type { Provider } from '../../../placement/providers.ts';
import type { DeviceRequest, TypicalRequest } from './fragmentation.ts';
import type { PackingScale } from './load.ts';

/** The typical requests by what they want of devices, field by field: it is gone through for every host and device. */
interface TypicalTable {
  /** How often all typical requests were seen, those for no device too. */
  readonly times: number;
  /** How many kinds of request for devices there are. */
  readonly size: number;
  readonly devices: Float64Array;
  readonly share: Float64Array;
  /** Where the steps of a kind begin; those of the next begin where they end. */
  readonly firstStep: Uint32Array;
  /** The amounts of processor that requests of a kind want, ascending, and how often one was seen that wants no more. */
  readonly processor: Float64Array;
  readonly upTo: Float64Array;
  /** Which kinds a device may serve: one list for all devices of the same traits. */
  servedBy(device: Provider): Served;
}

/** For each kind of request, 1 if a device may serve it. */
export type Served = Uint8Array;

export function typicalTable(typical: readonly TypicalRequest[]): TypicalTable {
  const kinds = kindsOf(typical);
  const byTraits = new Map<string, Served>();
  return {
    times: typical.reduce((sum, { times }) => sum + times, 0),
    size: kinds.length,
    devices: Float64Array.from(kinds, ([{ devices }]) => devices),
    share: Float64Array.from(kinds, ([{ share }]) => share),
    firstStep: Uint32Array.from(startsOf(kinds)),
    processor: Float64Array.from(kinds.flat(), ({ processor }) => processor),
    upTo: Float64Array.from(kinds.flatMap((kind) => runningSums(kind.map(({ times }) => times)))),
    servedBy({ traits }) {
      const key = [...traits].sort().join(' ');
      let served = byTraits.get(key);
      if (served === undefined) {
        const may = ({ anyOf }: DeviceRequest) => anyOf.every((list) => list.some((trait) => traits.has(trait)));
        served = Uint8Array.from(kinds, ([request]) => (may(request) ? 1 : 0));
        byTraits.set(key, served);
      }
      return served;
    },
  };
}

/** Requests that want the same of devices. */
type Kind = [TypicalRequest, ...TypicalRequest[]];

/** The requests for devices by kind, those of a kind by the processor that they want. */
function kindsOf(typical: readonly TypicalRequest[]): Kind[] {
  const kinds = new Map<string, Kind>();
  for (const request of typical) {
    const { devices, share, anyOf } = request;
    if (devices === 0) continue;
    const key = JSON.stringify([devices, share, anyOf]);
    const kind = kinds.get(key);
    if (kind === undefined) kinds.set(key, [request]);
    else kind.push(request);
  }
  return [...kinds.values()].map((kind) => kind.sort((one, other) => one.processor - other.processor));
}

const startsOf = (kinds: readonly Kind[]): number[] => [0, ...runningSums(kinds.map(({ length }) => length))];

function runningSums(values: readonly number[]): number[] {
  let sum = 0;
  return values.map((value) => {
    sum += value;
    return sum;
  });
}

/** How often a request of a kind was seen for which this much processor is enough. */
function timesWith({ firstStep, processor, upTo }: TypicalTable, kind: number, processorFree: number): number {
  let from = firstStep[kind] as number;
  let to = (firstStep[kind + 1] as number) - 1;
  // As a rule it is enough for all of them or for none.
  if (processorFree >= (processor[to] as number)) return upTo[to] as number;
  if (processorFree < (processor[from] as number)) return 0;
  // It is enough at `from` and not at `to`.
  while (to - from > 1) {
    const middle = (from + to) >> 1;
    if (processorFree >= (processor[middle] as number)) from = middle;
    else to = middle;
  }
  return upTo[from] as number;
}

export interface DeviceStanding {
  readonly id: string;
  readonly stock: Stock;
  readonly serves: Served;
  free: number;
}

export interface PackingStanding {
  /** The providers of the host, the root first. */
  readonly tree: readonly Provider[];
  readonly processor: Stock | undefined;
  processorFree: number;
  readonly devices: readonly DeviceStanding[];
  devicesFree: number;
  /** For each kind of request, how many devices have room for it, and how much is free on those that have none. */
  readonly able: Float64Array;
  readonly useless: Float64Array;
  /** What is of no use to a typical request, summed up over all of them as often as each was seen. */
  fragmentation: number;
}

/** A device of a host and how much a claim takes of it. */
export interface Taken {
  readonly device: DeviceStanding;
  readonly amount: number;
}

/** A host of which nothing is known to be free. */
export function newStanding(tree: readonly Provider[], table: TypicalTable, scale: PackingScale): PackingStanding {
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
export function isOf(standing: PackingStanding, tree: readonly Provider[]): boolean {
  if (standing.tree.length !== tree.length) return false;
  for (let position = 0; position < tree.length; position += 1) {
    if (standing.tree[position] !== tree[position]) return false;
  }
  return true;
}

/** Takes what is free now; only the devices that changed cost anything. Answers whether any did. */
export function bringUpToDate(standing: PackingStanding, table: TypicalTable): boolean {
  const processorFree = standing.processor === undefined ? 0 : freeOf(standing.processor);
  let changed = standing.processorFree !== processorFree;
  standing.processorFree = processorFree;
  for (const device of standing.devices) {
    const free = freeOf(device.stock);
    if (free === device.free) continue;
    changed = true;
    const { able, useless } = standing;
    for (let kind = 0; kind < table.size; kind += 1) {
      const share = table.share[kind] as number;
      const may = device.serves[kind] === 1;
      if (may && device.free >= share) (able[kind] as number) -= 1;
      else (useless[kind] as number) -= device.free;
      if (may && free >= share) (able[kind] as number) += 1;
      else (useless[kind] as number) += free;
    }
    standing.devicesFree += free - device.free;
    device.free = free;
  }
  if (changed) standing.fragmentation = fragmentationAfter(standing, table, 0, []);
  return changed;
}

/** The fragmentation of the host after a claim of this much processor and these parts of its devices. */
export function fragmentationAfter(
  standing: PackingStanding,
  table: TypicalTable,
  processorTaken: number,
  taken: readonly Taken[],
): number {
  const { size, devices, share, times } = table;
  const processorFree = standing.processorFree - processorTaken;
  let devicesFree = standing.devicesFree;
  for (const { amount } of taken) devicesFree -= amount;
  let useful = 0;
  for (let kind = 0; kind < size; kind += 1) {
    const served = timesWith(table, kind, processorFree);
    if (served === 0) continue;
    const asked = share[kind] as number;
    let able = standing.able[kind] as number;
    let useless = standing.useless[kind] as number;
    for (const { device, amount } of taken) {
      const may = device.serves[kind] === 1;
      if (may && device.free >= asked) able -= 1;
      else useless -= device.free;
      if (may && device.free - amount >= asked) able += 1;
      else useless += device.free - amount;
    }
    if (able >= (devices[kind] as number)) useful += served * (devicesFree - useless);
  }
  return times * devicesFree - useful;
}
