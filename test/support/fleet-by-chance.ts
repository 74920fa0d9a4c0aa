// Several schedulers over several placement shards, none of which hears anything at a time of its choosing: what is said
// arrives in an order that chance decides.

import type { AnyMessage } from '../../actors/messages/any.ts';
import type { HostState, Select } from '../../actors/messages/scheduler.ts';
import { placement } from '../../actors/placement/placement.ts';
import { everyPlacement, placementAddress, placementOf } from '../../actors/routing.ts';
import { instanceLimit } from '../../actors/scheduler/filters/limits.ts';
import { scheduler } from '../../actors/scheduler/scheduler.ts';
import type { Random } from '../../runtime/random.ts';
import { treeOfHost } from './facts.ts';
import { claimOf } from './placement-desk.ts';
import { bench, type Sent } from './turn.ts';

const CELL = 'cell/c1';
/** The VCPU of each host. */
export const TOTAL = 8;
const WARM_UP_MS = 2_500;

interface Way {
  readonly from: string;
  readonly to: string;
  readonly letters: AnyMessage[];
}

/** Letters of one way keep their order; those of different ways overtake each other as chance has it. */
export function fleetByChance(
  random: Random,
  { placementShards, hostCount, hostsATurn = 100 }: { placementShards: number; hostCount: number; hostsATurn?: number },
) {
  const hosts = Array.from({ length: hostCount }, (_, n) => `h${n}`);
  const shards = Array.from({ length: placementShards }, (_, shard) =>
    bench(placement({ shard, shards: placementShards })),
  );
  const names = Array.from({ length: random.integer(1, 4) }, (_, n) => `scheduler/s${n}`);
  const filters = random.pick([[], [instanceLimit(1_000)]]);
  const options = { warmUpMs: WARM_UP_MS, placementShards, pickAmong: random.pick([1, 3]), filters, hostsATurn };
  const schedulers = new Map(
    names.map((name) => [name, bench(scheduler({ ...options, name, incarnation: () => name }))]),
  );
  const named = (all: typeof shards) => all.map((one, shard) => [placementAddress(shard), one] as const);
  const told = hosts.map((host): HostState => ({ host, provider: `p-${host}`, state: 'up' }));
  const ways = new Map<string, Way>();
  const answers = new Map<string, AnyMessage>();
  const instancesOf = new Map<string, readonly string[]>();

  function send(from: string, sent: readonly Sent[]): void {
    for (const { to, message } of sent) {
      for (const receiver of to.endsWith('/feed') ? names : [to]) {
        const key = `${from} ${receiver} ${to}`;
        const way = ways.get(key) ?? { from, to: receiver, letters: [] };
        way.letters.push(message);
        ways.set(key, way);
      }
    }
  }

  const dead = new Set<string>();

  function receive(message: AnyMessage, from: string, to: string): void {
    if (dead.has(to)) return;
    const on = schedulers.get(to) ?? shards.find((_, shard) => placementAddress(shard) === to);
    if (on !== undefined) send(to, on.tell(message as never, from).sent);
    else if (message.type === 'list-hosts') {
      const page = { type: 'hosts' as const, cell: 'c1', epoch: 1, sequence: 1, hosts: told, next: null };
      send(CELL, [{ to: from, message: { ...page, ask: message.ask } }]);
    } else if (message.type === 'taking') {
      const { request, round, taker } = message;
      send(to, [{ to: from, message: { type: 'take', request, round, taker } }]);
    } else if (message.type === 'selected' || message.type === 'no-valid-host') {
      answers.set(message.request, message);
      if (message.type === 'no-valid-host') giveBack(to, message.request);
    }
  }

  /** What was claimed for some instances of a request that has failed is its asker's to give back. */
  function giveBack(asker: string, request: string): void {
    for (const consumer of instancesOf.get(request) ?? []) {
      const release = { type: 'release' as const, consumer, deleted: true };
      send(
        asker,
        everyPlacement(placementShards).map((to) => ({ to, message: release })),
      );
    }
  }

  function step(): boolean {
    const waiting = [...ways.values()].filter(({ letters }) => letters.length > 0);
    if (waiting.length === 0) return false;
    const { from, to, letters } = random.pick(waiting);
    receive(letters.shift() as AnyMessage, from, to);
    return true;
  }

  function deliver(): void {
    while (step()) {}
  }

  function live(ms: number, stepMs = 500): void {
    for (let passed = 0; passed < ms; passed += stepMs) {
      for (const [name, desk] of [...schedulers, ...named(shards)]) {
        if (!dead.has(name)) for (const { sent } of desk.pass(stepMs)) send(name, sent);
      }
      deliver();
    }
  }

  for (const host of hosts) {
    const spec = treeOfHost({ host, has: { VCPU: TOTAL } });
    const to = placementOf(spec.id, placementShards);
    receive({ type: 'put-tree', ask: 1, providers: [spec] }, 'test', to);
  }
  for (const [name, { first }] of schedulers) {
    send(name, first.sent);
    receive({ type: 'hosts-changed', cell: 'c1', epoch: 1, sequence: 1, hosts: told }, CELL, name);
  }
  live(WARM_UP_MS);

  return {
    hosts,
    answers,
    states: [...schedulers.values()].map(({ state }) => state),
    /** How many instances placement has on a host. */
    tenantsOf: (host: string) => shards.map(({ state }) => state.providers.get(`p-${host}`)?.tenants ?? 0),
    step,
    live,
    /** Takes something of a host; schedulers hear of it when chance has it. */
    take(host: string, vcpu: number): void {
      const claim = claimOf(`on-${host}`, { host: `p-${host}`, vcpu, expiresAt: 1e12 });
      receive(claim, 'test', placementOf(`p-${host}`, placementShards));
    },
    /** A placement shard neither hears nor says anything from now on. */
    kill: (shard: number) => dead.add(placementAddress(shard)),
    /** Asks one of the schedulers. */
    ask(message: Select): void {
      instancesOf.set(message.request, message.instances);
      send('conductor/0', [{ to: random.pick(names), message }]);
    },
  };
}
