// The compute of one host: it carries its cell's orders to its driver and says what came of them. It owns nothing but
// what its driver reports, and keeps no journal: after a restart it asks the driver what runs, presents itself, and
// is asked again for whatever it had not answered.
//
// It takes: build, destroy, welcome, who-are-you, retired, tree-withdrawn (from its cell), tree-put, tree-refused (from
// placement), list-instances, list-driven (from gateways), and its driver's answers. See actors/messages/compute.ts.

import type { Actor, Address, SteadyTime, Turn, Wake } from '../actor.ts';
import { type Patience, waitMs } from '../builds.ts';
import type { Metrics } from '../messages/common.ts';
import type { ComputeBuild, ComputeMessage, DriverAnswer } from '../messages/compute.ts';
import type { ProviderSpec } from '../messages/placement.ts';
import { PassingMap } from '../passing-map.ts';
import { cellAddress, driverAddress, fnv1a, placementOf } from '../routing.ts';
import { snapshotOf } from '../snapshot.ts';
import { readWake, wakeId } from '../wakes.ts';
import { isSameTree } from './same-tree.ts';

export interface ComputeOptions {
  readonly cell: string;
  readonly host: string;
  /** Names each life of the compute that begins: orders for another one are not carried out. */
  readonly incarnation: () => string;
  /** How many placement shards the deployment has; default 1. */
  readonly placementShards?: number;
  /** How often the compute says that it is alive, ms; default 5,000. Less than `silentMs` of its cell, by far. */
  readonly heartbeatMs?: number;
  /**
   * How often the driver is asked what the host has while the compute is up, ms, at a heartbeat; default 60,000, as often
   * as Nova's computes look (`update_resources_interval`). Every fifth time placement is told again, even if nothing has
   * changed.
   */
  readonly inventoryEveryMs?: number;
  /** How long to wait for an answer before a step is done again, ms; default 500 at first, 10,000 at most. */
  readonly patience?: Patience;
  /**
   * How long it is known what came of an attempt that is over, ms; default an hour, as cells and placement remember what was
   * deleted. Less than `rememberDeletedMs` of the conductors: after that another instance may have its name.
   */
  readonly rememberEndedMs?: number;
}

export const DEFAULT_HEARTBEAT_MS = 5_000;

const DEFAULTS = {
  heartbeatMs: DEFAULT_HEARTBEAT_MS,
  inventoryEveryMs: 60_000,
  patience: { firstMs: 500, mostMs: 10_000 },
  rememberEndedMs: 3_600_000,
} as const;

/** At how many moments of a period computes say that they are alive. */
const BEAT_MOMENTS = 50;

/**
 * How often the driver is asked what the host has until placement is told its tree again, in case that is gone, or what it
 * was told before came late: a caller of the Placement API may have taken it away.
 */
const LOOKS_UNTIL_TOLD = 5;

const RETRY_WAKE = 'retry';

/** So many times a cell asks for an end, at its slowing pace, before the driver is asked for it again. */
const ASKS_FOR_DRIVER = 4;

/** Attempts that are over and whose outcome is still known, should the cell ask again. */
const MAX_REMEMBERED = 4_096;

type Outcome =
  | { state: 'built' }
  | { state: 'failed'; reason: string }
  | { state: 'aborted'; reason: string }
  | { state: 'destroyed' };

/** What came of an attempt, and when. */
interface Ended {
  readonly outcome: Outcome;
  readonly at: SteadyTime;
  /** How often its driver was told to build it and has not come back yet: it may still say that it is built. */
  builds: number;
}

/** An attempt that is on the host. */
interface Running {
  readonly instance: string;
  readonly attempt: number;
}

/** An attempt on this host. `found` was there when the compute started: the driver knows what it is. */
interface Job extends Running {
  state: 'found' | 'building' | 'built' | 'destroying';
  /** The order, to give it to the driver again; absent for what was found. */
  order: ComputeBuild | null;
  repeats: number;
  /** How often its cell has asked for its end since the driver was, which has not answered; null: it has. */
  asked: number | null;
  /** How often the driver was told to build it and has not come back yet. */
  builds: number;
}

