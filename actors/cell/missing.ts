// What was built on a host and is not there any more: it has ended by itself, its host began anew without it, or somebody
// has removed it. The host's driver says so, and its compute tells it with each heartbeat. Nothing is done about it, for
// it may come back: whoever asks is told, and whoever watches.

import { stateOfBuild } from '../builds.ts';
import { MAX_MISSING_TOLD, MAX_RUNNING_TOLD } from '../messages/common.ts';
import { attemptKey, type Host, type Missing, NONE_MISSING, type Running } from './hosts.ts';
import type { Entry } from './state.ts';
import type { Work } from './work.ts';

/** Takes note of what a compute says to be missing. Of very many it tells some: what is not among them may be missing, too. */
export function noteMissing(work: Work, host: Host, told: readonly Running[]): void {
  if (told.length < MAX_MISSING_TOLD) return noteAll(work, host, told);
  const all = new Map(told.map((one) => [attemptKey(one), one]));
  for (const [instance, { attempt }] of host.missing) {
    const one = { instance, attempt };
    all.set(attemptKey(one), one);
  }
  noteAll(work, host, [...all.values()]);
}

/** Takes note of all that is missing on a host. */
function noteAll(work: Work, host: Host, told: readonly Running[]): void {
  if (told.length === 0 && host.missing.size === 0) return;
  const missing = new Map<string, Missing>();
  for (const one of told) {
    const entry = activeOn(work, host, one.instance);
    if (entry === undefined || attemptOf(entry) !== one.attempt) continue;
    const known = host.missing.get(one.instance);
    const isNew = known?.attempt !== one.attempt;
    missing.set(one.instance, isNew ? { attempt: one.attempt, since: work.turn.now } : known);
    if (isNew) publish(work, host, entry, 'missing');
  }
  for (const [instance, { attempt }] of host.missing) {
    const entry = activeOn(work, host, instance);
    if (entry !== undefined && attemptOf(entry) === attempt && !missing.has(instance))
      publish(work, host, entry, 'found');
  }
  host.missing = missing.size === 0 ? NONE_MISSING : missing;
}

/** What a compute that presents itself says to be there is not missing. */
export function noteRunning(work: Work, host: Host, running: readonly Running[]): void {
  if (host.missing.size === 0) return;
  const there = new Set(running.map(attemptKey));
  const still = [...host.missing].map(([instance, { attempt }]) => ({ instance, attempt }));
  noteAll(
    work,
    host,
    still.filter((one) => !there.has(attemptKey(one))),
  );
}

/** What should be on a host, and is not among what its compute says to be there. */
export function expectedOn(work: Work, host: Host, running: readonly Running[]): Running[] {
  const there = new Set(running.map(attemptKey));
  const expected: Running[] = [];
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
  const entry = state.instances.get(instance);
  if (entry === undefined || entry.deleting || entry.lost !== null) return undefined;
  return stateOfBuild(entry.build) === 'active' && host.here.has(instance) ? entry : undefined;
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
