// Clearing away what attempts left behind: first nothing may run on the host any more, then the resources go back.

import { type RemovalEvent, removal as removalMachine } from '../../machines/removal.ts';
import { can } from '../../machines/step.ts';
import type { Address } from '../actor.ts';
import { waitMs } from '../builds.ts';
import type { Released } from '../messages/placement.ts';
import { computeAddress, everyPlacement, placementOf, shardOf } from '../routing.ts';
import { wakeId } from '../wakes.ts';
import { stateOfHost } from './hosts.ts';
import {
  attemptsHeld,
  destroyingOf,
  finalKey,
  type Removal,
  removalKey,
  removalsOf,
  stateOfRemoval,
} from './removals.ts';
import type { Entry } from './state.ts';
import { commit, type Work } from './work.ts';

export const REMOVE_WAKE = 'remove';

/** What is left of an earlier attempt may run, and holds what it was given: until that is over, the instance is not gone. */
export function goneIfClear(work: Work, entry: Entry): void {
  const { instance, attempt } = entry.build.snapshot.context;
  if (removalsOf(work.state, instance, attempt).length === 0) gone(work, entry);
}

/** Nothing of an instance that the caller deleted is left. */
function gone(work: Work, { build }: Entry): void {
  const { instance, request, traceparent } = build.facts;
  commit(work, { type: 'deleted', instance, at: work.turn.now });
  work.turn.publish({
    topic: [...work.scope, 'build', instance, 'deleted'],
    body: { at: work.turn.now, instance, request, state: 'deleted' },
    cause: 'delete',
    traceparent,
  });
  work.turn.send(work.conductorOf(instance), { type: 'removed', instance });
}

/** Does what a removal owes in its state, and again until it is answered. */
export function clearAway(work: Work, removal: Removal): void {
  const { instance, attempt, host, final } = removal.snapshot.context;
  let awaited: Address | undefined;
  if (stateOfRemoval(removal) === 'destroying') {
    const known = work.state.hosts.get(host as string);
    if (known !== undefined && stateOfHost(known) === 'fenced') {
      return advanceClearing(work, removalKey(removal.snapshot.context), { type: 'DESTROYED' });
    }
    awaited = computeAddress(work.cell, host as string);
    work.turn.send(awaited, { type: 'destroy', instance, attempt });
  } else {
    const keep = attemptsHeld(work.state.removals, instance, attempt);
    const what = final ? { keep, deleted: true } : { attempt, deleted: false };
    const left = holdersOf(work, removal);
    for (const shard of left) work.turn.send(shard, { type: 'release', consumer: instance, ...what });
    awaited = left.at(0);
  }
  work.turn.wakeAfter(
    wakeId(REMOVE_WAKE, removalKey(removal.snapshot.context)),
    waitMs(work.patience, removal.repeats, instance),
    awaited,
  );
  removal.repeats += 1;
}

/** The placement shards that may hold still what is to be given back; when an instance ends, all are to know it. */
function holdersOf({ state, placementShards }: Work, { snapshot, released }: Removal): Address[] {
  const { final, host } = snapshot.context;
  const root = final ? undefined : state.hosts.get(host ?? '')?.provider;
  const shards = root === undefined ? everyPlacement(placementShards) : [placementOf(root, placementShards)];
  return shards.filter((shard) => !released.has(shard));
}

/** The placement shards that were asked more than once to take back what is left of an attempt, and have not answered. */
export function shardsAwaited(work: Work, removal: Removal): number[] {
  if (stateOfRemoval(removal) !== 'releasing' || removal.repeats < 2) return [];
  return holdersOf(work, removal).map(shardOf);
}

/** A placement shard has given back what it held: it is over when all have that were asked. */
export function released(work: Work, { consumer: instance, attempt }: Released, from: Address): void {
  const key = attempt === undefined ? finalKey(instance) : removalKey({ instance, attempt, final: false });
  const removal = work.state.removals.get(key);
  if (removal === undefined || stateOfRemoval(removal) !== 'releasing') return;
  removal.released.add(from);
  if (work.placementShards === 1 || holdersOf(work, removal).length === 0)
    advanceClearing(work, key, { type: 'RELEASED' });
}

export function advanceClearing(work: Work, key: string, event: RemovalEvent): void {
  const removal = work.state.removals.get(key);
  if (removal === undefined || !can(removalMachine, removal.snapshot, event)) return;
  const { instance, attempt } = removal.snapshot.context;
  if (work.state.troubles.get(instance)?.attempt === attempt) work.state.troubles.delete(instance);
  commit(work, { type: 'removal-event', key, event });
  work.turn.cancelWake(wakeId(REMOVE_WAKE, key));
  if (work.state.removals.has(key)) return clearAway(work, removal);
  const entry = work.state.instances.get(instance);
  if (entry?.deleting === true) goneIfClear(work, entry);
}

/** Whether a host is to destroy what is left of an attempt. */
export function isDestroying(
  work: Work,
  { instance, attempt, host }: { instance: string; attempt: number; host: string },
): boolean {
  return destroyingOf(work.state.removals, instance, attempt)?.snapshot.context.host === host;
}

export function destroyed(work: Work, instance: string, attempt: number): void {
  for (const final of [false, true]) {
    const key = removalKey({ instance, attempt, final });
    if (work.state.removals.get(key)?.snapshot.context.attempt === attempt)
      advanceClearing(work, key, { type: 'DESTROYED' });
  }
}
