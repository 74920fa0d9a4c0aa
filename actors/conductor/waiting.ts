// Requests that may wait for a host: parked at a scheduler, with their reason and their deadline recorded here. The
// scheduler may die with what it knows of them, so each is asked for again now and then, where it waits.

import type { Address } from '../actor.ts';
import { type HostedBuild, waitMs } from '../builds.ts';
import { clipped, MAX_REASON_LENGTH } from '../messages/common.ts';
import type { ConductorMessage } from '../messages/conductor.ts';
import type { Select } from '../messages/scheduler.ts';
import { SCHEDULERS } from '../routing.ts';
import { timeTold } from '../times.ts';
import { wakeId } from '../wakes.ts';
import { joinLine } from './line.ts';
import { failRequest, REQUEST_WAKE } from './requests.ts';
import { type ConductorState, endOfRequest, entryOf, type OpenRequest } from './state.ts';
import { askingOf, askingWords, secondsOf } from './words.ts';
import { commit, type Work } from './work.ts';

/** A scheduler holds a request for so many times the pace at which it is asked for again. */
const HELD_FOR = 4;
/** For each request that waits the pace is slower by so much, ms: many that wait are no burden. */
const SLOWER_MS = 5;

type Parked = Extract<ConductorMessage, { type: 'parked' }>;
type NoValidHost = Extract<ConductorMessage, { type: 'no-valid-host' }>;

/** How often a request that waits is asked for again, ms. */
function paceMs({ state, parkedAskMs }: Work): number {
  return Math.max(parkedAskMs, state.parked.size * SLOWER_MS);
}

/** What a select says of waiting, and until when it is valid. */
export function waitsOf(
  work: Work,
  { waitUntil, since, lastUntil }: OpenRequest,
  endsAt: number,
): Pick<Select, 'expiresAt' | 'waits'> {
  const deadlineAt = Math.round(work.turn.now + endsAt - work.turn.steady);
  if (waitUntil === undefined || since === undefined) return { expiresAt: deadlineAt };
  const heldUntil = work.turn.now + HELD_FOR * paceMs(work);
  const last = lastUntil === undefined ? {} : { last: true as const };
  return { expiresAt: Math.min(deadlineAt, heldUntil), waits: { since, ...last } };
}

/**
 * How many wait that a request must not be too many for. One that had room, and only stood in line to have it, was let in
 * however many waited, and counts once others have taken that room. Whoever is new comes after all of those.
 */
function waitingBefore({ parked, withRoom }: ConductorState, request: string, open: OpenRequest): number {
  if (open.parked === undefined) return parked.size;
  return withRoom.has(request) ? parked.size - withRoom.size : 0;
}

