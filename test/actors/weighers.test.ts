// Area: weighers. Each prefers what it should; whatever a host is, each says a number from 0 to 1, and what it says of one
// host does not depend on the others; multipliers may be others on an aggregate; and one failed build is not the end.

import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { afterFailure, afterSuccess, FAILURE_HALF_LIFE_MS, fadesAt, recalled } from '../../actors/failure-memory.ts';
import type { RequestSpec } from '../../actors/messages/common.ts';
import { adjustUse, makeProvider, type Provider } from '../../actors/placement/providers.ts';
import { buildFailures } from '../../actors/scheduler/weighers/build-failures.ts';
import { fewBuilds, fewInstances } from '../../actors/scheduler/weighers/busyness.ts';
import { DEFAULT_WEIGHERS } from '../../actors/scheduler/weighers/defaults.ts';
import { free } from '../../actors/scheduler/weighers/free.ts';
import { freeShare } from '../../actors/scheduler/weighers/free-share.ts';
import { metric } from '../../actors/scheduler/weighers/metric.ts';
import { packDevices } from '../../actors/scheduler/weighers/pack-devices.ts';
import { preferredCell } from '../../actors/scheduler/weighers/preferred-cell.ts';
import { spareDevices } from '../../actors/scheduler/weighers/spare-devices.ts';
import {
  type AskedWeigher,
  type Candidate,
  contributionOf,
  multiplierFor,
  preferenceOf,
  valueBy,
  type Weigher,
  weighersFor,
  weightOf,
} from '../../actors/scheduler/weighers/weigher.ts';
import { candidateOf, factsOf, type HostWords, inventory } from '../support/facts.ts';

const test = suite('weighers');

const SPEC: RequestSpec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' };
const ASKS = { VCPU: 1 };
const ALL: readonly Weigher[] = [
  ...DEFAULT_WEIGHERS,
  fewInstances,
  fewBuilds,
  free('VCPU'),
  free('MEMORY_MB'),
  metric('load', { least: 0, most: 10 }),
  metric('heat', { least: 20, most: 90 }, -1),
];

const value = (weigher: Weigher, words: HostWords, now = 0, asks: Readonly<Record<string, number>> = ASKS) =>
  valueBy(weigher, candidateOf(words, asks, now), ['c1']);

/** That the first host is preferred to the second. */
function prefers(weigher: Weigher, one: HostWords, other: HostWords, now = 0): void {
  const [better, worse] = [value(weigher, one, now), value(weigher, other, now)];
  assert.ok(better > worse, `${weigher.name}: ${better} is not above ${worse}`);
}

const hosts: fc.Arbitrary<HostWords> = fc.record({
  cell: fc.constantFrom('c1', 'c2'),
  has: fc.record({ VCPU: fc.integer({ min: 1, max: 64 }), MEMORY_MB: fc.integer({ min: 1, max: 100_000 }) }),
  used: fc.record({ VCPU: fc.integer({ min: 0, max: 100 }), MEMORY_MB: fc.integer({ min: 0, max: 200_000 }) }),
  instances: fc.nat(5_000),
  builds: fc.nat(5_000),
  metrics: fc.dictionary(fc.constantFrom('load', 'heat'), fc.double({ noNaN: false })),
  failures: fc.record({
    weight: fc.double({ min: 0, max: 1e6, noNaN: true }),
    at: fc.integer({ min: -1e12, max: 1e12 }),
  }),
});

test('weighers - whatever a host is, each says a number from 0 to 1', () => {
  fc.assert(
    fc.property(hosts, fc.integer({ min: 0, max: 1e12 }), (words, now) => {
      for (const weigher of ALL) {
        const said = value(weigher, words, now);
        assert.ok(said >= 0 && said <= 1, `${weigher.name} says ${said}`);
      }
    }),
    { numRuns: 300 },
  );
});

