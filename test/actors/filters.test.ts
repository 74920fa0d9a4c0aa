// Area: filters. Each refuses what it should, in words and with a code, and nothing else; one concerns only requests that
// say something to it; and one of a deployment's own that fails refuses, and says that it failed.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { RequestSpec, TreeConditions } from '../../actors/messages/common.ts';
import type { HostState } from '../../actors/messages/scheduler.ts';
import { whyNone } from '../../actors/scheduler/explaining/explain.ts';
import { aggregates } from '../../actors/scheduler/filters/aggregates.ts';
import { ALWAYS } from '../../actors/scheduler/filters/always.ts';
import { cells } from '../../actors/scheduler/filters/cells.ts';
import { company } from '../../actors/scheduler/filters/company.ts';
import { type Filter, filtersFor, limitersOf, refusedBy } from '../../actors/scheduler/filters/filter.ts';
import { buildLimit, instanceLimit } from '../../actors/scheduler/filters/limits.ts';
import { namedHosts } from '../../actors/scheduler/filters/named-hosts.ts';
import { serviceState } from '../../actors/scheduler/filters/service-state.ts';
import { instancesLeft } from '../../actors/scheduler/instance-room.ts';
import { companyOf } from '../../actors/scheduler/locating.ts';
import { judge } from '../../actors/scheduler/ranking/judging.ts';
import { emptyRankings } from '../../actors/scheduler/ranking/ranking.ts';
import type { Request } from '../../actors/scheduler/request.ts';
import type { View, ViewHost } from '../../actors/scheduler/view/view.ts';
import { learnHost } from '../../actors/scheduler/view/view-hosts.ts';
import { weighersFor } from '../../actors/scheduler/weighers/weigher.ts';
import { factsOf, type HostWords, viewOf } from '../support/facts.ts';

const test = suite('filters');

const PLAIN: RequestSpec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' };
const withTree = (tree: TreeConditions): Request => ({ spec: { ...PLAIN, tree } });

const hostOf = (view: View, host: string) => view.hosts.get(`p-${host}`) as ViewHost;

/** What a filter says of a host, in short: `null`, or its code. */
function said(filter: Filter, words: HostWords, request: Request = { spec: PLAIN }): string | null {
  const asked = [...filtersFor([filter], request, false), ...filtersFor([filter], request, true)];
  const refused = refusedBy(asked, factsOf(words));
  if (refused === null) return null;
  assert.is(refused.filter, filter.name);
  assert.match(refused.refusal.message, words.host ?? 'h1');
  return refused.refusal.code;
}

test('filters - the state of the service: only a host that is up is offered instances', () => {
  assert.is(said(serviceState, {}), null);
  for (const state of ['down', 'disabled', 'set-aside', 'fenced'] as const) {
    assert.is(said(serviceState, { state }), `host-${state}`);
  }
});

test('filters - the state of the service: why a host is out of it is said, and until when, as its cell told last', () => {
  const view = viewOf({ host: 'h1' }, { host: 'h2' });
  const told = (host: string, state: HostState['state'], more: Partial<HostState>) => {
    learnHost(view, 'c1', { host, provider: `p-${host}`, state, ...more });
    const judged = judge(view, filtersFor([serviceState], { spec: PLAIN }, false), PLAIN, hostOf(view, host));
    return judged.obstacle;
  };
  assert.is(told('h1', 'disabled', {})?.message, "host 'h1' is disabled");
  const disabled = told('h1', 'disabled', { reason: 'new disk' });
  assert.equal([disabled?.code, disabled?.message], ['host-disabled', "host 'h1' is disabled: new disk"]);
  assert.is(told('h1', 'disabled', { reason: 'by an operator' })?.message, "host 'h1' is disabled by an operator");
  const gone = told('h1', 'down', { reason: 'by an operator' });
  assert.is(gone?.message, "host 'h1' is down, and disabled by an operator");
  const resting = told('h2', 'set-aside', { until: 90_000, reason: '5 builds in a row failed' });
  assert.equal(
    [resting?.code, resting?.message],
    ['host-set-aside', "host 'h2' is set aside: 5 builds in a row failed"],
  );
  const unknown = told('h3', 'down', { reason: 'new disk' });
  assert.is(unknown?.message, "host 'h3' is down, and disabled: new disk", 'also before placement has told of it');
});

