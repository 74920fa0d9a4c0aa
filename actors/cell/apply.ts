// How records change what a cell owns: the one account of it, live and on replay.

import type { ComputeServiceEvent } from '../../machines/compute-service.ts';
import type { InstanceBuildEvent } from '../../machines/instance-build.ts';
import type { RemovalEvent } from '../../machines/removal.ts';
import type { Effect } from '../../machines/step.ts';
import type { AttemptId } from '../attempts.ts';
import {
  adoptBuild,
  type BuildFacts,
  type HostedBuild,
  type StateDeadlines,
  type StoredSnapshot,
  stateOfBuild,
  stepBuild,
} from '../builds.ts';
import { present } from '../present.ts';
import { type Host, meet, noteOutcome, stepService } from './hosts.ts';
import { beginRemoval, stepRemoval } from './removals.ts';
import { shared } from './sharing.ts';
import type { CellState, Entry } from './state.ts';
import {
  homeOf,
  missNoMore,
  noteDeleted,
  noteIfCleared,
  noteListed,
  noteLostIn,
  noteMissingIn,
  noteWhereItBuilds,
  noteWhereItIs,
} from './whereabouts.ts';

export type CellRecord =
  | { type: 'started'; facts: BuildFacts; snapshot: StoredSnapshot; at: number }
  | { type: 'build-event'; instance: string; event: InstanceBuildEvent; at: number }
  | { type: 'deleting'; instance: string; at: number }
  /** An active instance whose host was fenced: nothing of it runs any more. `at` is absent of nodes of before. */
  | { type: 'lost'; instance: string; reason: string; at?: number }
  /** An active instance is on its host no more, as its driver says; or it is again. */
  | { type: 'missing'; instance: string; at: number; listed: number }
  | { type: 'found'; instance: string; listed: number }
  /** The conductor knows that it is lost. */
  | { type: 'lost-told'; instance: string }
  | { type: 'removal-event'; key: string; event: RemovalEvent }
  /** An instance that never came here, or is gone: it must not begin any more. */
  | { type: 'deleted'; instance: string; at: number }
  | { type: 'forgotten'; before: number }
  /**
   * An attempt on a host that is not the cell's is to be destroyed. It changes nothing here, but no owner that was
   * superseded gets it into the journal: what it does not know of may be alive.
   */
  | { type: 'stray'; host: string; instance: string; attempt: number }
  | { type: 'met'; host: string; provider: string; incarnation: string; foreign?: readonly AttemptId[] | undefined }
  /** `at` is absent of nodes of before. */
  | { type: 'host-event'; host: string; event: ComputeServiceEvent; at?: number }
  /** An operator has set it, if only to what it was. */
  | { type: 'host-set'; host: string }
  /** An operator has set the whole cell, if only to what it was. */
  | { type: 'cell-set'; disabled: string | null }
  /** It does not come back, and nothing of it is left. */
  | { type: 'host-removed'; host: string; at: number };

const NO_EFFECTS: readonly Effect[] = [];

