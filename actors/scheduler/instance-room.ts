// How many instances a host may have, and may be building, where filters limit that: for the claim, which carries the
// first as a condition, and for whoever counts how many more there is room for.

import { MAX_AMOUNT } from '../messages/limits.ts';
import { limitBy } from './filters/filter.ts';
import type { Rankings } from './ranking/ranking.ts';
import type { Request } from './request.ts';
import { partOf } from './request-parts.ts';
import type { HostFacts } from './view/host-facts.ts';

/** The most instances that a host may have with one of this request; infinite when nothing limits it. */
export function mostInstances(rankings: Rankings, request: Request, facts: HostFacts): number {
  return mostOf('mostInstances', rankings, request, facts);
}

/**
 * How many more instances a host may be given at once, as far as filters limit that.
 * @param but A filter that is left out.
 */
export function instancesLeft(rankings: Rankings, request: Request, facts: HostFacts, but?: string): number {
  const { toHave, toBuild } = leftByLimits(rankings, request, facts, but);
  return Math.min(toHave, toBuild);
}

const UNLIMITED = { toHave: Number.POSITIVE_INFINITY, toBuild: Number.POSITIVE_INFINITY } as const;

/** The same by each limit: that on instances, and that on builds. */
export function leftByLimits(
  rankings: Rankings,
  request: Request,
  facts: HostFacts,
  but?: string,
): { readonly toHave: number; readonly toBuild: number } {
  if (rankings.limits.length === 0) return UNLIMITED;
  const { instances, builds } = facts.stats;
  const toHave = mostOf('mostInstances', rankings, request, facts, but) - instances;
  const toBuild = mostOf('mostBuilds', rankings, request, facts, but) - builds;
  return { toHave: Math.max(0, toHave), toBuild: Math.max(0, toBuild) };
}

function mostOf(
  which: 'mostInstances' | 'mostBuilds',
  { limits }: Rankings,
  request: Request,
  facts: HostFacts,
  but?: string,
): number {
  let most = Number.POSITIVE_INFINITY;
  for (const filter of limits) {
    if (filter.name === but) continue;
    if (partOf(filter, request, filter.late) === undefined) continue;
    const limit = limitBy(filter, which, facts);
    // One that cannot say refuses the host.
    most = Math.min(most, Number.isNaN(limit) ? 0 : limit);
  }
  return most > MAX_AMOUNT ? Number.POSITIVE_INFINITY : most;
}
