// Area: instance groups in the scheduler. It goes where the group is, keeps away from where it may not be, weighs soft
// rules, chooses for all instances of a request together, and however many schedulers choose at once with whatever is
// under way between them, no rule is broken.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceGroup, RequestSpec } from '../../actors/messages/common.ts';
import { instanceNames, placementShardOf } from '../../actors/routing.ts';
import { groupKnownAt, toldMisfitOfGroup } from '../../actors/scheduler/group-rules.ts';
import { shapeOf } from '../../actors/scheduler/ranking/ranking.ts';
import type { SchedulerState } from '../../actors/scheduler/state.ts';
import { noteShard } from '../../actors/scheduler/view/silence.ts';
import { emptyView } from '../../actors/scheduler/view/view.ts';
import { seededRandom } from '../../runtime/random.ts';
import { inventoryOf, rootOf } from '../support/placement-desk.ts';
import { type Scheduling, scheduling } from '../support/scheduling.ts';

const test = suite('instance groups in the scheduler');

const APART: InstanceGroup = { id: '/apart', policy: 'anti-affinity', maxPerHost: 1 };
const CLOSE: InstanceGroup = { id: '/close', policy: 'affinity' };

function specOf(instanceGroup: InstanceGroup | undefined, vcpu = 1): RequestSpec {
  const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: vcpu } }], groupPolicy: 'none' };
  return instanceGroup === undefined ? spec : { ...spec, instanceGroup };
}

const fleet = (count: number, cell = 'c1', prefix = 'h') =>
  Array.from({ length: count }, (_, at) => ({ cell, host: `${prefix}${at}` }));

/** The host of each instance of a request when everything that is said arrives. */
function choose(all: Scheduling, request: string, spec: RequestSpec, count = 1, alternates = 2) {
  const instances = instanceNames(request, count);
  all.ask(request, spec, { instances, alternates });
  all.deliver();
  const { chosen, reason } = all.outcomeOf(request);
  const told = instances.map((one) => chosen.get(one));
  return {
    hosts: told.map((one) => one?.selection.host ?? ''),
    alternates: told.map((one) => one?.alternates.map(({ host }) => host) ?? []),
    reason,
  };
}

const distinct = (hosts: readonly string[]) => new Set(hosts).size;

test('scheduler groups - anti-affinity takes distinct hosts, one request after another, and says when there are no more', () => {
  const all = scheduling(fleet(3));
  const hosts = ['a', 'b', 'c'].flatMap((request) => choose(all, request, specOf(APART)).hosts);
  assert.is(distinct(hosts), 3, hosts.join());
  const { reason } = choose(all, 'd', specOf(APART));
  const advice = "if it were not a member of instance group 'apart', it would fit on 3 hosts";
  assert.is(reason, `none of 3 hosts: 3 group-anti-affinity; ${advice}`);
  assert.is(all.schedulers.get('scheduler/s0')?.state.conflicts, 0, 'it knows where the members are');
  all.say({ type: 'release', consumer: 'b', deleted: true });
  all.deliver();
  assert.equal(choose(all, 'e', specOf(APART)).hosts, [hosts[1] as string]);
});

test('scheduler groups - of a request for several, anti-affinity gives each a host of its own, or none any', () => {
  const all = scheduling(fleet(4));
  assert.is(distinct(choose(all, 'four', specOf(APART), 4).hosts), 4);
  const { reason } = choose(all, 'five', specOf({ ...APART, id: '/other' }), 5);
  assert.match(
    reason ?? '',
    /^no room for 5 instances at once: of 4 hosts, 4 have room for some; room for 4 of 5 instances: .*; 4 instances instead of 5 /,
  );
  all.deliver();
  for (const instance of instanceNames('five', 5)) assert.equal(all.hostsHeldBy(instance), []);
});

test('scheduler groups - one that joins its group looks at no host for alternates, which it cannot have', () => {
  const all = scheduling(fleet(300));
  const { state } = all.schedulers.get('scheduler/s0') as { state: SchedulerState };
  const weighings = () => shapeOf(state, { spec: specOf(CLOSE) }).weighings;
  assert.is(choose(all, 'first', specOf(CLOSE)).alternates[0]?.length, 2);
  const before = weighings();
  assert.equal(choose(all, 'second', specOf(CLOSE)).alternates, [[]]);
  assert.ok(weighings() <= before + 2, `${weighings() - before} more hosts were looked at`);
});

