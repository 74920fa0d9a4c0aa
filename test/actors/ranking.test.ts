// Area: ranking. What is picked from the index is what a look at every host would pick, however the hosts changed before
// and whatever the request says of where; a host is weighed anew only when it changed, or when its time has come.

import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fit } from '../../actors/fitting/fit.ts';
import type { RequestSpec } from '../../actors/messages/common.ts';
import { type Filter, filtersFor, refusedBy } from '../../actors/scheduler/filters/filter.ts';
import { instanceLimit } from '../../actors/scheduler/filters/limits.ts';
import { best, bestOfAll, bestOfCell, rankedAmong } from '../../actors/scheduler/picking.ts';
import { allFiltersFor, judge } from '../../actors/scheduler/ranking/judging.ts';
import { emptyRankings, type Rankings, shapeOf, statsMatter } from '../../actors/scheduler/ranking/ranking.ts';
import { HEARINGS } from '../../actors/scheduler/ranking/stands.ts';
import type { Weighed } from '../../actors/scheduler/ranking/weighings.ts';
import type { Request } from '../../actors/scheduler/request.ts';
import { endPromise } from '../../actors/scheduler/view/promises.ts';
import { isShardSilent, noteCell, noteShard, SILENCE } from '../../actors/scheduler/view/silence.ts';
import { emptyView, treeOf, type View, type ViewHost } from '../../actors/scheduler/view/view.ts';
import { factsOf, promiseBuild } from '../../actors/scheduler/view/view-hosts.ts';
import { fewInstances } from '../../actors/scheduler/weighers/busyness.ts';
import { DEFAULT_WEIGHERS } from '../../actors/scheduler/weighers/defaults.ts';
import { type Weigher, weighersFor, weightOf } from '../../actors/scheduler/weighers/weigher.ts';
import { seededRandom } from '../../runtime/random.ts';
import { type HostWords, passTo, tellView, viewOf } from '../support/facts.ts';
import { NOBODY, oneCpuOf, specOf } from '../support/ranking.ts';

const test = suite('ranking');

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
      let builds = 0;
      const check = (request: Request) => {
        const wanted = bestByHand(rankings, view, request);
        const found = best({ rankings, view }, request, NOBODY);
        assert.is(found?.weight, wanted[0]?.weight);
        if (found === null) return;
        const same = wanted.find(({ root }) => root === found.root);
        assert.is(same?.weight, found.weight);
        assert.equal(found.allocations, same?.allocations);
        for (const hearing of HEARINGS) {
          const ofCell = bestByHand(rankings, view, request, 'c1').filter(
            ({ isSilent }) => isSilent === (hearing === 'silent'),
          );
          const inCell = bestOfCell({ rankings, view }, request, { cell: 'c1', hearing }, 3, NOBODY);
          assert.equal(
            inCell.map(({ weight }) => weight),
            ofCell.slice(0, 3).map(({ weight }) => weight),
          );
          assert.is(new Set(inCell.map(({ root }) => root)).size, inCell.length);
        }
        const { cells: _, avoidCells: __, ...anywhere } = request.where ?? {};
        const ofAll = bestByHand(rankings, view, { ...request, where: anywhere });
        const inAll = bestOfAll({ rankings, view }, { ...request, where: anywhere }, ofAll.length + 1);
        assert.equal(
          inAll.map(({ weight }) => weight),
          ofAll.map(({ weight }) => weight).sort((one, other) => other - one),
        );
      };
      for (const one of steps) {
        if (one.what === 'host') tellView(view, one.told, ++generation);
        else if (one.what === 'pick') check(asked[one.which % asked.length] as Request);
        else if (one.what === 'pass') passTo(view, view.now + one.ms);
        else if (one.what === 'shard') noteShard(view, one.shard, one.isSilent);
        else if (one.what === 'grant') {
          const host = claimed.shift();
          if (host === undefined) continue;
          const news = { generation: one.isNews ? ++generation : 0, used: { VCPU: one.used }, tenants: one.tenants };
          const usage = { id: `p-${host}`, ...news };
          endPromise(view, `p-${host}`, [oneCpuOf(host)], [usage], 0);
        } else {
          promiseBuild(view, `i${builds++}`, `p-${one.host}`, [oneCpuOf(one.host)]);
          claimed.push(one.host);
        }
      }
      // What changes with time is seen to the second.
      passTo(view, Math.ceil((view.now + 1_000) / 1_000) * 1_000);
      for (const request of asked) check(request);
    }),
    { numRuns: 250 },
  );
});