/** Applies a record and answers the effects of the machine that it stepped; they count only where it is made. */
export function applyToCell(state: CellState, record: CellRecord, deadlines: StateDeadlines): readonly Effect[] {
  switch (record.type) {
    case 'started': {
      const { facts, snapshot } = shared(state, record);
      const build = adoptBuild(facts, snapshot, record.at, deadlines);
      const entry = { build, deleting: false, cleared: false, lost: null, missingSince: null };
      state.instances.set(facts.instance, entry);
      noteWhereItBuilds(state, build, undefined);
      noteWhereItIs(state, facts.instance, null, homeOf(entry));
      return NO_EFFECTS;
    }
    case 'build-event': {
      const entry = changing(state, record.instance);
      const { build } = entry;
      const homeBefore = homeOf(entry);
      const before = build.snapshot.context;
      const effects = stepBuild(build, record.event, record.at, deadlines) ?? NO_EFFECTS;
      noteWhereItBuilds(state, build, before.selection?.host);
      noteWhereItIs(state, record.instance, homeBefore, homeOf(entry));
      leaveBehind(state, build, before.attempts.length, record.at);
      judge(state, before.selection?.host, build, record);
      return effects;
    }
    case 'deleting': {
      const entry = changing(state, record.instance);
      missNoMore(state, record.instance, entry);
      entry.deleting = true;
      const { selection, attempt } = entry.build.snapshot.context;
      if (stateOfBuild(entry.build) === 'active') {
        const host = entry.lost === null ? (selection?.host ?? null) : null;
        beginRemoval(state.removals, { instance: record.instance, attempt, host, final: true, since: record.at });
      }
      return NO_EFFECTS;
    }
    case 'lost': {
      const entry = changing(state, record.instance);
      missNoMore(state, record.instance, entry);
      noteWhereItIs(state, record.instance, homeOf(entry), null);
      entry.lost = { reason: record.reason, ...present({ at: record.at }), told: false };
      noteLostIn(state, record.instance, entry);
      return NO_EFFECTS;
    }
    case 'missing': {
      const entry = changing(state, record.instance);
      entry.missingSince = record.at;
      noteMissingIn(state, record.instance, entry);
      noteListed(state, entry, record.listed);
      return NO_EFFECTS;
    }
    case 'found': {
      const entry = changing(state, record.instance);
      missNoMore(state, record.instance, entry);
      noteListed(state, entry, record.listed);
      return NO_EFFECTS;
    }
    case 'lost-told': {
      const entry = changing(state, record.instance);
      if (entry.lost !== null) entry.lost = { ...entry.lost, told: true };
      return NO_EFFECTS;
    }
    case 'removal-event': {
      const instance = state.removals.get(record.key)?.snapshot.context.instance ?? '';
      stepRemoval(state.removals, record.key, record.event);
      noteIfCleared(state, state.instances.get(instance));
      return NO_EFFECTS;
    }
    case 'deleted':
      noteDeleted(state, record.instance);
      state.instances.delete(record.instance);
      state.troubles.delete(record.instance);
      state.deleted.remember(record.instance, record.at);
      return NO_EFFECTS;
    case 'forgotten':
      state.deleted.forget(record.before);
      state.removedHosts.forget(record.before);
      return NO_EFFECTS;
    case 'stray':
      return NO_EFFECTS;
    case 'met':
      noteGone(state, record.host, record.provider);
      meet(state.hosts, record.host, record.provider, record.incarnation, record.foreign);
      state.inService = null;
      state.feed.untold.add(record.host);
      return NO_EFFECTS;
    case 'host-event':
      state.inService = null;
      return stepService(state.hosts.get(record.host) as Host, record.event, record.at) ?? NO_EFFECTS;
    case 'host-set':
      (state.hosts.get(record.host) as Host).revision += 1;
      return NO_EFFECTS;
    case 'cell-set':
      if (record.disabled !== state.service.disabled)
        for (const host of state.hosts.keys()) state.feed.untold.add(host);
      state.service = { disabled: record.disabled, revision: state.service.revision + 1 };
      return NO_EFFECTS;
    case 'host-removed':
      noteGone(state, record.host);
      state.hosts.delete(record.host);
      state.inService = null;
      state.selections.delete(record.host);
      state.removedHosts.remember(record.host, record.at);
      return NO_EFFECTS;
  }
}

/** What schedulers know of a host is by its root provider: of one that is gone, or has another now, it is told that it is no more. */
function noteGone({ hosts, feed }: CellState, host: string, now?: string): void {
  const provider = hosts.get(host)?.provider;
  if (provider !== undefined && provider !== now) feed.gone.add(provider);
}

/** The entry of a record that changes it. */
function changing({ instances }: CellState, instance: string): Entry {
  instances.touch(instance);
  return instances.get(instance) as Entry;
}

/** What came of an attempt speaks for its host or against it, unless the request itself was at fault. */
function judge(
  { hosts, feed }: CellState,
  hostName: string | undefined,
  build: HostedBuild,
  { event: { type }, at }: { event: InstanceBuildEvent; at: number },
): void {
  const host = hosts.get(hostName ?? '');
  if (host === undefined) return;
  const { memory } = host;
  if (type === 'BUILT' && stateOfBuild(build) === 'active') noteOutcome(host, true, at);
  if (type === 'BUILD_FAILED' || type === 'TIMED_OUT') noteOutcome(host, false, at);
  if (host.memory !== memory) feed.untold.add(host.host);
}

/** An attempt that ended while it may still run is to be cleared away, and so is all of a build that failed. */
function leaveBehind({ removals }: CellState, build: HostedBuild, attemptsBefore: number, since: number): void {
  const { attempts, attempt, instance } = build.snapshot.context;
  const ended = attempts.length > attemptsBefore ? attempts.at(-1) : undefined;
  const failed = stateOfBuild(build) === 'failed';
  if (ended?.mayRun === true && !failed) {
    beginRemoval(removals, { instance, attempt: ended.attempt, host: ended.host, final: false, since });
  }
  if (failed) {
    const host = ended?.mayRun === true ? ended.host : null;
    beginRemoval(removals, { instance, attempt, host, final: true, since });
  }
}
