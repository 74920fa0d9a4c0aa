// A scheduler at a desk, with a placement shard and cells that answer it.

import * as assert from 'uvu/assert';
import type { PlacementMessage, ProviderSpec, ProvidersChanged } from '../../actors/messages/placement.ts';
import type { HostState, SchedulerMessage, Select } from '../../actors/messages/scheduler.ts';
import { placement } from '../../actors/placement/placement.ts';
import { UNHEARD_FOR_WARM_UPS } from '../../actors/scheduler/following.ts';
import { scheduler } from '../../actors/scheduler/scheduler.ts';
import { claimOf, inventoryOf, providerOf, rootOf } from './placement-desk.ts';
import { selectFor } from './schedulers.ts';
import { bench, type Sent, sentOf, type Turned } from './turn.ts';

const WARM_UP_MS = 2_500;
export const UNHEARD_MS = UNHEARD_FOR_WARM_UPS * WARM_UP_MS;
export const actor = scheduler({ name: 's', warmUpMs: WARM_UP_MS, patience: { firstMs: 1_000, mostMs: 4_000 } });
export const SCHEDULER = 'scheduler/s';

export interface HostPlan {
  readonly cell: string;
  readonly host: string;
  readonly vcpu?: number;
  readonly state?: HostState['state'];
  /** So many devices of 100 PGPU each. */
  readonly devices?: number;
  /** Traits of its first devices, one each. */
  readonly traits?: readonly string[];
}

export const treeOf = ({ host, vcpu = 8, devices = 0, traits = [] }: HostPlan): ProviderSpec[] => [
  rootOf(host, vcpu),
  ...Array.from({ length: devices }, (_, at) =>
    providerOf(`p-${host}-d${at}`, {
      name: `${host}-d${at}`,
      parent: `p-${host}`,
      inventories: { PGPU: inventoryOf({ total: 100 }) },
      traits: traits.slice(at, at + 1),
    }),
  ),
];

export const hostsIn = (cell: string, ...hosts: string[]): HostPlan[] => hosts.map((host) => ({ cell, host }));

/** A scheduler and a placement shard on one bench: what one says to the other arrives when the test lets it. */
export function rig(plan: readonly HostPlan[]) {
  const shard = bench(placement({ shard: 0 }));
  const on = bench(actor);
  const fed: ProvidersChanged[] = [];
  /** What the scheduler said and nobody has taken. */
  let outbox: Sent[] = [...on.first.sent];

  function hear(message: SchedulerMessage, from = 'test'): Turned<never> {
    const turned = on.tell(message, from);
    outbox.push(...turned.sent);
    return turned;
  }

  /** Hands placement what the scheduler said to it, and the answers back. */
  function deliver(pick: (sent: Sent) => boolean = () => true): Sent[] {
    const said: Sent[] = [];
    for (let taken = outbox.filter(pick); taken.length > 0; taken = outbox.filter(pick)) {
      outbox = outbox.filter((sent) => !taken.includes(sent));
      for (const { to, message } of taken) {
        if (to !== 'placement/0') {
          said.push({ to, message });
          continue;
        }
        for (const answer of shard.tell(message as PlacementMessage, SCHEDULER).sent) {
          if (answer.to === SCHEDULER) hear(answer.message as SchedulerMessage, 'placement/0');
          else fed.push(answer.message as ProvidersChanged);
        }
      }
    }
    return said;
  }

  function put(one: HostPlan): void {
    const { sent } = shard.tell({ type: 'put-tree', ask: 1, providers: treeOf(one) });
    for (const { message } of sent) if (message.type === 'providers-changed') fed.push(message as ProvidersChanged);
  }

  const sequences = new Map<string, number>();
  function tellHost({ cell, host, state = 'up' }: HostPlan): void {
    const sequence = (sequences.get(cell) ?? 0) + 1;
    sequences.set(cell, sequence);
    const hosts: HostState[] = [{ host, provider: `p-${host}`, state }];
    hear({ type: 'hosts-changed', cell, epoch: 1, sequence, hosts });
  }

  for (const one of plan) {
    put(one);
    tellHost(one);
  }
  for (const message of fed.splice(0)) hear(message, 'placement/0');
  deliver();
  // A scheduler asks the cells for all their hosts as well: here each has told its all already.
  for (const cell of new Set(plan.map((one) => one.cell))) answerHosts(cell);
  // Without any host it waits longer for one that it may have missed.
  on.pass(plan.length === 0 ? UNHEARD_MS : WARM_UP_MS);
  outbox = [];

  function answerHosts(cell: string): void {
    const ask = on.state.followers.get(`cell ${cell}`)?.ask ?? null;
    if (ask === null) return;
    const hosts = plan
      .filter((one) => one.cell === cell)
      .map(({ host, state = 'up' }) => ({ host, provider: `p-${host}`, state }));
    hear({ type: 'hosts', ask, cell, epoch: 1, sequence: sequences.get(cell) ?? 0, hosts, next: null }, `cell/${cell}`);
  }

  return { on, shard, hear, deliver, put, said: () => outbox, fed: () => fed.splice(0) };
}
export type Rig = ReturnType<typeof rig>;

export const selectOf = (request: string, told: Parameters<typeof selectFor>[1] = {}): Select =>
  selectFor(request, { vcpu: 2, ...told });

/** What the scheduler answers the conductor when everything that it says arrives. */
export function choose({ hear, deliver }: Rig, asked: Select) {
  hear(asked, 'conductor/0');
  const said = deliver();
  const [selected] = sentOf({ sent: said }, 'selected');
  const [noHost] = sentOf({ sent: said }, 'no-valid-host');
  return { selected: selected?.message ?? null, reason: noHost?.message.reason ?? null };
}

/** Somebody else takes VCPU of a host, and the scheduler does not hear of it. */
export function takeUnheard({ shard }: Rig, host: string, vcpu: number, consumer = `rival-on-${host}`): void {
  const turned = shard.tell(claimOf(consumer, { host: `p-${host}`, vcpu, expiresAt: 100_000_000 }));
  assert.is(sentOf(turned, 'claim-granted').length, 1);
}

export const heldBy = ({ shard }: Rig, consumer: string) => shard.state.consumers.holding.get(consumer)?.held ?? [];