/**
 * What the compute does before it is up: learn its tree, tell placement, present itself to the cell. Once retired, it
 * takes no orders and says nothing but what comes of those that it took: another compute serves the host.
 */
type Phase = 'describing' | 'registering' | 'greeting' | 'up' | 'retired';

export interface ComputeState {
  /** Names this life. */
  readonly incarnation: string;
  phase: Phase;
  providers: readonly ProviderSpec[];
  /** Those that placement has taken. */
  taken: readonly ProviderSpec[] | null;
  /** Counts how often the driver told other providers than before, from a number on that is this life's own. */
  changes: number;
  /** From when on the driver is asked again what the host has, and how often it has been. */
  looksAt: SteadyTime;
  looks: number;
  /** What the driver measured last; null while it is not known whether it measures at all, or it does not. */
  metrics: Metrics | null;
  measures: boolean;
  readonly jobs: Map<string, Job>;
  /** What came of attempts that are over, oldest first. */
  readonly outcomes: Map<string, Ended>;
  repeats: number;
  /** Once up, placement is told the tree with every beat until it has heard. */
  owesTree: boolean;
}

interface Settings extends Required<Omit<ComputeOptions, 'incarnation'>> {
  readonly toCell: Address;
  readonly toDriver: Address;
}

/** What the parts of a compute work with while they decide. */
interface Work {
  readonly settings: Settings;
  readonly state: ComputeState;
  readonly turn: Turn<never>;
}

type TreeAnswer = Extract<ComputeMessage, { type: 'tree-put' | 'tree-refused' }>;

const keyOf = (instance: string, attempt: number): string => `${instance} ${attempt}`;

// --- coming up

/** Does what the phase asks for, and again until it is answered. Once up, it only says that it is alive. */
function comeUp(work: Work): void {
  const { settings, state, turn } = work;
  const { host, patience, toCell, toDriver } = settings;
  let awaited = toCell;
  switch (state.phase) {
    case 'describing':
      awaited = toDriver;
      turn.send(awaited, { type: 'describe' });
      break;
    case 'registering':
      awaited = tellTree(work);
      break;
    case 'greeting':
      present(work);
      break;
    case 'up':
      turn.send(toCell, {
        type: 'alive',
        host,
        incarnation: state.incarnation,
        ...(state.metrics === null ? {} : { metrics: state.metrics }),
      });
      if (state.measures) turn.send(toDriver, { type: 'measure' });
      if (turn.steady >= state.looksAt) lookAgain(work);
      if (state.owesTree) tellTree(work);
      return turn.wakeAfter('come-up', untilBeatMs(settings, turn.steady));
    case 'retired':
      return;
  }
  turn.wakeAfter('come-up', waitMs(patience, state.repeats, host), awaited);
  state.repeats += 1;
}

/** Placement has answered what it was told; where that has changed since, it may have come after what it is now. */
function treeHeard({ state }: Work, { type, ask }: TreeAnswer): void {
  const isOfNow = ask === state.changes;
  if (!isOfNow) state.taken = null;
  else if (type === 'tree-put') state.taken = state.providers;
  if (state.phase === 'up') state.owesTree = !isOfNow;
}

/** The driver has been asked again what the host has. What placement did not take is told again, for it may now. */
function inventoryRead(work: Work, providers: readonly ProviderSpec[]): void {
  const { state } = work;
  if (state.phase !== 'up') return;
  if (!isSameTree(providers, state.providers)) {
    state.providers = providers;
    state.changes += 1;
  }
  if (state.providers === state.taken) return;
  state.owesTree = true;
  tellTree(work);
}