test('scheduler groups - where the rule forbids a host it is not the nearest, however little it is short of', () => {
  const hosts = [...fleet(1), { cell: 'c1', host: 'small', tree: [rootOf('small', 4)] }];
  const all = scheduling(hosts);
  assert.equal(choose(all, 'first', specOf(APART, 3)).hosts, ['h0']);
  const { reason } = choose(all, 'second', specOf(APART, 9));
  assert.match(
    reason ?? '',
    /^none of 2 hosts: 2 exceeds-capacity VCPU; nearest c1\/small: 9 VCPU .* 'small': 4 \(short by 5\)/,
  );
});

test('scheduler groups - a host that is short, and that the rule forbids, too, is the nearest where there is no other', () => {
  const all = scheduling(fleet(1));
  choose(all, 'first', specOf(APART, 3));
  const { reason } = choose(all, 'second', specOf(APART, 9));
  assert.match(
    reason ?? '',
    /^none of 1 host: .*; nearest c1\/h0: 9 VCPU .* \(short by 4\), and more stands in its way; no /,
  );
});

test('scheduler groups - with more members to a host, each is filled up to that', () => {
  const all = scheduling(fleet(3));
  const { hosts } = choose(all, 'six', specOf({ ...APART, maxPerHost: 2 }), 6);
  const counts = new Map<string, number>();
  for (const host of hosts) counts.set(host, (counts.get(host) ?? 0) + 1);
  assert.equal([...counts.values()], [2, 2, 2]);
});

test('scheduler groups - alternates of an anti-affinity group have no member of it', () => {
  const all = scheduling(fleet(5));
  const first = choose(all, 'first', specOf(APART)).hosts[0] as string;
  const { hosts, alternates } = choose(all, 'second', specOf(APART), 1, 20);
  assert.is(alternates[0]?.length, 3);
  assert.not.ok(alternates[0]?.includes(first));
  assert.not.ok(alternates[0]?.includes(hosts[0] as string));
});

test('scheduler groups - affinity goes to the host of the group, however full, and has no alternates there', () => {
  const all = scheduling(fleet(5));
  const first = choose(all, 'first', specOf(CLOSE, 4));
  assert.is(first.alternates[0]?.length, 2, 'the sole member may take its group elsewhere');
  const second = choose(all, 'second', specOf(CLOSE, 3));
  assert.equal(second.hosts, first.hosts);
  assert.equal(second.alternates, [[]]);
  const { reason } = choose(all, 'third', specOf(CLOSE, 3));
  assert.match(
    reason ?? '',
    /^none of 5 hosts: 4 group-affinity, 1 exceeds-capacity VCPU; nearest c1\/h\d: 3 VCPU exceed/,
  );
});

test('scheduler groups - what is said of the hosts of a group names their cells: hosts of two may have one name', () => {
  const all = scheduling([...fleet(1, 'c1'), ...fleet(1, 'c2', 'g')]);
  const [first] = choose(all, 'first', specOf(CLOSE)).hosts;
  const view = all.schedulers.get('scheduler/s0')?.state.view;
  assert.ok(view);
  const [here, there] = first === 'h0' ? ['c1/h0', 'c2/g0'] : ['c2/g0', 'c1/h0'];
  const told = [...view.hosts.keys()].map((root) => toldMisfitOfGroup(view, specOf(CLOSE), root)?.message);
  const message = `instance group 'close' keeps together, and it is on host '${here}', not on '${there}'`;
  assert.equal(
    told.filter((one) => one !== undefined),
    [message],
  );
});

test('scheduler groups - all instances of an affinity request go to one host that has room for all, or none does', () => {
  // The free ones are best in rank, and too small for all three.
  const hosts = [...fleet(4), { cell: 'c1', host: 'big', tree: [rootOf('big', 20)] }];
  const all = scheduling(hosts);
  choose(all, 'filler', specOf(undefined, 8));
  assert.equal(choose(all, 'three', specOf(CLOSE, 4), 3).hosts, ['big', 'big', 'big']);
  const { reason } = choose(all, 'four', specOf({ ...CLOSE, id: '/other' }, 6), 4);
  assert.ok(reason);
  for (const instance of instanceNames('four', 4)) assert.equal(all.hostsHeldBy(instance), []);
});