test('filters - aggregates: of each list the host is in one, and it is in none of those that are closed', () => {
  const wanted = withTree({ memberOf: [['ssd', 'nvme'], ['east']] });
  assert.is(said(aggregates, { aggregates: ['nvme', 'east'] }, wanted), null);
  assert.is(said(aggregates, { aggregates: ['nvme'] }, wanted), 'not-in-aggregate');
  assert.is(said(aggregates, { aggregates: ['east', 'west'] }, wanted), 'not-in-aggregate');
  const closed = withTree({ notMemberOf: ['secret', 'old'] });
  assert.is(said(aggregates, { aggregates: ['east'] }, closed), null);
  assert.is(said(aggregates, { aggregates: ['east', 'old'] }, closed), 'in-avoided-aggregate');
});

test('filters - aggregates: hosts that are refused are counted by the aggregates that it is about', () => {
  const aboutOf = (host: HostWords, request: Request) =>
    refusedBy(filtersFor([aggregates], request, false), factsOf(host))?.refusal.about;
  assert.is(aboutOf({ aggregates: ['east'] }, withTree({ memberOf: [['ssd', 'nvme'], ['east']] })), 'ssd, nvme');
  assert.is(aboutOf({ aggregates: ['east', 'old'] }, withTree({ notMemberOf: ['secret', 'old'] })), 'old');
});

test('filters - aggregates: of many conditions that a host does not meet four are told, and how many more there are', () => {
  const wordsOf = (count: number) => {
    const memberOf = Array.from({ length: count }, (_, position) => [`a${position}`]);
    return refusedBy(filtersFor([aggregates], withTree({ memberOf }), false), factsOf())?.refusal.message ?? '';
  };
  assert.ok(wordsOf(4).endsWith('a3'), wordsOf(4));
  assert.match(wordsOf(5), /a3; 1 more condition is not met$/);
  assert.match(wordsOf(6), /a3; 2 more conditions are not met$/);
});

test('filters - aggregates: of many that are kept for others it is said that they are, and of zones which', () => {
  const kept = Array.from({ length: 9 }, (_, position) => `tenant-${position}`);
  const asked: Request = {
    ...withTree({ notMemberOf: ['n1', ...kept] }),
    where: { origins: { avoidZones: [{ name: 'north', closed: [0] }] } },
  };
  const refusalOf = (ids: string[]) =>
    refusedBy(filtersFor([aggregates], asked, false), factsOf({ host: 'h', aggregates: ids }))?.refusal;
  assert.is(refusalOf(['n1'])?.about, "zone 'north'");
  assert.is(refusalOf(['tenant-3'])?.about, 'kept for other projects');
  assert.is(refusalOf(['tenant-3'])?.message, "host 'h' is in aggregate tenant-3, which is kept for other projects");
  assert.is(refusalOf([]), undefined);
});

test('filters - aggregates: hosts of many avoided ones are counted together, or nothing else would be read', () => {
  const kept = Array.from({ length: 256 }, (_, position) => `tenant-${position}`);
  const request = { spec: { ...PLAIN, groups: [{ name: '', resources: { VCPU: 6 } }], tree: { notMemberOf: kept } } };
  const closed = kept.flatMap((aggregate) =>
    [1, 2].map((n) => ({ host: `${aggregate}-${n}`, aggregates: [aggregate] })),
  );
  const view = viewOf(...closed, { host: 'open', used: { VCPU: 3 } });
  const reason = whyNone({ rankings: emptyRankings([], 's'), view }, request);
  assert.match(
    reason,
    /^none of 513 hosts: 512 in-avoided-aggregate, 1 exceeds-capacity VCPU; nearest c\d\/open: .* 'open'/,
  );
});

test('filters - cells: one of those wanted, none of those to avoid', () => {
  const where = (told: Request['where']): Request => ({ spec: PLAIN, where: told });
  assert.is(said(cells, { cell: 'c1' }, where({ cells: ['c1', 'c2'] })), null);
  assert.is(said(cells, { cell: 'c3' }, where({ cells: ['c1', 'c2'] })), 'not-in-cell');
  assert.is(said(cells, { cell: 'c1' }, where({ avoidCells: ['c1'] })), 'in-avoided-cell');
  assert.is(said(cells, { cell: 'c2' }, where({ avoidCells: ['c1'] })), null);
  assert.is(said(cells, { cell: 'c2' }, where({ preferCells: ['c1'] })), null, 'a preference refuses nobody');
});

test('filters - named hosts: one of those wanted, none of those to avoid', () => {
  assert.is(said(namedHosts, { host: 'h1' }, withTree({ oneOf: ['p-h1', 'p-h2'] })), null);
  assert.is(said(namedHosts, { host: 'h3' }, withTree({ oneOf: ['p-h1', 'p-h2'] })), 'not-a-named-provider');
  assert.is(said(namedHosts, { host: 'h3' }, withTree({ noneOf: ['p-h1', 'p-h3'] })), 'avoided-provider');
  assert.is(said(namedHosts, { host: 'h2' }, withTree({ noneOf: ['p-h1', 'p-h3'] })), null);
});

