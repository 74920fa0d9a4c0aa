// The line of those that wait: all wait at one scheduler, as each knows who came first, and whose turn it is, only among those
// that wait with it. It may die with what it knows of them, come up anew, or be cut off: then they are asked for there once
// more, in their order, or the first of them is asked for elsewhere and the others follow it.

import type { Address } from '../actor.ts';
import { wakeId } from '../wakes.ts';
import { ON_ITS_WAY_MS } from './known-schedulers.ts';
import { REQUEST_WAKE } from './requests.ts';
import { type ConductorState, endOfRequest, type Line, type OpenRequest } from './state.ts';
import { commit, type Work } from './work.ts';

/** How often the scheduler with the line is asked, before any is. */
const ASKS_FOR_LINE = 2;
/** How often one lets the first in line go before it: asked for elsewhere, that may be in vain once more. */
const GIVES_WAY = 2;
/** How many of those that wait are asked for after a crash, until it is known whether somebody answers there. */
const FIRST_AFTER_CRASH = 8;
/**
 * And while nobody knows where somebody is: the others go where the first of them is answered. With each question in vain there
 * is one more: the first may be dealt to those that stand still again and again, or be answered by none.
 */
const FIRST_OF_LOST = 1;

interface Waiting {
  readonly request: string;
  readonly open: OpenRequest;
}

/** One that waits, or may wait, is asked for where it and others do, unless nobody has answered there. */
export function lineFor({ line, parked }: ConductorState, open: OpenRequest): Address | undefined {
  const { repeats, waitUntil, askedAt } = open;
  if (line === null || line.isLost || waitUntil === undefined || parked.size === 0) return undefined;
  // While it gave way the line may have moved to where somebody answers.
  const mayHaveGivenWay = repeats > ASKS_FOR_LINE && repeats <= ASKS_FOR_LINE + GIVES_WAY;
  const isBehindLine = mayHaveGivenWay && line.heardAt !== null && line.heardAt > askedAt;
  return repeats < ASKS_FOR_LINE || isBehindLine ? line.scheduler : undefined;
}

/**
 * A scheduler has come up, perhaps in the place of the one where all wait: then it knows of none of them, and gives what is
 * free to whoever it hears of first. So all are asked for there at once, in the order in which they came; but for those that it
 * left unanswered while it answered others, which may have to leave it.
 */
export function askWholeLine(work: Work): void {
  const { state, turn, patience } = work;
  const { line, following, again, window } = state;
  const waiting = inOrder(state);
  // Where several come up one after the other, all is asked for as often within a moment.
  const isLongSince = ({ unanswered, unansweredSince }: OpenRequest) =>
    unanswered >= ASKS_FOR_LINE && turn.steady - unansweredSince >= patience.firstMs;
  // Once it is answered, somebody is at it, however often it had to be asked for before.
  const isAlone = (open: OpenRequest) => open.unanswered > 0 && (open.repeats >= ASKS_FOR_LINE || isLongSince(open));
  if (waiting[0] !== undefined && isAlone(waiting[0].open)) return seekLine(work, waiting);
  const heardAt = line?.heardAt ?? Number.NEGATIVE_INFINITY;
  for (const { request: one, open } of waiting) {
    const isLeftOut = isAlone(open) && heardAt > open.unansweredSince;
    if (following.has(one) || isLeftOut) continue;
    open.repeats = 1;
    window.giveUp(one);
    // Behind those who came before it, though others than these be left of an earlier time.
    again.delete(one);
    again.add(one);
  }
}

/**
 * Even the first has been left alone for long: nobody was there at all. It is asked for wherever somebody is, and the others
 * follow it there.
 */
function seekLine(work: Work, waiting: readonly Waiting[]): void {
  const { line, window, again, following } = work.state;
  if (line === null) return;
  line.heardAt = null;
  line.isLost = true;
  for (const [place, { request, open }] of waiting.entries()) {
    open.repeats = 0;
    open.inVain = 0;
    window.giveUp(request);
    again.delete(request);
    following.delete(request);
    (place < FIRST_OF_LOST ? again : following).add(request);
    wakeAtEnd(work, request, open);
  }
}

/** Nothing but its end wakes it until it is asked for. */
function wakeAtEnd(work: Work, request: string, open: OpenRequest): void {
  const { state, turn } = work;
  turn.wakeAfter(wakeId(REQUEST_WAKE, request), endOfRequest(state, open, work) - turn.steady);
}

/**
 * A scheduler has come up; but one that is to be asked for with the others, in their order, is not asked for before. Answers
 * whether it is.
 */
export function staysBehind(work: Work, request: string, open: OpenRequest): boolean {
  const stays = work.state.following.has(request);
  if (stays) wakeAtEnd(work, request, open);
  return stays;
}

