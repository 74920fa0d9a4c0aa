// The hosts of a cell: which computes there are, whether each may be given instances, and what it is busy with.

import { type ComputeServiceEvent, type ComputeServiceState, computeService } from '../../machines/compute-service.ts';
import { begin, type Effect, revive, step } from '../../machines/step.ts';
import type { SteadyTime } from '../actor.ts';
import { type AttemptId, attemptKey } from '../attempts.ts';
import { firstListed } from '../count-words.ts';
import { afterFailure, afterSuccess } from '../failure-memory.ts';
import { cellDisabledWords, disabledWords } from '../host-words.ts';
import type { FailureMemory, HostState, HostStats } from '../messages/scheduler.ts';
import { SparseSet } from '../sparse-set.ts';
import type { Service } from './service.ts';

type ServiceSnapshot = ReturnType<typeof begin<typeof computeService>>['snapshot'];

export interface Host {
  readonly host: string;
  /** The root provider of the host. */
  provider: string;
  /** Which life of the compute the cell knows. */
  incarnation: string;
  /** Lives that later ones have taken the place of, oldest first: what comes from them counts no more. */
  readonly superseded: string[];
  /** Attempts that ran here when the cell met the host, and that it did not order: they are not its to destroy. */
  readonly foreign: SparseSet<string>;
  service: ServiceSnapshot;
  /** Since when its service is in that state, ms since the epoch; undefined: that is not known. */
  since: number | undefined;
  /** Instances whose attempt under way is on this host. */
  readonly building: SparseSet<string>;
  /** Instances that are here or on their way, those in `building` included. Follows from the instances. */
  readonly here: SparseSet<string>;
  /** Instances that were lost here, until nothing is owed of them any more. Follows from the instances. */
  readonly lost: SparseSet<string>;
  /** Those of them that are active and that the driver does not have any more. Follows from the instances. */
  readonly missing: SparseSet<string>;
  /** The list of what runs here by which that was changed last in this life of the compute; 0: by none. */
  listed: number;
  /** The last one by which the compute said anything in this life; 0: none. Not recorded. */
  listedLast: number;
  /** Builds ordered here since the cell came up; not recorded. */
  ordered: number;
  /** What the host's driver measures; not recorded. */
  metrics: Readonly<Record<string, number>> | undefined;
  /** Builds that failed here lately, for schedulers; it fades. */
  memory: FailureMemory | undefined;
  /** How many builds in a row have failed here since one succeeded, or since it came back from a rest. */
  failures: number;
  /** How often in a row it was set aside, with no build that succeeded in between. */
  rests: number;
  /** It has come back from a rest and has built nothing yet. */
  onProbation: boolean;
  /** How often operators have set it. */
  revision: number;
  /** Asks each other life than the known one that presents itself whether it lives, until one has answered; not recorded. */
  challenge: number | null;
  /** The last of these numbers: each is higher, also within one millisecond; not recorded. */
  lastChallenge: number;
  /** When the compute was last heard in this life, ms since the epoch; 0: it was not. Not recorded. */
  heardAt: number;
  /** The same by the clock that nobody sets, or since when it could be; not recorded. */
  heard: SteadyTime;
  /** When its rest is over; not recorded. */
  restsUntil: SteadyTime;
  /** What still runs there though an operator has said that nothing does: it is being destroyed; not recorded. */
  clearing: readonly AttemptId[];
  /** Attempts of which it said last that they run there, and that should not: see `attemptKey`; not recorded. */
  strays: SparseSet<string>;
  /** It has said nothing since the cell was away, held up or cut off, and could hear nobody; not recorded. */
  isUnheard: boolean;
}

/** Lives remembered of one host: those that are older have long been told. */
const MAX_SUPERSEDED = 16;

export type Hosts = Map<string, Host>;

export interface StoredHost {
  readonly host: string;
  readonly provider: string;
  readonly incarnation: string;
  readonly superseded: readonly string[];
  /** Absent when there are none. */
  readonly foreign?: readonly string[];
  readonly service: { value: ComputeServiceState; context: ServiceSnapshot['context'] };
  /** Absent where it is not known. */
  readonly since?: number;
  readonly memory?: FailureMemory;
  readonly failures: number;
  readonly rests: number;
  readonly onProbation: boolean;
  /** Absent when it was never set. */
  readonly revision?: number;
  /** Absent where nothing was missing in this life of the compute. */
  readonly listed?: number;
}

