// A workload from a seed, for those who have no trace at hand: the shares of kinds are those of the openb cluster
// (1,088 without GPU, 3,078 sharing one, 3,911 whole, 75 with several), with multi-creates and flaky hosts added.
// The hosts fit what is asked for by default: nearly all, but some requests for many GPUs may come too late.

import { gpuProviders, WHOLE_GPU_MILLI } from '../drivers/gpus.ts';
import { MalformedError } from '../errors.ts';
import { type Random, seededRandom } from '../random.ts';
import {
  type Arrival,
  type BuildSpec,
  cellNames,
  checkCount,
  type FleetHost,
  gpuGroups,
  gpuKind,
  type Workload,
} from './workload.ts';

export interface GeneratedOptions {
  /** How many cells there are, 1 to 1000. Default: 4. */
  cells?: number;
  /** Hosts in each cell, 1 to 10,000. Default: 60; about one host for each 17 requests keeps nearly all fitting. */
  hostsPerCell?: number;
  /** Instances asked for in total, 1 to 1,000,000; a multi-create of 5 counts 5. Default: 4000. */
  requests?: number;
  /** Default: 1. */
  seed?: number | string;
  /** The time over which requests arrive, in milliseconds. Default: 600,000, which makes 6 to 7 a second. */
  durationMs?: number;
  /** The share of hosts that fail 30 to 70 % of their builds, 0 to 1. Default: 0.05. */
  flakyShare?: number;
}

interface HostShape {
  weight: number;
  gpus: number;
  model: string;
  vcpu: number;
  memoryGb: number;
  diskGb: number;
}

const HOST_SHAPES: readonly HostShape[] = [
  { weight: 8, gpus: 0, model: '', vcpu: 96, memoryGb: 384, diskGb: 4000 },
  { weight: 6, gpus: 2, model: 'P100', vcpu: 64, memoryGb: 256, diskGb: 2000 },
  { weight: 14, gpus: 4, model: 'T4', vcpu: 64, memoryGb: 384, diskGb: 4000 },
  { weight: 22, gpus: 8, model: 'V100', vcpu: 128, memoryGb: 768, diskGb: 8000 },
  { weight: 50, gpus: 8, model: 'G2', vcpu: 128, memoryGb: 768, diskGb: 8000 },
];

interface RequestShape {
  weight: number;
  gpus: number;
  milli: readonly number[];
  vcpu: readonly number[];
  /** The share that ends, about half over all kinds: what shares a GPU mostly serves, what has one whole trains. */
  ending: number;
}

const CPU_ONLY = { gpus: 0, milli: [0], vcpu: [1, 2, 4, 8], ending: 0.35 };
const SHARED = { gpus: 1, milli: [220, 250, 460, 470, 500, 810], vcpu: [2, 4, 8], ending: 0.35 };
const WHOLE = { milli: [WHOLE_GPU_MILLI], ending: 0.7 };
const REQUEST_SHAPES: readonly RequestShape[] = [
  { ...CPU_ONLY, weight: 1088 },
  { ...SHARED, weight: 3078 },
  { ...WHOLE, weight: 3911, gpus: 1, vcpu: [4, 8, 12] },
  { ...WHOLE, weight: 16, gpus: 2, vcpu: [16, 24] },
  { ...WHOLE, weight: 15, gpus: 4, vcpu: [32, 48] },
  { ...WHOLE, weight: 44, gpus: 8, vcpu: [64, 96] },
];
const MEMORY_MB_PER_VCPU = 4096;

/** Which models a request may insist on. None is rare in the fleet, or the fleet could not hold what insists on it. */
const MODEL_CHOICES: readonly (readonly string[])[] = [['G2'], ['V100'], ['V100', 'P100'], ['T4', 'G2']];
const CONSTRAINED_SHARE = 0.15;
const MULTI_CREATE_SHARE = 0.04;
const MULTI_CREATE_SIZE = { min: 2, max: 20 };
/** An instance that ends lives a tenth of the workload on average. */
const LIFETIME_SHARE = 0.1;
const PROJECTS = 20;

/**
 * Makes a workload.
 * @throws MalformedError when an option is out of its bounds
 */
export function generatedWorkload(options: GeneratedOptions = {}): Workload {
  const { hostsPerCell = 60, requests = 4000, seed = 1, durationMs = 600_000, flakyShare = 0.05 } = options;
  const cells = cellNames(options.cells ?? 4);
  checkCount('hostsPerCell', hostsPerCell, 10_000);
  checkCount('requests', requests, 1_000_000);
  checkCount('durationMs', durationMs, Number.MAX_SAFE_INTEGER);
  if (!(flakyShare >= 0 && flakyShare <= 1)) {
    throw new MalformedError(`'flakyShare' must be from 0 to 1, not '${flakyShare}'`, { field: 'flakyShare' });
  }
  const random = seededRandom(seed);
  return {
    name: `generated-${seed}`,
    hosts: makeHosts(cells, hostsPerCell, flakyShare, random.fork('hosts')),
    arrivals: makeArrivals(requests, durationMs, random.fork('arrivals')),
    requested: requests,
    endMs: durationMs,
  };
}

