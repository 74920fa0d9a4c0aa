// Area: scheduler settings. What filters and weighers there are is said by name, by name and multiplier, or as functions;
// what cannot be is refused before a node starts, with the field named.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Filter, filtersFor, refusedBy } from '../../actors/scheduler/filters/filter.ts';
import { DEFAULT_WEIGHERS } from '../../actors/scheduler/weighers/defaults.ts';
import { type Weigher, weighersFor, weightOf } from '../../actors/scheduler/weighers/weigher.ts';
import { type AggregateOptions, aggregatesOf, closedTo } from '../../runtime/aggregates.ts';
import { memoryServer } from '../../runtime/bus/memory.ts';
import { startNode } from '../../runtime/node.ts';
import { type SchedulerSettings, schedulerOptionsOf } from '../../runtime/scheduler-settings.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { candidateOf, factsOf } from '../support/facts.ts';
import { failureOf } from '../support/until.ts';

const test = suite('scheduler settings');

const of = (settings: SchedulerSettings, aggregates: Readonly<Record<string, AggregateOptions>> = {}) =>
  schedulerOptionsOf(settings, aggregatesOf(aggregates));
const weighersOf = (weighers: SchedulerSettings['weighers']) =>
  (of(weighers === undefined ? {} : { weighers }).weighers ?? []).map(
    ({ name, multiplier }) => `${name} ${multiplier}`,
  );
const DEFAULTS = DEFAULT_WEIGHERS.map(({ name, multiplier }) => `${name} ${multiplier}`);

test('scheduler settings - with none, the defaults are in use and no more filters than every scheduler has', () => {
  assert.equal(weighersOf(undefined), DEFAULTS);
  assert.equal(of({}).filters, []);
  assert.equal(of({}).overrides, new Map());
});

test('scheduler settings - weighers replace the defaults, or are added to them', () => {
  function quiet() {
    return 1;
  }
  assert.equal(weighersOf(['free-VCPU', { name: 'free-CUSTOM_GOLD', multiplier: -2 }, { name: 'few-builds' }, quiet]), [
    'free-VCPU 1',
    'free-CUSTOM_GOLD -2',
    'few-builds 1',
    'quiet 1',
  ]);
  assert.equal(weighersOf(['defaults', { name: 'free-share', multiplier: -1 }, () => 0.5]), [
    'free-share -1',
    ...DEFAULTS.slice(1),
    'own-weighers-2 1',
  ]);
  assert.equal(weighersOf([{ name: 'free-share', multiplier: -1 }, 'defaults']), [
    'free-share -1',
    ...DEFAULTS.slice(1),
  ]);
  const own = { name: 'free-share', multiplier: 3, weigh: () => 0.5 };
  const { weighers: withOwn = [] } = of({ weighers: [own, 'defaults'] });
  const ownOne = withOwn.find(({ name }) => name === 'free-share');
  assert.equal([ownOne?.multiplier, ownOne?.weigh(candidateOf(), {})], [3, 0.5], 'not the default of its name');
  assert.equal(weighersOf([{ name: 'metric-heat', least: 20, most: 90, multiplier: -3 }]), ['metric-heat -3']);
  assert.equal(
    weighersOf([
      { name: 'mine', weigh: () => 1 },
      { name: 'other', multiplier: 0, weigh: () => 1 },
    ]),
    ['mine 1', 'other 0'],
  );
  assert.equal(weighersOf([]), []);
});

test('scheduler settings - chance picks among all hosts when it is the only weigher, and a multiplier of 0 ends that', () => {
  assert.is(of({ weighers: ['random'] }).pickAmong, Number.POSITIVE_INFINITY);
  assert.is(of({ weighers: ['random'], pickAmong: 7 }).pickAmong, 7);
  assert.is(of({ weighers: [{ name: 'random', multiplier: 0 }] }).pickAmong, undefined);
  assert.is(of({ weighers: ['defaults', { name: 'random', multiplier: 0 }] }).pickAmong, undefined);
  assert.is(of({ weighers: ['defaults', { name: 'random', weigh: () => 1 }] }).pickAmong, undefined);
});

