// What the driver of the host says, and what its cell is told of it.

import { attemptKey } from '../attempts.ts';
import { waitMs } from '../builds.ts';
import type { DriverAnswer } from '../messages/compute.ts';
import { wakeId } from '../wakes.ts';
import { areManyMissing, whatRuns } from './missing.ts';
import { answer, beginDestroying, buildsOf, end, RETRY_WAKE, sayDestroyed, sayTrouble } from './orders.ts';
import { enter, present, tell } from './presence.ts';
import { newJob, type Work } from './state.ts';
import { inventoryRead } from './tree.ts';

export function driverSaid(work: Work, said: DriverAnswer): void {
  const { settings, state, turn } = work;
  const { patience, toCell } = settings;
  if (said.type === 'described') {
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
    return enter(work, 'registering');
  }
  if (said.type === 'measured') {
    state.metrics = said.metrics;
    return;
  }
  if (said.type === 'describe-failed' || said.type === 'inventory-unread') {
    return tell(work, said.type, said.reason, said.type);
  }
  if (said.type === 'inventory-read') return inventoryRead(work, said.providers);
  if (said.type === 'driver-listed') {
    if (said.to === settings.own) {
      whatRuns(work, said.ask, said.running);
      // Heartbeats tell some of so many, and so not which of them are back.
      if (state.phase === 'up' && areManyMissing(state)) present(work);
      return;
    }
    return turn.send(said.to, { type: 'instances-running', ask: said.ask, running: said.running });
  }
  if (said.type === 'list-failed') {
    // What runs is as it was, as far as anybody knows.
    if (said.to === settings.own) return;
    return turn.send(said.to, { type: 'declined', ask: said.ask, code: 'driver-failed', reason: said.reason });
  }
  const { instance, attempt } = said;
  const key = attemptKey(said);
  const job = state.jobs.get(key);
  const one = job ?? state.outcomes.get(key);
  const ofBuild = said.type !== 'driver-destroyed' && said.type !== 'destroy-failed';
  if (ofBuild && one !== undefined && one.builds > 0) one.builds -= 1;
  if (job === undefined) {
    const outcome = state.outcomes.get(key)?.outcome;
    if (said.type !== 'driver-built' || outcome === undefined) return;
    // It was said that nothing was left, which is true no more: of a driver that was asked twice one call may end later.
    const builds = buildsOf(state, key);
    state.outcomes.delete(key);
    if (outcome.state === 'destroyed') return beginDestroying(work, instance, attempt, builds);
    // Another life may have been given the order since, and have built it: the cell knows whether it is to be there.
    state.jobs.set(key, newJob(state, { instance, attempt }, 'built', { builds }));
    return answer(work, instance, attempt, { state: 'built' }, toCell);
  }
  if (said.type === 'driver-destroyed') {
    if (job.state !== 'destroying') return;
    end(work, key, { state: 'destroyed' });
    return sayDestroyed(work, said, toCell);
  }
  if (said.type === 'destroy-failed' || said.type === 'driver-unknown') {
    const task = said.type === 'driver-unknown' ? 'build' : 'destroy';
    // A build that is being destroyed may well reject: what comes of its end is still to be told.
    if (job.state !== (task === 'build' ? 'building' : 'destroying')) return;
    job.trouble = said.reason;
    if (state.phase !== 'retired') sayTrouble(work, job, toCell);
    job.asked = null;
    turn.wakeAfter(wakeId(RETRY_WAKE, key), waitMs(patience, job.repeats, key));
    job.repeats += 1;
    return;
  }
  if (job.state !== 'building') return;
  if (said.type === 'driver-built') {
    job.state = 'built';
    job.lists = state.lists;
    job.order = null;
    return answer(work, instance, attempt, { state: 'built' }, toCell);
  }
  const outcome = { state: said.aborted ? ('aborted' as const) : ('failed' as const), reason: said.reason };
  end(work, key, outcome);
  answer(work, instance, attempt, outcome, toCell);
}
