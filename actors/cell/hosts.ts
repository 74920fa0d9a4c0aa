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
  service: ServiceSnapshot;
  /** Instances whose attempt under way is on this host. */
  readonly building: Set<string>;
  /** When the compute was last heard, ms since the epoch; not recorded. */
  heardAt: number;
}

export type Hosts = Map<string, Host>;

export interface StoredHost {
  readonly host: string;
  readonly provider: string;
  readonly incarnation: string;
  readonly service: { value: ComputeServiceState; context: ServiceSnapshot['context'] };
}

/** Takes note of a life of a compute; a host that is new begins as down, until its first word is stepped. */
export function meet(hosts: Hosts, host: string, provider: string, incarnation: string, at: number): Host {
  let entry = hosts.get(host);
  if (entry === undefined) {
    const { snapshot: service } = begin(computeService, { host });
    entry = { host, provider, incarnation, service, building: new Set(), heardAt: at };
    hosts.set(host, entry);
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

export function storeHost({ host, provider, incarnation, service }: Host): StoredHost {
  return {
    host,
    provider,
    incarnation,
    service: { value: service.value as ComputeServiceState, context: service.context },
  };
}

export function restoreHost({ host, provider, incarnation, service }: StoredHost): Host {
  return { host, provider, incarnation, service: revive(computeService, service), building: new Set(), heardAt: 0 };
}
