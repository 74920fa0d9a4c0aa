// Area: scheduler, alternates. However the instances of a request are spread over their hosts, no two have the same first
// alternate while each can have one of its own, and none has its own host or the same one twice.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { placementShardOf } from '../../actors/routing.ts';
import { alternatesFor } from '../../actors/scheduler/alternates.ts';
import { emptyRankings } from '../../actors/scheduler/ranking.ts';
import { noteShard } from '../../actors/scheduler/silence.ts';
import { DEFAULT_WEIGHERS } from '../../actors/scheduler/weighers/defaults.ts';
import { seededRandom } from '../../runtime/random.ts';
import { viewOf } from '../support/facts.ts';

const test = suite('scheduler - alternates');

const spec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' as const };

test('alternates - instances that share hosts have first alternates of their own, as far as there are hosts', () => {
  let shared = 0;
  for (let seed = 1; seed <= 2_000; seed += 1) {
    const random = seededRandom(seed);
    const hosts = Array.from({ length: random.integer(2, 9) }, (_, n) => `h${n}`);
    const view = viewOf(...hosts.map((host) => ({ host, cell: 'c1' })));
    const count = random.integer(1, hosts.length);
    const chosen = Array.from({ length: count }, () => random.pick(hosts)).map((host) => ({
      cell: 'c1',
      host,
      provider: `p-${host}`,
      allocations: [],
    }));
    const wanted = random.integer(1, hosts.length);
    const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
    const dealt = alternatesFor({ rankings, view }, { spec }, chosen, wanted).map((one) => one.map(({ host }) => host));
    for (const [at, alternates] of dealt.entries()) {
      const own = chosen[at]?.host as string;
      assert.is(new Set([own, ...alternates]).size, alternates.length + 1, `seed ${seed}: ${own}, ${alternates}`);
      assert.is(alternates.length, Math.min(wanted, hosts.length - 1));
    }
    const used = new Set(chosen.map(({ host }) => host)).size;
    if (used < count) shared += 1;
    // All on one host, each must be given one of the others.
    const most = used === 1 ? hosts.length - 1 : hosts.length;
    assert.is(new Set(dealt.map(([first]) => first)).size, Math.min(count, most), `seed ${seed}`);
  }
  assert.ok(shared > 500, `${shared}`);
});

test('alternates - hosts of a silent placement shard are alternates where there are too few others, and the last', () => {
  const hosts = Array.from({ length: 8 }, (_, n) => `h${n}`);
  const shardOf = (host: string) => placementShardOf(`p-${host}`, 2);
  const view = { ...viewOf(...hosts.map((host) => ({ host, cell: 'c1' }))), shards: 2 };
  noteShard(view, 1, true);
  const own = hosts.find((host) => shardOf(host) === 0) as string;
  const chosen = [{ cell: 'c1', host: own, provider: `p-${own}`, allocations: [] }];
  const [alternates = []] = alternatesFor(
    { rankings: emptyRankings(DEFAULT_WEIGHERS, 's'), view },
    { spec },
    chosen,
    7,
  );
  const shards = alternates.map(({ host }) => shardOf(host));
  assert.equal([shards.length, shards], [7, [...shards].sort()]);
  assert.ok(shards.includes(0) && shards.includes(1));
});

test.run();
