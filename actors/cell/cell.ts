// The conductor of one cell: it owns the instances of the cell from the hand-over on, and knows which computes are up.
// A build that fails is rescheduled here, from its alternates alone: neither a scheduler nor anything else above the
// cell is asked, only placement. What an attempt may have left on a host is cleared away before its resources go back.
//
// It takes: start, ask-ends, delete, lost-noted (from conductors); accepted, build-refused, built, build-failed,
// build-aborted, destroyed, driver-trouble, compute-up, alive (from computes); claim-granted, claim-refused, released,
// tree-withdrawn, tree-kept (from placement); echo (from itself); set-host, fence-host, remove-host, set-cell, show, explain,
// list, list-hosts, list-removals (from gateways and schedulers); do-again (from audits). See actors/messages/cell.ts.

import type { InstanceBuildEvent } from '../../machines/instance-build.ts';
import { obligations } from '../../machines/step.ts';
import type { Actor, Address, Turn, Wake } from '../actor.ts';
import { endOfState, type Patience } from '../builds.ts';
import { FORGET_WAKE, forgetDeleted, forgetFirstMs } from '../deleted.ts';
import { BEAT_WAKE, FEED_BEAT_MS } from '../feed-beat.ts';
import type { CellMessage, DriverTrouble } from '../messages/cell.ts';
import type { InstanceView } from '../messages/gateway.ts';
import type { HostsChanged } from '../messages/scheduler.ts';
import { onOnePage, page } from '../page.ts';
import { cellFeedAddress, conductorOf } from '../routing.ts';
import { atOnce, joined } from '../snapshot.ts';
import { readWake } from '../wakes.ts';
import { workWith } from '../work.ts';
import { applyToCell, type CellRecord } from './apply.ts';
import {
  advance,
  claimGranted,
  claimRefused,
  movedAway,
  perform,
  remove,
  report,
  reportEnds,
  start,
} from './building.ts';
import { clearAway, destroyed, goneIfClear, isDestroying, REMOVE_WAKE, released } from './clearing.ts';
import { LOST_WAKE, lostNoted, tellLost } from './fencing.ts';
import {
  alive,
  computeUp,
  couldNotHear,
  destroyStray,
  fenceHost,
  SWEEP_WAKE,
  setCell,
  setHost,
  sweepByEcho,
  sweepSilent,
  wasHeldUp,
} from './hostkeeping.ts';
import { listedHost, toldHost, viewOfNamed } from './hosts.ts';
import { removeHost, treeKept, treeWithdrawn } from './leaving.ts';
import { removalsOf } from './removals.ts';
import { RESTED_WAKE, rested, restIfFailing, restOn } from './resting.ts';
import { type CellState, type Entry, emptyCell } from './state.ts';
import { restoreCell, type StoredCell, storeCell } from './store.ts';
import { explainedEntry, viewOfEntry, viewOfRemoval } from './view.ts';
import { commit, type Settings, type Work } from './work.ts';

export interface CellOptions {
  readonly cell: string;
  /** How many conductor shards the deployment has. */
  readonly conductorShards: number;
  /** How many placement shards the deployment has; default 1. */
  readonly placementShards?: number;
  /** How long a compute may take to accept a build, ms; default 30,000. It answers in milliseconds when it is alive. */
  readonly claimedMs?: number;
  /** How long a build may take, ms; default 10 minutes: an image may have to be fetched. */
  readonly buildingMs?: number;
  /**
   * How long a compute may be silent before its host counts as down, ms; default 15,000: several of its heartbeats, and
   * more than one, `heartbeatMs` of the computes, in any case: else hosts that are well count as down again and again. The
   * cell looks three times in that time, so that a host may be silent for up to a third more before it counts as down.
   */
  readonly silentMs?: number;
  /** Builds in a row that fail on a host before it is set aside; default 5: one or two say little of a host. */
  readonly failuresBeforeAside?: number;
  /** How long a host is set aside, ms; default a minute. Twice as long each time after, until a build succeeds. */
  readonly asideMs?: number;
  /** The longest time for which a host is set aside, ms, `asideMs` at least; default an hour, or `asideMs`. */
  readonly asideMostMs?: number;
  /**
   * The share of the hosts in service that may be set aside at one time, 0 to 1; default a quarter. When more than that
   * fail, the fault is hardly the hosts'. Of two hosts or more one always may, a single one never.
   */
  readonly asideShare?: number;
  /** How long to wait for an answer before a step is done again, ms; default 2,000 at first, 30,000 at most. */
  readonly patience?: Patience;
  /** How long a deleted instance is remembered, ms; default an hour: a build of it that arrives late does not begin. */
  readonly rememberDeletedMs?: number;
}

