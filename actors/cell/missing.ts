// What was built on a host and is not there any more: it has ended by itself, its host began anew without it, or somebody
// has removed it. The host's driver says so, and its compute tells it with each heartbeat. It is recorded and told, and
// nothing else is done about it, for it may come back.

import { type AttemptId, attemptKey } from '../attempts.ts';
import { stateOfBuild } from '../builds.ts';
import { MAX_MISSING_TOLD, MAX_RUNNING_TOLD } from '../messages/common.ts';
import type { Host } from './hosts.ts';
import type { Entry } from './state.ts';
import { commit, type Work } from './work.ts';

/**
 * Takes note of what a compute says to be missing. Of very many it tells some: what is not among them may be missing, too.
 * @param listed Which list of its driver it goes by: what comes after what was said of a later one says nothing any more.
 */
export function noteMissing(work: Work, host: Host, told: readonly AttemptId[], listed = 0): void {
  if (comesLate(host, listed)) return;
  for (const { instance, attempt } of told) {
    const entry = activeOn(work, host, instance);
    if (entry === undefined || entry.missingSince !== null || attemptOf(entry) !== attempt) continue;
    commit(work, { type: 'missing', instance, at: work.turn.now, listed });
    publish(work, host, entry, 'missing');
  }
  if (host.missing.size === 0 || told.length >= MAX_MISSING_TOLD) return;
  const still = new Set(told.map(attemptKey));
  findAll(work, host, listed, (one) => !still.has(attemptKey(one)));
}

/** What a compute that presents itself says to be there is not missing. */
export function noteRunning(work: Work, host: Host, running: readonly AttemptId[], listed = 0): void {
  if (comesLate(host, listed) || host.missing.size === 0) return;
  const there = new Set(running.map(attemptKey));
  findAll(work, host, listed, (one) => there.has(attemptKey(one)));
}

/** Whether something was said of a later list already, also where it was nothing new; takes note of the list. */
function comesLate(host: Host, listed: number): boolean {
  if (listed < host.listed || listed < host.listedLast) return true;
  host.listedLast = listed;
  return false;
}

function findAll(work: Work, host: Host, listed: number, isFound: (one: AttemptId) => boolean): void {
  for (const instance of [...host.missing]) {
    const entry = work.state.instances.get(instance) as Entry;
    if (!isFound({ instance, attempt: attemptOf(entry) })) continue;
    commit(work, { type: 'found', instance, listed });
    publish(work, host, entry, 'found');
  }
}

/** What should be on a host, and is not among what its compute says to be there. */
export function expectedOn(work: Work, host: Host, running: readonly AttemptId[]): AttemptId[] {
  const there = new Set(running.map(attemptKey));
  const expected: AttemptId[] = [];
  for (const instance of host.here) {
    const entry = activeOn(work, host, instance);
    if (entry === undefined) continue;
    const one = { instance, attempt: attemptOf(entry) };
    if (!there.has(attemptKey(one))) expected.push(one);
    if (expected.length === MAX_RUNNING_TOLD) break;
  }
  return expected;
}

/** An instance that was built on the host and is to be there. */
function activeOn({ state }: Work, host: Host, instance: string): Entry | undefined {
  if (!host.here.has(instance)) return undefined;
  const entry = state.instances.get(instance) as Entry;
  return !entry.deleting && stateOfBuild(entry.build) === 'active' ? entry : undefined;
}

const attemptOf = ({ build }: Entry): number => build.snapshot.context.attempt;

function publish({ turn, scope }: Work, { host }: Host, { build: { facts } }: Entry, what: 'missing' | 'found'): void {
  const { instance, request, traceparent } = facts;
  turn.publish({
    topic: [...scope, 'build', instance, what],
    body: { at: turn.now, instance, request, state: 'active', cause: what, host },
    cause: what,
    traceparent,
  });
}
