// Filters that limit how many instances a host may have, as advice tells them: whose limits are in the way.

import { effort } from '../../fitting/effort.ts';
import type { Advice } from '../../messages/advice.ts';
import type { Provider } from '../../placement/providers.ts';
import type { Steps } from '../steps.ts';
import { type Refused, roomOn, rootOfTree } from './rooms.ts';

/** How many of the aggregates whose limits are in the way are named. */
const MAX_AGGREGATES_NAMED = 3;

export interface AdviserOnLimits extends Refused {
  /** The filters that limit how many instances a host may have. */
  readonly limits: readonly string[];
  /** The aggregates by whose limits such a filter keeps a host, by its root, from so many more; none where it is its own. */
  readonly limitersOn: (root: string, filter: string, more: number) => readonly string[];
}

/** Whose limits a filter keeps to. */
export interface Limiters {
  readonly aggregates: Set<string>;
  /** On some host it is the filter's own. */
  isOwn: boolean;
}

export function noteLimiters(
  limiters: Limiters,
  { limitersOn }: AdviserOnLimits,
  filter: string,
  tree: readonly Provider[],
  more: number,
): void {
  const found = limitersOn(rootOfTree(tree), filter, more);
  if (found.length === 0) limiters.isOwn = true;
  for (const aggregate of found) limiters.aggregates.add(aggregate);
}

/** The first of the aggregates whose limits they are, if they are any one's. */
function limitersTold({ aggregates, isOwn }: Limiters): Pick<Advice, 'aggregates' | 'own' | 'needed'> {
  if (aggregates.size === 0) return {};
  const named = [...aggregates].sort().slice(0, MAX_AGGREGATES_NAMED);
  const more = aggregates.size > named.length ? { needed: aggregates.size } : {};
  return { aggregates: named, ...more, ...(isOwn ? { own: true as const } : {}) };
}

/** Whose limits are in the way, also of hosts that have room for some. */
export function* limitersFor(
  adviser: AdviserOnLimits,
  { aggregates, isOwn }: Limiters,
  fitting: readonly (readonly Provider[])[],
  filter: string,
): Steps<Pick<Advice, 'aggregates' | 'own' | 'needed'>> {
  const limiters = { aggregates: new Set(aggregates), isOwn };
  for (const tree of fitting) {
    if (adviser.looksLeft < 0) {
      adviser.isCut = true;
      break;
    }
    const before = effort.looks;
    const without = roomOn(adviser, adviser.spec, tree, { but: filter });
    if (without > roomOn(adviser, adviser.spec, tree)) noteLimiters(limiters, adviser, filter, tree, without);
    adviser.looksLeft -= effort.looks - before;
    yield;
  }
  return limitersTold(limiters);
}