test('ranking - requests that name hosts share one ranking also where aggregates are kept for others', () => {
  const rankings = emptyRankings([], 's');
  const view = viewOf(...HOSTS.map((host) => ({ host, cell: cellOf(host) })));
  for (const host of HOSTS) {
    const tree = { notMemberOf: ['a0', 'a1'], oneOf: [`p-${host}`] };
    const origins = { kept: [0], avoidAggregates: [1], hosts: [`${cellOf(host)}/${host}`], avoidHosts: [`c9/${host}`] };
    const picked = best({ rankings, view }, { spec: { ...specOf(1), tree }, where: { origins } }, NOBODY);
    assert.is(picked?.host, host);
  }
  assert.is(rankings.shapes.size, 1);
});

test('ranking - what rankings are found by is short, however many aggregates a request must not be in', () => {
  const rankings = emptyRankings([], 's');
  const view = viewOf(...HOSTS.map((host) => ({ host, cell: cellOf(host) })));
  const closed = Array.from({ length: 2_000 }, (_, n) => `kept-for-others-${n}`);
  // They differ in one text of thousands, and then in an amount alone.
  const lists = [closed, [...closed.slice(1), 'kept-for-others-x'], [...closed.slice(1), 'kept-for-others-y']];
  for (const notMemberOf of lists) {
    for (const vcpu of [1, 2]) best({ rankings, view }, { spec: { ...specOf(vcpu), tree: { notMemberOf } } }, NOBODY);
  }
  const { shapes, families, alone, searched } = rankings;
  assert.is(families.size, lists.length);
  for (const key of [shapes, families, alone, searched].flatMap((some) => [...some.keys()])) {
    assert.ok(key.length < 100, `${key.length} characters`);
  }
});

test('ranking - shapes that rank too many hosts together go, those used longest ago first, and no more of them', () => {
  const MOST = 1_000;
  const rankings = emptyRankings([], 's', { maxRankedHosts: MOST });
  const view = viewOf(...Array.from({ length: 100 }, (_, n) => ({ host: `h${n}` })));
  const kinds = Array.from({ length: 60 }, (_, n) => ({ ...specOf(1), tree: { notMemberOf: [`a${n}`] } }));
  for (const spec of kinds) {
    const before = [...rankings.shapes.keys()];
    best({ rankings, view }, { spec }, NOBODY);
    const kept = [...rankings.shapes.keys()];
    assert.equal(kept.slice(0, -1), before.slice(before.length + 1 - kept.length), 'the oldest have gone');
    // Each has room for 125 hosts, and what is known of the one that was picked counts for ten more.
    assert.ok(kept.length <= MOST / 125 + 1, `${kept.length} are kept`);
    assert.ok(kept.length >= Math.min(before.length, MOST / 135 - 1), `only ${kept.length} are kept`);
  }
});

test('ranking - none goes for hosts that shapes ranked which are there no more', () => {
  const rankings = emptyRankings([], 's', { maxRankedHosts: 1_000 });
  const view = viewOf(...Array.from({ length: 100 }, (_, n) => ({ host: `h${n}` })));
  const KINDS = 12;
  for (let n = 0; n < KINDS; n += 1) {
    // The first ranks all hosts by itself, and is then one of a family.
    for (const vcpu of [1, 2]) {
      best({ rankings, view }, { spec: { ...specOf(vcpu), tree: { notMemberOf: [`a${n}`] } } }, NOBODY);
    }
  }
  assert.is(rankings.families.size, KINDS);
  assert.is(rankings.shapes.size, KINDS);
});

test('ranking - shapes that have grown go too, though not with the next one', () => {
  const [MOST, MANY, SHAPES] = [1_000, 300, 5];
  const rankings = emptyRankings([], 's', { maxRankedHosts: MOST, maxShapes: SHAPES });
  const view = viewOf({ host: 'h0' });
  const use = (kind: number) =>
    best({ rankings, view }, { spec: { ...specOf(1), tree: { notMemberOf: [`a${kind}`] } } }, NOBODY);
  const kept = () => rankings.shapes.size;
  for (let kind = 0; kind < SHAPES; kind += 1) use(kind);
  for (let n = 1; n < MANY; n += 1) tellView(view, { host: `h${n}` });
  for (let kind = 0; kind < SHAPES; kind += 1) use(kind);
  assert.is(kept(), SHAPES);
  for (let kind = SHAPES; kind < 50; kind += 1) use(kind);
  assert.ok(kept() * MANY <= MOST, `${kept()} are kept, of ${MANY} hosts each`);
});

