// Building in a cell: from the hand-over to active or failed, by way of the alternates; and deleting, which always wins.

import type { InstanceBuildEvent, Selection } from '../../machines/instance-build.ts';
import type { Effect } from '../../machines/step.ts';
import type { Address } from '../actor.ts';
import { allocationsOf } from '../allocations.ts';
import { armBuild, buildEvent, canStep, disarmIfOver, type HostedBuild, stateOfBuild } from '../builds.ts';
import { hostStateWords } from '../host-words.ts';
import type { Start } from '../messages/cell.ts';
import { clipped, MAX_REASON_LENGTH } from '../messages/common.ts';
import type { ClaimGranted, ClaimRefused } from '../messages/placement.ts';
import { present } from '../present.ts';
import { computeAddress, everyPlacement, placementOf } from '../routing.ts';
import { isSame } from '../same.ts';
import { clearAway, goneIfClear } from './clearing.ts';
import { reportLost } from './fencing.ts';
import { type Host, isAway, viewOfHost } from './hosts.ts';
import { attemptsHeld, finalKey, removalKey } from './removals.ts';
import type { Entry } from './state.ts';
import { commit, type Work } from './work.ts';

/** How long a claim of an alternate is valid, ms: it is sent again long before. */
const CLAIM_VALID_MS = 600_000;

export function start(work: Work, asked: Start, from: Address): void {
  const { instance, request, spec, project, payload, traceparent, snapshot } = asked;
  if (work.state.deleted.has(instance)) return work.turn.send(from, { type: 'removed', instance });
  const accept = () => work.turn.send(from, { type: 'started', instance });
  if (work.state.instances.has(instance)) return accept();
  // It may have been deleted so long ago that nobody remembers.
  if (asked.expiresAt !== undefined && asked.expiresAt < work.turn.now) return;
  const facts = { instance, request, spec, ...present({ project, payload, traceparent }) };
  const stored = { value: snapshot.value, context: { ...snapshot.context, attempts: [] } };
  commit(work, { type: 'started', facts, snapshot: stored, at: work.turn.now });
  const entry = work.state.instances.get(instance) as Entry;
  work.turn.publish(buildEvent(work.scope, entry.build, work.turn.now, 'start'));
  // Said first: the build may end right here, and the conductor takes the end only of what it knows to be the cell's.
  accept();
  dispatch(work, entry, false);
}

/** Steps a build and does what it then asks for. An event that means nothing to it is dropped. */
export function advance(work: Work, instance: string, event: InstanceBuildEvent): void {
  const entry = work.state.instances.get(instance);
  if (entry === undefined || !canStep(entry.build, event)) return;
  const effects = commit(work, { type: 'build-event', instance, event, at: work.turn.now });
  disarmIfOver(entry.build, work.turn);
  work.turn.publish(buildEvent(work.scope, entry.build, work.turn.now, event.type));
  if (work.state.troubles.size > 0) work.state.troubles.delete(instance);
  if (work.state.moves.size > 0 && stateOfBuild(entry.build) !== 'rescheduling') work.state.moves.delete(instance);
  // Taken now: an alternate that is passed over ends the next attempt before this one's effects are done.
  const last = entry.build.snapshot.context.attempts.at(-1);
  for (const effect of effects) perform(work, entry, effect, false);
  if (last?.mayRun === true) {
    const left = work.state.removals.get(removalKey({ instance, attempt: last.attempt, final: false }));
    if (left !== undefined && left.repeats === 0) clearAway(work, left);
  }
}

export function perform(work: Work, entry: Entry, effect: Effect, again: boolean): void {
  const { instance } = entry.build.facts;
  switch (effect.type) {
    case 'dispatch':
      return dispatch(work, entry, again);
    case 'awaitCompute':
      if (again) return dispatch(work, entry, true);
      return armBuild(entry.build, work, builderOf(work, entry));
    case 'claimAlternate':
      return claimAlternate(work, entry);
    case 'release': {
      const removal = work.state.removals.get(finalKey(instance));
      if (removal !== undefined) clearAway(work, removal);
      return;
    }
    case 'report':
      return report(work, entry);
  }
}