test('scheduler groups - a soft rule is followed as far as hosts allow', () => {
  const all = scheduling(fleet(3));
  const apart: InstanceGroup = { id: '/spread', policy: 'soft-anti-affinity' };
  const spread = choose(all, 'spread', specOf(apart), 4).hosts;
  assert.is(distinct(spread.slice(0, 3)), 3);
  assert.ok(spread[3]);
  const near: InstanceGroup = { id: '/near', policy: 'soft-affinity' };
  const together = choose(all, 'near', specOf(near, 2), 4).hosts;
  assert.ok(distinct(together) > 1 && distinct(together) < 4, together.join());
  const roomy = scheduling(fleet(3));
  assert.is(distinct(choose(roomy, 'near', specOf(near, 2), 4).hosts), 1);
});

/** Lets a member of a group be on a host. */
function settle(all: Scheduling, instanceGroup: InstanceGroup, consumer: string, host: string): void {
  const allocations = [{ provider: `p-${host}`, group: '', resources: { VCPU: 1 } }];
  all.say({
    type: 'claim',
    consumer,
    attempt: 1,
    spec: specOf(instanceGroup),
    allocations,
    keep: [],
    expiresAt: 100_000_000,
  });
  all.deliver();
}

/** A host with so many devices. */
const withDevices = (host: string, devices: number) => ({
  cell: 'c1',
  host,
  tree: [
    rootOf(host),
    ...Array.from({ length: devices }, (_, at) => ({
      ...rootOf(`${host}-${at}`),
      parent: `p-${host}`,
      inventories: { VGPU: inventoryOf({ total: 1 }) },
    })),
  ],
});

const SPREAD: InstanceGroup = { id: '/spread', policy: 'soft-anti-affinity' };
const NEAR: InstanceGroup = { id: '/near', policy: 'soft-affinity' };

test('scheduler groups - a soft rule comes before what weighers say, such as of devices and of preferred cells', () => {
  const wantsDevice = (instanceGroup?: InstanceGroup): RequestSpec => {
    const groups = [...specOf(undefined).groups, { name: 'gpu', resources: { VGPU: 1 } }];
    return { groups, groupPolicy: 'none', ...(instanceGroup === undefined ? {} : { instanceGroup }) };
  };
  const packed = scheduling([withDevices('a', 4), withDevices('b', 4)]);
  const first = choose(packed, 'first', wantsDevice()).hosts;
  assert.equal(choose(packed, 'second', wantsDevice()).hosts, first, 'the devices of one host are used first');
  assert.is(distinct(choose(packed, 'spread', wantsDevice(SPREAD), 2).hosts), 2);

  const spared = scheduling([withDevices('a', 4), ...fleet(3)]);
  settle(spared, NEAR, 'near-0', 'a');
  assert.equal(choose(spared, 'near', specOf(NEAR), 3).hosts, ['a', 'a', 'a']);

  const cells = scheduling([...fleet(1), ...fleet(1, 'c2', 'k')]);
  settle(cells, SPREAD, 'spread-0', 'k0');
  cells.ask('preferred', specOf(SPREAD), { where: { preferCells: ['c2'] } });
  cells.deliver();
  assert.is(cells.outcomeOf('preferred').chosen.get('preferred')?.selection.host, 'h0');
});

test('scheduler groups - a soft rule goes by how many members hosts have, and keeps away from silent cells', () => {
  const hosts = [...fleet(2), ...fleet(2, 'c2', 'k')];
  const settled = (group: InstanceGroup, ...members: readonly string[]) => {
    const all = scheduling(hosts);
    for (const [at, host] of members.entries()) settle(all, group, `member-${at}`, host);
    return all;
  };
  const silence = (all: Scheduling, cell: string) =>
    all.schedulers.get('scheduler/s0')?.state.view.silentCells.add(cell);
  const near = settled(NEAR, 'h0', 'h0', 'h0', 'k1');
  assert.equal(choose(near, 'loud', specOf(NEAR)).hosts, ['h0']);
  silence(near, 'c1');
  assert.equal(choose(near, 'silent', specOf(NEAR)).hosts, ['k1']);

  const ordered = scheduling(fleet(4));
  for (const [at, host] of ['h0', 'h0', 'h1', 'h2'].entries()) settle(ordered, SPREAD, `member-${at}`, host);
  const { hosts: first, alternates } = choose(ordered, 'ordered', specOf(SPREAD), 1, 3);
  assert.equal([...first, alternates[0]?.at(-1)], ['h3', 'h0'], 'alternates are in the order of the rule');

  const spread = settled(SPREAD, 'h0', 'h1', 'h1', 'k0', 'k0', 'k0', 'k1', 'k1', 'k1');
  assert.equal(choose(spread, 'loud', specOf(SPREAD)).hosts, ['h0']);
  silence(spread, 'c1');
  assert.match(choose(spread, 'silent', specOf(SPREAD)).hosts[0] as string, /^k/);
});

