// A scheduler and a placement shard whose hosts are full at first, so that requests wait.

import type { PlacementMessage, ProvidersChanged } from '../../actors/messages/placement.ts';
import type { SchedulerMessage, Select } from '../../actors/messages/scheduler.ts';
import { placement } from '../../actors/placement/placement.ts';
import { scheduler } from '../../actors/scheduler/scheduler.ts';
import { claimOf, put, rootOf } from './placement-desk.ts';
import { bench, type Sent, sentOf } from './turn.ts';

export const WARM_UP_MS = 2_500;
export const PATIENCE = { firstMs: 1_000, mostMs: 4_000 };
const SCHEDULER = 'scheduler/s';
export const FOREVER = 100_000_000_000;

/** A scheduler and a placement shard; hosts have 8 VCPU each, all taken by `rival-<host>` at first. */
export function rig(...hosts: string[]) {
  const all = comingUp(...hosts);
  all.tellHosts();
  all.pass(WARM_UP_MS + 1_000);
  return all;
}

/** The same, before the scheduler has heard of any host. */
export function comingUp(...hosts: string[]) {
  const shard = bench(placement({ shard: 0 }));
  const on = bench(scheduler({ name: 's', warmUpMs: WARM_UP_MS, patience: PATIENCE }));
  let outbox: Sent[] = [...on.first.sent];
  const answers: Sent[] = [];

  /** Everything that is said arrives, until nobody says any more. */
  function settle(): void {
    while (outbox.length > 0) {
      const [next, ...rest] = outbox as [Sent, ...Sent[]];
      outbox = rest;
      const { to, message } = next;
      if (to === 'placement/0') {
        for (const answer of shard.tell(message as PlacementMessage, SCHEDULER).sent) toScheduler(answer);
      } else if (to.startsWith('cell/')) {
        const { ask } = message as { ask: number };
        const all = hosts.map((host) => ({ host, provider: `p-${host}`, state: 'up' as const }));
        hear({ type: 'hosts', ask, cell: 'c1', epoch: 1, sequence: 1, hosts: all, next: null }, to);
      } else {
        answers.push(next);
      }
    }
  }

  function toScheduler({ message }: Sent): void {
    if (
      ['providers-changed', 'claim-granted', 'claim-refused', 'nothing-held', 'providers', 'released'].includes(
        message.type,
      )
    ) {
      hear(message as SchedulerMessage, 'placement/0');
    }
  }

  function hear(message: SchedulerMessage, from: string): void {
    outbox.push(...on.tell(message, from).sent);
  }

  function pass(ms: number): void {
    const until = on.now + ms;
    while (on.now < until) {
      const next = Math.min(until, ...[...on.wakes.values()].map((at) => on.now + Math.max(at - on.steady, 1)));
      for (const { sent } of on.pass(next - on.now)) outbox.push(...sent);
      shard.now = on.now;
      settle();
    }
  }

  function take(host: string, consumer: string, vcpu: number): void {
    const claim = claimOf(consumer, { host: `p-${host}`, vcpu, expiresAt: FOREVER });
    for (const { message } of sentOf(shard.tell(claim), 'providers-changed'))
      hear(message as ProvidersChanged, 'placement/0');
  }

  /** @param beside What the scheduler hears next, in the same turn. */
  function release(consumer: string, ...beside: Select[]): void {
    const { sent } = shard.tell({ type: 'release', consumer, deleted: true });
    const changes = sentOf({ sent }, 'providers-changed').map(({ message }) => message as ProvidersChanged);
    outbox.push(
      ...on.tellAll([
        ...changes.map((message) => ({ message, from: 'placement/0' })),
        ...beside.map((message) => ({ message, from: 'conductor/0' })),
      ]).sent,
    );
    settle();
    pass(5_000);
  }

  for (const host of hosts) {
    for (const answer of shard.tell(put([rootOf(host)])).sent) toScheduler(answer);
    take(host, `rival-${host}`, 8);
  }

  function tellHosts(): void {
    const all = hosts.map((host) => ({ host, provider: `p-${host}`, state: 'up' as const }));
    hear({ type: 'hosts-changed', cell: 'c1', epoch: 1, sequence: 1, hosts: all }, 'cell/c1');
    settle();
  }

  type Told = Partial<Select> & { vcpu?: number; project?: string; since?: number };

  function selectOf(request: string, told: Told = {}): Select {
    const { vcpu = 8, project, since = on.now, ...more } = told;
    const whose = project === undefined ? {} : { project };
    const spec: Select['spec'] = { groups: [{ name: '', resources: { VCPU: vcpu } }], groupPolicy: 'none' };
    const asked = { request, round: 1, instances: [request], spec, alternates: 0, expiresAt: FOREVER };
    return { type: 'select', ...asked, waits: { since }, ...whose, ...more };
  }

  function ask(request: string, told?: Told): void {
    hear(selectOf(request, told), 'conductor/0');
    settle();
  }

  const answersOf = <Type extends 'parked' | 'selected' | 'no-valid-host'>(type: Type) =>
    sentOf({ sent: answers }, type).map(({ message }) => message);
  const placed = () => answersOf('selected').map(({ request }) => request);
  const heldBy = (consumer: string) => shard.state.consumers.holding.get(consumer)?.held ?? [];
  return { on, shard, tellHosts, selectOf, ask, release, take, pass, hear, settle, answersOf, placed, heldBy, answers };
}
