// Area: scheduler, several instances of a request. How hosts are searched for room for all of them: how often, in which
// order, and with what chance.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceGroup, RequestSpec } from '../../actors/messages/common.ts';
import type { Filter } from '../../actors/scheduler/filters/filter.ts';
import { pickOfGroup } from '../../actors/scheduler/grouping.ts';
import { bestOfAll } from '../../actors/scheduler/picking.ts';
import { emptyRankings, shapeOf } from '../../actors/scheduler/ranking/ranking.ts';
import { DEFAULT_WEIGHERS } from '../../actors/scheduler/weighers/defaults.ts';
import { packingPolicy } from '../../actors/scheduler/weighers/packing/policies.ts';
import { inventory, viewOf } from '../support/facts.ts';
import { type Answer, named, type SchedulerWords, schedulersOf, selectFor } from '../support/schedulers.ts';

const test = suite('scheduler - several, searched');

type On = ReturnType<typeof schedulersOf>;

const hostsIn = (answers: readonly Answer[]) =>
  answers.flatMap((one) => (one.type === 'selected' ? one.selections : [])).map(({ selection }) => selection.host);

const ofGroup = (policy: InstanceGroup['policy'], id = 'p/g'): RequestSpec => ({
  groups: [{ name: '', resources: { VCPU: 1 } }],
  groupPolicy: 'none',
  instanceGroup: { id, policy },
});

const asked = (spec: RequestSpec, count: number, request = 'r') => ({
  ...selectFor(request, { instances: named(count, request), ordered: true }),
  spec,
});

function live(on: On, ms: number, heard: readonly { host: string; cell: string }[] = []): void {
  for (let passed = 0; passed < ms; passed += 100) {
    on.pass(100);
    for (const host of heard) on.tellHost(host);
    on.deliver();
  }
}

/** A filter that refuses nobody and counts how often it is asked, as hosts are picked. */
function counting(): { readonly filter: Filter; readonly counts: { asked: number } } {
  const counts = { asked: 0 };
  const refusal = () => {
    counts.asked += 1;
    return null;
  };
  return { filter: { name: 'counting', late: true, refusal }, counts };
}

test('scheduler - several that keep together and fit nowhere are looked for a few times, however many they are', () => {
  const { filter, counts } = counting();
  const hosts = Array.from({ length: 100 }, (_, n) => ({ host: `h${n}`, has: { VCPU: 99 } }));
  const on = schedulersOf(hosts, [{ name: 's', filters: [filter] }]);
  // Another claim is under way: as long as it is, what is refused might still be granted.
  on.hear(selectFor('other'), 'scheduler/s', 'conductor/1');
  on.deliver(undefined, ({ message }) => message.type !== 'claim');
  counts.asked = 0;
  on.hear(asked(ofGroup('affinity'), 100));
  on.deliver(undefined, ({ message }) => message.type !== 'claim');
  on.deliver();
  live(on, 2_000);
  const [refusal] = on.answers.filter(({ type }) => type !== 'selected');
  assert.match((refusal as { reason?: string } | undefined)?.reason ?? '', /^no room for 100 instances at once/);
  assert.ok(counts.asked < 20 * hosts.length, `${counts.asked} looks at ${hosts.length} hosts`);
});

test('scheduler - of the hosts of other cells than a request names none is looked at', () => {
  const others = Array.from({ length: 200 }, (_, n) => ({ host: `a${n}`, cell: 'c1' }));
  const view = viewOf(...others, { host: 'b0', cell: 'c2', used: { VCPU: 5 } });
  const request = { spec: ofGroup('soft-affinity'), where: { cells: ['c2'] } };
  const looked: string[] = [];
  const found = bestOfAll({ view, rankings: emptyRankings(DEFAULT_WEIGHERS, 's') }, request, 3, (root) => {
    looked.push(root);
    return false;
  });
  assert.equal([found.map(({ host }) => host), looked], [['b0'], ['p-b0']]);
});

test('scheduler - requests of those who would rather keep together do not all run to one host', () => {
  const { weighers, pickAmong } = packingPolicy('random', { seed: 'x', typical: [] });
  const hosts = Array.from({ length: 50 }, (_, n) => ({ host: `h${n}`, has: { VCPU: 100 } }));
  for (const words of [{ weighers, pickAmong }, { pickAmong: 10 }] as Partial<SchedulerWords>[]) {
    const on = schedulersOf(hosts, [{ name: 's', ...words }]);
    for (const request of named(20, 'q')) on.choose(asked(ofGroup('soft-affinity', `p/${request}`), 2, request));
    const chosen = hostsIn(on.answers);
    for (let n = 0; n < 40; n += 2) assert.is(chosen[n], chosen[n + 1], 'each keeps together');
    assert.ok(new Set(chosen).size >= 8, `${new Set(chosen).size} hosts`);
  }
});