/** While nobody knows where somebody is, one of those that wait was asked for in vain. */
export function seekFurther({ parked, line }: ConductorState, request: string): void {
  if (line?.isLost === true && parked.has(request)) line.soughtInVain += 1;
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

function isSilent({ turn, patience }: Work, { heardAt }: Line): boolean {
  return heardAt === null || turn.steady - heardAt >= patience.firstMs;
}

/** Those that wait, in the order in which they were accepted. */
function inOrder({ parked, requests }: ConductorState): Waiting[] {
  const waiting = [...parked].map((request) => ({ request, open: requests.get(request) as OpenRequest }));
  return waiting.sort((one, other) => (one.open.since ?? 0) - (other.open.since ?? 0));
}

/** Those that wait elsewhere go where one of them is answered now, in their order. */
function follow(work: Work, answered: string): void {
  const { state } = work;
  for (const { request, open } of inOrder(state)) {
    if (request === answered || open.latest?.scheduler === state.line?.scheduler) continue;
    open.repeats = 0;
    open.inVain = 0;
    state.again.delete(request);
    state.following.add(request);
    wakeAtEnd(work, request, open);
  }
}

/** It is heard of the scheduler where all wait, from now on if they did not before. */
export function standInLine(work: Work, scheduler: Address): void {
  const { state, turn } = work;
  if (state.line?.scheduler !== scheduler) commit(work, { type: 'line', scheduler, at: turn.now });
  if (state.line === null) return;
  state.line.heardAt = turn.steady;
  state.line.isLost = false;
  state.line.soughtInVain = 0;
}

/**
 * Whether a request is to wait until it is known where somebody answers: until then the first of those that wait are asked
 * for, and others who may wait would be asked for in vain, or overtake them.
 */
export function isHeldBack({ line, parked, following, requests }: ConductorState, request: string): boolean {
  if (line?.heardAt !== null || parked.size === 0) return false;
  if (!parked.has(request)) return requests.get(request)?.waitUntil !== undefined;
  return parked.size - following.size >= (line.isLost ? Math.max(FIRST_OF_LOST, line.soughtInVain) : FIRST_AFTER_CRASH);
}

/** After a crash those that wait are asked for where they waited, in their order. */
export function recoverLine(work: Work): void {
  const { state } = work;
  if (state.line === null) return;
  for (const { request, open } of inOrder(state)) {
    state.unasked.delete(request);
    state.following.add(request);
    wakeAtEnd(work, request, open);
  }
}

/**
 * A scheduler has answered that is not the one with the line. If nobody knows where that is, or this one was asked for there in
 * vain and it is silent, they wait there from now on.
 */
export function leaveSilentLine(work: Work, request: string, { inVain, repeats }: OpenRequest, from: Address): void {
  const { line } = work.state;
  if (line === null) return;
  const isSilentForIt = inVain > 0 && repeats >= ASKS_FOR_LINE && isSilent(work, line);
  if (!isSilentForIt && !line.isLost) return;
  standInLine(work, from);
  follow(work, request);
}

/**
 * One who may wait was asked for in vain where others wait, who came before it: the first of them is asked for elsewhere, and
 * the others follow. Answers whether it is to be asked for after them.
 */
export function givesWay(work: Work, request: string, { repeats, inVain }: OpenRequest): boolean {
  const { state, turn, patience } = work;
  const { line } = state;
  const gaveWay = repeats - ASKS_FOR_LINE;
  if (inVain === 0 || gaveWay < 0 || gaveWay >= GIVES_WAY) return false;
  if (line === null || !isSilent(work, line)) return false;
  const first = firstInLine(state);
  const open = first === null ? undefined : state.requests.get(first);
  if (first === null || open === undefined || first === request) return false;
  // Somebody has come up since, perhaps where they wait, and was asked.
  const isJustAsked = open.askedAt >= state.schedulers.cameUpAt && turn.steady - open.askedAt < patience.firstMs;
  if (isJustAsked) return true;
  open.repeats = Math.max(ASKS_FOR_LINE, open.repeats + 1);
  open.inVain = Math.max(ASKS_FOR_LINE, open.inVain);
  state.toAsk.add(first);
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

/**
 * A scheduler has parked it. Asked for before it was known where others wait, it goes there, and the one who says that it waits
 * forgets it. Answers whether it waits where it was parked.
 */
export function joinLine(work: Work, request: string, open: OpenRequest, from: Address): boolean {
  const { state, turn } = work;
  const { line } = state;
  if (line === null || line.scheduler === from || state.parked.size === 0) {
    standInLine(work, from);
    state.following.delete(request);
    return true;
  }
  // The scheduler of the line is there, and yet comes to no end with this one.
  if (open.repeats >= ASKS_FOR_LINE) return true;
  turn.send(from, { type: 'withdraw', request });
  open.repeats = 0;
  state.toAsk.add(request);
  return false;
}