/** No host has room: the request waits, unless it has waited for long enough or too many do. */
export function parked(work: Work, message: Parked, from: Address): void {
  const { request, round, reason, decision, brief, hasRoom } = message;
  const { state, turn } = work;
  const open = state.requests.get(request);
  // Placed, failed or deleted meanwhile, it has its turn in vain.
  if (open === undefined) return turn.send(from, { type: 'withdraw', request });
  if (open.round !== round) {
    // Asked for elsewhere since, it must not have its turn in two lines, nor by what an operator said before. In this life
    // it may not have been asked for yet.
    const isWhereItWaits = open.round === 0 && !open.isRenewed && state.line?.scheduler === from;
    if (!isWhereItWaits) turn.send(from, { type: 'withdraw', request, round });
    return;
  }
  if (open.waitUntil === undefined) return;
  if (!joinLine(work, request, open, from)) return;
  // It has waited elsewhere before: there it is not wanted any more.
  if (open.latest !== undefined && open.latest.scheduler !== from) stopWaiting(work, request, open);
  const isBrief = brief === true;
  const saidMore = isBrief && open.latest?.isBrief === false ? open.latest : undefined;
  open.latest = { ...(saidMore ?? { at: turn.now, heard: turn.steady, reason, decision, isBrief }), scheduler: from };
  open.repeats = 0;
  const before = waitingBefore(state, request, open);
  if (hasRoom !== true && before >= work.maxParked) {
    stopWaiting(work, request, open);
    const full = clipped(`it cannot wait, as ${before} requests do; ${reason}`, MAX_REASON_LENGTH);
    return failRequest(work, request, { type: 'NO_VALID_HOST', reason: full }, decision);
  }
  // It is heard of, and asked for again after a while.
  state.again.delete(request);
  if (hasRoom !== true) state.withRoom.delete(request);
  else if (open.parked === undefined) state.withRoom.add(request);
  if (open.parked === undefined) {
    commit(work, { type: 'parked', request, at: turn.now, reason, decision });
    open.parkedAt = turn.steady;
    tellWaiting(work, request, open);
  }
  const leftMs = endOfRequest(state, open, work) - turn.steady;
  if (leftMs <= 0 || open.lastUntil !== undefined) {
    turn.send(from, { type: 'withdraw', request });
    return waitedInVain(work, request, open);
  }
  const pace = paceMs(work);
  const againMs = waitMs({ firstMs: pace, mostMs: pace }, 0, request);
  // A scheduler that comes up may come in the place of the one that knew of it.
  turn.wakeAfter(wakeId(REQUEST_WAKE, request), Math.min(leftMs, againMs), SCHEDULERS);
}

/** For people: each instance of the request waits. */
function tellWaiting(
  { state, turn, scope }: Work,
  request: string,
  { waiting, waitUntil = 0, ends, parked: told }: OpenRequest,
): void {
  const until = timeTold(waitUntil, ends?.waiting ?? null, turn);
  for (const instance of waiting) {
    const { facts } = entryOf(state, instance).build as HostedBuild;
    const { project, traceparent } = facts;
    const body = { at: turn.now, instance, request, project, until, reason: told?.reason };
    turn.publish({ topic: [...scope, 'waiting', instance], type: 'waiting', body, cause: 'parked', traceparent });
  }
}

/** No host has room, and the request does not wait; or it has waited, and its time is over. */
export function noValidHost(work: Work, { request, round, reason, decision }: NoValidHost, from: Address): void {
  const open = work.state.requests.get(request);
  if (open?.round !== round) return;
  if (open.lastUntil === undefined) return failRequest(work, request, { type: 'NO_VALID_HOST', reason }, decision);
  if (open.latest !== undefined && open.latest.scheduler !== from) stopWaiting(work, request, open);
  open.latest = { at: work.turn.now, heard: work.turn.steady, reason, decision, isBrief: false, scheduler: from };
  waitedInVain(work, request, open);
}

/** The time for which it may wait is over. */
export function waitedInVain(work: Work, request: string, open: OpenRequest): void {
  const { latest, parked: told, since = 0, waitUntil = 0, mayWaitMs = waitUntil - since, ends } = open;
  const { at, reason: why } = latest ?? told ?? { at: since, reason: '' };
  const earlierMs = latest === undefined || ends?.waiting === undefined ? waitUntil - at : ends.waiting - latest.heard;
  // Where no scheduler has answered at last, hosts may stand otherwise by now.
  const asOf = earlierMs <= 0 ? 'at last' : `as of ${secondsOf(earlierMs)} s before the end`;
  const asking = askingOf(work.state, open, work.turn);
  const unanswered = asking === undefined ? '' : ` (${askingWords(asking)})`;
  const waited = `waited ${secondsOf(mayWaitMs)} s in vain; ${asOf}${unanswered}`;
  const reason = clipped(`${waited}: ${why}`, MAX_REASON_LENGTH);
  failRequest(work, request, { type: 'NO_VALID_HOST', reason }, latest?.decision);
}

/** A request that waits is not wanted any more: the scheduler need not try it. */
export function stopWaiting({ turn }: Work, request: string, { latest }: OpenRequest): void {
  if (latest !== undefined) turn.send(latest.scheduler, { type: 'withdraw', request });
}
