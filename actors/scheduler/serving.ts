// Whose turn it is of those who wait: once a turn of the scheduler the requests are tried again for which something may
// have come free, one of each project after the other, and never past one that came before.

import { effort } from '../fitting/effort.ts';
import { select } from './choosing.ts';
import { admits, anyAdmits } from './gangs.ts';
import { awaitAnswer, isAwaited, UNCOUNTED_MS } from './hearing.ts';
import { getOutOfLine, isServedBefore, noteServed, placeInLine } from './in-line.ts';
import { namesOthers } from './locating.ts';
import { dropEmpty, isHeldUp } from './lots.ts';
import { BETWEEN_MS, homesOf, PARKED_WAKE } from './parking.ts';
import { askWhetherOthersMoved } from './parking-others.ts';
import type { Kind, Lot, Parked, Work } from './state.ts';

/** How many requests one turn tries again. */
const MAX_TRIED = 32;
/** How many that come before one that is about to be served are looked at first. */
const MAX_LOOKED_BEFORE = 256;
/** How many pairs of a host and a kind of request one turn looks at, and at how many of the providers. */
const MAX_LOOKS = 2_000;
const MAX_EFFORT = 20_000;
/** Of how many lots of which nobody is in line one turn finds out whether anybody will be again. */
const MAX_OUT_OF_LINE = 64;
/** How soon it is looked again for room for several where there was none, ms, while nobody else would be served. */
const LOOK_AGAIN_MS = 100;
/** For how long nobody is waited for where one has been in vain, ms. */
const AFTER_VAIN_MS = 1_000;

/** Tries parked requests again, as far as capacity has come free for them. */
export function tryParked(work: Work): void {
  const { parking } = work.state;
  if (parking.lots.size === 0) return;
  const isSeen = lookAtFreed(work);
  for (let tried = 0; tried < MAX_TRIED; tried += 1) {
    const next = nextLot(work, ({ lookAgainAt }) => lookAgainAt <= work.turn.steady);
    if (next === null || isAnyUncounted(work)) break;
    if (!hasRoomForHead(work, next)) continue;
    // Somebody is about to be served: those who come before are looked at first, however lately that was in vain.
    let served = next;
    for (let looks = 0; looks < MAX_LOOKED_BEFORE && served === next; looks += 1) {
      const earlier = nextLot(work, () => true);
      if (earlier === null || earlier === next) break;
      if (hasRoomForHead(work, earlier)) served = earlier;
    }
    serve(work, served);
  }
  dropEnded(work);
  const soonest = isSeen ? soonestTry(work) : BETWEEN_MS;
  if (soonest !== null) work.turn.wakeAfter(PARKED_WAKE, soonest);
}

/** How long it is until somebody can be tried, ms; null: nobody has hope. */
function soonestTry(work: Work): number | null {
  let soonest: number | null = null;
  for (const { inLine, lookAgainAt } of work.state.parking.hopeful) {
    for (const lot of inLine) {
      const wait = isHeldUp(work, lot) ? UNCOUNTED_MS : Math.max(lot.notBefore, lookAgainAt) - work.turn.steady;
      if (wait <= BETWEEN_MS) return BETWEEN_MS;
      soonest = Math.min(soonest ?? wait, wait);
    }
  }
  return soonest;
}

/** Whether there is room for the first of a lot: whoever was served just now may have taken what there was. */
function hasRoomForHead(work: Work, lot: Lot): boolean {
  const head = lot.queue[0] as Parked;
  if (anyAdmits(work, head)) return true;
  const kind = lot.kind as Kind;
  // A turn is not spent on finding out where others are: that would count for its project, and keep it out of line.
  if (namesOthers(head.asked.spec)) askWhetherOthersMoved(work, lot);
  work.state.parking.hopeful.delete(kind);
  if (head.asked.instances.length > 1) kind.lookAgainAt = work.turn.steady + LOOK_AGAIN_MS;
  return false;
}