export const DEFAULT_SILENT_MS = 15_000;

const DEFAULTS = {
  claimedMs: 30_000,
  buildingMs: 600_000,
  silentMs: DEFAULT_SILENT_MS,
  failuresBeforeAside: 5,
  asideMs: 60_000,
  asideMostMs: 3_600_000,
  asideShare: 0.25,
  patience: { firstMs: 2_000, mostMs: 30_000 },
  rememberDeletedMs: 3_600_000,
} as const;

/** Hosts in one message of the feed: a kilobyte each at most, of the megabyte that a message may have. */
const MAX_HOSTS_TOLD = 500;

type CellTurn = Turn<CellRecord>;

export function cell(options: CellOptions): Actor<CellState, CellMessage, CellRecord> {
  const { cell: name, conductorShards } = options;
  const rememberDeletedMs = options.rememberDeletedMs ?? DEFAULTS.rememberDeletedMs;
  const settings: Settings = {
    cell: name,
    scope: ['cell', name],
    deadlines: {
      claimed: options.claimedMs ?? DEFAULTS.claimedMs,
      building: options.buildingMs ?? DEFAULTS.buildingMs,
    },
    patience: options.patience ?? DEFAULTS.patience,
    silentMs: options.silentMs ?? DEFAULTS.silentMs,
    placementShards: options.placementShards ?? 1,
    resting: {
      failuresBefore: options.failuresBeforeAside ?? DEFAULTS.failuresBeforeAside,
      firstMs: options.asideMs ?? DEFAULTS.asideMs,
      mostMs: options.asideMostMs ?? Math.max(DEFAULTS.asideMostMs, options.asideMs ?? 0),
      share: options.asideShare ?? DEFAULTS.asideShare,
    },
    conductorOf: (instance) => conductorOf(instance, conductorShards),
  };
  const workOf = workWith(settings);

  function receive(state: CellState, message: CellMessage | Wake, from: Address, turn: CellTurn): void {
    const work = workOf(state, turn);
    if (isOfFormerLife(state, message)) return;
    const event = eventOf(message);
    if (event !== null) {
      advance(work, event.instance, event.event);
      if (message.type === 'built') destroyStray(work, message);
      if (message.type === 'build-failed') restIfFailing(work, message.host, message.reason);
      return;
    }
    switch (message.type) {
      case 'start':
        return start(work, message, from);
      case 'delete':
        return remove(work, message.instance, from);
      case 'ask-ends':
        return reportEnds(work, message.instances);
      case 'claim-granted':
        return claimGranted(work, message);
      case 'claim-refused':
        return claimRefused(work, message);
      case 'destroyed':
        return destroyed(work, message.instance, message.attempt);
      case 'driver-trouble':
        return noteTrouble(work, message);
      case 'released':
        if (message.before !== undefined) return movedAway(work, message.consumer, message.before, from);
        return released(work, message, from);
      case 'compute-up':
        return computeUp(work, message, from);
      case 'alive':
        return alive(work, message, from);
      case 'set-host':
        return setHost(work, message, from);
      case 'fence-host':
        return fenceHost(work, message, from);
      case 'remove-host':
        return removeHost(work, message, from);
      case 'set-cell':
        setCell(work, message, from);
        // Those who follow the cell hear of it with its hosts, whose state changes; without hosts, with an empty list.
        if (state.hosts.size === 0) tellFeed(state, { hosts: [] }, turn);
        return;
      case 'tree-withdrawn':
        return treeWithdrawn(work, message.root);
      case 'tree-kept':
        return treeKept(work, message.root, message.reason);
      case 'echo':
        return sweepSilent(work);
      case 'do-again':
        return doAgain(work, message.instance);
      case 'lost-noted':
        return lostNoted(work, message.instance);
      case 'show': {
        const entry = state.instances.get(message.instance);
        const view = entry === undefined ? null : viewOf(work, entry);
        return turn.send(from, { type: 'shown', ask: message.ask, view });
      }
      case 'explain': {
        const entry = state.instances.get(message.instance);
        const view = entry === undefined ? null : explainedEntry(work, entry, viewOf(work, entry));
        const spec = entry === undefined ? {} : { spec: entry.build.facts.spec };
        return turn.send(from, { type: 'explained', ask: message.ask, view, ...spec });
      }
      case 'list': {
        const { ask, after, limit } = message;
        const [instances, next] = page(state.instances, after, limit, (entry) => viewOf(work, entry));
        return turn.send(from, { type: 'listed', ask, instances, next });
      }
      case 'list-removals': {
        const { ask, after, limit } = message;
        const [removals, next] = page(state.removals, after, limit, viewOfRemoval);
        return turn.send(from, { type: 'removals', ask, removals, next });
      }
      case 'list-hosts': {
        if (message.followsBuilds === true) state.feed.tellsBuilds = true;
        const [hosts, next] =
          message.host === undefined
            ? page(state.hosts, message.after, message.limit, (host) => listedHost(host, state.service))
            : [viewOfNamed(state.hosts, message.host, state.service), null];
        const { epoch, sequence } = state.feed;
        const told = { cell: name, epoch, sequence, hosts, next, tellsForeign: true as const };
        return turn.send(from, { type: 'hosts', ask: message.ask, ...told });
      }
      case 'wake':
        return wake(work, message.id);
    }
  }

  function wake(work: Work, id: string): void {
    const { state, turn } = work;
    if (id === SWEEP_WAKE) return sweepByEcho(work);
    if (id === BEAT_WAKE) return beat(state, turn);
    if (id === FORGET_WAKE) return forget(work);
    const [kind, about] = readWake(id);
    if (kind === REMOVE_WAKE) {
      const removal = state.removals.get(about);
      if (removal !== undefined) clearAway(work, removal);
      return;
    }
    if (kind === RESTED_WAKE) return rested(work, about);
    const entry = state.instances.get(about);
    if (entry === undefined) return;
    if (kind === LOST_WAKE) return tellLost(work, entry);
    const { snapshot } = entry.build;
    const endsAt = endOfState(entry.build, work);
    const host = snapshot.context.selection?.host ?? '';
    // What a host said while the cell was held up may not be read yet, and one that was cut off, too, may have built it.
    const isHeard = !wasHeldUp(work) && state.hosts.get(host)?.isUnheard !== true;
    if (endsAt !== null && turn.steady >= endsAt && isHeard) return timedOut(work, about, host);
    entry.build.repeats += 1;
    for (const effect of obligations(snapshot)) perform(work, entry, effect, true);
  }

  function viewOf({ state, turn }: Work, entry: Entry): InstanceView {
    return viewOfEntry(name, entry, state.removals, turn, state.troubles.get(entry.build.facts.instance));
  }

  /** It is told to whoever asks, until the driver has said what came of it; that of a build before that of a removal. */
  function noteTrouble(work: Work, { instance, attempt, host, task, reason }: DriverTrouble): void {
    const { instances, troubles } = work.state;
    const build = instances.get(instance)?.build;
    if (build === undefined) return;
    const { value, context } = build.snapshot;
    const isAwaited =
      task === 'build'
        ? value === 'building' && context.attempt === attempt && context.selection?.host === host
        : troubles.get(instance)?.task !== 'build' && isDestroying(work, { instance, attempt, host });
    if (isAwaited) troubles.set(instance, { attempt, host, task, reason });
  }

  function timedOut(work: Work, instance: string, host: string): void {
    const trouble = work.state.troubles.get(instance);
    const isAccepted = work.state.instances.get(instance)?.build.snapshot.value === 'building';
    const silence = isAccepted ? 'its driver did not say what came of it' : 'its compute did not take the order';
    const reason = trouble?.task === 'build' ? `its driver did not say what came of it: ${trouble.reason}` : silence;
    advance(work, instance, { type: 'TIMED_OUT', reason });
    restIfFailing(work, host, 'no word within the deadline');
  }

  /** Somebody waits for what is owed for an instance, or missed how it ended. */
  function doAgain(work: Work, instance: string): void {
    const { state, turn } = work;
    if (state.deleted.has(instance)) return turn.send(work.conductorOf(instance), { type: 'removed', instance });
    const entry = state.instances.get(instance);
    if (entry === undefined) return;
    for (const removal of removalsOf(state, instance, entry.build.snapshot.context.attempt)) clearAway(work, removal);
    if (entry.lost !== null) tellLost(work, entry);
    else if (entry.build.snapshot.status === 'done') report(work, entry);
  }

  function forget(work: Work): void {
    const { turn } = work;
    const { deleted, removedHosts } = work.state;
    // The record is of both: hosts, of which there are few, would take along all instances that are due.
    const isAnyDue = deleted.dueBefore(turn.now - rememberDeletedMs) !== null;
    forgetDeleted(isAnyDue ? deleted : removedHosts, turn, rememberDeletedMs, (before) =>
      commit(work, { type: 'forgotten', before }),
    );
  }

  /** What a turn changed is told together; of counts that grow, which they do all the time, the beat tells. */
  function endTurn(state: CellState, turn: CellTurn): void {
    for (const host of state.feed.untold) state.feed.recounted.delete(host);
    tellGone(state, turn);
    tellChanged(state, state.feed.untold, turn);
  }

  function beat(state: CellState, turn: CellTurn): void {
    if (state.feed.recounted.size === 0) tellFeed(state, { hosts: [] }, turn);
    else tellChanged(state, state.feed.recounted, turn);
    turn.wakeAfter(BEAT_WAKE, FEED_BEAT_MS);
  }

  /** Before what changed: a host may have come again, or by another provider. */
  function tellGone(state: CellState, turn: CellTurn): void {
    const { feed } = state;
    if (feed.gone.size === 0) return;
    feed.sequence += 1;
    tellFeed(state, { hosts: [], gone: [...feed.gone] }, turn);
    feed.gone.clear();
  }

  function tellChanged(state: CellState, names: Set<string>, turn: CellTurn): void {
    if (names.size === 0) return;
    const changed = [...names].map((host) => state.hosts.get(host)).filter((host) => host !== undefined);
    names.clear();
    let from = 0;
    while (from < changed.length) {
      state.feed.sequence += 1;
      // As large as a page at most: if each says at length why it is disabled, five hundred are more than a server carries.
      const hosts = onOnePage(changed.slice(from, from + MAX_HOSTS_TOLD), (host) => toldHost(host, state.service));
      tellFeed(state, { hosts }, turn);
      from += hosts.length;
    }
  }

  function tellFeed(
    { feed: { epoch, sequence }, service: { disabled } }: CellState,
    told: Pick<HostsChanged, 'hosts' | 'gone'>,
    turn: CellTurn,
  ): void {
    const ofCell = disabled === null ? {} : { disabled };
    turn.send(cellFeedAddress(name), { type: 'hosts-changed', cell: name, epoch, sequence, ...told, ...ofCell });
  }

  function recover(state: CellState, turn: CellTurn): void {
    const work = workOf(state, turn);
    state.feed.epoch = turn.now;
    state.feed.sequence = 0;
    state.feed.untold.clear();
    state.feed.recounted.clear();
    state.feed.gone.clear();
    state.feed.tellsBuilds = false;
    // A host is given the time to speak: nobody could hear it while the cell was away.
    couldNotHear(work);
    for (const entry of state.instances.values()) {
      if (entry.build.snapshot.status === 'active') {
        for (const effect of obligations(entry.build.snapshot)) perform(work, entry, effect, true);
      }
      if (entry.deleting) goneIfClear(work, entry);
    }
    for (const removal of [...state.removals.values()]) if (removal.repeats === 0) clearAway(work, removal);
    for (const entry of state.instances.values()) tellLost(work, entry);
    for (const host of state.hosts.values()) restOn(work, host);
    state.swept = turn.steady;
    sweepByEcho(work);
    beat(state, turn);
    turn.wakeAfter(FORGET_WAKE, forgetFirstMs(rememberDeletedMs));
  }

  return {
    init: emptyCell,
    receive,
    apply: (state, record) => applyToCell(state, record, settings.deadlines),
    recover,
    dropped: workOf.forget,
    endTurn,
    figures: ({ instances, hosts }) => ({ instances: instances.size, hosts: hosts.size }),
    snapshot: storeCell,
    restore: (parts) => atOnce(restoreCell(joined(parts) as StoredCell)),
    restoring: (parts) => restoreCell(joined(parts) as StoredCell),
  };
}

