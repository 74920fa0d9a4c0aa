// A shard of the super conductor: outside any cell, from an accepted request to the hand-over of each build to the
// cell of the host that was claimed for it. It answers the caller as soon as the request is recorded; everything
// after happens after the answer, and is done again until it has come to something.
//
// It takes: build, delete, show, list (from gateways), selected, no-valid-host (from schedulers), started, ended,
// removed (from cells), released (from placement). See actors/messages/conductor.ts.

import type { InstanceBuildEvent } from '../../machines/instance-build.ts';
import { type Effect, obligations } from '../../machines/step.ts';
import type { Actor, Address, Turn, Wake } from '../actor.ts';
import {
  armBuild,
  buildEvent,
  type HostedBuild,
  type Patience,
  type StateDeadlines,
  stateOfBuild,
  waitMs,
  wakeOfBuild,
} from '../builds.ts';
import type { Build, ConductorMessage, Selected } from '../messages/conductor.ts';
import { page } from '../page.ts';
import { cellAddress, instanceNames, placementAddress, SCHEDULERS } from '../routing.ts';
import {
  applyToConductor,
  type ConductorRecord,
  type ConductorState,
  deadlineOfRequest,
  type Entry,
  emptyConductor,
  entryOf,
  fingerprintOf,
  restoreConductor,
  type StoredConductor,
  storeConductor,
} from './state.ts';
import { viewOf } from './view.ts';
import { isGoing, startOf, takenBecause } from './words.ts';

export interface ConductorOptions {
  readonly shard: number;
  /** How long a request may look for hosts before it fails, ms. Ample: the whole fleet is asked in milliseconds. */
  readonly requestedMs?: number;
  /** How long to wait for an answer before a step is done again. */
  readonly patience?: Patience;
  /**
   * How long a deleted instance can still be shown, and its id not be taken again, ms: longer than cells and placement
   * remember it, who would refuse another of the same id.
   */
  readonly rememberDeletedMs?: number;
  /** How long a cell may say nothing of how a build ended before it is asked, ms; default a minute. */
  readonly checkMs?: number;
}

const DEFAULTS = {
  requestedMs: 120_000,
  patience: { firstMs: 2_000, mostMs: 15_000 },
  rememberDeletedMs: 7_200_000,
  checkMs: 60_000,
} as const;

const RELEASED_WAKE = (instance: string): string => `release ${instance}`;
const REQUEST_WAKE = (request: string): string => `request ${request}`;
const ENDED_WAKE = (instance: string): string => `ended ${instance}`;
const DELETE_WAKE = (instance: string): string => `delete ${instance}`;

