// Area: scheduler, dry runs and advice. A survey counts every host and every time that a request fits; what is advised
// has been tried: applied, it makes the request fit on as many hosts as were named.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fit } from '../../actors/fitting/fit.ts';
import { timesIn } from '../../actors/fitting/fit-times.ts';
import type { Advice } from '../../actors/messages/advice.ts';
import type { InstanceGroup, RequestSpec, ResourceGroup } from '../../actors/messages/common.ts';
import { unpackDecision } from '../../actors/messages/stored-decision.ts';
import { adjustUse } from '../../actors/placement/providers.ts';
import { addTo, fewestLeftOut, type Parts } from '../../actors/scheduler/advice/lists.ts';
import { noRoom } from '../../actors/scheduler/advice/rooms.ts';
import { obstacleWords } from '../../actors/scheduler/explaining/explain.ts';
import type { Filter } from '../../actors/scheduler/filters/filter.ts';
import { buildLimit, instanceLimit } from '../../actors/scheduler/filters/limits.ts';
import { allFiltersFor, judge } from '../../actors/scheduler/ranking/judging.ts';
import type { Request } from '../../actors/scheduler/request.ts';
import { learnMembers } from '../../actors/scheduler/view/groups-view.ts';
import { learnProvider, treeOf, type ViewHost } from '../../actors/scheduler/view/view.ts';
import { type HostWords, inventory, viewOf } from '../support/facts.ts';
import { randomFleet } from '../support/fleets.ts';
import { schedulersOf, selectFor } from '../support/schedulers.ts';
import { adviceWith, applied, emptied, hostsThatFit, judged, survey, surveyFor, words } from '../support/survey.ts';

const test = suite('scheduler - dry runs and advice');

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
            const one = byId.get(provider);
            if (one !== undefined) adjustUse(one, { [resourceClass]: amount }, 1);
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

test('scheduler - of several that keep together, a host fits if it has room for all of them, and so with what is advised', () => {
  const seen = { someOnly: 0, advised: 0 };
  const instanceGroup = { id: 'p/g', policy: 'affinity' } as const;
  const count = 3;
  for (let seed = 0; seed < 200; seed += 1) {
    const fleet = randomFleet(`together ${seed}`, 12);
    const { view } = fleet;
    const spec = { ...fleet.spec(), instanceGroup };
    const roomFor = (asked: RequestSpec, on = view) =>
      hostsThatFit(on, asked).map(({ root }) => timesIn(asked, treeOf(on, root), count));
    const rooms = roomFor(spec);
    const holding = (all: readonly number[]) => all.filter((room) => room === count).length;
    const { hosts, fits, times, refused, best, advice } = survey(view, spec, count);
    assert.is(fits, holding(rooms), `seed ${seed}`);
    assert.is(Math.min(times, count), Math.max(0, ...rooms));
    assert.is(
      refused.reduce((sum, one) => sum + one.hosts, fits),
      hosts,
    );
    assert.ok(best.every((one) => one.times >= count));
    const most = hostsThatFit(view, spec).map(({ root }) => timesIn(spec, treeOf(view, root), 1_000_000));
    assert.is(survey(view, spec, 1).times, Math.max(0, ...most), 'on the one host that holds most');
    const some = rooms.filter((room) => room > 0 && room < count);
    const together = refused.find(({ code }) => code === 'no-room-together');
    assert.is(together?.hosts ?? 0, some.length);
    if (some.length > 0) assert.is(together?.nearest?.short, count - Math.max(...some));
    if (some.length > 0 && fits === 0) seen.someOnly += 1;
    for (const one of advice) {
      if (one.code === 'fewer-instances') {
        assert.equal([one.to, one.hosts], [Math.max(...rooms), rooms.filter((room) => room === one.to).length]);
        continue;
      }
      const changed = applied(spec, one);
      if (changed === undefined || one.code === 'without-instance-group') continue;
      const on = one.code === 'when-empty' ? emptied(view) : view;
      assert.is(one.hosts, holding(roomFor(changed, on)), `seed ${seed}, ${words(one)}`);
      assert.equal([one.instances, one.instancesTogether], [undefined, count]);
      seen.advised += 1;
    }
  }
  assert.ok(seen.someOnly > 10 && seen.advised > 10, JSON.stringify(seen));
});

