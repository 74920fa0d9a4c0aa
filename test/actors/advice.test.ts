// Area: scheduler, dry runs and advice. A survey counts every host and every time that a request fits; what is advised
// has been tried: applied, it makes the request fit on as many hosts as were named.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Advice, adviceWords } from '../../actors/messages/advice.ts';
import type { RequestSpec, ResourceGroup } from '../../actors/messages/common.ts';
import type { Inventory } from '../../actors/messages/placement.ts';
import type { FittingHost } from '../../actors/messages/questions.ts';
import { placementShardOf } from '../../actors/routing.ts';
import { whyNoneOf } from '../../actors/scheduler/explain.ts';
import type { Filter } from '../../actors/scheduler/filters/filter.ts';
import { buildLimit, instanceLimit } from '../../actors/scheduler/filters/limits.ts';
import { fit } from '../../actors/scheduler/fit.ts';
import { timesIn } from '../../actors/scheduler/fit-times.ts';
import { allFiltersFor, judge } from '../../actors/scheduler/judging.ts';
import { best } from '../../actors/scheduler/picking.ts';
import { emptyRankings } from '../../actors/scheduler/ranking.ts';
import { type Survey, surveyOf } from '../../actors/scheduler/survey.ts';
import { emptyView, learnProvider, noteShard, treeOf, type View, type ViewHost } from '../../actors/scheduler/view.ts';
import { learnHost } from '../../actors/scheduler/view-hosts.ts';
import { DEFAULT_WEIGHERS } from '../../actors/scheduler/weighers/defaults.ts';
import { seededRandom } from '../../runtime/random.ts';
import { type HostWords, inventory, viewOf } from '../support/facts.ts';
import { randomFleet } from '../support/fleets.ts';
import { schedulersOf, selectFor } from '../support/schedulers.ts';

const test = suite('scheduler - dry runs and advice');

const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');

const judged = (view: View, spec: RequestSpec, host: ViewHost) =>
  judge(view, allFiltersFor(rankings.filters, { spec }), spec, host);

const words = (advice: Advice) => adviceWords(advice, (until) => `until ${until}`);

function survey(view: View, spec: RequestSpec, count = 1, limit = 10): Survey {
  let told: Survey | undefined;
  const sweep = surveyOf(rankings, view, { request: { spec }, count, limit }, (found) => {
    told = found;
  });
  for (const host of view.hosts.values()) if (!sweep.visit(host, true)) break;
  sweep.done(undefined as never);
  assert.ok(told);
  return told;
}

/** The request with what is advised done to it; undefined when it is not about the request. */
function applied(spec: RequestSpec, { code, group: name, about = '', to = 0 }: Advice): RequestSpec | undefined {
  if (code === 'without-isolation') return { ...spec, groupPolicy: 'none' };
  const change = (group: ResourceGroup): ResourceGroup | undefined => {
    const without = <T>(all: readonly T[] | undefined, textOf: (one: T) => string): T[] => {
      const at = (all ?? []).findIndex((one) => textOf(one) === about);
      return (all ?? []).filter((_, position) => position !== at);
    };
    const joined = (all: readonly string[]) => all.join(', ');
    switch (code) {
      case 'less':
      case 'more':
        return { ...group, resources: { ...group.resources, [about]: to } };
      case 'without-resource': {
        const { [about]: _, ...resources } = group.resources;
        return { ...group, resources };
      }
      case 'without-required':
        return { ...group, required: without(group.required, String) };
      case 'without-any-of':
        return { ...group, anyOf: without(group.anyOf, joined) };
      case 'without-forbidden':
        return { ...group, forbidden: without(group.forbidden, String) };
      case 'without-member-of':
        return { ...group, memberOf: without(group.memberOf, joined) };
      default:
        return undefined;
    }
  };
  const groups = spec.groups.map((group) => (group.name === name ? change(group) : group));
  return groups.every((group) => group !== undefined) ? { ...spec, groups: groups as ResourceGroup[] } : undefined;
}

const hostsThatFit = (view: View, spec: RequestSpec) =>
  [...view.hosts.values()].filter((host) => judged(view, spec, host).obstacle === null);

