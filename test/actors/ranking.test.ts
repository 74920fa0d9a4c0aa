// Area: ranking. What is picked from the index is what a look at every host would pick, however the hosts changed before
// and whatever the request says of where; a host is weighed anew only when it changed, or when its time has come.

import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { RequestSpec } from '../../actors/messages/common.ts';
import { weighersOf } from '../../actors/scheduler/decision.ts';
import { type Filter, filtersFor, refusedBy } from '../../actors/scheduler/filters/filter.ts';
import { buildLimit, instanceLimit } from '../../actors/scheduler/filters/limits.ts';
import { fit } from '../../actors/scheduler/fit.ts';
import { before, bestOf, type Entry, type Heap, insert, remove, replace } from '../../actors/scheduler/heap.ts';
import { allFiltersFor, judge } from '../../actors/scheduler/judging.ts';
import { best, bestOfAll, bestOfCell, rankedAmong } from '../../actors/scheduler/picking.ts';
import { emptyRankings, HEARINGS, type Rankings, statsMatter } from '../../actors/scheduler/ranking.ts';
import type { Request } from '../../actors/scheduler/request.ts';
import {
  changesEnd,
  emptyView,
  endPromise,
  isShardSilent,
  learnProvider,
  learnUsage,
  noteShard,
  promise,
  treeOf,
  type View,
  type ViewHost,
} from '../../actors/scheduler/view.ts';
import { expect, factsOf, passTime } from '../../actors/scheduler/view-hosts.ts';
import { buildFailures } from '../../actors/scheduler/weighers/build-failures.ts';
import { fewInstances } from '../../actors/scheduler/weighers/busyness.ts';
import { DEFAULT_WEIGHERS } from '../../actors/scheduler/weighers/defaults.ts';
import { type Weigher, weighersFor, weightOf } from '../../actors/scheduler/weighers/weigher.ts';
import { type HostWords, stateOf, tellHost, tellView, viewOf } from '../support/facts.ts';

const test = suite('ranking');

const specOf = (vcpu: number): RequestSpec => ({
  groups: [{ name: '', resources: { VCPU: vcpu } }],
  groupPolicy: 'none',
});
const NOBODY = () => false;

test('ranking - a heap gives the best of what is in it, whatever was put in, taken out and replaced', () => {
  interface Numbered extends Entry {
    readonly id: number;
  }
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(9), fc.nat(5), fc.constantFrom('insert', 'remove', 'replace')), { maxLength: 120 }),
      fc.integer({ min: 1, max: 12 }),
      (steps, most) => {
        const heaps: [Heap<Numbered>, Heap<Numbered>] = [[], []];
        const there: [Numbered[], Numbered[]] = [[], []];
        for (const [id, [where, weight, what]] of steps.entries()) {
          const side = (where % 2) as 0 | 1;
          const known = there[side][where % Math.max(1, there[side].length)];
          const entry = { id, weight, tie: id % 3, at: 0 };
          if (what === 'insert' || known === undefined) insert(heaps[side], entry);
          else if (what === 'remove') remove(heaps[side], known);
          else replace(heaps[side], known, entry);
          there[side] = there[side].filter((one) => one !== known || what === 'insert');
          if (what !== 'remove' || known === undefined) there[side].push(entry);
        }
        const standing = JSON.stringify(heaps);
        const accept = ({ id }: Numbered) => id % 4 !== 0;
        const found = bestOf(heaps, most, accept);
        const wanted = there
          .flat()
          .filter(accept)
          .sort((one, other) => (before(one, other) ? -1 : before(other, one) ? 1 : 0));
        assert.equal(
          found.map(({ weight, tie }) => [weight, tie]),
          wanted.slice(0, most).map(({ weight, tie }) => [weight, tie]),
        );
        assert.is(new Set(found).size, found.length);
        assert.is(JSON.stringify(heaps), standing, 'reading changes no heap');
      },
    ),
    { numRuns: 300 },
  );
});

const oneCpuOf = (host: string) => ({ provider: `p-${host}`, group: '', resources: { VCPU: 1 } });

