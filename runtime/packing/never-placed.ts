// The requests of a packing trace that no policy could place: those that never arrive, since each asks for more than all
// are to ask for, and those that no host could serve if it were empty.

import { effort } from '../../actors/fitting/effort.ts';
import { fit } from '../../actors/fitting/fit.ts';
import type { RequestSpec } from '../../actors/messages/common.ts';
import { makeProvider, type Provider } from '../../actors/placement/providers.ts';
import { isLeftOut } from './arrivals.ts';
import type { PackingRequest, PackingTrace } from './trace.ts';

export interface NeverPlaced {
  readonly leftOut: readonly PackingRequest[];
  readonly unservable: readonly PackingRequest[];
  /** There may be more of these: to try all on all hosts takes too long. */
  readonly isPartly: boolean;
}

/** How much is done for it before the first run, in kinds of hosts that are passed over: a second or so. */
const MAX_WORK = 4_000_000;
/** To try a kind of host takes as long as to pass over so many, and more where many of its providers are looked at. */
const WORK_OF_FIT = 40;

type Amounts = ReadonlyMap<string, number>;

interface Kind {
  readonly tree: readonly Provider[];
  /** What all of its providers have between them. */
  readonly has: Amounts;
}

/** @param most How much may be done, for tests. */
export function neverPlaced(
  { hosts, requests, gpuMilli }: Pick<PackingTrace, 'hosts' | 'requests' | 'gpuMilli'>,
  tune: number,
  most = MAX_WORK,
): NeverPlaced {
  const leavesOut = (request: PackingRequest) => isLeftOut(request, gpuMilli, tune);
  const servable = servableBy(kindsOf(hosts), most);
  const tried = requests
    .filter((request) => !leavesOut(request))
    .map((request) => ({ request, isServed: servable(request.spec) }));
  return {
    leftOut: requests.filter(leavesOut),
    unservable: tried.filter(({ isServed }) => isServed === false).map(({ request }) => request),
    isPartly: tried.some(({ isServed }) => isServed === undefined),
  };
}

/** Says of each request whether some kind of host can serve it; undefined once that has taken too long. */
function servableBy(kinds: readonly Kind[], most: number): (spec: RequestSpec) => boolean | undefined {
  const known = new Map<string, boolean | undefined>();
  let left = most;
  const isServed = (spec: RequestSpec): boolean | undefined => {
    const asked = [...amountsIn(spec.groups.map(({ resources }) => Object.entries(resources)))];
    for (const { tree, has } of kinds) {
      if (left <= 0) return undefined;
      left -= 1;
      if (asked.some(([resourceClass, amount]) => (has.get(resourceClass) ?? 0) < amount)) continue;
      const before = effort.looks;
      const isFit = fit(spec, tree) !== null;
      left -= WORK_OF_FIT + effort.looks - before;
      if (isFit) return true;
    }
    return false;
  };
  return (spec) => {
    const key = JSON.stringify(spec);
    if (!known.has(key)) known.set(key, isServed(spec));
    return known.get(key);
  };
}

/** One tree for all hosts that are alike. */
function kindsOf(hosts: PackingTrace['hosts']): Kind[] {
  const kinds = new Map<string, PackingTrace['hosts'][number]>();
  for (const providers of hosts) {
    kinds.set(JSON.stringify(providers.map(({ inventories, traits }) => [inventories, traits])), providers);
  }
  return [...kinds.values()].map((providers) => {
    const root = providers[0]?.id as string;
    const tree = providers.map((spec) => makeProvider(spec, root));
    const has = amountsIn(tree.map(({ stocks }) => Array.from(stocks, ([name, { capacity }]) => [name, capacity])));
    return { tree, has };
  });
}

function amountsIn(parts: readonly (readonly (readonly [string, number])[])[]): Amounts {
  const amounts = new Map<string, number>();
  for (const [resourceClass, amount] of parts.flat()) {
    amounts.set(resourceClass, (amounts.get(resourceClass) ?? 0) + amount);
  }
  return amounts;
}