/** Whether an attempt was on the host before the cell knew of it, and so is not of its ordering. */
export function isForeign({ foreign }: Host, running: AttemptId): boolean {
  return foreign.size > 0 && foreign.has(attemptKey(running));
}

/** Takes note of a life of a compute; a host that is new begins as down, until its first word is stepped. */
export function meet(
  hosts: Hosts,
  host: string,
  provider: string,
  incarnation: string,
  foreign: readonly AttemptId[] = [],
): void {
  let entry = hosts.get(host);
  if (entry === undefined) {
    const met = { host, provider, incarnation, superseded: [], foreign: foreign.map(attemptKey) };
    entry = hostOf({ ...met, failures: 0, rests: 0, onProbation: false }, begin(computeService, { host }).snapshot);
    hosts.set(host, entry);
  }
  if (entry.incarnation !== incarnation) {
    entry.superseded.push(entry.incarnation);
    if (entry.superseded.length > MAX_SUPERSEDED) entry.superseded.shift();
    Object.assign(entry, { listed: 0, listedLast: 0 });
  }
  entry.challenge = null;
  entry.clearing = [];
  entry.provider = provider;
  entry.incarnation = incarnation;
}

/** Steps the service of a host; null when the event changes nothing. */
export function stepService(entry: Host, event: ComputeServiceEvent, at?: number): readonly Effect[] | null {
  const { snapshot, effects } = step(computeService, entry.service, event);
  if (snapshot === entry.service) return null;
  if (snapshot.value === 'aside' && event.type === 'SET_ASIDE') entry.rests += 1;
  const { rest } = entry.service.context;
  if (snapshot.value !== entry.service.value) entry.since = at;
  entry.service = snapshot;
  if (rest !== null && snapshot.context.rest === null) {
    entry.failures = 0;
    // Who was put back by an operator begins anew.
    entry.onProbation = event.type === 'RESTED';
    if (!entry.onProbation) entry.rests = 0;
  }
  return effects;
}

export function stateOfHost({ service }: Host): ComputeServiceState {
  return service.value;
}

/** Whether the compute of a host cannot be told anything, or is not to be listened to. */
export function isAway(entry: Host): boolean {
  const state = stateOfHost(entry);
  return state === 'down' || state === 'fenced';
}

/** A host as its cell sees it. */
export const viewOfHost = (entry: Host): HostState => toldHost(entry, { disabled: null });

/** Why a host is disabled, by itself or else with its cell; null: it is not. Of one that is away it holds when it comes back. */
export function whyDisabled({ service }: Host, { disabled }: Pick<Service, 'disabled'>): string | null {
  return service.context.disabledReason ?? (disabled === null ? null : cellDisabledWords(disabled));
}

/** As it is told to others: with its cell, where that is out of service as a whole, it is offered nothing new either. */
export function toldHost(entry: Host, ofCell: Pick<Service, 'disabled'>): HostState {
  const { host, provider, service } = entry;
  const disabledReason = whyDisabled(entry, ofCell);
  const { rest } = service.context;
  const own = stateOfHost(entry);
  const state = disabledReason === null || isAway(entry) ? own : 'disabled';
  const told = {
    stats: statsOf(entry),
    ...(entry.memory === undefined ? {} : { failures: entry.memory }),
    ...(entry.revision === 0 ? {} : { revision: entry.revision }),
  };
  if (state === 'aside') return { host, provider, state: 'set-aside', ...rest, ...told };
  const isWithCell = disabledReason !== null && ofCell.disabled !== null;
  const isAlsoDisabled = disabledReason !== null && (isAway(entry) || (isWithCell && own === 'disabled'));
  // Whoever enables a host ends its rest, too.
  const isAside = rest !== null && (isAway(entry) ? disabledReason === null : isWithCell && own !== 'disabled');
  const also = {
    ...(isWithCell ? { withCell: true as const } : {}),
    ...(isAlsoDisabled ? { disabled: true as const } : {}),
    ...(isAside ? { asideUntil: rest.until } : {}),
  };
  if (state === 'fenced') {
    return { host, provider, state, reason: fencedWords(entry, disabledReason), ...also, ...told };
  }
  return { host, provider, state, ...(disabledReason === null ? {} : { reason: disabledReason }), ...also, ...told };
}

