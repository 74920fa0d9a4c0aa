// The trace of a packing experiment: a list of hosts and one of requests, as the openb trace has them. Every row is
// checked; an error names the file, the line and the column.

import type { RequestSpec } from '../../actors/messages/common.ts';
import type { ProviderSpec } from '../../actors/messages/placement.ts';
import { modelTrait, WHOLE_GPU_MILLI } from '../drivers/gpus.ts';
import { providersOf } from '../drivers/naming.ts';
import { MalformedError } from '../errors.ts';
import { specOf } from '../gateway/requests.ts';
import {
  HOST_COLUMNS,
  hostIn,
  OPTIONAL_HOST_COLUMNS,
  OPTIONAL_REQUEST_COLUMNS,
  REQUEST_COLUMNS,
  requestIn,
} from '../workload/openb-rows.ts';
import { type Names, readRows } from '../workload/rows.ts';
import { MAX_GPUS } from '../workload/workload.ts';

export interface PackingRequest {
  readonly name: string;
  /** Without a group where nothing is asked for. */
  readonly spec: RequestSpec;
  /** Thousandths of one GPU. */
  readonly share: number;
  /** Thousandths of all GPUs that it asks for. */
  readonly gpuMilli: number;
}

export interface PackingTrace {
  /** The tree of each host, the root first. */
  readonly hosts: readonly (readonly ProviderSpec[])[];
  /** By name. */
  readonly requests: readonly PackingRequest[];
  /** How many different specs the requests have. */
  readonly shapes: number;
  /** All GPUs of all hosts, in thousandths. */
  readonly gpuMilli: number;
  /** Models that requests ask for and no host has, with the number of these requests. */
  readonly absentModels: ReadonlyMap<string, number>;
}

const NOTHING: RequestSpec = { groups: [], groupPolicy: 'none' };

/**
 * Reads the trace.
 * @throws MalformedError for a row that is wrong, or when there are no GPUs or nobody asks for one, or no host has memory
 * that is asked for; `field` is the column, or the file where it is no column's fault
 * @throws CellwrightError `trace-unreadable` when a file cannot be read
 */
export function readPackingTrace(nodesFile: string, podsFile: string): PackingTrace {
  const models = new Set<string>();
  const hosts = readHosts(nodesFile, models);
  const absentModels = new Map<string, number>();
  const requests = readRequests(podsFile, (model) => {
    if (!models.has(modelTrait(model))) absentModels.set(model, (absentModels.get(model) ?? 0) + 1);
  });
  const measured = 'what is measured is how much of all GPUs is allocated';
  if (hosts.every(({ length }) => length === 1)) throw wrong(nodesFile, 'gpu', `no host has a GPU, and ${measured}`);
  if (requests.every((request) => request.gpuMilli === 0)) {
    throw wrong(podsFile, 'num_gpu', `no request asks for a GPU, and ${measured}`);
  }
  const takesMemory = ({ spec }: PackingRequest) =>
    spec.groups.some(({ resources }) => resources.MEMORY_MB !== undefined);
  if (hosts.every(([root]) => root?.inventories.MEMORY_MB === undefined) && requests.some(takesMemory)) {
    throw wrong(nodesFile, 'memory_mib', `no host has memory, and requests of '${podsFile}' ask for it`);
  }
  const shapes = new Set(requests.map(({ spec }) => JSON.stringify(spec))).size;
  const gpuMilli = hosts.reduce((sum, providers) => sum + (providers.length - 1) * WHOLE_GPU_MILLI, 0);
  return { hosts, requests, shapes, gpuMilli, absentModels };
}

function wrong(file: string, column: string, what: string): MalformedError {
  return new MalformedError(`'${file}' column '${column}': ${what}`, { field: column });
}

/** @param models Receives the traits of the models. */
function readHosts(file: string, models: Set<string>): ProviderSpec[][] {
  const seen: Names = new Map();
  const hosts = readRows(file, HOST_COLUMNS, OPTIONAL_HOST_COLUMNS).map((row) => {
    const { tree, gpus, model } = hostIn(row, seen);
    if (gpus > 0) models.add(modelTrait(model));
    return providersOf('fleet', tree.name, tree, []);
  });
  return hosts.sort(byName);
}

/** In whatever order a file has its hosts, an experiment comes to the same. */
function byName([one]: readonly ProviderSpec[], [other]: readonly ProviderSpec[]): number {
  return (one as ProviderSpec).name < (other as ProviderSpec).name ? -1 : 1;
}

/** @param onModel Told of each model that a request would take. */
function readRequests(file: string, onModel: (model: string) => void): PackingRequest[] {
  const seen: Names = new Map();
  const requests = readRows(file, REQUEST_COLUMNS, OPTIONAL_REQUEST_COLUMNS).map((row) => {
    const { name, spec, gpus, milli: share, models } = requestIn(row, seen, MAX_GPUS);
    new Set(models).forEach(onModel);
    const isNothing = Object.keys(spec).length === 0;
    return { name, spec: isNothing ? NOTHING : specOf(spec), share, gpuMilli: gpus * share };
  });
  return requests.sort((one, other) => (one.name < other.name ? -1 : 1));
}
