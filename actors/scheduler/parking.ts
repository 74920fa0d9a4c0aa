// Requests that wait for a host, parked until capacity appears: first come first served among those of a project that
// ask for the same, and in turn between projects. The asker keeps them and asks again now and then, so nothing is lost
// with a scheduler; a parked request that its asker has given up is dropped.

import type { Address } from '../actor.ts';
import { waitMs } from '../builds.ts';
import { effort } from '../fitting/fit-search.ts';
import type { Select } from '../messages/scheduler.ts';
import { rootsOf } from './groups-view.ts';
import { dropEmpty, isHeldUp, openLot, placeOf, UNCOUNTED_MS, unpark } from './lots.ts';
import { askWhereOthersAre, goesByOthers } from './parking-others.ts';
import { isOrdered, nextTry, type Served } from './rounds.ts';
import type { Lot, Open, Parked, Parking, Work } from './state.ts';

/** How many requests one turn tries again. */
const MAX_TRIED = 32;
/** How many that come before one that is about to be served are looked at first. */
const MAX_LOOKED_BEFORE = 256;
/** How many pairs of a host and a kind of request one turn looks at, and at how many of the providers. */
const MAX_LOOKS = 2_000;
const MAX_EFFORT = 20_000;
/** Between two turns that try, ms. */
const BETWEEN_MS = 2;
/** So many turns in a row that come to nothing are given back to the project of a request. */
const MAX_GIVEN_BACK = 3;
/** How soon it is looked again for room for several where there was none, ms, while nobody else would be served. */
const LOOK_AGAIN_MS = 100;

export const PARKED_WAKE = 'parked';

/** What a parked request is tried by. */
export interface ParkingHooks {
  /** Whether a host, by its root, has room for one instance of a request. */
  admits(work: Work, parked: Parked, root: string): boolean;
  /** Whether any host has. */
  anyAdmits(work: Work, parked: Parked): boolean;
  select(work: Work, asked: Select, from: Address, served: Served): void;
}

/** Parks a request that has no host now. */
export function park(work: Work, hooks: ParkingHooks, open: Open, reason: string, decision: string): void {
  const { turnOfProject, tryNumber } = open;
  const { turn, state } = work;
  const lot = openLot(work, open);
  if (turnOfProject !== null) {
    const isLatest = state.parking.servedAt.get(lot.project) === turnOfProject.now;
    if (isLatest && tryNumber <= MAX_GIVEN_BACK) state.parking.servedAt.set(lot.project, turnOfProject.before);
    lot.notBefore = turn.now + pauseMs(work, open);
  }
  line(work, hooks, lot, open);
  const { request, round } = open.asked;
  turn.send(open.from, { type: 'parked', request, round, reason, decision });
}

/** After a turn that came to nothing: a moment where others were quicker, longer where hosts look well and refuse. */
function pauseMs({ patience }: Work, { key, drafts, tryNumber }: Open): number {
  const longest = waitMs(patience, 0, key);
  const wasRefused = [...drafts.values()].some(({ claimsRefused }) => claimsRefused > 0);
  return wasRefused ? longest : Math.min(longest, BETWEEN_MS * 2 ** tryNumber);
}

function line(work: Work, hooks: ParkingHooks, lot: Lot, open: Open): void {
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
  lot.hopeful = hooks.anyAdmits(work, parked);
  if (goesByOthers(parked)) askWhereOthersAre(work, lot);
  if (lot.hopeful) turn.wakeAt(PARKED_WAKE, Math.max(lot.notBefore, turn.now + BETWEEN_MS));
}