test('filters - company: with one of the instances, and with none of the others', () => {
  const near = { spec: PLAIN, company: { near: new Set(['p-h1']), far: new Set<string>() } };
  assert.is(said(company, { host: 'h1' }, near), null);
  assert.is(said(company, { host: 'h2' }, near), 'consumer-missing');
  const far = { spec: PLAIN, company: { far: new Set(['p-h1']) } };
  assert.is(said(company, { host: 'h1' }, far), 'consumer-present');
  assert.is(said(company, { host: 'h2' }, far), null);
});

test('filters - company: the instances are named, and that no host has any of them', () => {
  const roots = new Map([
    ['web', new Set(['p-h1'])],
    ['db', new Set(['p-h1', 'p-h2'])],
  ]);
  const refusalOf = (host: string, tree: TreeConditions) => {
    const request = {
      ...withTree(tree),
      company: companyOf({ ...PLAIN, tree }, { roots, homes: roots, waiting: new Set() }),
    };
    return refusedBy(filtersFor([company], request, true), factsOf({ host }))?.refusal;
  };
  const missing = refusalOf('h2', { heldBy: ['web', 'nobody'] });
  assert.is(missing?.message, "host 'h2' has none of the instances to be with: 'web', 'nobody'");
  assert.is(missing?.about, 'web, nobody');
  assert.is(
    refusalOf('h2', { heldBy: ['nobody'] })?.message,
    "host 'h2' has none of the instances to be with: 'nobody'; no host has any",
  );
  assert.match(refusalOf('h3', { heldBy: ['a', 'b', 'c', 'd', 'e'] })?.message ?? '', /: 'a', 'b', 'c' and 2 more;/);
  const both = refusalOf('h1', { notHeldBy: ['web', 'db', 'nobody'] });
  assert.is(both?.message, "host 'h1' has an instance to be kept apart from: 'web', 'db'");
  assert.is(both?.about, undefined, 'hosts are counted together whichever they have');
  const one = refusalOf('h2', { notHeldBy: ['web', 'db'] });
  assert.is(one?.message, "host 'h2' has an instance to be kept apart from: 'db'");
});

test('filters - limits of instances and of builds: general ones, and of aggregates the lowest', () => {
  const most = instanceLimit(3, new Map([['small', 2], ['tiny', 1]])); // biome-ignore format: a table
  assert.is(said(most, { instances: 2 }), null);
  assert.is(said(most, { instances: 3 }), 'too-many-instances');
  assert.is(said(most, { instances: 2, aggregates: ['small'] }), 'too-many-instances');
  assert.is(said(most, { instances: 1, aggregates: ['small'] }), null);
  assert.is(said(most, { instances: 1, aggregates: ['small', 'tiny'] }), 'too-many-instances');
  const busy = buildLimit(2, new Map([['fast', 9]]));
  assert.is(said(busy, { builds: 1, instances: 500 }), null);
  assert.is(said(busy, { builds: 2 }), 'too-many-builds');
  assert.is(said(busy, { builds: 8, aggregates: ['fast'] }), null, 'an aggregate may have more');
  const wordsOf = (filter: Filter, stats: { instances?: number; builds?: number }) =>
    refusedBy(filtersFor([filter], { spec: PLAIN }, false), factsOf(stats))?.refusal.message;
  assert.is(wordsOf(instanceLimit(1), { instances: 1 }), "host 'h1' has 1 instance, and may have 1");
  assert.is(wordsOf(instanceLimit(1), { instances: 2 }), "host 'h1' has 2 instances, and may have 1");
  assert.is(wordsOf(buildLimit(1), { builds: 1 }), "host 'h1' is building 1 instance, and may build 1 at one time");
  assert.is(said(instanceLimit(), { instances: 49 }), null);
  assert.is(said(instanceLimit(), { instances: 50 }), 'too-many-instances');
  assert.is(said(buildLimit(), { builds: 7 }), null);
  assert.is(said(buildLimit(), { builds: 8 }), 'too-many-builds');
});

