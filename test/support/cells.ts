// A cell at a desk: its hosts are up, and everything that it hears is said by the test.

import * as assert from 'uvu/assert';
import { cell } from '../../actors/cell/cell.ts';
import type { CellMessage, Start } from '../../actors/messages/cell.ts';
import type { ComputeBuild } from '../../actors/messages/compute.ts';
import type { Refusal } from '../../actors/messages/placement.ts';
import { selectionAt } from '../../machines/testing.ts';
import { bench, sentOf, type Turned, viewOf as viewOfInstance } from './turn.ts';

export const OPTIONS = {
  cell: 'c1',
  conductorShards: 1,
  claimedMs: 20_000,
  buildingMs: 60_000,
  silentMs: 15_000,
  patience: { firstMs: 1_000, mostMs: 4_000 },
} as const;
export const actor = cell(OPTIONS);
export const HOSTS = ['h1', 'h2', 'h3'];
const FULL: Refusal = { code: 'exceeds-capacity', message: 'full' };

export const up = (host: string, incarnation = 'life-1', running: { instance: string; attempt: number }[] = []) =>
  ({ type: 'compute-up', host, provider: `provider-of-${host}`, incarnation, running }) as const satisfies CellMessage;

/** A cell whose hosts are up. */
export function desk() {
  const on = bench(actor, { address: 'cell/c1' });
  for (const host of HOSTS) on.tell(up(host), `compute/c1/${host}`);
  return on;
}
export type Desk = ReturnType<typeof desk>;

export function startOf(instance: string, alternates: readonly string[] = ['h2', 'h3'], host = 'h1'): Start {
  const snapshot = {
    value: 'claimed' as const,
    context: {
      v: 1 as const,
      instance,
      selection: selectionAt(host),
      alternates: alternates.map(selectionAt),
      attempt: 1,
      attempts: [],
      failure: null,
    },
  };
  const spec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' as const };
  return { type: 'start', instance, request: instance, spec, snapshot } as unknown as Start;
}

export const ofAttempt = (instance: string, attempt: number, host = `h${attempt}`) => ({ host, instance, attempt });
/** The claim of an attempt is granted: as it is said of the host of that number, or otherwise. */
export const granted = (
  consumer: string,
  attempt: number,
  allocations = [...(selectionAt(`h${attempt}`).allocations ?? [])],
): CellMessage => ({
  type: 'claim-granted',
  consumer,
  attempt,
  allocations,
  usages: [],
});
export const refused = (consumer: string, attempt: number, refusal = FULL): CellMessage => ({
  type: 'claim-refused',
  consumer,
  attempt,
  refusal,
  usages: [],
});

/** A cell with an instance that is being built on `h1`. */
export function building(alternates?: readonly string[]): Desk {
  const on = desk();
  on.tell(startOf('i1', alternates), 'conductor/0');
  on.tell({ type: 'accepted', ...ofAttempt('i1', 1) });
  return on;
}

export const viewOf = (on: Desk) => viewOfInstance(on, 'i1');

/** The order to build that a turn gave. */
export function orderIn(turned: Turned<unknown>): ComputeBuild {
  const [order] = sentOf(turned, 'build');
  assert.ok(order, 'no order was given');
  return order.message as unknown as ComputeBuild;
}

export const failed = (instance: string, attempt: number): CellMessage => ({
  type: 'build-failed',
  ...ofAttempt(instance, attempt),
  reason: 'no image',
});
