// Asking the schedulers for hosts, again and again until they answer or the time of a request is over.

import type { Address, SteadyTime } from '../actor.ts';
import { LOST_AFTER_MS } from '../asking-window.ts';
import { waitMs } from '../builds.ts';
import type { Awaiting, Selecting, Taking } from '../messages/conductor.ts';
import { SCHEDULERS } from '../routing.ts';
import { wakeId } from '../wakes.ts';
import { BY_NAME_MOST_MS, ON_ITS_WAY_MS } from './known-schedulers.ts';
import {
  askWholeLine,
  givesWay,
  hasLineAnswered,
  isAskedWithAll,
  isHeldBack,
  isLineKnown,
  leaveSilentLine,
  lineFor,
  seekFurther,
  standInLine,
  staysBehind,
} from './line.ts';
import { failRequest, REQUEST_WAKE } from './requests.ts';
import { nextRound } from './rounds.ts';
import { type ConductorState, endOfRequest, noLongerUnasked, type OpenRequest } from './state.ts';
import { waitedInVain, waitsOf } from './waiting.ts';
import { timedOutBecause } from './words.ts';
import type { Work } from './work.ts';

/** While schedulers are asked by name. */
export const DOUBT_WAKE = 'doubt';
/** After what told that a scheduler has come up was passed over. */
export const LINE_WAKE = 'line';
/** For requests that nobody was asked about yet. */
export const UNASKED_WAKE = 'unasked';

/**
 * No scheduler has answered: ask again, unless the request has waited for too long.
 * @param isEarly A scheduler came up before it was time: what an earlier one was asked may be lost.
 */
export function wakeRequest(work: Work, request: string, isEarly = false): void {
  const { state, turn } = work;
  const open = state.requests.get(request);
  if (open === undefined) return;
  if (turn.steady >= endOfRequest(state, open, work)) {
    if (open.parked === undefined) {
      return failRequest(work, request, { type: 'TIMED_OUT', reason: timedOutBecause(work, open) });
    }
    if (open.lastUntil !== undefined) return waitedInVain(work, request, open);
    // Why it had no host when it was heard of last may long be true no more; and whoever is at it drops it now.
    open.lastUntil = turn.steady + work.patience.firstMs;
    state.window.giveUp(request);
  } else if (!isEarly && state.window.isUnderWay(request, turn.steady)) {
    return askAgainLater(work, request, open);
  }
  if (isEarly) {
    if (isAskedWithAll(work, request, open)) {
      turn.wakeAfter(LINE_WAKE, ON_ITS_WAY_MS);
      return askAgainLater(work, request, open);
    }
    state.window.giveUp(request);
    noteComingUp(work, open.askedAt);
    if (staysBehind(work, request, open)) return;
  } else if (open.unanswered > 0) {
    state.schedulers.askedInVain(request, open.askedAt, turn.steady);
    seekFurther(state, request);
    awaitSchedulers(work);
  }
  // It may have been left behind the window since it was to be asked for again.
  if (!state.again.has(request)) open.repeats += 1;
  const wake = wakeId(REQUEST_WAKE, request);
  const leftMs = endOfRequest(state, open, work) - turn.steady;
  if (givesWay(work, request, open)) return turn.wakeAfter(wake, Math.min(leftMs, work.patience.firstMs));
  state.again.add(request);
  // However long it is left there.
  turn.wakeAfter(wake, leftMs);
}

/** @param askedAt When the one that hears of it was asked for last. */
function noteComingUp(work: Work, askedAt?: SteadyTime): void {
  const { state, turn } = work;
  if (state.schedulers.cameUp(turn.steady, askedAt)) askWholeLine(work);
}

/** What was passed over may have told of yet another that came up: all that wait are asked for again where nobody has answered. */
export function wakeLine(work: Work): void {
  if (!hasLineAnswered(work)) noteComingUp(work, work.state.schedulers.cameUpAt);
}

/** While schedulers are asked by name it must be known when one comes up, though nothing be asked for. */
function awaitSchedulers({ turn }: Work): void {
  turn.wakeAfter(DOUBT_WAKE, BY_NAME_MOST_MS, SCHEDULERS);
}

/** A scheduler has come up while they are asked by name; or they are no more. */
export function wakeInDoubt(work: Work, isEarly = false): void {
  if (!isEarly) return;
  noteComingUp(work);
  awaitSchedulers(work);
}

/** Something was heard of a scheduler: it is there, and can be heard, whatever it was asked for. */
export function noteAnswer(
  work: Work,
  { type, request, round }: Pick<Selecting, 'request' | 'round'> & { readonly type: string },
  from: Address,
): void {
  const { state, turn } = work;
  state.schedulers.heard(from, turn.steady);
  const open = state.requests.get(request);
  const isOfLine = state.line?.scheduler === from;
  if (isOfLine) standInLine(work, from);
  if (open === undefined) return;
  open.unanswered = 0;
  if (open.round !== round) return;
  // Who takes a round has asked placement nothing in it yet: that a shard does not answer is as true as before.
  if (type !== 'taking') open.awaits = null;
  if (isOfLine) open.inVain = 0;
  else leaveSilentLine(work, request, open, from);
}

/** A scheduler has come to an end with what it was asked. */
export function noteEnd({ state, turn }: Work, { request, round }: Pick<Selecting, 'request' | 'round'>): void {
  state.window.heard(request, turn.steady, round);
  if (state.requests.get(request)?.round === round) state.schedulers.settled(request);
}

/**
 * Whom to ask by name; undefined: whoever is next in the queue group. As the group may go on dealing to one that is cut off,
 * every other time that a request is asked for again it goes to one that has answered meanwhile, if there is one.
 */
