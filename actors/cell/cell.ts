// The conductor of one cell: it owns the instances of the cell from the hand-over on, and knows which computes are up.
// A build that fails is rescheduled here, from its alternates alone: neither a scheduler nor anything else above the
// cell is asked, only placement. What an attempt may have left on a host is cleared away before its resources go back.
//
// It takes: start, delete (from conductors); accepted, build-refused, built, build-failed, build-aborted, destroyed,
// compute-up, alive (from computes); claim-granted, claim-refused, released (from placement); set-host, show, list,
// list-hosts (from gateways and schedulers). See actors/messages/cell.ts.

import type { ComputeServiceEvent } from '../../machines/compute-service.ts';
import type { InstanceBuildEvent } from '../../machines/instance-build.ts';
import type { RemovalEvent } from '../../machines/removal.ts';
import { type Effect, obligations } from '../../machines/step.ts';
import type { Actor, Address, Turn, Wake } from '../actor.ts';
import {
  armBuild,
  buildEvent,
  type Patience,
  type StateDeadlines,
  stateOfBuild,
  waitMs,
  wakeOfBuild,
} from '../builds.ts';
import type { CellMessage, Start } from '../messages/cell.ts';
import type { ClaimRefused } from '../messages/placement.ts';
import type { HostState } from '../messages/scheduler.ts';
import { page } from '../page.ts';
import {
  cellFeedAddress,
  computeAddress,
  conductorAddress,
  conductorShardOf,
  FEED_BEAT_MS,
  placementAddress,
} from '../routing.ts';
import { stateOfHost, viewOfHost } from './hosts.ts';
import { attemptsHeld, finalKey, type Removal, removalKey, stateOfRemoval } from './removals.ts';
import {
  applyToCell,
  type CellRecord,
  type CellState,
  type Entry,
  emptyCell,
  restoreCell,
  type StoredCell,
  storeCell,
} from './state.ts';
import { viewOfEntry } from './view.ts';

export interface CellOptions {
  readonly cell: string;
  /** How many conductor shards the deployment has. */
  readonly conductorShards: number;
  /** How long a compute may take to accept a build, ms. It answers in milliseconds when it is alive. */
  readonly claimedMs?: number;
  /** How long a build may take, ms; generous, since an image may have to be fetched. */
  readonly buildingMs?: number;
  /** How long a compute may be silent before its host counts as down, ms: several of its heartbeats. */
  readonly silentMs?: number;
  /** How long to wait for an answer before a step is done again. */
  readonly patience?: Patience;
  /** How long a deleted instance is remembered, ms, so that a build of it that arrives late does not begin. */
  readonly rememberDeletedMs?: number;
}

const DEFAULTS = {
  claimedMs: 30_000,
  buildingMs: 600_000,
  silentMs: 15_000,
  patience: { firstMs: 2_000, mostMs: 30_000 },
  rememberDeletedMs: 3_600_000,
} as const;

/** How long a claim of an alternate is valid, ms: it is sent again long before. */
const CLAIM_VALID_MS = 600_000;

type CellTurn = Turn<CellRecord>;