const HOSTS = ['h0', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'h7'];
const cellOf = (host: string) => `c${Number(host.slice(1)) % 3}`;
const AGGREGATES = ['a0', 'a1', 'a2'];
const subset = (of: readonly string[]) => fc.subarray([...of], { minLength: 1 });
const maybe = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined, freq: 2 });

const words: fc.Arbitrary<HostWords> = fc
  .record({
    host: fc.constantFrom(...HOSTS),
    state: fc.constantFrom('up' as const, 'up' as const, 'up' as const, 'down' as const, 'disabled' as const),
    used: fc.record({ VCPU: fc.nat(8) }),
    aggregates: fc.subarray(AGGREGATES),
    instances: fc.nat(6),
    failures: fc.record({ weight: fc.constantFrom(1, 2, 5), at: fc.constantFrom(0, 500_000) }),
  })
  .map((told) => ({ ...told, cell: cellOf(told.host) }));

const requests: fc.Arbitrary<Request> = fc
  .record({
    vcpu: fc.integer({ min: 1, max: 4 }),
    memberOf: maybe(fc.array(subset(AGGREGATES), { minLength: 1, maxLength: 2 })),
    notMemberOf: maybe(subset(AGGREGATES)),
    oneOf: maybe(subset(HOSTS.map((host) => `p-${host}`))),
    noneOf: maybe(subset(HOSTS.map((host) => `p-${host}`))),
    near: maybe(subset(HOSTS.map((host) => `p-${host}`))),
    far: maybe(subset(HOSTS.map((host) => `p-${host}`))),
    cells: maybe(subset(['c0', 'c1', 'c2', 'c9'])),
    avoidCells: maybe(subset(['c0', 'c1'])),
    preferCells: maybe(subset(['c0', 'c2'])),
    project: maybe(fc.constantFrom('p', 'q')),
  })
  .map(({ vcpu, memberOf, notMemberOf, oneOf, noneOf, near, far, cells, avoidCells, preferCells, project }) => {
    const given = <T extends object>(told: T) =>
      Object.fromEntries(Object.entries(told).filter(([, value]) => value !== undefined)) as T;
    const tree = given({ memberOf, notMemberOf, oneOf, noneOf }) as object;
    const where = given({ cells, avoidCells, preferCells }) as object;
    const company =
      near === undefined && far === undefined ? undefined : { near: near && new Set(near), far: new Set(far) };
    const spec = { ...specOf(vcpu), ...(Object.keys(tree).length === 0 ? {} : { tree }) };
    return given({ spec, where: Object.keys(where).length === 0 ? undefined : where, company, project }) as Request;
  });

const NOT_MINE: Filter<string> = {
  name: 'not-mine',
  goesBy: ({ project }) => project,
  refusal: ({ host }, project) =>
    project === 'q' && host === 'h1' ? { code: 'not-mine', message: `${host} is not for ${project}` } : null,
};

/** Looks at every host, one by one. */
function bestByHand(rankings: Rankings, view: View, request: Request, inCell?: string) {
  const asked = [...filtersFor(rankings.filters, request, false), ...filtersFor(rankings.filters, request, true)];
  const found = [...view.hosts.values()].flatMap((host: ViewHost) => {
    const tree = treeOf(view, host.root);
    const facts = factsOf(view, host, tree);
    const allocations = refusedBy(asked, facts) === null ? fit(request.spec, tree) : null;
    if (allocations === null || (inCell !== undefined && host.cell !== inCell)) return [];
    const candidate = { host: facts, tree, allocations };
    const weight = weightOf(weighersFor(rankings.weighers, request), candidate, rankings.overrides);
    return [{ root: host.root, weight, allocations, isSilent: isShardSilent(view, host.root) }];
  });
  return found.sort((one, other) => Number(one.isSilent) - Number(other.isSilent) || other.weight - one.weight);
}

