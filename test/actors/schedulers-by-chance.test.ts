// Area: scheduler. That several at once, over several placement shards, fail no request that need not: the instances of
// those that can be served are all of one size and fit together, whoever is served first. The others ask for more than
// there is, but most find out only when placement refuses them: hosts are in part taken by what is heard of late.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Select } from '../../actors/messages/scheduler.ts';
import { unpackDecision } from '../../actors/messages/stored-decision.ts';
import { placementShardOf } from '../../actors/routing.ts';
import { type Random, seededRandom } from '../../runtime/random.ts';
import { fleetByChance, TOTAL } from '../support/fleet-by-chance.ts';
import { named, selectFor } from '../support/schedulers.ts';

const test = suite('schedulers, by chance');

function askFor(random: Random, request: string, count: number, vcpu: number): Select {
  const instances = named(count, request);
  const more = {
    round: random.integer(1, 2),
    ...(random.next() < 0.7 ? { ordered: true as const } : {}),
    ...(random.next() < 0.3 ? { tree: { notHeldBy: ['nobody'] } } : {}),
  };
  return selectFor(request, { instances, vcpu, ...more });
}

test('scheduler - of several at once, whatever comes in whatever order, none fails a request that need not fail', () => {
  for (let seed = 1; seed <= 150; seed += 1) {
    const random = seededRandom(seed);
    const [placementShards, hostCount] = [random.integer(1, 4), random.integer(1, 4)];
    const on = fleetByChance(random, { placementShards, hostCount, hostsATurn: seed % 2 === 0 ? 2 : 100 });
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
      on.ask(askFor(random, name, count, vcpu));
      for (let steps = random.integer(0, 12); steps > 0; steps -= 1) on.step();
    }
    on.live(10_000);
    for (const [name] of asked) {
      const answer = on.answers.get(name);
      const expected = name.startsWith('fits') ? 'selected' : 'no-valid-host';
      assert.is(answer?.type, expected, `${name} of seed ${seed}: ${JSON.stringify(answer)}`);
      if (answer?.type !== 'no-valid-host') continue;
      const [, hosts, reasons] = /of (\d+) hosts?[:,] ([^;]*)/.exec(answer.reason) ?? [];
      const counted = reasons?.split(', ').reduce((sum, reason) => sum + Number.parseInt(reason, 10), 0);
      assert.is(counted, Number(hosts), answer.reason);
    }
    for (const { open, selecting, claims, awaitingClaims, awaitingRanking, unplaced, view } of on.states) {
      const { promised, promisedTenants, expected } = view;
      assert.equal(
        [open, selecting, claims, awaitingClaims, awaitingRanking, unplaced, promised, promisedTenants].map(
          ({ size: left }) => left,
        ),
        [0, 0, 0, 0, 0, 0, 0, 0],
      );
      assert.equal([...expected.roots()], [], 'no cell has told of any, and there was time to');
      for (const host of on.hosts) {
        const known = view.providers.get(`p-${host}`)?.tenants;
        assert.is(known, Math.max(...on.tenantsOf(host)), `${host} of seed ${seed}`);
      }
    }
  }
});

test('scheduler - while a placement shard is dead, requests go where the others decide, and so do their alternates', () => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const random = seededRandom(seed);
    const placementShards = random.integer(2, 4);
    const on = fleetByChance(random, { placementShards, hostCount: 12, hostsATurn: 5 });
    const shardOf = (host: string) => placementShardOf(`p-${host}`, placementShards);
    const dead = shardOf(random.pick(on.hosts));
    const living = on.hosts.filter((host) => shardOf(host) !== dead);
    // They are fuller than those of the dead one, which would be chosen first.
    for (const host of living) on.take(host, 4);
    on.live(1_000);
    on.kill(dead);
    on.live(6_000);
    const group = random.pick([undefined, 'soft-affinity', 'soft-anti-affinity', 'affinity', 'anti-affinity'] as const);
    const alternates = random.integer(0, Math.max(0, living.length - 3));
    const requests = Array.from({ length: Math.min(3, living.length) }, (_, n) => `r${n}`);
    for (const request of requests) {
      const { spec, ...asked } = selectFor(request, { vcpu: 1, alternates });
      const instanceGroup = group === undefined ? {} : { instanceGroup: { id: '/g', policy: group } };
      on.ask({ ...asked, spec: { ...spec, ...instanceGroup } });
    }
    on.live(2_000);
    for (const request of requests) {
      const answer = on.answers.get(request);
      if (group === 'affinity' && answer === undefined) continue;
      assert.is(answer?.type, 'selected', `${request} of seed ${seed} with ${group}`);
      if (answer?.type !== 'selected') continue;
      for (const { selection, alternates: others, decision } of answer.selections) {
        const { weights, shards, silentShards } = unpackDecision(JSON.parse(decision ?? ''));
        assert.equal(silentShards, [dead]);
        assert.equal(
          shards,
          weights.map(({ host }) => shardOf(host)),
        );
        const hosts = [selection, ...others].map(({ host }) => host);
        if (group === undefined) assert.is(hosts.length, 1 + alternates);
        assert.equal(
          hosts.filter((host) => shardOf(host) === dead),
          [],
          `${request} of seed ${seed} with ${group}`,
        );
      }
    }
  }
});

test.run();
