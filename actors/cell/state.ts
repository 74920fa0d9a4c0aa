// What a cell owns, and how its records change it: the one account of its state, live and on replay.

import type { ComputeServiceEvent } from '../../machines/compute-service.ts';
import type { InstanceBuildEvent } from '../../machines/instance-build.ts';
import type { RemovalEvent } from '../../machines/removal.ts';
import type { Effect } from '../../machines/step.ts';
import type { Address, SteadyTime } from '../actor.ts';
import {
  adoptBuild,
  type BuildFacts,
  type HostedBuild,
  restoreBuild,
  type StateDeadlines,
  type StoredBuild,
  type StoredSnapshot,
  stateOfBuild,
  stepBuild,
  storeBuild,
} from '../builds.ts';
import { Deleted } from '../deleted.ts';
import type { InstanceView } from '../messages/gateway.ts';
import { PassingMap } from '../passing-map.ts';
import { PassingSet } from '../passing-set.ts';
import { present } from '../present.ts';
import { inSteps, type Snapshot, snapshotOf } from '../snapshot.ts';
import { rowsOf, Table } from '../table.ts';
import {
  type Host,
  meet,
  noteOutcome,
  type Running,
  restoreHost,
  type StoredHost,
  stepService,
  storeHost,
} from './hosts.ts';
import { beginRemoval, Removals, removalKey, restoreRemoval, type StoredRemoval, stepRemoval } from './removals.ts';
import { type Shared, shared } from './sharing.ts';

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
  | { type: 'met'; host: string; provider: string; incarnation: string; foreign?: readonly Running[] | undefined }
  /** `at` is absent of nodes of before. */
  | { type: 'host-event'; host: string; event: ComputeServiceEvent; at?: number }
  /** An operator has set it, if only to what it was. */
  | { type: 'host-set'; host: string }
  /** It does not come back, and nothing of it is left. */
  | { type: 'host-removed'; host: string; at: number };

export interface Entry {
  readonly build: HostedBuild;
  /** The caller wants it gone. */
  deleting: boolean;
  /** It was active on a host that was fenced: why, when if that is known, and whether its conductor has taken note. */
  lost: { readonly reason: string; readonly at?: number; readonly told: boolean } | null;
  /** Since when it is known that its host does not have it, though it is active, ms since the epoch. */
  missingSince: number | null;
}

export interface CellState extends Shared {
  readonly instances: Table<Entry>;
  readonly removals: Removals;
  /** When each deleted instance was gone, ms since the epoch, oldest first. */
  readonly deleted: Deleted;
  /** When each host that was removed was, as of what is deleted. */
  readonly removedHosts: Deleted;
  /** Hosts that are to be removed when placement has let go of them, by root provider, and who asked; not recorded. */
  readonly leaving: Map<string, Leaving>;
  /** What the feed has still to tell of this turn, and its numbering in this life; not recorded. */
  readonly feed: {
    readonly untold: Set<string>;
    /** Hosts of which only the counts changed, and nobody waits for that: they are told with the next beat. */
    readonly recounted: Set<string>;
    /** The root providers of hosts that are no more. */
    readonly gone: Set<string>;
    /** Somebody waits to hear that a build has ended. */
    tellsBuilds: boolean;
    epoch: number;
    sequence: number;
  };
  /** Builds on their way to another placement shard; not recorded. */
  readonly moves: Map<string, Move>;
  /** What drivers said instead of what came of an attempt, by instance; not recorded, for they are asked again. */
  readonly troubles: Map<string, Trouble>;
  /** When silent hosts were last looked for; not recorded. */
  swept: SteadyTime;
  /** How many hosts are in service, and how many of these rest, as they were counted last; null: they have changed since. */
  inService: { readonly hosts: number; readonly resting: number } | null;
}

/**
 * A build whose next attempt is claimed in another placement shard: those where earlier ones were give back first what
 * they hold, and grant nothing that is late. Whoever recovers asks them again.
 */
interface Move {
  readonly attempt: number;
  /** The shards that have still to answer. */
  readonly left: Set<Address>;
}

export interface Leaving {
  readonly host: string;
  readonly ask: number;
  readonly asker: Address;
}

export type Trouble = NonNullable<InstanceView['trouble']>;

interface StoredEntry {
  readonly build: StoredBuild;
  readonly deleting: boolean;
  readonly lost?: Entry['lost'];
  /** Absent when it is not missing. */
  readonly missingSince?: number;
}

export interface StoredCell {
  readonly instances: readonly StoredEntry[];
  readonly removals: readonly StoredRemoval[];
  readonly hosts: readonly StoredHost[];
  readonly deleted: readonly [string, number][];
  /** Absent in snapshots of before hosts could be removed. */
  readonly removedHosts?: readonly [string, number][];
}