/** Of how many that the cell did not order it is told which: a host must fit a page. */
const MOST_FOREIGN_NAMED = 2_048;

/** As it stands in lists: of changes it is not told what is foreign. */
export function listedHost(entry: Host, service: Service): HostState {
  const { foreign } = entry;
  if (foreign.size === 0) return toldHost(entry, service);
  return {
    ...toldHost(entry, service),
    foreign: { count: foreign.size, named: [...foreign].slice(0, MOST_FOREIGN_NAMED) },
  };
}

export function viewOfNamed(hosts: Hosts, name: string, service: Service): HostState[] {
  const entry = hosts.get(name);
  return entry === undefined ? [] : [listedHost(entry, service)];
}

function statsOf({ here, building, ordered, metrics }: Host): HostStats {
  return { instances: here.size, builds: building.size, ordered, ...(metrics === undefined ? {} : { metrics }) };
}

/** Of how many attempts it is said which they are. */
const MOST_NAMED = 3;

/** What there is to know of a fenced host. */
function fencedWords({ clearing }: Host, disabledReason: string | null): string {
  const then = disabledReason === null ? '' : `, and is then ${disabledWords(disabledReason)}`;
  const stated = 'an operator has stated that nothing runs there';
  if (clearing.length === 0) return `${stated}; it comes back when its compute is started anew${then}`;
  const named = clearing.slice(0, MOST_NAMED).map(({ instance, attempt }) => `${instance} attempt ${attempt}`);
  return `${stated}, and its compute, started anew, has ${firstListed(named, clearing.length)}: it comes back when they are destroyed${then}`;
}

/** Takes note of what came of a build on a host, for or against it. */
export function noteOutcome(entry: Host, isGood: boolean, at: number): void {
  entry.memory = isGood ? afterSuccess(entry.memory, at) : afterFailure(entry.memory, at);
  if (isGood) Object.assign(entry, { failures: 0, rests: 0, onProbation: false });
  else entry.failures += 1;
}

export function storeHost(entry: Host): StoredHost {
  const { host, provider, incarnation, superseded, foreign, service, failures, rests, onProbation, memory } = entry;
  return {
    host,
    provider,
    incarnation,
    superseded: [...superseded],
    service: { value: service.value, context: service.context },
    failures,
    rests,
    onProbation,
    ...(foreign.size === 0 ? {} : { foreign: [...foreign] }),
    ...(memory === undefined ? {} : { memory }),
    ...(entry.since === undefined ? {} : { since: entry.since }),
    ...(entry.revision === 0 ? {} : { revision: entry.revision }),
    ...(entry.listed === 0 ? {} : { listed: entry.listed }),
  };
}

export function restoreHost(stored: StoredHost): Host {
  return hostOf(stored, revive(computeService, stored.service));
}

/** A host of which nothing was heard in this life of the cell. */
function hostOf(stored: Omit<StoredHost, 'service'>, service: ServiceSnapshot): Host {
  const { host, provider, incarnation, superseded, failures, rests, onProbation } = stored;
  return {
    host,
    provider,
    incarnation,
    superseded: [...superseded],
    foreign: new SparseSet(stored.foreign),
    service,
    since: stored.since,
    building: new SparseSet(),
    here: new SparseSet(),
    lost: new SparseSet(),
    missing: new SparseSet(),
    listed: stored.listed ?? 0,
    listedLast: 0,
    ordered: 0,
    metrics: undefined,
    memory: stored.memory,
    failures,
    rests,
    onProbation,
    revision: stored.revision ?? 0,
    challenge: null,
    lastChallenge: 0,
    heardAt: 0,
    heard: 0,
    restsUntil: 0,
    clearing: [],
    strays: new SparseSet(),
    isUnheard: false,
  };
}