test('scheduler groups - the first of those that would rather be together asks the keeper, unless that is silent', () => {
  const view = { ...emptyView(), shards: 2 };
  const keeper = placementShardOf(NEAR.id, 2);
  const isFirst = () => groupKnownAt(view, { spec: specOf(NEAR) }, 'p-h0').isFirst;
  assert.is(isFirst(), true);
  noteShard(view, 1 - keeper, true);
  assert.is(isFirst(), true);
  noteShard(view, keeper, true);
  assert.is(isFirst(), undefined);
});

test('scheduler groups - a soft rule orders alternates too', () => {
  const all = scheduling(fleet(6));
  const apart: InstanceGroup = { id: '/spread', policy: 'soft-anti-affinity' };
  const taken = choose(all, 'spread', specOf(apart), 3).hosts;
  const { hosts, alternates } = choose(all, 'one', specOf(apart), 1, 4);
  const free = alternates[0]?.filter((host) => !taken.includes(host)) ?? [];
  assert.not.ok(taken.includes(hosts[0] as string));
  assert.equal(alternates[0]?.slice(0, free.length), free, 'those without a member come first');
  const together = choose(all, 'together', specOf({ id: '/near', policy: 'soft-affinity' }), 1, 3);
  assert.is(together.alternates[0]?.length, 3, 'where none has a member, those without are better than none');
});

test('scheduler groups - alternates of a soft rule keep to it among all hosts, not among the best in rank', () => {
  // Forty hosts that are best in rank have members; the few without are small, and stand behind all of them.
  const big = Array.from({ length: 40 }, (_, at) => ({ cell: 'c1', host: `b${at}`, tree: [rootOf(`b${at}`, 100)] }));
  const all = scheduling([...big, ...fleet(4)]);
  const apart: InstanceGroup = { id: '/spread', policy: 'soft-anti-affinity' };
  const taken = choose(all, 'many', specOf(apart), 40).hosts;
  assert.ok(taken.every((host) => host.startsWith('b')));
  const { hosts, alternates } = choose(all, 'one', specOf(apart), 1, 3);
  assert.ok(
    [...hosts, ...(alternates[0] ?? [])].every((host) => host.startsWith('h')),
    alternates.join(),
  );
  const more = choose(all, 'more', specOf(apart), 1, 6).alternates[0] ?? [];
  assert.is(more.length, 6, 'those with members come after, rather than none');

  const near: InstanceGroup = { id: '/near', policy: 'soft-affinity' };
  const small = scheduling([...big, ...fleet(4)]);
  for (const at of [0, 1]) {
    const allocations = [{ provider: `p-h${at}`, group: '', resources: { VCPU: 1 } }];
    const claim = { attempt: 1, spec: specOf(near), allocations, keep: [], expiresAt: 100_000_000 };
    small.say({ type: 'claim', consumer: `near-${at}`, ...claim });
  }
  small.deliver();
  const told = choose(small, 'near', specOf(near), 1, 2);
  assert.equal([...told.hosts, told.alternates[0]?.[0]].sort(), ['h0', 'h1'], told.alternates.join());
});

test('scheduler groups - several that would rather keep together share their alternates, first those with room for all', () => {
  const sized = Object.entries({ a: 40, b: 6, c: 14, d: 30, e: 5 });
  const all = scheduling(sized.map(([host, vcpu]) => ({ cell: 'c1', host, tree: [rootOf(host, vcpu)] })));
  const { hosts, alternates } = choose(all, 'web', specOf(NEAR, 2), 7, 3);
  assert.equal([...new Set(hosts)], ['a']);
  assert.equal(alternates, Array(7).fill(['d', 'c', 'b']));
});

