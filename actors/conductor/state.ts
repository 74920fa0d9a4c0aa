// What a conductor shard owns, and how its records change it: the one account of its state, live and on replay.

import type { InstanceBuildEvent } from '../../machines/instance-build.ts';
import type { Effect } from '../../machines/step.ts';
import type { Address, SteadyTime } from '../actor.ts';
import { AskingWindow } from '../asking-window.ts';
import {
  type BuildFacts,
  beginBuild,
  endOfState,
  type HostedBuild,
  restoreBuild,
  type StateDeadlines,
  type StoredBuild,
  stateOfBuild,
  stepBuild,
  storeBuild,
  type Timing,
} from '../builds.ts';
import { Deleted } from '../deleted.ts';
import type { FailureCode, RequestSpec } from '../messages/common.ts';
import type { Where } from '../messages/where.ts';
import { PassingSet } from '../passing-set.ts';
import { present } from '../present.ts';
import { inSteps, type Snapshot, snapshotOf } from '../snapshot.ts';
import { Table } from '../table.ts';
import { fingerprintOf } from './fingerprint.ts';
import { KnownSchedulers } from './known-schedulers.ts';
import type { Likening } from './likening.ts';

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

/**
 * Where an instance is in the conductor's eyes: `here` while its build is hosted by this shard, `in-cell` from the
 * hand-over on, `failed` before it reached a cell, `deleting` while its cell clears it away, `deleted` for a while.
 */
type Phase = 'here' | 'in-cell' | 'failed' | 'deleting' | 'deleted';

export interface Entry {
  readonly request: string;
  /** What was asked for, in short: the same request sent again is told from another one of the same name. */
  readonly asked: string;
  phase: Phase;
  cell: string | null;
  build: HostedBuild | null;
  /** What the cell said last of a build that is its own; the cell knows better. */
  told: { state: string; code?: FailureCode | undefined; reason?: string | undefined } | null;
  /** The record of the scheduler's decision, as it told it. */
  decision?: string | undefined;
  /** Whether placement has still to say that it gave back what was held. */
  releaseOwed: boolean;
  /** Since when a release or a removal is owed, ms since the epoch, if it is. */
  owedSince?: number | undefined;
  /** Whether the cell ever said that the instance is its own. */
  handedOver: boolean;
  deletedAt: number;
  repeats: number;
}

/** When a request ends that has no host by then. */
export interface Ends {
  /** Unless it waits: of one that may wait, while it has heard of no scheduler. */
  readonly unheard: SteadyTime;
  /** When it waits for a host; absent of one that may not. */
  readonly waiting?: SteadyTime;
}

/** A request of which some instance waits for a host. */
export interface OpenRequest {
  readonly spec: RequestSpec;
  readonly where?: Where | undefined;
  readonly project?: string | undefined;
  readonly alternates: number;
  /** Its instances get hosts together or none, and what some have got may have to be given back: see nextRound. */
  readonly ordered?: true;
  readonly waiting: Set<string>;
  /** When it was accepted, ms since the epoch. */
  readonly since?: number | undefined;
  /** Until when it may wait for a host, ms since the epoch; absent: not at all. */
  readonly waitUntil?: number | undefined;
  /** How long that is, ms; absent of requests that nodes of before this was kept have stored. */
  readonly mayWaitMs?: number | undefined;
  /** Since when it waits, and why no host had room when it was tried first. */
  parked?: { readonly at: number; readonly reason: string } | undefined;
  /** Why none had room when that was heard last, and of which scheduler, which tries it; not recorded. */
  latest?:
    | {
        readonly at: number;
        readonly reason: string;
        readonly decision: string | undefined;
        readonly scheduler: Address;
        /** Whether it tells less than is told of such requests now and then. */
        readonly isBrief: boolean;
        /** The same as `at`, by the clock that nobody sets. */
        readonly heard: SteadyTime;
      }
    | undefined;
  /** When it ends, as is settled in this life; not recorded. */
  ends: Ends | null;
  /**
   * Its time is over: until when an answer is waited for that tells why it has no host at last; not recorded.
   */
  lastUntil?: SteadyTime;
  /** Tells this round of asking from earlier ones; not recorded. 0: in this life nobody was asked yet. */
  round: number;
  /** The last round that was recorded, or 0. */
  recorded: number;
  /** Nobody was ever asked, in no life; not recorded. */
  isNew: boolean;
  /** The scheduler that has taken the round, where it has to; not recorded. */
  taker: string | null;
  /** The scheduler that has said last that it is at this round; not recorded. */
  scheduler: Address | null;
  /** The placement shards that had not answered a scheduler, as it said last, in this round or the one before; not recorded. */
  awaits: { readonly scheduler: Address; readonly round: number; readonly shards: readonly number[] } | null;
  /** When it was asked for last; not recorded. */
  askedAt: SteadyTime;
  /** How often it was asked for since a scheduler has answered anything about it, or ever; not recorded. */
  unanswered: number;
  /** When the first of those questions was put; not recorded. */
  unansweredSince: SteadyTime;
  repeats: number;
  /** How often it was asked for where others wait since it was answered there; not recorded. */
  inVain: number;
}