/** Why a host of the cell is to be given nothing new, or null. */
function unfit(host: Host | undefined): string | null {
  if (host === undefined) return 'the cell knows no such host';
  const { state, reason } = viewOfHost(host);
  return state === 'up' ? null : `the host is ${hostStateWords({ state, reason })}`;
}

/**
 * What keeps an attempt from its host, or null. One that is set aside is a last resort: it is passed over while another
 * alternate is up, and tried in the end, since a build that is likely to fail is better than a request that surely does.
 */
function hindrance(
  { state: { hosts } }: Work,
  build: HostedBuild,
  selection: Selection | null | undefined,
  { attempt, refusal }: { attempt: number; refusal: 'REFUSED' | 'CLAIM_REFUSED' },
): InstanceBuildEvent | null {
  const host = hosts.get(selection?.host ?? '');
  const reason = unfit(host);
  if (reason === null) return null;
  if (host === undefined || viewOfHost(host).state !== 'set-aside') return { type: refusal, attempt, reason };
  const passed = { type: 'PASSED_OVER' as const, attempt, reason };
  const { alternates } = build.snapshot.context;
  const hasBetter = alternates.some((other) => unfit(hosts.get(other.host)) === null);
  return hasBetter && canStep(build, passed) ? passed : null;
}

function builderOf({ cell }: Work, { build }: Entry): Address {
  return computeAddress(cell, build.snapshot.context.selection?.host ?? '');
}

/** Has the compute build. Before the first order, a host that is not up costs the attempt and nothing else. */
function dispatch(work: Work, entry: Entry, again: boolean): void {
  const { build } = entry;
  const { selection, attempt } = build.snapshot.context;
  const hindered = again ? null : hindrance(work, build, selection, { attempt, refusal: 'REFUSED' });
  if (hindered !== null) return advance(work, build.facts.instance, hindered);
  order(work, entry);
  armBuild(build, work, builderOf(work, entry));
}

/** Tells the compute to build, if it is there to be told. When it is to be told again is not changed by it. */
export function order(work: Work, entry: Entry): void {
  const { facts, snapshot } = entry.build;
  const { selection, attempt } = snapshot.context;
  const host = work.state.hosts.get(selection?.host ?? '');
  if (host === undefined || isAway(host)) return;
  work.turn.send(builderOf(work, entry), {
    type: 'build',
    instance: facts.instance,
    attempt,
    incarnation: host.incarnation,
    allocations: selection === null ? [] : allocationsOf(facts.spec, selection),
    ...(facts.payload === undefined ? {} : { payload: facts.payload }),
  });
}

/**
 * The failed host's resources go back and the alternate's are taken, in one command. An alternate that is no longer up
 * is dropped or put last: if a claim of it is under way, the next one, or the release, takes back what it is granted.
 */
function claimAlternate(work: Work, { build }: Entry): void {
  const { instance, spec } = build.facts;
  const { alternates, attempt } = build.snapshot.context;
  const [next] = alternates;
  const hindered = hindrance(work, build, next, { attempt: attempt + 1, refusal: 'CLAIM_REFUSED' });
  if (hindered !== null) return advance(work, instance, hindered);
  const { provider, allocations, maxInstances } = next as Selection;
  const keep = attemptsHeld(work.state.removals, instance, attempt);
  const to = placementOf(provider, work.placementShards);
  const [left] = work.placementShards === 1 ? [] : leaveOthers(work, build, to, keep);
  armBuild(build, work, left ?? to);
  if (left !== undefined) return;
  work.turn.send(to, {
    type: 'claim',
    consumer: instance,
    attempt: attempt + 1,
    spec,
    allocations: allocationsOf(spec, next as Selection),
    keep,
    expiresAt: work.turn.now + CLAIM_VALID_MS,
    ...(allocations === undefined ? {} : { root: provider }),
    ...(maxInstances === undefined ? {} : { maxInstances }),
  });
}