test('scheduler - a survey counts every host once, and every time that the request fits, one after the other', () => {
  let several = 0;
  for (let seed = 0; seed < 120; seed += 1) {
    const fleet = randomFleet(`survey ${seed}`, 30);
    const { view } = fleet;
    const spec = fleet.spec();
    const { hosts, fits, times, refused, best } = survey(view, spec);
    assert.is(hosts, view.hosts.size);
    assert.is(
      refused.reduce((sum, one) => sum + one.hosts, fits),
      hosts,
    );
    assert.is(fits, hostsThatFit(view, spec).length);
    let sum = 0;
    for (const { root } of hostsThatFit(view, spec)) {
      const tree = structuredClone(treeOf(view, root));
      const byId = new Map(tree.map((provider) => [provider.spec.id, provider]));
      let often = 0;
      for (let found = fit(spec, tree); found !== null; found = fit(spec, tree)) {
        often += 1;
        for (const { provider, resources } of found) {
          for (const [resourceClass, amount] of Object.entries(resources)) {
            const stock = byId.get(provider)?.stocks.get(resourceClass);
            if (stock !== undefined) stock.used += amount;
          }
        }
      }
      assert.is(timesIn(spec, treeOf(view, root), 1_000_000), often, `seed ${seed}, ${root}`);
      if (often > 1) several += 1;
      sum += often;
    }
    assert.is(times, sum);
    assert.is(best.length, Math.min(10, fits));
    for (const [position, one] of best.entries()) {
      assert.ok(one.times >= 1);
      assert.ok(position === 0 || one.weight <= (best[position - 1]?.weight as number));
    }
  }
  assert.ok(several > 20, `${several}`);
});

test('scheduler - what is advised, applied, lets the request fit on as many hosts as were named', () => {
  const codes = new Map<string, number>();
  for (let seed = 0; seed < 600; seed += 1) {
    const fleet = randomFleet(`advice ${seed}`, 12);
    const { view } = fleet;
    const spec = fleet.spec();
    const { fits, advice } = survey(view, spec);
    if (fits > 0) {
      assert.equal(advice, [], 'what fits needs no advice');
      continue;
    }
    assert.ok(advice.length <= 3);
    for (const one of advice) {
      codes.set(one.code, (codes.get(one.code) ?? 0) + 1);
      assert.match(words(one), /would fit|there are hosts/);
      if (one.code === 'host-state') {
        const back = [...view.hosts.values()].filter(({ state }) => state === one.about);
        const fitting = back.filter((host) => judged(view, spec, { ...host, state: 'up' }).obstacle === null);
        assert.is(fitting.length, one.hosts, `seed ${seed}`);
        continue;
      }
      const changed = applied(spec, one);
      assert.ok(changed, one.code);
      const now = hostsThatFit(view, changed).length;
      // Of amounts the nearest is named: hosts that could give it and no more, and those that others would do for too.
      if (one.code === 'less' || one.code === 'more') assert.ok(now >= one.hosts, `seed ${seed} ${words(one)}`);
      else assert.is(now, one.hosts, `seed ${seed} ${words(one)} ${JSON.stringify(spec)}`);
    }
  }
  for (const code of ['less', 'without-resource', 'without-required', 'without-forbidden', 'without-any-of']) {
    assert.ok((codes.get(code) ?? 0) > 2, `${code} ${JSON.stringify([...codes])}`);
  }
  for (const code of ['without-member-of', 'host-state', 'without-isolation']) {
    assert.ok((codes.get(code) ?? 0) > 0, `${code} ${JSON.stringify([...codes])}`);
  }
});

