// What a workload is: hosts in cells, and requests over time, from a recorded trace or generated from a seed.
// Here too stands what its sources share: names, limits and how GPUs are asked for. Nothing here talks to actors.

import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { MAX_TOKEN_LENGTH } from '../../actors/messages/names.ts';
import { instanceNames } from '../../actors/routing.ts';
import type { ProviderReport } from '../drivers/driver.ts';
import { GPU_CLASS, modelTrait, WHOLE_GPU_MILLI } from '../drivers/gpus.ts';
import { CellwrightError, MalformedError, messageOf } from '../errors.ts';
import type { BuildRequest } from '../gateway/requests.ts';

/** A host and the cell it stands in. */
export interface FleetHost {
  cell: string;
  /** `[a-z0-9-]`, unique over all cells; the root of `tree` bears the same name. */
  host: string;
  tree: ProviderReport;
  /** Traits beyond those in the tree, as a driver's `capabilities` reports them. Default: none. */
  traits?: readonly string[];
  /** The share of builds that fail on this host, 0 to 1. Default: none; only a generated fleet has flaky hosts. */
  failureRate?: number;
}

/** What workloads say of what they ask for, beside how often. */
export type BuildSpec = Pick<BuildRequest, 'resources' | 'required' | 'anyOf' | 'forbidden' | 'groups' | 'groupPolicy'>;

/**
 * One request. All its instances have the same spec: a tenant's batch with several flavors is as many arrivals at
 * the same time, one for each flavor, and each instance keeps the lifetime that the batch gave it.
 */
export interface Arrival {
  /** Milliseconds from the start of the workload. */
  atMs: number;
  /** `[a-z0-9-]`, unique in the workload. See `instanceIds` for what its instances are called. */
  id: string;
  project?: string;
  /** May be the same object in many arrivals: to be read, not changed. */
  spec: BuildSpec;
  /** Instances asked for: 1, or more for a multi-create. */
  count: number;
  /** For each instance, when it ends, on the axis of `atMs`; undefined: still there at the end. */
  endAtMs: readonly (number | undefined)[];
  /** A label for summaries, such as `cpu`, `gpu-share`, `gpu`, `gpu-2`, `vcpu-4`. */
  kind: string;
}

/** Hosts and what is asked of them. The same options give the same workload, to the byte. */
export interface Workload {
  name: string;
  hosts: FleetHost[];
  /** By `atMs`, earliest first. Can be walked more than once; a long trace is read as it is walked. */
  arrivals: Iterable<Arrival>;
  /** Instances in total: the sum of all counts. */
  requested: number;
  /** When it is to begin, in milliseconds as arrivals have them; no arrival is earlier. Default 0. */
  startMs?: number;
  /** No arrival and no end is later, in milliseconds as arrivals have them. */
  endMs: number;
}

/** No host of any trace has more GPUs. */
export const MAX_GPUS = 100;

/** The names of its GPUs are longer, and must be tokens. */
export const MAX_HOST_NAME = MAX_TOKEN_LENGTH - `-gpu-${MAX_GPUS - 1}`.length;

const MAX_CELLS = 1000;

/** The names of an arrival's instances: the id itself when it is one, else `<id>-0`, `<id>-1` and so on. */
export const instanceIds = ({ id, count }: Pick<Arrival, 'id' | 'count'>): string[] => instanceNames(id, count);

/**
 * `c1` to `cN`.
 * @throws MalformedError when `cells` is not a whole number from 1 to 1000.
 */
export function cellNames(cells: number): string[] {
  checkCount('cells', cells, MAX_CELLS);
  return Array.from({ length: cells }, (_, index) => `c${index + 1}`);
}

/** @throws MalformedError when the option is not a whole number from 1 to `max`. */
export function checkCount(option: string, value: number, max: number): void {
  if (!Number.isSafeInteger(value) || value < 1 || value > max) {
    const message = `'${option}' must be a whole number from 1 to ${max}, not '${value}'`;
    throw new MalformedError(message, { field: option });
  }
}

/** @throws MalformedError when the end is given and is not above zero. */
export function checkUntil(untilMs: number | undefined): void {
  if (untilMs !== undefined && !(untilMs > 0)) {
    throw new MalformedError(`'untilMs' must be above zero, not '${untilMs}'`, { field: 'untilMs' });
  }
}

/** That a trace is left with something to play. */
export function checkAnyArrives(requests: number, untilMs: number | undefined, file: string): void {
  if (requests > 0) return;
  if (untilMs === undefined) throw new MalformedError(`'${file}': no request arrives in the trace`, { field: file });
  const message = `nothing is left to play: no request of the trace arrives before second ${untilMs / 1_000}`;
  throw new MalformedError(message, { field: 'untilMs' });
}

/** @throws CellwrightError `trace-unreadable`, MalformedError for what is no text, with the file as its field. */
export function readTrace(file: string): string {
  const bytes = bytesOf(file);
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) {
    throw new MalformedError(`'${file}' is compressed: unpack it first`, { field: file });
  }
  if (!isUtf8(bytes)) throw new MalformedError(`'${file}' is not text in UTF-8`, { field: file });
  const text = bytes.toString();
  const zeroAt = text.indexOf('\0');
  if (zeroAt === -1) return text;
  const line = text.slice(0, zeroAt).split(/\r\n?|\n/).length;
  const message = `'${file}' is no text, or text in UTF-16 instead of UTF-8: line ${line} has a NUL byte`;
  throw new MalformedError(message, { field: file });
}

function bytesOf(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const message = `cannot read the trace '${file}': ${messageOf(error)}`;
    throw new CellwrightError('trace-unreadable', message, { field: file, cause: error });
  }
}

/**
 * The part of a spec that asks for GPUs: a group for each, on distinct GPUs.
 * @param milli thousandths of each of them
 * @param models any of which will do; empty: any model
 */
export function gpuGroups(
  count: number,
  milli: number,
  models: readonly string[],
): Pick<BuildSpec, 'groups' | 'groupPolicy'> {
  if (count === 0) return {};
  const traits = [...new Set(models.map(modelTrait))];
  const groups = Array.from({ length: count }, (_, index) => ({
    name: `gpu${index}`,
    resources: { [GPU_CLASS]: milli },
    ...(traits.length === 0 ? {} : { anyOf: [[...traits]] }),
  }));
  return count === 1 ? { groups } : { groups, groupPolicy: 'isolate' };
}

/** The `kind` of a request for GPUs: `cpu`, `gpu-share`, `gpu`, `gpu-2` and so on. */
export function gpuKind(count: number, milli: number): string {
  if (count === 0) return 'cpu';
  if (count > 1) return `gpu-${count}`;
  return milli < WHOLE_GPU_MILLI ? 'gpu-share' : 'gpu';
}