function byName(
  { state, turn }: Work,
  request: string,
  { repeats, askedAt, inVain }: OpenRequest,
): Address | undefined {
  if (repeats === 0) return state.schedulers.insteadOfGroup(turn.steady);
  if (repeats % 2 === 0) return undefined;
  const askedBefore = inVain > 0 ? state.line?.scheduler : undefined;
  return state.schedulers.another(request, askedAt, turn.steady, askedBefore);
}

/**
 * Asks the schedulers what there is to ask: one question a request, however many instances it has; as far as there is room
 * in the window, but for what follows from an answer, which is asked at once.
 */
export function askSchedulers(work: Work): void {
  const { state, turn } = work;
  for (const request of state.toAsk) askFor(work, request);
  state.toAsk.clear();
  // After an outage very many are asked for again, and others go on coming: neither wait until all of the others are done.
  for (const request of inTurn(state.again, goingFirst(state))) {
    if (!state.window.hasRoom(turn.steady)) return armUnasked(work);
    const open = state.requests.get(request);
    // Since its time came, whoever had stood still may have gone on.
    const goesOn = open !== undefined && state.again.has(request) && state.window.isUnderWay(request, turn.steady);
    if (goesOn) askAgainLater(work, request, open);
    else askFor(work, request);
  }
  // Those that are held back.
  if (state.unasked.size > 0) armUnasked(work);
}

/** Those who wait where the first of them does, before any who came after them. */
function* goingFirst(state: ConductorState): Generator<string> {
  const { following, unasked, unaskedAhead } = state;
  for (const request of following) {
    if (isHeldBack(state, request)) break;
    yield request;
  }
  // Thousands may be held back as long as it takes.
  for (const request of isLineKnown(state) ? unasked : unaskedAhead) if (!isHeldBack(state, request)) yield request;
}

function* inTurn(some: Iterable<string>, others: Iterable<string>): Generator<string> {
  const lines = [some[Symbol.iterator](), others[Symbol.iterator]()];
  try {
    for (let line = lines.shift(); line !== undefined; line = lines.shift()) {
      const { done, value } = line.next();
      if (done) continue;
      lines.push(line);
      yield value;
    }
  } finally {
    for (const line of lines) line.return?.();
  }
}

function askFor(work: Work, request: string): void {
  const { state, turn } = work;
  state.again.delete(request);
  state.following.delete(request);
  noLongerUnasked(state, request);
  const open = state.requests.get(request);
  if (open === undefined) return;
  if (open.awaits?.round !== open.round) open.awaits = null;
  open.round = nextRound(work, request, open);
  open.scheduler = null;
  const endsAt = endOfRequest(state, open, work);
  const line = lineFor(state, open);
  if (line !== undefined) open.inVain += 1;
  const named = line ?? byName(work, request, open);
  state.schedulers.asked(request, named);
  turn.send(named ?? SCHEDULERS, {
    type: 'select',
    request,
    round: open.round,
    instances: [...open.waiting],
    spec: open.spec,
    ...(open.where === undefined ? {} : { where: open.where }),
    ...(open.project === undefined ? {} : { project: open.project }),
    alternates: open.alternates,
    ...(open.ordered === true ? { ordered: true } : {}),
    ...waitsOf(work, open, endsAt),
  });
  open.askedAt = turn.steady;
  if (open.unanswered === 0) open.unansweredSince = turn.steady;
  open.unanswered += 1;
  state.window.asked(request, open.waiting.size, turn.steady, open.round);
  askAgainLater(work, request, open);
}

/** Room may come only as questions are lost; and those that were never asked for have no wakes of their own. */
function armUnasked({ state, turn }: Work): void {
  if (state.isUnaskedArmed) return;
  state.isUnaskedArmed = true;
  turn.wakeAfter(UNASKED_WAKE, LOST_AFTER_MS);
}

/** Ends those whose time is over while no scheduler answers. */
export function wakeUnasked(work: Work): void {
  const { state, turn } = work;
  state.isUnaskedArmed = false;
  for (const request of state.unasked) {
    const open = state.requests.get(request);
    if (open !== undefined && turn.steady < endOfRequest(state, open, work)) continue;
    noLongerUnasked(state, request);
    wakeRequest(work, request);
  }
}

/** A scheduler is at it: it is asked again only if nothing more is heard of it. */
export function selecting(work: Work, { request, round }: Pick<Selecting, 'request' | 'round'>, from: Address): void {
  const open = work.state.requests.get(request);
  if (open?.round !== round) return;
  open.scheduler = from;
  askAgainLater(work, request, open);
}

/** A scheduler waits for placement: it may be that alone which is cut off from it, so it is asked for again elsewhere as ever. */
export function awaiting({ state }: Work, { request, round, shards }: Awaiting, from: Address): void {
  const open = state.requests.get(request);
  if (open?.round === round) open.awaits = shards.length === 0 ? null : { scheduler: from, round, shards };
}

/** A scheduler takes a round: the first that asks has it, however often it asks. */
export function taking(work: Work, { request, round, taker }: Taking, from: Address): void {
  const open = work.state.requests.get(request);
  if (open?.round !== round) return;
  open.taker ??= taker;
  if (open.taker !== taker) return;
  open.scheduler = from;
  askAgainLater(work, request, open);
  work.turn.send(from, { type: 'take', request, round, taker });
}

function askAgainLater(work: Work, request: string, open: OpenRequest): void {
  const { state, turn, patience } = work;
  const leftMs = endOfRequest(state, open, work) - turn.steady;
  state.again.delete(request);
  turn.wakeAfter(wakeId(REQUEST_WAKE, request), Math.min(leftMs, waitMs(patience, open.repeats, request)), SCHEDULERS);
}
