// Area: scheduler, advice of amounts. The nearest amount is advised with which a request fits, in the steps and units of
// inventories, beside its other groups, and for several instances the largest with which all of them do.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { timesIn } from '../../actors/fitting/fit-times.ts';
import type { RequestSpec, ResourceGroup } from '../../actors/messages/common.ts';
import type { Inventory } from '../../actors/messages/placement.ts';
import type { Origins } from '../../actors/messages/where.ts';
import { whyNoneOf } from '../../actors/scheduler/explaining/explain.ts';
import { firstOnNamed, recordOnNamed } from '../../actors/scheduler/explaining/named-obstacles.ts';
import type { Filter } from '../../actors/scheduler/filters/filter.ts';
import { emptyView, learnProvider, treeOf, type View, type ViewHost } from '../../actors/scheduler/view/view.ts';
import { learnHost } from '../../actors/scheduler/view/view-hosts.ts';
import { seededRandom } from '../../runtime/random.ts';
import { inventory, viewOf } from '../support/facts.ts';
import { randomFleet } from '../support/fleets.ts';
import { adviceWith, applied, judged, rankings, survey } from '../support/survey.ts';

const test = suite('scheduler - advice of amounts');

test('scheduler - for several instances, hosts that could give more than what is advised are counted too', () => {
  const advised = (count: number, ...free: number[]) => {
    const view = viewOf(...free.map((vcpu, n) => ({ host: `h${n}`, has: { VCPU: vcpu } })));
    return survey(view, { groups: [{ name: '', resources: { VCPU: 8 } }], groupPolicy: 'none' }, count).advice;
  };
  const less = (to: number, hosts: number, more = {}) => [
    { code: 'less', group: '', about: 'VCPU', from: 8, to, hosts, ...more },
  ];
  const both = { instances: 2 };
  assert.equal(advised(2, 6, 4, 4), less(4, 3, both));
  assert.equal(advised(2, 6, 4), less(4, 2, both));
  assert.equal(advised(2, 6), less(3, 1, both), 'both on the one host');
  assert.equal(advised(1, 6, 4), less(6, 1));
});

/** Hosts with providers below them, each with inventories of one class. */
function worldOf(hosts: readonly (readonly Device[])[], resourceClass: string): View {
  const view = emptyView();
  for (const [n, devices] of hosts.entries()) {
    const [root, told] = [`p${n}`, { aggregates: [], generation: 1 }];
    learnProvider(view, {
      ...told,
      id: root,
      root,
      name: `h${n}`,
      parent: null,
      traits: [],
      inventories: {},
      used: {},
    });
    for (const [at, { free, traits = [], ...units }] of devices.entries()) {
      const [id, name] = [`${root}-${at}`, `h${n}-${at}`];
      const inventories = { [resourceClass]: { ...inventory(free), ...units } };
      learnProvider(view, { ...told, id, root, name, parent: root, traits: [...traits], inventories, used: {} });
    }
    learnHost(view, 'c1', { host: `h${n}`, provider: root, state: 'up' });
  }
  return view;
}

interface Device extends Partial<Inventory> {
  readonly free: number;
  readonly traits?: readonly string[];
}

test('scheduler - of groups that ask for one class the nearest host is the one where all of them lack least of it', () => {
  const asking = (...amounts: number[]): RequestSpec => ({
    groups: amounts.map((amount, n) => ({ name: 'abcd'[n] as string, resources: { VGPU: amount } })),
    groupPolicy: 'none',
  });
  const told = (spec: RequestSpec, ...hosts: Device[][]) => {
    const view = worldOf(hosts, 'VGPU');
    const found = survey(view, spec);
    return whyNoneOf({ view, rankings }, { spec }, found);
  };
  const ofEach = (...free: number[]) => free.map((one) => ({ free: one }));
  const none = 'none of 2 hosts: 2 exceeds-capacity VGPU; nearest c1/h0:';
  assert.is(
    told(asking(4, 4), ofEach(4, 3), ofEach(1)),
    `${none} 8 VGPU, which the groups ask together, exceed the most that they can have on 'h0': 7 (short by 1)`,
  );
  assert.is(
    told(asking(2, 2, 2, 1), ofEach(1, 4), ofEach(1)),
    `${none} 7 VGPU, which the groups ask together, exceed the most that they can have on 'h0': 5 (short by 2)`,
  );
  assert.is(
    told(asking(4, 1), ofEach(3, 3), ofEach(2)),
    `${none} 4 VGPU exceed what is free on provider 'h0-0': 3 (short by 1)`,
    'where one lacks all of it that is said of the one',
  );
  assert.is(
    told(asking(3, 4), ofEach(2, 5), ofEach(2)),
    `${none} 3 VGPU exceed what is free on provider 'h0-0': 2 (short by 1), beside the other groups of the request`,
  );
  const lacks = (spec: RequestSpec, ...free: number[]) =>
    survey(worldOf([ofEach(...free)], 'VGPU'), spec).refused[0]?.nearest?.short;
  assert.is(lacks(asking(4, 4), 1), 7);
  assert.is(lacks(asking(2, 2, 2, 1), 1), 6);
  assert.is(lacks(asking(4, 4), 3, 3, 3), 2, 'two groups can have no more than two providers have');
});