/** Tries parked requests again, as far as capacity has come free for them. */
export function tryParked(work: Work, hooks: ParkingHooks): void {
  const { parking } = work.state;
  if (parking.lots.size === 0) return;
  const isSeen = lookAtFreed(work, hooks);
  for (let tried = 0; tried < MAX_TRIED; tried += 1) {
    const next = nextLot(work, ({ notBefore, lookAgainAt }) => Math.max(notBefore, lookAgainAt));
    if (next === null || isAnyUncounted(work)) break;
    if (!hasRoom(work, hooks, next)) continue;
    // Somebody is about to be served: those who come before are looked at first, however lately that was in vain.
    let served = next;
    for (let looks = 0; looks < MAX_LOOKED_BEFORE && served === next; looks += 1) {
      const earlier = nextLot(work, ({ notBefore }) => notBefore);
      if (earlier === null || earlier === next) break;
      if (hasRoom(work, hooks, earlier)) served = earlier;
    }
    serve(work, hooks, served);
  }
  const again = [...parking.lots.values()].filter(({ hopeful, queue }) => hopeful && queue.length > 0);
  if (!isSeen || again.length > 0) {
    const { now } = work.turn;
    const times = again.map((lot) =>
      isHeldUp(work, lot) ? now + UNCOUNTED_MS : Math.max(lot.notBefore, lot.lookAgainAt),
    );
    const soonest = isSeen ? Math.min(...times) : 0;
    work.turn.wakeAt(PARKED_WAKE, Math.max(soonest, work.turn.now + BETWEEN_MS));
  }
}

/** Whether there is room for the first of a lot: whoever was served just now may have taken what there was. */
function hasRoom(work: Work, hooks: ParkingHooks, lot: Lot): boolean {
  const head = lot.queue[0] as Parked;
  lot.hopeful = goesByOthers(head) || hooks.anyAdmits(work, head);
  if (!lot.hopeful && head.asked.instances.length > 1) lot.lookAgainAt = work.turn.now + LOOK_AGAIN_MS;
  return lot.hopeful;
}

function serve(work: Work, hooks: ParkingHooks, lot: Lot): void {
  const { parking } = work.state;
  const { key, asked, from, taker, tryNumber } = lot.queue[0] as Parked;
  unpark(work, key);
  if (asked.expiresAt > work.turn.now) {
    const before = parking.servedAt.get(lot.project) ?? 0;
    parking.served += 1;
    parking.servedAt.set(lot.project, parking.served);
    parking.serving.set(key, work.turn.now);
    lot.away.set(key, { place: placeOf(asked), at: work.turn.now });
    hooks.select(work, asked, from, { taker, tryNumber, turnOfProject: { before, now: parking.served } });
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
    if (isUncounted && work.turn.now - at < UNCOUNTED_MS) return true;
    parking.serving.delete(key);
  }
  return false;
}

/** Which lots the hosts that have come free give hope; false when there are more to look at. */
function lookAtFreed(work: Work, hooks: ParkingHooks): boolean {
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
      if (head !== undefined && mayHope(work, hooks, lot, head, root)) lot.hopeful = true;
    }
  }
  return true;
}

/**
 * Whether what changed on a host may let a request in: there, or, where one has left from whom it keeps apart, or the group
 * has left or moved that it keeps together with, elsewhere.
 */
function mayHope(work: Work, hooks: ParkingHooks, lot: Lot, head: Parked, root: string): boolean {
  const homes = homesOf(work, head);
  const haveMoved = homes !== lot.homes;
  lot.homes = homes;
  return haveMoved || head.request.company?.far.has(root) === true || hooks.admits(work, head, root);
}

/** Where the group is that a request must be with; empty where it need not. */
function homesOf({ state: { view } }: Work, { asked: { spec } }: Parked): string {
  const { instanceGroup: group } = spec;
  return group?.policy === 'affinity' ? rootsOf(view.groups, group.id).sort().join(' ') : '';
}

/** An instance has a host: it may be what those wait for who want to be with it. */
export function tellCame({ state }: Work, instance: string): void {
  for (const lot of state.parking.awaiting.get(instance) ?? []) lot.hopeful = true;
}

/** The lot whose turn it is: of the project that was served longest ago, and there the one whose head came first. */
function nextLot(work: Work, notBefore: (lot: Lot) => number): Lot | null {
  const { parking } = work.state;
  let next: Lot | null = null;
  for (const lot of parking.lots.values()) {
    const isHeld = isHeldUp(work, lot);
    dropEmpty(work, lot);
    if (isHeld || !lot.hopeful || lot.queue.length === 0 || notBefore(lot) > work.turn.now) continue;
    if (next === null || comesBefore(parking, lot, next)) next = lot;
  }
  return next;
}

function comesBefore({ servedAt }: Parking, one: Lot, other: Lot): boolean {
  const [mine, theirs] = [servedAt.get(one.project) ?? 0, servedAt.get(other.project) ?? 0];
  if (mine !== theirs) return mine < theirs;
  return placeOf((one.queue[0] as Parked).asked) < placeOf((other.queue[0] as Parked).asked);
}
