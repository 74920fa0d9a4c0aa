// Limits on how many instances a host may have, and how many it may be building at one time. Placement knows how many
// instances there are, and tells it with all that is used; their limit is a condition of the claim as well, so it is never
// passed, however many schedulers there are. Builds under way are known to the cells alone, which tell every second of those
// that began, and at once of those that ended: several schedulers may overshoot that limit by what each claims within a
// second.

import type { HostFacts } from '../host-facts.ts';
import type { Filter } from './filter.ts';

/** Limits of aggregates, by their ids: the lowest of those of a host's aggregates replaces the general one. */
export type LimitsOfAggregates = ReadonlyMap<string, number>;

/** As in the reference. */
export const DEFAULT_MOST_INSTANCES = 50;
export const DEFAULT_MOST_BUILDS = 8;

export function instanceLimit(most = DEFAULT_MOST_INSTANCES, ofAggregates: LimitsOfAggregates = new Map()): Filter {
  return {
    name: 'instance-limit',
    ignoresStats: true,
    goesBy: () => null,
    refusal: () => null,
    mostInstances: (host) => lowestOf(host, ofAggregates)?.most ?? most,
    limitedBy: (host) => lowestOf(host, ofAggregates)?.aggregate,
  };
}

export function buildLimit(most = DEFAULT_MOST_BUILDS, ofAggregates: LimitsOfAggregates = new Map()): Filter {
  return {
    name: 'build-limit',
    goesBy: () => null,
    refusal: () => null,
    mostBuilds: (host) => lowestOf(host, ofAggregates)?.most ?? most,
    limitedBy: (host) => lowestOf(host, ofAggregates)?.aggregate,
  };
}

/** The lowest limit of the aggregates of a host, and whose it is. */
function lowestOf(
  { aggregates }: HostFacts,
  ofAggregates: LimitsOfAggregates,
): { readonly aggregate: string; readonly most: number } | undefined {
  if (ofAggregates.size === 0) return undefined;
  let lowest: { aggregate: string; most: number } | undefined;
  for (const aggregate of aggregates) {
    const most = ofAggregates.get(aggregate);
    if (most !== undefined && (lowest === undefined || most < lowest.most)) lowest = { aggregate, most };
  }
  return lowest;
}
