// A conductor whose requests wait: what it is asked, and what schedulers answer.

import { conductor } from '../../actors/conductor/conductor.ts';
import type { Build, ConductorMessage } from '../../actors/messages/conductor.ts';
import { bench, type Sent, sentOf } from './turn.ts';
import { PATIENCE } from './waiting.ts';

export const OPTIONS = { shard: 0, requestedMs: 60_000, patience: PATIENCE, parkedAskMs: 15_000 };
/** With which no more than two may wait. */
export const actor = conductor({ ...OPTIONS, maxParked: 2 });
export const desk = () => bench(actor);
export type Desk = ReturnType<typeof desk>;
/** Which asks again for those that wait once an hour, unless something happens. */
export const unhurried = conductor({ ...OPTIONS, parkedAskMs: 3_600_000 });

export function buildOf(request: string, waitMs: number | undefined = 300_000, more: Partial<Build> = {}): Build {
  const spec: Build['spec'] = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' };
  return { type: 'build', ask: 7, request, count: 1, alternates: 2, spec, project: 'p', waitMs, ...more };
}

/** One that does not wait. */
export function atOnce(request: string): Build {
  const { waitMs, ...build } = buildOf(request);
  return build;
}

export function parkedAs(on: Desk, request: string, reason = 'none of 3 hosts', by = 'scheduler/s') {
  const round = on.state.requests.get(request)?.round ?? 0;
  const message: ConductorMessage = { type: 'parked', request, round, reason, decision: '{}' };
  return on.tell(message, by);
}

/** Who was asked for, and of whom. */
export function selectsIn(turned: { sent: readonly Sent[] }): string[] {
  return sentOf(turned, 'select').map(({ to, message }) => `${message.request} of ${to}`);
}

/** Asks for these, one behind the other, which wait with scheduler one from then on. */
export function parkAtOne(on: Desk, requests: readonly string[]): void {
  for (const request of requests) {
    on.tell(buildOf(request, 7_200_000));
    parkedAs(on, request, 'full', 'scheduler/one');
    on.now += 1;
  }
}

/** A request hears that a scheduler has come up; answers who is asked for, and of whom. */
export function cameUp(on: Desk, request: string): string[] {
  return selectsIn(on.tell({ type: 'wake', id: `request ${request}`, isEarly: true }));
}
