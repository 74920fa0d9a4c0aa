// How many instances a host may have, where filters limit that: for the claim, which carries it as a condition, and for
// whoever counts how many more there is room for.

import { MAX_AMOUNT } from '../messages/common.ts';
import { type Filter, partOf } from './filters/filter.ts';
import type { HostFacts } from './host-facts.ts';
import type { Rankings } from './ranking.ts';
import type { Request } from './request.ts';

/** The most instances that a host may have with one of this request; infinite when nothing limits it. */
export function mostInstances({ limits }: Rankings, request: Request, facts: HostFacts): number {
  let most = Number.POSITIVE_INFINITY;
  for (const filter of limits) {
    if (partOf(filter, request, filter.late) !== undefined) most = Math.min(most, limitBy(filter, facts));
  }
  return most;
}

/** How many more instances a host may be given, as far as filters limit that. */
export function instancesLeft(rankings: Rankings, request: Request, facts: HostFacts): number {
  if (rankings.limits.length === 0) return Number.POSITIVE_INFINITY;
  return Math.max(0, mostInstances(rankings, request, facts) - facts.stats.instances);
}

/** A filter may be anybody's code: what is no limit limits nothing. */
function limitBy(filter: Filter, facts: HostFacts): number {
  let said: unknown;
  try {
    said = filter.mostInstances?.(facts);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
  if (typeof said !== 'number' || !(said >= 0 && said <= MAX_AMOUNT)) return Number.POSITIVE_INFINITY;
  return Math.floor(said);
}