/** Lets go of the lots whose requests have all come to an end. */
function dropEnded(work: Work): void {
  const { outOfLine } = work.state.parking;
  let left = Math.min(outOfLine.size, MAX_OUT_OF_LINE);
  for (const lot of outOfLine) {
    if (left === 0) return;
    left -= 1;
    outOfLine.delete(lot);
    outOfLine.add(lot);
    isHeldUp(work, lot);
    dropEmpty(work, lot);
  }
}

function serve(work: Work, lot: Lot): void {
  const { parking } = work.state;
  const { key, asked, from, taker, tryNumber, endsAt } = lot.queue[0] as Parked;
  getOutOfLine(parking, key);
  if (endsAt > work.turn.steady) {
    const before = parking.servedAt.get(lot.project) ?? 0;
    noteServed(parking, lot.project);
    const at = awaitAnswer(work);
    parking.serving.set(key, at);
    lot.away.set(key, { place: placeInLine(asked), at });
    select(work, asked, from, { taker, tryNumber, endsAt, turnOfProject: { before, now: parking.served } });
  }
  dropEmpty(work, lot);
}

/**
 * Whether what one whose turn it was will claim is still to be seen, so that the next would reach for the same. Where
 * claims are in order, or it is asked where others are, that takes some messages; one who is not answered holds nobody up
 * for long, and after it nobody is waited for, as the next would not be answered either.
 */
function isAnyUncounted(work: Work): boolean {
  const { open, parking } = work.state;
  const { steady } = work.turn;
  if (steady < parking.waitsAgainAt) return false;
  for (const [key, at] of parking.serving) {
    const one = open.get(key);
    const isUncounted = one !== undefined && one.promised.size === 0 && !one.failing;
    if (isUncounted && isAwaited(work, at)) return true;
    parking.serving.delete(key);
    if (!isUncounted) continue;
    parking.waitsAgainAt = steady + AFTER_VAIN_MS;
    return false;
  }
  return false;
}

/** Which kinds the hosts that have come free give hope; false when there are more to look at. */
function lookAtFreed(work: Work): boolean {
  const { parking, view } = work.state;
  let looks = 0;
  const most = effort.looks + MAX_EFFORT;
  for (const root of view.freed ?? []) {
    if (looks >= MAX_LOOKS || effort.looks >= most) return false;
    view.freed?.delete(root);
    for (const kind of parking.kinds.values()) {
      if (parking.hopeful.has(kind)) continue;
      looks += 1;
      if (mayHope(work, kind, root)) parking.hopeful.add(kind);
    }
  }
  return true;
}

/**
 * Whether what changed on a host may let a request in: there, or, where the group has left or moved that it keeps together
 * with, elsewhere. Whether one has left from whom it keeps apart is asked: it has hope when they have.
 */
function mayHope(work: Work, kind: Kind, root: string): boolean {
  const [head] = (kind.inLine[0] as Lot).queue as [Parked];
  const homes = homesOf(work, head);
  const haveMoved = homes !== kind.homes;
  kind.homes = homes;
  if (head.request.company?.far.has(root) === true) askWhetherOthersMoved(work, head.lot);
  return haveMoved || admits(work, head, root);
}

/** The lot whose turn it is: of the project that was served longest ago, and there the one whose head came first. */
function nextLot(work: Work, isDue: (kind: Kind) => boolean): Lot | null {
  let next: Lot | null = null;
  for (const kind of work.state.parking.hopeful) {
    if (isDue(kind)) next = firstOf(work, kind, next);
  }
  return next;
}

/** The first lot of a kind that can be tried now, or another if that comes before it. */
function firstOf(work: Work, { inLine }: Kind, other: Lot | null): Lot | null {
  for (const lot of inLine) {
    if (other !== null && isServedBefore(other, lot)) return other;
    if (lot.notBefore <= work.turn.steady && !isHeldUp(work, lot)) return lot;
  }
  return other;
}
