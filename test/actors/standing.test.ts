// Area: scheduler, how all hosts stand to requests that name hosts or cells, are members of groups, or keep together. What is
// counted of hosts that are alike is what a look at each of them tells, and it takes no more looks where there are more hosts.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceGroup, RequestSpec } from '../../actors/messages/common.ts';
import { whyNone, whyNoneTogether } from '../../actors/scheduler/explaining/explain.ts';
import { roomForAll } from '../../actors/scheduler/explaining/room-together.ts';
import { refusedByRank, standing } from '../../actors/scheduler/explaining/standing.ts';
import { type Filter, refusedBy } from '../../actors/scheduler/filters/filter.ts';
import { buildLimit, instanceLimit } from '../../actors/scheduler/filters/limits.ts';
import { toldMisfitOfGroup } from '../../actors/scheduler/group-rules.ts';
import { pickOfGroup } from '../../actors/scheduler/grouping.ts';
import { bestOfAll } from '../../actors/scheduler/picking.ts';
import { emptyRankings, type Fleet, lateFiltersOf, shapeOf } from '../../actors/scheduler/ranking/ranking.ts';
import type { Request } from '../../actors/scheduler/request.ts';
import { learnMembers } from '../../actors/scheduler/view/groups-view.ts';
import { noteShard } from '../../actors/scheduler/view/silence.ts';
import { learnProvider, treeOf, type View, type ViewHost } from '../../actors/scheduler/view/view.ts';
import { factsOf, forgetHost } from '../../actors/scheduler/view/view-hosts.ts';
import { DEFAULT_WEIGHERS } from '../../actors/scheduler/weighers/defaults.ts';
import { seededRandom } from '../../runtime/random.ts';
import { type HostWords, inventory, tellView, viewOf } from '../support/facts.ts';
import { randomFleet } from '../support/fleets.ts';
import { survey } from '../support/survey.ts';

const test = suite('scheduler - how hosts stand');

const POLICIES: InstanceGroup['policy'][] = ['affinity', 'anti-affinity', 'soft-affinity', 'soft-anti-affinity'];
const CELLS = ['c0', 'c1', 'c2', 'c3'];

