// Area: scheduler, alternates. However the instances of a request are spread over their hosts, no two have the same first
// alternate while each can have one of its own, and none has its own host or the same one twice.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceGroup } from '../../actors/messages/common.ts';
import { present } from '../../actors/present.ts';
import { placementShardOf } from '../../actors/routing.ts';
import { alternatesFor } from '../../actors/scheduler/alternates.ts';
import { furtherHosts } from '../../actors/scheduler/explaining/further-hosts.ts';
import type { Filter } from '../../actors/scheduler/filters/filter.ts';
import { buildLimit, instanceLimit } from '../../actors/scheduler/filters/limits.ts';
import { emptyRankings } from '../../actors/scheduler/ranking/ranking.ts';
import type { Request } from '../../actors/scheduler/request.ts';
import { learnMembers } from '../../actors/scheduler/view/groups-view.ts';
import { noteShard } from '../../actors/scheduler/view/silence.ts';
import { learnProvider } from '../../actors/scheduler/view/view.ts';
import { DEFAULT_WEIGHERS } from '../../actors/scheduler/weighers/defaults.ts';
import { free } from '../../actors/scheduler/weighers/free.ts';
import { seededRandom } from '../../runtime/random.ts';
import { inventory, viewOf } from '../support/facts.ts';

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
    const unused = dealt.filter(([first]) => chosen.every(({ host }) => host !== first)).length;
    assert.ok(unused >= Math.min(count, hosts.length - used), `seed ${seed}: those that the request has come last`);
  }
  assert.ok(shared > 500, `${shared}`);
});

/** How many hosts can be dealt, each once, to instances that take so many each, and none its own. */
function mostDistinct(own: readonly string[], hosts: readonly string[], each: number): number {
  const hands = own.map(() => new Set<string>());
  const give = (host: string, asked: Set<number>): boolean => {
    for (const [at, hand] of hands.entries()) {
      if (own[at] === host || asked.has(at)) continue;
      asked.add(at);
      const given = hand.size < each ? undefined : [...hand].find((other) => give(other, asked));
      if (hand.size >= each && given === undefined) continue;
      if (given !== undefined) hand.delete(given);
      hand.add(host);
      return true;
    }
    return false;
  };
  return hosts.filter((host) => give(host, new Set())).length;
}

test('alternates - up to each place in the lists, as many differ over all instances as can', () => {
  let repeating = 0;
  for (let seed = 1; seed <= 2_000; seed += 1) {
    const random = seededRandom(seed);
    const hosts = Array.from({ length: random.integer(2, 8) }, (_, n) => ({
      host: `h${n}`,
      cell: 'c1',
      used: { VCPU: random.pick([0, 2, 4, 6, 8]) },
    }));
    const open = hosts.filter(({ used }) => used.VCPU < 8).map(({ host }) => host);
    const own = Array.from({ length: random.integer(2, hosts.length) }, () => random.pick(hosts).host);
    const chosen = own.map((host) => ({ cell: 'c1', host, provider: `p-${host}`, allocations: [] }));
    const fleet = { rankings: emptyRankings(DEFAULT_WEIGHERS, 's'), view: viewOf(...hosts) };
    const wanted = random.integer(1, 5);
    const dealt = alternatesFor(fleet, { spec }, chosen, wanted).map((one) => one.map(({ host }) => host));
    for (let place = 1; place <= wanted; place += 1) {
      const differing = new Set(dealt.flatMap((one) => one.slice(0, place))).size;
      const words = `seed ${seed}: ${own} have ${dealt.join(' ')}`;
      assert.is(differing, mostDistinct(own, open, place), words);
      if (differing < own.length * place) repeating += 1;
    }
  }
  assert.ok(repeating > 1_000, `${repeating}`);
});

