// What a soak plays and who plays it: the workload, and the processes with their roles.

import { generatedWorkload } from '../../runtime/workload/generated.ts';
import { openbWorkload } from '../../runtime/workload/openb.ts';
import type { FleetHost, Workload } from '../../runtime/workload/workload.ts';

/** Which workload: a trace of the openb cluster where its files are, else one from the seed. */
export interface PlanOptions {
  readonly seed: number;
  readonly minutes: number;
  /** Requests a second. */
  readonly rate: number;
  /** Placement shards. */
  readonly shards: number;
  readonly trace?: { readonly nodesFile: string; readonly podsFile: string };
}

export interface ProcessOptions extends PlanOptions {
  readonly servers: string;
  readonly roles: readonly string[];
  /** The folder that stands for all hosts. */
  readonly folder: string;
  readonly leaseTtlMs: number;
  readonly name: string;
  /** The share of attempts that fail on any host; default 0.1. */
  readonly failRate?: number;
  /** The longest build, ms; default 300. */
  readonly longestMs?: number;
}

const CELLS = 3;
/** Hosts for each request a second: instances that do not end must find room for as long as the soak lasts. */
const MOST_HOSTS = 240;

export function workloadOf({ seed, minutes, rate, trace }: PlanOptions): Workload {
  if (trace !== undefined) return openbWorkload({ ...trace, cells: CELLS, seed });
  const requests = Math.ceil(rate * minutes * 60);
  const hostsPerCell = Math.min(MOST_HOSTS / CELLS, Math.max(8, Math.ceil(requests / 17 / CELLS)));
  return generatedWorkload({ cells: CELLS, hostsPerCell, requests, seed, durationMs: minutes * 60_000 });
}

export function hostsOf(options: PlanOptions): FleetHost[] {
  return workloadOf(options).hosts;
}

/** The last host of each cell, which is lost for good in the course of a soak. */
export function doomedOf(hosts: readonly FleetHost[]): FleetHost[] {
  return [...new Map(hosts.map((host) => [host.cell, host])).values()];
}

/**
 * The roles of each process. Every owner has a second process that stands by; hosts are shared out over processes, and
 * those that are lost for good have one each.
 */
export function processesOf(hosts: readonly FleetHost[]): { name: string; roles: string[] }[] {
  const doomed = doomedOf(hosts);
  const cells = [...new Set(hosts.map(({ cell }) => cell))];
  const owners: Record<string, string[]> = {
    placement: ['placement'],
    conductor: ['conductor'],
    cells: cells.map((cell) => `cell:${cell}`),
    scheduler: ['scheduler'],
  };
  const twice = Object.entries(owners).flatMap(([name, roles]) =>
    ['a', 'b'].map((life) => ({ name: `${name}-${life}`, roles })),
  );
  const roleOf = ({ cell, host }: FleetHost) => `compute:${cell}/${host}`;
  const computes = cells.map((cell) => ({
    name: `computes-${cell}`,
    roles: hosts.filter((host) => host.cell === cell && !doomed.includes(host)).map(roleOf),
  }));
  return [...twice, ...computes, ...doomed.map((host) => ({ name: `doomed-${host.cell}`, roles: [roleOf(host)] }))];
}
