// Requests: taken once, however often they are sent, and asked of the schedulers until every instance has a host.

import type { InstanceBuildEvent } from '../../machines/instance-build.ts';
import type { Address } from '../actor.ts';
import { buildEvent, type HostedBuild, waitMs } from '../builds.ts';
import type { Build, Selected } from '../messages/conductor.ts';
import { instanceNames, SCHEDULERS } from '../routing.ts';
import { advance } from './building.ts';
import { deadlineOfRequest, entryOf, fingerprintOf } from './state.ts';
import { isGoing, takenBecause } from './words.ts';
import { commit, decline, type Work } from './work.ts';

const REQUEST_WAKE = (request: string): string => `request ${request}`;

export function build(work: Work, asked: Build, from: Address): void {
  const { state, turn } = work;
  const { ask, request, count, alternates, spec, where, project, payload, traceparent } = asked;
  const instances = instanceNames(request, count);
  const facts = { request, spec, where, project, payload, traceparent };
  const standing = instances.find((instance) => state.instances.has(instance));
  if (standing !== undefined) {
    const fingerprint = fingerprintOf(facts, count, alternates);
    const isRepeated = instances.every((instance) => {
      const entry = state.instances.get(instance);
      return entry?.request === request && entry.asked === fingerprint && !isGoing(entry);
    });
    if (isRepeated) turn.send(from, { type: 'build-accepted', ask, request, instances });
    else decline(work, from, ask, 'already-exists', takenBecause(standing, entryOf(state, standing)), 'id');
    return;
  }
  if (state.requests.has(request)) {
    // Its instances have other names, as the count is another: but there is one open request of a name.
    const reason = `request '${request}' exists already, with another count, and still looks for hosts`;
    return decline(work, from, ask, 'already-exists', reason, 'id');
  }
  commit(work, { type: 'accepted', facts, instances, alternates, at: turn.now });
  for (const instance of instances) {
    const { build: hosted } = entryOf(state, instance);
    turn.publish(buildEvent(work.scope, hosted as HostedBuild, turn.now, 'build'));
  }
  state.toAsk.add(request);
  turn.send(from, { type: 'build-accepted', ask, request, instances });
}

export function selected(work: Work, { request, round, selections }: Selected): void {
  const { state, turn } = work;
  if (state.requests.get(request)?.round !== round) return;
  for (const { instance, selection, alternates } of selections) {
    advance(work, instance, { type: 'SELECTED', selection, alternates });
  }
  if (!state.requests.has(request)) turn.cancelWake(REQUEST_WAKE(request));
}

export function failRequest(work: Work, request: string, event: InstanceBuildEvent): void {
  const open = work.state.requests.get(request);
  if (open === undefined) return;
  for (const instance of [...open.waiting]) advance(work, instance, event);
  work.turn.cancelWake(REQUEST_WAKE(request));
}

/** No scheduler has answered: ask again, unless the request has waited for too long. */
export function wakeRequest(work: Work, request: string): void {
  const { state, turn } = work;
  const open = state.requests.get(request);
  if (open === undefined) return;
  if (turn.now >= deadlineOfRequest(state, open)) return failRequest(work, request, { type: 'TIMED_OUT' });
  open.repeats += 1;
  state.toAsk.add(request);
}

/** Asks the schedulers what this turn found to ask: one question a request, however many instances it has. */
export function askSchedulers({ state, turn, patience }: Work): void {
  for (const request of state.toAsk) {
    const open = state.requests.get(request);
    if (open === undefined) continue;
    open.round = Math.max(open.round + 1, turn.now);
    const deadlineAt = deadlineOfRequest(state, open);
    turn.send(SCHEDULERS, {
      type: 'select',
      request,
      round: open.round,
      instances: [...open.waiting],
      spec: open.spec,
      ...(open.where === undefined ? {} : { where: open.where }),
      ...(open.project === undefined ? {} : { project: open.project }),
      alternates: open.alternates,
      expiresAt: deadlineAt,
    });
    const again = turn.now + waitMs(patience, open.repeats, request);
    turn.wakeAt(REQUEST_WAKE(request), Math.min(deadlineAt, again), SCHEDULERS);
  }
  state.toAsk.clear();
}
