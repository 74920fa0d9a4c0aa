// Area: scheduler, advice to ask for a class in a group of its own: whoever asks one group for what different providers
// of a host have is told so, and not only what to do without.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { timesIn } from '../../actors/fitting/fit-times.ts';
import { type Advice, adviceWords } from '../../actors/messages/advice.ts';
import { MAX_GROUPS, type RequestSpec, type ResourceGroup } from '../../actors/messages/common.ts';
import { unpackDecision } from '../../actors/messages/stored-decision.ts';
import { emptyView, learnProvider, treeOf, type View } from '../../actors/scheduler/view/view.ts';
import { learnHost } from '../../actors/scheduler/view/view-hosts.ts';
import { seededRandom } from '../../runtime/random.ts';
import { inventory } from '../support/facts.ts';
import { randomFleet } from '../support/fleets.ts';
import { schedulersOf, selectFor } from '../support/schedulers.ts';
import { applied, hostsThatFit, survey, words } from '../support/survey.ts';

const test = suite('scheduler - advice to split groups');

interface Node {
  readonly vcpu: number;
  readonly gpus: number;
  /** Whether it is in an aggregate with its whole host, or alone. */
  readonly inRack?: 'with-host' | 'alone';
}

/** Hosts of NUMA nodes, each with GPUs below it. */
function numaHosts(...hosts: readonly (readonly Node[])[]): View {
  const view = emptyView();
  const learn = (root: string, id: string, parent: string | null, has: Record<string, number>, more = {}) => {
    const inventories = Object.fromEntries(Object.entries(has).map(([name, total]) => [name, inventory(total)]));
    const told = { traits: [], aggregates: [], used: {}, generation: 1, ...more };
    learnProvider(view, { id, root, name: id, parent, inventories, ...told });
  };
  for (const [n, nodes] of hosts.entries()) {
    const root = `p${n}`;
    const inRack = (isIn: boolean) => ({ aggregates: isIn ? ['rack-1'] : [] });
    learn(root, root, null, { DISK_GB: 100 }, inRack(nodes.some((node) => node.inRack === 'with-host')));
    for (const [at, { vcpu, gpus, inRack: how }] of nodes.entries()) {
      const node = `${root}-${at}`;
      const more = { traits: ['HW_NUMA_ROOT'], ...inRack(how === 'alone') };
      learn(root, node, root, { VCPU: vcpu, MEMORY_MB: 1_024 }, more);
      for (let gpu = 0; gpu < gpus; gpu += 1) {
        learn(root, `${node}-${gpu}`, node, { VGPU: 4 }, { traits: ['CUSTOM_GPU_A'] });
      }
    }
    learnHost(view, 'c1', { host: `h${n}`, provider: root, state: 'up' });
  }
  return view;
}

const requestOf = (groups: readonly ResourceGroup[], more: Partial<RequestSpec> = {}): RequestSpec => ({
  groups: [...groups],
  groupPolicy: 'none',
  ...more,
});

const group = (resources: Record<string, number>, more: Partial<ResourceGroup> = {}): ResourceGroup => ({
  name: 'a',
  resources,
  ...more,
});

/** What is advised, of which each split has been made and fits on as many hosts as is said. */
function advised(view: View, spec: RequestSpec, count = 1): readonly Advice[] {
  const { advice } = survey(view, spec, count);
  for (const one of advice.filter(({ code }) => code === 'group-split')) {
    assert.is(hostsThatFit(view, applied(spec, one) as RequestSpec).length, one.hosts, words(one));
  }
  return advice;
}

const splitsIn = (advice: readonly Advice[]) =>
  advice.flatMap(({ code, about }) => (code === 'group-split' ? [about] : []));

const TWO = [
  [{ vcpu: 8, gpus: 1 }],
  [
    { vcpu: 8, gpus: 0 },
    { vcpu: 2, gpus: 2 },
  ],
  [{ vcpu: 8, gpus: 0 }],
];

test('scheduler - of classes that no provider has together, one is to be in a group of its own before any is left out', () => {
  const advice = advised(numaHosts(...TWO), requestOf([group({ VCPU: 4, VGPU: 1 })]));
  assert.equal(advice.map(words), [
    "if VGPU of group 'a' were asked for in a group of its own, it would fit on 2 hosts",
    "if no VGPU were asked for in group 'a', it would fit on 3 hosts",
    "if no VCPU were asked for in group 'a', it would fit on 2 hosts",
  ]);
  assert.equal(advice[0], { code: 'group-split', group: 'a', about: 'VGPU', hosts: 2 });
});