test('filters - of the limits of aggregates the lowest is told, and those that would not let so many more', () => {
  const limits = new Map([['roomy', 9], ['small', 4], ['tiny', 2]]); // biome-ignore format: a table
  const host = { aggregates: ['roomy', 'small', 'tiny', 'other'], instances: 2, builds: 2 };
  for (const limit of [instanceLimit(50, limits), buildLimit(50, limits)]) {
    assert.match(
      refusedBy([{ filter: limit, part: null }], factsOf(host))?.refusal.message ?? '',
      / 2.* in aggregate tiny$/,
    );
    const limiters = (more: number) => limitersOf(limit, factsOf(host), more);
    assert.equal([limiters(0), limiters(1), limiters(2)], [[], ['tiny'], ['tiny']]);
    assert.equal(
      [limiters(3), limiters(7), limiters(8)],
      [
        ['tiny', 'small'],
        ['tiny', 'small'],
        ['tiny', 'small', 'roomy'],
      ],
    );
  }
});

test('filters - a limit says by how much the host is over it', () => {
  const refused = refusedBy([{ filter: instanceLimit(3), part: PLAIN }], factsOf({ instances: 5 }));
  assert.is(refused?.refusal.short, 3);
});

test('filters - one that says how many instances a host may have need not refuse it itself', () => {
  const most = (mostInstances: unknown, instances: number) =>
    said({ name: 'mine', refusal: () => null, mostInstances } as Filter, { instances });
  assert.is(
    most(() => 2, 1),
    null,
  );
  assert.is(
    most(() => 2.5, 2),
    'too-many-instances',
  );
  assert.is(
    most(() => 0, 0),
    'too-many-instances',
  );
  assert.is(
    most(() => Number.POSITIVE_INFINITY, 9_999),
    null,
  );
  const words: Filter = { name: 'mine', refusal: () => null, mostInstances: () => 3 };
  assert.equal(refusedBy([{ filter: words, part: PLAIN }], factsOf({ instances: 5 }))?.refusal, {
    code: 'too-many-instances',
    message: "host 'h1' has 5 instances, and may have 3",
    short: 3,
  });
});

test('filters - one that says how many may be built at one time need not refuse a host itself', () => {
  const mine: Filter = { name: 'mine', refusal: () => null, mostBuilds: () => 3 };
  assert.is(said(mine, { builds: 2, instances: 500 }), null);
  assert.equal(refusedBy([{ filter: mine, part: PLAIN }], factsOf({ builds: 5 }))?.refusal, {
    code: 'too-many-builds',
    message: "host 'h1' is building 5 instances, and may build 3 at one time",
    short: 3,
  });
});

test('filters - the lower of the limits on instances and on builds says how many more there is room for', () => {
  const rankings = emptyRankings([], 's', { filters: [instanceLimit(5), buildLimit(3)] });
  const left = (instances: number, builds: number) =>
    instancesLeft(rankings, { spec: PLAIN }, factsOf({ instances, builds }));
  assert.is(left(1, 1), 2);
  assert.is(left(4, 1), 1);
  assert.is(left(3, 4), 0);
});

test('filters - one that cannot say how many instances a host may have or build refuses, and says so', () => {
  const wrong = [() => Number.NaN, () => -1, () => '3', () => undefined, () => { throw new Error('no'); }]; // biome-ignore format: a table
  const limits = wrong.flatMap((cannotSay) => [{ mostInstances: cannotSay }, { mostBuilds: cannotSay }]);
  for (const limit of limits) {
    const filter = { name: 'mine', refusal: () => null, ...limit } as unknown as Filter;
    const refused = refusedBy([{ filter, part: PLAIN }], factsOf());
    assert.is(refused?.refusal.code, 'filter-failed');
    assert.match(
      refused?.refusal.message ?? '',
      new RegExp(`'mine' failed: ${Object.keys(limit)[0]} must answer a number`),
    );
    const rankings = emptyRankings([], 's', { filters: [filter] });
    assert.is(instancesLeft(rankings, { spec: PLAIN }, factsOf()), 0, 'there is no room that it vouches for');
  }
});

test('filters - a request that says nothing of where is asked of the state of the service alone', () => {
  const names = (request: Request) =>
    [false, true].flatMap((late) => filtersFor(ALWAYS, request, late)).map(({ filter }) => filter.name);
  assert.equal(names({ spec: PLAIN }), ['service-state']);
  assert.equal(names({ ...withTree({ notMemberOf: ['a'], noneOf: ['p'] }), where: { avoidCells: ['c1'] } }), [
    'service-state',
    'aggregates',
    'cells',
    'named-hosts',
  ]);
});