/** Something may have been put into the host, or have failed. */
function lookAgain(work: Work): void {
  const { settings, state, turn } = work;
  turn.send(settings.toDriver, { type: 'read-inventory' });
  // From when it was due, not from when it came: after a heartbeat that was a few ms late it would wait for one more.
  state.looksAt = Math.max(state.looksAt, turn.steady - settings.heartbeatMs) + settings.inventoryEveryMs;
  state.looks += 1;
  if (state.looks % LOOKS_UNTIL_TOLD !== 0) return;
  forgetOld(work);
  state.owesTree = true;
}

/** Placement has no tree of this host any more; what it has answered before may still be on its way. */
function treeWithdrawn(work: Work): void {
  const { state } = work;
  state.owesTree = true;
  if (state.phase === 'up') tellTree(work);
}

function tellTree({ settings: { placementShards }, state, turn }: Work): Address {
  const { providers, taken, changes } = state;
  const placement = placementOf((providers[0] as ProviderSpec).id, placementShards);
  const ofAgain = providers === taken ? { again: true } : {};
  turn.send(placement, { type: 'put-tree', ask: changes, providers, ...ofAgain });
  return placement;
}

/**
 * How long it is to the host's own moment in each period. There are few of them, so that of the many computes that one
 * process may have some speak together, and each cell is sent one message by them.
 */
function untilBeatMs({ host, heartbeatMs }: Settings, steady: SteadyTime): number {
  const moment = ((fnv1a(host) % BEAT_MOMENTS) * heartbeatMs) / BEAT_MOMENTS;
  return (Math.floor((steady - moment) / heartbeatMs) + 1) * heartbeatMs + moment - steady;
}

function enter(work: Work, phase: Phase): void {
  work.state.phase = phase;
  work.state.repeats = 0;
  comeUp(work);
}

function retire({ settings: { cell, host }, state, turn }: Work): void {
  if (state.phase === 'retired') return;
  state.phase = 'retired';
  turn.cancelWake('come-up');
  turn.publish({
    topic: ['cell', cell, 'host', host, 'retired'],
    body: { at: turn.now, host, incarnation: state.incarnation },
    cause: 'retired',
  });
}

function present(work: Work, challenge?: number): void {
  const { host, toCell } = work.settings;
  const { incarnation } = work.state;
  const provider = (work.state.providers[0] as ProviderSpec).id;
  const answering = challenge === undefined ? {} : { challenge };
  work.turn.send(toCell, { type: 'compute-up', host, provider, incarnation, ...answering, running: running(work) });
}

/** Why the host cannot come up, or what it has now is not known: it tries again until somebody has mended it. */
function tell({ settings: { cell, host }, turn }: Work, what: string, reason: string, cause: string): void {
  turn.publish({ topic: ['cell', cell, 'host', host, what], body: { at: turn.now, host, reason }, cause });
}

function running({ state }: Work): Running[] {
  return [...state.jobs.values()].map(({ instance, attempt }) => ({ instance, attempt }));
}

// --- orders

function build(work: Work, order: ComputeBuild, from: Address): void {
  const { settings, state, turn } = work;
  // An order for another life is not refused: the cell gives it again to this one, and a refusal could overtake it.
  if (order.incarnation !== state.incarnation) return;
  const { instance, attempt } = order;
  const key = keyOf(instance, attempt);
  const outcome = outcomeOf(work, key);
  if (outcome !== undefined) return answer(work, instance, attempt, outcome, from);
  const job = state.jobs.get(key);
  if (job?.state === 'destroying') return answer(work, instance, attempt, { state: 'destroyed' }, from);
  if (job?.state === 'built') return answer(work, instance, attempt, { state: 'built' }, from);
  turn.send(from, { type: 'accepted', host: settings.host, instance, attempt });
  if (job?.state === 'building') return;
  // Another instance may have had the name long ago, of which the driver has not come back yet.
  const builds = buildsOf(state, key) + 1;
  state.outcomes.delete(key);
  state.jobs.set(key, { instance, attempt, state: 'building', order, repeats: 0, asked: 0, builds });
  turn.send(settings.toDriver, order);
}