test('scheduler - of several that keep together more stands in the way where a limit lets in fewer than all', () => {
  const spec = {
    groups: [{ name: '', resources: { VCPU: 8 } }],
    groupPolicy: 'none' as const,
    instanceGroup: { id: 'p/g', policy: 'affinity' } as const,
  };
  const nearestWith = (limit: number, instances: number, vcpu: number) => {
    const hosts = [{ host: 'h1', has: { VCPU: vcpu }, instances }];
    const on = schedulersOf(hosts, [{ name: 's', filters: [instanceLimit(limit)] }]);
    const [told] = on.desks[0]?.tell({ type: 'fit', ask: 1, spec, count: 2, limit: 1 }, 'gateway/g').sent ?? [];
    return told?.message.type === 'fitted' ? told.message.refused.map(({ nearest }) => nearest) : [];
  };
  const near = { cell: 'c1', host: 'h1' };
  assert.equal(nearestWith(3, 0, 6), [{ ...near, short: 10 }], 'with 2 more there is room for one');
  assert.equal(nearestWith(1, 0, 6), [{ ...near, short: 10, lacksMore: true }]);
  assert.equal(nearestWith(1, 1, 64), [{ ...near, short: 2 }], 'one more would let in one of them, and two both');
  assert.equal(nearestWith(1, 1, 6), [{ ...near, short: 2, lacksMore: true }], 'and then there is no room');
  const named = { ...spec, tree: { oneOf: ['p-h1'] } };
  const full = { host: 'h1', has: { VCPU: 64 }, instances: 1 };
  const on = schedulersOf([full], [{ name: 's', filters: [instanceLimit(1)] }]);
  const asked = { type: 'fit', ask: 1, spec: named, count: 2, limit: 1 } as const;
  const [fitted] = on.desks[0]?.tell(asked, 'gateway/g').sent ?? [];
  const onNamed = fitted?.message.type === 'fitted' ? fitted.message.onNamed : undefined;
  assert.equal([onNamed?.told[0]?.refusal.code, onNamed?.told[0]?.refusal.short], ['too-many-instances', 2]);
  const answer = on.choose({ ...selectFor('r', { instances: ['r-0', 'r-1'] }), spec });
  assert.is(
    answer?.type === 'no-valid-host' && answer.reason,
    "none of 1 host: 1 too-many-instances (as many as they may have); nearest c1/h1: host 'h1' has 1 instance, and may have 1; " +
      "if filter 'instance-limit' allowed more, both instances would fit on 1 host",
  );
});