test('scheduler - where what groups lack in all is not enough on any one device, that is said of a named host as of others', () => {
  const moreOn = (amount: number, ...free: number[]) => {
    const view = worldOf([free.map((one) => ({ free: one }))], 'VGPU');
    const groups = ['a', 'b', 'c'].map((name) => ({ name, resources: { VGPU: amount } }));
    const [root = ''] = view.hosts.keys();
    const spec: RequestSpec = { groups, groupPolicy: 'none', tree: { oneOf: [root] } };
    const [nearest] = survey(view, spec).refused.flatMap((one) => one.nearest ?? []);
    const [named] = firstOnNamed({ rankings, view }, { spec });
    assert.is(named?.found.all.length, 1);
    assert.is(named?.found.all[0]?.short, nearest?.short);
    assert.is(named?.found.isMore, nearest?.lacksMore === true);
    const [told] = recordOnNamed(named === undefined ? [] : [named])?.told ?? [];
    assert.equal([told?.refusal.lacksMore, told?.partly], [nearest?.lacksMore, nearest?.lacksMore]);
    return nearest?.lacksMore === true;
  };
  assert.is(moreOn(3, 4, 2), true, 'with 3 more on either it is still one too few for the third');
  assert.is(moreOn(3, 3, 5), false);
});

test('scheduler - of an amount between two steps, or too small, those are told that would do, and the nearest host', () => {
  const told = (amount: number, ...hosts: Device[][]) => {
    const view = worldOf(hosts, 'MEMORY_MB');
    const spec: RequestSpec = { groups: [{ name: '', resources: { MEMORY_MB: amount } }], groupPolicy: 'none' };
    const found = survey(view, spec);
    return [whyNoneOf({ view, rankings }, { spec }, found), found.refused[0]?.nearest?.short];
  };
  const steps = (free: number, step_size = 256, min_unit = 1): Device[] => [{ free, step_size, min_unit }];
  const none = 'none of 1 host: 1 unit-constraint MEMORY_MB; nearest c1/h0:';
  const violates = "MEMORY_MB on provider 'h0-0' violate its inventory's";
  assert.equal(told(700, steps(8192)), [`${none} 700 ${violates} step_size 256 (nearest amounts 512 and 768)`, 68]);
  assert.equal(told(700, steps(640)), [`${none} 700 ${violates} step_size 256 (nearest amount 512)`, 188]);
  assert.equal(told(100, steps(8192, 256, 300)), [
    `${none} 100 ${violates} min_unit 300 and step_size 256 (nearest amount 512)`,
    412,
  ]);
  assert.equal(told(700, steps(200)), ['none of 1 host: 1 unit-constraint MEMORY_MB', undefined]);
  assert.equal(told(700, steps(8192, 400), steps(200, 48, 300), steps(8192, 500)), [
    `none of 3 hosts: 3 unit-constraint MEMORY_MB; nearest c1/h0: 700 ${violates} step_size 400 (nearest amounts 400 and 800)`,
    100,
  ]);
  assert.equal(told(768, steps(640)), [
    "none of 1 host: 1 exceeds-capacity MEMORY_MB; nearest c1/h0: 768 MEMORY_MB exceed what is free on provider 'h0-0': " +
      '640, in steps of 256 (short by 128)',
    128,
  ]);
});

test('scheduler - what a group is short of is told of a provider that would do if it had enough', () => {
  const group = { name: 'a', resources: { VGPU: 3 }, required: ['CUSTOM_FAST'] };
  const view = worldOf([[{ free: 2 }, { free: 1, traits: ['CUSTOM_FAST'] }]], 'VGPU');
  const [host] = view.hosts.values();
  const { obstacle } = judged(view, { groups: [group], groupPolicy: 'none' }, host as ViewHost);
  assert.is(obstacle?.message, "3 VGPU exceed what is free on provider 'h0-1': 1 (short by 2)");
});