test('weighers - what is said of a host is the same whoever else there is, and whenever it is said again', () => {
  fc.assert(
    fc.property(fc.array(hosts, { minLength: 2, maxLength: 6 }), (several) => {
      const asked = weighersFor(ALL, { spec: SPEC, where: { preferCells: ['c1'] } });
      const weights = () => several.map((words) => weightOf(asked, candidateOf(words, ASKS), new Map()));
      const before = weights();
      several.reverse();
      assert.equal(weights().reverse(), before);
    }),
    { numRuns: 100 },
  );
});

test('weighers - the weight is the sum of what each says, times its multiplier', () => {
  fc.assert(
    fc.property(
      hosts,
      fc.array(fc.integer({ min: -9, max: 9 }), { minLength: ALL.length, maxLength: ALL.length }),
      (words, times) => {
        const weighers = ALL.map((weigher, n) => ({ ...weigher, multiplier: times[n] as number }));
        const asked = weighersFor(weighers, { spec: SPEC, where: { preferCells: ['c1'] } });
        const summed = asked.reduce(
          (sum, { weigher, part }) => sum + weigher.multiplier * valueBy(weigher, candidateOf(words, ASKS), part),
          0,
        );
        assert.ok(Math.abs(weightOf(asked, candidateOf(words, ASKS), new Map()) - summed) < 1e-9);
      },
    ),
    { numRuns: 100 },
  );
});

test('weighers - what one of a deployment says is held within the scale; what is no number is the worst', () => {
  const says = (weigh: () => number) => value({ name: 'mine', multiplier: 1, weigh }, {});
  assert.equal([says(() => 7), says(() => -7), says(() => 0.25)], [1, 0, 0.25]);
  assert.equal([says(() => Number.NaN), says(() => Number.POSITIVE_INFINITY)], [0, 0]);
  assert.is(says(() => { throw new Error('no'); }), 0); // biome-ignore format: one case
  assert.is(says((() => 'high') as never), 0);
  assert.is(says((() => undefined) as never), 0);
});

test('weighers - what is no number is the worst by the multiplier that counts, and is told as it counts', () => {
  const overrides = new Map([
    ['turned', new Map([['mine', -3]])],
    ['off', new Map([['mine', 0]])],
  ]);
  const asked = (weigh: () => number, multiplier: number): AskedWeigher => ({
    weigher: { name: 'mine', multiplier, weigh },
    part: SPEC,
  });
  const failing: readonly (() => number)[] = [
    () => Number.NaN,
    () => 1 / 0,
    () => -1 / 0,
    () => { throw new Error('no'); }, // biome-ignore format: one case
    (() => 'high') as never,
    (() => undefined) as never,
  ];
  for (const weigh of failing) {
    for (const [multiplier, aggregates, worst] of [
      [2, [], 0],
      [-2, [], -2],
      [2, ['turned'], -3],
      [-2, ['off'], 0],
    ] as const) {
      const candidate = candidateOf({ aggregates }, ASKS);
      assert.is(weightOf([asked(weigh, multiplier)], candidate, overrides) + 0, worst);
      assert.is(contributionOf(asked(weigh, multiplier), candidate, overrides) + 0, worst);
    }
  }
});

test('weighers - free share: by the scarcest of the requested classes', () => {
  const has = { VCPU: 8, MEMORY_MB: 100 };
  const both = { VCPU: 1, MEMORY_MB: 1 };
  const [even, lopsided] = [
    { VCPU: 4, MEMORY_MB: 50 },
    { VCPU: 0, MEMORY_MB: 90 },
  ];
  assert.ok(value(freeShare, { has, used: even }, 0, both) > value(freeShare, { has, used: lopsided }, 0, both));
});

interface Part {
  readonly id: string;
  readonly has?: Readonly<Record<string, number>>;
  readonly used?: Readonly<Record<string, number>>;
  readonly traits?: readonly string[];
  /** Default: the first of all. */
  readonly below?: string;
}