/** The code of what refuses each host that is ranked, as it is looked at. */
function lookedAt(fleet: Fleet, request: Request, count: number): ReadonlyMap<string, number> {
  const { rankings, view } = fleet;
  const { spec } = request;
  const late = lateFiltersOf(rankings, request);
  const isTogether = count > 1 && spec.instanceGroup?.policy === 'affinity';
  const counts = new Map<string, number>();
  for (const root of shapeOf(fleet, request).current.keys()) {
    const host = view.hosts.get(root) as ViewHost;
    const byFilter = refusedBy(late, factsOf(view, host, treeOf(view, root)))?.refusal;
    const isRoom = !isTogether || roomForAll(fleet, request, root, count, 1e12) !== false;
    const other = toldMisfitOfGroup(view, spec, root)?.code ?? (isRoom ? 'fits' : 'no-room-together');
    const { code, about = '' } = byFilter ?? { code: other };
    const key = `${code} ${about}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

/** What is told, without what the ranking counts of the hosts that it refuses itself. */
function toldOf(fleet: Fleet, request: Request, count: number): ReadonlyMap<string, number> {
  const { fits, hosts, refused } = standing(fleet, request, count);
  assert.is(
    refused.reduce((sum, one) => sum + one.hosts, fits),
    hosts,
  );
  const counts = new Map([['fits ', fits]]);
  const add = (code: string, about: string, n: number) =>
    counts.set(`${code} ${about}`, (counts.get(`${code} ${about}`) ?? 0) + n);
  for (const { code, about = '', hosts: n } of refused) add(code, about, n);
  for (const { code, about = '', hosts: n } of refusedByRank(fleet, request)) add(code, about, -n);
  return new Map([...counts].filter(([, n]) => n !== 0));
}

const inOrder = (counts: ReadonlyMap<string, number>) => [...counts].sort(([one], [other]) => (one < other ? -1 : 1));

function requestsOf(seed: string) {
  const chance = seededRandom(seed);
  const below = (most: number) => Math.floor(chance.next() * most);
  const few = (hosts: number) => Array.from({ length: 1 + below(6) }, () => `p${below(hosts)}`);
  const maybe = <One>(share: number, one: () => One) => (chance.next() < share ? one() : undefined);
  const cells = () => CELLS.filter(() => chance.next() < 0.4);
  return {
    below,
    few,
    request(spec: RequestSpec, hosts: number): Request {
      const oneOf = maybe(0.3, () => few(hosts));
      const noneOf = maybe(0.3, () => few(hosts));
      const policy = maybe(0.7, () => POLICIES[below(4)] as InstanceGroup['policy']);
      const where = {
        ...(chance.next() < 0.3 ? { cells: cells() } : {}),
        ...(chance.next() < 0.3 ? { avoidCells: cells() } : {}),
      };
      const near = maybe(0.3, () => new Set(few(hosts)));
      const company = { ...(near === undefined ? {} : { near, nearTo: ['other'] }), far: new Set(few(hosts)) };
      return {
        spec: {
          ...spec,
          ...(oneOf === undefined && noneOf === undefined
            ? {}
            : { tree: { ...(oneOf && { oneOf }), ...(noneOf && { noneOf }) } }),
          ...(policy === undefined ? {} : { instanceGroup: { id: `g${below(3)}`, policy } }),
        },
        ...(Object.keys(where).length === 0 ? {} : { where }),
        ...(chance.next() < 0.3 ? { company } : {}),
      };
    },
  };
}

const small = (vcpu: number): RequestSpec => ({
  groups: [{ name: '', resources: { VCPU: vcpu } }],
  groupPolicy: 'none',
});

const mine: Filter = {
  name: 'mine',
  late: true,
  goesBy: () => ({}),
  refusal: ({ host }) => (host.endsWith('1') ? { code: 'mine', message: 'no' } : null),
};

test('scheduler - what late filters, groups and room for several refuse is counted as a look at each host would', () => {
  const seen = new Map<string, number>();
  for (let seed = 0; seed < 25; seed += 1) {
    const hosts = 40;
    const fleet = randomFleet(`stand ${seed}`, hosts);
    const { view } = fleet;
    const by = requestsOf(`stand ${seed}`);
    const filters = [...(seed % 4 === 1 ? [mine] : []), ...(seed % 4 === 2 ? [instanceLimit(3)] : [])];
    const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { filters });
    for (let round = 0; round < 8; round += 1) {
      for (const root of by.few(hosts)) {
        learnMembers(view.groups, root, { [`g${by.below(3)}`]: by.below(3) }, undefined);
      }
      for (const spec of [small(1), small(2), fleet.spec()]) {
        const request = by.request(spec, hosts);
        const count = 1 + by.below(5);
        const told = inOrder(toldOf({ rankings, view }, request, count));
        assert.equal(told, inOrder(lookedAt({ rankings, view }, request, count)), `${seed} ${JSON.stringify(request)}`);
        for (const [key] of told) seen.set(key.split(' ')[0] as string, (seen.get(key) ?? 0) + 1);
      }
      for (let changes = 0; changes < 4; changes += 1) fleet.change();
    }
  }
  assert.ok(seen.size >= 9, [...seen.keys()].join(', '));
});

test('scheduler - of hosts that are named each is counted once where others have no room for several, by whatever that is told', () => {
  const hosts = Array.from({ length: 12 }, (_, n) => ({ host: `h${n}`, cell: `c${n % 2}`, has: { VCPU: n + 1 } }));
  const tree = { noneOf: ['p-h2', 'p-h3', 'p-h10', 'p-h11'] };
  const spec: RequestSpec = { ...small(2), tree, instanceGroup: { id: 'g', policy: 'affinity' } };
  const limit = instanceLimit(50);
  const late = { ...limit, late: true as const };
  for (const filters of [[], [limit], [late], [{ ...late, goesBy: () => undefined }]]) {
    const fleet = { rankings: emptyRankings(DEFAULT_WEIGHERS, 's', { filters }), view: viewOf(...hosts) };
    const { fits, refused } = standing(fleet, { spec }, 4);
    assert.equal(
      [fits, refused.map(({ code, hosts: n }) => `${n} ${code}`)],
      [3, ['4 avoided-provider', '4 no-room-together', '1 exceeds-capacity']],
    );
  }
});

test('scheduler - several that keep together get the first in rank of the hosts with room for all, as a look at each tells', () => {
  let [found, refused] = [0, 0];
  for (let seed = 0; seed < 25; seed += 1) {
    const fleet = randomFleet(`together ${seed}`, 40);
    const { view } = fleet;
    const by = requestsOf(`together ${seed}`);
    const filters = seed % 3 === 1 ? [instanceLimit(3)] : [];
    const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { filters });
    for (let round = 0; round < 12; round += 1) {
      for (const spec of [small(1 + by.below(3)), fleet.spec()]) {
        const instanceGroup = { id: 'nowhere yet', policy: 'affinity' as const };
        const request = { spec: { ...spec, instanceGroup } };
        const count = 2 + by.below(6);
        const toPlace = { count, isOfSeveral: true };
        const picked = pickOfGroup({ rankings, view }, request, toPlace, () => false, '')?.found.root;
        const [first] = bestOfAll(
          { rankings: emptyRankings(DEFAULT_WEIGHERS, 's', { filters }), view },
          request,
          1,
          (root) => roomForAll({ rankings, view }, request, root, count, 1e12) !== true,
        );
        assert.is(picked, first?.root, `${seed} ${count} ${JSON.stringify(spec)}`);
        if (picked === undefined) refused += 1;
        else found += 1;
      }
      for (let changes = 0; changes < 4; changes += 1) fleet.change();
    }
  }
  assert.ok(found > 100 && refused > 100, `${found} ${refused}`);
});

test('scheduler - of hosts of silent placement shards, too, those with room for several are known', () => {
  const view: View = {
    ...viewOf(...Array.from({ length: 20 }, (_, n) => ({ host: `h${n}`, has: { VCPU: n } }))),
    shards: 2,
  };
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
  const request = { spec: { ...small(3), instanceGroup: { id: 'g', policy: 'affinity' as const } } };
  const stands = () => standing({ rankings, view }, request, 4);
  const before = stands();
  assert.is(before.fits, 8);
  noteShard(view, 1, true);
  assert.equal(stands(), before);
  noteShard(view, 1, false);
  assert.equal(stands(), before);
});

/** Counts how often the providers of some host are looked at. */
function counted(view: View, what: () => void): number {
  let looks = 0;
  const { get } = view.trees;
  view.trees.get = (root) => {
    looks += 1;
    return get.call(view.trees, root);
  };
  what();
  view.trees.get = get;
  return looks;
}

test('scheduler - how all hosts stand takes no more looks where there are more hosts', () => {
  const looksWith = (hosts: number) => {
    const view = viewOf(
      ...Array.from({ length: hosts }, (_, n) => ({ host: `h${n}`, cell: `c${n % 4}`, has: { VCPU: 8 } })),
    );
    learnMembers(view.groups, 'p-h0', { there: 1 }, undefined);
    const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
    const inGroup = (id: string, policy: InstanceGroup['policy']) => ({
      spec: { ...small(1), instanceGroup: { id, policy } },
    });
    const requests: readonly (readonly [Request, number])[] = [
      [{ spec: { ...small(1), tree: { oneOf: ['p-h0'] } } }, 1],
      [{ spec: small(1), where: { cells: ['c3'] } }, 1],
      [{ spec: small(1), company: { near: new Set(['p-h0']), far: new Set() } }, 1],
      [inGroup('there', 'affinity'), 1],
      [inGroup('there', 'anti-affinity'), 1],
      [inGroup('nowhere', 'affinity'), 9],
    ];
    // Hosts are ranked once for all.
    for (const [request, count] of requests) standing({ rankings, view }, request, count);
    return requests.map(([request, count]) =>
      counted(view, () => {
        const { refused, fits } = standing({ rankings, view }, request, count);
        assert.is(
          refused.reduce((sum, one) => sum + one.hosts, fits),
          hosts,
        );
        if (count > 1) {
          const toPlace = { count, isOfSeveral: true };
          assert.is(
            pickOfGroup({ rankings, view }, request, toPlace, () => false, ''),
            null,
          );
        }
      }),
    );
  };
  const few = looksWith(100);
  assert.equal(looksWith(2_000), few);
  assert.ok(Math.max(...few) < 40, few.join(', '));
});

test('scheduler - the nearest host is told of a request that avoids others, but none that it avoids', () => {
  const view = viewOf({ host: 'h1', used: { VCPU: 5 } }, { host: 'h2', used: { VCPU: 8 } });
  const nearest = (noneOf: string[]) => {
    const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
    const request: Request = { spec: { ...small(4), tree: { noneOf } } };
    const near = standing({ rankings, view }, request, 1).refused.flatMap((one) => one.nearest ?? []);
    return [
      near.map(({ host, short }) => `${host} ${short}`),
      whyNone({ rankings, view }, request).split('; nearest ')[1],
    ];
  };
  assert.equal(nearest(['p-h2'])[0], ['h1 1']);
  assert.match(nearest(['p-h2'])[1] as string, /^c1\/h1: /);
  assert.equal(nearest(['p-h1']), [[], undefined]);
});

test('scheduler - the nearest host is one that lacks nothing else, if there is any, though another is short of less', () => {
  const some = { VCPU: 8, MEMORY_MB: 8 };
  const one = { host: 'h1', has: some, used: { VCPU: 5, MEMORY_MB: 8 } };
  const groups = [{ name: '', resources: { VCPU: 4, MEMORY_MB: 4 } }];
  const nearest = (...others: HostWords[]) => {
    const fleet = { rankings: emptyRankings(DEFAULT_WEIGHERS, 's'), view: viewOf(one, ...others) };
    return whyNone(fleet, { spec: { groups, groupPolicy: 'none' } }).split('; nearest ')[1] ?? '';
  };
  assert.match(nearest(), /^c1\/h1: .*, and more stands in its way$/);
  const other = nearest({ host: 'h2', has: some, used: { VCPU: 0, MEMORY_MB: 8 } });
  assert.match(other, /^c1\/h2: .*MEMORY_MB/);
  assert.not.match(other, /more stands in its way/);
});

test('scheduler - where every host lacks more, each reason of a dry run names the nearest host of its own', () => {
  const has = { VCPU: 8, MEMORY_MB: 8, DISK_GB: 8 };
  const view = viewOf(
    { host: 'h1', has, used: { VCPU: 6, MEMORY_MB: 8 } },
    { host: 'h2', has, used: { MEMORY_MB: 7, DISK_GB: 8 } },
  );
  const groups = [{ name: '', resources: { VCPU: 4, MEMORY_MB: 4, DISK_GB: 4 } }];
  const { refused } = survey(view, { groups, groupPolicy: 'none' });
  const nearest = refused.map(({ about, nearest: near }) => [about, near?.host, near?.short, near?.lacksMore]);
  assert.equal(nearest.toSorted(), [
    ['MEMORY_MB', 'h2', 3, true],
    ['VCPU', 'h1', 2, true],
  ]);
});

test('scheduler - a host that was counted for several in vain is counted no more until it changes', () => {
  const view = viewOf(...Array.from({ length: 50 }, (_, n) => ({ host: `h${n}`, has: {} })));
  let generation = 1;
  const tellDevice = (host: string, device: string, total: number) => {
    const id = `p-${host}-${device}`;
    const told = { id, name: id, parent: `p-${host}`, root: `p-${host}`, traits: [], aggregates: [], used: {} };
    generation += 1;
    learnProvider(view, { ...told, generation, inventories: { VGPU: inventory(total) } });
  };
  for (const { host } of view.hosts.values()) for (const device of ['a', 'b']) tellDevice(host, device, 3);
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
  // All together a host has enough for three, but each of its devices only for one.
  const groups = [{ name: '', resources: { VGPU: 2 } }];
  const request: Request = { spec: { groups, groupPolicy: 'none', instanceGroup: { id: 'g', policy: 'affinity' } } };
  const pick = () => pickOfGroup({ rankings, view }, request, { count: 3, isOfSeveral: true }, () => false, '');
  const unasked = standing({ rankings: emptyRankings(DEFAULT_WEIGHERS, 's'), view }, request, 3);
  assert.equal([unasked.fits, unasked.refused[0]?.hosts], [0, 50], 'also where none was counted before');
  assert.is(pick(), null);
  assert.is(
    counted(view, () => assert.is(pick(), null)),
    0,
  );
  const { fits, refused } = standing({ rankings, view }, request, 3);
  assert.equal([fits, refused.map(({ code, hosts }) => `${hosts} ${code}`)], [0, ['50 no-room-together']]);
  tellDevice('h7', 'b', 4);
  assert.is(pick()?.found.host, 'h7');
});

const ofLimits = (...limits: Filter[]) => emptyRankings(DEFAULT_WEIGHERS, 's', { filters: limits });

test('scheduler - of hosts that limits keep out the nearest is the one that is over its limit by least', () => {
  const rankings = ofLimits(instanceLimit(3), buildLimit(3));
  const nearest = (one: HostWords, other: HostWords) => {
    const view = viewOf({ ...one, host: 'h1' }, { ...other, host: 'h2' });
    return whyNone({ rankings, view }, { spec: small(1) }).split('; nearest ')[1] ?? '';
  };
  assert.match(nearest({ builds: 6 }, { instances: 3 }), /^c1\/h2: .*has 3 instances/);
  assert.match(nearest({ instances: 6 }, { builds: 3 }), /^c1\/h2: /);
});

const TOGETHER: Request = { spec: { ...small(3), instanceGroup: { id: 'g', policy: 'affinity' } } };

test('scheduler - to several that keep together the nearest host is told that was not filled since, and is not gone', () => {
  const words = (change: (view: View) => void) => {
    const view = viewOf({ host: 'h1', cell: 'c1' }, { host: 'h2', has: { VCPU: 2 } });
    const fleet = { rankings: ofLimits(), view };
    const { hosts, fits, refused } = survey(view, TOGETHER.spec, 3);
    change(view);
    return whyNoneTogether(fleet, TOGETHER, 3, { hosts, fits, refused }).split('; nearest ')[1];
  };
  assert.is(
    words(() => {}),
    'c1/h1: room for all but 1 of the instances',
  );
  assert.is(
    words((view) => tellView(view, { host: 'h1', used: { VCPU: 7 } }, 1)),
    undefined,
  );
  assert.is(
    words((view) => forgetHost(view, 'c1', 'p-h1')),
    undefined,
  );
});

test('scheduler - of a filter that fails it is told how it fails by now', () => {
  const failing: Filter = {
    name: 'mine',
    goesBy: () => ({}),
    refusal: ({ stats }) => {
      throw new Error(`no disk for ${stats.instances}`);
    },
  };
  const view = viewOf({ host: 'h1', instances: 2 });
  const fleet = { rankings: ofLimits(failing), view };
  const told = () => standing(fleet, { spec: small(1) }, 1).refused.map(({ message }) => message);
  assert.equal(told(), ["filter 'mine' failed: no disk for 2"]);
  tellView(view, { host: 'h1', instances: 3 }, 1);
  assert.equal(told(), ["filter 'mine' failed: no disk for 3"]);
});

test.run();