test('scheduler - of several that keep together, a host with room for some is emptied in thought too', () => {
  const view = viewOf(
    { host: 'h1', has: { VCPU: 16 }, used: { VCPU: 8 }, instances: 1 },
    { host: 'h2', has: { VCPU: 8 } },
    { host: 'h3', has: { VCPU: 24 }, used: { VCPU: 23 }, instances: 2 },
  );
  const groups = [{ name: '', resources: { VCPU: 8 } }];
  const instanceGroup = { id: 'p/g', policy: 'affinity' } as const;
  const spec = { groups, groupPolicy: 'none' as const, instanceGroup };
  const emptying = (count: number) => survey(view, spec, count).advice.find(({ code }) => code === 'when-empty');
  const both = emptying(2);
  assert.equal(both, { code: 'when-empty', hosts: 2, instancesTogether: 2, needed: 1, named: ['c1/h1'] });
  assert.is(both && words(both), 'with c1/h1 empty, both instances would fit');
  assert.equal(emptying(3)?.named, ['c1/h3']);
  learnMembers(view.groups, 'p-h1', { 'p/g': 1 }, undefined);
  assert.is(emptying(2), undefined, 'members of the group are to stay');
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
      assert.match(words(one), /would fit|there (are hosts|is a host)/);
      if (one.code === 'host-state') {
        const back = [...view.hosts.values()].filter(({ state }) => state === one.about);
        const fitting = back.filter((host) => judged(view, spec, { ...host, state: 'up' }).obstacle === null);
        assert.is(fitting.length, one.hosts, `seed ${seed}`);
        continue;
      }
      if (one.code === 'when-empty') {
        assert.is(hostsThatFit(emptied(view), spec).length, one.hosts, `seed ${seed}`);
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
  for (const code of ['less', 'when-empty', 'without-required', 'without-forbidden', 'without-any-of']) {
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
      ...(required ?? []).map((about): Advice => ({ code: 'without-required', group, about, hosts: 0 })),
      ...(forbidden ?? []).map((about): Advice => ({ code: 'without-forbidden', group, about, hosts: 0 })),
      ...(anyOf ?? []).map((all): Advice => ({ code: 'without-any-of', group, about: all.join(', '), hosts: 0 })),
      ...(memberOf ?? []).map((all): Advice => ({ code: 'without-member-of', group, about: all.join(', '), hosts: 0 })),
      ...Object.keys(resources).map((about): Advice => ({ code: 'less', group, about, to: 1, hosts: 0 })),
    ]);
    for (const one of [...fewer, { code: 'without-isolation' as const, hosts: 0 }]) {
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
  assert.equal(adviceFor(1), [
    { code: 'without-instance-group', about: 'g', hosts: 1 },
    { code: 'when-empty', hosts: 1, named: ['c1/h1'] },
  ]);
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
    assert.is(best[0]?.times, 'instanceGroup' in together ? undefined : 2);
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

test('scheduler - of a list of what to avoid the one element is advised that stands in the way, and as many as are needed where none alone does', () => {
  const view = viewOf(
    { host: 'h1', cell: 'c1', aggregates: ['a1'] },
    { host: 'full', cell: 'c2', aggregates: ['a2'], used: { VCPU: 8 } },
    { host: 'h3', cell: 'c3', aggregates: ['a3', 'a4'] },
    { host: 'h4', cell: 'c3', aggregates: ['a1', 'a3'] },
    { host: 'h5', cell: 'c1', aggregates: ['a1'] },
  );
  const toldOf = (count: number, where: Request['where'], tree: RequestSpec['tree'] = {}) => {
    const spec = { groups: [{ name: '', resources: { VCPU: 6 } }], groupPolicy: 'none' as const, tree };
    return surveyFor(view, { spec, where }, count).advice.map(words).slice(0, 1);
  };
  const cells = (...avoidCells: string[]) => ({ avoidCells });
  assert.equal(toldOf(1, cells('c1', 'c2', 'c3')), ['if it need not avoid cell c1, it would fit on 2 hosts']);
  assert.equal(toldOf(3, cells('c1', 'c2', 'c3')), [
    'if it need not avoid cells c1, c3, all 3 instances would fit on 4 hosts',
  ]);
  const ids = ['a1', 'a2', 'a3', 'a4'];
  const avoidAggregates = { origins: { avoidAggregates: [0, 1, 2, 3] } };
  assert.equal(toldOf(1, avoidAggregates, { notMemberOf: ids }), [
    'if aggregate a1 need not be avoided, it would fit on 2 hosts',
  ]);
  assert.equal(toldOf(3, avoidAggregates, { notMemberOf: ids }), [
    'if aggregates a1, a3 need not be avoided, all 3 instances would fit on 3 hosts',
  ]);
  const avoidZones = {
    origins: { avoidZones: ids.map((_, position) => ({ name: `z${position + 1}`, closed: [position] })) },
  };
  assert.equal(toldOf(1, avoidZones, { notMemberOf: ids }), [
    "if zone 'z1' need not be avoided, it would fit on 2 hosts",
  ]);
  const noneOf = ['full', 'h1', 'h3', 'h4', 'h5'].map((host) => `p-${host}`);
  assert.equal(toldOf(1, undefined, { noneOf }), ['if it need not avoid c1/h1, it would fit on 1 host']);
  assert.equal(toldOf(2, undefined, { noneOf }), [
    'if it need not avoid c1/h1, c1/h5, both instances would fit on 2 hosts',
  ]);
});

test('scheduler - of a list of what to avoid nothing is to be left out that is not needed beside the others', () => {
  const parts: Parts = new Map();
  addTo(parts, ['c'], 3);
  for (const names of [['a'], ['b'], ['a', 'b']]) addTo(parts, names, 2);
  const leftOut = (count: number) => {
    const { names, room } = fewestLeftOut(parts, noRoom(), ({ times }) => times >= count);
    return [names.toSorted().join(), room.times];
  };
  assert.equal(leftOut(3), ['c', 3]);
  assert.equal(leftOut(6), ['a,b', 6], 'together they let in what each would keep out');
  assert.equal(leftOut(9), ['a,b,c', 9]);
});

test('scheduler - where none of the hosts that a request names would do, it is advised to name none', () => {
  const view = viewOf({ host: 'h1', used: { VCPU: 8 } }, { host: 'h2' }, { host: 'h3' });
  const groups = [{ name: '', resources: { VCPU: 1 } }];
  const { advice } = survey(view, { groups, groupPolicy: 'none', tree: { oneOf: ['p-h1'] } });
  assert.equal(advice[0], { code: 'without-hosts', hosts: 2 });
});

test('scheduler - a host is not advised to be emptied of those with whom a request must be', () => {
  const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: 8 } }], groupPolicy: 'none' };
  const view = viewOf({ host: 'h1', used: { VCPU: 5 } }, { host: 'h2', used: { VCPU: 5 } });
  const codesOf = (asked: Partial<Request> = {}) => surveyFor(view, { spec, ...asked }).advice.map(({ code }) => code);
  assert.equal(codesOf(), ['less', 'when-empty']);
  assert.equal(codesOf({ company: { near: new Set(['p-h1']), far: new Set() } }), ['less']);
  learnMembers(view.groups, 'p-h1', { '/g': 1 }, undefined);
  const inGroup = (policy: InstanceGroup['policy']) =>
    codesOf({ spec: { ...spec, instanceGroup: { id: '/g', policy } } });
  assert.equal(inGroup('affinity'), ['less']);
  assert.equal(inGroup('soft-affinity'), ['less', 'when-empty'], 'what it would rather have it does without');
});

test('scheduler - of instances to be kept apart from those are named that are where it would fit', () => {
  const full = { VCPU: 7 };
  const view = viewOf({ host: 'h1', used: full }, { host: 'h2' }, { host: 'h3', used: full }, { host: 'h4' });
  const farFrom = new Map([
    ['p-h1', ['a1']],
    ['p-h2', ['a2', 'b2']],
    ['p-h3', ['a3']],
    ['p-h4', ['a1', 'a4']],
  ]);
  const company = { far: new Set(farFrom.keys()), farFrom };
  const spec = { groups: [{ name: '', resources: { VCPU: 6 } }], groupPolicy: 'none' as const };
  const toldOf = (count: number) => surveyFor(view, { spec, company }, count).advice;
  const named = ['c1/h1', 'c1/h2', 'c1/h3'];
  assert.equal(toldOf(1), [
    { code: 'without-different-host', about: 'a1, a4', hosts: 1 },
    { code: 'when-empty', hosts: 4, named },
  ]);
  assert.equal(toldOf(2), [
    { code: 'without-different-host', about: 'a1, a4, a2, b2', hosts: 2, instances: 2 },
    { code: 'when-empty', hosts: 4, instances: 2, needed: 2, named: named.slice(0, 2) },
  ]);
});