/** A host in parts, the first of them its root, that would give what is asked of each. */
function inParts(parts: readonly Part[], asks: Readonly<Record<string, Readonly<Record<string, number>>>>): Candidate {
  const root = (parts[0] as Part).id;
  const tree = parts.map(({ id, has = {}, used = {}, traits = [], below = root }) => {
    const inventories = Object.fromEntries(Object.entries(has).map(([name, total]) => [name, inventory(total)]));
    const parent = id === root ? null : below;
    const one = makeProvider({ id, name: id, parent, inventories, traits: [...traits], aggregates: [] }, root);
    adjustUse(one, used, 1);
    return one;
  });
  const allocations = Object.entries(asks).map(([provider, resources], n) => ({ provider, group: `g${n}`, resources }));
  return { host: factsOf(), tree, allocations };
}

const ofParts = (weigher: Weigher, parts: readonly Part[], asks: Parameters<typeof inParts>[1]) =>
  valueBy(weigher, inParts(parts, asks), SPEC);

const node = (id: string, used = 0): Part => ({ id, has: { VCPU: 8 }, used: { VCPU: used }, traits: ['HW_NUMA_ROOT'] });
const gpu = (id: string, used = 0, below = 'h'): Part => ({ id, has: { VGPU: 4 }, used: { VGPU: used }, below });

test('weighers - free share: of what NUMA nodes serve, all nodes of the host count', () => {
  const asks = { n0: { VCPU: 2 } };
  assert.is(ofParts(freeShare, [{ id: 'h' }, node('n0'), node('n1')], asks), 14 / 16);
  assert.is(ofParts(freeShare, [{ id: 'h' }, node('n0', 2), node('n1', 4)], asks), 8 / 16);
  const disk = { id: 'h', has: { DISK_GB: 100 }, used: { DISK_GB: 70 } };
  assert.is(ofParts(freeShare, [disk, node('n0'), node('n1')], { h: { DISK_GB: 20 }, ...asks }), 10 / 100);
  assert.is(ofParts(freeShare, [disk, node('n0'), node('n1')], { n0: { VCPU: 4 }, n1: { VCPU: 8 } }), 4 / 16);
});

test('weighers - spare devices: a NUMA node is no device, a GPU below it is', () => {
  const numa = [{ id: 'h' }, node('n0'), { id: 'n1', has: { MEMORY_MB: 8 } }, { id: 'n2', has: { PCPU: 8 } }];
  const withGpu = [...numa, gpu('g0', 0, 'n0')];
  assert.is(ofParts(spareDevices, numa, { n0: { VCPU: 1 } }), 1);
  assert.is(ofParts(spareDevices, withGpu, { n0: { VCPU: 1 } }), 0);
  assert.is(ofParts(spareDevices, withGpu, { n0: { VCPU: 1 }, g0: { VGPU: 1 } }), 1);
  const bare = { id: 'n3', traits: ['HW_NUMA_ROOT'] };
  assert.is(ofParts(spareDevices, [{ id: 'h', has: { VCPU: 8 } }, bare], { h: { VCPU: 1 } }), 1);
});

test('weighers - a part of the machine is no device, whether its processors, its memory or its trait tells it', () => {
  const asks = { h: { DISK_GB: 1 } };
  const machine = { id: 'h', has: { DISK_GB: 100 } };
  for (const part of [
    { has: { VCPU: 8 } },
    { has: { PCPU: 8 } },
    { has: { MEMORY_MB: 8 } },
    { traits: ['HW_NUMA_ROOT'], has: { CUSTOM_PAGES: 8 } },
    {},
  ]) {
    assert.is(ofParts(spareDevices, [machine, { id: 'n0', ...part }], asks), 1, JSON.stringify(part));
  }
  assert.is(ofParts(spareDevices, [machine, { id: 'g0', has: { VGPU: 1 } }], asks), 0);
});

test('weighers - pack devices: a class that several devices give counts once beside another', () => {
  const port = { id: 'p0', has: { NET_BW_EGR_KILOBIT_PER_SEC: 10_000 } };
  const asks = { g0: { VGPU: 1 }, g1: { VGPU: 1 }, p0: { NET_BW_EGR_KILOBIT_PER_SEC: 5_000 } };
  assert.is(ofParts(packDevices, [{ id: 'h' }, gpu('g0', 3), gpu('g1', 3), port], asks), (1 + 0.5) / 2);
});

