// How records change what a conductor shard owns: the one account of it, live and on replay.

import type { InstanceBuildEvent } from '../../machines/instance-build.ts';
import type { Effect } from '../../machines/step.ts';
import type { Address } from '../actor.ts';
import {
  type BuildFacts,
  beginBuild,
  type HostedBuild,
  type StateDeadlines,
  stateOfBuild,
  stepBuild,
} from '../builds.ts';
import type { FailureCode } from '../messages/common.ts';
import { withTree } from '../messages/where.ts';
import { fingerprintsOf } from './fingerprint.ts';
import { type Conditions, type ConductorState, type Entry, entryOf, lineAt, TOLD_ACTIVE, UNASKED } from './state.ts';

export type ConductorRecord =
  | {
      type: 'accepted';
      facts: Omit<BuildFacts, 'instance'>;
      instances: readonly string[];
      alternates: number;
      at: number;
      /** Until when it may wait for a host, ms since the epoch; absent: not at all. */
      waitUntil?: number | undefined;
      /** Its place in line, where others were accepted in the same millisecond: `at`, and a fraction more for each. */
      since?: number | undefined;
    }
  /** No host had room: the request waits from now on. */
  | { type: 'parked'; request: string; at: number; reason: string; decision?: string | undefined }
  /** What the operator says of aggregates has changed: these go by other conditions from now on. */
  | ({ type: 'conditions'; requests: readonly string[] } & Conditions)
  /** Those that wait do so at this scheduler from now on. */
  | { type: 'line'; scheduler: Address; at: number }
  /** Where there are several placement shards, each round of asking after the first is known before it begins. */
  | { type: 'asked'; request: string; round: number }
  /** `decision` is the record of a scheduler's decision, with the event that it led to. */
  | { type: 'build-event'; instance: string; event: InstanceBuildEvent; at: number; decision?: string | undefined }
  | { type: 'started'; instance: string }
  | {
      type: 'ended';
      instance: string;
      state: 'active' | 'failed' | 'lost';
      code?: FailureCode | undefined;
      reason?: string | undefined;
    }
  | { type: 'deleting'; instance: string; at: number }
  /** The cell has nothing of the instance; what placement holds for it is given back next. */
  | { type: 'removed'; instance: string }
  | { type: 'released'; instance: string }
  | { type: 'deleted'; instance: string; at: number }
  | { type: 'forgotten'; before: number };

/** Applies a record and answers the effects, which count only where the record is made. */
export function applyToConductor(
  state: ConductorState,
  record: ConductorRecord,
  deadlines: StateDeadlines,
): readonly Effect[] {
  switch (record.type) {
    case 'accepted':
      accept(state, record, deadlines);
      return [];
    case 'asked': {
      state.requests.touch(record.request);
      const open = state.requests.get(record.request);
      if (open !== undefined) open.recorded = record.round;
      return [];
    }
    case 'parked': {
      state.requests.touch(record.request);
      const open = state.requests.get(record.request);
      if (open === undefined) throw new Error(`a record names the request '${record.request}', which is not open`);
      open.parked = { at: record.at, reason: record.reason };
      state.parked.add(record.request);
      // It may have come before the others: requests are tried beside each other.
      state.firstParked = null;
      for (const instance of open.waiting) changing(state, instance).decision = record.decision;
      return [];
    }
    case 'conditions':
      for (const request of record.requests) setConditions(state, request, record);
      return [];
    case 'line':
      state.line = lineAt(record.scheduler);
      return [];
    case 'build-event': {
      const entry = changing(state, record.instance);
      const build = entry.build as HostedBuild;
      const effects = stepBuild(build, record.event, record.at, deadlines) ?? [];
      if (record.decision !== undefined) entry.decision = record.decision;
      stopWaiting(state, entry.request, record.instance);
      if (stateOfBuild(build) === 'failed') {
        entry.phase = build.snapshot.context.failure?.code === 'deleted' ? 'deleting' : 'failed';
        entry.releaseOwed = true;
        entry.owedSince = record.at;
      } else {
        entry.cell = build.snapshot.context.selection?.cell ?? null;
      }
      return effects;
    }
    case 'started': {
      const entry = changing(state, record.instance);
      entry.handedOver = true;
      if (entry.phase === 'here') {
        entry.phase = 'in-cell';
        entry.build = null;
        state.unended.add(record.instance);
      }
      return [];
    }
    case 'ended':
      state.unended.delete(record.instance);
      changing(state, record.instance).told =
        record.state === 'active' ? TOLD_ACTIVE : { state: record.state, code: record.code, reason: record.reason };
      return [];
    case 'deleting': {
      const entry = changing(state, record.instance);
      entry.phase = 'deleting';
      entry.build = null;
      state.unended.delete(record.instance);
      entry.repeats = 0;
      entry.owedSince ??= record.at;
      return [];
    }
    case 'removed':
      changing(state, record.instance).releaseOwed = true;
      return [];
    case 'released':
      changing(state, record.instance).releaseOwed = false;
      return [];
    case 'deleted': {
      const entry = changing(state, record.instance);
      entry.phase = 'deleted';
      entry.releaseOwed = false;
      entry.build = null;
      entry.deletedAt = state.deleted.remember(record.instance, record.at, (instance, at) => {
        changing(state, instance).deletedAt = at;
      });
      return [];
    }
    case 'forgotten':
      state.deleted.forget(record.before, undefined, (instance) => state.instances.delete(instance));
      return [];
  }
}

