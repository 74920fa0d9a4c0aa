// The hosts of a cell: which computes there are, whether each may be given instances, and what it is busy with.

import { type ComputeServiceEvent, type ComputeServiceState, computeService } from '../../machines/compute-service.ts';
import { begin, type Effect, revive, step } from '../../machines/step.ts';
import type { HostState } from '../messages/scheduler.ts';

type ServiceSnapshot = ReturnType<typeof begin<typeof computeService>>['snapshot'];

export interface Host {
  readonly host: string;
  /** The root provider of the host. */
  provider: string;
  /** Which life of the compute the cell knows. */
  incarnation: string;
  /** Lives that later ones have taken the place of, oldest first: what comes from them counts no more. */
  readonly superseded: string[];
  service: ServiceSnapshot;
  /** Instances whose attempt under way is on this host. */
  readonly building: Set<string>;
  /** When the compute was last heard, ms since the epoch; not recorded. */
  heardAt: number;
}

/** Lives remembered of one host: those that are older have long been told. */
const MAX_SUPERSEDED = 16;

export type Hosts = Map<string, Host>;

export interface StoredHost {
  readonly host: string;
  readonly provider: string;
  readonly incarnation: string;
  /** Absent in what was stored before such lives were told. */
  readonly superseded?: readonly string[];
  readonly service: { value: ComputeServiceState; context: ServiceSnapshot['context'] };
}

/** Takes note of a life of a compute; a host that is new begins as down, until its first word is stepped. */
export function meet(hosts: Hosts, host: string, provider: string, incarnation: string, at: number): Host {
  let entry = hosts.get(host);
  if (entry === undefined) {
    const { snapshot: service } = begin(computeService, { host });
    entry = { host, provider, incarnation, superseded: [], service, building: new Set(), heardAt: at };
    hosts.set(host, entry);
  }
  if (entry.incarnation !== incarnation) {
    entry.superseded.push(entry.incarnation);
    if (entry.superseded.length > MAX_SUPERSEDED) entry.superseded.shift();
  }
  entry.provider = provider;
  entry.incarnation = incarnation;
  return entry;
}

/** Steps the service of a host; null when the event changes nothing. */
export function stepService(entry: Host, event: ComputeServiceEvent): readonly Effect[] | null {
  const { snapshot, effects } = step(computeService, entry.service, event);
  if (snapshot === entry.service) return null;
  entry.service = snapshot;
  return effects;
}

export function stateOfHost({ service }: Host): ComputeServiceState {
  return service.value as ComputeServiceState;
}

export function viewOfHost(entry: Host): HostState {
  const { host, provider, service } = entry;
  const reason = service.context.disabledReason;
  return { host, provider, state: stateOfHost(entry), ...(reason === null ? {} : { reason }) };
}

export function storeHost({ host, provider, incarnation, superseded, service }: Host): StoredHost {
  return {
    host,
    provider,
    incarnation,
    superseded: [...superseded],
    service: { value: service.value as ComputeServiceState, context: service.context },
  };
}

export function restoreHost({ host, provider, incarnation, superseded = [], service }: StoredHost): Host {
  return {
    host,
    provider,
    incarnation,
    superseded: [...superseded],
    service: revive(computeService, service),
    building: new Set(),
    heardAt: 0,
  };
}
