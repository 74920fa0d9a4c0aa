// What was built on the host and is not there any more. Its driver is asked by and by what it has, and when the cell
// expects what this life of the compute knows nothing of.

import { type AttemptId, attemptKey } from '../attempts.ts';
import { MAX_MISSING_TOLD } from '../messages/common.ts';
import { beginDestroying, outcomeOf } from './orders.ts';
import { type ComputeState, firstList, type Job, newJob, type Work } from './state.ts';

const NONE: readonly AttemptId[] = [];

export function askWhatRuns({ settings: { own, toDriver }, state, turn }: Work): void {
  state.lists += 1;
  turn.send(toDriver, { type: 'list', ask: state.lists, to: own });
}

/** What was there before the driver was asked, and is not in its answer, is gone; it may be back in a later one. */
export function whatRuns(work: Work, ask: number, running: readonly AttemptId[]): void {
  const { state } = work;
  // What an earlier life of this compute asked is answered to this one, which takes over its driver where it failed.
  if (ask < state.listed || ask > state.lists) return;
  state.listed = ask;
  state.isAnyMissing = false;
  const there = new Set(running.map(attemptKey));
  for (const [key, job] of state.jobs) {
    if (!isToBeThere(job) || there.has(key)) job.isMissing = false;
    else if (job.lists < ask) job.isMissing = true;
    state.isAnyMissing ||= job.isMissing === true;
  }
  for (const one of running) destroyIfBack(work, ask, one);
}

/** It was destroyed before the driver was asked: another life, held up with its order, has had it built since. */
function destroyIfBack(work: Work, ask: number, one: AttemptId): void {
  const key = attemptKey(one);
  const { lists = ask } = work.state.outcomes.get(key) ?? {};
  if (lists >= ask || outcomeOf(work, key)?.state !== 'destroyed') return;
  beginDestroying(work, one);
}

export const hasLooked = ({ incarnation, listed }: ComputeState): boolean => listed > firstList(incarnation);

/** Of very many, others each time: in the end all are told, also where some are not the cell's. */
export function missingNow(state: ComputeState): readonly AttemptId[] {
  const missing = allMissing(state);
  const from = missing.length > MAX_MISSING_TOLD ? state.missingTold % missing.length : 0;
  state.missingTold = from + MAX_MISSING_TOLD;
  const some = [...missing.slice(from), ...missing.slice(0, from)].slice(0, MAX_MISSING_TOLD);
  return some.map(({ instance, attempt }) => ({ instance, attempt }));
}

/** Whether a heartbeat may not have room for all: the cell takes none as found because it is not among those told. */
export const areManyMissing = (state: ComputeState): boolean => allMissing(state).length >= MAX_MISSING_TOLD;

function allMissing({ isAnyMissing, jobs }: ComputeState): readonly AttemptId[] {
  return isAnyMissing ? [...jobs.values()].filter((job) => job.isMissing === true && isToBeThere(job)) : NONE;
}

/** What the cell expects may have been built by an earlier life after this one had asked the driver what runs. */
export function expect(work: Work, expected: readonly AttemptId[]): void {
  const { state } = work;
  const { jobs, outcomes } = state;
  let isAnyNew = false;
  for (const one of expected) {
    const key = attemptKey(one);
    if (jobs.has(key) || outcomes.has(key)) continue;
    const job = newJob(state, one, 'found', { builds: 0 });
    job.isMissing = null;
    jobs.set(key, job);
    isAnyNew = true;
  }
  if (isAnyNew) askWhatRuns(work);
}

const isToBeThere = ({ state }: Job): boolean => state === 'found' || state === 'built';