function accept(
  state: ConductorState,
  { facts, instances, alternates, at, waitUntil, since = at }: Extract<ConductorRecord, { type: 'accepted' }>,
  deadlines: StateDeadlines,
): void {
  const { request, spec, where, project } = facts;
  const waitsMs = waitUntil === undefined ? undefined : waitUntil - at;
  const { asked, wished } = fingerprintsOf(facts, instances.length, alternates, waitsMs);
  const isOrdered = instances.length > 1 && (waitUntil !== undefined || spec.instanceGroup?.policy === 'affinity');
  if (waitUntil !== undefined) {
    state.lastInLine = state.requests.size === 0 ? since : Math.max(since, state.lastInLine);
  }
  state.requests.set(request, {
    spec,
    where,
    project,
    alternates,
    ...(waitUntil === undefined ? {} : { since, waitUntil, mayWaitMs: waitsMs }),
    ...(isOrdered ? { ordered: true } : {}),
    waiting: new Set(instances),
    recorded: 0,
    ...UNASKED,
  });
  for (const instance of instances) {
    const build = beginBuild({ instance, ...facts }, at, deadlines);
    if (waitUntil !== undefined) build.deadlineAt = Math.max(waitUntil, build.deadlineAt ?? waitUntil);
    const entry: Entry = {
      request,
      asked,
      phase: 'here',
      cell: null,
      build,
      told: null,
      releaseOwed: false,
      handedOver: false,
      deletedAt: 0,
      repeats: 0,
    };
    if (wished !== undefined) entry.wished = wished;
    state.instances.set(instance, entry);
  }
}

function setConditions(state: ConductorState, request: string, { tree, where }: Conditions): void {
  state.requests.touch(request);
  const open = state.requests.get(request);
  if (open === undefined) return;
  const spec = withTree(open.spec, tree);
  open.spec = spec;
  open.where = where;
  for (const instance of open.waiting) {
    const build = changing(state, instance).build as HostedBuild;
    build.facts = { ...build.facts, spec, where };
  }
}

function stopWaiting(state: ConductorState, request: string, instance: string): void {
  state.requests.touch(request);
  const open = state.requests.get(request);
  if (open === undefined) return;
  open.waiting.delete(instance);
  if (open.waiting.size > 0) return;
  state.requests.delete(request);
  state.schedulers.settled(request);
  state.parked.delete(request);
  state.withRoom.delete(request);
  state.following.delete(request);
}

/** The entry of a record that changes it. */
function changing({ instances }: ConductorState, instance: string): Entry {
  instances.touch(instance);
  return entryOf({ instances }, instance);
}