export interface ConductorState {
  readonly instances: Table<Entry>;
  readonly requests: Table<OpenRequest>;
  /** Deleted instances that are remembered; follows from `instances`. */
  readonly deleted: Deleted;
  /** Instances that are in a cell and of whose end nothing was heard; follows from `instances`. */
  readonly unended: Set<string>;
  /** Those of them that have still to be asked about this time; not recorded. */
  asking: Iterator<string> | null;
  /** Requests that wait for a host; follows from `requests`. */
  readonly parked: Set<string>;
  /** The one of them that came first, where that is known; not recorded. */
  firstParked: string | null;
  /** Those of them that only stand in line to have the room that there is for them; not recorded: after a crash all count. */
  readonly withRoom: Set<string>;
  /**
   * The scheduler at which they wait, all at one: each knows who came first, and whose turn it is, only among those that
   * wait with it. Null: it is not known. When it was heard last in this life is not recorded; null: it was not.
   */
  line: { readonly scheduler: Address; heardAt: SteadyTime | null } | null;
  /** Those that answer, whatever they were asked for; not recorded. */
  readonly schedulers: KnownSchedulers;
  /** The place in line of the request that was accepted last of those that may wait; follows from `requests`. */
  lastInLine: number;
  /** The placement shards that have still to say that they gave back what an instance held; not recorded. */
  readonly releasing: Map<string, Set<Address>>;
  /** Requests for which a scheduler is to be asked at the end of the turn; not recorded. */
  readonly toAsk: Set<string>;
  /** Those that were not answered and are to be asked for again as there is room, longest due first; not recorded. */
  readonly again: Set<string>;
  /** Those that wait and are to be asked for where the first of them waits now, in order; after a crash all; not recorded. */
  readonly following: Set<string>;
  /** Those for which nobody was asked yet in this life, in the order in which they were accepted; not recorded. */
  readonly unasked: Set<string>;
  /** Whether those that are left unasked have a wake; not recorded. */
  isUnaskedArmed: boolean;
  /** How much is asked for at once; not recorded. */
  readonly window: AskingWindow;
  /** Questions for what is like a name, the one that is looked into first; not recorded. */
  readonly likenings: Likening[];
}

/** What is told of nearly all instances, kept once for all of them. */
const TOLD_ACTIVE = { state: 'active' };
const UNASKED = {
  ends: null,
  round: 0,
  isNew: false,
  taker: null,
  scheduler: null,
  awaits: null,
  askedAt: 0,
  unanswered: 0,
  unansweredSince: 0,
  repeats: 0,
  inVain: 0,
};

export function emptyConductor(): ConductorState {
  return {
    instances: new Table(storeEntry),
    requests: new Table(storeRequest),
    deleted: new Deleted(),
    unended: new PassingSet(),
    asking: null,
    parked: new Set(),
    firstParked: null,
    withRoom: new Set(),
    line: null,
    schedulers: new KnownSchedulers(),
    lastInLine: 0,
    releasing: new Map(),
    toAsk: new PassingSet(),
    again: new PassingSet(),
    following: new PassingSet(),
    unasked: new PassingSet(),
    isUnaskedArmed: false,
    window: new AskingWindow(),
    likenings: [],
  };
}

export function entryOf(state: Pick<ConductorState, 'instances'>, instance: string): Entry {
  const entry = state.instances.get(instance);
  if (entry === undefined) throw new Error(`a record names the instance '${instance}', which is not known`);
  return entry;
}

/** The entry of a record that changes it. */
function changing({ instances }: ConductorState, instance: string): Entry {
  instances.touch(instance);
  return entryOf({ instances }, instance);
}

/** Has the schedulers be asked for what a request lacks, at the end of this turn or, where nobody was yet, in its order. */
export function wantHosts({ requests, toAsk, unasked, following }: ConductorState, request: string): void {
  const open = requests.get(request);
  if (open === undefined || (open.round === 0 && following.has(request))) return;
  if (open.round === 0) unasked.add(request);
  else toAsk.add(request);
}

/** When the instances of a request that wait for a host give up. */
export function endOfRequest(state: ConductorState, open: OpenRequest, timing: Timing): SteadyTime {
  open.ends ??= endsOf(state, open, timing);
  const { unheard, waiting } = open.ends;
  // One that waits has heard of a scheduler: it waits as long as was asked for, and no longer but to be told why in vain.
  return open.parked === undefined || waiting === undefined ? unheard : (open.lastUntil ?? waiting);
}