test('scheduler - of instances that keep together fewer are advised with the hosts that hold all of those', () => {
  const view = viewOf(
    { host: 'h1' },
    { host: 'h2', used: { VCPU: 6 } },
    { host: 'h3' },
    { host: 'h4', used: { VCPU: 1 } },
  );
  const spec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' as const };
  const fewer = (policy?: 'affinity') =>
    survey(view, { ...spec, ...(policy && { instanceGroup: { id: '/g', policy } }) }, 30).advice[0];
  assert.equal(fewer('affinity'), { code: 'fewer-instances', from: 30, to: 8, hosts: 2 });
  assert.equal(fewer(), { code: 'fewer-instances', from: 30, to: 25, hosts: 4 });
});

test('scheduler - where groups ask for the same, what is advised on one is not said of the others too', () => {
  const gpu = (name: string, amount = 4) => ({ name, resources: { VGPU: amount } });
  const spec: RequestSpec = {
    groups: [{ name: '', resources: { VCPU: 1 } }, gpu('g1'), gpu('g2'), gpu('g3')],
    groupPolicy: 'none',
  };
  const view = viewOf({ host: 'h1', has: { VCPU: 8, VGPU: 8 } }, { host: 'h2', has: { VCPU: 8, VGPU: 9 } });
  const toldOf = (asked: RequestSpec) => survey(view, asked).advice.map(words);
  assert.equal(toldOf(spec), [
    "with 3 VGPU less in group 'g1' (1 instead of 4) it would fit on 1 host",
    "if group 'g1' were left out, it would fit on 2 hosts",
    "with 1 VGPU less in each of the groups 'g1', 'g2', 'g3' (3 instead of 4) it would fit on 1 host",
  ]);
  const differing = { ...spec, groups: [...spec.groups.slice(0, 2), gpu('g2', 5), gpu('g3')] };
  assert.equal(
    survey(view, differing).advice.map(({ code, group }) => [code, group]),
    [
      ['less', 'g2'],
      ['without-group', 'g2'],
      ['without-group', 'g1'],
    ],
  );
});

test('scheduler - where groups that ask for the same all stand in the way, one change of all of them is advised', () => {
  const gpu = (name: string, asked: object) => ({ name, resources: { VGPU: 4 }, ...asked });
  const view = viewOf({ host: 'h1', has: { VCPU: 8, VGPU: 8 } }, { host: 'h2', has: { VCPU: 8 } });
  const toldOf = (asked: object, count: number) =>
    survey(view, {
      groups: Array.from({ length: count }, (_, n) => gpu(`g${n}`, asked)),
      groupPolicy: 'none',
    }).advice.map(words);
  const required = { required: ['CUSTOM_V100'] };
  assert.equal(toldOf(required, 1), ["if trait CUSTOM_V100 were not required in group 'g0', it would fit on 1 host"]);
  assert.equal(toldOf(required, 2), [
    "if trait CUSTOM_V100 were not required in each of the groups 'g0', 'g1', it would fit on 1 host",
  ]);
  assert.equal(toldOf({ resources: { VGPU: 9 } }, 2), [
    "with 5 VGPU less in each of the groups 'g0', 'g1' (4 instead of 9) it would fit on 1 host",
  ]);
  assert.equal(toldOf({ ...required, resources: { VGPU: 9 } }, 2), [], 'these are two changes');
  const written = [
    { name: 'a', resources: { VGPU: 9, VCPU: 1 }, forbidden: [] },
    { name: 'b', resources: { VCPU: 1, VGPU: 9 } },
  ];
  assert.match(survey(view, { groups: written, groupPolicy: 'none' }).advice.map(words).join(), /groups 'a', 'b'/);
});

