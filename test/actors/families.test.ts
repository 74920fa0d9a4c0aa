// Area: ranking, requests that differ in amounts. What is told by numbers alone is what a look at every host tells, to the
// last digit, whatever the fleet and however it changes.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { RequestSpec } from '../../actors/messages/common.ts';
import type { ProvidersChanged } from '../../actors/messages/placement.ts';
import type { HostState } from '../../actors/messages/scheduler.ts';
import type { Filter } from '../../actors/scheduler/filters/filter.ts';
import { instanceLimit } from '../../actors/scheduler/filters/limits.ts';
import { best, bestOfAll, bestOfCell } from '../../actors/scheduler/picking.ts';
import { type Box, slotsIn } from '../../actors/scheduler/ranking/boxes.ts';
import { KIND } from '../../actors/scheduler/ranking/family-hosts.ts';
import {
  emptyRankings,
  isRanked,
  type Rankings,
  shapeOf,
  statsMatter,
} from '../../actors/scheduler/ranking/ranking.ts';
import { isShardSilent, noteShard } from '../../actors/scheduler/view/silence.ts';
import { emptyView, learnChanges, learnProvider, learnUsage, type View } from '../../actors/scheduler/view/view.ts';
import { forgetHost, learnHost } from '../../actors/scheduler/view/view-hosts.ts';
import { fewInstances } from '../../actors/scheduler/weighers/busyness.ts';
import { DEFAULT_WEIGHERS } from '../../actors/scheduler/weighers/defaults.ts';
import { free } from '../../actors/scheduler/weighers/free.ts';
import { freeShare } from '../../actors/scheduler/weighers/free-share.ts';
import type { Weigher } from '../../actors/scheduler/weighers/weigher.ts';
import { seededRandom } from '../../runtime/random.ts';
import { passTo, tellView, viewOf } from '../support/facts.ts';
import { randomFleet } from '../support/fleets.ts';
import { NOBODY, specOf } from '../support/ranking.ts';

const test = suite('ranking - families');

/** Counts for nothing; but as it might look at what is taken, no family is made. */
const MIGHT_LOOK: Weigher = { name: 'might-look', multiplier: 0, weigh: () => 1 };

const sizeOf = (cpus: number, memory: number): RequestSpec => ({
  groups: [{ name: '', resources: { VCPU: cpus, MEMORY_MB: memory } }],
  groupPolicy: 'none',
});

/** What a NUMA node has of its host. */
const PART = { total: 8, reserved: 0, min_unit: 1, max_unit: 8, step_size: 1, allocation_ratio: 1 };

/** The same request for less of everything. */
const less = (spec: RequestSpec, by: number): RequestSpec => ({
  ...spec,
  groups: spec.groups.map((group) => {
    const resources = Object.entries(group.resources).map(([one, amount]) => [one, Math.max(1, amount - by)]);
    return { ...group, resources: Object.fromEntries(resources) };
  }),
});

const toldOf = (rankings: Rankings, view: View, spec: RequestSpec) => {
  const shape = shapeOf({ rankings, view }, { spec });
  const ranked = bestOfAll({ rankings, view }, { spec }, 1_000);
  return {
    size: [shape.current.size, shape.refusals.hosts],
    ranked: ranked.map(({ root, cell, host, weight }) => [root, cell, host, weight]),
    roots: [...shape.current.keys()].sort(),
    counted: shape.refusals.counted({ lacksMore: () => false, isKept: false }),
  };
};

const kindsOf = (rankings: Rankings, view: View, spec: RequestSpec): number[] => {
  const { member, slots } = shapeOf({ rankings, view }, { spec });
  return member === null ? [] : slots.all.map((slot) => member.known.hosts.kindOf(slot));
};