test('ranking - one that names a host and an aggregate shares its ranking with those that name the aggregate alone', () => {
  const rankings = emptyRankings([], 's');
  const view = viewOf({ host: 'a', aggregates: ['ssd'] }, { host: 'b', aggregates: ['ssd'] });
  const tree = { memberOf: [['ssd']] };
  assert.ok(best({ rankings, view }, { spec: { ...specOf(1), tree } }, NOBODY));
  const naming = { spec: { ...specOf(1), tree: { ...tree, oneOf: ['p-b'] } }, where: { origins: { hosts: ['c1/b'] } } };
  assert.is(best({ rankings, view }, naming, NOBODY)?.host, 'b');
  assert.is(rankings.shapes.size, 1);
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
  for (const more of differing) assert.ok(best({ rankings, view }, { spec: specOf(1), ...more }, NOBODY) !== null);
  assert.equal(weighed.sort(), HOSTS, 'they share one ranking');
  weighed.length = 0;
  tellView(view, { host: 'h4', cell: 'c1', used: { VCPU: 3 } }, 1);
  // Of what a host is doing this weigher wants to know nothing.
  tellView(view, { host: 'h5', cell: 'c2', instances: 4, builds: 4 }, 0);
  best({ rankings, view }, { spec: specOf(1) }, NOBODY);
  assert.equal(weighed, ['h4']);
  best({ rankings, view }, { spec: specOf(2) }, NOBODY);
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
  const pick = (project?: string) => best({ rankings, view }, { spec: specOf(1), project }, NOBODY);
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
  assert.is(best({ rankings, view }, { spec }, NOBODY)?.host, 'h3');
  assert.is(
    best({ rankings, view }, { spec }, (root) => root !== 'p-h1'),
    null,
  );
  assert.equal(fitting({ spec }), ['h2', 'h3']);
  const others = { spec: { ...spec, instanceGroup: { id: 'web', policy: 'soft-anti-affinity' as const } } };
  assert.is(
    best({ rankings, view }, others, (root) => root !== 'p-h1')?.host,
    'h1',
    'another group is another ranking',
  );
  assert.equal(fitting(others), ['h1', 'h2', 'h3']);
  const weights = weighersFor(rankings.weighers, { spec }).map(({ part }) => part);
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
  const pick = (hints: Record<string, string>) =>
    best({ rankings, view }, { spec: specOf(1), where: { hints } }, NOBODY);
  assert.is(pick({ not: 'h1' })?.host, 'h2');
  assert.is(pick({ rather: 'h1' })?.host, 'h1');
  assert.is(pick({ rather: 'h2' })?.host, 'h2', 'nor are two requests that the weigher judges otherwise');
});

test('ranking - one of the best few is picked by chance, the same for the same seed, never one that is worse', () => {
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { pickAmong: 3 });
  const view = viewOf(...HOSTS.map((host, n) => ({ host, cell: cellOf(host), used: { VCPU: n } })));
  const pick = (seed: string, salt = 's') =>
    best({ rankings: { ...rankings, salt }, view }, { spec: specOf(1) }, NOBODY, seed)?.host;
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
      const picked = Array.from({ length: 40 }, (_, n) => best({ rankings, view }, request, NOBODY, `i${n}`)?.cell);
      assert.not(picked.includes(undefined));
      const inCell = picked.filter((cell) => cell === 'c0').length;
      assert.ok([0, picked.length].includes(inCell), `${inCell} of ${picked.length} are in the preferred cell`);
      return inCell > 0;
    };
    assert.ok(isIn());
    assert.ok(isIn({ oneOf: ['p-h1', 'p-h2', 'p-h3', 'p-h4'] }), 'of hosts that it names too');
    assert.not(isIn({ noneOf: ['p-h0', 'p-h3', 'p-h6'] }), 'with none there, the others are as good as ever');
    const roots = ['p-h1', 'p-h0'];
    const [first] = rankedAmong({ rankings, view }, { spec: specOf(1), where: { preferCells: ['c0'] } }, roots, NOBODY);
    assert.is(first?.host, 'h0');
    view.silentCells.add('c0');
    assert.not(isIn(), 'a silent cell is the last resort all the same');
  }
});

test('ranking - few hosts: chance picks among those that there are', () => {
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { pickAmong: 100 });
  assert.is(best({ rankings, view: emptyView() }, { spec: specOf(1) }, NOBODY, 'x'), null);
  assert.is(best({ rankings, view: viewOf({ host: 'h1' }) }, { spec: specOf(1) }, NOBODY, 'x')?.host, 'h1');
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
  const pick = (not: string) => best({ rankings, view }, { spec: specOf(1), where: { hints: { not } } }, NOBODY)?.host;
  assert.equal([pick('h7'), pick('h0')], ['h0', 'h1']);
});

