// What the driver of the host says, and what its cell is told of it.

import { type AttemptId, attemptKey } from '../attempts.ts';
import { waitMs } from '../builds.ts';
import type { DriverAnswer } from '../messages/compute.ts';
import { wakeId } from '../wakes.ts';
import { areManyMissing, whatRuns } from './missing.ts';
import { answer, beginDestroying, buildsOf, end, RETRY_WAKE, sayDestroyed, sayTrouble } from './orders.ts';
import { enter, presentItself, tell } from './presence.ts';
import { type Job, newJob, type Work } from './state.ts';
import { inventoryRead } from './tree.ts';

export function driverSaid(work: Work, said: DriverAnswer): void {
  const { settings, state, turn } = work;
  switch (said.type) {
    case 'described':
      return described(work, said);
    case 'measured':
      state.metrics = said.metrics;
      return;
    case 'describe-failed':
    case 'inventory-unread':
      return tell(work, said.type, said.reason, said.type);
    case 'inventory-read':
      return inventoryRead(work, said.providers);
    case 'driver-listed':
      if (said.to !== settings.own) {
        return turn.send(said.to, { type: 'instances-running', ask: said.ask, running: said.running });
      }
      whatRuns(work, said.ask, said.running);
      // Heartbeats tell some of so many, and so not which of them are back.
      if (state.phase === 'up' && areManyMissing(state)) presentItself(work);
      return;
    case 'list-failed':
      // What runs is as it was, as far as anybody knows.
      if (said.to === settings.own) return;
      return turn.send(said.to, { type: 'declined', ask: said.ask, code: 'driver-failed', reason: said.reason });
    default:
      return saidOfAttempt(work, said);
  }
}

function described(work: Work, said: Extract<DriverAnswer, { type: 'described' }>): void {
  const { state } = work;
  if (state.phase !== 'describing') return;
  state.providers = said.providers;
  state.measures = said.measures ?? false;
  for (const { instance, attempt } of said.running) {
    const key = attemptKey({ instance, attempt });
    // It was told to destroy it while the driver looked: what was seen may be gone by now.
    if (state.jobs.has(key) || state.outcomes.has(key)) continue;
    // An earlier life may have told this driver to build it, and not have heard what came of it.
    state.jobs.set(key, newJob(state, { instance, attempt }, 'found', { builds: 1 }));
  }
  enter(work, 'registering');
}

/** What came of building or destroying an attempt. */
type SaidOfAttempt = Extract<DriverAnswer, { attempt: number }>;

function saidOfAttempt(work: Work, said: SaidOfAttempt): void {
  const { settings, state } = work;
  const { toCell } = settings;
  const { instance, attempt } = said;
  const key = attemptKey(said);
  const job = state.jobs.get(key);
  const one = job ?? state.outcomes.get(key);
  const isOfBuild = said.type !== 'driver-destroyed' && said.type !== 'destroy-failed';
  if (isOfBuild && one !== undefined && one.builds > 0) one.builds -= 1;
  if (job === undefined) {
    if (said.type === 'driver-built') builtAfterItsEnd(work, said, key);
    return;
  }
  switch (said.type) {
    case 'driver-destroyed':
      if (job.state !== 'destroying') return;
      end(work, key, { state: 'destroyed' });
      return sayDestroyed(work, said, toCell);
    case 'destroy-failed':
      if (job.state === 'destroying') noteTrouble(work, job, key, said.reason);
      return;
    case 'driver-unknown':
      // A build that is being destroyed may well reject: what comes of its end is still to be told.
      if (job.state === 'building') noteTrouble(work, job, key, said.reason);
      return;
    case 'driver-built':
      if (job.state !== 'building') return;
      job.state = 'built';
      job.lists = state.lists;
      job.order = null;
      return answer(work, instance, attempt, { state: 'built' }, toCell);
    case 'driver-failed': {
      if (job.state !== 'building') return;
      const outcome = { state: said.aborted ? ('aborted' as const) : ('failed' as const), reason: said.reason };
      end(work, key, outcome);
      return answer(work, instance, attempt, outcome, toCell);
    }
  }
}

/** It was said that nothing was left, which is true no more: of a driver that was asked twice one call may end later. */
function builtAfterItsEnd(work: Work, { instance, attempt }: AttemptId, key: string): void {
  const { settings, state } = work;
  const outcome = state.outcomes.get(key)?.outcome;
  if (outcome === undefined) return;
  if (outcome.state === 'destroyed') return beginDestroying(work, { instance, attempt });
  const builds = buildsOf(state, key);
  state.outcomes.delete(key);
  // Another life may have been given the order since, and have built it: the cell knows whether it is to be there.
  state.jobs.set(key, newJob(state, { instance, attempt }, 'built', { builds }));
  answer(work, instance, attempt, { state: 'built' }, settings.toCell);
}

/** The driver could not say what came of a step: its cell is told, and the driver is asked again. */
function noteTrouble(work: Work, job: Job, key: string, reason: string): void {
  const { settings, state, turn } = work;
  job.trouble = reason;
  if (state.phase !== 'retired') sayTrouble(work, job, settings.toCell);
  job.asked = null;
  turn.wakeAfter(wakeId(RETRY_WAKE, key), waitMs(settings.patience, job.repeats, key));
  job.repeats += 1;
}