test('families - hosts are ranked and refused as by a look at each, after whatever changes', () => {
  let byNumbers = 0;
  let refusedByFilter = 0;
  let unmet = 0;
  let others = 0;
  let halfRanked = 0;
  for (let seed = 0; seed < 40; seed += 1) {
    const fleet = randomFleet(`family ${seed}`, 60);
    const { view } = fleet;
    const random = seededRandom(seed);
    for (const [n, inventories] of [
      [5, { VCPU: PART }],
      [6, { MEMORY_MB: PART }],
      [10, { VCPU: PART, MEMORY_MB: PART }],
    ] as const) {
      const [root, id] = [`p${n}`, `p${n}-numa`];
      const spec = { id, name: `h${n}_numa`, parent: root, inventories, traits: [], aggregates: [] };
      learnProvider(view, { ...spec, root, generation: 1, used: {} });
    }
    const weighers = [
      ...DEFAULT_WEIGHERS,
      ...(seed % 3 === 0 ? [{ ...free('MEMORY_MB'), multiplier: -2 }] : []),
      ...(seed % 4 === 0 ? [fewInstances] : []),
    ];
    const filters: Filter[] = seed % 2 === 0 ? [instanceLimit(3)] : [];
    const overrides = new Map([['rack-1', new Map([['free-share', -0.3]])]]);
    const options = { filters, overrides, maxShapes: 6 };
    const [some, none] = [weighers, [...weighers, MIGHT_LOOK]].map((all) => emptyRankings(all, 's', options)) as [
      Rankings,
      Rankings,
    ];
    view.statsMatter = statsMatter(some);
    const specs = Array.from({ length: 3 }, () => fleet.spec()).flatMap((spec) => [spec, less(spec, 1), less(spec, 3)]);
    for (let round = 0; round < 30; round += 1) {
      for (let change = random.integer(0, 4); change > 0; change -= 1) fleet.change();
      if (round % 7 === 3) {
        const failures = { weight: random.integer(1, 4), at: view.now };
        const [host, cell] = ['h7', 'c1'];
        learnHost(view, cell, { host, provider: 'p7', state: 'up', failures, stats: { instances: 2, builds: 1 } });
      }
      if (round % 5 === 4) passTo(view, view.now + 60_000);
      if (round === 20) forgetHost(view, 'c0', 'p3');
      // Hosts change while they are ranked, some at a time.
      const begun = specs[random.integer(0, specs.length - 1)] as RequestSpec;
      const isTold = random.integer(0, 3) === 0;
      if (!isRanked({ rankings: some, view }, { spec: begun }, random.integer(0, 25), isTold)) halfRanked += 1;
      const spec = specs[random.integer(0, specs.length - 1)] as RequestSpec;
      assert.equal(toldOf(some, view, spec), toldOf(none, view, spec), `seed ${seed}, round ${round}`);
      assert.is(shapeOf({ rankings: none, view }, { spec }).member, null);
      const kinds = kindsOf(some, view, spec);
      if (kinds.includes(KIND.plain)) byNumbers += 1;
      if (kinds.includes(KIND.refused)) refusedByFilter += 1;
      if (kinds.includes(KIND.unmet)) unmet += 1;
      if (kinds.includes(KIND.other)) others += 1;
    }
  }
  assert.ok(
    Math.min(byNumbers, refusedByFilter, unmet, others, halfRanked) > 100,
    `${[byNumbers, refusedByFilter, unmet, others, halfRanked]}`,
  );
});

