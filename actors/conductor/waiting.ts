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
import { ON_ITS_WAY_MS } from './known-schedulers.ts';
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

/** How often the scheduler where others wait is asked, before any is. */
const ASKS_FOR_LINE = 2;

/** One that waits, or may wait, is asked for where it and others do, unless nobody has answered there. */
export function lineFor({ line, parked }: ConductorState, open: OpenRequest): Address | undefined {
  const { repeats, waitUntil, askedAt } = open;
  if (line === null || waitUntil === undefined || parked.size === 0) return undefined;
  // While it gave way the line may have moved to where somebody answers.
  const isBehindLine = repeats === ASKS_FOR_LINE + 1 && line.heardAt !== null && line.heardAt > askedAt;
  return repeats < ASKS_FOR_LINE || isBehindLine ? line.scheduler : undefined;
}

/**
 * A scheduler has come up, perhaps in the place of the one where all wait: then it knows of none of them, and gives what is
 * free to whoever it hears of first. So all are asked for there at once, in the order in which they came; but for those that it
 * has left unanswered before, which may have to leave it.
 */
export function askWholeLine({ state, turn, patience }: Work): void {
  const { following, again, window } = state;
  const waiting = inOrder(state);
  // Where several come up one after the other, all is asked for as often within a moment.
  const isAlone = ({ unanswered, unansweredSince }: OpenRequest) =>
    unanswered >= ASKS_FOR_LINE && turn.steady - unansweredSince >= patience.firstMs;
  const stays = (open: OpenRequest) => open.repeats < ASKS_FOR_LINE && !isAlone(open);
  // Where even the first has been left alone for long, nobody was there at all: it goes wherever somebody is, and the others behind it.
  const isLongAlone = waiting[0] !== undefined && !stays(waiting[0].open);
  for (const { request: one, open } of waiting) {
    if (following.has(one) || !(stays(open) || isLongAlone)) continue;
    open.repeats = isLongAlone ? ASKS_FOR_LINE : 1;
    window.giveUp(one);
    // Behind those who came before it, though others than these be left of an earlier time.
    again.delete(one);
    again.add(one);
  }
}

/** It was asked for with all that wait, and what wakes it was on its way by then: to ask again would be to ask elsewhere. */
export function isAskedWithAll({ state, turn }: Work, request: string, { askedAt }: OpenRequest): boolean {
  const { cameUpAt } = state.schedulers;
  return state.parked.has(request) && askedAt >= cameUpAt && turn.steady - askedAt < ON_ITS_WAY_MS;
}

/**
 * Whether the scheduler where all wait was heard lately, and of the first of them, too: one that came up anew answers those who
 * are new at once, and knows of none of the others.
 */
export function hasLineAnswered({ state, turn }: Work): boolean {
  const heardAt = state.line?.heardAt ?? Number.NEGATIVE_INFINITY;
  const first = firstInLine(state);
  const isFirstAnswered = first === null || state.requests.get(first)?.unanswered === 0;
  return isFirstAnswered && turn.steady - heardAt <= 2 * ON_ITS_WAY_MS;
}

function isSilent({ turn, patience }: Work, { heardAt }: NonNullable<ConductorState['line']>): boolean {
  return heardAt === null || turn.steady - heardAt >= patience.firstMs;
}

/** Those that wait, in the order in which they were accepted. */
function inOrder({ parked, requests }: ConductorState): { request: string; open: OpenRequest }[] {
  const waiting = [...parked].map((request) => ({ request, open: requests.get(request) as OpenRequest }));
  return waiting.sort((one, other) => (one.open.since ?? 0) - (other.open.since ?? 0));
}

/** Those that wait elsewhere go where the first of them waits now, in their order. */
function follow({ state }: Work, first: string): void {
  for (const { request, open } of inOrder(state)) {
    if (request === first || open.latest?.scheduler === state.line?.scheduler) continue;
    open.repeats = 0;
    open.inVain = 0;
    state.following.add(request);
  }
}

/** It is heard of the scheduler where all wait, from now on if they did not before. */
export function standInLine(work: Work, scheduler: Address): void {
  const { state, turn } = work;
  if (state.line?.scheduler !== scheduler) commit(work, { type: 'line', scheduler, at: turn.now });
  if (state.line !== null) state.line.heardAt = turn.steady;
}

/** How many of those that wait are asked for after a crash, until it is known where somebody answers. */
const FIRST_AFTER_CRASH = 8;