test('scheduler - for several instances, the largest amount with which all of them fit is advised', () => {
  const advised = (asked: number, count: number, ...free: number[]) => {
    const view = viewOf(...free.map((vcpu, n) => ({ host: `h${n}`, has: { VCPU: vcpu } })));
    const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: asked } }], groupPolicy: 'none' };
    return survey(view, spec, count).advice.filter(({ code }) => code === 'less');
  };
  const less = (from: number, to: number, hosts: number, more = {}) => [
    { code: 'less', group: '', about: 'VCPU', from, to, hosts, ...more },
  ];
  assert.equal(advised(9, 5, 8), less(9, 1, 1, { instances: 5 }));
  assert.equal(advised(100, 5, 96), less(100, 19, 1, { instances: 5 }));
  assert.equal(advised(5, 4, 8, 7, 6, 3), less(5, 4, 3, { instances: 4 }));
  assert.equal(advised(5, 4, 8, 3), less(5, 2, 2, { instances: 4 }));
  assert.equal(advised(2, 10, 4, 4), []);

  const view = viewOf({ host: 'h1', has: { VCPU: 8 } }, { host: 'h2', has: { VCPU: 4 } });
  const instanceGroup = { id: 'g', policy: 'affinity' } as const;
  for (const asked of [5, 9]) {
    const spec = { groups: [{ name: '', resources: { VCPU: asked } }], groupPolicy: 'none' as const, instanceGroup };
    const amounts = survey(view, spec, 3).advice.filter(({ code }) => code === 'less');
    assert.equal(amounts, less(asked, 2, 1, { instancesTogether: 3 }), 'all of them on one host');
  }
});

test('scheduler - an amount that is advised goes by the steps and units of inventories', () => {
  const advised = (asked: number, count: number, ...devices: Device[]) => {
    const spec: RequestSpec = { groups: [{ name: 'g', resources: { VGPU: asked } }], groupPolicy: 'none' };
    const { advice } = survey(worldOf([devices], 'VGPU'), spec, count);
    return advice.filter(({ code }) => code === 'less').map(({ to }) => to);
  };
  assert.equal(advised(8, 2, { free: 6, step_size: 2 }), [2]);
  assert.equal(advised(8, 2, { free: 6, min_unit: 3 }), [3]);
  assert.equal(advised(8, 2, { free: 6, min_unit: 4 }), []);
  assert.equal(advised(8, 2, { free: 6, min_unit: 4 }, { free: 5 }), [5], 'one each');
  assert.equal(advised(8, 3, { free: 6, min_unit: 4 }, { free: 6 }), [2], 'all of them on the second');
  assert.equal(advised(9, 2, { free: 7, step_size: 2 }, { free: 5 }), [4]);
});

test('scheduler - an amount is advised that any device can give which meets the conditions', () => {
  const devices = [...[9, 8, 7, 6].map((free) => ({ free })), { free: 5, traits: ['CUSTOM_FAST'] }];
  const group = { name: 'g', resources: { VGPU: 10 }, required: ['CUSTOM_FAST'] };
  const { advice } = survey(worldOf([devices], 'VGPU'), { groups: [group], groupPolicy: 'none' });
  assert.equal(advice, [{ code: 'less', group: 'g', about: 'VGPU', from: 10, to: 5, hosts: 1 }]);
});

test('scheduler - an amount is advised that is left beside the other groups of the request', () => {
  const groupsOf = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ name: `g${at}`, resources: { VCPU: 3 } }));
  const nodes = [{ free: 4 }, { free: 4 }];
  const spread = survey(worldOf([nodes], 'VCPU'), { groups: groupsOf(3), groupPolicy: 'none' });
  const less = (group: string) => ({ code: 'less', group, about: 'VCPU', from: 3, to: 1, hosts: 1 });
  assert.equal(
    spread.advice.filter(({ groups }) => groups === undefined),
    [less('g0'), { code: 'without-group', group: 'g0', hosts: 1 }],
    'the other groups ask for the same',
  );
  const spec: RequestSpec = { groups: groupsOf(2), groupPolicy: 'none', sameSubtree: [['g0', 'g1']] };
  const { advice } = survey(worldOf([nodes], 'VCPU'), spec);
  assert.equal(
    advice.filter(({ code }) => code === 'less'),
    [less('g0')],
  );
});