test('families - of few sizes and of many each ranks hosts as a look at each does, though few rankings are kept', () => {
  let allServed = 0;
  let someRefused = 0;
  let divided = 0;
  for (let seed = 0; seed < 12; seed += 1) {
    const random = seededRandom(seed);
    const chance = seededRandom(1_000 + seed);
    const HOSTS = 300;
    const view: View = { ...emptyView(seed % 2 === 0 ? 1 : 3), statsMatter: false };
    // Hosts have room for all, or many sizes do not fit on some; they are of one kind, of three, or all different.
    const [room, usedFirst] = seed % 3 === 0 ? [24, 18] : [2_000, 0];
    const kinds = [1, 3, HOSTS][seed % 4] ?? 1;
    const cells = [1, 4, 1, 40, 40, 4][seed % 6] as number;
    const used = Array.from({ length: HOSTS }, () => ({ VCPU: usedFirst, MEMORY_MB: 0 }));
    const generations = new Map<number, number>();
    const learn = (n: number) => {
      const generation = (generations.get(n) ?? 0) + 1;
      generations.set(n, generation);
      const total = (most: number) => ({
        ...PART,
        total: most,
        max_unit: n % 7 === 0 ? (seed % 3 === 0 ? 3 : 6 * room) : most,
      });
      const isOdd = seed % 4 !== 2;
      const odd = {
        ...(isOdd && n % 11 === 3 ? { allocation_ratio: 1.15 } : {}),
        ...(isOdd && n % 13 === 5 ? { reserved: room } : {}),
      };
      const inventories = {
        VCPU: { ...total(room + (n % kinds)), ...odd },
        MEMORY_MB: total(100 * room + (n % kinds)),
      };
      const spec = { id: `p${n}`, name: `h${n}`, parent: null, inventories, traits: [], aggregates: [] };
      learnProvider(view, { ...spec, root: `p${n}`, generation, used: used[n] as (typeof used)[0] });
    };
    const tell = (n: number, state: HostState['state'] = 'up', cell = `c${n % cells}`) =>
      learnHost(view, cell, { host: `h${n}`, provider: `p${n}`, state });
    for (let n = 0; n < HOSTS; n += 1) {
      learn(n);
      tell(n);
    }
    const sizes = seed % 3 === 1 ? 3 : 60;
    const specs = Array.from({ length: sizes }, (_, n) => sizeOf(1 + (n % 7), 1 + 13 * n));
    const defaults = DEFAULT_WEIGHERS.map((one) =>
      one === freeShare && seed % 5 === 2 ? { ...one, multiplier: -2 } : one,
    );
    const weighers = [...defaults, { ...free('VCPU'), multiplier: [-3, -0.5, 0.5][seed % 3] ?? 0 }];
    const options = { pickAmong: 1 + (seed % 3), maxShapes: seed % 4 === 1 ? 5 : 1_024 };
    const [some, none] = [weighers, [...weighers, MIGHT_LOOK]].map((all) => emptyRankings(all, 's', options)) as [
      Rankings,
      Rankings,
    ];
    for (let round = 0; round < 250; round += 1) {
      for (let change = random.integer(0, random.integer(1, round % 50 === 49 ? 200 : 7)); change > 0; change -= 1) {
        const n = random.integer(0, HOSTS - 1);
        const now = used[n] as (typeof used)[0];
        now.VCPU = Math.max(0, now.VCPU + random.integer(-5, 6));
        now.MEMORY_MB = Math.max(0, now.MEMORY_MB + random.integer(-300, 320));
        // More than there is, as when an allocation ratio was lowered.
        if (seed % 3 === 0 && random.integer(0, 9) === 0) now.VCPU = 10 * room;
        const generation = (generations.get(n) as number) + 1;
        generations.set(n, generation);
        learnUsage(view, { id: `p${n}`, generation, used: { ...now } });
      }
      if (round % 50 === 10) noteShard(view, random.integer(0, 2), true);
      if (round % 50 === 30) for (const shard of [0, 1, 2]) noteShard(view, shard, false);
      if (round % 40 === 20) tell(random.integer(0, HOSTS - 1), random.next() < 0.5 ? 'up' : 'down');
      if (round % 60 === 40) forgetHost(view, `c${seed % cells}`, `p${seed}`);
      if (round % 60 === 50) tell(seed, 'up', `c${(seed + 1) % cells}`);
      const begun = specs[chance.integer(0, specs.length - 1)] as RequestSpec;
      if (options.maxShapes !== 5) isRanked({ rankings: some, view }, { spec: begun }, chance.integer(0, 100), false);
      const spec = specs[random.integer(0, specs.length - 1)] as RequestSpec;
      const isWhole = round % 10 === 0;
      const skip = random.integer(0, 3) === 0 ? (root: string) => root.endsWith('3') : NOBODY;
      const [one, other] = [some, none].map((rankings) => {
        const fleet = { rankings, view };
        const picked = best(fleet, { spec }, skip, `${round}`);
        const part = { cell: picked?.cell ?? 'c0', hearing: 'heard' } as const;
        return [
          picked,
          bestOfAll(fleet, { spec }, 3).map(({ root, weight }) => [root, weight]),
          bestOfCell(fleet, { spec }, part, 4, (root) => root === picked?.root),
          shapeOf(fleet, { spec }).fitsIn(part.cell),
          isWhole ? toldOf(rankings, view, spec) : null,
        ];
      });
      assert.equal(one, other, `seed ${seed}, round ${round}`);
      const { member, refusals } = shapeOf({ rankings: some, view }, { spec });
      if (member === null) continue;
      if (refusals.hosts === 0) allServed += 1;
      if (refusals.hosts > 10) someRefused += 1;
      for (const { boxes } of member.known.hosts.placesOf('heard')) if (boxes.root?.division != null) divided += 1;
    }
    if (options.maxShapes === 5) assert.is(Math.max(some.shapes.size, none.shapes.size), Math.min(sizes, 5));
  }
  assert.ok(Math.min(allServed, someRefused, divided) > 100, `${[allServed, someRefused, divided]}`);
});