test('scheduler groups - the first alternates of several instances differ, however few there are to deal', () => {
  const spread: InstanceGroup = { id: '/spread', policy: 'soft-anti-affinity' };
  for (const group of [APART, spread, undefined]) {
    const all = scheduling(fleet(9));
    const { hosts, alternates } = choose(all, 'web', specOf(group), 4, 5);
    assert.is(distinct(hosts), 4);
    for (let position = 0; position < 5; position += 1) {
      const column = alternates.map((one) => one[position] as string);
      assert.ok(distinct(column) >= (position < 4 ? 4 : 3), `${position}: ${column.join()}`);
    }
    for (const one of alternates) assert.is(distinct(one), 5, one.join());
    const areOthers = alternates.flat().every((host) => !hosts.includes(host));
    assert.is(areOthers, group !== undefined, 'hosts of one another rather than one of the five for each of them');
  }
});

test('scheduler groups - hosts of one another are alternates as far as the rule of the group lets them', () => {
  const web = (group: InstanceGroup) => choose(scheduling(fleet(3)), 'web', specOf(group), 3, 2).alternates;
  const lengths = (alternates: string[][]) => alternates.map(({ length }) => length);
  assert.equal(lengths(web(APART)), [0, 0, 0]);
  assert.equal(lengths(web({ ...APART, maxPerHost: 2 })), [2, 2, 2]);
  assert.equal(lengths(web({ id: '/spread', policy: 'soft-anti-affinity' })), [2, 2, 2]);

  const all = scheduling(fleet(3));
  const { hosts, alternates } = choose(all, 'web', specOf({ id: '/spread', policy: 'soft-anti-affinity' }), 4, 1);
  const most = hosts.find((host, at) => hosts.indexOf(host) !== at);
  assert.is(alternates.filter(([host]) => host === most).length, 1, `${hosts} ${alternates}`);
});

test('scheduler groups - instances have alternates of their own though few hosts are left, unless a soft rule says which', () => {
  for (const [hosts, count, wanted] of [
    [3, 2, 1],
    [6, 5, 1],
    [6, 4, 2],
    [4, 3, 3],
    [4, 4, 2],
  ] as const) {
    const all = scheduling(fleet(hosts));
    const { alternates, hosts: own } = choose(all, 'web', specOf({ ...APART, maxPerHost: 2 }), count, wanted);
    for (let position = 0; position < wanted; position += 1) {
      const column = alternates.map((one) => one[position] as string);
      assert.is(distinct(column), count, `${hosts} hosts, own ${own}: ${column}`);
    }
    for (const [position, one] of alternates.entries()) assert.not.ok(one.includes(own[position] as string));
  }
  const all = scheduling(fleet(6));
  const { hosts, alternates } = choose(all, 'web', specOf({ id: '/spread', policy: 'soft-anti-affinity' }), 5, 1);
  const left = fleet(6)
    .map(({ host }) => host)
    .find((host) => !hosts.includes(host));
  assert.equal(alternates, Array(5).fill([left]), 'the others have members');
});

test('scheduler groups - another rule for the same group is told at once, and no other host is tried', () => {
  const all = scheduling(fleet(3));
  choose(all, 'first', specOf(APART));
  const { reason } = choose(all, 'second', specOf({ ...APART, policy: 'soft-anti-affinity' }));
  assert.match(reason ?? '', /^group-policy-conflict: instance group 'apart' has the rule 'anti-affinity'/);
});

test('scheduler groups - another rule is told of a request that other things stand in the way of as well', () => {
  const all = scheduling(fleet(3));
  choose(all, 'first', specOf(APART));
  const others = specOf({ ...APART, policy: 'soft-anti-affinity' });
  const { reason } = choose(all, 'second', { ...others, groups: [{ name: '', resources: { VCPU: 10_000 } }] });
  assert.match(reason ?? '', /3 unit-constraint VCPU/);
  const rule = "instance group 'apart' has the rule 'anti-affinity', not 'soft-anti-affinity'";
  assert.ok(reason?.includes(`; ${rule}, and keeps it as long as it has members`), reason ?? '');
});

test('scheduler groups - requests of one shape share one ranking, whatever their groups', () => {
  const all = scheduling(fleet(3));
  for (let at = 0; at < 10; at += 1) choose(all, `r${at}`, specOf({ ...APART, id: `/g${at}` }));
  choose(all, 'alone', specOf(undefined));
  assert.is(all.schedulers.get('scheduler/s0')?.state.rankings.shapes.size, 1);
});