test('ranking - what is picked is what a look at every host would pick, after whatever changes', () => {
  const step = fc.oneof(
    words.map((told) => ({ what: 'host' as const, told })),
    fc.nat().map((which) => ({ what: 'pick' as const, which })),
    fc.constantFrom(...HOSTS).map((host) => ({ what: 'claim' as const, host })),
    fc.record({
      what: fc.constant('grant' as const),
      used: fc.nat(8),
      tenants: fc.integer({ min: 1, max: 6 }),
      isNews: fc.boolean(),
    }),
    fc.integer({ min: 1, max: 400_000 }).map((ms) => ({ what: 'pass' as const, ms })),
    fc.record({ what: fc.constant('shard' as const), shard: fc.nat(2), isSilent: fc.boolean() }),
  );
  const overrides = new Map([['a0', new Map([['free-share', -2]])]]);
  const weighers: readonly Weigher[] = [...DEFAULT_WEIGHERS, fewInstances];
  // Few, so that what was ranked once is picked from after changes.
  const few = fc.array(requests, { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(fc.array(step, { minLength: 10, maxLength: 60 }), few, (steps, asked) => {
      const view = { ...viewOf(...HOSTS.map((host) => ({ host, cell: cellOf(host) }))), shards: 3 };
      const rankings = emptyRankings(weighers, 's', { filters: [instanceLimit(5), NOT_MINE], overrides });
      let generation = 0;
      const claimed: string[] = [];
      const check = (request: Request) => {
        const wanted = bestByHand(rankings, view, request);
        const found = best(rankings, view, request, NOBODY);
        assert.is(found?.weight, wanted[0]?.weight);
        if (found === null) return;
        const same = wanted.find(({ root }) => root === found.root);
        assert.is(same?.weight, found.weight);
        assert.equal(found.allocations, same?.allocations);
        for (const hearing of HEARINGS) {
          const ofCell = bestByHand(rankings, view, request, 'c1').filter(
            ({ isSilent }) => isSilent === (hearing === 'silent'),
          );
          const inCell = bestOfCell(rankings, view, request, { cell: 'c1', hearing }, 3, NOBODY);
          assert.equal(
            inCell.map(({ weight }) => weight),
            ofCell.slice(0, 3).map(({ weight }) => weight),
          );
          assert.is(new Set(inCell.map(({ root }) => root)).size, inCell.length);
        }
        const { cells: _, avoidCells: __, ...anywhere } = request.where ?? {};
        const ofAll = bestByHand(rankings, view, { ...request, where: anywhere });
        const inAll = bestOfAll(rankings, view, { ...request, where: anywhere }, ofAll.length + 1);
        assert.equal(
          inAll.map(({ weight }) => weight),
          ofAll.map(({ weight }) => weight).sort((one, other) => other - one),
        );
      };
      for (const one of steps) {
        if (one.what === 'host') tellView(view, one.told, ++generation);
        else if (one.what === 'pick') check(asked[one.which % asked.length] as Request);
        else if (one.what === 'pass') passTime(view, view.now + one.ms);
        else if (one.what === 'shard') noteShard(view, one.shard, one.isSilent);
        else if (one.what === 'grant') {
          const host = claimed.shift();
          if (host === undefined) continue;
          const news = { generation: one.isNews ? ++generation : 0, used: { VCPU: one.used }, tenants: one.tenants };
          const usage = { id: `p-${host}`, ...news };
          endPromise(view, `p-${host}`, [oneCpuOf(host)], [usage], 0);
        } else {
          promise(view, `p-${one.host}`, [oneCpuOf(one.host)], 1);
          expect(view, `p-${one.host}`, 1);
          claimed.push(one.host);
        }
      }
      // What changes with time is seen to the second.
      passTime(view, Math.ceil((view.now + 1_000) / 1_000) * 1_000);
      for (const request of asked) check(request);
    }),
    { numRuns: 250 },
  );
});

test('ranking - a host that was given what was promised is not weighed anew; one of which more or less is used is', () => {
  for (const [used, generation, usedThen, isWeighed, isFreed] of [
    [1, 1, 1, false, false],
    [3, 1, 3, true, false],
    [0, 1, 0, true, true],
    // What is known already is of this claim or a later one.
    [1, 0, 0, true, true],
  ] as const) {
    const view = viewOf({ host: 'h1', cell: 'c1' });
    const freed = new Set<string>();
    view.freed = freed;
    promise(view, 'p-h1', [oneCpuOf('h1')], 1);
    const [provider] = treeOf(view, 'p-h1');
    assert.equal([provider?.stocks.get('VCPU')?.used, provider?.tenants], [1, 1]);
    const before = changesEnd(view);
    const told = { id: 'p-h1', generation, used: { VCPU: used }, ...(used === 0 ? {} : { tenants: used }) };
    endPromise(view, 'p-h1', [oneCpuOf('h1')], [told], 0);
    assert.equal([provider?.stocks.get('VCPU')?.used, provider?.tenants], [usedThen, usedThen]);
    assert.equal([view.promised.size, view.promisedTenants.size], [0, 0]);
    assert.is(changesEnd(view) > before, isWeighed);
    assert.equal([...freed], isFreed ? ['p-h1'] : []);
  }
});

test('ranking - a host where one left and another came may be what somebody waits for, though as much is used', () => {
  const view = viewOf({ host: 'h1', cell: 'c1' });
  const told = { id: 'p-h1', used: { VCPU: 1 } };
  learnUsage(view, { ...told, generation: 1, groups: { g: 1 } });
  const freed = new Set<string>();
  view.freed = freed;
  const before = changesEnd(view);
  learnUsage(view, { ...told, generation: 3 });
  assert.equal([...freed], ['p-h1']);
  assert.is(changesEnd(view), before, 'it is weighed as before');
  freed.clear();
  learnUsage(view, { ...told, generation: 2, groups: { g: 1 } });
  assert.equal([...freed], [], 'what is old news changes nothing');
  learnUsage(view, { ...told, generation: 4, used: { VCPU: 2 }, groups: { g: 1 } });
  assert.equal([...freed], [], 'nobody can have waited for that');
});

test('ranking - a host is weighed once for requests that are alike, and again only when it changed', () => {
  const weighed: string[] = [];
  const counting: Weigher = {
    name: 'counting',
    multiplier: 1,
    ignoresStats: true,
    weigh: ({ host }) => weighed.push(host.host),
  };
  const rankings = emptyRankings([counting], 's');
  const view = viewOf(...HOSTS.map((host) => ({ host, cell: cellOf(host) })));
  view.statsMatter = statsMatter(rankings);
  const differing: Partial<Request>[] = [
    {},
    { where: { cells: ['c1'] } },
    { where: { avoidCells: ['c2'] } },
    { spec: { ...specOf(1), tree: { noneOf: ['p-h1'] } } },
    { spec: { ...specOf(1), tree: { oneOf: ['p-h2'] } } },
    { company: { far: new Set(['p-h3']) } },
    { project: 'p' },
  ];
  for (const more of differing) assert.ok(best(rankings, view, { spec: specOf(1), ...more }, NOBODY) !== null);
  assert.equal(weighed.sort(), HOSTS, 'they share one ranking');
  weighed.length = 0;
  tellView(view, { host: 'h4', cell: 'c1', used: { VCPU: 3 } }, 1);
  // Of what a host is doing this weigher wants to know nothing.
  tellView(view, { host: 'h5', cell: 'c2', instances: 4, builds: 4 }, 0);
  best(rankings, view, { spec: specOf(1) }, NOBODY);
  assert.equal(weighed, ['h4']);
  best(rankings, view, { spec: specOf(2) }, NOBODY);
  assert.is(weighed.length, 1 + HOSTS.length, 'another amount is another ranking');
});

test('ranking - a filter of the request is one ranking for each different part that it names', () => {
  let asked = 0;
  const byProject: Filter<string> = {
    name: 'by-project',
    goesBy: ({ project }) => project,
    refusal(_, project) {
      asked += 1;
      return project === 'q' ? { code: 'not-q', message: 'not for q' } : null;
    },
  };
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { filters: [byProject] });
  const view = viewOf(...HOSTS.map((host) => ({ host, cell: cellOf(host) })));
  const pick = (project?: string) => best(rankings, view, { spec: specOf(1), project }, NOBODY);
  assert.ok(pick() !== null);
  assert.is(asked, 0, 'a request without the part does not concern it');
  assert.ok(pick('p') !== null && pick('p') !== null);
  assert.is(asked, HOSTS.length);
  assert.is(pick('q'), null);
  assert.is(asked, 2 * HOSTS.length);
});