test('families - a host that was full for a while stands with the others again', () => {
  const view = viewOf(...Array.from({ length: 60 }, (_, n) => ({ host: `h${n}`, vcpu: 10 })));
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
  const shape = () => shapeOf({ rankings, view }, { spec: specOf(3) });
  shapeOf({ rankings, view }, { spec: specOf(2) });
  assert.is(shape().fits, 60);
  const use = (n: number, generation: number, used: number) =>
    learnUsage(view, { id: `p-h${n}`, generation, used: { VCPU: used } });
  use(0, 10, 9);
  assert.equal([shape().fits, shape().refusals.hosts], [59, 1]);
  for (let n = 0; n < 20; n += 1) use(n, 11, 1);
  assert.equal([shape().fits, shape().refusals.hosts], [60, 0]);
});

test('families - what time alone changes is weighed anew, and what a host that changed was asked is asked again', () => {
  const hour = (now: number) => Math.floor(now / 3_600_000);
  const byTheHour: Weigher = {
    name: 'by-the-hour',
    multiplier: 1,
    ignoresAmounts: true,
    weigh: ({ host }) => Number(host.host === `h${hour(host.now)}`),
    changesAt: ({ now }) => 3_600_000 * (hour(now) + 1),
  };
  const view = viewOf(...Array.from({ length: 9 }, (_, n) => ({ host: `h${n}`, vcpu: 10 })));
  const rankings = emptyRankings([...DEFAULT_WEIGHERS, byTheHour], 's');
  const pick = (amount: number) => best({ rankings, view }, { spec: specOf(amount) }, NOBODY)?.host;
  assert.equal([pick(1), pick(2)], ['h0', 'h0']);
  for (const hours of [1, 2, 3]) {
    passTo(view, 3_600_000 * hours);
    assert.equal([pick(1), pick(2)], [`h${hours}`, `h${hours}`]);
  }
  const asked: string[] = [];
  const lacksMore = (root: string) => asked.push(root) > 0;
  const count = () => shapeOf({ rankings, view }, { spec: specOf(99) }).refusals.counted({ lacksMore, isKept: true });
  const nearest = count()[0]?.nearest?.root as string;
  count();
  assert.equal(asked, [nearest]);
  // It stays the nearest: all others have less.
  learnUsage(view, { id: nearest, generation: 7, used: { VCPU: 1 } });
  for (const n of view.hosts.keys()) if (n !== nearest) learnUsage(view, { id: n, generation: 7, used: { VCPU: 2 } });
  count();
  assert.equal(asked, [nearest, nearest]);
});

test('families - hosts that must be looked at themselves are told by numbers once they can be', () => {
  const view = viewOf(...Array.from({ length: 9 }, (_, n) => ({ host: `h${n}`, vcpu: 10 })));
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
  const shape = () => shapeOf({ rankings, view }, { spec: specOf(3) });
  shapeOf({ rankings, view }, { spec: specOf(2) });
  const spec = {
    id: 'p-h4-numa',
    name: 'numa',
    parent: 'p-h4',
    inventories: { VCPU: PART },
    traits: [],
    aggregates: [],
  };
  learnProvider(view, { ...spec, root: 'p-h4', generation: 1, used: {} });
  assert.equal([shape().fits, shape().own.fits, shape().member?.known.hosts.others.size], [9, 1, 1]);
  learnChanges(view, { shard: 0, changed: [], used: [], removed: ['p-h4-numa'] } as unknown as ProvidersChanged);
  assert.equal([shape().fits, shape().own.fits, shape().member?.known.hosts.others.size], [9, 0, 0]);
});