test('scheduler - hosts of silent cells take no place among those asked for room, unless there are no others', () => {
  const silent = Array.from({ length: 300 }, (_, n) => ({ host: `s${n}`, cell: 'c1', has: { VCPU: 4 } }));
  const heard = ['a', 'b'].map((host) => ({ host, cell: 'c2' }));
  const of = (hosts: readonly { host: string; cell: string; has?: Record<string, number> }[]) => {
    const on = schedulersOf(hosts);
    // It ranks behind those that are free.
    if (hosts.some(({ host }) => host === 'b')) on.take('on-b', 'b', 20);
    on.deliver();
    live(
      on,
      12_000,
      heard.filter(({ host }) => hosts.some((one) => one.host === host)),
    );
    assert.ok(on.desks[0]?.state.view.silentCells.has('c1'));
    on.choose(asked(ofGroup('soft-affinity'), 5));
    return hostsIn(on.answers);
  };
  const a = { host: 'a', cell: 'c2', has: { VCPU: 4 } };
  assert.equal(of([...silent, a, { host: 'b', cell: 'c2', has: { VCPU: 25 } }]), ['b', 'b', 'b', 'b', 'b']);
  const roomy = of([
    { host: 's0', cell: 'c1', has: { VCPU: 4 } },
    { host: 's1', cell: 'c1', has: { VCPU: 8 } },
  ]);
  assert.equal(roomy, ['s1', 's1', 's1', 's1', 's1']);
});

test('scheduler - several without a group are placed as a dry run counts them where a policy prefers devices so that they do not fit', () => {
  const groups = [
    { name: 'g0', resources: { VGPU: 1 } },
    { name: 'g1', resources: { VGPU: 1 }, required: ['CUSTOM_A'] },
  ];
  const devices = [{ has: 3, traits: ['CUSTOM_A'] }, { has: 3 }, { has: 2 }];
  for (const group of [undefined, { id: 'p/g', policy: 'anti-affinity' as const, maxPerHost: 3 }]) {
    for (let seed = 0; seed < 20; seed += 1) {
      const { weighers } = packingPolicy('fgd', { seed: `s${seed}`, typical: [] });
      const on = schedulersOf([], [{ name: 's', weighers }]);
      const root = { id: 'p-h', name: 'h', parent: null, inventories: {}, traits: [], aggregates: [] };
      const below = devices.map(({ has, traits = [] }, n) => ({
        ...{ id: `p-h-d${n}`, name: `d${n}`, parent: root.id, inventories: { VGPU: inventory(has) } },
        ...{ traits, aggregates: [] },
      }));
      on.ask({ type: 'put-tree', ask: 1, providers: [root, ...below] });
      on.tellHost({ host: 'h', cell: 'c1' });
      on.deliver();
      live(on, 3_000, [{ host: 'h', cell: 'c1' }]);
      const spec: RequestSpec = {
        groups,
        groupPolicy: 'none',
        ...(group === undefined ? {} : { instanceGroup: group }),
      };
      on.choose(asked(spec, 3));
      live(on, 2_000, [{ host: 'h', cell: 'c1' }]);
      assert.equal(hostsIn(on.answers), ['h', 'h', 'h'], `seed ${seed}`);
    }
  }
});

test('scheduler - a host that is known to have room for all comes before one that was not counted to the end', () => {
  const view = viewOf({ host: 'hard' }, { host: 'good', used: { VCPU: 4 } });
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
  const request = { spec: ofGroup('affinity') };
  const pick = (count: number, skip: string) => {
    const toPlace = { count, isOfSeveral: true };
    return pickOfGroup({ rankings, view }, request, toPlace, (root) => root === skip, '')?.found.host;
  };
  assert.is(pick(2, ''), 'hard');
  // Once several were asked for, hosts are ranked as they will be from now on.
  const hard = shapeOf({ rankings, view }, request).current.get('p-hard');
  assert.ok(hard);
  hard.holds = { count: 3, times: 2, isWhole: false };
  assert.equal([pick(2, ''), pick(3, ''), pick(3, 'p-good')], ['hard', 'good', 'hard']);
  // But where placement has said that the group is, whatever was counted.
  const known = { ...request, groupAt: 'p-hard' };
  const toPlace = { count: 3, isOfSeveral: true };
  assert.is(pickOfGroup({ rankings, view }, known, toPlace, () => false, '')?.found.host, 'hard');
});

test('scheduler - those who would rather keep together go first to the hosts of their group, if these have any room', () => {
  const hosts = [
    { host: 'home', has: { VCPU: 2 } },
    { host: 'roomy', has: { VCPU: 8 } },
  ];
  const on = schedulersOf(hosts);
  const alone = { ...ofGroup('soft-affinity'), tree: { oneOf: ['p-home'] } };
  on.choose(asked(alone, 1, 'first'));
  on.answers.length = 0;
  on.choose(asked(ofGroup('soft-affinity'), 2));
  assert.equal(new Set(hostsIn(on.answers)), new Set(['home', 'roomy']));
  on.answers.length = 0;
  on.choose(asked(ofGroup('soft-affinity'), 2, 'last'));
  assert.equal(hostsIn(on.answers), ['roomy', 'roomy']);
});

test('scheduler - a member more of a group on very many hosts is looked for on some of them', () => {
  const { filter, counts } = counting();
  const hosts = Array.from({ length: 3_000 }, (_, n) => ({ host: `h${n}`, has: { VCPU: 3 } }));
  for (const policy of ['soft-affinity', 'soft-anti-affinity'] as const) {
    const on = schedulersOf(hosts, [{ name: 's', filters: [filter] }]);
    on.desks[0]?.state.view.groups.told.set('p/g', new Map(hosts.map(({ host }) => [`p-${host}`, 1])));
    counts.asked = 0;
    on.choose(asked(ofGroup(policy), 1));
    assert.is(hostsIn(on.answers).length, 1);
    assert.ok(counts.asked < 3_000 + 2 * 1_100, `${policy}: ${counts.asked} looks`);
  }
});

test.run();