test('weighers - pack devices: only devices count, each class as a share of its own', () => {
  const asks = { n0: { VCPU: 1 }, g0: { VGPU: 1 } };
  assert.is(ofParts(packDevices, [{ id: 'h' }, node('n0', 7), gpu('g0', 0), gpu('g1', 2)], asks), 3 / 8);
  assert.is(ofParts(packDevices, [{ id: 'h' }, node('n0', 0), gpu('g0', 2), gpu('g1', 2)], asks), 5 / 8);
  const port = { id: 'p0', has: { NET_BW_EGR_KILOBIT_PER_SEC: 10_000 } };
  const wide = [{ id: 'h' }, node('n0'), gpu('g0', 3), port];
  assert.is(ofParts(packDevices, wide, asks), 1, 'of ports, which are not asked for, nothing is said');
  const both = { ...asks, p0: { NET_BW_EGR_KILOBIT_PER_SEC: 5_000 } };
  assert.is(ofParts(packDevices, wide, both), 0.75);
  assert.is(ofParts(packDevices, wide, { n0: { VCPU: 1 } }), 0);
});

test('weighers - free: by one class, as a part of what there is; packs with a negative multiplier', () => {
  const memory = free('MEMORY_MB');
  const host = (MEMORY_MB: number, used: number) => ({
    has: { VCPU: 8, MEMORY_MB },
    used: { VCPU: 0, MEMORY_MB: used },
  });
  prefers(memory, host(100, 10), host(100, 50));
  prefers(memory, host(100, 10), host(1_000, 500));
  assert.is(value(memory, { has: { VCPU: 8 } }), 0, 'a host without the class has nothing of it free');
  assert.is(value(memory, host(100, 10), 0, { MEMORY_MB: 15 }), 0.75, 'as it would be after the claim');
  const pack = { ...memory, multiplier: -1 };
  const weight = (words: HostWords) => weightOf([{ weigher: pack, part: SPEC }], candidateOf(words, ASKS), new Map());
  assert.ok(weight(host(100, 50)) > weight(host(100, 10)));
});

test('weighers - few instances, few builds', () => {
  prefers(fewInstances, { instances: 1, builds: 9 }, { instances: 2, builds: 0 });
  prefers(fewBuilds, { builds: 1, instances: 9 }, { builds: 2, instances: 0 });
});

test('weighers - a metric: from the least to the most of its scale; who does not measure it is the worse end', () => {
  const load = metric('load', { least: 0, most: 10 });
  assert.is(value(load, { metrics: { load: 2.5 } }), 0.25);
  assert.is(value(load, { metrics: { load: 99 } }), 1);
  assert.is(value(load, {}), 0);
  const cool = metric('heat', { least: 20, most: 90 }, -1);
  assert.is(value(cool, { metrics: { heat: 55 } }), 0.5);
  const weight = (words: HostWords) => weightOf([{ weigher: cool, part: SPEC }], candidateOf(words), new Map());
  assert.ok(weight({ metrics: { heat: 30 } }) > weight({ metrics: { heat: 60 } }));
  assert.ok(weight({ metrics: { heat: 89 } }) > weight({}));
  const turned = new Map([['cold', new Map([['metric-load', -5]])]]);
  const asked = [{ weigher: load, part: SPEC }];
  const there = (words: HostWords) => weightOf(asked, candidateOf({ ...words, aggregates: ['cold'] }), turned);
  assert.ok(there({ metrics: { load: 9 } }) > there({}), 'also where an aggregate turns the weigher round');
});

test('weighers - preferred cells outweigh all the others together, and concern only who prefers any', () => {
  const asked = weighersFor(ALL, { spec: SPEC, where: { preferCells: ['c1'] } });
  const weight = (words: HostWords) => weightOf(asked, candidateOf(words, ASKS), new Map());
  const worst = { cell: 'c1', used: { VCPU: 7 }, instances: 999, builds: 999, failures: { weight: 999, at: 0 } };
  assert.ok(weight(worst) > weight({ cell: 'c2' }));
  assert.not(weighersFor([preferredCell], { spec: SPEC }).length);
});