test('families - what is asked of the host itself is asked for any amount, as is who may be asked for such an amount', () => {
  const view = emptyView();
  for (const [n, traits] of [
    ['1', ['CUSTOM_RED']],
    ['2', []],
    ['3', ['CUSTOM_BLUE']],
  ] as const) {
    const spec = { id: `p${n}`, name: `h${n}`, parent: null, inventories: { VCPU: PART }, aggregates: [] };
    learnProvider(view, { ...spec, traits: [...traits], root: spec.id, generation: 1, used: {} });
    learnHost(view, 'c1', { host: spec.name, provider: spec.id, state: 'up' });
  }
  const hostsBy = (rankings: Rankings, spec: RequestSpec) => {
    const found = bestOfAll({ rankings, view }, { spec }, 10);
    return found.map(({ host }) => host).sort();
  };
  const plain = emptyRankings(DEFAULT_WEIGHERS, 's');
  const smallOnly: Filter<RequestSpec> = {
    name: 'small-only',
    refusal: ({ host }, { groups }) =>
      host !== 'h1' && Number(groups[0]?.resources.VCPU) > 3 ? { code: 'small-only', message: host } : null,
  };
  const own = emptyRankings(DEFAULT_WEIGHERS, 's', { filters: [smallOnly] });
  for (const amount of [1, 2, 3, 4, 5]) {
    const spec = specOf(amount);
    assert.equal(hostsBy(plain, { ...spec, rootForbidden: ['CUSTOM_RED'] }), ['h2', 'h3'], `${amount}`);
    assert.equal(hostsBy(plain, { ...spec, rootRequired: ['CUSTOM_BLUE'] }), ['h3'], `${amount}`);
    assert.equal(hostsBy(own, spec), amount > 3 ? ['h1'] : ['h1', 'h2', 'h3'], `${amount}`);
  }
  const { member } = shapeOf({ rankings: plain, view }, { spec: { ...specOf(6), rootForbidden: ['CUSTOM_RED'] } });
  assert.is.not(member, null, 'numbers tell of them');
});

test('families - of a host that is overcommitted no more can be had than nothing', () => {
  const view = emptyView();
  const inventories = { VCPU: { ...PART, total: 10, max_unit: 3 } };
  const spec = { id: 'p1', name: 'h1', parent: null, inventories, traits: [], aggregates: [] };
  learnProvider(view, { ...spec, root: 'p1', generation: 1, used: { VCPU: 20 } });
  learnHost(view, 'c1', { host: 'h1', provider: 'p1', state: 'up' });
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
  const told = [2, 3, 5].map((amount) => {
    const [count] = shapeOf({ rankings, view }, { spec: specOf(amount) }).refusals.counted({
      lacksMore: () => false,
      isKept: false,
    });
    return [count?.code, count?.nearest?.short];
  });
  assert.equal(told, [
    ['exceeds-capacity', 12],
    ['exceeds-capacity', 13],
    ['unit-constraint', 5],
  ]);
});

test('families - what was found out of a host is known until it changes, and no longer', () => {
  const view = viewOf(...Array.from({ length: 500 }, (_, n) => ({ host: `h${n}`, vcpu: 10_000 })));
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
  const shape = () => shapeOf({ rankings, view }, { spec: specOf(3) });
  shapeOf({ rankings, view }, { spec: specOf(2) });
  const known = shape().current.get('p-h7');
  for (let n = 0; n < 490; n += 1) {
    if (n === 7) continue;
    assert.ok(shape().current.get(`p-h${n}`));
    learnUsage(view, { id: `p-h${n}`, generation: 9, used: { VCPU: 5 } });
  }
  assert.ok(shape().weighings < 100, `${shape().weighings} weighings are kept`);
  assert.is(shape().current.get('p-h7'), known);
  learnUsage(view, { id: 'p-h7', generation: 9, used: { VCPU: 5 } });
  assert.is.not(shape().current.get('p-h7'), known);
});

