// Area: scheduler. That several at once, over several placement shards, fail no request that need not: the instances of
// those that can be served are all of one size and fit together, whoever is served first. The others ask for more than
// there is, but most find out only when placement refuses them: hosts are in part taken by what is heard of late.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AnyMessage } from '../../actors/messages/any.ts';
import type { HostState } from '../../actors/messages/scheduler.ts';
import { placement } from '../../actors/placement/placement.ts';
import { placementAddress, placementOf } from '../../actors/routing.ts';
import { scheduler } from '../../actors/scheduler/scheduler.ts';
import { type Random, seededRandom } from '../../runtime/random.ts';
import { stateOf } from '../support/facts.ts';
import { selectFor } from '../support/schedulers.ts';
import { bench, type Sent } from '../support/turn.ts';

const test = suite('schedulers, by chance');

const CELL = 'cell/c1';
const TOTAL = 8;
const WARM_UP_MS = 2_500;

interface Way {
  readonly from: string;
  readonly to: string;
  readonly letters: AnyMessage[];
}

/** Letters of one way keep their order; those of different ways overtake each other as chance has it. */
function fleetOf(random: Random) {
  const placementShards = random.integer(1, 4);
  const hosts = Array.from({ length: random.integer(1, 4) }, (_, n) => `h${n}`);
  const shards = Array.from({ length: placementShards }, (_, shard) =>
    bench(placement({ shard, shards: placementShards })),
  );
  const names = Array.from({ length: random.integer(1, 4) }, (_, n) => `scheduler/s${n}`);
  const options = { warmUpMs: WARM_UP_MS, placementShards, pickAmong: random.pick([1, 3]) };
  const schedulers = new Map(names.map((name) => [name, bench(scheduler({ ...options, name, incarnation: name }))]));
  const told = hosts.map((host): HostState => ({ host, provider: `p-${host}`, state: 'up' }));
  const ways = new Map<string, Way>();
  const answers = new Map<string, AnyMessage>();

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

  function receive(message: AnyMessage, from: string, to: string): void {
    const on = schedulers.get(to) ?? shards.find((_, shard) => placementAddress(shard) === to);
    if (on !== undefined) send(to, on.tell(message as never, from).sent);
    else if (message.type === 'list-hosts') {
      const page = { type: 'hosts' as const, cell: 'c1', epoch: 1, sequence: 1, hosts: told, next: null };
      send(CELL, [{ to: from, message: { ...page, ask: message.ask } }]);
    } else if (message.type === 'taking') {
      const { request, round, taker } = message;
      send(to, [{ to: from, message: { type: 'take', request, round, taker } }]);
    } else if (message.type === 'selected' || message.type === 'no-valid-host') answers.set(message.request, message);
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

  function live(ms: number): void {
    for (let passed = 0; passed < ms; passed += 500) {
      for (const [name, desk] of schedulers) for (const { sent } of desk.pass(500)) send(name, sent);
      deliver();
    }
  }

  for (const host of hosts) {
    const { root: _, generation: __, used: ___, ...spec } = stateOf({ host, has: { VCPU: TOTAL } });
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
    step,
    live,
    /** Takes something of a host; schedulers hear of it when chance has it. */
    take(host: string, vcpu: number): void {
      const { spec } = selectFor('rival', { vcpu });
      const allocations = [{ provider: `p-${host}`, group: '', resources: { VCPU: vcpu } }];
      const claim = { type: 'claim' as const, consumer: `on-${host}`, attempt: 1, spec, allocations, keep: [] };
      receive({ ...claim, expiresAt: 1e12 }, 'test', placementOf(`p-${host}`, placementShards));
    },
    ask(request: string, count: number, vcpu: number): void {
      const instances = Array.from({ length: count }, (_, n) => `${request}-${n}`);
      const more = {
        round: random.integer(1, 2),
        ...(random.next() < 0.7 ? { ordered: true as const } : {}),
        ...(random.next() < 0.3 ? { tree: { notHeldBy: ['nobody'] } } : {}),
      };
      send('conductor/0', [{ to: random.pick(names), message: selectFor(request, { instances, vcpu, ...more }) }]);
    },
  };
}

test('scheduler - of several at once, whatever comes in whatever order, none fails a request that need not fail', () => {
  for (let seed = 1; seed <= 150; seed += 1) {
    const random = seededRandom(seed);
    const on = fleetOf(random);
    const free = on.hosts.map((host) => {
      const taken = random.integer(1, TOTAL - 1);
      on.take(host, taken);
      return TOTAL - taken;
    });
    const size = random.integer(1, 3);
    const rooms = free.reduce((sum, vcpu) => sum + Math.floor(vcpu / size), 0);
    const asked: [name: string, count: number, vcpu: number][] = [];
    for (let left = rooms; left > 0; left -= asked.at(-1)?.[1] as number) {
      asked.push([`fits-${left}`, Math.min(left, random.integer(1, 3)), size]);
    }
    for (let n = random.integer(1, 10); n > 0; n -= 1) {
      const tooLarge = random.integer(Math.max(...free) + 1, TOTAL);
      const tooMany = on.hosts.length * Math.floor(TOTAL / size) + 1;
      if (random.next() < 0.8) asked.push([`large-${n}`, random.integer(1, 2), tooLarge]);
      else asked.push([`many-${n}`, tooMany, size]);
    }
    for (const [name, count, vcpu] of random.shuffle(asked)) {
      on.ask(name, count, vcpu);
      for (let steps = random.integer(0, 12); steps > 0; steps -= 1) on.step();
    }
    on.live(10_000);
    for (const [name] of asked) {
      const answer = on.answers.get(name);
      const expected = name.startsWith('fits') ? 'selected' : 'no-valid-host';
      assert.is(answer?.type, expected, `${name} of seed ${seed}: ${JSON.stringify(answer)}`);
      if (answer?.type !== 'no-valid-host') continue;
      const [, hosts, reasons] = /none of (\d+) hosts?: ([^;]*)/.exec(answer.reason) ?? [];
      const counted = reasons?.split(', ').reduce((sum, reason) => sum + Number.parseInt(reason, 10), 0);
      assert.is(counted, Number(hosts), answer.reason);
    }
    for (const { open, selecting, claims, awaitingClaims, unplaced } of on.states) {
      assert.equal(
        [open, selecting, claims, awaitingClaims, unplaced].map(({ size: left }) => left),
        [0, 0, 0, 0, 0],
      );
    }
  }
});

test.run();
