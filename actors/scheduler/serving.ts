// Whose turn it is of those who wait: once a turn of the scheduler the requests are tried again for which something may
// have come free, one of each project after the other, and never past one that came before.

import { effort } from '../fitting/effort.ts';
import { select } from './choosing.ts';
import { admits, anyAdmits } from './gangs.ts';
import { dropEmpty, isHeldUp, placeOf, UNCOUNTED_MS, unpark } from './lots.ts';
import { BETWEEN_MS, homesOf, PARKED_WAKE } from './parking.ts';
import { goesByOthers } from './parking-others.ts';
import { isOrdered } from './rounds.ts';
import type { Lot, Parked, Parking, Work } from './state.ts';

/** How many requests one turn tries again. */
const MAX_TRIED = 32;
/** How many that come before one that is about to be served are looked at first. */
const MAX_LOOKED_BEFORE = 256;
/** How many pairs of a host and a kind of request one turn looks at, and at how many of the providers. */
const MAX_LOOKS = 2_000;
const MAX_EFFORT = 20_000;
/** How soon it is looked again for room for several where there was none, ms, while nobody else would be served. */
const LOOK_AGAIN_MS = 100;

/** Tries parked requests again, as far as capacity has come free for them. */
export function tryParked(work: Work): void {
  const { parking } = work.state;
  if (parking.lots.size === 0) return;
  const isSeen = lookAtFreed(work);
  for (let tried = 0; tried < MAX_TRIED; tried += 1) {
    const next = nextLot(work, ({ notBefore, lookAgainAt }) => Math.max(notBefore, lookAgainAt));
    if (next === null || isAnyUncounted(work)) break;
    if (!hasRoomForHead(work, next)) continue;
    // Somebody is about to be served: those who come before are looked at first, however lately that was in vain.
    let served = next;
    for (let looks = 0; looks < MAX_LOOKED_BEFORE && served === next; looks += 1) {
      const earlier = nextLot(work, ({ notBefore }) => notBefore);
      if (earlier === null || earlier === next) break;
      if (hasRoomForHead(work, earlier)) served = earlier;
    }
    serve(work, served);
  }
  const again = [...parking.lots.values()].filter(({ hopeful, queue }) => hopeful && queue.length > 0);
  if (!isSeen || again.length > 0) {
    const { steady } = work.turn;
    const waits = again.map((lot) =>
      isHeldUp(work, lot) ? UNCOUNTED_MS : Math.max(lot.notBefore, lot.lookAgainAt) - steady,
    );
    const soonest = isSeen ? Math.min(...waits) : 0;
    work.turn.wakeAfter(PARKED_WAKE, Math.max(soonest, BETWEEN_MS));
  }
}

/** Whether there is room for the first of a lot: whoever was served just now may have taken what there was. */
function hasRoomForHead(work: Work, lot: Lot): boolean {
  const head = lot.queue[0] as Parked;
  lot.hopeful = goesByOthers(head) || anyAdmits(work, head);
  if (!lot.hopeful && head.asked.instances.length > 1) lot.lookAgainAt = work.turn.steady + LOOK_AGAIN_MS;
  return lot.hopeful;
}

/** Of how many projects it is kept when they were served last: one of which that is long ago comes as soon as a new one. */
const MAX_PROJECTS_KEPT = 10_000;

function noteServed({ servedAt, served }: Parking, project: string): void {
  servedAt.delete(project);
  servedAt.set(project, served);
  if (servedAt.size > MAX_PROJECTS_KEPT) servedAt.delete(servedAt.keys().next().value as string);
}

function serve(work: Work, lot: Lot): void {
  const { parking } = work.state;
  const { key, asked, from, taker, tryNumber, endsAt } = lot.queue[0] as Parked;
  unpark(work, key);
  if (endsAt > work.turn.steady) {
    const before = parking.servedAt.get(lot.project) ?? 0;
    parking.served += 1;
    noteServed(parking, lot.project);
    parking.serving.set(key, work.turn.steady);
    lot.away.set(key, { place: placeOf(asked), at: work.turn.steady });
    select(work, asked, from, { taker, tryNumber, endsAt, turnOfProject: { before, now: parking.served } });
  }
  dropEmpty(work, lot);
}

/**
 * Whether what one whose turn it was will claim is still to be seen, so that the next would reach for the same. Where
 * claims are in order that takes some messages; one whose asker does not answer holds nobody up for long.
 */
function isAnyUncounted(work: Work): boolean {
  const { open, parking } = work.state;
  for (const [key, at] of parking.serving) {
    const one = open.get(key);
    const isUncounted = one !== undefined && isOrdered(work, one) && one.promised.size === 0 && !one.failing;
    if (isUncounted && work.turn.steady - at < UNCOUNTED_MS) return true;
    parking.serving.delete(key);
  }
  return false;
}

/** Which lots the hosts that have come free give hope; false when there are more to look at. */
function lookAtFreed(work: Work): boolean {
  const { parking, view } = work.state;
  let looks = 0;
  const most = effort.looks + MAX_EFFORT;
  for (const root of view.freed ?? []) {
    if (looks >= MAX_LOOKS || effort.looks >= most) return false;
    view.freed?.delete(root);
    for (const lot of parking.lots.values()) {
      if (lot.hopeful) continue;
      looks += 1;
      const [head] = lot.queue;
      if (head !== undefined && mayHope(work, lot, head, root)) lot.hopeful = true;
    }
  }
  return true;
}

/**
 * Whether what changed on a host may let a request in: there, or, where one has left from whom it keeps apart, or the group
 * has left or moved that it keeps together with, elsewhere.
 */
function mayHope(work: Work, lot: Lot, head: Parked, root: string): boolean {
  const homes = homesOf(work, head);
  const haveMoved = homes !== lot.homes;
  lot.homes = homes;
  return haveMoved || head.request.company?.far.has(root) === true || admits(work, head, root);
}

/** The lot whose turn it is: of the project that was served longest ago, and there the one whose head came first. */
function nextLot(work: Work, notBefore: (lot: Lot) => number): Lot | null {
  const { parking } = work.state;
  let next: Lot | null = null;
  for (const lot of parking.lots.values()) {
    const isEmpty = lot.queue.length === 0;
    if (!isEmpty && (!lot.hopeful || notBefore(lot) > work.turn.steady)) continue;
    const isHeld = isHeldUp(work, lot);
    dropEmpty(work, lot);
    if (isHeld || isEmpty) continue;
    if (next === null || comesBefore(parking, lot, next)) next = lot;
  }
  return next;
}

function comesBefore({ servedAt }: Parking, one: Lot, other: Lot): boolean {
  const [mine, theirs] = [servedAt.get(one.project) ?? 0, servedAt.get(other.project) ?? 0];
  if (mine !== theirs) return mine < theirs;
  return placeOf((one.queue[0] as Parked).asked) < placeOf((other.queue[0] as Parked).asked);
}
