// The requests of a packing trace that no policy could place: those that never arrive, since each asks for more than all
// are to ask for, and those that no host could serve if it were empty.

import { fit } from '../../actors/fitting/fit.ts';
import { makeProvider, type Provider } from '../../actors/placement/providers.ts';
import { isLeftOut } from './arrivals.ts';
import type { PackingRequest, PackingTrace } from './trace.ts';

export interface NeverPlaced {
  readonly leftOut: readonly PackingRequest[];
  readonly unservable: readonly PackingRequest[];
}

export function neverPlaced({ hosts, requests, gpuMilli }: PackingTrace, tune: number): NeverPlaced {
  const leavesOut = (request: PackingRequest) => isLeftOut(request, gpuMilli, tune);
  const empty = kindsOf(hosts);
  const isServed = ({ spec }: PackingRequest) =>
    spec.groups.length === 0 || empty.some((tree) => fit(spec, tree) !== null);
  return {
    leftOut: requests.filter(leavesOut),
    unservable: requests.filter((request) => !leavesOut(request) && !isServed(request)),
  };
}

/** One tree for all hosts that are alike. */
function kindsOf(hosts: PackingTrace['hosts']): Provider[][] {
  const kinds = new Map<string, PackingTrace['hosts'][number]>();
  for (const providers of hosts) {
    kinds.set(JSON.stringify(providers.map(({ inventories, traits }) => [inventories, traits])), providers);
  }
  return [...kinds.values()].map((providers) => {
    const root = providers[0]?.id as string;
    return providers.map((spec) => makeProvider(spec, root));
  });
}
