// A shard of the super conductor: outside any cell, from an accepted request to the hand-over of each build to the
// cell of the host that was claimed for it. It answers the caller as soon as the request is recorded; everything
// after happens after the answer, and is done again until it has come to something.
//
// It takes: build, delete, show, explain, like-instances, list (from gateways); taking, selecting, awaiting, selected,
// no-valid-host, parked (from schedulers); started, ended, removed (from cells); released (from placement). See
// actors/messages/conductor.ts.

import { obligations } from '../../machines/step.ts';
import type { Actor, Address, Turn, Wake } from '../actor.ts';
import { BUILD_WAKE, type Patience } from '../builds.ts';
import { FORGET_WAKE, forgetDeleted, forgetFirstMs } from '../deleted.ts';
import type { ConductorMessage } from '../messages/conductor.ts';
import { page } from '../page.ts';
import { isScheduler } from '../routing.ts';
import { atOnce, joined } from '../snapshot.ts';
import { readWake } from '../wakes.ts';
import { workWith } from '../work.ts';
import { applyToConductor, type ConductorRecord } from './apply.ts';
import {
  askSchedulers,
  awaiting,
  DOUBT_WAKE,
  LINE_WAKE,
  noteAnswer,
  noteEnd,
  selecting,
  taking,
  UNASKED_WAKE,
  wakeInDoubt,
  wakeLine,
  wakeRequest,
  wakeUnasked,
} from './asking.ts';
import { perform, started } from './building.ts';
import { DELETE_WAKE, deleteInCell, remove, removed } from './deleting.ts';
import { goOnLikening, LIKE_WAKE, likeAsked } from './like-instances.ts';
import { recoverLine } from './line.ts';
import { RELEASE_WAKE, release, released } from './releasing.ts';
import { type ConditionsNow, renewConditions } from './renewing.ts';
import { build, REQUEST_WAKE, selected } from './requests.ts';
import { type ConductorState, emptyConductor, endOfRequest } from './state.ts';
import { restoreConductor, type StoredConductor, storeConductor } from './store.ts';
import { explanationOf, viewOf } from './view.ts';
import { noValidHost, parked } from './waiting.ts';
import { askEnds, ended, WATCH_WAKE } from './watching.ts';
import { commit, type Settings, type Work } from './work.ts';

export interface ConductorOptions {
  readonly shard: number;
  /** How many placement shards the deployment has; default 1. */
  readonly placementShards?: number;
  /** How long a request may look for hosts before it fails, ms; default two minutes. Ample: the whole fleet is asked in milliseconds. */
  readonly requestedMs?: number;
  /** How long to wait for an answer before a step is done again, ms; default 2,000 at first, 15,000 at most. */
  readonly patience?: Patience;
  /**
   * How long a deleted instance can still be shown, and its id not be taken again, ms; default two hours: longer than
   * cells and placement remember it, who would refuse another of the same id. It is forgotten at most a quarter later.
   */
  readonly rememberDeletedMs?: number;
  /** How often cells are asked about builds of whose end nothing was heard, ms; default 10,000. */
  readonly watchMs?: number;
  /** How many requests may wait for a host; the next one that has none fails. Default 10,000. */
  readonly maxParked?: number;
  /**
   * How often a request that waits is asked for again, ms, where it waits: a scheduler that dies takes what it knew of it
   * along. Default 15,000; slower when many wait.
   */
  readonly parkedAskMs?: number;
  /** What requests may go by that have no host yet when the shard begins anew; default: what they were accepted with. */
  readonly conditionsNow?: ConditionsNow;
}

const SAID_BY_SCHEDULERS: ReadonlySet<string> = new Set([
  'taking',
  'selected',
  'selecting',
  'awaiting',
  'no-valid-host',
  'parked',
]);

const DEFAULTS = {
  requestedMs: 120_000,
  patience: { firstMs: 2_000, mostMs: 15_000 },
  rememberDeletedMs: 7_200_000,
  watchMs: 10_000,
  maxParked: 10_000,
  parkedAskMs: 15_000,
} as const;

type ConductorTurn = Turn<ConductorRecord>;

