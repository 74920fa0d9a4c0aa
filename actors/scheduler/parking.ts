// Requests that wait for a host, parked until capacity appears: first come first served among those of a project that
// ask for the same, and in turn between projects. The asker keeps them and asks again now and then, so nothing is lost
// with a scheduler; a parked request that its asker has given up is dropped.

import type { Address } from '../actor.ts';
import { waitMs } from '../builds.ts';
import type { Select } from '../messages/scheduler.ts';
import { effort } from './fit-search.ts';
import { rootsOf } from './groups-view.ts';
import type { Locating } from './locating.ts';
import { askWhereOthersAre, goesByOthers } from './parking-others.ts';
import type { Request } from './request.ts';
import { isOrdered, nextTry, type Resumed, type Served } from './rounds.ts';
import type { Open, Work } from './state.ts';

/** How many requests one turn tries again. */
const MAX_TRIED = 32;
/** How many that come before one that is about to be served are looked at first. */
const MAX_LOOKED_BEFORE = 256;
/** How many pairs of a host and a kind of request one turn looks at, and at how many of the providers. */
const MAX_LOOKS = 2_000;
const MAX_EFFORT = 20_000;
/** Between two turns that try, ms. */
const BETWEEN_MS = 2;
/** How long the next one waits for the claims of the one whose turn it was, ms. */
const UNCOUNTED_MS = 50;
/** So many turns in a row that come to nothing are given back to the project of a request. */
const MAX_GIVEN_BACK = 3;
/** How soon it is looked again for room for several where there was none, ms, while nobody else would be served. */
const LOOK_AGAIN_MS = 100;
/** How often what is given up is dropped, ms. */
const SWEEP_MS = 10_000;

export const PARKED_WAKE = 'parked';
export const GIVEN_UP_WAKE = 'given up';

export interface Parked extends Resumed {
  /** Names it among all requests. */
  readonly key: string;
  readonly asked: Select;
  readonly from: Address;
  /** As filters see it. */
  request: Request;
}

/** A request that is out of line for the moment: its turn has come, it is asked for anew, or why it fails is looked for. */
interface Away {
  /** Its place in line. */
  readonly place: number;
  /** Since when, ms since the epoch. */
  readonly at: number;
}

/** The requests of a project that ask for the same, the oldest first. */
export interface Lot {
  readonly key: string;
  readonly project: string;
  /** The instances that they want to be with. */
  readonly awaits: readonly string[];
  readonly queue: Parked[];
  /** Those whose places are kept, by their keys: who came after them does not overtake them. */
  readonly away: Map<string, Away>;
  /** Why the last of them that was tried has no host, with the record of that decision. */
  reason: string;
  decision: string;
  /** Whether a host may have room by now. */
  hopeful: boolean;
  /** Not to be tried again before, ms since the epoch: hosts that look well and refuse are not asked without end. */
  notBefore: number;
  /** Not to be looked at before, ms since the epoch, unless somebody who comes later would be served. */
  lookAgainAt: number;
  /** Where the group was that they want to be with, when it was looked for room there. */
  homes: string;
  /** The question where the instances are that they want to be with, or apart from, while its answer is waited for. */
  locating: Locating | null;
}

export interface Parking {
  readonly lots: Map<string, Lot>;
  readonly byRequest: Map<string, Lot>;
  /** The lots whose requests want to be with an instance, by its name. */
  readonly awaiting: Map<string, Set<Lot>>;
  /** The lots whose requests want to be with instances, or apart from some; of whom it was asked longest ago is first. */
  readonly goingByOthers: Set<Lot>;
  /** The lots by the numbers of their questions where others are. */
  readonly locating: Map<number, Lot>;
  /** When each project was served last, counted. */
  readonly servedAt: Map<string, number>;
  served: number;
  /** Those whose turn it was, and whose claims may be still to come, with when that was, ms since the epoch. */
  readonly serving: Map<string, number>;
}

export function emptyParking(): Parking {
  return {
    lots: new Map(),
    byRequest: new Map(),
    awaiting: new Map(),
    goingByOthers: new Set(),
    locating: new Map(),
    servedAt: new Map(),
    served: 0,
    serving: new Map(),
  };
}

/** What a parked request is tried by. */
export interface ParkingHooks {
  /** Whether a host, by its root, has room for one instance of a request. */
  admits(work: Work, parked: Parked, root: string): boolean;
  /** Whether any host has. */
  anyAdmits(work: Work, parked: Parked): boolean;
  select(work: Work, asked: Select, from: Address, served: Served): void;
}

function lotKeyOf({ instances, spec, where, project }: Select): string {
  return JSON.stringify([instances.length, spec, where, project]);
}

function placeOf({ waits }: Select): number {
  return waits?.since ?? 0;
}

/** The lot that a request belongs to, if others that ask for the same wait already, or are out of line for the moment. */
export function lotOf(work: Work, { key, asked }: Pick<Open, 'key' | 'asked'>): Lot | undefined {
  if (asked.waits === undefined) return undefined;
  const lot = work.state.parking.lots.get(lotKeyOf(asked));
  if (lot === undefined || lot.queue.length > 0) return lot;
  return [...lot.away].some(([other, away]) => other !== key && isKept(work, other, away)) ? lot : undefined;
}

