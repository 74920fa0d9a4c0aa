// A conductor shard at a desk, with requests to say to it and the answers of schedulers and cells in good health.

import * as assert from 'uvu/assert';
import { conductor } from '../../actors/conductor/conductor.ts';
import type { AnyMessage } from '../../actors/messages/any.ts';
import type { Build, ConductorMessage } from '../../actors/messages/conductor.ts';
import { selectionAt } from '../../machines/testing.ts';
import { bench, type Letter, type Sent, type Turned } from './turn.ts';

export const REQUESTED_MS = 60_000;
export const actor = conductor({ shard: 0, requestedMs: REQUESTED_MS, patience: { firstMs: 1_000, mostMs: 4_000 } });
export const desk = () => bench(actor);
export type Desk = ReturnType<typeof desk>;

export function buildOf(request: string, count = 1, more: Partial<Build> = {}): Build {
  return {
    type: 'build',
    ask: 7,
    request,
    count,
    alternates: 2,
    spec: { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' },
    ...more,
  };
}

export const remove = (instance: string): ConductorMessage => ({ type: 'delete', ask: 8, instance });

/** The scheduler's answer to the question that was put last. */
export function selectedFor(sent: Sent): Letter<ConductorMessage> {
  const { message } = sent as { message: Extract<AnyMessage, { type: 'select' }> };
  const selections = message.instances.map((instance) => ({
    instance,
    selection: selectionAt('h1'),
    alternates: [selectionAt('h2'), selectionAt('h3')],
  }));
  const { request, round } = message;
  return { message: { type: 'selected', request, round, selections } as ConductorMessage, from: 'scheduler/s' };
}

export function lastSelect(turned: Pick<Turned<unknown>, 'sent'>): Sent {
  const found = turned.sent.findLast(({ message }) => message.type === 'select');
  assert.ok(found, 'no scheduler was asked');
  return found;
}

export const noHost = (request: string, round: number): ConductorMessage => ({
  type: 'no-valid-host',
  request,
  round,
  reason: 'none of 3 hosts',
});

/** Builds a request and brings its instances to the hand-over. */
export function handedOver(on: Desk, request: string, count = 1): Turned<unknown> {
  const asked = on.tell(buildOf(request, count), 'gateway/g');
  const { message } = selectedFor(lastSelect(asked));
  return on.tell(message, 'scheduler/s');
}

/** What a deployment in good health answers. */
export function answered(sent: Sent): Letter<ConductorMessage>[] {
  const { to, message } = sent;
  switch (message.type) {
    case 'select':
      return [selectedFor(sent)];
    case 'start':
      return [{ message: { type: 'started', instance: message.instance }, from: to }];
    case 'delete':
      return [{ message: { type: 'removed', instance: (message as { instance: string }).instance }, from: to }];
    case 'release':
      return [{ message: { type: 'released', consumer: message.consumer, deleted: message.deleted }, from: to }];
    default:
      return [];
  }
}

/** Everything that was asked of the conductor is done, and nothing is owed. */
export const isSettled = (on: Desk) => () =>
  on.state.requests.size === 0 &&
  [...on.state.instances.values()].every(
    ({ phase, releaseOwed }) => ['in-cell', 'failed', 'deleted'].includes(phase) && !releaseOwed,
  );
