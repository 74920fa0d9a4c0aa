// Asking the schedulers for hosts, again and again until they answer or the time of a request is over.

import type { Address } from '../actor.ts';
import { waitMs } from '../builds.ts';
import type { Selecting } from '../messages/conductor.ts';
import { SCHEDULERS } from '../routing.ts';
import { failRequest, REQUEST_WAKE } from './requests.ts';
import { nextRound } from './rounds.ts';
import { type ConductorState, deadlineOfRequest, type OpenRequest } from './state.ts';
import { lineFor, waitedInVain, waitsOf } from './waiting.ts';
import type { Work } from './work.ts';

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
  state.toAsk.add(request);
}

/** A scheduler has answered, whatever it was asked for: it is there, and can be heard. */
export function noteAnswer({ state, turn }: Work, from: Address): void {
  state.answered = { scheduler: from, at: turn.now };
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

/** Asks the schedulers what this turn found to ask: one question a request, however many instances it has. */
export function askSchedulers(work: Work): void {
  const { state, turn } = work;
  forgetFuture(work);
  for (const request of state.toAsk) {
    const open = state.requests.get(request);
    if (open === undefined) continue;
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
    askAgainLater(work, request, open);
  }
  state.toAsk.clear();
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
  turn.wakeAt(REQUEST_WAKE(request), Math.min(deadlineOfRequest(state, open), again), SCHEDULERS);
}
