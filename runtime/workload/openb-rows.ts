// What a row of an openb trace says: a host in the one list, a request in the other.

import { MAX_AMOUNT } from '../../actors/messages/limits.ts';
import type { ProviderReport } from '../drivers/driver.ts';
import { gpuProviders, WHOLE_GPU_MILLI } from '../drivers/gpus.ts';
import { MalformedError } from '../errors.ts';
import { type Names, type OnRead, type Row, readRows } from './rows.ts';
import { type BuildSpec, gpuGroups, MAX_GPUS, MAX_HOST_NAME } from './workload.ts';

const HOST_COLUMNS = ['sn', 'cpu_milli', 'memory_mib', 'gpu', 'model'] as const;
/** A list of hosts may lack these: then no host has memory, as if none is asked for, or no GPU is of a model. */
const OPTIONAL_HOST_COLUMNS = { memory_mib: '0', model: '' } as const;

export const REQUEST_COLUMNS = ['name', 'cpu_milli', 'memory_mib', 'num_gpu', 'gpu_milli', 'gpu_spec'] as const;
/** Some lists of the dataset lack one of these; it is then as if all its cells were empty. */
export const OPTIONAL_REQUEST_COLUMNS = { memory_mib: '', gpu_milli: '', gpu_spec: '' } as const;

export interface HostRow {
  readonly tree: ProviderReport & { readonly name: string };
  readonly cpu: number;
  readonly memory: number;
  readonly gpus: number;
  /** Of its GPUs; empty if none is named: then it has none, or the list does not tell models. */
  readonly model: string;
}

/** All hosts of a list. @throws what `readRows` throws. */
export function readHosts(file: string, onRead?: OnRead): HostRow[] {
  const seen: Names = new Map();
  return readRows(file, HOST_COLUMNS, OPTIONAL_HOST_COLUMNS, (row) => hostIn(row, seen), onRead);
}

/** @param seen The names of the hosts before, to which this one's is added. */
function hostIn(row: Row<(typeof HOST_COLUMNS)[number]>, seen: Names): HostRow {
  const name = row.name('sn', seen, MAX_HOST_NAME);
  const cpu = row.amount('cpu_milli', 'down', 1, MAX_AMOUNT);
  const memory = row.amount('memory_mib', 'down', 0, MAX_AMOUNT);
  const [model = '', ...others] = row.models('model');
  const gpus = row.whole('gpu', MAX_GPUS, model === '' ? 0 : undefined);
  if (others.length > 0 || (gpus > 0 && model === '' && row.has('model')))
    throw row.wrong('model', 'the one model of the GPUs');
  // Placement takes no amount of zero.
  const inventories = { CUSTOM_CPU_MILLI: { total: cpu }, ...(memory > 0 && { MEMORY_MB: { total: memory } }) };
  const tree = { name, inventories, ...(gpus > 0 && { children: gpuProviders(name, gpus, model) }) };
  return { tree, cpu, memory, gpus, model };
}

/** @throws MalformedError when requests name models, and the list of hosts does not tell of which its GPUs are. */
export function checkModelsKnown(
  nodesFile: string,
  hosts: readonly Pick<HostRow, 'gpus' | 'model'>[],
  podsFile: string,
  requests: readonly Pick<RequestRow, 'line' | 'models'>[],
): void {
  if (!hosts.some(({ gpus, model }) => gpus > 0 && model === '')) return;
  const naming = requests.find(({ models }) => models.length > 0);
  if (naming === undefined) return;
  const where = `'${podsFile}' line ${naming.line}, column 'gpu_spec'`;
  const message = `'${nodesFile}': no column 'model', and ${where} names models`;
  throw new MalformedError(message, { field: 'model' });
}

export interface RequestRow {
  readonly line: number;
  /** Empty where nothing is asked for. */
  readonly spec: BuildSpec;
  readonly gpus: number;
  /** Thousandths of each of the GPUs. */
  readonly milli: number;
  /** Of the GPUs, any of which will do; empty: any model, or no GPU. */
  readonly models: readonly string[];
}

/**
 * All but the name. Of what has an empty cell nothing is asked; of a GPU, all.
 * @param mostGpus How many GPUs it may ask for.
 */
export function requestIn(row: Row<(typeof REQUEST_COLUMNS)[number]>, mostGpus: number): RequestRow {
  const cpu = row.amount('cpu_milli', 'up', 0, MAX_AMOUNT, 0);
  const memory = row.amount('memory_mib', 'up', 0, MAX_AMOUNT, 0);
  // How many shares of a GPU are asked for is to be said.
  const gpus = row.whole('num_gpu', mostGpus, row.isEmpty('gpu_milli') ? 0 : undefined);
  const milli = gpus === 0 ? 0 : row.amount('gpu_milli', 'up', 1, WHOLE_GPU_MILLI, WHOLE_GPU_MILLI);
  const models = gpus === 0 ? [] : row.models('gpu_spec');
  const resources = { ...(cpu > 0 && { CUSTOM_CPU_MILLI: cpu }), ...(memory > 0 && { MEMORY_MB: memory }) };
  const spec = { ...(cpu + memory > 0 && { resources }), ...gpuGroups(gpus, milli, models) };
  return { line: row.line, spec, gpus, milli, models };
}