test('scheduler groups - a scheduler that does not know where the group is learns it from the refusal', () => {
  const all = scheduling(fleet(4), 2);
  all.ask('first', specOf(CLOSE), {}, 0);
  all.ask('second', specOf(CLOSE), {}, 1);
  // Both choose before either hears of the other.
  all.deliver();
  const hosts = ['first', 'second'].map((request) => all.outcomeOf(request).chosen.get(request)?.selection.host);
  assert.ok(hosts[0]);
  assert.is(hosts[0], hosts[1]);
});

// --- many at once

const RULES: readonly InstanceGroup[] = [
  APART,
  { id: '/pairs', policy: 'anti-affinity', maxPerHost: 2 },
  CLOSE,
  { id: '/spread', policy: 'soft-anti-affinity' },
];

function membersByHost(all: Scheduling, id: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [consumer, { group }] of all.shard.state.consumers.holding) {
    if (group?.id !== id) continue;
    for (const host of all.hostsHeldBy(consumer)) counts.set(host, (counts.get(host) ?? 0) + 1);
  }
  return counts;
}

test('scheduler groups - many schedulers at once, in any order of arrival, break no rule and lose no host', () => {
  let conflicts = 0;
  for (let seed = 0; seed < 60; seed += 1) {
    const random = seededRandom(`groups ${seed}`);
    const hosts = [...fleet(4, 'c1'), ...fleet(4, 'c2', 'k')];
    const all = scheduling(hosts, 4);
    const holding: string[] = [];
    for (let at = 0; at < 24; at += 1) {
      const count = random.chance(0.3) ? random.integer(2, 3) : 1;
      const request = `r${at}`;
      const rule = random.pick(RULES);
      all.ask(request, specOf(rule), { instances: instanceNames(request, count) }, random.integer(0, 3));
      holding.push(...instanceNames(request, count));
      // Some are deleted again while others are chosen for.
      if (random.chance(0.2)) all.say({ type: 'release', consumer: random.pick(holding), deleted: true });
      for (let step = random.integer(0, 12); step > 0 && all.step(random); step -= 1) check(all, seed);
    }
    for (let look = 1; look <= 2; look += 1) {
      while (all.step(random)) check(all, seed);
      all.outwait();
    }
    for (const { state } of all.schedulers.values()) {
      conflicts += state.conflicts;
      assert.is(state.open.size, 0);
      assert.is(state.view.groups.promised.size, 0, 'no promise outlives its request');
      for (const { id } of RULES) {
        assert.equal([...(state.view.groups.told.get(id) ?? [])].sort(), viewOf(all, id), 'all know where members are');
      }
    }
  }
  assert.ok(conflicts > 50, `only ${conflicts} claims were refused`);

  function check(all: Scheduling, seed: number): void {
    for (const { id, policy, maxPerHost = 1 } of RULES) {
      const counts = membersByHost(all, id);
      if (policy === 'affinity')
        assert.ok(counts.size <= 1, `seed ${seed}: '${id}' is on ${[...counts.keys()].join()}`);
      if (policy !== 'anti-affinity') continue;
      for (const [host, count] of counts)
        assert.ok(count <= maxPerHost, `seed ${seed}: ${count} of '${id}' on ${host}`);
    }
  }

  function viewOf(all: Scheduling, id: string): [string, number][] {
    return [...membersByHost(all, id)].map(([host, count]): [string, number] => [`p-${host}`, count]).sort();
  }
});

test('scheduler groups - many parallel requests of one anti-affinity group fill exactly the hosts that there are', () => {
  for (let seed = 0; seed < 40; seed += 1) {
    const random = seededRandom(`race ${seed}`);
    const all = scheduling(fleet(8), 5);
    for (let at = 0; at < 12; at += 1) all.ask(`r${at}`, specOf(APART), {}, at);
    all.deliver(random);
    all.outwait();
    all.deliver(random);
    const counts = membersByHost(all, APART.id);
    assert.equal([...counts.values()], Array(8).fill(1), `seed ${seed}`);
    const refused = Array.from({ length: 12 }, (_, at) => all.outcomeOf(`r${at}`)).filter(
      ({ reason }) => reason !== null,
    );
    assert.is(refused.length, 4);
  }
});

test.run();