test('ranking - a filter and a weigher may go by anything in a request, and whoever judges a host asks them the same', () => {
  const spec: RequestSpec = {
    ...specOf(1),
    tree: { memberOf: [['a0']], noneOf: ['p-h9'] },
    instanceGroup: { id: 'db', policy: 'soft-anti-affinity' },
  };
  const seen: unknown[] = [];
  const byGroup: Filter<string> = {
    name: 'by-group',
    goesBy: (request) => request.spec.instanceGroup?.id,
    refusal: ({ host }, id) => (host === 'h1' && id === 'db' ? { code: 'no-db', message: 'no db here' } : null),
  };
  const bySpec: Filter<RequestSpec> = {
    name: 'by-spec',
    refusal(_, part) {
      seen.push(part);
      return null;
    },
  };
  const awayFrom: Weigher<readonly string[]> = {
    name: 'away-from',
    multiplier: 1,
    goesBy: (request) => request.spec.tree?.noneOf,
    weigh: ({ host }, roots) => (roots.includes('p-h9') && host.host === 'h3' ? 1 : 0),
  };
  const rankings = emptyRankings([awayFrom], 's', { filters: [byGroup, bySpec] });
  const view = viewOf(...['h1', 'h2', 'h3'].map((host) => ({ host, aggregates: ['a0'] })));
  const fitting = (request: Request) =>
    [...view.hosts.values()]
      .filter((host) => judge(view, allFiltersFor(rankings.filters, request), request.spec, host).obstacle === null)
      .map(({ host }) => host);
  assert.is(best(rankings, view, { spec }, NOBODY)?.host, 'h3');
  assert.is(
    best(rankings, view, { spec }, (root) => root !== 'p-h1'),
    null,
  );
  assert.equal(fitting({ spec }), ['h2', 'h3']);
  const others = { spec: { ...spec, instanceGroup: { id: 'web', policy: 'soft-anti-affinity' as const } } };
  assert.is(best(rankings, view, others, (root) => root !== 'p-h1')?.host, 'h1', 'another group is another ranking');
  assert.equal(fitting(others), ['h1', 'h2', 'h3']);
  const weights = weighersOf(rankings, { spec }).map(({ part }) => part);
  assert.equal(weights, [['p-h9']], 'explanations weigh by the same');
  // Without a choice of its own, a filter goes by what requests are ranked by.
  for (const part of seen) assert.equal(part, { ...specOf(1), tree: { memberOf: [['a0']] } });
});