/**
 * Whether a request is to wait until it is known where somebody answers: after a crash the first of those that wait are asked
 * for, and others who may wait would be asked for in vain.
 */
export function isHeldBack({ line, parked, following, requests }: ConductorState, request: string): boolean {
  if (line?.heardAt !== null || parked.size === 0) return false;
  if (parked.has(request)) return parked.size - following.size >= FIRST_AFTER_CRASH;
  return requests.get(request)?.waitUntil !== undefined;
}

/** After a crash those that wait are asked for where they waited, in their order. */
export function recoverLine(work: Work): void {
  const { state, turn } = work;
  if (state.line === null) return;
  for (const { request, open } of inOrder(state)) {
    state.unasked.delete(request);
    state.following.add(request);
    turn.wakeAfter(wakeId(REQUEST_WAKE, request), endOfRequest(state, open, work) - turn.steady);
  }
}

/** One was asked for in vain where others wait, and another scheduler has answered: they wait there from now on. */
export function leaveSilentLine(work: Work, request: string, { inVain, repeats }: OpenRequest, from: Address): void {
  const { line } = work.state;
  const isLeft = inVain > 0 && repeats >= ASKS_FOR_LINE && line !== null && isSilent(work, line);
  if (!isLeft) return;
  standInLine(work, from);
  follow(work, request);
}

/**
 * One who may wait was asked for in vain where others wait, who came before it: the first of them is asked for elsewhere, and
 * the others follow. Answers whether it is to be asked for after them.
 */
export function givesWay(work: Work, request: string, { repeats, inVain }: OpenRequest): boolean {
  const { state } = work;
  if (inVain === 0) return false;
  const { line } = state;
  if (repeats !== ASKS_FOR_LINE || line === null || !isSilent(work, line)) return false;
  const first = firstInLine(state);
  const open = first === null ? undefined : state.requests.get(first);
  if (first === null || open === undefined || first === request) return false;
  if (open.repeats < ASKS_FOR_LINE) {
    open.repeats = ASKS_FOR_LINE;
    open.inVain = ASKS_FOR_LINE;
    state.toAsk.add(first);
  }
  return true;
}

/** Of the requests that wait, of which there may be ten thousand, the one that came first. */
function firstInLine(state: ConductorState): string | null {
  const { parked, requests } = state;
  if (state.firstParked !== null && parked.has(state.firstParked)) return state.firstParked;
  state.firstParked = null;
  let firstSince = Number.POSITIVE_INFINITY;
  for (const request of parked) {
    const since = requests.get(request)?.since ?? Number.POSITIVE_INFINITY;
    if (since >= firstSince) continue;
    state.firstParked = request;
    firstSince = since;
  }
  return state.firstParked;
}

/** Asked for before it was known where others wait, it goes there: the one who says that it waits forgets it. */
function joinLine(work: Work, request: string, open: OpenRequest, from: Address): boolean {
  const { state, turn } = work;
  const { line } = state;
  if (line === null || line.scheduler === from || state.parked.size === 0) {
    standInLine(work, from);
    return true;
  }
  // The scheduler of the line is there, and yet comes to no end with this one.
  if (open.repeats >= ASKS_FOR_LINE) return true;
  turn.send(from, { type: 'withdraw', request });
  open.repeats = 0;
  state.toAsk.add(request);
  return false;
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
  if (open.round !== round || open.waitUntil === undefined) return;
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
  const { latest, parked: told, since = 0, waitUntil = 0, ends } = open;
  const { at, reason: why } = latest ?? told ?? { at: since, reason: '' };
  const earlierMs = latest === undefined || ends?.waiting === undefined ? waitUntil - at : ends.waiting - latest.heard;
  // Where no scheduler has answered at last, hosts may stand otherwise by now.
  const asOf = earlierMs <= 0 ? 'at last' : `as of ${secondsOf(earlierMs)} s before the end`;
  const asking = askingOf(work.state, open, work.turn);
  const unanswered = asking === undefined ? '' : ` (${askingWords(asking)})`;
  const waited = `waited ${secondsOf(waitUntil - since)} s in vain; ${asOf}${unanswered}`;
  const reason = clipped(`${waited}: ${why}`, MAX_REASON_LENGTH);
  failRequest(work, request, { type: 'NO_VALID_HOST', reason }, latest?.decision);
}

/** A request that waits is not wanted any more: the scheduler need not try it. */
export function stopWaiting({ turn }: Work, request: string, { latest }: OpenRequest): void {
  if (latest !== undefined) turn.send(latest.scheduler, { type: 'withdraw', request });
}
