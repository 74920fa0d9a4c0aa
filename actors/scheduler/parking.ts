// Requests that wait for a host, parked until capacity appears: first come first served among those of a project that
// ask for the same, and in turn between projects. The asker keeps them and asks again now and then, so nothing is lost
// with a scheduler; a parked request that its asker has given up is dropped.

import { waitMs } from '../builds.ts';
import { anyAdmits } from './gangs.ts';
import { getInLine, getOutOfLine, noteServedAt } from './in-line.ts';
import { namesOthers } from './locating.ts';
import { openLot } from './lots.ts';
import { askWhereOthersAre } from './parking-others.ts';
import { nextTry } from './rounds.ts';
import type { Kind, Lot, Open, Parked, Work } from './state.ts';
import { rootsOf } from './view/groups-view.ts';

/** Between two turns that try, ms. */
export const BETWEEN_MS = 2;
/** So many turns in a row that come to nothing are given back to the project of a request. */
const MAX_GIVEN_BACK = 3;

export const PARKED_WAKE = 'parked';

/** Why a request waits. */
export interface WhyParked {
  readonly reason: string;
  readonly decision: string;
  /** It tells less than was told of such requests a while ago. */
  readonly isBrief: boolean;
}

/** Parks a request that has no host now. */
export function park(work: Work, open: Open, { reason, decision, isBrief }: WhyParked): void {
  const { turnOfProject, tryNumber } = open;
  const { turn, state } = work;
  const lot = openLot(work, open);
  if (turnOfProject !== null) {
    const isLatest = state.parking.servedAt.get(lot.project) === turnOfProject.now;
    if (isLatest && tryNumber <= MAX_GIVEN_BACK) noteServedAt(state.parking, lot.project, turnOfProject.before);
    lot.notBefore = turn.steady + pauseMs(work, open);
  }
  const hasRoom = putInLine(work, lot, open);
  const { request, round } = open.asked;
  const brief = isBrief ? { brief: true as const } : {};
  const mayBeNext = hasRoom ? { hasRoom: true as const } : {};
  turn.send(open.from, { type: 'parked', request, round, reason, decision, ...brief, ...mayBeNext });
}

/** After a turn that came to nothing: a moment where others were quicker, longer where hosts look well and refuse. */
function pauseMs({ patience }: Work, { key, drafts, tryNumber }: Open): number {
  const longest = waitMs(patience, 0, key);
  const wasRefused = [...drafts.values()].some(({ claimsRefused }) => claimsRefused > 0);
  return wasRefused ? longest : Math.min(longest, BETWEEN_MS * 2 ** tryNumber);
}

/** Answers whether there may be room for it. */
function putInLine(work: Work, lot: Lot, open: Open): boolean {
  const { key, asked, from, request } = open;
  const { turn, state } = work;
  const { parking } = state;
  getOutOfLine(parking, key);
  lot.away.delete(key);
  const parked = getInLine(parking, lot, { key, asked, from, request, ...nextTry(open) });
  const kind = lot.kind as Kind;
  kind.homes = homesOf(work, parked);
  // Since the hosts were looked at, something may have come free, or changed unnoticed.
  if (anyAdmits(work, parked)) parking.hopeful.add(kind);
  else parking.hopeful.delete(kind);
  if (namesOthers(asked.spec)) askWhereOthersAre(work, lot);
  const hasRoom = parking.hopeful.has(kind);
  if (hasRoom) turn.wakeAfter(PARKED_WAKE, Math.max(lot.notBefore - turn.steady, BETWEEN_MS));
  return hasRoom;
}

/** Where the group is that a request must be with; empty where it need not. */
export function homesOf({ state: { view } }: Work, { asked: { spec } }: Parked): string {
  const { instanceGroup: group } = spec;
  return group?.policy === 'affinity' ? rootsOf(view.groups, group.id).sort().join(' ') : '';
}
