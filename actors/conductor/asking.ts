// Asking the schedulers for hosts, again and again until they answer or the time of a request is over.

import type { Address } from '../actor.ts';
import { LOST_AFTER_MS } from '../asking-window.ts';
import { waitMs } from '../builds.ts';
import type { Selecting } from '../messages/conductor.ts';
import { SCHEDULERS } from '../routing.ts';
import { wakeId } from '../wakes.ts';
import { failRequest, REQUEST_WAKE } from './requests.ts';
import { nextRound } from './rounds.ts';
import { type ConductorState, deadlineOfRequest, type OpenRequest } from './state.ts';
import { givesWay, lineFor, waitedInVain, waitsOf } from './waiting.ts';
import type { Work } from './work.ts';

/** For requests that nobody was asked about yet. */
export const UNASKED_WAKE = 'unasked';

/** No scheduler has answered: ask again, unless the request has waited for too long. */
export function wakeRequest(work: Work, request: string): void {
  const { state, turn } = work;
  const open = state.requests.get(request);
  if (open === undefined) return;
  if (turn.now >= deadlineOfRequest(state, open)) {
    if (open.parked === undefined) return failRequest(work, request, { type: 'TIMED_OUT' });
    if (open.lastUntil !== undefined) return waitedInVain(work, request, open);
    // Why it had no host when it was heard of last may long be true no more.
    open.lastUntil = turn.now + work.patience.firstMs;
  }
  open.repeats += 1;
  if (givesWay(work, request, open)) turn.wakeAt(wakeId(REQUEST_WAKE, request), turn.now + work.patience.firstMs);
  else state.toAsk.add(request);
}

/** A scheduler has answered: it is there, and can be heard, whatever it was asked for. */
export function noteAnswer({ state, turn }: Work, request: string, from: Address): void {
  state.answered = { scheduler: from, at: turn.now };
  state.window.heard(request, turn.now);
}

/**
 * Whoever is next in the queue group; but as the group may go on dealing to one that is cut off, every other time that a
 * request is asked for again it goes to one that has answered meanwhile, if there is one.
 */
function schedulerFor({ answered }: ConductorState, { repeats, askedAt }: OpenRequest): Address {
  const isThere = answered !== null && answered.at > askedAt;
  return isThere && repeats % 2 === 1 ? answered.scheduler : SCHEDULERS;
}

/** Nothing was heard at a time that is still to come: the clock was set back, and what is heard next counts from now. */
function forgetFuture({ state, turn }: Work): void {
  if (state.answered !== null && state.answered.at > turn.now) state.answered = null;
  if (state.line !== null) state.line.heardAt = Math.min(state.line.heardAt, turn.now);
}

/**
 * Asks the schedulers what there is to ask: one question a request, however many instances it has; again at once, for the
 * first time as far as there is room in the window.
 */
export function askSchedulers(work: Work): void {
  const { state, turn } = work;
  forgetFuture(work);
  for (const request of state.toAsk) askFor(work, request);
  state.toAsk.clear();
  for (const request of state.following) {
    if (!state.window.hasRoom(turn.now)) return armUnasked(work);
    state.following.delete(request);
    // It may have gone there by itself meanwhile.
    if (state.requests.get(request)?.latest?.scheduler !== state.line?.scheduler) askFor(work, request);
  }
  for (const request of state.unasked) {
    if (!state.window.hasRoom(turn.now)) return armUnasked(work);
    state.unasked.delete(request);
    // The first of those that wait may have been asked for before its turn.
    if (state.requests.get(request)?.round === 0) askFor(work, request);
  }
}

function askFor(work: Work, request: string): void {
  const { state, turn } = work;
  const open = state.requests.get(request);
  if (open === undefined) return;
  open.round = nextRound(work, request, open);
  open.scheduler = null;
  const deadlineAt = deadlineOfRequest(state, open);
  turn.send(lineFor(state, open) ?? schedulerFor(state, open), {
    type: 'select',
    request,
    round: open.round,
    instances: [...open.waiting],
    spec: open.spec,
    ...(open.where === undefined ? {} : { where: open.where }),
    ...(open.project === undefined ? {} : { project: open.project }),
    alternates: open.alternates,
    ...(open.ordered === true ? { ordered: true } : {}),
    ...waitsOf(work, open, deadlineAt),
  });
  open.askedAt = turn.now;
  state.window.asked(request, open.waiting.size, turn.now);
  askAgainLater(work, request, open);
}

/** Those that are left unasked have no wakes of their own. */
function armUnasked({ state, turn }: Work): void {
  if (state.isUnaskedArmed) return;
  state.isUnaskedArmed = true;
  turn.wakeAt(UNASKED_WAKE, turn.now + LOST_AFTER_MS);
}

/** Ends those whose time is over while no scheduler answers. */
export function wakeUnasked(work: Work): void {
  const { state, turn } = work;
  state.isUnaskedArmed = false;
  for (const request of state.unasked) {
    const open = state.requests.get(request);
    if (open !== undefined && turn.now < deadlineOfRequest(state, open)) continue;
    state.unasked.delete(request);
    wakeRequest(work, request);
  }
}

/** A scheduler is at it: it is asked again only if nothing more is heard of it. */
export function selecting(work: Work, { request, round }: Selecting, from: Address): void {
  const open = work.state.requests.get(request);
  if (open?.round !== round) return;
  open.scheduler = from;
  askAgainLater(work, request, open);
}

function askAgainLater({ state, turn, patience }: Work, request: string, open: OpenRequest): void {
  const again = turn.now + waitMs(patience, open.repeats, request);
  turn.wakeAt(wakeId(REQUEST_WAKE, request), Math.min(deadlineOfRequest(state, open), again), SCHEDULERS);
}