test('filters - one that throws, or answers what is no answer, refuses and says so', () => {
  const broken: [unknown, RegExp][] = [
    [() => { throw new Error('no such thermometer'); }, /failed: no such thermometer/], // biome-ignore format: a table
    [() => true, /must answer null/],
    [() => 'too hot', /must answer null/],
    [() => ({ code: 'Too Hot', message: 'x' }), /must answer null/],
    [() => ({ code: 'too-hot' }), /must answer null/],
    [() => ({ code: 'too-hot', message: ' ' }), /no text may be empty/],
    [() => ({ code: 'too-hot', message: 'x', about: {} }), /about, a text/],
    [() => ({ code: 'too-hot', message: 'x', about: '' }), /no text may be empty/],
    [() => ({ code: 'too-hot', message: 'x', short: '5' }), /short, a number/],
    [() => ({ code: 'too-hot', message: 'x', short: Number.NaN }), /short, a number/],
  ];
  for (const [refusal, says] of broken) {
    const filter = { name: 'mine', refusal } as Filter;
    const refused = refusedBy([{ filter, part: PLAIN }], factsOf());
    assert.is(refused?.refusal.code, 'filter-failed');
    assert.is(refused?.refusal.about, 'mine');
    assert.match(refused?.refusal.message ?? '', says);
  }
  const silent = { name: 'mine', refusal: () => undefined } as unknown as Filter;
  assert.is(refusedBy([{ filter: silent, part: PLAIN }], factsOf()), null);
});

test('filters - one that says too much is cut short, so that it can be answered', () => {
  const long = 'x'.repeat(1_000_000);
  const talking: (() => unknown)[] = [
    () => ({ code: 'too-hot', message: long, about: long, short: 1 }),
    () => {
      throw new Error(long);
    },
  ];
  for (const refusal of talking) {
    const filter = { name: 'mine', refusal } as Filter;
    const { message, about = '' } = refusedBy([{ filter, part: PLAIN }], factsOf())?.refusal ?? { message: long };
    assert.is(message.length, 4_096);
    assert.ok(about.length <= 255);
  }
  const brief = { code: 'too-hot', message: 'x'.repeat(4_096), short: 1 };
  const filter: Filter = { name: 'mine', refusal: () => brief };
  assert.is(refusedBy([{ filter, part: PLAIN }], factsOf())?.refusal, brief);
});

test('filters - half a character in what a filter says, which could not be sent, is replaced', () => {
  const filter: Filter = {
    name: 'mine',
    refusal: () => ({ code: 'too-hot', message: 'hot \uD83D', about: '\uDE00', short: 1 }),
  };
  assert.equal(refusedBy([{ filter, part: PLAIN }], factsOf())?.refusal, {
    code: 'too-hot',
    message: 'hot \uFFFD',
    about: '\uFFFD',
    short: 1,
  });
  const throwing: Filter = {
    name: 'mine',
    refusal: () => {
      throw new Error('\uD83D');
    },
  };
  const refused = refusedBy([{ filter: throwing, part: PLAIN }], factsOf())?.refusal;
  assert.is(refused?.message, "filter 'mine' failed: \uFFFD");
  const whole = { code: 'too-hot', message: 'hot \u{1F600}' };
  assert.is(refusedBy([{ filter: { name: 'mine', refusal: () => whole }, part: PLAIN }], factsOf())?.refusal, whole);
});

test('filters - one that cannot say what it goes by refuses, and says so; a weigher that cannot is left out', () => {
  const wrong: [() => unknown, RegExp][] = [
    [() => new Set(['a']), /plain data/],
    [() => ({ at: new Date(0) }), /plain data/],
    [() => [1n], /plain data/],
    [() => Number.NaN, /plain data/],
    [() => ({ most: Number.POSITIVE_INFINITY }), /plain data/],
    [() => Symbol('a'), /plain data/],
    [
      () => {
        throw new Error('no such hint');
      },
      /no such hint/,
    ],
  ];
  for (const [goesBy, says] of wrong) {
    const filter: Filter = { name: 'mine', goesBy, refusal: () => null };
    const refused = refusedBy(filtersFor([filter], { spec: PLAIN }, false), factsOf());
    assert.is(refused?.refusal.code, 'filter-failed');
    assert.match(refused?.refusal.message ?? '', says);
    assert.equal(weighersFor([{ name: 'mine', multiplier: 1, goesBy, weigh: () => 1 }], { spec: PLAIN }), []);
  }
  const late: Filter<Set<string>> = { name: 'late', late: true, goesBy: () => new Set(), refusal: () => null };
  assert.is(refusedBy(filtersFor([late], { spec: PLAIN }, true), factsOf()), null, 'no ranking is told apart by it');
});

test.run();