test('ranking - a filter and a weigher of one name that go by different parts are not mixed up', () => {
  const filter: Filter<string> = {
    name: 'hint',
    goesBy: ({ where }) => where?.hints?.not,
    refusal: ({ host }, not) => (host === not ? { code: 'not-this', message: host } : null),
  };
  const weigher: Weigher<string> = {
    name: 'hint',
    multiplier: 1,
    goesBy: ({ where }) => where?.hints?.rather,
    weigh: ({ host }, rather) => (host.host === rather ? 1 : 0),
  };
  const rankings = emptyRankings([weigher], 's', { filters: [filter] });
  const view = viewOf({ host: 'h1' }, { host: 'h2' });
  const pick = (hints: Record<string, string>) => best(rankings, view, { spec: specOf(1), where: { hints } }, NOBODY);
  assert.is(pick({ not: 'h1' })?.host, 'h2');
  assert.is(pick({ rather: 'h1' })?.host, 'h1');
});

test('ranking - failures fade: a host that failed comes back up the ranking with nothing told of it', () => {
  const rankings = emptyRankings([buildFailures], 's');
  const view = viewOf({ host: 'h1', failures: { weight: 8, at: 0 } }, { host: 'h2', failures: { weight: 1, at: 0 } });
  passTime(view, 1_000);
  const chosen = () => best(rankings, view, { spec: specOf(1) }, NOBODY);
  assert.is(chosen()?.host, 'h2');
  const before = bestOfCell(rankings, view, { spec: specOf(1) }, { cell: 'c1', hearing: 'heard' }, 2, NOBODY).at(-1)
    ?.weight as number;
  passTime(view, 3_600_000);
  const after = bestOfCell(rankings, view, { spec: specOf(1) }, { cell: 'c1', hearing: 'heard' }, 2, NOBODY).at(-1)
    ?.weight as number;
  assert.ok(after > before);
  passTime(view, 36_000_000);
  const forgotten = bestOfCell(rankings, view, { spec: specOf(1) }, { cell: 'c1', hearing: 'heard' }, 2, NOBODY);
  assert.equal(
    forgotten.map(({ weight }) => weight),
    [1, 1],
  );
  assert.is(view.due.size, 0, 'who has forgotten all is not looked at again');
});