test('weighers - on an aggregate other multipliers may count, and the lowest of several does', () => {
  const overrides = new Map([
    ['packed', new Map([['free-VCPU', -1]])],
    ['flat', new Map([['free-VCPU', 0]])],
    ['other', new Map([['few-builds', 7]])],
  ]);
  const multiplier = (...aggregates: string[]) => multiplierFor(free('VCPU'), factsOf({ aggregates }), overrides);
  assert.equal([multiplier(), multiplier('other'), multiplier('unknown')], [1, 1, 1]);
  assert.equal([multiplier('flat'), multiplier('packed'), multiplier('flat', 'packed')], [0, -1, -1]);
  const asked = [{ weigher: free('VCPU'), part: SPEC }];
  const weight = (words: HostWords) => weightOf(asked, candidateOf(words, ASKS), overrides);
  assert.ok(weight({ used: { VCPU: 1 } }) > weight({ used: { VCPU: 5 } }));
  assert.ok(
    weight({ used: { VCPU: 1 }, aggregates: ['packed'] }) < weight({ used: { VCPU: 5 }, aggregates: ['packed'] }),
  );
});

test('weighers - the first that has a preference among devices decides, unless it is switched off', () => {
  const preferring = (said: unknown, multiplier: number) =>
    ({ name: 'mine', multiplier, weigh: () => 1, prefers: () => said }) as unknown as Weigher;
  const { host, tree, allocations } = candidateOf();
  const asked = (...weighers: readonly Weigher[]) =>
    preferenceOf(weighers)?.({ tree, allocations, spec: SPEC }, host.tree[0] as Provider);
  assert.is(asked(freeShare, preferring(3, 1), preferring(4, 1)), 3);
  assert.is(asked(preferring(3, 0), preferring(4, -1)), 4);
  assert.is(asked(freeShare, preferring(3, 0)), undefined);
  for (const none of [Number.NaN, 'high', undefined]) assert.is(asked(preferring(none, 1)), -Number.MAX_VALUE);
});

test('weighers - one failed build weighs less than the room of an empty host; many weigh more', () => {
  const asked = weighersFor([freeShare, buildFailures], { spec: SPEC });
  const weight = (words: HostWords) => weightOf(asked, candidateOf(words, ASKS), new Map());
  const full = { used: { VCPU: 6 } };
  assert.ok(weight({ failures: { weight: 1, at: 0 } }) > weight(full), 'one failure elsewhere does not dominate');
  assert.ok(weight({ failures: { weight: 50, at: 0 } }) < weight(full), 'a host that always fails is the last resort');
  prefers(buildFailures, {}, { failures: { weight: 1, at: 0 } });
  prefers(buildFailures, { failures: { weight: 1, at: 0 } }, { failures: { weight: 2, at: 0 } });
});

test('weighers - failures fade with time and are forgotten; a success halves them', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 3 * FAILURE_HALF_LIFE_MS })), { maxLength: 30 }),
      (history) => {
        let memory: { weight: number; at: number } | undefined;
        let now = 1_000;
        let failed = 0;
        for (const [isGood, after] of history) {
          now += after;
          const before = recalled(memory, now);
          memory = isGood ? afterSuccess(memory, now) : afterFailure(memory, now);
          if (!isGood) failed += 1;
          const left = recalled(memory, now);
          assert.ok(isGood ? left <= before / 2 : left === before + 1);
          assert.ok(left <= failed, 'no more is remembered than there was');
        }
        // It fades at the times that it says, never grows, and is gone in the end.
        for (let steps = 0, at = fadesAt(memory, now); at !== null; at = fadesAt(memory, at)) {
          assert.ok(at > now && recalled(memory, at) < recalled(memory, now));
          assert.is(recalled(memory, at - 1), recalled(memory, now), 'nothing changes in between');
          now = at;
          steps += 1;
          assert.ok(steps < 100);
        }
        assert.is(recalled(memory, now), 0);
      },
    ),
    { numRuns: 200 },
  );
});

test('weighers - a clock that is behind sees a failure as fresh, not as a stronger one', () => {
  assert.is(recalled({ weight: 2, at: 9_000 }, 5_000), 2);
});

test.run();
