// Fencing: an operator states that nothing runs on a host any more, because it is powered off or gone. What waited for
// the host's own word is done on the operator's: removals go on as if the host had confirmed them, and the instances
// that were active there are lost. They keep their resources until they are deleted, which needs no host any more.

import { stateOfBuild, waitMs } from '../builds.ts';
import { wakeId } from '../wakes.ts';
import { advanceClearing } from './clearing.ts';
import { removalKey } from './removals.ts';
import type { Entry } from './state.ts';
import { commit, type Work } from './work.ts';

export const LOST_WAKE = 'lost';

/** Takes everything that a host had as gone. */
export function loseAll(work: Work, hostName: string): void {
  for (const { snapshot } of work.state.removals.ofHost(hostName)) {
    advanceClearing(work, removalKey(snapshot.context), { type: 'DESTROYED' });
  }
  for (const instance of work.state.hosts.get(hostName)?.here ?? []) {
    const entry = work.state.instances.get(instance) as Entry;
    if (entry.deleting || stateOfBuild(entry.build) !== 'active') continue;
    commit(work, {
      type: 'lost',
      instance,
      reason: `host '${hostName}' was fenced while the instance was active there`,
      at: work.turn.now,
    });
    publishLost(work, entry, hostName);
    tellLost(work, entry);
  }
}

function publishLost({ turn, scope }: Work, { build: { facts } }: Entry, host: string): void {
  const { instance, request, traceparent } = facts;
  turn.publish({
    topic: [...scope, 'build', instance, 'lost'],
    body: { at: turn.now, instance, request, state: 'lost', cause: 'fence', host },
    cause: 'fence',
    traceparent,
  });
}

/** Tells the conductor that an instance is lost, and again until it has taken note. */
export function tellLost(work: Work, { build, lost }: Entry): void {
  if (lost === null || lost.told) return;
  const { instance } = build.facts;
  reportLost(work, instance, lost.reason);
  const waitedMs = waitMs(work.patience, build.repeats, instance);
  work.turn.wakeAfter(wakeId(LOST_WAKE, instance), waitedMs, work.conductorOf(instance));
  build.repeats += 1;
}

export function reportLost({ turn, conductorOf }: Work, instance: string, reason: string): void {
  turn.send(conductorOf(instance), { type: 'ended', instance, state: 'lost', code: 'host-fenced', reason });
}

export function lostNoted(work: Work, instance: string): void {
  const lost = work.state.instances.get(instance)?.lost ?? null;
  if (lost === null || lost.told) return;
  commit(work, { type: 'lost-told', instance });
  work.turn.cancelWake(wakeId(LOST_WAKE, instance));
}