test('alternates - of very many each is another host, as far as it takes no long search for what each host would give', () => {
  const differing = (devices: number, asked: number) => {
    const view = viewOf(...Array.from({ length: 4_600 }, (_, n) => ({ host: `h${n}`, cell: 'c1' })));
    for (const root of devices === 0 ? [] : [...view.hosts.keys()]) {
      for (let n = 0; n < devices; n += 1) {
        const inventories = { PGPU: inventory(9) };
        const id = `${root}-${n}`;
        const device = { id, name: id, parent: root, root, inventories, traits: [], aggregates: [] };
        learnProvider(view, { ...device, used: {}, generation: 1 });
      }
    }
    const gpus = Array.from({ length: asked }, (_, n) => ({ name: `g${n}`, resources: { PGPU: 1 } }));
    const chosen = Array.from({ length: 225 }, (_, n) => `h${n}`).map((host) => ({
      cell: 'c1',
      host,
      provider: `p-${host}`,
      allocations: [],
    }));
    const fleet = { rankings: emptyRankings(DEFAULT_WEIGHERS, 's'), view };
    const request = { spec: { groups: [...spec.groups, ...gpus], groupPolicy: 'isolate' as const } };
    const dealt = alternatesFor(fleet, request, chosen, 19);
    assert.ok(dealt.every((one) => new Set(one.map(({ host }) => host)).size === 19));
    return new Set(dealt.flat().map(({ host }) => host)).size;
  };
  assert.is(differing(0, 0), 225 * 19);
  assert.is(differing(2, 2), 225 * 19);
  assert.is(
    differing(24, 20),
    4_000 + 225,
    'not all are searched in one turn, and then those of one another are taken',
  );
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

test('alternates - those with room for several more come first, though nearly full ones rank before them', () => {
  const hosts = Array.from({ length: 20 }, (_, n) => ({ host: `h${n}`, cell: 'c1', used: { VCPU: n < 10 ? 7 : 2 } }));
  const fleet = { rankings: emptyRankings([{ ...free('VCPU'), multiplier: -1 }], 's'), view: viewOf(...hosts) };
  const chosen = [{ cell: 'c1', host: 'h0', provider: 'p-h0', allocations: [] }];
  const [alternates = []] = alternatesFor(fleet, { spec }, chosen, 3);
  assert.equal(
    alternates.map(({ host }) => hosts.find((one) => one.host === host)?.used.VCPU),
    [2, 2, 2],
  );
});

test('alternates - none is in another cell, wherever a soft rule would rather have it', () => {
  for (const policy of ['soft-affinity', 'soft-anti-affinity'] as const) {
    const view = viewOf(
      ...['x', 'a'].map((host) => ({ host, cell: 'c1' })),
      ...['b', 'd'].map((host) => ({ host, cell: 'c2' })),
    );
    for (const host of ['x', 'b']) learnMembers(view.groups, `p-${host}`, { g: 1 }, undefined);
    const fleet = { rankings: emptyRankings(DEFAULT_WEIGHERS, 's'), view };
    const request = { spec: { ...spec, instanceGroup: { id: 'g', policy } } };
    const chosen = [{ cell: 'c1', host: 'x', provider: 'p-x', allocations: [] }];
    const [alternates = []] = alternatesFor(fleet, request, chosen, 3);
    assert.equal(
      alternates.map(({ host }) => host),
      ['a'],
      policy,
    );
  }
});

test('alternates - of several that would rather keep apart they differ first, and have fewest members within that', () => {
  const dealt = (others: Readonly<Record<string, number>>, wanted: number) => {
    const own = ['x', 'y', 'z'];
    const view = viewOf(...[...own, ...Object.keys(others)].map((host) => ({ host, cell: 'c1', has: { VCPU: 16 } })));
    const members = { x: 1, y: 1, z: 1, ...others };
    for (const [host, g] of Object.entries(members))
      learnMembers(view.groups, `p-${host}`, g > 0 ? { g } : {}, undefined);
    const chosen = own.map((host) => ({ cell: 'c1', host, provider: `p-${host}`, allocations: [] }));
    const instanceGroup: InstanceGroup = { id: 'g', policy: 'soft-anti-affinity' };
    const fleet = { rankings: emptyRankings(DEFAULT_WEIGHERS, 's'), view };
    const found = alternatesFor(fleet, { spec: { ...spec, instanceGroup } }, chosen, wanted);
    return found.map((one) => one.map(({ host }) => host).join());
  };
  assert.equal(dealt({ c: 3, a: 0, b: 2 }, 1), ['a', 'b', 'c']);
  assert.equal(dealt({ c: 3, a: 0, b: 2 }, 2), ['a,b', 'b,c', 'c,a']);
  assert.equal(dealt({ b: 2, a: 0 }, 1), ['a', 'b', 'a'], 'no host of another while there are enough without');
  assert.equal(dealt({ b: 5, a: 0 }, 3), ['a,b,z', 'b,a,x', 'a,b,y']);
});

test('alternates - as many hosts are said to be left as more alternates would have named, and other cells have', () => {
  const seen = new Set<string>();
  for (let seed = 1; seed <= 1_000; seed += 1) {
    const random = seededRandom(seed);
    const hosts = Array.from({ length: random.integer(2, 9) }, (_, n) => {
      const used = { VCPU: random.integer(1, 4) === 1 ? 8 : 0 };
      return { host: `h${n}`, cell: `c${(n % 3) + 1}`, used };
    });
    const view = viewOf(...hosts);
    const policy = random.pick([undefined, 'anti-affinity', 'soft-anti-affinity'] as const);
    const instanceGroup: InstanceGroup | undefined = policy && { id: 'g', policy };
    const chosen = hosts
      .slice(0, random.integer(1, 3))
      .map(({ host, cell }) => ({ cell, host, provider: `p-${host}`, allocations: [] }));
    for (const { provider } of policy === undefined ? [] : chosen)
      learnMembers(view.groups, provider, { g: 1 }, undefined);
    const fleet = { rankings: emptyRankings(DEFAULT_WEIGHERS, 's'), view };
    const where = random.pick<Request['where']>([undefined, { cells: ['c1', 'c2', 'c3'] }, { avoidCells: ['c4'] }]);
    const request = { ...present({ where }), spec: instanceGroup === undefined ? spec : { ...spec, instanceGroup } };
    const namedOf = (asked: number, at: number) => alternatesFor(fleet, request, chosen, asked)[at]?.length ?? 0;
    const wanted = random.integer(0, 5);
    const dealt = alternatesFor(fleet, request, chosen, wanted);
    for (const [at, further] of furtherHosts(fleet, request, chosen, dealt, wanted).entries()) {
      const { furtherInCell = Number.NaN, furtherElsewhere } = further;
      const named = dealt[at]?.length ?? 0;
      assert.is(namedOf(20, at), named + furtherInCell, `seed ${seed}`);
      assert.is(namedOf(wanted + furtherInCell, at), named + furtherInCell, `seed ${seed}`);
      const isClosed = (host: string) => policy === 'anti-affinity' && chosen.some((one) => one.host === host);
      const open = hosts.filter(({ host, used }) => used.VCPU === 0 && !isClosed(host));
      const elsewhere = open.filter(({ cell }) => cell !== chosen[at]?.cell);
      assert.is(furtherElsewhere, furtherInCell > 0 ? undefined : elsewhere.length, `seed ${seed}`);
      seen.add(`${policy} ${furtherInCell > 0}`);
    }
  }
  assert.is(seen.size, 6);
});

test('alternates - of hosts that are asked more than the ranking goes by, it is not said how many are left', () => {
  const view = viewOf(...['h1', 'h2', 'h3'].map((host) => ({ host, cell: 'c1' })));
  const chosen = [{ cell: 'c1', host: 'h1', provider: 'p-h1', allocations: [] }];
  const fleet = { rankings: emptyRankings(DEFAULT_WEIGHERS, 's'), view };
  const furtherOf = (request: Request, wanted = 0) =>
    furtherHosts(fleet, request, chosen, alternatesFor(fleet, request, chosen, wanted), wanted);
  assert.equal(furtherOf({ spec }), [{ furtherInCell: 2 }]);
  assert.equal(furtherOf({ spec: { ...spec, tree: { noneOf: ['p-h2'] } } }), [{}]);
  assert.equal(furtherOf({ spec: { ...spec, instanceGroup: { id: 'g', policy: 'affinity' } } }), [{}]);
  assert.equal(furtherOf({ spec }, 20), [{ furtherInCell: 0, furtherElsewhere: 0 }]);
  const apart = { spec: { ...spec, instanceGroup: { id: 'g', policy: 'anti-affinity' as const } } };
  assert.equal(furtherOf(apart), [{ furtherInCell: 2 }]);
  const two = { spec: { ...spec, instanceGroup: { id: 'g', policy: 'anti-affinity' as const, maxPerHost: 2 } } };
  learnMembers(view.groups, 'p-h2', { g: 1 }, undefined);
  assert.equal(
    [apart, two].map((request) => furtherOf(request)),
    [[{ furtherInCell: 1 }], [{ furtherInCell: 2 }]],
  );
  for (let n = 0; n < 65; n += 1) learnMembers(view.groups, `p-far-${n}`, { g: 1 }, undefined);
  assert.equal(furtherOf(apart), [{}], 'its members are on too many hosts to look at');
});

test('alternates - of whoever asked for as many as may be, it is said whether other cells have hosts', () => {
  const furtherOf = (inCell: number) => {
    const own = Array.from({ length: inCell }, (_, n) => ({ host: `h${n}`, cell: 'c1' }));
    const view = viewOf(...own, { host: 'k1', cell: 'c2' });
    const fleet = { rankings: emptyRankings(DEFAULT_WEIGHERS, 's'), view };
    const chosen = [{ cell: 'c1', host: 'h0', provider: 'p-h0', allocations: [] }];
    return furtherHosts(fleet, { spec }, chosen, alternatesFor(fleet, { spec }, chosen, 20), 20);
  };
  assert.equal(furtherOf(4), [{ furtherInCell: 0, furtherElsewhere: 1 }]);
  assert.equal(furtherOf(21), [{ furtherInCell: 0, furtherElsewhere: 1 }]);
  assert.equal(furtherOf(22), [{}], 'no more can be asked for');
});

test('alternates - hosts that are at a limit come after those that may have several more', () => {
  const hosts = [{ host: 'h1' }, { host: 'h2', instances: 4 }, { host: 'h3', has: { VCPU: 7 } }];
  const view = viewOf(...hosts);
  const chosen = [{ cell: 'c1', host: 'h1', provider: 'p-h1', allocations: [] }];
  const namedWith = (filters: readonly Filter[]) => {
    const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { filters });
    return alternatesFor({ rankings, view }, { spec }, chosen, 2)[0]?.map(({ host }) => host);
  };
  assert.equal(namedWith([]), ['h2', 'h3']);
  assert.equal(namedWith([instanceLimit(5)]), ['h3', 'h2']);
  assert.equal(namedWith([instanceLimit(9)]), ['h2', 'h3']);
  assert.equal(namedWith([instanceLimit(5), buildLimit(1)]), ['h3', 'h2'], 'what is being built is soon over');
});

test('alternates - of other cells those hosts are said to be left to which the request may go', () => {
  const hosts = ['c1', 'c2', 'c3', 'c3'].map((cell, n) => ({ host: `h${n + 1}`, cell }));
  const fleet = { rankings: emptyRankings(DEFAULT_WEIGHERS, 's'), view: viewOf(...hosts) };
  const chosen = [{ cell: 'c1', host: 'h1', provider: 'p-h1', allocations: [] }];
  const elsewhere = (where: Request['where']) =>
    furtherHosts(fleet, { spec, ...present({ where }) }, chosen, [[]], 0)[0]?.furtherElsewhere;
  assert.equal(
    [undefined, { cells: ['c1'] }, { cells: ['c1', 'c3', 'c3'] }, { avoidCells: ['c3'] }].map(elsewhere),
    [3, 0, 2, 1],
  );
});

test.run();