function makeHosts(cells: readonly string[], perCell: number, flakyShare: number, random: Random): FleetHost[] {
  const count = cells.length * perCell;
  const places = random.fork('flaky').shuffle([...Array(count).keys()]);
  const flaky = new Set(places.slice(0, Math.round(count * flakyShare)));
  const shapes = quotas(HOST_SHAPES, count).flatMap(({ item, quota }) => Array<HostShape>(quota).fill(item));
  return random.shuffle(shapes).map((shape, index) => {
    const host = `host-${String(index + 1).padStart(4, '0')}`;
    const tree = {
      name: host,
      inventories: {
        VCPU: { total: shape.vcpu, allocation_ratio: 2 },
        MEMORY_MB: { total: shape.memoryGb * 1024, reserved: 4096 },
        DISK_GB: { total: shape.diskGb },
      },
      ...(shape.gpus > 0 && { children: gpuProviders(host, shape.gpus, shape.model) }),
    };
    const failureRate = random.fork(host).integer(30, 70) / 100;
    return { cell: cells[index % cells.length] as string, host, tree, ...(flaky.has(index) && { failureRate }) };
  });
}

function makeArrivals(requests: number, durationMs: number, random: Random): Arrival[] {
  const drafts = random.shuffle(cutIntoArrivals(requests, random.fork('sizes')));
  const times = drafts.map(() => random.integer(0, durationMs - 1)).sort((a, b) => a - b);
  return drafts.map(({ shape, count }, index) => {
    const atMs = times[index] as number;
    const id = `request-${String(index + 1).padStart(5, '0')}`;
    const draws = random.fork(id);
    const milli = draws.pick(shape.milli);
    const endAtMs = Array.from({ length: count }, () => {
      const lifetimeMs = Math.ceil(draws.exponential(durationMs * LIFETIME_SHARE));
      return draws.chance(shape.ending) && atMs + lifetimeMs < durationMs ? atMs + lifetimeMs : undefined;
    });
    return {
      atMs,
      id,
      project: `project-${draws.integer(1, PROJECTS)}`,
      spec: makeSpec(shape, milli, draws),
      count,
      endAtMs,
      kind: gpuKind(shape.gpus, milli),
    };
  });
}

/** Cuts each kind's quota into single requests and multi-creates; many GPUs are only asked for one by one. */
function cutIntoArrivals(requests: number, random: Random): { shape: RequestShape; count: number }[] {
  return quotas(REQUEST_SHAPES, requests).flatMap(({ item: shape, quota }) => {
    const drafts: { shape: RequestShape; count: number }[] = [];
    for (let left = quota; left > 0; ) {
      const isMulti = shape.gpus <= 1 && random.chance(MULTI_CREATE_SHARE);
      const size = isMulti ? random.integer(MULTI_CREATE_SIZE.min, MULTI_CREATE_SIZE.max) : 1;
      const count = Math.min(size, left);
      drafts.push({ shape, count });
      left -= count;
    }
    return drafts;
  });
}

function makeSpec(shape: RequestShape, milli: number, draws: Random): BuildSpec {
  const vcpu = draws.pick(shape.vcpu);
  const resources = { VCPU: vcpu, MEMORY_MB: vcpu * MEMORY_MB_PER_VCPU, DISK_GB: draws.pick([20, 40, 80]) };
  const choices = MODEL_CHOICES.filter((models) => models.some((model) => gpusOnHostsOf(model) >= shape.gpus));
  const models = draws.chance(CONSTRAINED_SHARE) ? draws.pick(choices) : [];
  return { resources, ...gpuGroups(shape.gpus, milli, models) };
}

function gpusOnHostsOf(model: string): number {
  return HOST_SHAPES.find((shape) => shape.model === model)?.gpus ?? 0;
}

/** How many of `count` each item gets by its weight: exact shares, where draws would let a seed stray. */
function quotas<Item extends { weight: number }>(
  list: readonly Item[],
  count: number,
): { item: Item; quota: number }[] {
  const total = list.reduce((sum, { weight }) => sum + weight, 0);
  let reached = 0;
  return list.map((item) => {
    const before = Math.round((reached * count) / total);
    reached += item.weight;
    return { item, quota: Math.round((reached * count) / total) - before };
  });
}