export function conductor(options: ConductorOptions): Actor<ConductorState, ConductorMessage, ConductorRecord> {
  const patience = options.patience ?? DEFAULTS.patience;
  const rememberDeletedMs = options.rememberDeletedMs ?? DEFAULTS.rememberDeletedMs;
  const checkMs = options.checkMs ?? DEFAULTS.checkMs;
  const deadlines: StateDeadlines = { requested: options.requestedMs ?? DEFAULTS.requestedMs };
  const scope = ['conductor', String(options.shard)];
  type ConductorTurn = Turn<ConductorRecord>;

  function commit(state: ConductorState, turn: ConductorTurn, record: ConductorRecord): readonly Effect[] {
    turn.record(record);
    return applyToConductor(state, record, deadlines);
  }

  function build(state: ConductorState, asked: Build, from: Address, turn: ConductorTurn): void {
    const { ask, request, count, alternates, spec, project, payload, traceparent } = asked;
    const instances = instanceNames(request, count);
    const facts = { request, spec, project, payload, traceparent };
    const standing = instances.find((instance) => state.instances.has(instance));
    if (standing !== undefined) {
      const fingerprint = fingerprintOf(facts, count, alternates);
      const isRepeated = instances.every((instance) => {
        const entry = state.instances.get(instance);
        return entry?.request === request && entry.asked === fingerprint && !isGoing(entry);
      });
      if (isRepeated) turn.send(from, { type: 'build-accepted', ask, request, instances });
      else decline(turn, from, ask, 'already-exists', takenBecause(standing, entryOf(state, standing)), 'id');
      return;
    }
    if (state.requests.has(request)) {
      // Its instances have other names, as the count is another: but there is one open request of a name.
      const reason = `request '${request}' exists already, with another count, and still looks for hosts`;
      return decline(turn, from, ask, 'already-exists', reason, 'id');
    }
    commit(state, turn, { type: 'accepted', facts, instances, alternates, at: turn.now });
    for (const instance of instances) {
      const { build: hosted } = entryOf(state, instance);
      turn.publish(buildEvent(scope, hosted as HostedBuild, turn.now, 'build'));
    }
    state.toAsk.add(request);
    turn.send(from, { type: 'build-accepted', ask, request, instances });
  }

  function decline(turn: ConductorTurn, to: Address, ask: number, code: string, reason: string, field?: string): void {
    turn.send(to, { type: 'declined', ask, code, reason, ...(field === undefined ? {} : { field }) });
  }

  /** Steps a build that is hosted here and does what it then asks for. */
  function advance(state: ConductorState, instance: string, event: InstanceBuildEvent, turn: ConductorTurn): void {
    const entry = state.instances.get(instance);
    if (entry?.phase !== 'here' || entry.build === null) return;
    if (!entry.build.snapshot.can(event)) return;
    const effects = commit(state, turn, { type: 'build-event', instance, event, at: turn.now });
    turn.cancelWake(wakeOfBuild(instance));
    for (const effect of effects) perform(state, instance, entry, effect, turn);
    if (stateOfBuild(entry.build) === 'failed') {
      turn.publish(buildEvent(scope, entry.build, turn.now, event.type));
    }
  }

  function perform(state: ConductorState, instance: string, entry: Entry, effect: Effect, turn: ConductorTurn): void {
    switch (effect.type) {
      case 'askScheduler':
        state.toAsk.add(entry.request);
        return;
      case 'dispatch':
        return handOver(instance, entry, turn);
      case 'release':
        return release(instance, entry, turn);
    }
  }

  function handOver(instance: string, entry: Entry, turn: ConductorTurn): void {
    const hosted = entry.build as HostedBuild;
    turn.send(cellAddress(entry.cell as string), startOf(instance, hosted));
    armBuild(hosted, patience, turn as Turn<never>);
  }

  /** Whatever any claim took for the instance goes back, and no later claim for it can succeed. */
  function release(instance: string, entry: Entry, turn: ConductorTurn): void {
    turn.send(placementAddress(0), { type: 'release', consumer: instance, deleted: true });
    turn.wakeAt(RELEASED_WAKE(instance), turn.now + waitMs(patience, entry.repeats, instance));
  }

  function selected(state: ConductorState, answer: Selected, turn: ConductorTurn): void {
    if (state.requests.get(answer.request)?.round !== answer.round) return;
    for (const { instance, selection, alternates } of answer.selections) {
      advance(state, instance, { type: 'SELECTED', selection, alternates }, turn);
    }
    if (!state.requests.has(answer.request)) turn.cancelWake(REQUEST_WAKE(answer.request));
  }

  function failRequest(state: ConductorState, request: string, event: InstanceBuildEvent, turn: ConductorTurn): void {
    const open = state.requests.get(request);
    if (open === undefined) return;
    for (const instance of [...open.waiting]) advance(state, instance, event, turn);
    turn.cancelWake(REQUEST_WAKE(request));
  }

  function remove(state: ConductorState, ask: number, instance: string, from: Address, turn: ConductorTurn): void {
    const entry = state.instances.get(instance);
    if (entry === undefined) return decline(turn, from, ask, 'not-found', `there is no instance '${instance}'`, 'id');
    if (entry.phase === 'here' && entry.cell === null) {
      advance(state, instance, { type: 'DELETED' }, turn);
      // The claim for it is refused from now on, which is no reason to fail the others: they are asked for anew.
      state.toAsk.add(entry.request);
    } else if (entry.phase === 'here' || entry.phase === 'in-cell') {
      commit(state, turn, { type: 'deleting', instance, at: turn.now });
      turn.cancelWake(wakeOfBuild(instance));
      deleteInCell(instance, entry, turn);
    } else if (entry.phase === 'failed') {
      if (entry.releaseOwed) commit(state, turn, { type: 'deleting', instance, at: turn.now });
      else commit(state, turn, { type: 'deleted', instance, at: turn.now });
    }
    turn.send(from, { type: 'delete-accepted', ask, instance, state: entry.phase });
  }

  function deleteInCell(instance: string, entry: Entry, turn: ConductorTurn): void {
    turn.send(cellAddress(entry.cell as string), { type: 'delete', instance });
    turn.wakeAt(DELETE_WAKE(instance), turn.now + waitMs(patience, entry.repeats, instance));
  }

  /** The cell has cleared the instance away, or never had it: then nobody but this shard gives its resources back. */
  function removed(state: ConductorState, instance: string, turn: ConductorTurn): void {
    const entry = state.instances.get(instance);
    if (entry?.phase !== 'deleting' || entry.cell === null || entry.releaseOwed) return;
    turn.cancelWake(DELETE_WAKE(instance));
    if (entry.handedOver) {
      commit(state, turn, { type: 'deleted', instance, at: turn.now });
    } else {
      commit(state, turn, { type: 'removed', instance });
      release(instance, entry, turn);
    }
  }

  function released(state: ConductorState, instance: string, turn: ConductorTurn): void {
    const entry = state.instances.get(instance);
    if (entry === undefined || !entry.releaseOwed) return;
    turn.cancelWake(RELEASED_WAKE(instance));
    if (entry.phase === 'deleting') commit(state, turn, { type: 'deleted', instance, at: turn.now });
    else commit(state, turn, { type: 'released', instance });
  }

  function receive(state: ConductorState, message: ConductorMessage | Wake, from: Address, turn: ConductorTurn): void {
    switch (message.type) {
      case 'build':
        return build(state, message, from, turn);
      case 'delete':
        return remove(state, message.ask, message.instance, from, turn);
      case 'show': {
        const entry = state.instances.get(message.instance);
        const view = entry === undefined ? null : viewOf(message.instance, entry);
        turn.send(from, { type: 'shown', ask: message.ask, view });
        return;
      }
      case 'list': {
        const [instances, next] = page(state.instances, message.after, message.limit, (entry, id) => viewOf(id, entry));
        turn.send(from, { type: 'listed', ask: message.ask, instances, next });
        return;
      }
      case 'selected':
        return selected(state, message, turn);
      case 'no-valid-host':
        if (state.requests.get(message.request)?.round !== message.round) return;
        return failRequest(state, message.request, { type: 'NO_VALID_HOST', reason: message.reason }, turn);
      case 'started': {
        const entry = state.instances.get(message.instance);
        // Only what was handed to a cell can have been started there.
        if (entry === undefined || entry.handedOver || entry.cell === null) return;
        commit(state, turn, { type: 'started', instance: message.instance });
        turn.cancelWake(wakeOfBuild(message.instance));
        askHowItEndsLater(message.instance, entry, turn);
        return;
      }
      case 'ended': {
        const entry = state.instances.get(message.instance);
        if (message.state === 'lost') turn.send(from, { type: 'lost-noted', instance: message.instance });
        turn.cancelWake(ENDED_WAKE(message.instance));
        if (entry?.phase !== 'in-cell' || entry.told?.state === message.state) return;
        commit(state, turn, {
          type: 'ended',
          instance: message.instance,
          state: message.state,
          reason: message.reason,
        });
        return;
      }
      case 'removed':
        return removed(state, message.instance, turn);
      case 'released':
        return released(state, message.consumer, turn);
      case 'wake':
        return wake(state, message.id, turn);
    }
  }

  function wake(state: ConductorState, id: string, turn: ConductorTurn): void {
    if (id === 'forget-deleted') {
      const before = turn.now - rememberDeletedMs;
      const some = [...state.instances.values()].some(
        ({ phase, deletedAt }) => phase === 'deleted' && deletedAt < before,
      );
      if (some) commit(state, turn, { type: 'forgotten', before });
      turn.wakeAt('forget-deleted', turn.now + rememberDeletedMs / 4);
      return;
    }
    const [kind, name] = id.split(' ') as [string, string];
    if (kind === 'request') return wakeRequest(state, name, turn);
    const entry = state.instances.get(name);
    if (entry === undefined) return;
    entry.repeats += 1;
    if (kind === 'release' && entry.releaseOwed) release(name, entry, turn);
    if (kind === 'delete' && entry.phase === 'deleting') deleteInCell(name, entry, turn);
    if (kind === 'ended' && entry.phase === 'in-cell' && entry.told === null) {
      turn.send(cellAddress(entry.cell as string), { type: 'do-again', instance: name });
      askHowItEndsLater(name, entry, turn);
    }
    if (kind === 'build' && entry.phase === 'here' && entry.build !== null) {
      entry.build.repeats += 1;
      for (const effect of obligations(entry.build.snapshot)) perform(state, name, entry, effect, turn);
    }
  }

  /** The cell tells once how a build ended. That may be lost, so after a while it is asked. */
  function askHowItEndsLater(instance: string, { told }: Entry, turn: ConductorTurn): void {
    if (told === null) turn.wakeAt(ENDED_WAKE(instance), turn.now + checkMs);
  }

  /** No scheduler has answered: ask again, unless the request has waited for too long. */
  function wakeRequest(state: ConductorState, request: string, turn: ConductorTurn): void {
    const open = state.requests.get(request);
    if (open === undefined) return;
    const deadlineAt = deadlineOfRequest(state, open);
    if (turn.now >= deadlineAt) return failRequest(state, request, { type: 'TIMED_OUT' }, turn);
    open.repeats += 1;
    state.toAsk.add(request);
  }

  /** One question a request and turn, however many instances it has. */
  function endTurn(state: ConductorState, turn: ConductorTurn): void {
    for (const request of state.toAsk) {
      const open = state.requests.get(request);
      if (open === undefined) continue;
      open.round = Math.max(open.round + 1, turn.now);
      const deadlineAt = deadlineOfRequest(state, open);
      turn.send(SCHEDULERS, {
        type: 'select',
        request,
        round: open.round,
        instances: [...open.waiting],
        spec: open.spec,
        alternates: open.alternates,
        expiresAt: deadlineAt,
      });
      turn.wakeAt(REQUEST_WAKE(request), Math.min(deadlineAt, turn.now + waitMs(patience, open.repeats, request)));
    }
    state.toAsk.clear();
  }

  function recover(state: ConductorState, turn: ConductorTurn): void {
    for (const [instance, entry] of state.instances) {
      entry.repeats = 0;
      if (entry.releaseOwed) release(instance, entry, turn);
      else if (entry.phase === 'deleting') deleteInCell(instance, entry, turn);
      else if (entry.phase === 'in-cell') askHowItEndsLater(instance, entry, turn);
      else if (entry.phase === 'here' && entry.build !== null) {
        for (const effect of obligations(entry.build.snapshot)) perform(state, instance, entry, effect, turn);
      }
    }
    turn.wakeAt('forget-deleted', turn.now + rememberDeletedMs / 4);
  }

  return {
    init: emptyConductor,
    receive,
    apply: (state, record) => applyToConductor(state, record, deadlines),
    recover,
    endTurn,
    snapshot: storeConductor,
    restore: (stored) => restoreConductor(stored as StoredConductor),
  };
}
