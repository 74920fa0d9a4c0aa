// Schedulers and a placement shard without a bus: every letter waits on its way until the test, or a seed, lets it
// arrive. Letters of one sender to one receiver keep their order; between different ones anything may overtake.

import type { RequestSpec } from '../../actors/messages/common.ts';
import type { PlacementMessage, ProviderSpec } from '../../actors/messages/placement.ts';
import type { HostState, SchedulerMessage, Select } from '../../actors/messages/scheduler.ts';
import { placement } from '../../actors/placement/placement.ts';
import { placementAddress } from '../../actors/routing.ts';
import { OUTWAITS_MS } from '../../actors/scheduler/rivals.ts';
import { scheduler } from '../../actors/scheduler/scheduler.ts';
import type { Selection } from '../../machines/instance-build.ts';
import type { Random } from '../../runtime/random.ts';
import { rootOf } from './placement-desk.ts';
import { bench, type Sent } from './turn.ts';

const WARM_UP_MS = 2_500;
const PLACEMENT = placementAddress(0);

export interface HostPlan {
  readonly cell: string;
  readonly host: string;
  /** Default: a root with 8 VCPU. */
  readonly tree?: readonly ProviderSpec[];
}

/** What the askers were told of a request. */
export interface Outcome {
  readonly chosen: Map<string, { selection: Selection; alternates: readonly Selection[] }>;
  reason: string | null;
}

export function scheduling(hosts: readonly HostPlan[], count = 1) {
  const shard = bench(placement({ shard: 0 }));
  const names = Array.from({ length: count }, (_, position) => `scheduler/s${position}`);
  const schedulers = new Map(
    names.map((name) => [
      name,
      bench(scheduler({ name, warmUpMs: WARM_UP_MS, patience: { firstMs: 1e9, mostMs: 1e9 } })),
    ]),
  );
  /** Letters under way, by sender and receiver. */
  const ways = new Map<string, { from: string; to: string; letters: Sent['message'][] }>();
  const outcomes = new Map<string, Outcome>();

  function send(from: string, { to, message }: Sent): void {
    for (const receiver of to.endsWith('/feed') ? names : [to]) {
      const key = `${from} ${receiver}`;
      const way = ways.get(key) ?? { from, to: receiver, letters: [] };
      way.letters.push(message);
      ways.set(key, way);
    }
  }

  function outcomeOf(request: string): Outcome {
    const known = outcomes.get(request) ?? { chosen: new Map(), reason: null };
    outcomes.set(request, known);
    return known;
  }

  function take(from: string, to: string, message: Sent['message']): void {
    const on = to === PLACEMENT ? shard : schedulers.get(to);
    if (on !== undefined) {
      const turned = on.tell(message as never, from);
      for (const sent of turned.sent) send(to, sent);
    } else if (message.type === 'selected') {
      const { chosen } = outcomeOf(message.request);
      for (const { instance, selection, alternates } of message.selections)
        chosen.set(instance, { selection, alternates });
    } else if (message.type === 'no-valid-host') {
      const outcome = outcomeOf(message.request);
      outcome.reason = message.reason;
      // What was claimed for the others is the asker's to give back.
      for (const instance of asked.get(message.request) ?? []) {
        send(to, { to: PLACEMENT, message: { type: 'release', consumer: instance, deleted: true } });
      }
    }
  }

  /** Lets one letter arrive that `random` picks, or the one that waits longest. False when none is under way. */
  function step(random?: Random): boolean {
    const waiting = [...ways.values()].filter(({ letters }) => letters.length > 0);
    const way = random === undefined ? waiting[0] : waiting.length === 0 ? undefined : random.pick(waiting);
    if (way === undefined) return false;
    take(way.from, way.to, way.letters.shift() as Sent['message']);
    return true;
  }

  function deliver(random?: Random): void {
    while (step(random)) {}
  }

  /** Time passes until those that look once more when rivals are through do so; nothing of it arrives yet. */
  function outwait(): void {
    for (const [name, { pass }] of schedulers) {
      for (const { sent } of pass(OUTWAITS_MS.empty)) for (const one of sent) send(name, one);
    }
  }

  const asked = new Map<string, readonly string[]>();

  /** Puts a request to one of the schedulers; nothing arrives anywhere yet. */
  function ask(request: string, spec: RequestSpec, told: Partial<Select> = {}, position = 0): void {
    const instances = told.instances ?? [request];
    asked.set(request, instances);
    const message = { type: 'select' as const, request, round: 1, instances, spec, alternates: 2, expiresAt: 1e12 };
    send('conductor/0', { to: names[position % count] as string, message: { ...message, ...told } });
  }

  function say(message: PlacementMessage): void {
    send('conductor/0', { to: PLACEMENT, message });
  }

  for (const { host, tree } of hosts) say({ type: 'put-tree', ask: 1, providers: [...(tree ?? [rootOf(host)])] });
  for (const name of names) for (const sent of schedulers.get(name)?.first.sent ?? []) send(name, sent);
  deliver();
  for (const cell of new Set(hosts.map((one) => one.cell))) {
    const told: HostState[] = hosts
      .filter((one) => one.cell === cell)
      .map(({ host, tree }) => ({ host, provider: (tree?.[0] ?? rootOf(host)).id, state: 'up' }));
    for (const name of names) {
      const on = schedulers.get(name) as ReturnType<typeof bench>;
      const hear = (message: SchedulerMessage) => void on.tell(message as never, `cell/${cell}`);
      hear({ type: 'hosts-changed', cell, epoch: 1, sequence: 1, hosts: told });
      const follower = schedulers.get(name)?.state.followers.get(`cell ${cell}`);
      hear({ type: 'hosts', ask: follower?.ask ?? 0, cell, epoch: 1, sequence: 1, hosts: told, next: null });
    }
  }
  for (const name of names) schedulers.get(name)?.pass(WARM_UP_MS);

  /** The hosts on which a consumer holds something. */
  function hostsHeldBy(consumer: string): string[] {
    const held = shard.state.consumers.holding.get(consumer)?.held ?? [];
    const roots = held.flatMap(({ allocations }) => allocations.map(({ provider }) => provider));
    return [...new Set(roots.map((id) => shard.state.providers.get(shard.state.providers.get(id)?.root ?? '')))].map(
      (root) => root?.spec.name ?? '?',
    );
  }

  return { shard, schedulers, ask, say, step, deliver, outwait, outcomeOf, hostsHeldBy };
}
export type Scheduling = ReturnType<typeof scheduling>;