/** Whether a piece of advice, or its absence, is right: the largest amount that would do, if any would, or a cheaper one. */
function checkAmounts(view: View, spec: RequestSpec, count: number, about: string): number {
  const { times: before, advice } = survey(view, spec, count);
  if (before >= count) return 0;
  const isEnough = (changed: RequestSpec) => {
    let times = 0;
    for (const host of view.hosts.values()) {
      if (times >= count) break;
      if (judged(view, changed, host).obstacle === null) times += timesIn(changed, treeOf(view, host.root), count);
    }
    return times >= count;
  };
  let checked = 0;
  const askedBy = ({ name, ...all }: ResourceGroup) =>
    JSON.stringify([all, (spec.sameSubtree ?? []).map((names) => names.includes(name))]);
  for (const one of spec.groups) {
    const { name: group, resources } = one;
    // What is advised on one group is not said again of another that asks for the same.
    const alike = [group, ...spec.groups.filter((other) => askedBy(other) === askedBy(one)).map(({ name }) => name)];
    for (const [resourceClass, asked] of Object.entries(resources)) {
      const less = { code: 'less' as const, group, about: resourceClass, hosts: 0 };
      const wouldDo = (to: number) => isEnough(applied(spec, { ...less, to }) as RequestSpec);
      const step = asked > 100 ? 256 : 1;
      let largest = asked - step;
      while (largest > 0 && !wouldDo(largest)) largest -= step;
      const toldOf = (name: string) =>
        advice.find((other) => other.group === name && other.about === resourceClass && other.to);
      const told = alike.map(toldOf).find((other) => other !== undefined);
      const where = `${about}: ${resourceClass} of '${group}': ${largest}, told ${JSON.stringify(advice)}`;
      if (told?.code === 'less') assert.ok(wouldDo(told.to as number), where);
      if (largest <= 0 || told?.code === 'more') continue;
      checked += 1;
      const others = advice.filter(({ code }) => code !== 'fewer-instances');
      if (told === undefined) {
        assert.is(others.length, 3, where);
        assert.not(
          others.some(({ code }) => code === 'without-resource' || code === 'without-group'),
          where,
        );
      } else assert.ok((told.to as number) >= largest, where);
    }
  }
  return checked;
}

test('scheduler - no larger amount than the one that is advised would do, and one is advised if any would', () => {
  let checked = 0;
  for (let seed = 0; seed < 300; seed += 1) {
    const fleet = randomFleet(`largest ${seed}`, 1 + (seed % 6));
    const spec = fleet.spec();
    for (const count of [1, 2 + (seed % 6)]) checked += checkAmounts(fleet.view, spec, count, `seed ${seed}`);
  }
  for (let seed = 0; seed < 300; seed += 1) {
    const random = seededRandom(`nodes ${seed}`);
    const node = () => ({ free: random.integer(1, 9), step_size: random.integer(1, 2) });
    const hosts = Array.from({ length: random.integer(1, 3) }, () => [node(), node()]);
    const groups = Array.from({ length: random.integer(1, 3) }, (_, at) => ({
      name: `g${at}`,
      resources: { VCPU: random.integer(1, 8) },
    }));
    const sameSubtree = groups.length > 1 && random.chance(0.5) ? { sameSubtree: [['g0', 'g1']] } : {};
    const spec: RequestSpec = { groups, groupPolicy: 'none', ...sameSubtree };
    checked += checkAmounts(worldOf(hosts, 'VCPU'), spec, random.integer(1, 3), `nodes ${seed}`);
  }
  assert.ok(checked > 150, String(checked));
});

test('scheduler - the nearest host may be one on which units stand in the way', () => {
  const view = viewOf({ host: 'a', has: { VCPU: 8 } }, { host: 'c', has: { VCPU: 4 } });
  const told = { root: 'p', generation: 0, traits: [], aggregates: [], used: {} };
  const inventories = { VCPU: { ...inventory(64), max_unit: 32 } };
  learnProvider(view, { ...told, id: 'p', name: 'b', parent: null, inventories });
  learnHost(view, 'c1', { host: 'b', provider: 'p', state: 'up' });
  const spec = { groups: [{ name: '', resources: { VCPU: 33 } }], groupPolicy: 'none' as const };
  const { refused, hosts, fits } = survey(view, spec);
  assert.equal(refused.find(({ code }) => code === 'unit-constraint')?.nearest, { cell: 'c1', host: 'b', short: 1 });
  assert.match(
    whyNoneOf({ view, rankings }, { spec }, { hosts, fits, refused }),
    /; nearest c1\/b: 33 VCPU on provider 'b' violate its inventory's max_unit 32 \(off by 1\)$/,
  );
});