test('scheduler - of several classes the one is named that others have not beside them', () => {
  const spec = requestOf([group({ VGPU: 1, VCPU: 4, MEMORY_MB: 512 })]);
  assert.equal(splitsIn(advised(numaHosts(...TWO), spec)), ['VGPU']);
});

test('scheduler - what is required stays with the other classes of a group that is split', () => {
  const view = numaHosts(...TWO);
  const classes = { VCPU: 4, VGPU: 1 };
  assert.equal(splitsIn(advised(view, requestOf([group(classes, { required: ['HW_NUMA_ROOT'] })]))), ['VGPU']);
  assert.equal(splitsIn(advised(view, requestOf([group(classes, { required: ['CUSTOM_GPU_A'] })]))), ['VCPU']);
  assert.equal(splitsIn(advised(view, requestOf([group(classes, { anyOf: [['CUSTOM_GPU_A', 'X']] })]))), ['VCPU']);
  const both = { required: ['HW_NUMA_ROOT', 'CUSTOM_GPU_A'] };
  assert.equal(splitsIn(advised(view, requestOf([group(classes, both)]))), [], 'each is of another provider');
  const ofOne = requestOf([group({ VGPU: 1 }, { required: ['HW_NUMA_ROOT'] })]);
  assert.equal(splitsIn(advised(view, ofOne)), [], 'nothing would be left of it but what is required');
});

test('scheduler - what is forbidden, and aggregates, hold for both parts of a group that is split', () => {
  const classes = { VCPU: 4, VGPU: 1 };
  const inRack = (how: NonNullable<Node['inRack']>) => [{ vcpu: 8, gpus: 1, inRack: how }];
  const view = numaHosts(...TWO, inRack('with-host'), inRack('alone'));
  const [one] = advised(view, requestOf([group(classes, { memberOf: [['rack-1']] })]));
  assert.equal(one, { code: 'group-split', group: 'a', about: 'VGPU', hosts: 1 });
  const forbidding = requestOf([group(classes, { forbidden: ['CUSTOM_GPU_A'] })]);
  assert.equal(splitsIn(advised(numaHosts(...TWO), forbidding)), [], 'all GPUs have it');
});

test('scheduler - both parts of a group that is split share a subtree with those it shared one with', () => {
  const near = [
    { vcpu: 8, gpus: 1 },
    { vcpu: 8, gpus: 0 },
  ];
  const far = [
    { vcpu: 4, gpus: 1 },
    { vcpu: 8, gpus: 0 },
  ];
  const groups = [
    group({ VCPU: 4, VGPU: 1 }),
    { name: 'b', resources: { VCPU: 3 } },
    { name: 'g0', resources: { VCPU: 6 } },
  ];
  const [one] = advised(numaHosts(near, far), requestOf(groups, { sameSubtree: [['a', 'b']] }));
  assert.equal(one, { code: 'group-split', group: 'a', about: 'VGPU', hosts: 1 });
});

test('scheduler - groups that ask alike for what no provider has together are split all at once, also if they are isolated', () => {
  const host = [
    { vcpu: 8, gpus: 1 },
    { vcpu: 8, gpus: 1 },
  ];
  const groups = ['g0', 'g1'].map((name) => ({ name, resources: { VCPU: 4, VGPU: 1 } }));
  const [one, ...others] = advised(numaHosts(host, ...TWO), requestOf(groups, { groupPolicy: 'isolate' }));
  assert.equal(others, []);
  assert.equal(one, { code: 'group-split', groups: ['g0', 'g1'], about: 'VGPU', hosts: 1 });
  assert.is(
    words(one as Advice),
    "if VGPU of each of the groups 'g0', 'g1' were asked for in groups of their own, one each, it would fit on 1 host",
  );
});

test('scheduler - no split is advised of the unnamed group, nor where it makes more groups than a request may have', () => {
  const view = numaHosts([{ vcpu: 40, gpus: 1 }]);
  assert.equal(survey(view, requestOf([{ name: '', resources: { VCPU: 4, VGPU: 1 } }])).fits, 1);
  const full = requestOf([{ name: '', resources: { VCPU: 41, VGPU: 1 } }]);
  assert.equal(splitsIn(advised(view, full)), []);
  // A request names one group less than it has.
  const named = (count: number) =>
    requestOf([
      group({ VCPU: 4, VGPU: 1 }),
      ...Array.from({ length: count - 1 }, (_, n) => ({ name: `g${n}`, resources: { VCPU: 1 } })),
    ]);
  assert.equal(splitsIn(advised(view, named(MAX_GROUPS - 2))), ['VGPU']);
  assert.equal(splitsIn(advised(view, named(MAX_GROUPS - 1))), []);
});