test('ranking - where nobody asks what refuses hosts, it is not found out, and the same hosts are picked', () => {
  const view = viewOf({ host: 'h1', used: { VCPU: 7 } }, { host: 'h2' }, { host: 'h3', state: 'down' });
  const picked = [false, true].map((onlyFills) => {
    const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { onlyFills });
    const ranked = bestOfAll({ rankings, view }, { spec: specOf(4) }, 9);
    const [shape] = rankings.shapes.values();
    return { refused: shape?.refusals.hosts, ranked: ranked.map(({ root, weight }) => [root, weight]) };
  });
  assert.equal(
    picked.map(({ refused }) => refused),
    [2, 0],
  );
  assert.equal(picked[0]?.ranked, picked[1]?.ranked);
  assert.is(picked[0]?.ranked.length, 1);
});

test('ranking - where hosts only fill up, one that is refused is not looked at again', () => {
  const looked: string[] = [];
  const counting: Filter = {
    name: 'counting',
    ignoresStats: true,
    refusal: ({ host }) => {
      looked.push(host);
      return null;
    },
  };
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { filters: [counting], onlyFills: true });
  const view = viewOf({ host: 'h1', used: { VCPU: 5 } }, { host: 'h2' }, { host: 'h3' });
  const pick = () => best({ rankings, view }, { spec: specOf(4) }, NOBODY)?.host;
  const fill = (host: string, vcpu: number) => tellView(view, { host, used: { VCPU: vcpu } }, vcpu);
  pick();
  fill('h1', 6);
  fill('h2', 5);
  assert.is(pick(), 'h3');
  fill('h2', 6);
  fill('h3', 5);
  assert.is(pick(), undefined);
  assert.equal(looked, ['h1', 'h2', 'h3', 'h2', 'h3']);
});

test('ranking - whether hosts of cells to avoid are passed, or the others looked at cell by cell, the same are chosen', () => {
  for (let seed = 1; seed <= 40; seed += 1) {
    const random = seededRandom(`avoided ${seed}`);
    const cells = Array.from({ length: random.integer(2, 60) }, (_, n) => `c${n}`);
    const view = emptyView();
    for (let n = 0; n < 120; n += 1) {
      const [cell, used] = [random.pick(cells), { VCPU: random.integer(0, 9) }];
      tellView(view, { host: `h${n}`, cell, has: { VCPU: 8 }, used });
    }
    const fleet = { rankings: emptyRankings(DEFAULT_WEIGHERS, 's'), view };
    for (let round = 0; round < 20; round += 1) {
      const some = (share: number) => cells.filter(() => random.chance(share));
      for (const cell of cells) noteCell(view, cell, random.chance(0.1));
      const [avoidCells, preferCells] = [some(random.pick([0, 0.03, 0.3])), some(random.pick([0, 0, 0.1]))];
      const where = {
        ...(avoidCells.length > 0 ? { avoidCells } : {}),
        ...(preferCells.length > 0 ? { preferCells } : {}),
      };
      const request = { spec: specOf(1), where };
      const left = (root: string) => {
        const { cell } = view.hosts.get(root) as { cell: string };
        return !view.silentCells.has(cell) && !avoidCells.includes(cell);
      };
      const { current } = shapeOf(fleet, request);
      const rank = (one: Weighed) => [Number(!preferCells.includes(one.cell)), -one.weight, one.tie];
      const inOrder = [...current.values()]
        .filter(({ root }) => left(root))
        .sort((one, other) => {
          const [a, b] = [rank(one), rank(other)] as [number[], number[]];
          const at = a.findIndex((value, place) => value !== b[place]);
          return at < 0 ? 0 : (a[at] as number) - (b[at] as number);
        });
      const found = bestOfAll(fleet, request, 5, NOBODY, SILENCE.ofNobody);
      assert.equal(
        found.map(({ root }) => root),
        inOrder.slice(0, 5).map(({ root }) => root),
        `seed ${seed}`,
      );
      const [first] = inOrder;
      if (first !== undefined) assert.is(best(fleet, request, NOBODY)?.root, first.root, `seed ${seed}`);
      const host = `h${random.integer(0, 119)}`;
      promiseBuild(view, `i${round}`, `p-${host}`, [oneCpuOf(host)]);
    }
  }
});

test.run();
