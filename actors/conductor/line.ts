// The line of those that wait: all wait at one scheduler, as each knows who came first, and whose turn it is, only among
// those that wait with it. It may die with what it knows of them, come up anew, or be cut off: then they are asked for
// there once more, in their order, or the first of them is asked for elsewhere and the others follow it.

import type { Address } from '../actor.ts';
import { wakeId } from '../wakes.ts';
import { ON_ITS_WAY_MS } from './known-schedulers.ts';
import { REQUEST_WAKE } from './requests.ts';
import { type ConductorState, endOfRequest, type Line, noLongerUnasked, type OpenRequest } from './state.ts';
import { commit, type Work } from './work.ts';

/**
 * How often the scheduler with the line is asked for one request before any other is. Of one that waits the first
 * question was answered.
 */
const ASKS_FOR_LINE = 2;
/** How often one lets the first in line go before it: that may be asked for elsewhere in vain, too. */
const GIVES_WAY = 2;
/**
 * How many of those that wait are asked for after a crash, until it is known whether somebody answers where they waited.
 */
const FIRST_AFTER_CRASH = 8;
/**
 * How many are asked for while the line is lost: the others go where one of these is answered. From the second question
 * in vain on there is one more with each, as the first may be dealt again and again to schedulers that stand still.
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
 * A scheduler has come up, perhaps in the place of the one where all wait: then it knows of none of them, and gives what
 * is free to whoever it hears of first. So all are asked for there at once, in the order in which they came; but for
 * those that it left unanswered while it answered others, which may have to leave it.
 */
export function askWholeLine(work: Work): void {
  const { state, turn, patience } = work;
  const { line, following, again, window } = state;
  const waiting = inOrder(state);
  // Where several come up one after the other, all are asked for as often within a moment.
  const isLongSince = ({ unanswered, unansweredSince }: OpenRequest) =>
    unanswered >= ASKS_FOR_LINE && turn.steady - unansweredSince >= patience.firstMs;
  // Of one that was answered since somebody is at it, however often it had to be asked for before.
  const isLeftAlone = (open: OpenRequest) =>
    open.unanswered > 0 && (open.repeats >= ASKS_FOR_LINE || isLongSince(open));
  const [first] = waiting;
  if (first !== undefined && isLeftAlone(first.open)) return seekLine(work, waiting);
  const heardAt = line?.heardAt ?? Number.NEGATIVE_INFINITY;
  for (const { request, open } of waiting) {
    const isLeftOut = isLeftAlone(open) && heardAt > open.unansweredSince;
    if (following.has(request) || isLeftOut) continue;
    // If it is not answered this time either, it is asked for elsewhere.
    open.repeats = ASKS_FOR_LINE - 1;
    window.giveUp(request);
    // It may have been due already, in another order: it goes behind those that came before it.
    again.delete(request);
    again.add(request);
  }
}

/**
 * Even the first has been left alone for long: the line is lost. It is asked for wherever somebody is, and the others
 * follow.
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
 * A scheduler has come up, for which a request would be asked for at once. Answers whether it is not, as it has its
 * place among those that follow the first.
 */
export function staysBehind(work: Work, request: string, open: OpenRequest): boolean {
  const stays = work.state.following.has(request);
  if (stays) wakeAtEnd(work, request, open);
  return stays;
}

/** A request was asked for in vain: if it waits while the line is lost, more of those that wait are asked for. */
export function seekFurther({ parked, line }: ConductorState, request: string): void {
  if (line?.isLost === true && parked.has(request)) line.soughtInVain += 1;
}

/**
 * It was asked for with all that wait, and what wakes it was on its way by then: to ask again would be to ask elsewhere.
 */
export function isAskedWithAll({ state, turn }: Work, request: string, { askedAt }: OpenRequest): boolean {
  const { cameUpAt } = state.schedulers;
  return state.parked.has(request) && askedAt >= cameUpAt && turn.steady - askedAt < ON_ITS_WAY_MS;
}

/**
 * Whether the scheduler where all wait was heard lately, and of the first of them, too: one that came up anew answers
 * those who are new at once, and knows of none of the others.
 */