test('families - where any host will do it is one with room', () => {
  const view = viewOf(...Array.from({ length: 60 }, (_, n) => ({ host: `h${n}`, vcpu: 10 })));
  for (let n = 0; n < 60; n += 1) {
    learnUsage(view, { id: `p-h${n}`, generation: 5, used: { VCPU: n % 3 === 0 ? 1 : 9 } });
  }
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { pickAmong: Number.POSITIVE_INFINITY });
  const drawn = new Set<string>();
  for (let n = 0; n < 400; n += 1) {
    const found = best({ rankings, view }, { spec: specOf(2 + (n % 3)) }, NOBODY, `${n}`)?.host ?? '';
    assert.is(Number(found.slice(1)) % 3, 0);
    drawn.add(found);
  }
  assert.is(drawn.size, 20, 'each is drawn sooner or later');
  const isOut = (root: string) => root !== 'p-h33';
  assert.is(best({ rankings, view }, { spec: specOf(2) }, isOut, 's')?.host, 'h33');
  assert.is(best({ rankings, view }, { spec: specOf(11) }, NOBODY, 's'), null);
});

test('families - what is said of a filter that failed is of a host that it failed on now', () => {
  let failing = 'h2';
  const filter: Filter = {
    name: 'breaks',
    goesBy: () => null,
    refusal({ host }) {
      if (host === failing) throw new Error(`broken by ${host}`);
      return null;
    },
  };
  const view = viewOf(...Array.from({ length: 30 }, (_, n) => ({ host: `h${n}` })));
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { filters: [filter] });
  const messages = (amount: number) =>
    shapeOf({ rankings, view }, { spec: specOf(amount) })
      .refusals.counted({ lacksMore: () => false, isKept: false })
      .map(({ message = '' }) => /broken by \w+/.exec(message)?.[0]);
  assert.equal([messages(1), messages(2)], [['broken by h2'], ['broken by h2']]);
  failing = 'h1';
  for (let n = 1; n < 10; n += 1) learnUsage(view, { id: `p-h${n}`, generation: 9, used: { VCPU: 1 } });
  assert.equal(messages(3), ['broken by h1']);
});

test('families - a request for an amount that nobody asked for before looks at no host again', () => {
  let looks = 0;
  const counts: Filter = {
    name: 'counts',
    goesBy: () => null,
    refusal() {
      looks += 1;
      return null;
    },
  };
  const view = viewOf(...Array.from({ length: 20 }, (_, n) => ({ host: `h${n}` })));
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { filters: [counts] });
  const pick = (amount: number) => best({ rankings, view }, { spec: specOf(amount) }, NOBODY);
  assert.ok(pick(1));
  assert.is(looks, 20);
  assert.ok(pick(2));
  assert.is(looks, 40, 'that there are others shows with the second');
  for (const amount of [2, 3, 4, 5]) assert.ok(pick(amount));
  assert.is(pick(1_000), null);
  assert.is(looks, 40);
  learnHost(view, 'c1', { host: 'h4', provider: 'p-h4', state: 'down' });
  for (const amount of [1, 2, 3, 4]) assert.ok(pick(amount));
  assert.is(looks, 40, 'of one that is down no other filter is asked');
  learnHost(view, 'c1', { host: 'h4', provider: 'p-h4', state: 'up' });
  for (const amount of [1, 2, 3, 4]) assert.ok(pick(amount));
  assert.is(looks, 41);
});

