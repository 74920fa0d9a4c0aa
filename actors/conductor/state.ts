// What a conductor shard owns, and how each row of it is stored.

import type { Address, SteadyTime } from '../actor.ts';
import { AskingWindow } from '../asking-window.ts';
import { endOfState, type HostedBuild, type StoredBuild, storeBuild, type Timing } from '../builds.ts';
import { Deleted } from '../deleted.ts';
import type { FailureCode, RequestSpec, TreeConditions } from '../messages/common.ts';
import type { Where } from '../messages/where.ts';
import { PassingSet } from '../passing-set.ts';
import { present } from '../present.ts';
import { Table } from '../table.ts';
import { KnownSchedulers } from './known-schedulers.ts';
import type { Likening } from './likening.ts';

/**
 * Where an instance is in the conductor's eyes: `here` while its build is hosted by this shard, `in-cell` from the
 * hand-over on, `failed` before it reached a cell, `deleting` while its cell clears it away, `deleted` for a while.
 */
type Phase = 'here' | 'in-cell' | 'failed' | 'deleting' | 'deleted';

export interface Entry {
  readonly request: string;
  /** What was asked for, in short: the same request sent again is told from another one of the same name. */
  readonly asked: string;
  /** The same in the caller's own words, where the operator's were added to them. */
  wished?: string | undefined;
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
interface Ends {
  /** Unless it waits: of one that may wait, while it has heard of no scheduler. */
  readonly unheard: SteadyTime;
  /** When it waits for a host; absent of one that may not. */
  readonly waiting?: SteadyTime;
}

/** Where a request may go, as placement checks it and as schedulers alone do. */
export interface Conditions {
  readonly tree?: TreeConditions | undefined;
  readonly where?: Where | undefined;
}

/** A request of which some instance waits for a host. */
export interface OpenRequest {
  spec: RequestSpec;
  where?: Where | undefined;
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
  /** When that was by the clock that nobody sets; null: it was in another life; not recorded. */
  parkedAt: SteadyTime | null;
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
  /** In this life it was found to go by other conditions than it did before; not recorded. */
  isRenewed: boolean;
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

/**
 * The line of those that wait. All wait at one scheduler: each knows who came first, and whose turn it is, only among
 * those that wait with it.
 */
export interface Line {
  readonly scheduler: Address;
  /** When that was heard last in this life; null: it was not, or it is lost; not recorded. */
  heardAt: SteadyTime | null;
  /** Whether it is taken to be gone, so that whoever answers first has the line from then on; not recorded. */
  isLost: boolean;
  /** How often those that wait were asked for since it is lost, and nobody has answered; not recorded. */
  soughtInVain: number;
}

/** A line of which nothing was heard in this life. */
export const lineAt = (scheduler: Address): Line => ({ scheduler, heardAt: null, isLost: false, soughtInVain: 0 });

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
  /** Where they wait; null: it is not known. */
  line: Line | null;
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
  /** Those of them that are not all held back while it is not known where those that wait are answered; not recorded. */
  readonly unaskedAhead: Set<string>;
  /** Whether those that are left unasked have a wake; not recorded. */
  isUnaskedArmed: boolean;
  /** How much is asked for at once; not recorded. */
  readonly window: AskingWindow;
  /** Questions for what is like a name, the one that is looked into first; not recorded. */
  readonly likenings: Likening[];
}

/** What is told of nearly all instances, kept once for all of them. */
export const TOLD_ACTIVE = { state: 'active' };
/** Of a request for which nobody was asked yet in this life. */
export const UNASKED = {
  ends: null,
  parkedAt: null,
  round: 0,
  isNew: false,
  isRenewed: false,
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
    unaskedAhead: new PassingSet(),
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

/** Has the schedulers be asked for what a request lacks, at the end of this turn or, where nobody was yet, in its order. */
export function wantHosts(state: ConductorState, request: string): void {
  const open = state.requests.get(request);
  if (open === undefined || (open.round === 0 && state.following.has(request))) return;
  if (open.round !== 0) return void state.toAsk.add(request);
  state.unasked.add(request);
  if (open.waitUntil === undefined || open.parked !== undefined) state.unaskedAhead.add(request);
}

export function noLongerUnasked({ unasked, unaskedAhead }: ConductorState, request: string): void {
  unasked.delete(request);
  unaskedAhead.delete(request);
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

/** A row of each table, as snapshots have it. */
export type StoredEntry = [string, Omit<Entry, 'build' | 'repeats'> & { build: StoredBuild | null }];
export type StoredRequest = [
  string,
  Pick<
    OpenRequest,
    'spec' | 'where' | 'project' | 'alternates' | 'ordered' | 'since' | 'waitUntil' | 'mayWaitMs' | 'parked'
  > & {
    waiting: string[];
    round?: number;
  },
];

function storeEntry(entry: Entry, instance: string): StoredEntry {
  const { request, asked, wished, phase, cell, build, told, decision } = entry;
  const { releaseOwed, owedSince, handedOver, deletedAt } = entry;
  const stored = build === null ? null : storeBuild(build);
  const more = present({ wished, decision, owedSince });
  return [instance, { request, asked, phase, cell, build: stored, told, releaseOwed, handedOver, deletedAt, ...more }];
}

function storeRequest(open: OpenRequest, id: string): StoredRequest {
  const { spec, where, project, alternates, ordered, since, waitUntil, mayWaitMs, parked, recorded, waiting } = open;
  const more = present({ where, project, ordered, since, waitUntil, mayWaitMs, parked });
  return [id, { spec, alternates, ...more, waiting: [...waiting], ...(recorded === 0 ? {} : { round: recorded }) }];
}