export function conductor(options: ConductorOptions): Actor<ConductorState, ConductorMessage, ConductorRecord> {
  const rememberDeletedMs = options.rememberDeletedMs ?? DEFAULTS.rememberDeletedMs;
  const watchMs = options.watchMs ?? DEFAULTS.watchMs;
  const settings: Settings = {
    scope: ['conductor', String(options.shard)],
    deadlines: { requested: options.requestedMs ?? DEFAULTS.requestedMs },
    patience: options.patience ?? DEFAULTS.patience,
    maxParked: options.maxParked ?? DEFAULTS.maxParked,
    parkedAskMs: options.parkedAskMs ?? DEFAULTS.parkedAskMs,
    placementShards: options.placementShards ?? 1,
  };
  const workOf = workWith(settings);

  function receive(state: ConductorState, message: ConductorMessage | Wake, from: Address, turn: ConductorTurn): void {
    const work = workOf(state, turn);
    // Whoever says it is asked by name from then on.
    if (SAID_BY_SCHEDULERS.has(message.type) && !isScheduler(from)) return;
    switch (message.type) {
      case 'build':
        return build(work, message, from);
      case 'delete':
        return remove(work, message.ask, message.instance, from);
      case 'show': {
        const entry = state.instances.get(message.instance);
        const open = entry && state.requests.get(entry.request);
        const view = entry === undefined ? null : viewOf(message.instance, entry, open, turn);
        return turn.send(from, { type: 'shown', ask: message.ask, view });
      }
      case 'explain': {
        const entry = state.instances.get(message.instance);
        const told = entry === undefined ? { view: null } : explanationOf(state, message.instance, entry, turn);
        return turn.send(from, { type: 'explained', ask: message.ask, ...told });
      }
      case 'like-instances':
        return likeAsked(work, message, from);
      case 'list': {
        const [instances, next] = page(state.instances, message.after, message.limit, (entry, id) =>
          viewOf(id, entry, state.requests.get(entry.request), turn),
        );
        return turn.send(from, { type: 'listed', ask: message.ask, instances, next });
      }
      case 'taking':
        noteAnswer(work, message, from);
        return taking(work, message, from);
      case 'selected':
        noteAnswer(work, message, from);
        selected(work, message, from);
        // Of a large request there is more to come.
        if (state.requests.get(message.request)?.round === message.round) return selecting(work, message, from);
        return noteEnd(work, message);
      case 'selecting':
        noteAnswer(work, message, from);
        return selecting(work, message, from);
      case 'awaiting':
        return awaiting(work, message, from);
      case 'no-valid-host':
        noteAnswer(work, message, from);
        noteEnd(work, message);
        return noValidHost(work, message, from);
      case 'parked':
        noteAnswer(work, message, from);
        noteEnd(work, message);
        return parked(work, message, from);
      case 'started':
        return started(work, message.instance);
      case 'ended':
        return ended(work, message, from);
      case 'removed':
        return removed(work, message.instance);
      case 'released':
        return released(work, message.consumer, from);
      case 'wake':
        return wake(work, message);
    }
  }

  function wake(work: Work, { id, isEarly }: Wake): void {
    if (id === FORGET_WAKE) return forget(work);
    if (id === WATCH_WAKE) return askEnds(work, watchMs);
    if (id === LIKE_WAKE) return goOnLikening(work);
    if (id === UNASKED_WAKE) return wakeUnasked(work);
    if (id === LINE_WAKE) return wakeLine(work);
    if (id === DOUBT_WAKE) return wakeInDoubt(work, isEarly);
    const [kind, about] = readWake(id);
    if (kind === REQUEST_WAKE) return wakeRequest(work, about, isEarly);
    const entry = work.state.instances.get(about);
    if (entry === undefined) return;
    entry.repeats += 1;
    if (kind === RELEASE_WAKE && entry.releaseOwed) release(work, about, entry);
    if (kind === DELETE_WAKE && entry.phase === 'deleting') deleteInCell(work, about, entry);
    if (kind === BUILD_WAKE && entry.phase === 'here' && entry.build !== null) {
      entry.build.repeats += 1;
      for (const effect of obligations(entry.build.snapshot)) perform(work, about, entry, effect);
    }
  }

  function forget(work: Work): void {
    const { state, turn } = work;
    forgetDeleted(state.deleted, turn, rememberDeletedMs, (before) => commit(work, { type: 'forgotten', before }));
  }

  function recover(state: ConductorState, turn: ConductorTurn): void {
    const work = workOf(state, turn);
    if (options.conditionsNow !== undefined) renewConditions(work, options.conditionsNow);
    for (const [instance, entry] of state.instances) {
      entry.repeats = 0;
      if (entry.releaseOwed) release(work, instance, entry);
      else if (entry.phase === 'deleting') deleteInCell(work, instance, entry);
      else if (entry.phase === 'here' && entry.build !== null) {
        for (const effect of obligations(entry.build.snapshot)) perform(work, instance, entry, effect);
      }
    }
    for (const open of state.requests.values()) endOfRequest(state, open, work);
    recoverLine(work);
    askEnds(work, watchMs);
    turn.wakeAfter(FORGET_WAKE, forgetFirstMs(rememberDeletedMs));
  }

  return {
    init: emptyConductor,
    receive,
    apply: (state, record) => applyToConductor(state, record, settings.deadlines),
    recover,
    dropped: workOf.forget,
    endTurn: (state, turn) => askSchedulers(workOf(state, turn)),
    figures: ({ instances, requests, parked, unasked }) => ({
      instances: instances.size,
      requests: requests.size,
      parked: parked.size,
      unasked: unasked.size,
    }),
    snapshot: storeConductor,
    restore: (parts) => atOnce(restoreConductor(joined(parts) as StoredConductor)),
    restoring: (parts) => restoreConductor(joined(parts) as StoredConductor),
  };
}