function answer(
  { settings: { host }, state: { incarnation }, turn }: Work,
  instance: string,
  attempt: number,
  outcome: Outcome,
  to: Address,
): void {
  if (outcome.state === 'built') return turn.send(to, { type: 'built', host, instance, attempt });
  const ofLife = { host, instance, attempt, incarnation };
  switch (outcome.state) {
    case 'failed':
      return turn.send(to, { type: 'build-failed', ...ofLife, reason: outcome.reason });
    case 'aborted':
      return turn.send(to, { type: 'build-aborted', ...ofLife, reason: outcome.reason });
    case 'destroyed':
      return turn.send(to, { type: 'build-refused', ...ofLife, reason: 'the attempt was destroyed before' });
  }
}

function sayDestroyed({ settings: { host }, state: { incarnation }, turn }: Work, of: Running, to: Address): void {
  turn.send(to, { type: 'destroyed', host, instance: of.instance, attempt: of.attempt, incarnation });
}

function destroy(work: Work, instance: string, attempt: number, from: Address): void {
  const { settings, state, turn } = work;
  const { toDriver } = settings;
  const key = keyOf(instance, attempt);
  const outcome = outcomeOf(work, key);
  if (outcome !== undefined) {
    remember(work, key, { state: 'destroyed' });
    return sayDestroyed(work, { instance, attempt }, from);
  }
  const job = state.jobs.get(key);
  if (job?.state === 'destroying') {
    // The driver may never come back from what it was asked; it may be asked for the same once more.
    if (job.asked !== null) job.asked = (job.asked + 1) % ASKS_FOR_DRIVER;
    if (job.asked === 0) turn.send(toDriver, { type: 'destroy', instance, attempt });
    return;
  }
  turn.cancelWake(wakeId(RETRY_WAKE, key));
  beginDestroying(work, instance, attempt, buildsOf(state, key));
}

function beginDestroying(work: Work, instance: string, attempt: number, builds: number): void {
  const { settings, state, turn } = work;
  const { toDriver } = settings;
  state.jobs.set(keyOf(instance, attempt), {
    instance,
    attempt,
    state: 'destroying',
    order: null,
    repeats: 0,
    asked: 0,
    builds,
  });
  turn.send(toDriver, { type: 'destroy', instance, attempt });
}

// --- the driver's answers

