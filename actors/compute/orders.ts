// The orders of a cell: what is to be built on the host and what is to go, and what is remembered of what is over.

import type { Address } from '../actor.ts';
import { type AttemptId, attemptKey } from '../attempts.ts';
import type { ComputeBuild, ComputeDestroy } from '../messages/compute.ts';
import { wakeId } from '../wakes.ts';
import { type ComputeState, type Job, newJob, type Outcome, type Work } from './state.ts';

export const RETRY_WAKE = 'retry';

/** So many times a cell asks for an end, at its slowing pace, before the driver is asked for it again. */
const ASKS_FOR_DRIVER = 4;

/** Attempts that are over and whose outcome is still known, should the cell ask again. */
const MAX_REMEMBERED = 4_096;

export function build(work: Work, order: ComputeBuild, from: Address): void {
  const { settings, state, turn } = work;
  // An order for another life is not refused: the cell gives it again to this one, and a refusal could overtake it.
  if (order.incarnation !== state.incarnation) return;
  const { instance, attempt } = order;
  const key = attemptKey(order);
  const outcome = outcomeOf(work, key);
  if (outcome !== undefined) return answer(work, instance, attempt, outcome, from);
  const job = state.jobs.get(key);
  if (job?.state === 'destroying') return answer(work, instance, attempt, { state: 'destroyed' }, from);
  if (job?.state === 'built') return answer(work, instance, attempt, { state: 'built' }, from);
  turn.send(from, { type: 'accepted', host: settings.host, instance, attempt });
  if (job?.state === 'building') return sayTrouble(work, job, from);
  // Another instance may have had the name long ago, of which the driver has not come back yet.
  const builds = buildsOf(state, key) + 1;
  state.outcomes.delete(key);
  state.jobs.set(key, newJob(state, order, 'building', { builds, order }));
  turn.send(settings.toDriver, order);
}

export function answer(
  { settings: { host }, state: { incarnation }, turn }: Work,
  instance: string,
  attempt: number,
  outcome: Outcome,
  to: Address,
): void {
  if (outcome.state === 'built') return turn.send(to, { type: 'built', host, instance, attempt });
  const ofLife = { host, instance, attempt, incarnation };
  switch (outcome.state) {
    case 'failed':
      return turn.send(to, { type: 'build-failed', ...ofLife, reason: outcome.reason });
    case 'aborted':
      return turn.send(to, { type: 'build-aborted', ...ofLife, reason: outcome.reason });
    case 'destroyed':
      return turn.send(to, { type: 'build-refused', ...ofLife, reason: 'the attempt was destroyed before' });
  }
}

/** Said again to whoever asks: the cell does not record it, and another owner of it has not heard. */
export function sayTrouble(
  { settings: { host }, turn }: Work,
  { instance, attempt, state, trouble }: Job,
  to: Address,
): void {
  if (trouble === null) return;
  const task = state === 'building' ? 'build' : 'destroy';
  turn.send(to, { type: 'driver-trouble', host, instance, attempt, task, reason: trouble });
}

export function sayDestroyed(
  { settings: { host }, state: { incarnation }, turn }: Work,
  of: AttemptId,
  to: Address,
): void {
  turn.send(to, { type: 'destroyed', host, instance: of.instance, attempt: of.attempt, incarnation });
}

export function destroy(work: Work, { instance, attempt, isSeen }: ComputeDestroy, from: Address): void {
  const { settings, state, turn } = work;
  const { toDriver } = settings;
  const key = attemptKey({ instance, attempt });
  const outcome = outcomeOf(work, key);
  // Another life of this compute, held up for long, may have had it built since.
  if (outcome !== undefined && isSeen !== true) {
    remember(work, key, { state: 'destroyed' });
    return sayDestroyed(work, { instance, attempt }, from);
  }
  const job = state.jobs.get(key);
  if (job?.state === 'destroying') {
    // The driver may never come back from what it was asked; it may be asked for the same once more.
    if (job.asked !== null) job.asked = (job.asked + 1) % ASKS_FOR_DRIVER;
    if (job.asked === 0) turn.send(toDriver, { type: 'destroy', instance, attempt });
    return sayTrouble(work, job, from);
  }
  turn.cancelWake(wakeId(RETRY_WAKE, key));
  beginDestroying(work, { instance, attempt });
}

export function beginDestroying({ settings: { toDriver }, state, turn }: Work, { instance, attempt }: AttemptId): void {
  const key = attemptKey({ instance, attempt });
  const builds = buildsOf(state, key);
  state.outcomes.delete(key);
  state.jobs.set(key, newJob(state, { instance, attempt }, 'destroying', { builds }));
  turn.send(toDriver, { type: 'destroy', instance, attempt });
}

export function end(work: Work, key: string, outcome: Outcome): void {
  remember(work, key, outcome);
  work.state.jobs.delete(key);
}

/** How often the driver was told to build an attempt and has not come back yet, whether the attempt is over or not. */
export function buildsOf({ jobs, outcomes }: ComputeState, key: string): number {
  return jobs.get(key)?.builds ?? outcomes.get(key)?.builds ?? 0;
}

function remember(work: Work, key: string, outcome: Outcome): void {
  const { outcomes } = work.state;
  const builds = buildsOf(work.state, key);
  outcomes.delete(key);
  outcomes.set(key, { outcome, at: work.turn.steady, builds, lists: work.state.lists });
  forgetOld(work);
  if (outcomes.size <= MAX_REMEMBERED) return;
  const [oldest] = outcomes.keys();
  outcomes.delete(oldest as string);
}

/**
 * Forgets what no answer is given of any more: a process may have thousands of hosts. But not that of which the driver may
 * still say that it is built: nobody else knows that it is not to be.
 */
export function forgetOld({ settings, state: { outcomes }, turn }: Work): void {
  for (const [key, { at, builds }] of outcomes) {
    if (turn.steady - at < settings.rememberEndedMs) return;
    if (builds === 0) outcomes.delete(key);
  }
}

/** What came of an attempt; forgotten where that is so long ago that another instance may have taken the name. */
export function outcomeOf({ settings, state: { outcomes }, turn }: Work, key: string): Outcome | undefined {
  const ended = outcomes.get(key);
  const isKnown = ended !== undefined && turn.steady - ended.at < settings.rememberEndedMs;
  return isKnown ? ended.outcome : undefined;
}

/** The driver could not say what came of a step: it is asked for it again. */
export function retry({ settings: { toDriver }, state, turn }: Work, key: string): void {
  const job = state.jobs.get(key);
  if (job?.state === 'building' && job.order !== null) {
    job.builds += 1;
    turn.send(toDriver, job.order);
  }
  if (job?.state === 'destroying') {
    job.asked = 0;
    turn.send(toDriver, { type: 'destroy', instance: job.instance, attempt: job.attempt });
  }
}