/** Another life, whose clock may have been ahead, has said no more than the time of day: from now on nobody looks longer than he may. */
function endsOf(state: ConductorState, { waiting, waitUntil, mayWaitMs }: OpenRequest, timing: Timing): Ends {
  const { now, steady } = timing.turn;
  const [first] = waiting;
  const build = entryOf(state, first as string).build as HostedBuild;
  if (waitUntil === undefined) return { unheard: endOfState(build, timing) ?? Number.POSITIVE_INFINITY };
  const most = mayWaitMs ?? Number.POSITIVE_INFINITY;
  const mostUnheard = Math.max(most, timing.deadlines.requested ?? 0);
  return {
    unheard: steady + Math.min((build.deadlineAt ?? waitUntil) - now, mostUnheard),
    waiting: steady + Math.min(waitUntil - now, most),
  };
}

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
    case 'line':
      state.line = { scheduler: record.scheduler, heardAt: null };
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
  const asked = fingerprintOf(facts, instances.length, alternates, waitsMs);
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
    const [build] = beginBuild({ instance, ...facts }, at, deadlines);
    if (waitUntil !== undefined) build.deadlineAt = Math.max(waitUntil, build.deadlineAt ?? waitUntil);
    state.instances.set(instance, {
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
    });
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

export interface StoredConductor {
  /** The scheduler at which requests wait; absent: it is not known, as of nodes of before it was recorded. */
  line?: Address;
  instances: [string, Omit<Entry, 'build' | 'repeats'> & { build: StoredBuild | null }][];
  requests: [
    string,
    Pick<
      OpenRequest,
      'spec' | 'where' | 'project' | 'alternates' | 'ordered' | 'since' | 'waitUntil' | 'mayWaitMs' | 'parked'
    > & {
      waiting: string[];
      round?: number;
    },
  ][];
}

function storeEntry(entry: Entry, instance: string): StoredConductor['instances'][number] {
  const { request, asked, phase, cell, build, told, decision, releaseOwed, owedSince, handedOver, deletedAt } = entry;
  const stored = build === null ? null : storeBuild(build);
  const more = present({ decision, owedSince });
  return [instance, { request, asked, phase, cell, build: stored, told, releaseOwed, handedOver, deletedAt, ...more }];
}

function storeRequest(open: OpenRequest, id: string): StoredConductor['requests'][number] {
  const { spec, where, project, alternates, ordered, since, waitUntil, mayWaitMs, parked, recorded, waiting } = open;
  const more = present({ where, project, ordered, since, waitUntil, mayWaitMs, parked });
  return [id, { spec, alternates, ...more, waiting: [...waiting], ...(recorded === 0 ? {} : { round: recorded }) }];
}

export function storeConductor({ line, instances, requests }: ConductorState): Snapshot {
  return snapshotOf(line === null ? {} : { line: line.scheduler }, {
    instances: instances.capture(),
    requests: requests.capture(),
  });
}

export function* restoreConductor(stored: StoredConductor): Generator<void, ConductorState> {
  const { line, instances, requests } = stored;
  const state = emptyConductor();
  if (line !== undefined) state.line = { scheduler: line, heardAt: null };
  const deleted: [string, number][] = [];
  yield* inSteps(instances, ([instance, stored]) => {
    if (state.instances.has(instance)) return;
    const entry = restoreEntry(stored);
    if (entry.phase === 'deleted') deleted.push([instance, entry.deletedAt]);
    state.instances.set(instance, entry);
    if (entry.phase === 'in-cell' && entry.told === null) state.unended.add(instance);
  });
  state.deleted.restore(deleted);
  yield* inSteps(requests, ([id, { waiting, round: recorded = 0, ...open }]) => {
    state.requests.set(id, { ...open, waiting: new Set(waiting), recorded, ...UNASKED });
    if (open.parked !== undefined) state.parked.add(id);
    state.lastInLine = Math.max(state.lastInLine, open.since ?? 0);
  });
  return state;
}

/** Made field by field: there may be a million, and the engine takes long over each that is made of another by spreading. */
function restoreEntry(stored: StoredConductor['instances'][number][1]): Entry {
  const { request, asked, phase, cell, told, decision, releaseOwed, owedSince, handedOver, deletedAt } = stored;
  const build = stored.build === null ? null : restoreBuild(stored.build);
  const entry: Entry = {
    request,
    asked,
    phase,
    cell,
    build,
    told: told?.state === 'active' ? TOLD_ACTIVE : told,
    releaseOwed,
    handedOver,
    deletedAt,
    repeats: 0,
  };
  if (decision !== undefined) entry.decision = decision;
  if (owedSince !== undefined) entry.owedSince = owedSince;
  return entry;
}