test('ranking - a filter that goes by time is asked again when it says so, of a host that it refuses too', () => {
  const asked: number[] = [];
  const maintenance: Filter = {
    name: 'maintenance',
    ignoresStats: true,
    refusal({ now }) {
      asked.push(now);
      return now >= 10_000 && now < 20_000 ? { code: 'maintenance', message: 'for ten seconds' } : null;
    },
    changesAt({ now }) {
      if (now >= 20_000) throw new Error('nobody knows');
      return now < 10_000 ? 10_000 : 20_000;
    },
  };
  const rankings = emptyRankings([], 's', { filters: [maintenance] });
  const view = viewOf({ host: 'h1' });
  const fitsAt = (now: number) => {
    passTime(view, now);
    return best(rankings, view, { spec: specOf(1) }, NOBODY) !== null;
  };
  assert.equal([5_000, 9_000, 10_000, 15_000, 20_000, 90_000].map(fitsAt), [true, true, false, false, true, true]);
  assert.equal(asked, [5_000, 10_000, 20_000], 'and at no other time');
});

test('ranking - a filter or weigher that says a time that has passed is not asked all the time', () => {
  let asked = 0;
  const stopped = {
    name: 'stopped',
    multiplier: 1,
    ignoresStats: true,
    refusal() {
      asked += 1;
      return null;
    },
    weigh() {
      asked += 1;
      return 1;
    },
    changesAt: () => 1_000,
  };
  const rankings = emptyRankings([stopped], 's', { filters: [stopped] });
  const view = viewOf({ host: 'h1' });
  for (let now = 5_000; now < 9_000; now += 100) {
    passTime(view, now);
    best(rankings, view, { spec: specOf(1) }, NOBODY);
  }
  assert.is(asked, 2);
});

test('ranking - an instance that is claimed counts towards a limit at once, and no longer than placement has it', () => {
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { filters: [instanceLimit(2)] });
  const view = viewOf({ host: 'h1', instances: 1 });
  const fits = () => best(rankings, view, { spec: specOf(1) }, NOBODY) !== null;
  const claim = () => promise(view, 'p-h1', [oneCpuOf('h1')], 1);
  const answer = (generation: number, tenants: number) =>
    endPromise(view, 'p-h1', [oneCpuOf('h1')], [{ id: 'p-h1', generation, used: { VCPU: 1 }, tenants }], 0);
  assert.ok(fits());
  claim();
  assert.not(fits());
  answer(0, 1);
  assert.ok(fits(), 'the claim was refused');
  claim();
  answer(1, 2);
  assert.not(fits(), 'it was granted');
  learnUsage(view, { id: 'p-h1', generation: 2, used: {}, tenants: 1 });
  assert.ok(fits(), 'one has left, whatever the cell has told');
  learnUsage(view, { id: 'p-h1', generation: 3, used: {}, tenants: 2 });
  assert.not(fits(), 'another scheduler has claimed there');
});

test('ranking - who goes by the number of instances is told when it changed, though as much is used', () => {
  for (const [filters, isWeighed] of [
    [[instanceLimit(2)], true],
    [[], false],
  ] as const) {
    const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { filters });
    const view = { ...viewOf({ host: 'h1', instances: 2 }), statsMatter: statsMatter(rankings) };
    const before = changesEnd(view);
    view.freed = new Set();
    learnUsage(view, { id: 'p-h1', generation: 1, used: {}, tenants: 1 });
    assert.is(changesEnd(view) > before, isWeighed);
    assert.equal([...view.freed], ['p-h1']);
  }
});

