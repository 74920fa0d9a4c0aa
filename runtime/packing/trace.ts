// The trace of a packing experiment: a list of hosts and one of requests, as the openb trace has them. Every row is
// checked; an error names the file, the line and the column.

import type { RequestSpec } from '../../actors/messages/common.ts';
import type { ProviderSpec } from '../../actors/messages/placement.ts';
import { modelTrait, WHOLE_GPU_MILLI } from '../drivers/gpus.ts';
import { providersOf } from '../drivers/naming.ts';
import { MalformedError } from '../errors.ts';
import { specOf } from '../gateway/requests.ts';
import {
  checkModelsKnown,
  OPTIONAL_REQUEST_COLUMNS,
  REQUEST_COLUMNS,
  type RequestRow,
  readHosts,
  requestIn,
} from '../workload/openb-rows.ts';
import { type Names, type OnRead, type Row, readRows } from '../workload/rows.ts';
import { type BuildSpec, MAX_GPUS } from '../workload/workload.ts';

export interface PackingRequest {
  /** As the list has it. */
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
  /** Models that requests ask for and no host has, each as it is spelt first, with the number of these requests. */
  readonly absentModels: ReadonlyMap<string, number>;
  /** The spellings of each model that has several, since in traits case and signs make no difference. */
  readonly speltApart: readonly (readonly Spelling[])[];
}

interface Spelling {
  readonly model: string;
  /** The list in which it is spelt so first. */
  readonly file: string;
}

/** By trait. */
type SpeltModels = Map<string, Spelling[]>;

const NOTHING: RequestSpec = { groups: [], groupPolicy: 'none' };

/**
 * Reads the trace.
 * @param onRead Told how far the lists are read.
 * @throws MalformedError for a row that is wrong, or when there are no GPUs or nobody asks for one, or memory or models are
 * asked for and the list of hosts tells of none; `field` is the column, or the file where it is no column's fault
 * @throws CellwrightError `trace-unreadable` when a file cannot be read
 */
export function readPackingTrace(nodesFile: string, podsFile: string, onRead?: OnRead): PackingTrace {
  const spelt: SpeltModels = new Map();
  const hostRows = readHosts(nodesFile, onRead);
  for (const { gpus, model } of hostRows) if (gpus > 0 && model !== '') noteSpelling(spelt, model, nodesFile);
  const hosts = hostRows.map(({ tree }) => providersOf('fleet', tree.name, tree, [])).sort(byName);
  const ofHosts = new Set(spelt.keys());
  const absent = new Map<string, number>();
  const asked = readRequests(podsFile, onRead);
  checkModelsKnown(nodesFile, hostRows, podsFile, asked);
  for (const { models } of asked) {
    for (const model of models) noteSpelling(spelt, model, podsFile);
    for (const trait of new Set(models.map(modelTrait))) {
      if (!ofHosts.has(trait)) absent.set(trait, (absent.get(trait) ?? 0) + 1);
    }
  }
  const requests = asked.map(({ request }) => request).sort((one, other) => (one.name < other.name ? -1 : 1));
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
  const spellings = (trait: string) => spelt.get(trait) as Spelling[];
  const absentModels = new Map(
    Array.from(absent, ([trait, count]) => [(spellings(trait)[0] as Spelling).model, count]),
  );
  const speltApart = [...spelt.values()].filter(({ length }) => length > 1);
  return { hosts, requests, shapes, gpuMilli, absentModels, speltApart };
}

function noteSpelling(spelt: SpeltModels, model: string, file: string): void {
  const trait = modelTrait(model);
  const known = spelt.get(trait);
  if (known === undefined) spelt.set(trait, [{ model, file }]);
  else if (!known.some((one) => one.model === model)) known.push({ model, file });
}

function wrong(file: string, column: string, what: string): MalformedError {
  return new MalformedError(`'${file}' column '${column}': ${what}`, { field: column });
}

/** In whatever order a file has its hosts, an experiment comes to the same. */
function byName([one]: readonly ProviderSpec[], [other]: readonly ProviderSpec[]): number {
  return (one as ProviderSpec).name < (other as ProviderSpec).name ? -1 : 1;
}

type Asked = Pick<RequestRow, 'line' | 'models'> & { request: PackingRequest };

function readRequests(file: string, onRead?: OnRead): Asked[] {
  const seen: Names = new Map();
  const specs = new Map<string, RequestSpec>();
  /** One for all requests that are alike, of which there may be a million. */
  const specFor = (spec: BuildSpec): RequestSpec => {
    const key = JSON.stringify(spec);
    const known = specs.get(key) ?? (Object.keys(spec).length === 0 ? NOTHING : specOf(spec));
    specs.set(key, known);
    return known;
  };
  const take = (row: Row<(typeof REQUEST_COLUMNS)[number]>): Asked => {
    // Nothing is called by it: any will do.
    const name = row.label('name', seen);
    const { line, spec, gpus, milli: share, models } = requestIn(row, MAX_GPUS);
    const request = { name, spec: specFor(spec), share, gpuMilli: gpus * share };
    return { line, models, request };
  };
  return readRows(file, REQUEST_COLUMNS, OPTIONAL_REQUEST_COLUMNS, take, onRead);
}
