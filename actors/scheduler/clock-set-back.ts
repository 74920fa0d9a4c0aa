// What a scheduler does when the time of day is set back: what it was to do after a while it would else do only when that
// time has come once more. It keeps no records, so all of its times may be changed.

import { wakeId } from '../wakes.ts';
import { MEMBERS_WAKE } from './explaining/group-held.ts';
import { PARKED_WAKE } from './parking.ts';
import { RIVALS_WAKE } from './selecting.ts';
import type { Parking, SchedulerState, Work } from './state.ts';
import { passTime } from './view/view-hosts.ts';

/** Lets no time that was noted lie in the future. */
export function clockSetBack({ state, turn }: Work): void {
  const { now } = turn;
  state.startedAt = Math.min(state.startedAt, now);
  state.view.takenAt = Math.min(state.view.takenAt, now);
  for (const open of state.open.values()) {
    if (open.outwaits === null) continue;
    open.outwaits = Math.min(open.outwaits, now);
    turn.wakeAt(wakeId(RIVALS_WAKE, open.key), now);
  }
  for (const follower of state.followers.values()) {
    follower.heardAt = Math.min(follower.heardAt, now);
    follower.saidAt = Math.min(follower.saidAt, now);
  }
  letParkingGoOn(state.parking, now);
  if (state.parking.lots.size > 0) turn.wakeAt(PARKED_WAKE, now);
  for (const { searched } of state.rankings.shapes.values()) searched.since = Math.min(searched.since, now);
  for (const searched of state.rankings.searched.values()) searched.since = Math.min(searched.since, now);
  state.isSearching = false;
  for (const ask of state.naming.keys()) turn.wakeAt(wakeId(MEMBERS_WAKE, ask), now);
  for (const sweeping of state.sweeps) sweeping.toldAt = Math.min(sweeping.toldAt, now);
  state.surveyed.clear();
  state.surveying.since = Math.min(state.surveying.since, now);
  forgetExpected(state, now);
}

/** What the hosts were expected to have is forgotten; whatever was to be weighed anew by and by is so now. */
function forgetExpected({ view }: SchedulerState, now: number): void {
  for (const root of view.expected.roots()) view.due.set(root, now);
  view.expected.clear();
  for (const root of view.due.keys()) view.due.set(root, now);
  if (view.due.size > 0) view.nextDue = now;
  passTime(view, now);
}

function letParkingGoOn({ lots, serving }: Parking, now: number): void {
  for (const [key, at] of serving) serving.set(key, Math.min(at, now));
  for (const lot of lots.values()) {
    lot.notBefore = Math.min(lot.notBefore, now);
    lot.lookAgainAt = Math.min(lot.lookAgainAt, now);
    for (const [key, { place, at }] of lot.away) lot.away.set(key, { place, at: Math.min(at, now) });
  }
}