test('scheduler - when one condition less would do, something is advised', () => {
  let hopeless = 0;
  for (let seed = 0; seed < 300; seed += 1) {
    const fleet = randomFleet(`complete ${seed}`, 8);
    const { view } = fleet;
    const spec = fleet.spec();
    const { fits, advice } = survey(view, spec);
    if (fits > 0 || advice.length > 0) continue;
    hopeless += 1;
    const fewer: Advice[] = spec.groups.flatMap(({ name: group, resources, required, forbidden, anyOf, memberOf }) => [
      ...(required ?? []).map((about) => ({ code: 'without-required', group, about, hosts: 0 })),
      ...(forbidden ?? []).map((about) => ({ code: 'without-forbidden', group, about, hosts: 0 })),
      ...(anyOf ?? []).map((all) => ({ code: 'without-any-of', group, about: all.join(', '), hosts: 0 })),
      ...(memberOf ?? []).map((all) => ({ code: 'without-member-of', group, about: all.join(', '), hosts: 0 })),
      ...Object.keys(resources).map((about) => ({ code: 'less', group, about, to: 1, hosts: 0 })),
    ]);
    for (const one of [...fewer, { code: 'without-isolation', hosts: 0 }]) {
      const changed = applied(spec, one);
      assert.ok(changed);
      assert.is(hostsThatFit(view, changed).length, 0, `seed ${seed}: ${words(one)} ${JSON.stringify(spec)}`);
    }
  }
  assert.ok(hopeless > 0);
});

test('scheduler - for several instances, as many must fit: else fewer are advised', () => {
  const fleet = randomFleet('several', 20);
  const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: 2 } }], groupPolicy: 'none' };
  const { times, fits } = survey(fleet.view, spec);
  assert.ok(times > 2);
  assert.equal(survey(fleet.view, spec, times).advice, []);
  const [first] = survey(fleet.view, spec, times + 1).advice;
  assert.equal(first, { code: 'fewer-instances', from: times + 1, to: times, hosts: fits });
  for (const one of survey(fleet.view, spec, times + 1).advice.slice(1)) {
    if (one.code === 'host-state') {
      const back = [...fleet.view.hosts.values()].filter(({ state }) => state === one.about);
      const fitting = back.filter((host) => judged(fleet.view, spec, { ...host, state: 'up' }).obstacle === null);
      assert.is(fitting.length, one.hosts);
      assert.ok(fitting.length > 0);
      continue;
    }
    const changed = applied(spec, one);
    if (changed !== undefined) assert.ok(survey(fleet.view, changed).times > times, words(one));
  }
});