test('scheduler - advice is put as grammar has it, for one and for several', () => {
  const told = (code: Advice['code'], about: string) => words({ code, about, hosts: 1 });
  assert.equal(
    [told('without-cells', 'c9'), told('without-cells', 'c9, c8'), told('without-avoid-cells', 'c1, c2')],
    [
      'if it need not be in cell c9, it would fit on 1 host',
      'if it need not be in cells c9, c8, it would fit on 1 host',
      'if it need not avoid cells c1, c2, it would fit on 1 host',
    ],
  );
  assert.is(told('without-member-of', 'a2'), 'if it need not be in aggregate a2, it would fit on 1 host');
  assert.is(
    told('without-member-of', 'a2, a9'),
    'if it need not be in one of the aggregates a2, a9, it would fit on 1 host',
  );
  const together = { code: 'without-resource' as const, about: 'VGPU', instancesTogether: 12 };
  assert.is(words({ ...together, hosts: 1 }), 'if no VGPU were asked for, all 12 instances would fit on 1 host');
  assert.is(
    words({ ...together, hosts: 3 }),
    'if no VGPU were asked for, all 12 instances would fit on each of 3 hosts',
  );
  const back = { code: 'host-state' as const, about: 'disabled', host: 'c1/h1' };
  assert.is(words({ ...back, hosts: 1 }), 'with c1/h1, which is disabled, it would fit');
  assert.is(words({ ...back, hosts: 2 }), 'with c1/h1, which is disabled, it would fit (one of 2 such hosts)');
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
      if (one.code === 'when-empty') {
        assert.ok(survey(emptied(fleet.view), spec, count).times >= count, `seed ${seed}: ${words(one)}`);
        continue;
      }
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
  const without = ['without-instance-group', 'g', 3];
  assert.equal(adviceFor(apart, 5), [['fewer-instances', undefined, 3], ['more-per-host', 'g', 3], without]);
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

test('scheduler - for several instances, a trait or a class is advised against that leaves too few where all hosts fit', () => {
  const view = viewOf(...['h1', 'h2'].map((host) => ({ host, has: { VCPU: 8, MEMORY_MB: 1 } })));
  for (const host of ['h1', 'h2']) {
    for (const traits of [['CUSTOM_FAST'], []]) {
      const id = `p-${host}-${traits.length}`;
      const told = { id, name: id, parent: `p-${host}`, root: `p-${host}`, generation: 1, aggregates: [], used: {} };
      learnProvider(view, { ...told, traits, inventories: { VGPU: inventory(1) } });
    }
  }
  const adviceFor = (group: ResourceGroup) =>
    survey(view, { groups: [group], groupPolicy: 'none' }, 3).advice.map(({ code, about, hosts }) => [
      code,
      about,
      hosts,
    ]);
  const fewer = ['fewer-instances', undefined, 2];
  assert.equal(adviceFor({ name: 'gpu', resources: { VGPU: 1 }, required: ['CUSTOM_FAST'] }), [
    fewer,
    ['without-required', 'CUSTOM_FAST', 2],
  ]);
  assert.equal(adviceFor({ name: '', resources: { VCPU: 1, MEMORY_MB: 1 } }), [
    fewer,
    ['without-resource', 'MEMORY_MB', 2],
  ]);
});

test('scheduler - of limits it is said that they are reached, and of hosts that are avoided which they are', () => {
  assert.is(
    words({ code: 'without-filter', about: 'instance-limit', hosts: 2 }),
    "if filter 'instance-limit' allowed more, it would fit on 2 hosts",
  );
  assert.is(obstacleWords({ code: 'too-many-instances', hosts: 3 }), '3 too-many-instances (as many as they may have)');
  // A code of a filter of one's own, and nothing more, though every object has something of that name.
  assert.is(obstacleWords({ code: 'constructor', hosts: 3 }), '3 constructor');
  const view = viewOf({ host: 'h1' });
  const spec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' as const };
  const messageFor = (tree: RequestSpec['tree']) => {
    const [host] = view.hosts.values();
    return judged(view, { ...spec, tree: tree ?? {} }, host as ViewHost).obstacle?.message;
  };
  assert.is(messageFor({ noneOf: ['p-h1'] }), "host 'c1/h1' is one that the request avoids");
  assert.is(messageFor({ oneOf: ['p-h2'] }), "host 'c1/h1' is none of those that the request names");
});

test('scheduler - hosts that a filter lets have a changed request count among those on which it would fit', () => {
  const notMany: Filter = {
    name: 'not-many',
    refusal: ({ traits }, spec) =>
      traits.has('CUSTOM_SMALL') && (spec as RequestSpec).groups.some(({ resources: { VCPU = 0 } }) => VCPU > 4)
        ? { code: 'too-many', message: 'it is for small ones' }
        : null,
  };
  const view = viewOf(
    { host: 'h1', has: { VCPU: 4, MEMORY_MB: 8 } },
    { host: 'h2', has: { VCPU: 8, MEMORY_MB: 8 }, traits: ['CUSTOM_SMALL'] },
    { host: 'h3', has: { VCPU: 3, MEMORY_MB: 8 }, traits: ['CUSTOM_SMALL'] },
  );
  const resources = { VCPU: 6, MEMORY_MB: 2 };
  const told = (count = 1) =>
    adviceWith([notMany], view, { spec: { groups: [{ name: '', resources }], groupPolicy: 'none' } }, count);
  const without = { code: 'without-resource', group: '', about: 'VCPU' };
  assert.equal(told(), [
    { code: 'less', group: '', about: 'VCPU', from: 6, to: 4, hosts: 2 },
    { code: 'without-filter', about: 'not-many', hosts: 1 },
    { ...without, hosts: 3 },
  ]);
  assert.equal(told(12).at(-1), { ...without, hosts: 3, instances: 12 });
});

test('scheduler - hosts that are full, and have as many instances as they may, would do if they were empty', () => {
  const full = { used: { VCPU: 6 }, instances: 2 };
  const hosts = ['h1', 'h2', 'h3', 'h4', 'h5'].map((host, at) => ({ host, ...full, instances: 2 + at }));
  const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: 7 } }], groupPolicy: 'none' };
  const told = (filters: readonly Filter[], asked: Partial<Request> = {}) =>
    adviceWith(filters, viewOf({ host: 'small', has: { VCPU: 6 }, used: { VCPU: 1 }, instances: 9 }, ...hosts), {
      spec,
      ...asked,
    });
  const named = ['c1/h1', 'c1/h2', 'c1/h3'];
  const whenEmpty = [{ code: 'when-empty', hosts: 5, named }];
  assert.equal(told([instanceLimit(2)]), whenEmpty);
  assert.equal(told([instanceLimit(2), buildLimit(1)]), whenEmpty);
  assert.equal(told([], { company: { far: new Set(['p-h1', 'p-h4']) } })[1], {
    code: 'when-empty',
    hosts: 5,
    named,
  });
  assert.equal(told([instanceLimit(0)]), [], 'not those that may have none');
  const cold: Filter = { name: 'cold', refusal: () => ({ code: 'cold', message: 'it is cold' }) };
  assert.equal(told([instanceLimit(2), cold]), [], 'nor where something else refuses them');
  const [advice] = told([instanceLimit(2)]);
  assert.is(words(advice as Advice), 'it would fit on 5 hosts if they were empty, such as c1/h1, c1/h2, c1/h3');
  assert.is(
    words({ code: 'when-empty', hosts: 1, named: ['c1/h1'] }),
    'it would fit on 1 host if it were empty: c1/h1',
  );
});