test('scheduler - of several instances, those that fit once a group is split are counted', () => {
  const view = numaHosts([{ vcpu: 8, gpus: 1 }], [{ vcpu: 4, gpus: 1 }]);
  const spec = requestOf([group({ VCPU: 4, VGPU: 1 })]);
  assert.equal(survey(view, spec, 3).advice[0], {
    code: 'group-split',
    group: 'a',
    about: 'VGPU',
    hosts: 2,
    instances: 3,
  });
  assert.equal(splitsIn(survey(view, spec, 4).advice), []);
});

test('scheduler - the record of a request that fails keeps that a group is to be split, and the failure says it', () => {
  const on = schedulersOf([{ host: 'h1', has: { VCPU: 8 } }]);
  const root = {
    id: 'p-h1',
    name: 'h1',
    parent: null,
    inventories: { VCPU: inventory(8) },
    traits: [],
    aggregates: [],
  };
  const gpu = { ...root, id: 'p-gpu', name: 'gpu', parent: 'p-h1', inventories: { VGPU: inventory(1) } };
  on.ask({ type: 'put-tree', ask: 2, providers: [root, gpu] });
  on.deliver();
  const spec = requestOf([group({ VCPU: 4, VGPU: 1 })]);
  const answer = on.choose({ ...selectFor('r', { instances: ['r'] }), spec });
  assert.ok(answer?.type === 'no-valid-host');
  assert.match(answer.reason, /if VGPU of group 'a' were asked for in a group of its own, it would fit on 1 host/);
  const [first] = unpackDecision(JSON.parse(answer.decision ?? '')).advice;
  assert.equal(first, { code: 'group-split', group: 'a', about: 'VGPU', hosts: 1 });
});

test('scheduler - by chance, a split that is advised lets all fit on as many hosts as is said, and where one would, some advice is given', () => {
  const seen = { advised: 0, several: 0 };
  for (let seed = 0; seed < 250; seed += 1) {
    const random = seededRandom(`split ${seed}`);
    const fleet = randomFleet(`split ${seed}`, 12);
    const drawn = fleet.spec();
    const amounts = (): Record<string, number> => ({
      ...(random.next() < 0.7 ? { VCPU: random.integer(1, 6) } : {}),
      ...(random.next() < 0.4 ? { MEMORY_MB: 512 * random.integer(2, 4) } : {}),
      VGPU: random.integer(1, 3),
    });
    const groups = [...drawn.groups.slice(0, 1), group(amounts())].map((one) => ({ ...one, name: one.name || 'g0' }));
    const spec: RequestSpec = { ...drawn, groups: random.next() < 0.7 ? groups.slice(1) : groups };
    const count = random.integer(1, 3);
    const { advice } = survey(fleet.view, spec, count);
    const timesWith = (changed: RequestSpec) =>
      hostsThatFit(fleet.view, changed).map(({ root }) => timesIn(changed, treeOf(fleet.view, root), count));
    const sum = (all: readonly number[]) => all.reduce((total, one) => total + one, 0);
    for (const one of advice.filter(({ code }) => code === 'group-split')) {
      const times = timesWith(applied(spec, one) as RequestSpec);
      assert.is(times.length, one.hosts, `seed ${seed}, ${words(one)}`);
      assert.ok(sum(times) >= count, `seed ${seed}, ${words(one)}`);
      seen.advised += 1;
      if (count > 1) seen.several += 1;
    }
    if (advice.length === 3 || sum(timesWith(spec)) >= count) continue;
    for (const { name, resources } of spec.groups) {
      for (const about of Object.keys(resources)) {
        if (Object.keys(resources).length === 1) continue;
        const split = { code: 'group-split' as const, group: name, about, hosts: 0 };
        const isSaid = advice.some(({ code, group: of }) => code === 'group-split' && of === name);
        const held = sum(timesWith(applied(spec, split) as RequestSpec));
        assert.ok(isSaid || held < count, `seed ${seed}, missed: ${adviceWords(split, String)}`);
      }
    }
  }
  assert.ok(seen.advised > 30 && seen.several > 10, JSON.stringify(seen));
});

test.run();
