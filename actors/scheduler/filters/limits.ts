// Limits on how many instances a host may have, and how many it may be building at one time. Placement knows how many
// instances there are, and tells it with all that is used; their limit is a condition of the claim as well, so it is never
// passed, however many schedulers there are. Builds under way are known to the cells alone, which tell every second of those
// that began, and at once of those that ended: several schedulers may overshoot that limit by what each claims within a
// second.

import type { HostFacts } from '../view/host-facts.ts';
import type { LimitFilter } from './filter.ts';

/** Limits of aggregates, by their ids: the lowest of those of a host's aggregates replaces the general one. */
export type LimitsOfAggregates = ReadonlyMap<string, number>;

/** As in the reference. */
export const DEFAULT_MOST_INSTANCES = 50;
export const DEFAULT_MOST_BUILDS = 8;

export function instanceLimit(
  most = DEFAULT_MOST_INSTANCES,
  ofAggregates: LimitsOfAggregates = new Map(),
): LimitFilter {
  return {
    name: 'instance-limit',
    ignoresStats: true,
    goesBy: () => null,
    refusal: () => null,
    mostInstances: (host) => limitsOf(host, ofAggregates)[0]?.most ?? most,
    limitedBy: (host, more) => reached(limitsOf(host, ofAggregates), host.stats.instances + more),
  };
}

export function buildLimit(most = DEFAULT_MOST_BUILDS, ofAggregates: LimitsOfAggregates = new Map()): LimitFilter {
  return {
    name: 'build-limit',
    goesBy: () => null,
    refusal: () => null,
    mostBuilds: (host) => limitsOf(host, ofAggregates)[0]?.most ?? most,
    limitedBy: (host, more) => reached(limitsOf(host, ofAggregates), host.stats.builds + more),
  };
}

interface LimitOfAggregate {
  readonly aggregate: string;
  readonly most: number;
}

const reached = (limits: readonly LimitOfAggregate[], count: number): string[] =>
  limits.filter(({ most }) => most < count).map(({ aggregate }) => aggregate);

/** The limits of the aggregates of a host, the lowest first. */
function limitsOf({ aggregates }: HostFacts, ofAggregates: LimitsOfAggregates): readonly LimitOfAggregate[] {
  if (ofAggregates.size === 0) return NONE;
  const limits: LimitOfAggregate[] = [];
  for (const aggregate of aggregates) {
    const most = ofAggregates.get(aggregate);
    if (most !== undefined) limits.push({ aggregate, most });
  }
  return limits.length > 1 ? limits.sort((one, other) => one.most - other.most) : limits;
}

const NONE: readonly never[] = [];