export function hasLineAnswered({ state, turn }: Work): boolean {
  const heardAt = state.line?.heardAt ?? Number.NEGATIVE_INFINITY;
  const first = firstInLine(state);
  const isFirstAnswered = first === null || first.open.unanswered === 0;
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

/** A scheduler was heard that has the line, or has it from now on. */
export function standInLine(work: Work, scheduler: Address): void {
  const { state, turn } = work;
  if (state.line?.scheduler !== scheduler) commit(work, { type: 'line', scheduler, at: turn.now });
  if (state.line === null) return;
  state.line.heardAt = turn.steady;
  state.line.isLost = false;
  state.line.soughtInVain = 0;
}

/**
 * Whether a request is not to be asked for yet, as it is not known where somebody answers: until then only the first of
 * those that wait are asked for. Others that wait, or may wait, would be asked for in vain, or overtake them.
 */
export function isHeldBack(state: ConductorState, request: string): boolean {
  const { line, parked, following, requests } = state;
  if (line === null || isLineKnown(state)) return false;
  if (!parked.has(request)) return requests.get(request)?.waitUntil !== undefined;
  return parked.size - following.size >= (line.isLost ? Math.max(FIRST_OF_LOST, line.soughtInVain) : FIRST_AFTER_CRASH);
}

/** Whether it is known where those that wait are answered, or none does. */
export function isLineKnown({ line, parked }: ConductorState): boolean {
  return line?.heardAt !== null || parked.size === 0;
}

/** After a crash those that wait are asked for where they waited, in their order. */
export function recoverLine(work: Work): void {
  const { state } = work;
  if (state.line === null) return;
  for (const { request, open } of inOrder(state)) {
    noLongerUnasked(state, request);
    state.following.add(request);
    wakeAtEnd(work, request, open);
  }
}

/**
 * A scheduler that does not have the line has answered a request. It has the line from now on if that was lost, or if
 * the one that had it is silent and was asked for this request in vain.
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
 * A request may have been asked for in vain where others wait that came before it: then the first of them is asked for
 * elsewhere, and the others follow. Answers whether the request is to be asked for only after them.
 */
export function givesWay(work: Work, request: string, { repeats, inVain }: OpenRequest): boolean {
  const { state, turn, patience } = work;
  const { line } = state;
  const gaveWay = repeats - ASKS_FOR_LINE;
  if (inVain === 0 || gaveWay < 0 || gaveWay >= GIVES_WAY) return false;
  if (line === null || !isSilent(work, line)) return false;
  const first = firstInLine(state);
  if (first === null || first.request === request) return false;
  const { open } = first;
  // A scheduler has come up, perhaps the one where they wait, and the first was asked for there: it may be answered yet.
  const isJustAsked = open.askedAt >= state.schedulers.cameUpAt && turn.steady - open.askedAt < patience.firstMs;
  if (isJustAsked) return true;
  open.repeats = Math.max(ASKS_FOR_LINE, open.repeats + 1);
  open.inVain = Math.max(ASKS_FOR_LINE, open.inVain);
  state.toAsk.add(first.request);
  return true;
}

/** Of the requests that wait the one that came first: of ten thousand it is looked for only if it is not known. */
function firstInLine(state: ConductorState): Waiting | null {
  const { parked, requests, firstParked } = state;
  const request = firstParked !== null && parked.has(firstParked) ? firstParked : earliestOf(state);
  state.firstParked = request;
  return request === null ? null : { request, open: requests.get(request) as OpenRequest };
}

function earliestOf({ parked, requests }: ConductorState): string | null {
  let earliest: string | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const request of parked) {
    const since = requests.get(request)?.since ?? Number.POSITIVE_INFINITY;
    if (since >= least) continue;
    earliest = request;
    least = since;
  }
  return earliest;
}

/**
 * A scheduler has parked a request. If all others wait elsewhere, as it was asked for before that was known, it is
 * withdrawn here and asked for there. Answers whether it waits where it was parked.
 */
export function joinLine(work: Work, request: string, open: OpenRequest, from: Address): boolean {
  const { state, turn } = work;
  const { line } = state;
  if (line === null || line.scheduler === from || state.parked.size === 0) {
    standInLine(work, from);
    state.following.delete(request);
    return true;
  }
  // The scheduler with the line is there, and yet does not answer for this one: it waits here without the others.
  if (open.repeats >= ASKS_FOR_LINE) return true;
  turn.send(from, { type: 'withdraw', request });
  open.repeats = 0;
  state.toAsk.add(request);
  return false;
}