test('families - of very many those are kept that are used, and the members of others are served all the same', () => {
  const view = viewOf(...Array.from({ length: 9 }, (_, n) => ({ host: `h${n}` })));
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
  const specOfFamily = (family: number, amount: number): RequestSpec => ({
    groups: [{ name: '', resources: { VCPU: amount }, forbidden: [`CUSTOM_${family}`] }],
    groupPolicy: 'none',
  });
  const familyOf = (family: number) => shapeOf({ rankings, view }, { spec: specOfFamily(family, 1) }).member?.known;
  for (const amount of [1, 2]) assert.ok(best({ rankings, view }, { spec: specOfFamily(0, amount) }, NOBODY));
  const used = familyOf(0);
  assert.ok(used);
  for (let family = 1; family < 200; family += 1) {
    for (const amount of [1, 2]) assert.ok(best({ rankings, view }, { spec: specOfFamily(family, amount) }, NOBODY));
    assert.is(familyOf(0), used);
  }
  const kept = new Set([...rankings.shapes.values()].flatMap(({ member }) => (member === null ? [] : [member.known])));
  assert.is(kept.size, 64);
  assert.is(familyOf(1), undefined);
  // Its old members were ranked before these went.
  learnHost(view, 'c1', { host: 'h6', provider: 'p-h6', state: 'down' });
  learnHost(view, 'c2', { host: 'h5', provider: 'p-h5', state: 'up' });
  forgetHost(view, 'c1', 'p-h7');
  assert.ok(best({ rankings, view }, { spec: specOfFamily(1, 3) }, NOBODY));
  assert.ok(best({ rankings, view }, { spec: specOfFamily(1, 4) }, NOBODY));
  const again = familyOf(1);
  assert.ok(again, 'once there is a family again its old members are of it');
  const member = shapeOf({ rankings, view }, { spec: specOfFamily(1, 2) });
  assert.is(member.member?.known, again);
  assert.equal([member.fits, member.refusals.hosts, member.fitsIn('c2')], [7, 1, 1]);
  learnHost(view, 'c1', { host: 'h4', provider: 'p-h4', state: 'down' });
  for (const family of [0, 1, 199]) {
    assert.is(shapeOf({ rankings, view }, { spec: specOfFamily(family, 2) }).current.size, 6);
  }
});

test('families - those that fell silent are told apart, and hosts that are gone are numbered no more', () => {
  const view = { ...viewOf(...Array.from({ length: 40 }, (_, n) => ({ host: `h${n}` }))), shards: 3 };
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
  const pick = () => best({ rankings, view }, { spec: specOf(1) }, NOBODY)?.root as string;
  const isOfFamily = () => shapeOf({ rankings, view }, { spec: specOf(1) }).member !== null;
  best({ rankings, view }, { spec: specOf(2) }, NOBODY);
  const before = pick();
  assert.ok(isOfFamily());
  for (const shard of [0, 1]) noteShard(view, shard, true);
  assert.not.ok(isShardSilent(view, pick()));
  assert.is(bestOfAll({ rankings, view }, { spec: specOf(1) }, 100).length, 40);
  for (const shard of [0, 1]) noteShard(view, shard, false);
  assert.is(pick(), before);
  // Hosts come and go by the thousand.
  for (let n = 0; n < 3_000; n += 1) {
    const root = `p-x${n}`;
    const inventories = view.providers.get('p-h0')?.spec.inventories ?? {};
    const spec = { id: root, name: `x${n}`, parent: null, inventories, traits: [], aggregates: [] };
    learnProvider(view, { ...spec, root, generation: 1, used: {} });
    learnHost(view, 'c9', { host: `x${n}`, provider: root, state: 'up' });
    learnUsage(view, { id: root, generation: 2, used: { VCPU: 1 } });
    if (n % 3 === 0) assert.ok(pick() !== undefined);
    forgetHost(view, 'c9', root);
  }
  assert.is(pick(), before);
  assert.ok((rankings.slots?.size ?? 0) < 1_500, `${rankings.slots?.size} slots for 40 hosts`);
  assert.is(bestOfAll({ rankings, view }, { spec: specOf(1) }, 10_000).length, 40);
  best({ rankings, view }, { spec: specOf(2) }, NOBODY);
  assert.is(pick(), before);
  assert.ok(isOfFamily());
});