function driverSaid(work: Work, said: DriverAnswer): void {
  const { settings, state, turn } = work;
  const { host, patience, toCell } = settings;
  if (said.type === 'described') {
    if (state.phase !== 'describing') return;
    state.providers = said.providers;
    state.measures = said.measures ?? false;
    for (const { instance, attempt } of said.running) {
      const key = keyOf(instance, attempt);
      // It was told to destroy it while the driver looked: what was seen may be gone by now.
      if (state.jobs.has(key) || state.outcomes.has(key)) continue;
      // An earlier life may have told this driver to build it, and not have heard what came of it.
      state.jobs.set(key, { instance, attempt, state: 'found', order: null, repeats: 0, asked: 0, builds: 1 });
    }
    return enter(work, 'registering');
  }
  if (said.type === 'measured') {
    state.metrics = said.metrics;
    return;
  }
  if (said.type === 'describe-failed' || said.type === 'inventory-unread') {
    return tell(work, said.type, said.reason, said.type);
  }
  if (said.type === 'inventory-read') return inventoryRead(work, said.providers);
  if (said.type === 'driver-listed') {
    return turn.send(said.to, { type: 'instances-running', ask: said.ask, running: said.running });
  }
  if (said.type === 'list-failed') {
    return turn.send(said.to, { type: 'declined', ask: said.ask, code: 'driver-failed', reason: said.reason });
  }
  const { instance, attempt } = said;
  const key = keyOf(instance, attempt);
  const job = state.jobs.get(key);
  const one = job ?? state.outcomes.get(key);
  const ofBuild = said.type !== 'driver-destroyed' && said.type !== 'destroy-failed';
  if (ofBuild && one !== undefined && one.builds > 0) one.builds -= 1;
  if (job === undefined) {
    const outcome = state.outcomes.get(key)?.outcome;
    if (said.type !== 'driver-built' || outcome === undefined) return;
    // It was said that nothing was left, which is true no more: of a driver that was asked twice one call may end later.
    const builds = buildsOf(state, key);
    state.outcomes.delete(key);
    if (outcome.state === 'destroyed') return beginDestroying(work, instance, attempt, builds);
    // Another life may have been given the order since, and have built it: the cell knows whether it is to be there.
    state.jobs.set(key, { instance, attempt, state: 'built', order: null, repeats: 0, asked: 0, builds });
    return answer(work, instance, attempt, { state: 'built' }, toCell);
  }
  if (said.type === 'driver-destroyed') {
    if (job.state !== 'destroying') return;
    end(work, key, { state: 'destroyed' });
    return sayDestroyed(work, said, toCell);
  }
  if (said.type === 'destroy-failed' || said.type === 'driver-unknown') {
    const task = said.type === 'driver-unknown' ? 'build' : 'destroy';
    // A build that is being destroyed may well reject: what comes of its end is still to be told.
    if (job.state !== (task === 'build' ? 'building' : 'destroying')) return;
    if (state.phase !== 'retired') {
      turn.send(toCell, { type: 'driver-trouble', host, instance, attempt, task, reason: said.reason });
    }
    job.asked = null;
    turn.wakeAfter(wakeId(RETRY_WAKE, key), waitMs(patience, job.repeats, key));
    job.repeats += 1;
    return;
  }
  if (job.state !== 'building') return;
  if (said.type === 'driver-built') {
    job.state = 'built';
    job.order = null;
    return answer(work, instance, attempt, { state: 'built' }, toCell);
  }
  const outcome = { state: said.aborted ? ('aborted' as const) : ('failed' as const), reason: said.reason };
  end(work, key, outcome);
  answer(work, instance, attempt, outcome, toCell);
}

function end(work: Work, key: string, outcome: Outcome): void {
  remember(work, key, outcome);
  work.state.jobs.delete(key);
}

/** How often the driver was told to build an attempt and has not come back yet, whether the attempt is over or not. */
function buildsOf({ jobs, outcomes }: ComputeState, key: string): number {
  return jobs.get(key)?.builds ?? outcomes.get(key)?.builds ?? 0;
}

function remember(work: Work, key: string, outcome: Outcome): void {
  const { outcomes } = work.state;
  const builds = buildsOf(work.state, key);
  outcomes.delete(key);
  outcomes.set(key, { outcome, at: work.turn.steady, builds });
  forgetOld(work);
  if (outcomes.size <= MAX_REMEMBERED) return;
  const [oldest] = outcomes.keys();
  outcomes.delete(oldest as string);
}

/**
 * Forgets what no answer is given of any more: a process may have thousands of hosts. But not that of which the driver may
 * still say that it is built: nobody else knows that it is not to be.
 */
function forgetOld({ settings, state: { outcomes }, turn }: Work): void {
  for (const [key, { at, builds }] of outcomes) {
    if (turn.steady - at < settings.rememberEndedMs) return;
    if (builds === 0) outcomes.delete(key);
  }
}

/** What came of an attempt; forgotten where that is so long ago that another instance may have taken the name. */
function outcomeOf({ settings, state: { outcomes }, turn }: Work, key: string): Outcome | undefined {
  const ended = outcomes.get(key);
  const isKnown = ended !== undefined && turn.steady - ended.at < settings.rememberEndedMs;
  return isKnown ? ended.outcome : undefined;
}

