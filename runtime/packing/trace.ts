// The trace of a packing experiment: a list of hosts and one of requests, as the openb trace has them. Every row is
// checked; an error names the file, the line and the column.

import { MAX_AMOUNT, type RequestSpec } from '../../actors/messages/common.ts';
import type { ProviderSpec } from '../../actors/messages/placement.ts';
import { gpuProviders, modelTrait, WHOLE_GPU_MILLI } from '../drivers/gpus.ts';
import { providersOf } from '../drivers/naming.ts';
import { MalformedError } from '../errors.ts';
import { specOf } from '../gateway/requests.ts';
import { readRows } from '../workload/rows.ts';
import { gpuGroups, MAX_GPUS, MAX_HOST_NAME } from '../workload/workload.ts';

export interface PackingRequest {
  readonly name: string;
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

const NODE_COLUMNS = ['sn', 'cpu_milli', 'memory_mib', 'gpu', 'model'] as const;
const POD_COLUMNS = ['name', 'cpu_milli', 'memory_mib', 'num_gpu', 'gpu_milli', 'gpu_spec'] as const;
/** Some lists of the dataset lack one of these: then any model will do, and nobody asks for memory. */
const OPTIONAL_COLUMNS = { gpu_spec: '', memory_mib: '0' } as const;

/**
 * Reads the trace.
 * @throws MalformedError for a row that is wrong, or when there are no GPUs or nobody asks for one; `field` is the column, or the
 * file where it is no column's fault
 * @throws CellwrightError `trace-unreadable` when a file cannot be read
 */
export function readPackingTrace(nodesFile: string, podsFile: string): PackingTrace {
  const models = new Set<string>();
  const hosts = readHosts(nodesFile, models);
  const absentModels = new Map<string, number>();
  const requests = readRequests(podsFile, (model) => {
    if (!models.has(modelTrait(model))) absentModels.set(model, (absentModels.get(model) ?? 0) + 1);
  });
  if (hosts.every(({ length }) => length === 1)) {
    throw new MalformedError(
      `'${nodesFile}' column 'gpu': no host has a GPU, and what is measured is how much of all GPUs is allocated`,
      { field: 'gpu' },
    );
  }
  if (requests.every((request) => request.gpuMilli === 0)) {
    throw new MalformedError(
      `'${podsFile}' column 'num_gpu': no request asks for a GPU, and what is measured is how much of all GPUs is allocated`,
      { field: 'num_gpu' },
    );
  }
  const shapes = new Set(requests.map(({ spec }) => JSON.stringify(spec))).size;
  const gpuMilli = hosts.reduce((sum, providers) => sum + (providers.length - 1) * WHOLE_GPU_MILLI, 0);
  return { hosts, requests, shapes, gpuMilli, absentModels };
}

/** @param models Receives the traits of the models. */
function readHosts(file: string, models: Set<string>): ProviderSpec[][] {
  const seen = new Set<string>();
  const hosts = readRows(file, NODE_COLUMNS).map((row) => {
    const name = row.name('sn', seen, MAX_HOST_NAME);
    const cpu = row.whole('cpu_milli', 1, MAX_AMOUNT);
    const memory = row.whole('memory_mib', 1, MAX_AMOUNT);
    const gpus = row.whole('gpu', 0, MAX_GPUS);
    const [model = '', ...others] = row.models('model');
    if (others.length > 0 || (gpus > 0 && model === '')) throw row.wrong('model', 'the one model of the GPUs');
    if (gpus > 0) models.add(modelTrait(model));
    const inventories = { CUSTOM_CPU_MILLI: { total: cpu }, MEMORY_MB: { total: memory } };
    return providersOf('fleet', name, { name, inventories, children: gpuProviders(name, gpus, model) }, []);
  });
  return hosts.sort(byName);
}

/** In whatever order a file has its hosts, an experiment comes to the same. */
function byName([one]: readonly ProviderSpec[], [other]: readonly ProviderSpec[]): number {
  return (one as ProviderSpec).name < (other as ProviderSpec).name ? -1 : 1;
}

/** @param onModel Told of each model that a request would take. */
function readRequests(file: string, onModel: (model: string) => void): PackingRequest[] {
  const seen = new Set<string>();
  const requests = readRows(file, POD_COLUMNS, OPTIONAL_COLUMNS).map((row) => {
    const name = row.name('name', seen);
    const cpu = row.whole('cpu_milli', 0, MAX_AMOUNT);
    const memory = row.whole('memory_mib', 0, MAX_AMOUNT);
    const gpus = row.whole('num_gpu', 0, MAX_GPUS);
    const share = gpus === 0 ? 0 : row.whole('gpu_milli', 1, WHOLE_GPU_MILLI);
    if (cpu + memory + gpus === 0) throw row.wrong('cpu_milli', 'above zero, and nothing else is asked for');
    const resources = { ...(cpu > 0 && { CUSTOM_CPU_MILLI: cpu }), ...(memory > 0 && { MEMORY_MB: memory }) };
    const models = row.models('gpu_spec');
    if (gpus > 0) new Set(models).forEach(onModel);
    const spec = specOf({ resources, ...gpuGroups(gpus, share, models) });
    return { name, spec, share, gpuMilli: gpus * share };
  });
  return requests.sort((one, other) => (one.name < other.name ? -1 : 1));
}
