// Requests that wait for a host, parked until capacity appears: first come first served among those of a project that
// ask for the same, and in turn between projects. The asker keeps them and asks again now and then, so nothing is lost
// with a scheduler; a parked request that its asker has given up is dropped.

import type { Address } from '../actor.ts';
import { waitMs } from '../builds.ts';
import type { Select } from '../messages/scheduler.ts';
import { effort } from './fit-search.ts';
import type { Request } from './request.ts';
import { isOrdered, nextTry, type Resumed, type Served } from './rounds.ts';
import type { Open, Work } from './state.ts';

/** How many requests one turn tries again. */
const MAX_TRIED = 32;
/** How many pairs of a host and a kind of request one turn looks at, and at how many of the providers. */
const MAX_LOOKS = 2_000;
const MAX_EFFORT = 20_000;
/** Between two turns that try, ms. */
const BETWEEN_MS = 2;
/** How long the next one waits for the claims of the one whose turn it was, ms. */
const UNCOUNTED_MS = 50;
/** So many turns in a row that come to nothing are given back to the project of a request. */
const MAX_GIVEN_BACK = 3;
/** How soon all hosts are looked at again where that takes long and was in vain, ms. */
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
  readonly request: Request;
}

/** The requests of a project that ask for the same, the oldest first. */
export interface Lot {
  readonly key: string;
  readonly project: string;
  /** The instances that they want to be with. */
  readonly awaits: readonly string[];
  readonly queue: Parked[];
  /** Why the last of them that was tried has no host, with the record of that decision. */
  reason: string;
  decision: string;
  /** Whether a host may have room by now. */
  hopeful: boolean;
  /** Not to be tried again before, ms since the epoch: hosts that look well and refuse are not asked without end. */
  notBefore: number;
}

export interface Parking {
  readonly lots: Map<string, Lot>;
  readonly byRequest: Map<string, Lot>;
  /** The lots whose requests want to be with an instance, by its name. */
  readonly awaiting: Map<string, Set<Lot>>;
  /** When each project was served last, counted. */
  readonly servedAt: Map<string, number>;
  served: number;
  /** Those whose turn it was, and whose claims may be still to come: when that was, ms since the epoch, and their lot. */
  readonly serving: Map<string, { readonly since: number; readonly lot: Lot }>;
}

