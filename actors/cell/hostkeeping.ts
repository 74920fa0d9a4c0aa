// Keeping the hosts of a cell: who is up, who went silent, who came back, whom an operator takes out of service.

import type { ComputeServiceEvent } from '../../machines/compute-service.ts';
import type { Address } from '../actor.ts';
import type { CellMessage } from '../messages/cell.ts';
import { advance, dispatch } from './building.ts';
import { clearAway } from './clearing.ts';
import { stateOfHost } from './hosts.ts';
import type { Entry } from './state.ts';
import { commit, type Work } from './work.ts';

export function hostEvent(work: Work, hostName: string, event: ComputeServiceEvent): void {
  const host = work.state.hosts.get(hostName);
  if (host === undefined || !host.service.can(event)) return;
  const effects = commit(work, { type: 'host-event', host: hostName, event });
  work.state.feed.untold.add(hostName);
  if (!effects.some(({ type }) => type === 'loseBuilds')) return;
  for (const instance of [...host.building]) {
    const { attempt } = (work.state.instances.get(instance) as Entry).build.snapshot.context;
    advance(work, instance, { type: 'HOST_LOST', attempt, reason: `host '${hostName}' went silent` });
  }
}

export function computeUp(
  work: Work,
  { host: hostName, provider, incarnation, running }: Extract<CellMessage, { type: 'compute-up' }>,
  from: Address,
): void {
  const known = work.state.hosts.get(hostName);
  if (known?.superseded.includes(incarnation)) return work.turn.send(from, { type: 'retired', incarnation });
  const newLife = known?.incarnation !== incarnation;
  if (newLife || known?.provider !== provider) {
    commit(work, { type: 'met', host: hostName, provider, incarnation });
  }
  (work.state.hosts.get(hostName) as { heardAt: number }).heardAt = work.turn.now;
  hostEvent(work, hostName, { type: 'HEARD' });
  work.turn.send(from, { type: 'welcome', incarnation });
  for (const { instance, attempt } of running) {
    if (!belongs(work, instance, attempt, hostName)) work.turn.send(from, { type: 'destroy', instance, attempt });
  }
  if (!newLife) return;
  // The life before may have forgotten what it was asked: it is asked again.
  for (const instance of work.state.hosts.get(hostName)?.building ?? []) {
    dispatch(work, work.state.instances.get(instance) as Entry, true);
  }
  for (const removal of work.state.removals.values()) {
    if (removal.snapshot.context.host === hostName) clearAway(work, removal);
  }
}

/** Whether an attempt that runs on a host is the one that should. */
export function belongs(work: Work, instance: string, attempt: number, host: string): boolean {
  const entry = work.state.instances.get(instance);
  if (entry === undefined || entry.deleting) return false;
  const { selection, attempt: current } = entry.build.snapshot.context;
  return selection?.host === host && current === attempt;
}

export function sweepSilent(work: Work): void {
  const { state, turn } = work;
  // A cell that was held up could hear nobody, and what was said is in its mailbox still: its hosts are given time.
  const wasHeldUp = turn.now - state.sweptAt > work.silentMs / 2;
  if (wasHeldUp) for (const host of state.hosts.values()) host.heardAt = turn.now;
  state.sweptAt = turn.now;
  for (const host of work.state.hosts.values()) {
    if (stateOfHost(host) !== 'down' && host.heardAt + work.silentMs <= work.turn.now) {
      hostEvent(work, host.host, { type: 'SILENT' });
    }
  }
  work.turn.wakeAt('sweep-silent', work.turn.now + work.silentMs / 3);
}

export function setHost(work: Work, asked: Extract<CellMessage, { type: 'set-host' }>, from: Address): void {
  const { ask, host: hostName, enabled, reason } = asked;
  const host = work.state.hosts.get(hostName);
  if (host === undefined) {
    const unknown = `cell '${work.cell}' has no host '${hostName}'`;
    return work.turn.send(from, { type: 'declined', ask, code: 'not-found', reason: unknown, field: 'host' });
  }
  const event = enabled
    ? { type: 'ENABLE' as const }
    : { type: 'DISABLE' as const, reason: reason ?? 'by an operator' };
  hostEvent(work, hostName, event);
  work.turn.send(from, { type: 'host-set', ask, host: hostName, state: stateOfHost(host) });
}

export function alive(
  work: Work,
  { host: hostName, incarnation }: Extract<CellMessage, { type: 'alive' }>,
  from: Address,
): void {
  const host = work.state.hosts.get(hostName);
  // Two computes of one host would take turns for ever: the one that presented itself last stays.
  if (host?.superseded.includes(incarnation)) return work.turn.send(from, { type: 'retired', incarnation });
  if (host?.incarnation !== incarnation) return work.turn.send(from, { type: 'who-are-you' });
  host.heardAt = work.turn.now;
  hostEvent(work, hostName, { type: 'HEARD' });
}