/** Parks a request that has no host now. */
export function park(work: Work, hooks: ParkingHooks, open: Open, reason: string, decision: string): void {
  const { turnOfProject, tryNumber } = open;
  const { turn, state } = work;
  const lot = openLot(work, open, reason, decision);
  lot.reason = reason;
  lot.decision = decision;
  if (turnOfProject !== null) {
    const isLatest = state.parking.servedAt.get(lot.project) === turnOfProject.now;
    if (isLatest && tryNumber <= MAX_GIVEN_BACK) state.parking.servedAt.set(lot.project, turnOfProject.before);
    lot.notBefore = turn.now + pauseMs(work, open);
  }
  line(work, hooks, lot, open);
}

/** The lot of a request; a new one tells whoever joins it the reason and the decision. */
function openLot({ turn, state: { parking, view } }: Work, { asked }: Open, reason: string, decision: string): Lot {
  const key = lotKeyOf(asked);
  const standing = parking.lots.get(key);
  if (standing !== undefined) return standing;
  const lot: Lot = {
    key,
    project: asked.project ?? '',
    awaits: asked.spec.tree?.heldBy ?? [],
    queue: [],
    away: new Map(),
    reason,
    decision,
    hopeful: false,
    notBefore: 0,
    lookAgainAt: 0,
    homes: '',
    locating: null,
  };
  parking.lots.set(key, lot);
  for (const instance of lot.awaits) {
    const awaiting = parking.awaiting.get(instance) ?? new Set();
    parking.awaiting.set(instance, awaiting.add(lot));
  }
  view.freed ??= new Set();
  if (parking.lots.size === 1) turn.wakeAt(GIVEN_UP_WAKE, turn.now + SWEEP_MS);
  return lot;
}

/** A request that may wait has no host, and why is still looked for: it has its place in line from now on. */
export function keepPlace(work: Work, open: Open, reason: string, decision: () => string): void {
  const standing = work.state.parking.lots.get(lotKeyOf(open.asked));
  const lot = standing ?? openLot(work, open, reason, decision());
  lot.away.set(open.key, { place: placeOf(open.asked), at: work.turn.now });
}

/** Whether the place of a request that is out of line is kept: until it has claimed, or is in line again. */
function isKept(work: Work, key: string, { at }: Away): boolean {
  const open = work.state.open.get(key);
  if (open === undefined) return false;
  const isGivingBack = open.givingBack !== null;
  // To find out why it has no host takes some turns, and nobody is waited for.
  if (open.failing && !isGivingBack) return true;
  const isToClaim = isOrdered(work, open) && open.promised.size === 0;
  const isUndecided = open.gathering !== null || isGivingBack || open.locating !== null || isToClaim;
  // Where somebody does not answer, the others are not held up for long.
  return isUndecided && work.turn.now - at < UNCOUNTED_MS;
}

/** Whether one who came before the first in line is out of it for the moment. */
function isHeldUp(work: Work, { queue, away }: Lot): boolean {
  for (const [key, one] of away) {
    if (!isKept(work, key, one)) away.delete(key);
    else if (queue[0] !== undefined && one.place <= placeOf(queue[0].asked)) return true;
  }
  return false;
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
  const { reason, decision } = lot;
  turn.send(from, { type: 'parked', request: asked.request, round: asked.round, reason, decision });
}

/** Takes a request out of line that is asked for anew; its place is kept. */
export function stepOut(work: Work, { key, asked }: Pick<Open, 'key' | 'asked'>): void {
  const lot = work.state.parking.byRequest.get(key);
  if (lot === undefined) return;
  unpark(work, key);
  lot.away.set(key, { place: placeOf(asked), at: work.turn.now });
}

function unpark({ state }: Work, key: string): void {
  const { byRequest } = state.parking;
  const lot = byRequest.get(key);
  if (lot === undefined) return;
  byRequest.delete(key);
  const position = lot.queue.findIndex((one) => one.key === key);
  if (position >= 0) lot.queue.splice(position, 1);
}

/** Forgets a request that is not wanted any more. */
export function withdraw(work: Work, key: string): void {
  const lot = work.state.parking.byRequest.get(key);
  unpark(work, key);
  if (lot !== undefined) dropEmpty(work, lot);
}

function dropEmpty({ state: { parking, view } }: Work, lot: Lot): void {
  if (lot.queue.length > 0 || lot.away.size > 0) return;
  parking.lots.delete(lot.key);
  parking.goingByOthers.delete(lot);
  if (lot.locating !== null) parking.locating.delete(lot.locating.ask);
  for (const instance of lot.awaits) {
    const awaiting = parking.awaiting.get(instance);
    if (awaiting?.delete(lot) === true && awaiting.size === 0) parking.awaiting.delete(instance);
  }
  if (parking.lots.size > 0) return;
  view.freed = null;
  parking.servedAt.clear();
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

/** Drops what its asker has given up: whoever still wants it would have asked again. */
export function dropGivenUp(work: Work): void {
  const { parking } = work.state;
  for (const lot of [...parking.lots.values()]) {
    const givenUp = lot.queue.filter(({ asked }) => asked.expiresAt <= work.turn.now);
    for (const { key } of givenUp) unpark(work, key);
    isHeldUp(work, lot);
    dropEmpty(work, lot);
  }
  if (parking.lots.size > 0) work.turn.wakeAt(GIVEN_UP_WAKE, work.turn.now + SWEEP_MS);
}