/** The driver could not say what came of a step: it is asked for it again. */
function retry({ settings: { toDriver }, state, turn }: Work, key: string): void {
  const job = state.jobs.get(key);
  if (job?.state === 'building' && job.order !== null) {
    job.builds += 1;
    turn.send(toDriver, job.order);
  }
  if (job?.state === 'destroying') {
    job.asked = 0;
    turn.send(toDriver, { type: 'destroy', instance: job.instance, attempt: job.attempt });
  }
}

// --- the contract

function receive(work: Work, message: ComputeMessage | Wake, from: Address): void {
  const { settings, state, turn } = work;
  switch (message.type) {
    case 'retired':
      if (message.incarnation === state.incarnation) retire(work);
      return;
    case 'build':
      if (state.phase === 'retired') return;
      return build(work, message, from);
    case 'destroy':
      if (state.phase === 'retired') return;
      return destroy(work, message.instance, message.attempt, from);
    case 'tree-put':
      treeHeard(work, message);
      if (state.phase === 'registering' && message.ask === state.changes) enter(work, 'greeting');
      return;
    case 'tree-withdrawn':
      return treeWithdrawn(work);
    case 'welcome':
      if (state.phase !== 'greeting' || message.incarnation !== state.incarnation) return;
      // Hosts that came up together do not look again together, nor tell.
      state.looks = fnv1a(settings.host) % LOOKS_UNTIL_TOLD;
      state.looksAt = turn.steady + (fnv1a(settings.host) % settings.inventoryEveryMs);
      return enter(work, 'up');
    case 'who-are-you':
      if (message.incarnation !== undefined && message.incarnation !== state.incarnation) return;
      if (state.phase === 'greeting' || state.phase === 'up') present(work, message.challenge);
      return;
    case 'list-instances':
      if (state.phase === 'retired') return;
      return turn.send(from, { type: 'instances-running', ask: message.ask, running: running(work) });
    case 'list-driven':
      return turn.send(settings.toDriver, { type: 'list', ask: message.ask, to: from });
    case 'wake':
      if (message.id === 'come-up') return comeUp(work);
      return retry(work, readWake(message.id)[1]);
    case 'tree-refused':
      treeHeard(work, message);
      // Of what was told before, or by an earlier life, nobody needs to know any more.
      if (message.ask !== state.changes) return;
      turn.send(settings.toDriver, { type: 'refused', reason: message.reason });
      return tell(work, 'tree-refused', message.reason, 'put-tree');
    default:
      return driverSaid(work, message);
  }
}

function newLife(incarnation: string): ComputeState {
  return {
    incarnation,
    phase: 'describing',
    providers: [],
    taken: null,
    // What placement answers to an earlier life is no answer to this one.
    changes: fnv1a(incarnation),
    looksAt: 0,
    looks: 0,
    metrics: null,
    measures: false,
    jobs: new PassingMap(),
    outcomes: new PassingMap(),
    repeats: 0,
    owesTree: false,
  };
}

export function compute(options: ComputeOptions): Actor<ComputeState, ComputeMessage, never> {
  const { cell, host, placementShards = 1 } = options;
  const settings: Settings = {
    cell,
    host,
    placementShards,
    heartbeatMs: options.heartbeatMs ?? DEFAULTS.heartbeatMs,
    inventoryEveryMs: options.inventoryEveryMs ?? DEFAULTS.inventoryEveryMs,
    patience: options.patience ?? DEFAULTS.patience,
    rememberEndedMs: options.rememberEndedMs ?? DEFAULTS.rememberEndedMs,
    toCell: cellAddress(cell),
    toDriver: driverAddress(cell, host),
  };
  const init = () => newLife(options.incarnation());
  return {
    init,
    receive: (state, message, from, turn) => receive({ settings, state, turn }, message, from),
    apply() {},
    recover: (state, turn) => comeUp({ settings, state, turn }),
    snapshot: () => snapshotOf({}, {}),
    restore: init,
  };
}