export function cell(options: CellOptions): Actor<CellState, CellMessage, CellRecord> {
  const name = options.cell;
  const patience = options.patience ?? DEFAULTS.patience;
  const silentMs = options.silentMs ?? DEFAULTS.silentMs;
  const rememberDeletedMs = options.rememberDeletedMs ?? DEFAULTS.rememberDeletedMs;
  const deadlines: StateDeadlines = {
    claimed: options.claimedMs ?? DEFAULTS.claimedMs,
    building: options.buildingMs ?? DEFAULTS.buildingMs,
  };
  const scope = ['cell', name];
  const conductorOf = (instance: string) => conductorAddress(conductorShardOf(instance, options.conductorShards));

  function apply(state: CellState, record: CellRecord): readonly Effect[] {
    return applyToCell(state, record, deadlines);
  }

  function commit(state: CellState, turn: CellTurn, record: CellRecord): readonly Effect[] {
    turn.record(record);
    return apply(state, record);
  }

  // --- builds

  function start(state: CellState, asked: Start, from: Address, turn: CellTurn): void {
    const { instance, request, spec, project, payload, traceparent, snapshot } = asked;
    if (state.deleted.has(instance)) return turn.send(from, { type: 'removed', instance });
    if (!state.instances.has(instance)) {
      const facts = { instance, request, spec, project, payload, traceparent };
      const stored = { value: snapshot.value, context: { ...snapshot.context, attempts: [] } };
      commit(state, turn, { type: 'started', facts, snapshot: stored, at: turn.now });
      const entry = state.instances.get(instance) as Entry;
      turn.publish(buildEvent(scope, entry.build, turn.now, 'start'));
      dispatch(state, entry, turn, false);
    }
    turn.send(from, { type: 'started', instance });
  }

  /** Steps a build and does what it then asks for. An event that means nothing to it is dropped. */
  function advance(state: CellState, instance: string, event: InstanceBuildEvent, turn: CellTurn): void {
    const entry = state.instances.get(instance);
    if (entry === undefined || !entry.build.snapshot.can(event)) return;
    const effects = commit(state, turn, { type: 'build-event', instance, event, at: turn.now });
    turn.cancelWake(wakeOfBuild(instance));
    turn.publish(buildEvent(scope, entry.build, turn.now, event.type));
    for (const effect of effects) perform(state, entry, effect, turn, false);
    const last = entry.build.snapshot.context.attempts.at(-1);
    if (last?.mayRun === true) {
      const left = state.removals.get(removalKey({ instance, attempt: last.attempt, final: false }));
      if (left !== undefined && left.repeats === 0) clearAway(state, left, turn);
    }
  }

  function perform(state: CellState, entry: Entry, effect: Effect, turn: CellTurn, again: boolean): void {
    const { instance } = entry.build.facts;
    switch (effect.type) {
      case 'dispatch':
        return dispatch(state, entry, turn, again);
      case 'awaitCompute':
        if (again) return dispatch(state, entry, turn, true);
        return armBuild(entry.build, patience, turn as Turn<never>);
      case 'claimAlternate':
        return claimAlternate(state, entry, turn);
      case 'release': {
        const removal = state.removals.get(finalKey(instance));
        if (removal !== undefined) clearAway(state, removal, turn);
        return;
      }
      case 'report':
        return report(entry, turn);
    }
  }

  /** Tells the compute to build. Before the first order, a host that is not up costs the attempt and nothing else. */
  function dispatch(state: CellState, { build }: Entry, turn: CellTurn, again: boolean): void {
    const { instance, payload } = build.facts;
    const { selection, attempt } = build.snapshot.context;
    const host = state.hosts.get(selection?.host ?? '');
    const usable = host !== undefined && stateOfHost(host) !== 'down';
    if (!usable && !again) {
      const reason = host === undefined ? 'the cell knows no such host' : 'the host is down';
      return advance(state, instance, { type: 'REFUSED', attempt, reason }, turn);
    }
    if (usable) {
      turn.send(computeAddress(name, host.host), {
        type: 'build',
        instance,
        attempt,
        incarnation: host.incarnation,
        allocations: selection?.allocations ?? [],
        ...(payload === undefined ? {} : { payload }),
      });
    }
    armBuild(build, patience, turn as Turn<never>);
  }

  /** The failed host's resources go back and the alternate's are taken, in one command. */
  function claimAlternate(state: CellState, { build }: Entry, turn: CellTurn): void {
    const { instance, spec } = build.facts;
    const { alternates, attempt } = build.snapshot.context;
    turn.send(placementAddress(0), {
      type: 'claim',
      consumer: instance,
      attempt: attempt + 1,
      spec,
      allocations: alternates[0]?.allocations ?? [],
      keep: attemptsHeld(state.removals, instance, attempt),
      expiresAt: turn.now + CLAIM_VALID_MS,
    });
    armBuild(build, patience, turn as Turn<never>);
  }

  function claimRefused(state: CellState, { consumer, attempt, refusal }: ClaimRefused, turn: CellTurn): void {
    // A claim that was under way for too long says nothing of the one that was sent after it.
    if (refusal.code === 'expired') return;
    advance(state, consumer, { type: 'CLAIM_REFUSED', attempt, reason: refusal.message }, turn);
  }

  function report({ build }: Entry, turn: CellTurn): void {
    const { instance } = build.facts;
    const { failure } = build.snapshot.context;
    const outcome = stateOfBuild(build) === 'active' ? 'active' : 'failed';
    const reason = failure === null ? {} : { reason: failure.message };
    turn.send(conductorOf(instance), { type: 'ended', instance, state: outcome, ...reason });
  }

  // --- deleting and clearing away

  function remove(state: CellState, instance: string, from: Address, turn: CellTurn): void {
    const entry = state.instances.get(instance);
    if (entry === undefined) {
      // Either it is gone, or its start is still under way: from here on it must not begin.
      if (!state.deleted.has(instance)) commit(state, turn, { type: 'deleted', instance, at: turn.now });
      return turn.send(from, { type: 'removed', instance });
    }
    if (entry.deleting) return;
    commit(state, turn, { type: 'deleting', instance });
    advance(state, instance, { type: 'DELETED' }, turn);
    const removal = state.removals.get(finalKey(instance));
    if (removal === undefined) return gone(state, entry, turn);
    if (removal.repeats === 0) clearAway(state, removal, turn);
  }

  /** Nothing of an instance that the caller deleted is left. */
  function gone(state: CellState, { build }: Entry, turn: CellTurn): void {
    const { instance, request, traceparent } = build.facts;
    commit(state, turn, { type: 'deleted', instance, at: turn.now });
    turn.publish({
      topic: [...scope, 'build', instance, 'deleted'],
      body: { at: turn.now, instance, request, state: 'deleted' },
      cause: 'delete',
      traceparent,
    });
    turn.send(conductorOf(instance), { type: 'removed', instance });
  }

  /** Does what a removal owes in its state, and again until it is answered. */
  function clearAway(state: CellState, removal: Removal, turn: CellTurn): void {
    const { instance, attempt, host, final } = removal.snapshot.context;
    if (stateOfRemoval(removal) === 'destroying') {
      turn.send(computeAddress(name, host as string), { type: 'destroy', instance, attempt });
    } else if (final) {
      const keep = attemptsHeld(state.removals, instance, attempt);
      turn.send(placementAddress(0), { type: 'release', consumer: instance, keep, deleted: true });
    } else {
      turn.send(placementAddress(0), { type: 'release', consumer: instance, attempt, deleted: false });
    }
    turn.wakeAt(`remove ${removalKey(removal.snapshot.context)}`, turn.now + waitMs(patience, removal.repeats));
    removal.repeats += 1;
  }

  function stepRemoval(state: CellState, key: string, event: RemovalEvent, turn: CellTurn): void {
    const removal = state.removals.get(key);
    if (removal === undefined || !removal.snapshot.can(event)) return;
    const { instance, final } = removal.snapshot.context;
    commit(state, turn, { type: 'removal-event', key, event });
    turn.cancelWake(`remove ${key}`);
    if (state.removals.has(key)) return clearAway(state, removal, turn);
    const entry = state.instances.get(instance);
    if (final && entry?.deleting === true) gone(state, entry, turn);
  }

  function destroyed(state: CellState, instance: string, attempt: number, turn: CellTurn): void {
    for (const final of [false, true]) {
      const key = removalKey({ instance, attempt, final });
      if (state.removals.get(key)?.snapshot.context.attempt === attempt)
        stepRemoval(state, key, { type: 'DESTROYED' }, turn);
    }
  }

  // --- hosts

  function hostEvent(state: CellState, hostName: string, event: ComputeServiceEvent, turn: CellTurn): void {
    const host = state.hosts.get(hostName);
    if (host === undefined || !host.service.can(event)) return;
    const effects = commit(state, turn, { type: 'host-event', host: hostName, event });
    state.feed.untold.add(hostName);
    if (!effects.some(({ type }) => type === 'loseBuilds')) return;
    for (const instance of [...host.building]) {
      const { attempt } = (state.instances.get(instance) as Entry).build.snapshot.context;
      advance(state, instance, { type: 'HOST_LOST', attempt, reason: `host '${hostName}' went silent` }, turn);
    }
  }

  function computeUp(
    state: CellState,
    { host: hostName, provider, incarnation, running }: Extract<CellMessage, { type: 'compute-up' }>,
    from: Address,
    turn: CellTurn,
  ): void {
    const known = state.hosts.get(hostName);
    const newLife = known?.incarnation !== incarnation;
    if (newLife || known?.provider !== provider) {
      commit(state, turn, { type: 'met', host: hostName, provider, incarnation });
    }
    (state.hosts.get(hostName) as { heardAt: number }).heardAt = turn.now;
    hostEvent(state, hostName, { type: 'HEARD' }, turn);
    turn.send(from, { type: 'welcome', incarnation });
    for (const { instance, attempt } of running) {
      if (!belongs(state, instance, attempt, hostName)) turn.send(from, { type: 'destroy', instance, attempt });
    }
    if (!newLife) return;
    // The life before may have forgotten what it was asked: it is asked again.
    for (const instance of state.hosts.get(hostName)?.building ?? []) {
      dispatch(state, state.instances.get(instance) as Entry, turn, true);
    }
    for (const removal of state.removals.values()) {
      if (removal.snapshot.context.host === hostName) clearAway(state, removal, turn);
    }
  }

  /** Whether an attempt that runs on a host is the one that should. */
  function belongs(state: CellState, instance: string, attempt: number, host: string): boolean {
    const entry = state.instances.get(instance);
    if (entry === undefined || entry.deleting) return false;
    const { selection, attempt: current } = entry.build.snapshot.context;
    return selection?.host === host && current === attempt;
  }

  function sweepSilent(state: CellState, turn: CellTurn): void {
    for (const host of state.hosts.values()) {
      if (stateOfHost(host) !== 'down' && host.heardAt + silentMs <= turn.now) {
        hostEvent(state, host.host, { type: 'SILENT' }, turn);
      }
    }
    turn.wakeAt('sweep-silent', turn.now + silentMs / 3);
  }

  function setHost(
    state: CellState,
    asked: Extract<CellMessage, { type: 'set-host' }>,
    from: Address,
    turn: CellTurn,
  ): void {
    const { ask, host: hostName, enabled, reason } = asked;
    const host = state.hosts.get(hostName);
    if (host === undefined) {
      const unknown = `cell '${name}' has no host '${hostName}'`;
      return turn.send(from, { type: 'declined', ask, code: 'not-found', reason: unknown, field: 'host' });
    }
    const event = enabled
      ? { type: 'ENABLE' as const }
      : { type: 'DISABLE' as const, reason: reason ?? 'by an operator' };
    hostEvent(state, hostName, event, turn);
    turn.send(from, { type: 'host-set', ask, host: hostName, state: stateOfHost(host) });
  }

  // --- the contract

  function receive(state: CellState, message: CellMessage | Wake, from: Address, turn: CellTurn): void {
    switch (message.type) {
      case 'start':
        return start(state, message, from, turn);
      case 'delete':
        return remove(state, message.instance, from, turn);
      case 'accepted':
        return advance(state, message.instance, { type: 'ACCEPTED', attempt: message.attempt }, turn);
      case 'built':
        return advance(state, message.instance, { type: 'BUILT', attempt: message.attempt }, turn);
      case 'build-refused':
        return advance(
          state,
          message.instance,
          { type: 'REFUSED', attempt: message.attempt, reason: message.reason },
          turn,
        );
      case 'build-failed':
        return advance(
          state,
          message.instance,
          { type: 'BUILD_FAILED', attempt: message.attempt, reason: message.reason },
          turn,
        );
      case 'build-aborted':
        return advance(
          state,
          message.instance,
          { type: 'BUILD_ABORTED', attempt: message.attempt, reason: message.reason },
          turn,
        );
      case 'destroyed':
        return destroyed(state, message.instance, message.attempt, turn);
      case 'claim-granted':
        return advance(state, message.consumer, { type: 'CLAIM_GRANTED', attempt: message.attempt }, turn);
      case 'claim-refused':
        return claimRefused(state, message, turn);
      case 'released': {
        const { consumer: instance, attempt } = message;
        const key = attempt === undefined ? finalKey(instance) : removalKey({ instance, attempt, final: false });
        return stepRemoval(state, key, { type: 'RELEASED' }, turn);
      }
      case 'compute-up':
        return computeUp(state, message, from, turn);
      case 'alive': {
        const host = state.hosts.get(message.host);
        if (host?.incarnation !== message.incarnation) return turn.send(from, { type: 'who-are-you' });
        host.heardAt = turn.now;
        return hostEvent(state, message.host, { type: 'HEARD' }, turn);
      }
      case 'set-host':
        return setHost(state, message, from, turn);
      case 'show': {
        const entry = state.instances.get(message.instance);
        const view = entry === undefined ? null : viewOfEntry(name, entry);
        return turn.send(from, { type: 'shown', ask: message.ask, view });
      }
      case 'list': {
        const [instances, next] = page(state.instances, message.after, message.limit, (entry) =>
          viewOfEntry(name, entry),
        );
        return turn.send(from, { type: 'listed', ask: message.ask, instances, next });
      }
      case 'list-hosts': {
        const [hosts, next] = page(state.hosts, message.after, message.limit, viewOfHost);
        const { epoch, sequence } = state.feed;
        return turn.send(from, { type: 'hosts', ask: message.ask, cell: name, epoch, sequence, hosts, next });
      }
      case 'wake':
        return wake(state, message.id, turn);
    }
  }

  function wake(state: CellState, id: string, turn: CellTurn): void {
    if (id === 'sweep-silent') return sweepSilent(state, turn);
    if (id === 'beat') {
      tellFeed(state, [], turn);
      return turn.wakeAt('beat', turn.now + FEED_BEAT_MS);
    }
    if (id === 'forget-deleted') {
      const before = turn.now - rememberDeletedMs;
      const oldest = state.deleted.values().next().value;
      if (oldest !== undefined && oldest < before) commit(state, turn, { type: 'forgotten', before });
      return turn.wakeAt('forget-deleted', turn.now + rememberDeletedMs / 4);
    }
    const kind = id.slice(0, id.indexOf(' '));
    const rest = id.slice(kind.length + 1);
    if (kind === 'remove') {
      const removal = state.removals.get(rest);
      if (removal !== undefined) clearAway(state, removal, turn);
      return;
    }
    const entry = state.instances.get(rest);
    if (entry === undefined) return;
    const { deadlineAt, snapshot } = entry.build;
    if (deadlineAt !== null && turn.now >= deadlineAt) return advance(state, rest, { type: 'TIMED_OUT' }, turn);
    entry.build.repeats += 1;
    for (const effect of obligations(snapshot)) perform(state, entry, effect, turn, true);
  }

  /** One message a turn tells of all hosts that changed. */
  function endTurn({ hosts, feed }: CellState, turn: CellTurn): void {
    if (feed.untold.size === 0) return;
    feed.sequence += 1;
    const changed = [...feed.untold].map((host) => hosts.get(host)).filter((host) => host !== undefined);
    feed.untold.clear();
    tellFeed({ hosts, feed }, changed.map(viewOfHost), turn);
  }

  function tellFeed(
    { feed: { epoch, sequence } }: Pick<CellState, 'hosts' | 'feed'>,
    hosts: HostState[],
    turn: CellTurn,
  ): void {
    turn.send(cellFeedAddress(name), { type: 'hosts-changed', cell: name, epoch, sequence, hosts });
  }

  function recover(state: CellState, turn: CellTurn): void {
    state.feed.epoch = turn.now;
    state.feed.sequence = 0;
    state.feed.untold.clear();
    // A host is given the time to speak: nobody could hear it while the cell was away.
    for (const host of state.hosts.values()) host.heardAt = turn.now;
    for (const entry of state.instances.values()) {
      if (entry.build.snapshot.status === 'active') {
        for (const effect of obligations(entry.build.snapshot)) perform(state, entry, effect, turn, true);
      }
      if (entry.deleting && !state.removals.has(finalKey(entry.build.facts.instance))) gone(state, entry, turn);
    }
    for (const removal of state.removals.values()) if (removal.repeats === 0) clearAway(state, removal, turn);
    turn.wakeAt('sweep-silent', turn.now + silentMs / 3);
    turn.wakeAt('forget-deleted', turn.now + rememberDeletedMs / 4);
    turn.wakeAt('beat', turn.now);
  }

  return {
    init: emptyCell,
    receive,
    apply,
    recover,
    endTurn,
    snapshot: storeCell,
    restore: (stored) => restoreCell(stored as StoredCell),
  };
}