test('scheduler - a limit that aggregates set is told as theirs, and what is advised is to change all that are in the way', () => {
  const view = viewOf(
    { host: 'h1', instances: 2, aggregates: ['rack-1'] },
    { host: 'h2', instances: 3, aggregates: ['rack-2', 'rack-1'] },
    { host: 'h3', instances: 9 },
  );
  const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' };
  const ofRacks = new Map([
    ['rack-1', 2],
    ['rack-2', 1],
  ]);
  const filters = [instanceLimit(5, ofRacks)];
  const limit = { code: 'without-filter', about: 'instance-limit' };
  const aggregates = ['rack-1', 'rack-2'];
  const [first] = adviceWith(filters, view, { spec });
  assert.equal(first, { ...limit, hosts: 3, aggregates, own: true });
  assert.is(
    words(first as Advice),
    "if filter 'instance-limit', and aggregates rack-1, rack-2, allowed more, it would fit on 3 hosts",
  );
  const refusals = [...view.hosts.values()].map(
    (host) => judge(view, allFiltersFor(filters, { spec }), spec, host).obstacle,
  );
  assert.equal(
    refusals.map((one) => [one?.code, one?.about, one?.message]),
    [
      ['too-many-instances', undefined, "host 'h1' has 2 instances, and may have 2 as in aggregate rack-1"],
      ['too-many-instances', undefined, "host 'h2' has 3 instances, and may have 1 as in aggregate rack-2"],
      ['too-many-instances', undefined, "host 'h3' has 9 instances, and may have 5"],
    ],
  );
  const some = viewOf({ host: 'h1', instances: 1, aggregates: ['rack-1'] }, { host: 'h2', instances: 5 });
  assert.equal(adviceWith(filters, some, { spec }, 3), [
    { code: 'fewer-instances', from: 3, to: 1, hosts: 1 },
    { ...limit, hosts: 2, instances: 3, aggregates: ['rack-1'], own: true },
    { code: 'when-empty', hosts: 2, instances: 3, needed: 1, named: ['c1/h2'] },
  ]);
  const other = viewOf(
    { host: 'h1', instances: 2, aggregates: ['rack-1', 'rack-9'] },
    { host: 'h2', has: { VCPU: 1 } },
    { host: 'h3', has: { VCPU: 1 }, aggregates: ['rack-9'] },
  );
  const binding = adviceWith([instanceLimit(50, new Map([...ofRacks, ['rack-9', 100]]))], other, { spec }, 4);
  assert.equal(
    binding.map(({ code, aggregates, own }) => [code, aggregates, own]).slice(1, 2),
    [['without-filter', ['rack-1'], undefined]],
    'none that lets it have more',
  );
  const racks = Array.from({ length: 12 }, (_, n) => `rack-${n + 10}`);
  const many = viewOf(...racks.map((rack) => ({ host: rack, instances: 1, aggregates: [rack] })));
  const builds = buildLimit(0, new Map(racks.map((rack) => [rack, 0])));
  const [all] = adviceWith([builds], many, { spec });
  const named = { aggregates: racks.slice(0, 3), needed: 12 };
  assert.equal(all, { code: 'without-filter', about: 'build-limit', hosts: 12, ...named });
  assert.is(
    words(all as Advice),
    'if aggregates rack-10, rack-11, rack-12 and 9 more allowed more, it would fit on 12 hosts',
  );
});

test('scheduler - of hosts that are only busy with builds it is said that they need but be built', () => {
  const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: 2 } }], groupPolicy: 'none' };
  const view = viewOf(
    { host: 'h1', builds: 1, instances: 2 },
    { host: 'h2', builds: 1, instances: 5 },
    { host: 'h3', builds: 1, has: { VCPU: 1 } },
  );
  const told = (filters: readonly Filter[], count = 1) =>
    adviceWith(filters, view, { spec }, count).map(({ code, hosts, instances }) => [code, hosts, instances]);
  const busy = (hosts: number) => [
    ['when-built', hosts, undefined],
    ['without-filter', hosts, undefined],
  ];
  assert.equal(told([buildLimit(1)]), busy(2));
  assert.equal(
    told([buildLimit(1), instanceLimit(5)]).slice(0, 2),
    busy(1),
    'not one that has too many instances, too',
  );
  assert.equal(told([buildLimit(1)], 2)[0], ['when-built', 2, 2]);
  assert.is(told([buildLimit(1)], 3)[0]?.[0], 'without-filter', 'they would build no more than that at once');
  assert.equal(told([buildLimit(0)]), [['without-filter', 2, undefined]]);
  const full = viewOf({ host: 'h1', builds: 1, instances: 1, has: { VCPU: 4 }, used: { VCPU: 4 } });
  assert.equal(
    adviceWith([buildLimit(1)], full, { spec }).map(({ code }) => code),
    ['when-empty'],
    'one that is full as well',
  );
  const partly = viewOf({ host: 'h1', builds: 2, instances: 2, has: { VCPU: 4 }, used: { VCPU: 2 } });
  assert.equal(
    adviceWith([buildLimit(2)], partly, { spec }, 2).map(({ code }) => code),
    ['when-empty'],
    'or has room for some only',
  );
  const [first] = adviceWith([buildLimit(1)], view, { spec });
  assert.is(words(first as Advice), 'it would fit on 2 hosts when what is being built on them is built');
});