test('ranking - a build that was just claimed counts towards a limit, until the cell has had the time to tell', () => {
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { filters: [buildLimit(2)] });
  const view = viewOf({ host: 'h1', instances: 1, builds: 1, ordered: 1 });
  passTime(view, 10_000);
  const fits = () => best(rankings, view, { spec: specOf(1) }, NOBODY) !== null;
  let generation = 0;
  const has = (tenants: number) => learnUsage(view, { id: 'p-h1', generation: ++generation, used: {}, tenants });
  assert.ok(fits());
  expect(view, 'p-h1', 1);
  has(2);
  assert.not(fits());
  expect(view, 'p-h1', -1);
  assert.ok(fits(), 'the claim was refused');
  expect(view, 'p-h1', 1);
  assert.not(fits());
  has(1);
  assert.ok(fits(), 'it was deleted before it came to its cell, which will not tell of it');
  has(2);
  assert.not(fits());
  passTime(view, 20_000);
  assert.ok(fits(), 'nothing came of it');
});

test('ranking - a build that was just claimed counts, too, where the cell has more instances than placement', () => {
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { filters: [buildLimit(2), instanceLimit(9)] });
  const view = viewOf({ host: 'h1' });
  tellHost(view, { instances: 5 });
  const fits = () => best(rankings, view, { spec: specOf(1) }, NOBODY) !== null;
  for (const [tenants, isRoom] of [
    [1, true],
    [2, false],
  ] as const) {
    expect(view, 'p-h1', 1);
    promise(view, 'p-h1', [oneCpuOf('h1')], 1);
    const told = { id: 'p-h1', generation: tenants, used: { VCPU: tenants }, tenants };
    endPromise(view, 'p-h1', [oneCpuOf('h1')], [told], 0);
    assert.is(fits(), isRoom);
  }
  tellHost(view, { instances: 7, builds: 0, ordered: 2 });
  assert.ok(fits(), 'they are built');
  tellHost(view, { instances: 9, builds: 0, ordered: 2 });
  assert.not(fits(), 'what its cell has there is there');
});

test('ranking - whoever waits for a host is tried where a claim came to nothing, though only its device was told', () => {
  const view = viewOf({ host: 'h1', instances: 1 });
  learnProvider(view, { ...stateOf({ host: 'gpu', has: { VGPU: 2 } }), parent: 'p-h1', root: 'p-h1' });
  const allocations = [{ provider: 'p-gpu', group: '', resources: { VGPU: 1 } }];
  promise(view, 'p-h1', allocations, 1);
  view.freed = new Set();
  const before = changesEnd(view);
  endPromise(view, 'p-h1', allocations, [{ id: 'p-gpu', generation: 1, used: { VGPU: 1 } }], 0);
  assert.is(treeOf(view, 'p-h1')[0]?.tenants, 1);
  assert.equal([[...view.freed], changesEnd(view) > before], [['p-h1'], true]);
});

test('ranking - what a cell has counted is not counted again, however many claims follow each other', () => {
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { filters: [buildLimit(2)] });
  const view = viewOf({ host: 'h1' });
  passTime(view, 10_000);
  const fits = () => best(rankings, view, { spec: specOf(1) }, NOBODY) !== null;
  const claim = (tenants: number) => {
    expect(view, 'p-h1', 1);
    learnUsage(view, { id: 'p-h1', generation: view.now + tenants, used: {}, tenants });
  };
  for (let ordered = 1; ordered < 20; ordered += 1) {
    assert.ok(fits(), `${ordered - 1} were built there and are gone`);
    claim(1);
    passTime(view, view.now + 500);
    tellView(view, { host: 'h1', ordered }, view.now);
  }
  claim(1);
  claim(2);
  assert.not(fits(), 'two are claimed');
  tellHost(view, { instances: 1, builds: 1, ordered: 20 });
  assert.not(fits(), 'one of them is told of');
  tellHost(view, { instances: 1, builds: 0, ordered: 20 });
  assert.ok(fits(), 'and is built');
  claim(3);
  assert.not(fits());
  tellHost(view, { instances: 1, builds: 0, ordered: 0 });
  assert.ok(fits(), 'a cell that came up anew has counted all that it knows of');
});

