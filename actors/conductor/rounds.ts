// Rounds of asking: the number of each, and whose it is. Where there are several placement shards, which no one of them
// can do alone, rounds keep the claims of schedulers in order.

import type { OpenRequest } from './state.ts';
import { commit, type Work } from './work.ts';

/**
 * The number of a round tells it from earlier ones, in whichever life of the shard they were asked: by the time, as clocks
 * differ by less than it takes to become the next owner; or, where claims are put in order by it, for certain, by a record
 * of every round but the first.
 */
export function nextRound(work: Work, request: string, open: OpenRequest): number {
  if (work.placementShards === 1 && open.ordered !== true) return Math.max(open.round + 1, work.turn.now);
  const isFirst = open.isNew;
  open.isNew = false;
  open.taker = null;
  if (isFirst) return 1;
  const round = Math.max(open.recorded, 1) + 1;
  commit(work, { type: 'asked', request, round });
  return round;
}