/**
 * Has the placement shards of earlier attempts, other than the one to be asked next, give back what they hold: so there is
 * one home at any time. Answers those that have not said so yet. With one shard that is part of the claim.
 */
function leaveOthers(
  work: Work,
  { facts: { instance }, snapshot }: HostedBuild,
  to: Address,
  keep: number[],
): Address[] {
  const { attempt, attempts } = snapshot.context;
  let move = work.state.moves.get(instance);
  if (move?.attempt !== attempt + 1) {
    const hosts = attempts.map(({ host }) => work.state.hosts.get(host));
    const shards = hosts.every((host) => host !== undefined)
      ? hosts.map(({ provider }) => placementOf(provider, work.placementShards))
      : everyPlacement(work.placementShards);
    move = { attempt: attempt + 1, left: new Set(shards.filter((shard) => shard !== to)) };
    work.state.moves.set(instance, move);
  }
  for (const shard of move.left) {
    work.turn.send(shard, { type: 'release', consumer: instance, before: move.attempt, keep, deleted: false });
  }
  return [...move.left];
}

/** A placement shard that the build leaves holds nothing for it any more but what may still run. */
export function movedAway(work: Work, instance: string, before: number, from: Address): void {
  const move = work.state.moves.get(instance);
  const entry = work.state.instances.get(instance);
  if (entry === undefined || move?.attempt !== before || !move.left.delete(from) || move.left.size > 0) return;
  claimAlternate(work, entry);
}

export function claimGranted(work: Work, { consumer, attempt, allocations }: ClaimGranted): void {
  const build = work.state.instances.get(consumer)?.build;
  const [next] = build?.snapshot.context.alternates ?? [];
  if (build === undefined || next === undefined) return;
  const isAsNamed = isSame(allocations, allocationsOf(build.facts.spec, next));
  advance(work, consumer, { type: 'CLAIM_GRANTED', attempt, ...(isAsNamed ? {} : { allocations }) });
}

export function claimRefused(work: Work, { consumer, attempt, refusal }: ClaimRefused): void {
  // A claim that was under way for too long says nothing of the one that was sent after it.
  if (refusal.code === 'expired') return;
  advance(work, consumer, { type: 'CLAIM_REFUSED', attempt, reason: refusal.message });
}

/** Tells the ends of builds to a conductor that may not have heard of them. */
export function reportEnds(work: Work, instances: readonly string[]): void {
  for (const instance of instances) {
    const entry = work.state.instances.get(instance);
    if (entry === undefined || entry.deleting) continue;
    // It may have been told before the conductor knew that the build was here.
    if (entry.lost !== null) reportLost(work, instance, entry.lost.reason);
    else if (entry.build.snapshot.status === 'done') report(work, entry);
  }
}

/** Tells the conductor how a build ended. Not again by itself: a conductor that has not heard it asks. */
export function report(work: Work, { build }: Entry): void {
  const { instance } = build.facts;
  const { failure } = build.snapshot.context;
  const outcome = stateOfBuild(build) === 'active' ? 'active' : 'failed';
  // It tells of every attempt, which may be more than a message takes; the cell itself shows all of it.
  const why = failure === null ? {} : { code: failure.code, reason: clipped(failure.message, MAX_REASON_LENGTH) };
  work.turn.send(work.conductorOf(instance), { type: 'ended', instance, state: outcome, ...why });
}

export function remove(work: Work, instance: string, from: Address): void {
  const entry = work.state.instances.get(instance);
  if (entry === undefined) {
    // Either it is gone, or its start is still under way: from here on it must not begin.
    if (!work.state.deleted.has(instance)) commit(work, { type: 'deleted', instance, at: work.turn.now });
    return work.turn.send(from, { type: 'removed', instance });
  }
  if (entry.deleting) return;
  commit(work, { type: 'deleting', instance, at: work.turn.now });
  advance(work, instance, { type: 'DELETED' });
  const removal = work.state.removals.get(finalKey(instance));
  if (removal === undefined) return goneIfClear(work, entry);
  if (removal.repeats === 0) clearAway(work, removal);
}