export function emptyParking(): Parking {
  return {
    lots: new Map(),
    byRequest: new Map(),
    awaiting: new Map(),
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

/** The lot that a request belongs to, if there is one: others that ask for the same wait already, or are being served. */
export function lotOf(work: Work, asked: Select): Lot | undefined {
  if (asked.waits === undefined) return undefined;
  const { lots, serving } = work.state.parking;
  const key = lotKeyOf(asked);
  const waiting = lots.get(key);
  if (waiting !== undefined || serving.size === 0) return waiting;
  for (const [one, { lot }] of serving) if (lot.key === key && isUncounted(work, one)) return lot;
  return undefined;
}

/** Parks a request that has no host now. */
export function park(work: Work, hooks: ParkingHooks, open: Open, reason: string, decision: string): void {
  const { asked, turnOfProject, tryNumber } = open;
  const { turn, state } = work;
  const lot = lotOf(work, asked) ?? newLot(asked, reason, decision);
  if (!state.parking.lots.has(lot.key)) openLot(work, lot);
  lot.reason = reason;
  lot.decision = decision;
  if (turnOfProject !== null) {
    const isLatest = state.parking.servedAt.get(lot.project) === turnOfProject.now;
    if (isLatest && tryNumber <= MAX_GIVEN_BACK) state.parking.servedAt.set(lot.project, turnOfProject.before);
    lot.notBefore = turn.now + pauseMs(work, open);
  }
  line(work, hooks, lot, open);
}

function newLot(asked: Select, reason: string, decision: string): Lot {
  const { project = '', spec } = asked;
  const awaits = spec.tree?.heldBy ?? [];
  return { key: lotKeyOf(asked), project, awaits, queue: [], reason, decision, hopeful: false, notBefore: 0 };
}

function openLot({ turn, state: { parking, view } }: Work, lot: Lot): void {
  parking.lots.set(lot.key, lot);
  for (const instance of lot.awaits) {
    const awaiting = parking.awaiting.get(instance) ?? new Set();
    parking.awaiting.set(instance, awaiting.add(lot));
  }
  view.freed ??= new Set();
  if (parking.lots.size === 1) turn.wakeAt(GIVEN_UP_WAKE, turn.now + SWEEP_MS);
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
  const since = asked.waits?.since ?? 0;
  let position = lot.queue.length;
  while (position > 0 && ((lot.queue[position - 1] as Parked).asked.waits?.since ?? 0) > since) position -= 1;
  const parked = { key, asked, from, request, ...nextTry(open) };
  lot.queue.splice(position, 0, parked);
  // Since the hosts were looked at, something may have come free, or changed unnoticed.
  lot.hopeful = hooks.anyAdmits(work, parked);
  if (lot.hopeful) turn.wakeAt(PARKED_WAKE, Math.max(lot.notBefore, turn.now + BETWEEN_MS));
  const { reason, decision } = lot;
  turn.send(from, { type: 'parked', request: asked.request, round: asked.round, reason, decision });
}

/** Takes a request out of line: it is tried now, or asked for anew. */
export function unpark({ state }: Work, key: string): void {
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

function dropEmpty({ state }: Work, lot: Lot): void {
  if (lot.queue.length > 0) return;
  state.parking.lots.delete(lot.key);
  for (const instance of lot.awaits) {
    const awaiting = state.parking.awaiting.get(instance);
    if (awaiting?.delete(lot) === true && awaiting.size === 0) state.parking.awaiting.delete(instance);
  }
  if (state.parking.lots.size > 0) return;
  state.view.freed = null;
  state.parking.servedAt.clear();
}

/** Tries parked requests again, as far as capacity has come free for them. */
export function tryParked(work: Work, hooks: ParkingHooks): void {
  const { parking } = work.state;
  if (parking.lots.size === 0) return;
  const isSeen = lookAtFreed(work, hooks);
  for (let tried = 0; tried < MAX_TRIED; tried += 1) {
    const lot = nextLot(work);
    if (lot === null || isAnyUncounted(work)) break;
    const head = lot.queue[0] as Parked;
    const { key, asked, from } = head;
    // Whoever was served just now may have taken what there was.
    lot.hopeful = goesByOthers(head) || hooks.anyAdmits(work, head);
    if (!lot.hopeful) {
      if (takesLong(head)) lot.notBefore = Math.max(lot.notBefore, work.turn.now + LOOK_AGAIN_MS);
      continue;
    }
    unpark(work, key);
    if (asked.expiresAt > work.turn.now) {
      const servedBefore = parking.servedAt.get(lot.project) ?? 0;
      parking.served += 1;
      parking.servedAt.set(lot.project, parking.served);
      parking.serving.set(key, { since: work.turn.now, lot });
      const turnOfProject = { before: servedBefore, now: parking.served };
      hooks.select(work, asked, from, { taker: head.taker, tryNumber: head.tryNumber, turnOfProject });
    }
    dropEmpty(work, lot);
  }
  const again = [...parking.lots.values()].filter(({ hopeful }) => hopeful).map(({ notBefore }) => notBefore);
  if (!isSeen || again.length > 0) {
    const soonest = isSeen ? Math.min(...again) : 0;
    work.turn.wakeAt(PARKED_WAKE, Math.max(soonest, work.turn.now + BETWEEN_MS));
  }
}

/**
 * Whether what one whose turn it was will claim is still to be seen, so that the next would reach for the same. Where
 * claims are in order that takes some messages; one whose asker does not answer holds nobody up for long.
 */
function isAnyUncounted(work: Work): boolean {
  const { serving } = work.state.parking;
  for (const key of serving.keys()) {
    if (isUncounted(work, key)) return true;
    serving.delete(key);
  }
  return false;
}

function isUncounted(work: Work, key: string): boolean {
  const { open, parking } = work.state;
  const one = open.get(key);
  const since = parking.serving.get(key)?.since ?? 0;
  const isClaimed = one === undefined || !isOrdered(work, one) || one.promised.size > 0 || one.failing;
  return !isClaimed && work.turn.now - since < UNCOUNTED_MS;
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
      if (head !== undefined && mayHope(work, hooks, head, root)) lot.hopeful = true;
    }
  }
  return true;
}

/**
 * Whether what changed on a host may let a request in: there, or, where one has left from whom it keeps apart, elsewhere.
 * Of a group all hosts are looked at when its turn comes.
 */
function mayHope(work: Work, hooks: ParkingHooks, head: Parked, root: string): boolean {
  if (head.asked.spec.instanceGroup !== undefined || head.request.company?.far.has(root) === true) return true;
  return hooks.admits(work, head, root);
}

/** Whether it takes long to see that no host would do: there are several instances, or members of a group, to think of. */
function takesLong({ asked: { instances, spec } }: Parked): boolean {
  return instances.length > 1 || spec.instanceGroup !== undefined;
}

/** An instance has a host: it may be what those wait for who want to be with it. */
export function tellCame({ state }: Work, instance: string): void {
  for (const lot of state.parking.awaiting.get(instance) ?? []) lot.hopeful = true;
}

/** Whether it wants to be with other instances, or apart from them: where these are is asked only when it is tried. */
function goesByOthers({ asked: { spec } }: Parked): boolean {
  return spec.tree?.heldBy !== undefined || spec.tree?.notHeldBy !== undefined;
}

/** The lot whose turn it is: of the project that was served longest ago, and there the one whose head came first. */
function nextLot({ state: { parking }, turn }: Work): Lot | null {
  let next: Lot | null = null;
  for (const lot of parking.lots.values()) {
    if (!lot.hopeful || lot.queue.length === 0 || lot.notBefore > turn.now) continue;
    if (next === null || comesBefore(parking, lot, next)) next = lot;
  }
  return next;
}

function comesBefore({ servedAt }: Parking, one: Lot, other: Lot): boolean {
  const [mine, theirs] = [servedAt.get(one.project) ?? 0, servedAt.get(other.project) ?? 0];
  if (mine !== theirs) return mine < theirs;
  return (one.queue[0]?.asked.waits?.since ?? 0) < (other.queue[0]?.asked.waits?.since ?? 0);
}

/** Drops what its asker has given up: whoever still wants it would have asked again. */
export function dropGivenUp(work: Work): void {
  const { parking } = work.state;
  for (const lot of [...parking.lots.values()]) {
    const givenUp = lot.queue.filter(({ asked }) => asked.expiresAt <= work.turn.now);
    for (const { key } of givenUp) unpark(work, key);
    dropEmpty(work, lot);
  }
  if (parking.lots.size > 0) work.turn.wakeAt(GIVEN_UP_WAKE, work.turn.now + SWEEP_MS);
}