test('scheduler settings - a weigher or filter may be an object of a class', () => {
  class Loaded implements Weigher, Filter {
    readonly name = 'loaded';
    readonly multiplier = 2;
    readonly #value = 0.25;
    readonly ownField = 'for itself';
    goesBy() {
      return this.#value;
    }
    weigh() {
      return this.#value;
    }
    refusal() {
      return this.#value > 1 ? { code: 'no', message: 'no' } : null;
    }
  }
  const { filters = [], weighers = [] } = of({ filters: [new Loaded()], weighers: [new Loaded()] });
  const request = { spec: { groups: [], groupPolicy: 'none' as const } };
  assert.equal(
    filtersFor(filters, request, false).map(({ part }) => part),
    [0.25],
  );
  assert.is(weightOf(weighersFor(weighers, request), candidateOf(), new Map()), 0.5);
});

test('scheduler settings - functions of ones own get the host or candidate, and the spec', () => {
  const seen: unknown[] = [];
  const { filters = [], weighers = [] } = of({
    filters: [
      (host, spec) => {
        seen.push(host.host, spec);
        return null;
      },
    ],
    weighers: [
      (candidate, spec) => {
        seen.push(candidate.host.host, spec);
        return 0.5;
      },
    ],
  });
  assert.is(filters[0]?.name, 'own-filters-0');
  assert.is(filters[0]?.refusal(factsOf({ host: 'h7' }), 'the spec'), null);
  assert.is(weighers[0]?.weigh(candidateOf({ host: 'h8' }), 'the spec'), 0.5);
  assert.equal(seen, ['h7', 'the spec', 'h8', 'the spec']);
});

test('scheduler settings - limits, general and of aggregates; those of aggregates need no filter to be named', () => {
  const refused = (settings: SchedulerSettings, aggregates: Readonly<Record<string, AggregateOptions>>, told: object) =>
    (of(settings, aggregates).filters ?? []).map(
      (filter) => refusedBy([{ filter, part: {} }], factsOf(told))?.refusal.code,
    );
  assert.equal(
    refused({ filters: ['instance-limit', { name: 'build-limit', most: 1 }] }, {}, { instances: 50, builds: 1 }),
    ['too-many-instances', 'too-many-builds'],
  );
  const small = { small: { mostInstances: 2, mostBuilds: 0 } };
  assert.equal(refused({}, small, { instances: 999, builds: 9 }), [undefined, undefined]);
  assert.equal(refused({}, small, { instances: 2, aggregates: ['small'] }), ['too-many-instances', 'too-many-builds']);
  assert.is(of({ filters: ['instance-limit'] }, small).filters?.length, 2);
});

test('scheduler settings - aggregates: zones, who is kept out, multipliers', () => {
  const aggregates = aggregatesOf({
    a1: { zone: 'east' },
    a2: { zone: 'east', projects: ['red', 'blue'] },
    a3: { projects: ['red'], multipliers: { 'free-share': -1 } },
  });
  assert.equal([...aggregates.zones], [['east', ['a1', 'a2']]]);
  assert.equal(
    ['red', 'blue', undefined].map((project) => closedTo(aggregates, project, new Set()).map(({ id }) => id)),
    [[], ['a3'], ['a2', 'a3']],
  );
  assert.is(schedulerOptionsOf({}, aggregates).overrides?.get('a3')?.get('free-share'), -1);
});

