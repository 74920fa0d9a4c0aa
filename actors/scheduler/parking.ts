// Requests that wait for a host, parked until capacity appears: first come first served among those of a project that
// ask for the same, and in turn between projects. The asker keeps them and asks again now and then, so nothing is lost
// with a scheduler; a parked request that its asker has given up is dropped.

import { waitMs } from '../builds.ts';
import { anyAdmits } from './gangs.ts';
import { openLot, placeOf, unpark } from './lots.ts';
import { askWhereOthersAre, goesByOthers } from './parking-others.ts';
import { nextTry } from './rounds.ts';
import type { Lot, Open, Parked, Work } from './state.ts';
import { rootsOf } from './view/groups-view.ts';

/** Between two turns that try, ms. */
export const BETWEEN_MS = 2;
/** So many turns in a row that come to nothing are given back to the project of a request. */
const MAX_GIVEN_BACK = 3;

export const PARKED_WAKE = 'parked';

/** Parks a request that has no host now. */
export function park(work: Work, open: Open, reason: string, decision: string): void {
  const { turnOfProject, tryNumber } = open;
  const { turn, state } = work;
  const lot = openLot(work, open);
  if (turnOfProject !== null) {
    const isLatest = state.parking.servedAt.get(lot.project) === turnOfProject.now;
    if (isLatest && tryNumber <= MAX_GIVEN_BACK) state.parking.servedAt.set(lot.project, turnOfProject.before);
    lot.notBefore = turn.steady + pauseMs(work, open);
  }
  putInLine(work, lot, open);
  const { request, round } = open.asked;
  const mayBeNext = lot.hopeful ? { hasRoom: true as const } : {};
  turn.send(open.from, { type: 'parked', request, round, reason, decision, ...mayBeNext });
}

/** After a turn that came to nothing: a moment where others were quicker, longer where hosts look well and refuse. */
function pauseMs({ patience }: Work, { key, drafts, tryNumber }: Open): number {
  const longest = waitMs(patience, 0, key);
  const wasRefused = [...drafts.values()].some(({ claimsRefused }) => claimsRefused > 0);
  return wasRefused ? longest : Math.min(longest, BETWEEN_MS * 2 ** tryNumber);
}

function putInLine(work: Work, lot: Lot, open: Open): void {
  const { key, asked, from, request } = open;
  const { turn, state } = work;
  unpark(work, key);
  state.parking.byRequest.set(key, lot);
  lot.away.delete(key);
  let position = lot.queue.length;
  while (position > 0 && placeOf((lot.queue[position - 1] as Parked).asked) > placeOf(asked)) position -= 1;
  const parked = { key, asked, from, request, ...nextTry(open) };
  lot.queue.splice(position, 0, parked);
  lot.homes = homesOf(work, parked);
  // Since the hosts were looked at, something may have come free, or changed unnoticed.
  lot.hopeful = anyAdmits(work, parked);
  if (goesByOthers(parked)) askWhereOthersAre(work, lot);
  if (lot.hopeful) turn.wakeAfter(PARKED_WAKE, Math.max(lot.notBefore - turn.steady, BETWEEN_MS));
}

/** Where the group is that a request must be with; empty where it need not. */
export function homesOf({ state: { view } }: Work, { asked: { spec } }: Parked): string {
  const { instanceGroup: group } = spec;
  return group?.policy === 'affinity' ? rootsOf(view.groups, group.id).sort().join(' ') : '';
}