test('scheduler - of hosts that would have to be empty it is said how many, and those are named that would hold most', () => {
  const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' };
  const full = (host: string, vcpu: number) => ({ host, has: { VCPU: vcpu }, used: { VCPU: vcpu }, instances: vcpu });
  const view = viewOf(full('h1', 1), full('h2', 2), full('h3', 3), full('h4', 64), { host: 'h5', has: { VCPU: 2 } });
  const adviceFor = (count: number) => adviceWith([], view, { spec }, count).find(({ code }) => code === 'when-empty');
  const advice = adviceFor(12);
  assert.equal(advice, { code: 'when-empty', hosts: 5, instances: 12, needed: 1, named: ['c1/h4'] });
  assert.is(words(advice as Advice), 'with c1/h4 empty, all 12 instances would fit');
  assert.is(words(adviceFor(68) as Advice), 'with c1/h4 and c1/h3 empty, all 68 instances would fit');
  const all = adviceFor(72);
  assert.equal(all, { code: 'when-empty', hosts: 5, instances: 72, named: ['c1/h4', 'c1/h3', 'c1/h2'] });
  assert.is(
    words(all as Advice),
    'all 72 instances would fit on 5 hosts if those that are full were empty, such as c1/h4, c1/h3, c1/h2',
  );
});

test('scheduler - a filter that fails is told apart from one that refuses, and what it threw first is told', () => {
  const broken: Filter = {
    name: 'broken',
    refusal({ host }) {
      if (host !== 'h3') throw new Error(`no such metric of ${host}`);
      return { code: 'too-hot', message: `${host} is too hot` };
    },
  };
  const all = schedulersOf([{ host: 'h1' }, { host: 'h2' }, { host: 'h3' }], [{ name: 's', filters: [broken] }]);
  const answer = all.choose(selectFor('web'));
  assert.ok(answer?.type === 'no-valid-host');
  const why = "2 filter-failed broken (filter 'broken' failed: no such metric of h1)";
  assert.match(answer.reason, why);
  assert.match(answer.reason, /; if filter 'broken' did not fail, it would fit on 2 hosts$/);
  const { refused, advice } = unpackDecision(JSON.parse(answer.decision ?? ''));
  assert.is(refused[0]?.message, "filter 'broken' failed: no such metric of h1");
  assert.is(obstacleWords(refused[0] as (typeof refused)[0]), why);
  assert.equal(
    advice.map(({ code, failed, hosts }) => [code, failed, hosts]),
    [
      ['without-filter', true, 2],
      ['without-filter', undefined, 1],
    ],
  );
  assert.match(words(advice[1] as Advice), /^if filter 'broken' let it, /);
});

test('scheduler - hosts that fit do not count for advice where a filter would refuse what is advised there', () => {
  const hosts: HostWords[] = [
    { host: 'h1', has: { VCPU: 4 } },
    { host: 'h2', has: { VCPU: 2 } },
  ];
  const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: 4 } }], groupPolicy: 'none' };
  const adviceWith = (refusing: string) => {
    const large: Filter = {
      name: 'large',
      refusal: ({ host }, { groups }) =>
        host === refusing && (groups[0]?.resources.VCPU ?? 0) < 4 ? { code: 'small', message: 'it is small' } : null,
    };
    const [desk] = schedulersOf(hosts, [{ name: 's', filters: [large] }]).desks;
    const [told] = desk?.tell({ type: 'fit', ask: 1, spec, count: 2, limit: 1 }, 'gateway/g').sent ?? [];
    if (told?.message.type !== 'fitted') throw new Error('no answer');
    return told.message.advice.map(({ code, to, hosts }) => [code, to, hosts]);
  };
  const fewer = ['fewer-instances', 1, 1];
  assert.equal(adviceWith('nobody').slice(0, 2), [fewer, ['less', 2, 2]]);
  assert.equal(adviceWith('h1'), [fewer]);
});