const BAD: readonly (readonly [object, string, RegExp])[] = [
  [{ scheduler: { filters: ['no-such'] } }, 'scheduler.filters.0', /no filter; filters are instance-limit/],
  [{ scheduler: { filters: 'instance-limit' } }, 'scheduler.filters', /must be a list/],
  [{ scheduler: { filters: [7] } }, 'scheduler.filters.0', /must be a name/],
  [{ scheduler: { filters: [null] } }, 'scheduler.filters.0', /must be a name/],
  [{ scheduler: { filters: [{ name: 'instance-limit', most: -1 }] } }, 'scheduler.filters.0.most', /0 or more/],
  [{ scheduler: { filters: [{ name: 'instance-limit', most: '9' }] } }, 'scheduler.filters.0.most', /whole number/],
  [{ scheduler: { filters: ['build-limit', 'build-limit'] } }, 'scheduler.filters.1', /in use already/],
  [{ scheduler: { filters: [{ name: 'cells', refusal: () => null }] } }, 'scheduler.filters.0', /in use already/],
  [{ scheduler: { filters: [{ name: 'mine', refusal: 'no' }] } }, 'scheduler.filters.0.refusal', /function/],
  [{ scheduler: { filters: [{ name: 'mine', refusal() {}, goesBy: 1 }] } }, 'scheduler.filters.0.goesBy', /function/],
  [
    { scheduler: { filters: [{ name: 'mine', refusal() {}, goesby: 1 }] } },
    'scheduler.filters.0.goesby',
    /no field of it; there are name, refusal, goesBy/,
  ],
  [
    { scheduler: { filters: [{ name: 'mine', refusal() {}, changesAt: 9 }] } },
    'scheduler.filters.0.changesAt',
    /function/,
  ],
  [
    { scheduler: { filters: [{ name: 'mine', refusal() {}, mostInstances: 9 }] } },
    'scheduler.filters.0.mostInstances',
    /function/,
  ],
  [{ scheduler: { filters: [{ name: 'mine', refusal() {}, late: 'yes' }] } }, 'scheduler.filters.0.late', /boolean/],
  [
    { scheduler: { weighers: [{ name: 'mine', weigh() {}, goesby() {} }] } },
    'scheduler.weighers.0.goesby',
    /no field of it; there are name, multiplier, weigh/,
  ],
  [
    { scheduler: { filters: [{ name: 'mine', refuse() {}, late: true }] } },
    'scheduler.filters.0.refusal',
    /must be there, .*; there are refuse$/,
  ],
  [
    {
      scheduler: {
        filters: [
          new (class {
            name = 'mine';
            refuse() {}
          })(),
        ],
      },
    },
    'scheduler.filters.0.refusal',
    /must be there, .*; there are refuse$/,
  ],
  [
    { scheduler: { filters: [{ name: 'instance-limit', most: () => 3 }] } },
    'scheduler.filters.0.most',
    /must be a whole number/,
  ],
  [
    { scheduler: { weighers: [{ name: 'mine', weight: () => 1 }] } },
    'scheduler.weighers.0.weigh',
    /must be there, .*; there are weight$/,
  ],
  [
    { scheduler: { filters: [{ name: 'instance-limit', refusal() {} }] }, aggregates: { a: { mostInstances: 2 } } },
    'scheduler.filters.0.name',
    /the name of a built-in filter$/,
  ],
  [{ scheduler: { weighers: [{ name: 'mine', weigh: undefined }] } }, 'scheduler.weighers.0.weigh', /function/],
  [
    { scheduler: { weighers: [{ name: 'mine', weigh() {}, ignoresStats: 1 }] } },
    'scheduler.weighers.0.ignoresStats',
    /boolean/,
  ],
  [{ scheduler: { filters: [{ name: 'my filter', refusal() {} }] } }, 'scheduler.filters.0.name', /letters, digits/],
  [{ scheduler: { filters: Array.from({ length: 65 }, () => () => null) } }, 'scheduler.filters', /more than 64/],
  [{ scheduler: { weighers: ['defaults', 'random'] } }, 'scheduler.weighers.1', /must be the only weigher/],
  [
    { scheduler: { weighers: [{ name: 'random', multiplier: 2 }, () => 1] } },
    'scheduler.weighers.0',
    /must be the only weigher/,
  ],
  [{ scheduler: { weighers: ['ram'] } }, 'scheduler.weighers.0', /no weigher; weighers are free-share, .*free-</],
  [{ scheduler: { weighers: ['free-CORES'] } }, 'scheduler.weighers.0', /no weigher/],
  [{ scheduler: { weighers: ['free-VCPU', 'free-VCPU'] } }, 'scheduler.weighers.1', /named twice/],
  [{ scheduler: { weighers: ['defaults', 'defaults'] } }, 'scheduler.weighers.1', /'defaults', .* named twice/],
  [
    { scheduler: { weighers: [{ name: 'free-VCPU', multiplier: Number.NaN }] } },
    'scheduler.weighers.0.multiplier',
    /number/,
  ],
  [{ scheduler: { weighers: [{ name: 'free-VCPU', multiplier: '2' }] } }, 'scheduler.weighers.0.multiplier', /number/],
  [
    { scheduler: { weighers: [{ name: 'free-VCPU', multiplier: 1e300 }] } },
    'scheduler.weighers.0.multiplier',
    /number/,
  ],
  [{ scheduler: { weighers: ['defaults', { name: 'mine', weigh: 1 }] } }, 'scheduler.weighers.1.weigh', /function/],
  [{ scheduler: { filters: [{ name: 'instance-limit', mots: 9 }] } }, 'scheduler.filters.0.mots', /no field of it/],
  [
    { scheduler: { weighers: [{ name: 'free-VCPU', multiplyer: 9 }] } },
    'scheduler.weighers.0.multiplyer',
    /multiplier/,
  ],
  [{ scheduler: { weighers: [{ name: 'free-VCPU', most: 9 }] } }, 'scheduler.weighers.0.most', /no field of it/],
  [
    { scheduler: { weighers: [{ name: 'metric-', least: 0, most: 1 }] } },
    'scheduler.weighers.0',
    /no driver measures ''/,
  ],
  [
    { scheduler: { weighers: [{ name: 'metric-LOAD', least: 0, most: 1 }] } },
    'scheduler.weighers.0',
    /measures 'LOAD'/,
  ],
  [{ scheduler: { weighers: ['metric-load'] } }, 'scheduler.weighers.0.least', /end of the scale/],
  [{ scheduler: { weighers: [{ name: 'metric-load', least: 1, most: 1 }] } }, 'scheduler.weighers.0.most', /more than/],
  [{ scheduler: { pickAmong: 0 } }, 'scheduler.pickAmong', /1 to 100/],
  [{ scheduler: { pickAmong: 1.5 } }, 'scheduler.pickAmong', /1 to 100/],
  [{ scheduler: { pickAmong: 101 } }, 'scheduler.pickAmong', /1 to 100/],
  [{ aggregates: { 'a b': {} } }, 'aggregates.a b', /unknown field/],
  [{ aggregates: { a: { zone: 'East' } } }, 'aggregates.a.zone', /lower-case/],
  [{ aggregates: { a: { projects: [] } } }, 'aggregates.a.projects', /fewer/],
  [{ aggregates: { a: { zones: ['x'] } } }, 'aggregates.a.zones', /unknown field/],
  [
    { aggregates: { a: { multipliers: { nobody: 1 } } } },
    'aggregates.a.multipliers.nobody',
    /no weigher that is in use/,
  ],
  [{ aggregates: { a: { multipliers: { 'free-share': 'x' } } } }, 'aggregates.a.multipliers.free-share', /number/],
  [{ defaultZone: 'Nova' }, 'defaultZone', /lower-case/],
  [{ defaultZone: 7 }, 'defaultZone', /text|string/],
  [{ defaultZone: 'east', aggregates: { a: { zone: 'east' } } }, 'defaultZone', /zone of aggregates/],
  [{ aggregates: { a: { mostBuilds: -1 } } }, 'aggregates.a.mostBuilds', /at least 0/],
];

for (const [options, field, says] of BAD) {
  test(`scheduler settings - refused, with the field named: ${field} ${says.source}`, async () => {
    const bus = memoryServer({ clock: systemClock(), onError() {} }).connect();
    const failure = await failureOf(() => startNode({ roles: ['scheduler'], bus, ...options }));
    assert.is(failure.code, 'bad-option', failure.message);
    assert.is((failure as unknown as { field: string }).field, field);
    assert.match(failure.message, says);
    await bus.close();
  });
}

test('scheduler settings - a node without a scheduler is told the same of aggregates, and need not know of weighers', async () => {
  const bus = memoryServer({ clock: systemClock(), onError() {} }).connect();
  const aggregates = { a: { zone: 'east', multipliers: { mine: 2 } } };
  const conductor = await startNode({ name: 'conductor', roles: ['conductor'], bus, aggregates });
  const scheduler = await startNode({
    name: 'scheduler',
    roles: ['scheduler'],
    bus,
    aggregates,
    scheduler: { weighers: ['defaults', { name: 'mine', weigh: () => 1 }] },
  });
  await scheduler.stop();
  await conductor.stop();
  await bus.close();
});

test.run();
