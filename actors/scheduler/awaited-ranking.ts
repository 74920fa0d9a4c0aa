// Requests of a kind that is new wait while hosts are ranked for it, some a turn, so that others are served in between. The
// first that waits has its hosts ranked first; whoever finds them ranked goes on, whoever else still waits.

import { areTogetherToldByNumbers } from './explaining/room-together.ts';
import { isRanked } from './ranking/ranking.ts';
import { tellSelecting } from './selecting.ts';
import type { Open, Work } from './state.ts';

/** How many requests go on in one turn: some tens of milliseconds of work. */
const GOING_ON_A_TURN = 100;

export const RANK_WAKE = 'rank';

/** Has a request wait if more hosts are to be ranked for it than a turn has time for. */
export function awaitsRanking(work: Work, open: Open): boolean {
  const { state, turn, hostsATurn } = work;
  const { awaitingRanking } = state;
  if (state.view.hosts.size <= hostsATurn) return false;
  if (isRankedFor(work, open, awaitingRanking.size === 0 ? hostsATurn : 0)) return false;
  if (awaitingRanking.has(open.key)) return true;
  if (awaitingRanking.size === 0) turn.wakeAfter(RANK_WAKE, 0);
  awaitingRanking.add(open.key);
  tellSelecting(work, open);
  return true;
}

function isRankedFor({ state }: Work, { request, asked }: Open, most: number): boolean {
  return isRanked(state, request, most, areTogetherToldByNumbers(state.rankings, request, asked.instances.length));
}

/** Ranks some more hosts; answers those who need not wait any longer. */
export function rankedFor(work: Work): readonly Open[] {
  const { state, turn, hostsATurn } = work;
  const { awaitingRanking, open: requests } = state;
  const goingOn: Open[] = [];
  let most = hostsATurn;
  for (const key of awaitingRanking) {
    if (goingOn.length === GOING_ON_A_TURN) break;
    const open = requests.get(key);
    if (open !== undefined && !isRankedFor(work, open, most)) {
      most = 0;
      continue;
    }
    awaitingRanking.delete(key);
    if (open !== undefined) goingOn.push(open);
  }
  if (awaitingRanking.size > 0) turn.wakeAfter(RANK_WAKE, 0);
  return goingOn;
}