test('scheduler - for several instances, hosts that could give more than what is advised are counted too', () => {
  const advised = (count: number, ...free: number[]) => {
    const view = viewOf(...free.map((vcpu, n) => ({ host: `h${n}`, has: { VCPU: vcpu } })));
    return survey(view, { groups: [{ name: '', resources: { VCPU: 8 } }], groupPolicy: 'none' }, count).advice;
  };
  const less = (to: number, hosts: number) => [{ code: 'less', group: '', about: 'VCPU', from: 8, to, hosts }];
  assert.equal(advised(2, 6, 4, 4), less(4, 3));
  assert.equal(advised(2, 6, 4), less(4, 2));
  assert.equal(advised(2, 6), less(3, 1), 'both on the one host');
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

test('scheduler - for several instances, the largest amount with which all of them fit is advised', () => {
  const advised = (asked: number, count: number, ...free: number[]) => {
    const view = viewOf(...free.map((vcpu, n) => ({ host: `h${n}`, has: { VCPU: vcpu } })));
    const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: asked } }], groupPolicy: 'none' };
    return survey(view, spec, count).advice.filter(({ code }) => code === 'less');
  };
  const less = (from: number, to: number, hosts: number) => [
    { code: 'less', group: '', about: 'VCPU', from, to, hosts },
  ];
  assert.equal(advised(9, 5, 8), less(9, 1, 1));
  assert.equal(advised(100, 5, 96), less(100, 19, 1));
  assert.equal(advised(5, 4, 8, 7, 6, 3), less(5, 4, 3));
  assert.equal(advised(5, 4, 8, 3), less(5, 2, 2));
  assert.equal(advised(2, 10, 4, 4), []);

  const view = viewOf({ host: 'h1', has: { VCPU: 8 } }, { host: 'h2', has: { VCPU: 4 } });
  const instanceGroup = { id: 'g', policy: 'affinity' } as const;
  for (const asked of [5, 9]) {
    const spec = { groups: [{ name: '', resources: { VCPU: asked } }], groupPolicy: 'none' as const, instanceGroup };
    const amounts = survey(view, spec, 3).advice.filter(({ code }) => code === 'less');
    assert.equal(amounts, less(asked, 2, 2), 'all of them on one host');
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
  assert.equal(spread.advice, ['g0', 'g1', 'g2'].map(less));
  const spec: RequestSpec = { groups: groupsOf(2), groupPolicy: 'none', sameSubtree: [['g0', 'g1']] };
  const { advice } = survey(worldOf([nodes], 'VCPU'), spec);
  assert.equal(
    advice.filter(({ code }) => code === 'less'),
    ['g0', 'g1'].map(less),
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
  for (const { name: group, resources } of spec.groups) {
    for (const [resourceClass, asked] of Object.entries(resources)) {
      const one = { code: 'less', group, about: resourceClass, hosts: 0 };
      const wouldDo = (to: number) => isEnough(applied(spec, { ...one, to }) as RequestSpec);
      const step = asked > 100 ? 256 : 1;
      let largest = asked - step;
      while (largest > 0 && !wouldDo(largest)) largest -= step;
      const told = advice.find((other) => other.group === group && other.about === resourceClass && other.to);
      const where = `${about}: ${resourceClass} of '${group}': ${largest}, told ${JSON.stringify(advice)}`;
      if (told?.code === 'less') assert.ok(wouldDo(told.to as number), where);
      if (largest <= 0 || told?.code === 'more') continue;
      checked += 1;
      const others = advice.filter(({ code }) => code !== 'fewer-instances');
      if (told === undefined) {
        assert.is(others.length, 3, where);
        assert.not(
          others.some(({ code }) => code === 'without-resource'),
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

test('scheduler - without its group, a request fits only where the limit on instances lets it', () => {
  const { desks, ask, tellHost, deliver } = schedulersOf(
    [{ host: 'h1', has: { VCPU: 8 } }],
    [{ name: 's', filters: [instanceLimit(2)] }],
  );
  const instanceGroup = { id: 'g', policy: 'anti-affinity' } as const;
  const spec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' as const, instanceGroup };
  const allocations = [{ provider: 'p-h1', group: '', resources: { VCPU: 1 } }];
  ask({ type: 'claim', consumer: 'member', attempt: 1, spec, allocations, keep: [], expiresAt: 1e12 });
  tellHost({ host: 'h1', has: { VCPU: 8 }, instances: 1 });
  deliver();
  const adviceFor = (count: number) => {
    const [told] = desks[0]?.tell({ type: 'fit', ask: 1, spec, count, limit: 0 }, 'gateway/g').sent ?? [];
    return told?.message.type === 'fitted' ? told.message.advice : undefined;
  };
  assert.equal(adviceFor(3), []);
  assert.equal(adviceFor(1), [{ code: 'without-instance-group', hosts: 1 }]);
});

test('scheduler - of several instances at once, no more fit on a host than it may build at one time', () => {
  const group = { id: 'g', policy: 'affinity' } as const;
  for (const together of [{}, { instanceGroup: group }]) {
    const on = schedulersOf([{ host: 'h1', has: { VCPU: 8 }, builds: 1 }], [{ name: 's', filters: [buildLimit(3)] }]);
    const spec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' as const, ...together };
    const [told] = on.desks[0]?.tell({ type: 'fit', ask: 1, spec, count: 3, limit: 1 }, 'gateway/g').sent ?? [];
    if (told?.message.type !== 'fitted') throw new Error('no answer');
    const { times, best, advice } = told.message;
    assert.is(times, 2);
    assert.is(best[0]?.times, 2);
    assert.equal(advice[0], { code: 'fewer-instances', from: 3, to: 2, hosts: 1 });
    const chosen = (count: number) => {
      const instances = Array.from({ length: count }, (_, n) => `i${count}-${n}`);
      on.choose(selectFor(`r${count}`, { instances, spec }));
      return on.answers.filter(({ request }) => request === `r${count}`).map(({ type }) => type);
    };
    assert.equal(chosen(3), ['no-valid-host']);
    assert.equal(chosen(2), ['selected']);
  }
});

test('scheduler - for several instances, what is advised lets all of them fit', () => {
  let followed = 0;
  for (let seed = 0; seed < 400; seed += 1) {
    const fleet = randomFleet(`all of them ${seed}`, 6);
    const spec = fleet.spec();
    const { times } = survey(fleet.view, spec);
    const count = times + 1 + (seed % 5);
    for (const one of survey(fleet.view, spec, count).advice) {
      if (times === 0 || one.code === 'fewer-instances' || one.code === 'host-state') continue;
      const changed = applied(spec, one);
      assert.ok(changed, one.code);
      const now = survey(fleet.view, changed, count);
      assert.ok(now.times >= count, `seed ${seed}: ${words(one)} ${JSON.stringify(spec)}`);
      if (one.code !== 'less' && one.code !== 'more') assert.is(now.fits, one.hosts, `seed ${seed}: ${words(one)}`);
      followed += 1;
    }
  }
  assert.ok(followed > 20, String(followed));
});

test('scheduler - of several hosts that are away none is named where it is not enough', () => {
  const spec = { groups: [{ name: '', resources: { VCPU: 8 } }], groupPolicy: 'none' as const };
  const away = ['a', 'b', 'c'].map((host) => ({ host, state: 'disabled' as const }));
  const namedFor = (count: number, ...more: HostWords[]) =>
    survey(viewOf(...away, ...more), spec, count)
      .advice.filter(({ code }) => code === 'host-state')
      .map(({ hosts, host }) => [hosts, host]);
  assert.equal([namedFor(1), namedFor(2), namedFor(4)], [[[3, 'c1/a']], [[3, undefined]], []]);
  assert.equal(namedFor(2, { host: 'd' }), [[3, 'c1/a']], 'with the one that is there it is');
});

test('scheduler - of hosts that are away, the first to come back or the one with most room is named', () => {
  const view = viewOf(
    { host: 'a', has: { VCPU: 2 }, state: 'disabled' },
    { host: 'b', has: { VCPU: 9 }, state: 'disabled' },
    { host: 'less', has: { VCPU: 4 }, state: 'disabled' },
    { host: 'c', has: { VCPU: 8 } },
    { host: 'd', has: { VCPU: 8 } },
  );
  for (const [host, until] of [
    ['c', 9_000],
    ['d', 5_000],
  ] as const) {
    learnHost(view, 'c1', { host, provider: `p-${host}`, state: 'set-aside', until });
  }
  const spec = { groups: [{ name: '', resources: { VCPU: 2 } }], groupPolicy: 'none' as const };
  const { advice } = survey(view, spec, 2);
  assert.equal(advice, [
    { code: 'host-state', about: 'set-aside', hosts: 2, until: 5_000, host: 'c1/d' },
    { code: 'host-state', about: 'disabled', hosts: 3, host: 'c1/b' },
  ]);
  assert.equal(advice.map(words), [
    'c1/d, which is set aside until 5000, would fit (2 hosts in all)',
    'c1/b, which is disabled, would fit (3 hosts in all)',
  ]);
  // As schedulers of the version before tell it.
  const [{ host: _, ...first } = { code: '', hosts: 0 }] = advice;
  assert.is(words(first), '2 hosts that are set aside, the first until 5000, would fit');
  assert.is(words({ ...first, hosts: 1 }), '1 host that is set aside until 5000 would fit');
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
    /; nearest c1\/b: 33 VCPU on provider 'b' violates its inventory's max_unit 32 \(short by 1\)$/,
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

test('scheduler - for several instances, a rule, limit or trait is advised against that leaves too few of the hosts that fit', () => {
  const hosts = ['h1', 'h2', 'h3'].map((host) => ({ host, has: { VCPU: 4 }, instances: 1 }));
  const plain: RequestSpec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' };
  const adviceFor = (spec: RequestSpec, count: number, filters: Filter[] = []) => {
    const all = schedulersOf(hosts, [{ name: 's', filters }]);
    const [told] = all.desks[0]?.tell({ type: 'fit', ask: 1, spec, count, limit: 1 }, 'gateway/g').sent ?? [];
    if (told?.message.type !== 'fitted') throw new Error('no answer');
    return told.message.advice.map(({ code, about, hosts: on }) => [code, about, on]);
  };
  const apart = { ...plain, instanceGroup: { id: '/g', policy: 'anti-affinity' as const } };
  const together = { ...plain, instanceGroup: { id: '/g', policy: 'affinity' as const } };
  const without = ['without-instance-group', undefined, 3];
  assert.equal(adviceFor(apart, 5), [['fewer-instances', undefined, 3], without]);
  assert.equal(adviceFor(together, 6), [['fewer-instances', undefined, 3], without]);
  assert.equal(adviceFor(plain, 7, [instanceLimit(3)]), [
    ['fewer-instances', undefined, 3],
    ['without-filter', 'instance-limit', 3],
  ]);
  // Without the one limit, the other stands in the way.
  assert.equal(adviceFor(plain, 7, [instanceLimit(3), buildLimit(2)]), [['fewer-instances', undefined, 3]]);
  assert.equal(adviceFor(plain, 7, [instanceLimit(1), buildLimit(2)]), []);
  assert.equal(adviceFor(plain, 6, [instanceLimit(1), buildLimit(2)]), [['without-filter', 'instance-limit', 3]]);
});

test('scheduler - hosts of a cell or placement shard that is silent come last in a dry run, as in a choice, and it is named', () => {
  let compared = 0;
  for (let seed = 0; seed < 20; seed += 1) {
    const view = { ...randomFleet(`silent ${seed}`, 30).view, shards: 3 };
    view.silentCells.add('c1');
    noteShard(view, 2, true);
    const isUnclaimed = (host: string) => placementShardOf(host.replace('h', 'p'), 3) === 2;
    const silenceOf = ({ cell, host }: FittingHost) => (isUnclaimed(host) ? 2 : Number(cell === 'c1'));
    const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' };
    const all = survey(view, spec, 1, 100);
    assert.equal([all.silentCells, all.silentShards], [['c1'], [2]]);
    assert.is(all.best.length, all.fits);
    for (const { host, silentShard } of all.best) assert.is(silentShard, isUnclaimed(host) ? 2 : undefined);
    const silences = all.best.map(silenceOf);
    assert.equal(silences, [...silences].sort(), 'the silent ones are last');
    for (const silence of [0, 1, 2]) {
      const weights = all.best.filter((one) => silenceOf(one) === silence).map(({ weight }) => weight);
      assert.equal(
        weights,
        [...weights].sort((one, other) => other - one),
      );
      compared += weights.length;
    }
    const few = survey(view, spec, 1, 3);
    assert.equal(few.best, all.best.slice(0, 3));
    const chosen = best(emptyRankings(DEFAULT_WEIGHERS, 's'), view, { spec }, () => false);
    assert.is(chosen?.cell === 'c1', all.best[0]?.cell === 'c1');
    if (chosen !== null) assert.is(isUnclaimed(chosen.host), silences[0] === 2);
  }
  assert.ok(compared > 100, `${compared}`);
});

test('scheduler - for several instances, many traits that hold none of the hosts back do not take the place of what helps', () => {
  const traits = Array.from({ length: 64 }, (_, n) => `CUSTOM_${n}`);
  const view = viewOf(...['h1', 'h2', 'h3'].map((host) => ({ host, has: { VCPU: 16 }, traits })));
  const group = { name: '', resources: { VCPU: 14 } };
  const asked: RequestSpec[] = [
    { groups: [{ ...group, required: traits }], groupPolicy: 'none' },
    { groups: [group], groupPolicy: 'none', rootRequired: traits },
  ];
  for (const spec of asked) {
    const { advice } = survey(view, spec, 9);
    assert.equal(
      advice.map(({ code, to }) => [code, to]),
      [
        ['fewer-instances', 3],
        ['less', 5],
      ],
    );
  }
});

test.run();