test('families - where there are many cells, the hosts of all that were heard lately stand together, too', () => {
  const names = Array.from({ length: 40 }, (_, n) => `h${n}`);
  const view = { ...viewOf(...names.map((host) => ({ host, cell: `c${host.length}` }))), shards: 3 };
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
  best({ rankings, view }, { spec: specOf(2) }, NOBODY);
  const countOf = (box: Box): number =>
    box.division === null ? 1 : 1 + countOf(box.division.lower) + countOf(box.division.upper);
  const hostsOfBoxes = (by = rankings) => {
    const { member, slots } = shapeOf({ rankings: by, view }, { spec: specOf(1) });
    assert.ok(member);
    const { bounds, hosts } = member.known;
    const together = [...hosts.boxesOfAllCells('heard')];
    const apart = [...hosts.placesOf('heard'), ...hosts.placesOf('silent')].map(({ boxes }) => boxes);
    const roots = [...new Set([...together, ...apart])].flatMap(({ root }) => root ?? []);
    assert.is(
      roots.reduce((sum, root) => sum + countOf(root), 0),
      bounds.taken,
      'no bounds are kept of boxes that are none',
    );
    const found = together.map(({ root }) => (root === null ? [] : slotsIn(root)));
    return found.map((some) => some.map((slot) => slots.roots[slot] as string).sort());
  };
  const roots = names.map((host) => `p-${host}`);
  assert.equal(hostsOfBoxes(), [roots.slice(0, 10), roots.slice(10)], 'those of two cells');
  const others = Array.from({ length: 6 }, (_, n) => `x${n}`);
  for (const host of others) {
    assert.ok(hostsOfBoxes().length > 1);
    tellView(view, { host, cell: `of-${host}` });
  }
  const all = [...names, ...others].map((host) => `p-${host}`).sort();
  assert.equal(hostsOfBoxes(), [all], 'those of eight');
  tellView(view, { host: 'y', cell: 'of-y' });
  tellView(view, { host: 'h7', cell: 'of-y' });
  assert.equal(hostsOfBoxes(), [[...all, 'p-y']]);
  tellView(view, { host: 'h7', cell: 'of-y', state: 'disabled' });
  forgetHost(view, 'of-x1', 'p-x1');
  const left = [...all, 'p-y'].filter((root) => root !== 'p-h7' && root !== 'p-x1');
  assert.equal(hostsOfBoxes(), [left]);
  noteShard(view, 1, true);
  const heard = left.filter((root) => !isShardSilent(view, root));
  assert.ok(heard.length > 0 && heard.length < left.length);
  assert.equal(hostsOfBoxes(), [heard]);
  assert.equal(
    bestOfAll({ rankings, view }, { spec: specOf(1) }, 100)
      .map(({ root }) => root)
      .sort(),
    left,
  );
  noteShard(view, 1, false);
  assert.equal(hostsOfBoxes(), [left]);
  const fresh = emptyRankings(DEFAULT_WEIGHERS, 's');
  best({ rankings: fresh, view }, { spec: specOf(2) }, NOBODY);
  assert.equal(hostsOfBoxes(fresh), [left], 'of those that are ranked when there are many');
  const { member } = shapeOf({ rankings, view }, { spec: specOf(1) });
  assert.ok(member);
  member.known.hosts.placesOf = () => {
    throw new Error('a choice looks at a cell by itself');
  };
  assert.ok(best({ rankings, view }, { spec: specOf(3) }, NOBODY));
});

test('families - where there are many cells, the boxes of all are made some at a time, too', () => {
  const HOSTS = 6_000;
  const turnsAmong = (cells: number): number => {
    const view = viewOf(...Array.from({ length: HOSTS }, (_, n) => ({ host: `h${n}`, cell: `c${n % cells}` })));
    const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
    let turns = 1;
    while (!isRanked({ rankings, view }, { spec: specOf(1) }, HOSTS / 3, true)) turns += 1;
    assert.is(shapeOf({ rankings, view }, { spec: specOf(1) }).fits, HOSTS);
    return turns;
  };
  assert.ok(turnsAmong(8) > turnsAmong(7));
});

test('families - hosts are ranked some at a time, and what was done stands, though more changes meanwhile than is kept', () => {
  const HOSTS = 200;
  const view = viewOf(...Array.from({ length: HOSTS }, (_, n) => ({ host: `h${n}`, vcpu: 100 })));
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
  let generation = 0;
  const change = () => {
    for (let n = 0; n < 30_000; n += 1) {
      generation += 1;
      learnUsage(view, { id: `p-h${n % HOSTS}`, generation, used: { VCPU: generation % 97 } });
    }
  };
  // The first is ranked by itself, the second as one of a family.
  for (const vcpu of [2, 3]) {
    let turns = 0;
    while (!isRanked({ rankings, view }, { spec: specOf(vcpu) }, 50, false)) {
      turns += 1;
      assert.ok(turns < 20, `${vcpu} VCPU`);
      change();
    }
    const fresh = emptyRankings(DEFAULT_WEIGHERS, 's');
    assert.equal(toldOf(rankings, view, specOf(vcpu)), toldOf(fresh, view, specOf(vcpu)));
  }
});

test.run();