/**
 * Whether a compute says that nothing of an attempt is there, and another life of it serves the host by now. That one was
 * asked for what was owed, and may be building it.
 */
function isOfFormerLife({ hosts }: CellState, message: CellMessage | Wake): boolean {
  switch (message.type) {
    case 'build-refused':
    case 'build-failed':
    case 'build-aborted':
    case 'destroyed': {
      const { host, incarnation } = message;
      return incarnation !== undefined && hosts.get(host)?.superseded.includes(incarnation) === true;
    }
    default:
      return false;
  }
}

/** The event of a build machine that a message stands for, if it does nothing else. */
function eventOf(message: CellMessage | Wake): { instance: string; event: InstanceBuildEvent } | null {
  switch (message.type) {
    case 'accepted':
      return { instance: message.instance, event: { type: 'ACCEPTED', attempt: message.attempt } };
    case 'built':
      return { instance: message.instance, event: { type: 'BUILT', attempt: message.attempt } };
    case 'build-refused':
      return {
        instance: message.instance,
        event: { type: 'REFUSED', attempt: message.attempt, reason: message.reason },
      };
    case 'build-failed':
      return {
        instance: message.instance,
        event: { type: 'BUILD_FAILED', attempt: message.attempt, reason: message.reason },
      };
    case 'build-aborted':
      return {
        instance: message.instance,
        event: { type: 'BUILD_ABORTED', attempt: message.attempt, reason: message.reason },
      };
    default:
      return null;
  }
}