test('ranking - one of the best few is picked by chance, the same for the same seed, never one that is worse', () => {
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { pickAmong: 3 });
  const view = viewOf(...HOSTS.map((host, n) => ({ host, cell: cellOf(host), used: { VCPU: n } })));
  const pick = (seed: string, salt = 's') => best({ ...rankings, salt }, view, { spec: specOf(1) }, NOBODY, seed)?.host;
  const picked = Array.from({ length: 300 }, (_, n) => pick(`i${n} 0`));
  assert.equal([...new Set(picked)].sort(), ['h0', 'h1', 'h2']);
  for (const host of ['h0', 'h1', 'h2']) {
    const times = picked.filter((one) => one === host).length;
    assert.ok(times > 60 && times < 140, `${host} was picked ${times} times of 300`);
  }
  assert.equal(
    picked,
    Array.from({ length: 300 }, (_, n) => pick(`i${n} 0`)),
  );
  const others = Array.from({ length: 300 }, (_, n) => pick(`i${n} 0`, 'another'));
  const same = others.filter((host, n) => host === picked[n]).length;
  assert.ok(same < 150, `two schedulers picked the same host ${same} times of 300`);
});

test('ranking - preferred cells come first, however many are picked among, whatever the weighers are', () => {
  const against: Weigher = { name: 'against', multiplier: 1e6, weigh: ({ host }) => (host.cell === 'c0' ? 0 : 1) };
  const choices: [readonly Weigher[], number][] = [
    [DEFAULT_WEIGHERS, 5],
    [DEFAULT_WEIGHERS, Number.POSITIVE_INFINITY],
    [[fewInstances], 1],
    [[], Number.POSITIVE_INFINITY],
    [[against], 1],
    [[...DEFAULT_WEIGHERS, against], 5],
  ];
  for (const [weighers, pickAmong] of choices) {
    const rankings = emptyRankings(weighers, 's', { pickAmong });
    const view = viewOf(...HOSTS.map((host) => ({ host, cell: cellOf(host), used: { VCPU: host === 'h0' ? 7 : 0 } })));
    const isIn = (tree: RequestSpec['tree'] = {}) => {
      const request = { spec: { ...specOf(1), tree }, where: { preferCells: ['c0', 'c9'] } };
      const picked = Array.from({ length: 40 }, (_, n) => best(rankings, view, request, NOBODY, `i${n}`)?.cell);
      assert.not(picked.includes(undefined));
      const inCell = picked.filter((cell) => cell === 'c0').length;
      assert.ok([0, picked.length].includes(inCell), `${inCell} of ${picked.length} are in the preferred cell`);
      return inCell > 0;
    };
    assert.ok(isIn());
    assert.ok(isIn({ oneOf: ['p-h1', 'p-h2', 'p-h3', 'p-h4'] }), 'of hosts that it names too');
    assert.not(isIn({ noneOf: ['p-h0', 'p-h3', 'p-h6'] }), 'with none there, the others are as good as ever');
    const roots = ['p-h1', 'p-h0'];
    const [first] = rankedAmong(rankings, view, { spec: specOf(1), where: { preferCells: ['c0'] } }, roots, NOBODY);
    assert.is(first?.host, 'h0');
    view.silentCells.add('c0');
    assert.not(isIn(), 'a silent cell is the last resort all the same');
  }
});

test('ranking - few hosts: chance picks among those that there are', () => {
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { pickAmong: 100 });
  assert.is(best(rankings, emptyView(), { spec: specOf(1) }, NOBODY, 'x'), null);
  assert.is(best(rankings, viewOf({ host: 'h1' }), { spec: specOf(1) }, NOBODY, 'x')?.host, 'h1');
});

test('ranking - a filter that is asked late passes hosts over, best first', () => {
  const late: Filter<string> = {
    name: 'late',
    late: true,
    goesBy: ({ where }) => where?.hints?.not,
    refusal: ({ host }, not) => (host === not ? { code: 'not-this', message: host } : null),
  };
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { filters: [late] });
  const view = viewOf(...HOSTS.map((host, n) => ({ host, cell: cellOf(host), used: { VCPU: n } })));
  const pick = (not: string) => best(rankings, view, { spec: specOf(1), where: { hints: { not } } }, NOBODY)?.host;
  assert.equal([pick('h7'), pick('h0')], ['h0', 'h1']);
});

test.run();
