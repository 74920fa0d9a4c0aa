// The openb trace as a workload: a production GPU cluster of 1,523 hosts and 8,152 requests over 149 days.
// Every row is checked; an error names the file, the line and the column.

import { basename } from 'node:path';
import { MAX_GROUPS } from '../../actors/messages/common.ts';
import { seededRandom } from '../random.ts';
import {
  checkModelsKnown,
  type HostRow,
  OPTIONAL_REQUEST_COLUMNS,
  REQUEST_COLUMNS,
  type RequestRow,
  readHosts,
  requestIn,
} from './openb-rows.ts';
import { type Names, type OnRead, type Row, readRows } from './rows.ts';
import {
  type Arrival,
  cellNames,
  checkAnyArrives,
  checkUntil,
  type FleetHost,
  gpuKind,
  type Workload,
} from './workload.ts';

export interface OpenbOptions {
  /** The list of hosts, with or without those that have no GPU (`openb_node_list_*.csv`). */
  nodesFile: string;
  /** The list of requests (`openb_pod_list_*.csv`). */
  podsFile: string;
  /** How many cells the hosts are dealt to, 1 to 1000: each gets its part of every shape of host. */
  cells: number;
  /** Leaves out what arrives at this time or later, in milliseconds. Default: the whole trace, 12,902,960,000. */
  untilMs?: number;
  /** Orders requests of the same second, whose order the trace does not record. */
  seed: number | string;
  /** Told how far the lists are read. Default: nobody. */
  onRead?: OnRead;
}

/** A build request asks for each by a group of its own, beside the unnamed one. */
const MAX_GPUS_ASKED = MAX_GROUPS - 1;

const COLUMNS = [...REQUEST_COLUMNS, 'creation_time', 'deletion_time'] as const;

/**
 * Reads the trace.
 * @throws MalformedError for a row or an option that is wrong; `field` is the column, the file or the option
 * @throws CellwrightError `trace-unreadable` when a file cannot be read
 */
export function openbWorkload(options: OpenbOptions): Workload {
  const cells = cellNames(options.cells);
  checkUntil(options.untilMs);
  const requests = readRequests(options.podsFile, options.onRead);
  const hosts = readHosts(options.nodesFile, options.onRead);
  checkModelsKnown(options.nodesFile, hosts, options.podsFile, requests);
  const lastMs = requests.reduce((last, { atMs, deletedMs }) => Math.max(last, atMs, deletedMs ?? 0), 0);
  const endMs = Math.min(options.untilMs ?? lastMs, lastMs);

  const kept = requests.filter(({ atMs }) => options.untilMs === undefined || atMs < options.untilMs);
  checkAnyArrives(kept.length, options.untilMs, options.podsFile);
  // The sort keeps equals in the order they come in, so shuffling first orders each second by the seed.
  const sorted = seededRandom(options.seed)
    .shuffle(kept)
    .sort((a, b) => a.atMs - b.atMs);
  const arrivals = sorted.map(({ atMs, deletedMs, id, spec, kind }): Arrival => {
    // A deletion stamped with the last second of the trace is its end, not the instance's.
    const endAtMs = deletedMs !== undefined && deletedMs < endMs ? deletedMs : undefined;
    return { atMs, id, spec, kind, count: 1, endAtMs: [endAtMs] };
  });
  return {
    name: basename(options.podsFile, '.csv'),
    hosts: dealt(hosts, cells),
    arrivals,
    requested: arrivals.length,
    // Lists cut out of a trace, or with times of day, begin with their first request.
    startMs: arrivals[0]?.atMs ?? 0,
    endMs,
  };
}

/** Dealt shape by shape, so that whatever the order of the file no cell ends up with all hosts of one model. */
function dealt(hosts: readonly HostRow[], cells: readonly string[]): FleetHost[] {
  const shaped = hosts.map(({ tree, model, gpus, cpu, memory }) => {
    const shape = [model, gpus, cpu, memory].map((part) => String(part).padStart(12, '0')).join(' ');
    return { shape, host: tree.name };
  });
  const cellOf = new Map<string, string>();
  const byShape = shaped.toSorted((a, b) => (a.shape === b.shape ? 0 : a.shape < b.shape ? -1 : 1));
  for (const [index, { host }] of byShape.entries()) cellOf.set(host, cells[index % cells.length] as string);
  return hosts.map(({ tree }) => ({ cell: cellOf.get(tree.name) as string, host: tree.name, tree }));
}

type Request = Pick<Arrival, 'atMs' | 'id' | 'spec' | 'kind'> &
  Pick<RequestRow, 'line' | 'models'> & { deletedMs: number | undefined };

function readRequests(file: string, onRead?: OnRead): Request[] {
  const seen: Names = new Map();
  const take = (row: Row<(typeof COLUMNS)[number]>): Request => {
    const id = row.name('name', seen);
    const { line, spec, gpus, milli, models } = requestIn(row, MAX_GPUS_ASKED);
    if (Object.keys(spec).length === 0) throw row.wrong('cpu_milli', 'above zero, and nothing else is asked for');
    const createdS = row.number('creation_time', 0);
    const deletedS = row.isEmpty('deletion_time') ? undefined : row.number('deletion_time', createdS);
    const deletedMs = deletedS === undefined ? undefined : Math.round(deletedS * 1000);
    return { atMs: Math.round(createdS * 1000), deletedMs, id, spec, kind: gpuKind(gpus, milli), line, models };
  };
  return readRows(file, COLUMNS, OPTIONAL_REQUEST_COLUMNS, take, onRead);
}