export function emptyCell(): CellState {
  return {
    instances: new Table(storeEntry),
    specs: new Map(),
    lastSpec: null,
    selections: new Map(),
    removals: new Removals(),
    hosts: new Map(),
    deleted: new Deleted(),
    removedHosts: new Deleted(),
    leaving: new Map(),
    feed: {
      untold: new PassingSet(),
      recounted: new PassingSet(),
      gone: new PassingSet(),
      tellsBuilds: false,
      epoch: 0,
      sequence: 0,
    },
    moves: new PassingMap(),
    troubles: new PassingMap(),
    swept: 0,
    inService: null,
  };
}

const NO_EFFECTS: readonly Effect[] = [];

/** Applies a record and answers the effects of the machine that it stepped; they count only where it is made. */
export function applyToCell(state: CellState, record: CellRecord, deadlines: StateDeadlines): readonly Effect[] {
  switch (record.type) {
    case 'started': {
      const { facts, snapshot } = shared(state, record);
      const build = adoptBuild(facts, snapshot, record.at, deadlines);
      const entry = { build, deleting: false, lost: null, missingSince: null };
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
    case 'removal-event':
      stepRemoval(state.removals, record.key, record.event);
      return NO_EFFECTS;
    case 'deleted':
      noteWhereItIs(state, record.instance, homeOf(state.instances.get(record.instance)), null);
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

/** Keeps each host's list of the builds under way on it. */
function noteWhereItBuilds({ hosts, feed }: CellState, build: HostedBuild, before: string | undefined): void {
  const state = stateOfBuild(build);
  const host = build.snapshot.context.selection?.host;
  const underWay = state === 'claimed' || state === 'building';
  if (before !== undefined && !(underWay && before === host)) {
    const hasEnded = hosts.get(before)?.building.delete(build.facts.instance) === true;
    if (hasEnded && feed.tellsBuilds) feed.untold.add(before);
  }
  const entered = underWay ? hosts.get(host ?? '') : undefined;
  if (entered === undefined || entered.building.has(build.facts.instance)) return;
  entered.building.add(build.facts.instance);
  entered.ordered += 1;
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

function noteMissingIn({ hosts }: CellState, instance: string, entry: Entry): void {
  if (entry.missingSince !== null) hosts.get(homeOf(entry) ?? '')?.missing.add(instance);
}

function noteListed({ hosts }: CellState, entry: Entry, listed: number): void {
  const host = hosts.get(homeOf(entry) ?? '');
  if (host !== undefined) host.listed = listed;
}

function missNoMore({ hosts }: CellState, instance: string, entry: Entry): void {
  if (entry.missingSince === null) return;
  hosts.get(homeOf(entry) ?? '')?.missing.delete(instance);
  entry.missingSince = null;
}

/** The host that an instance is on, or is to be built on: of one that has failed, none is selected any more. */
function homeOf(entry: Entry | undefined): string | null {
  if (entry === undefined || entry.lost !== null) return null;
  return entry.build.snapshot.context.selection?.host ?? null;
}

/**
 * Keeps the list of the instances on each host. What is to go to a host that the cell does not know goes elsewhere at once.
 * That one has left is told at once too: schedulers compare what placement has there with what the cell has.
 */
function noteWhereItIs(
  { hosts, feed }: CellState,
  instance: string,
  before: string | null,
  after: string | null,
): void {
  if (before !== after) {
    hosts.get(before ?? '')?.here.delete(instance);
    hosts.get(after ?? '')?.here.add(instance);
    if (before !== null) feed.untold.add(before);
  }
  // What is being built there may have changed, where nothing else did.
  if (after !== null) feed.recounted.add(after);
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

function storeEntry({ build, deleting, lost, missingSince }: Entry): StoredEntry {
  return {
    build: storeBuild(build),
    deleting,
    ...(lost === null ? {} : { lost }),
    ...(missingSince === null ? {} : { missingSince }),
  };
}

export function storeCell({ instances, removals, hosts, deleted, removedHosts }: CellState): Snapshot {
  return snapshotOf(
    {},
    {
      instances: instances.capture(),
      removals: removals.capture(),
      hosts: rowsOf([...hosts.values()].map(storeHost)),
      deleted: deleted.capture(),
      removedHosts: removedHosts.capture(),
    },
  );
}

export function* restoreCell(parts: StoredCell): Generator<void, CellState> {
  const { instances, removals, hosts, deleted, removedHosts = [] } = parts;
  const state = emptyCell();
  for (const host of hosts) state.hosts.set(host.host, restoreHost(host));
  yield* inSteps(instances, ({ build, deleting, lost = null, missingSince = null }) => {
    if (state.instances.has(build.facts.instance)) return;
    const restored = restoreBuild(shared(state, build));
    const entry = { build: restored, deleting, lost, missingSince };
    state.instances.set(build.facts.instance, entry);
    noteWhereItBuilds(state, restored, undefined);
    noteWhereItIs(state, build.facts.instance, null, homeOf(entry));
    noteMissingIn(state, build.facts.instance, entry);
  });
  yield* inSteps(removals, (stored) => {
    state.removals.set(removalKey(stored.context), restoreRemoval(stored));
  });
  state.deleted.restore(deleted);
  state.removedHosts.restore(removedHosts);
  return state;
}
