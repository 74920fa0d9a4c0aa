// Requests: taken once, however often they are sent, until every instance has a host or the request has failed.

import type { InstanceBuildEvent } from '../../machines/instance-build.ts';
import type { Address } from '../actor.ts';
import { buildEvent, type HostedBuild } from '../builds.ts';
import type { Build, Selected } from '../messages/conductor.ts';
import type { FailedInstances } from '../messages/gateway.ts';
import { present } from '../present.ts';
import { instanceNames } from '../routing.ts';
import { wakeId } from '../wakes.ts';
import { advance } from './building.ts';
import { fingerprintsOf, isAskedAlike } from './fingerprint.ts';
import { type ConductorState, endOfRequest, entryOf, type OpenRequest, wantHosts } from './state.ts';
import { viewOf } from './view.ts';
import { isGoing, takenBecause } from './words.ts';
import { commit, decline, type Work } from './work.ts';

export const REQUEST_WAKE = 'request';

/** So many requests can be accepted in a millisecond and still be told apart; a number of milliseconds holds no more. */
const PLACES_IN_A_MS = 4_096;

/** Behind those that were accepted before: in the same millisecond, or, while one of them has no host, by a clock set back since. */
function placeInLine({ state: { lastInLine, requests }, turn: { now } }: Work): { since?: number } {
  const isBehind = Math.floor(lastInLine) === now || (lastInLine > now && requests.size > 0);
  return isBehind ? { since: lastInLine + 1 / PLACES_IN_A_MS } : {};
}

export function build(work: Work, asked: Build, from: Address): void {
  const { state, turn } = work;
  const { ask, request, count, alternates, spec, where, project, payload, traceparent, waitMs: mayWaitMs } = asked;
  const instances = instanceNames(request, count);
  const facts = { request, spec, ...present({ where, project, payload, traceparent }) };
  if (instances.some((instance) => state.instances.has(instance))) {
    const fingerprints = fingerprintsOf(facts, count, alternates, mayWaitMs);
    const isOfThis = (instance: string) => {
      const entry = state.instances.get(instance);
      return entry?.request === request && isAskedAlike(entry, fingerprints) && !isGoing(entry);
    };
    // The first that is in the way: of the same request sent again it is one that was deleted, perhaps long ago.
    const isOther = (instance: string) => state.instances.has(instance) && !isOfThis(instance);
    const inTheWay = instances.find(isOther) ?? instances.find((instance) => !isOfThis(instance));
    if (inTheWay === undefined) {
      const failed = failedOf(work, instances);
      turn.send(from, { type: 'build-accepted', ask, request, instances, ...present({ failed }) });
    } else decline(work, from, ask, 'already-exists', takenBecause(inTheWay, state.instances.get(inTheWay), request));
    return;
  }
  if (state.requests.has(request) || hasOtherCount(state, request, count)) {
    // Its instances have other names, as the count is another.
    const reason = `request '${request}' exists already, with another count: ask with another id`;
    return decline(work, from, ask, 'already-exists', reason);
  }
  const waits = mayWaitMs === undefined ? {} : { waitUntil: turn.now + mayWaitMs, ...placeInLine(work) };
  commit(work, { type: 'accepted', facts, instances, alternates, at: turn.now, ...waits });
  for (const instance of instances) {
    const { build: hosted } = entryOf(state, instance);
    turn.publish(buildEvent(work.scope, hosted as HostedBuild, turn.now, 'build'));
  }
  const open = state.requests.get(request) as OpenRequest;
  open.isNew = true;
  endOfRequest(state, open, work);
  wantHosts(state, request);
  turn.send(from, { type: 'build-accepted', ask, request, instances });
}

/** Those that have come to nothing, as far as is known here: whoever asks for them again would else wait for them. */
function failedOf({ state, turn }: Work, instances: readonly string[]): FailedInstances | undefined {
  const failed = instances
    .map((instance) => viewOf(instance, entryOf(state, instance), undefined, turn))
    .filter((view) => view.state === 'failed' || view.state === 'lost');
  const [first] = failed;
  return first && { instances: failed.map(({ instance }) => instance), ...first.failure };
}

/** Whether a request of that name was made for one instance where this one is for several, or the reverse. */
function hasOtherCount({ instances }: ConductorState, request: string, count: number): boolean {
  const [first] = instanceNames(request, count === 1 ? 2 : 1);
  const entry = instances.get(first as string);
  return entry?.request === request && !isGoing(entry);
}

export function selected(work: Work, { request, round, selections }: Selected, from: Address): void {
  const { state, turn } = work;
  const open = state.requests.get(request);
  if (open?.round !== round) return;
  for (const { instance, selection, alternates, decision } of selections) {
    advance(work, instance, { type: 'SELECTED', selection, alternates }, decision);
  }
  if (state.requests.has(request)) return;
  turn.cancelWake(wakeId(REQUEST_WAKE, request));
  // It has waited with another scheduler before, which may be there after all.
  const waitedWith = open.latest?.scheduler ?? from;
  if (waitedWith !== from) turn.send(waitedWith, { type: 'withdraw', request });
}

export function failRequest(work: Work, request: string, event: InstanceBuildEvent, decision?: string): void {
  const open = work.state.requests.get(request);
  if (open === undefined) return;
  for (const instance of [...open.waiting]) advance(work, instance, event, decision);
  work.turn.cancelWake(wakeId(REQUEST_WAKE, request));
}