test('scheduler - what whoever asks can change himself is advised first, and all schedulers advise the same first', () => {
  const refusing = (name: string, on: string): Filter => ({
    name,
    refusal: ({ host }) => (host === on ? { code: `not-${name}`, message: `${host} is not ${name}` } : null),
  });
  const filters = [refusing('cool', 'h1'), refusing('new', 'h2')];
  const hosts: HostWords[] = [
    { host: 'h1' },
    { host: 'h2' },
    { host: 'h3', cell: 'c2' },
    { host: 'h4', traits: ['CUSTOM_A'] },
  ];
  const spec: RequestSpec = {
    groups: [{ name: '', resources: { VCPU: 1 }, forbidden: ['CUSTOM_A'] }],
    groupPolicy: 'none',
  };
  for (const all of [hosts, hosts.toReversed()]) {
    const [desk] = schedulersOf(all, [{ name: 's', filters }]).desks;
    const where = { cells: ['c1'] };
    const [told] = desk?.tell({ type: 'fit', ask: 1, spec, where, count: 1, limit: 1 }, 'gateway/g').sent ?? [];
    if (told?.message.type !== 'fitted') throw new Error('no answer');
    assert.equal(
      told.message.advice.map(({ code, about }) => [code, about]),
      [
        ['without-forbidden', 'CUSTOM_A'],
        ['without-cells', 'c1'],
        ['without-filter', 'cool'],
      ],
    );
  }
});

test('scheduler - to open one more aggregate that is kept for others comes after all else that would help', () => {
  const kept = ['a', 'b', 'c', 'd'];
  const closed = kept.map((aggregate) => ({ host: `in-${aggregate}`, aggregates: [aggregate] }));
  const view = viewOf(...closed, { host: 'full', used: { VCPU: 8 } });
  const spec: RequestSpec = {
    groups: [{ name: '', resources: { VCPU: 1 } }],
    groupPolicy: 'none',
    tree: { notMemberOf: kept },
  };
  const { advice } = surveyFor(view, { spec, where: { origins: { kept: [0, 1, 2, 3] } } });
  assert.equal(
    advice.map(({ code, about }) => [code, about]),
    [
      ['without-kept', 'a'],
      ['when-empty', undefined],
      ['without-kept', 'b'],
    ],
  );
  const where = { cells: ['c1'], origins: { kept: [0, 1, 2, 3] } };
  const elsewhere = viewOf(...['a1', 'a2'].map((host) => ({ host, aggregates: ['a'] })), { host: 'far', cell: 'c2' });
  const codes = surveyFor(elsewhere, { spec, where }).advice.map(({ code }) => code);
  assert.equal(codes, ['without-cells', 'without-kept'], 'it is for an operator to do, however many hosts it opens');
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

test('scheduler - of groups that are to be isolated one is left out as a whole: asking for nothing, it would still need a provider', () => {
  const view = viewOf({ host: 'h1', has: { VCPU: 8 } });
  const groups = [
    { name: 'g0', resources: { VCPU: 1 } },
    { name: 'g1', resources: { VGPU: 1 } },
  ];
  const spec: RequestSpec = { groups, groupPolicy: 'isolate' };
  const { advice } = survey(view, spec);
  assert.equal(advice, [{ code: 'without-group', group: 'g1', hosts: 1 }]);
  assert.is(hostsThatFit(view, applied(spec, advice[0] as Advice) as RequestSpec).length, 1);
});

test('scheduler - a group that asks for nothing but one condition, and for a provider of its own, is left out as a whole', () => {
  const view = viewOf({ host: 'h1', has: { VCPU: 8 } });
  const groups = [
    { name: 'g0', resources: { VCPU: 1 } },
    { name: 'g1', resources: {}, required: ['CUSTOM_A'] },
  ];
  const spec: RequestSpec = { groups, groupPolicy: 'isolate' };
  const { advice } = survey(view, spec);
  assert.equal(advice, [{ code: 'without-group', group: 'g1', hosts: 1 }]);
  assert.is(hostsThatFit(view, applied(spec, advice[0] as Advice) as RequestSpec).length, 1);
  const shared = survey(view, { ...spec, groupPolicy: 'none' }).advice;
  assert.equal(shared, [{ code: 'without-required', group: 'g1', about: 'CUSTOM_A', hosts: 1 }]);
});

test('scheduler - of many groups alike one is looked at, so that what many devices lack is told as soon as what few do', () => {
  const hosts = Array.from({ length: 1_000 }, (_, n) => ({ host: `h${n}`, has: { VGPU: 80 } }));
  const view = viewOf(...hosts);
  const groups = Array.from({ length: 31 }, (_, n) => ({
    name: `g${n}`,
    resources: { VGPU: 10 },
  }));
  const begunAt = performance.now();
  assert.equal(survey(view, { groups, groupPolicy: 'isolate' }).advice, []);
  assert.ok(performance.now() - begunAt < 3_000, `it took ${performance.now() - begunAt} ms`);
});

test('scheduler - what was tried for advice is forgotten with it, however long the request waits', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const view = viewOf({ host: 'h1', has: { VCPU: 8, VGPU: 4 } });
  const specs = Array.from({ length: 200 }, (_, n): RequestSpec => {
    const named = Array.from({ length: 8 }, (_, at) => ({
      name: `g${at}`,
      resources: { VGPU: 5 + at },
      required: ['CUSTOM_A'],
    }));
    return { groups: [{ name: '', resources: { VCPU: 9 + n } }, ...named], groupPolicy: 'none' };
  });
  collect();
  const before = process.memoryUsage().heapUsed;
  for (const spec of specs) survey(view, spec);
  collect();
  const kept = (process.memoryUsage().heapUsed - before) / specs.length;
  // The plan by which a request is fitted is kept.
  assert.ok(kept < 20_000, `${kept} bytes of each`);
});

test.run();