test('scheduler - where steps stand in the way, the nearest amount is advised, be it more or less', () => {
  const stepped = { ...inventory(12), step_size: 3, max_unit: 9 };
  const view = viewOf();
  const told = { root: 'p', generation: 0, traits: [], aggregates: [], used: {} };
  learnProvider(view, { ...told, id: 'p', name: 'h1', parent: null, inventories: { VCPU: stepped } });
  learnHost(view, 'c1', { host: 'h1', provider: 'p', state: 'up' });
  const adviceFor = (vcpu: number) =>
    survey(view, { groups: [{ name: '', resources: { VCPU: vcpu } }], groupPolicy: 'none' }).advice;
  assert.equal(adviceFor(8), [{ code: 'more', group: '', about: 'VCPU', from: 8, to: 9, hosts: 1 }]);
  assert.equal(adviceFor(7), [{ code: 'less', group: '', about: 'VCPU', from: 7, to: 6, hosts: 1 }]);
  assert.equal(adviceFor(11), [{ code: 'less', group: '', about: 'VCPU', from: 11, to: 9, hosts: 1 }]);
});

test('scheduler - where a filter of a deployment would refuse the nearest amount, one further off is advised', () => {
  const view = viewOf();
  for (const [host, step_size] of Object.entries({ h1: 4, h2: 12 })) {
    const told = { id: host, root: host, generation: 0, traits: [], aggregates: [], used: {} };
    const inventories = { VCPU: { ...inventory(16), step_size } };
    learnProvider(view, { ...told, name: host, parent: null, inventories });
    learnHost(view, 'c1', { host, provider: host, state: 'up' });
  }
  const adviceFor = (...refused: number[]) => {
    const filter: Filter<RequestSpec> = {
      name: 'mine',
      goesBy: ({ spec }) => spec,
      refusal: (_, { groups: [group] }) =>
        refused.includes(group?.resources.VCPU ?? 0) ? { code: 'odd-size', message: 'it is for others' } : null,
    };
    const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: 5 } }], groupPolicy: 'none' };
    return adviceWith([filter], view, { spec }).map(({ code, to, hosts }) => [code, to, hosts]);
  };
  assert.equal(adviceFor(), [['less', 4, 1]]);
  assert.equal(adviceFor(4), [['more', 8, 1]]);
  assert.equal(adviceFor(4, 8), [['more', 12, 2]], 'that one fits the first host too');
});

test('scheduler - a changed request is let in by the filters of a deployment and by what hosts are kept for, by both of them', () => {
  const view = viewOf();
  for (const host of ['h1', 'h2', 'h3']) {
    const told = {
      id: host,
      root: host,
      generation: 0,
      traits: [],
      aggregates: host === 'h1' ? ['gpus'] : [],
      used: {},
    };
    learnProvider(view, { ...told, name: host, parent: null, inventories: { VCPU: inventory(16) } });
    learnHost(view, 'c1', { host, provider: host, state: 'up' });
  }
  const filter: Filter<boolean> = {
    name: 'mine',
    goesBy: ({ spec }) => spec.groups.every(({ required = [] }) => required.length > 0),
    refusal: ({ host }, isPicky) => (host === 'h2' && !isPicky ? { code: 'not-picky', message: 'not picky' } : null),
  };
  const groups = [{ name: '', resources: { VCPU: 1 }, required: ['CUSTOM_GPU'] }];
  const spec: RequestSpec = { groups, groupPolicy: 'none' };
  const opened = [{ aggregate: 'gpus', traits: ['CUSTOM_GPU'] }];
  const hostsOf = (filters: Filter[], origins: Origins) =>
    adviceWith(filters, view, { spec, where: { origins } }).map(({ code, hosts }) => [code, hosts]);
  assert.equal(hostsOf([], {}), [['without-required', 3]]);
  assert.equal(hostsOf([filter as Filter], {}), [['without-required', 2]]);
  assert.equal(hostsOf([], { opened }), [['without-required', 2]]);
  assert.equal(hostsOf([filter as Filter], { opened }), [['without-required', 1]]);
});

test.run();
