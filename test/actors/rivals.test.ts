// Area: scheduler, rivals at several. What a request for several holds for a moment, and gives back as it finds no host for the
// rest, fails nobody else who would have room then; and of those that stand in each other's way one gets all that it asks for.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceGroup, RequestSpec } from '../../actors/messages/common.ts';
import type { Select } from '../../actors/messages/scheduler.ts';
import { instanceNames } from '../../actors/routing.ts';
import { OUTWAITS_MS } from '../../actors/scheduler/rivals.ts';
import { seededRandom } from '../../runtime/random.ts';
import { treeOfHost } from '../support/facts.ts';
import { fleetByChance, TOTAL } from '../support/fleet-by-chance.ts';
import { chosenIn, schedulersOf, selectFor } from '../support/schedulers.ts';

const test = suite('rivals');

const APART: InstanceGroup = { id: 'p/apart', policy: 'anti-affinity' };
/** Two ways in which a host has room for one instance. */
const WAYS: readonly ((request: string, count: number, told?: Partial<Select>) => Select)[] = [
  (request, count, told) => selectFor(request, { instances: instanceNames(request, count), vcpu: TOTAL, ...told }),
  (request, count, told) => {
    const { spec, ...asked } = selectFor(request, { instances: instanceNames(request, count), ...told });
    return { ...asked, spec: { ...spec, instanceGroup: APART } };
  },
];

/** Schedulers `a`, `b` and `c` at so many hosts; claims arrive only when they are let. */
function rivalsAt(hostCount: number) {
  const hosts = Array.from({ length: hostCount }, (_, n) => ({ host: `h${n}`, has: { VCPU: TOTAL } }));
  const names = ['a', 'b', 'c'].map((name) => ({ name }));
  const on = schedulersOf(hosts, names);
  let toldOf = 0;
  /** What was claimed for requests that have failed since is given back. */
  const giveBack = (): void => {
    for (const answer of on.answers.slice(toldOf)) {
      if (answer.type !== 'no-valid-host') continue;
      for (const consumer of instanceNames(answer.request, hostCount)) {
        on.ask({ type: 'release', consumer, deleted: true }, 'conductor/0');
      }
    }
    toldOf = on.answers.length;
    on.deliver();
  };
  return {
    ...on,
    select: (name: string, asked: Select): void => on.hear(asked, `scheduler/${name}`),
    /** Has one claim of a request decided. */
    decide(request: string): void {
      const [first] = on
        .underWay()
        .filter(({ message }) => message.type === 'claim' && message.consumer.startsWith(`${request}-`));
      on.deliver(undefined, (letter) => letter === first);
    },
    live(ms: number): void {
      for (let passed = 0; passed < ms; passed += 1) {
        on.run(1);
        giveBack();
      }
    },
    typeOf: (request: string) => on.answers.find((answer) => answer.request === request)?.type,
  };
}

test('rivals - one that finds all hosts taken gets those that a rival gives back as it lacks others', () => {
  for (const asked of WAYS) {
    const on = rivalsAt(4);
    on.select('a', asked('first', 3));
    on.select('b', asked('large', 4));
    for (let claims = 0; claims < 3; claims += 1) on.decide('first');
    on.deliver();
    on.select('c', asked('late', 1));
    on.deliver();
    assert.equal(
      on.answers.map(({ request, type }) => [request, type]),
      [['first', 'selected']],
    );
    on.live(OUTWAITS_MS.empty);
    assert.equal([on.typeOf('large'), on.typeOf('late')], ['no-valid-host', 'selected']);
  }
});

test('rivals - one that was refused a host is not kept from it when that comes free', () => {
  for (const asked of WAYS) {
    const on = rivalsAt(1);
    on.select('a', asked('late', 1));
    on.select('b', asked('quick', 1));
    on.deliver(undefined, ({ from }) => from === 'scheduler/b');
    on.deliver();
    assert.is(on.typeOf('late'), undefined);
    on.ask({ type: 'release', consumer: 'quick', deleted: true }, 'conductor/0');
    on.live(OUTWAITS_MS.empty);
    assert.is(on.typeOf('late'), 'selected');
  }
});

test('rivals - of two that have each taken what the other lacks one gets all', () => {
  for (const asked of WAYS) {
    const on = rivalsAt(4);
    on.select('a', asked('one', 3));
    on.select('b', asked('two', 3));
    for (let claims = 0; claims < 2; claims += 1) for (const request of ['one', 'two']) on.decide(request);
    on.deliver();
    assert.equal(on.answers, []);
    on.live(OUTWAITS_MS.holding);
    assert.equal([on.typeOf('one'), on.typeOf('two')].sort(), ['no-valid-host', 'selected']);
  }
});

test('rivals - one that finds room left, but not where it needs it, gets that which a rival gives back', () => {
  const asksFor = (resources: readonly Record<string, number>[], more: Partial<RequestSpec> = {}): RequestSpec => ({
    groups: resources.map((each, n) => ({ name: `${n + 1}`, resources: each })),
    groupPolicy: 'none',
    ...more,
  });
  const isolated = asksFor([{ PGPU: 4 }, { PGPU: 4 }], { groupPolicy: 'isolate' });
  const together = asksFor([{ PGPU: 8 }, { VGPU: 4 }], { sameSubtree: [['1', '2']] });
  for (const [late, quick, devices] of [
    [isolated, asksFor([{ PGPU: 8 }]), [{ PGPU: 8 }, { PGPU: 8 }]],
    [
      together,
      asksFor([{ VGPU: 5 }]),
      [
        { PGPU: 8, VGPU: 8 },
        { PGPU: 4, VGPU: 4 },
      ],
    ],
  ] satisfies [RequestSpec, RequestSpec, object[]][]) {
    const on = rivalsAt(1);
    const children = devices.map((has, n) => ({ ...treeOfHost({ host: `device-${n}`, has }), parent: 'p-h0' }));
    on.ask({ type: 'put-tree', ask: 1, providers: [treeOfHost({ host: 'h0' }), ...children] });
    on.deliver();
    on.select('b', { ...selectFor('quick'), spec: quick });
    on.deliver();
    on.select('a', { ...selectFor('late'), spec: late });
    on.deliver();
    assert.equal([on.typeOf('quick'), on.typeOf('late')], ['selected', undefined]);
    on.ask({ type: 'release', consumer: 'quick', deleted: true }, 'conductor/0');
    on.live(OUTWAITS_MS.empty);
    assert.is(on.typeOf('late'), 'selected');
  }
});

test('rivals - nobody waits for them where nothing was taken lately, or where it is not room that is missing', () => {
  const on = rivalsAt(1);
  on.select('b', selectFor('other', { vcpu: 1 }));
  on.deliver();
  const { spec, ...asked } = selectFor('elsewhere');
  const groups = [{ name: '', resources: { VCPU: 1 }, required: ['HW_GPU_API_VULKAN'] }];
  on.select('a', { ...asked, spec: { ...spec, groups } });
  on.deliver();
  assert.is(on.typeOf('elsewhere'), 'no-valid-host');
  on.select('b', selectFor('rest', { vcpu: TOTAL - 1 }));
  on.deliver();
  on.pass(OUTWAITS_MS.holding);
  on.select('a', selectFor('later'));
  on.deliver();
  assert.is(on.typeOf('later'), 'no-valid-host');
});

test('rivals - one that is asked for with nothing to wait for fails in time, though others claim on and on', () => {
  const on = rivalsAt(1);
  on.select('b', selectFor('other', { vcpu: TOTAL }));
  on.deliver();
  on.select('a', selectFor('late'));
  on.deliver();
  for (let passed = 0; on.typeOf('late') === undefined; passed += 50) {
    assert.ok(passed < OUTWAITS_MS.empty, `it waits for ${passed} ms`);
    on.live(50);
    for (const consumer of ['other', 'again']) {
      on.shard.tell({ type: 'release', consumer, deleted: true }, 'conductor/0');
    }
  }
  assert.match(chosenIn(on.answers.at(-1)), /exceeds-capacity/);
  assert.ok(on.selecting.has('late'), 'it is not asked for again meanwhile');
});

test('rivals - one that waits for them when the time of day is set back looks without waiting for that time to come', () => {
  const on = rivalsAt(1);
  on.select('b', selectFor('other', { vcpu: TOTAL }));
  on.deliver();
  on.select('a', selectFor('late'));
  on.deliver();
  const [desk] = on.desks;
  if (desk === undefined) throw new Error('there is no scheduler');
  desk.setBack(3_600_000);
  on.live(3_000);
  on.tellHost({ host: 'h0', has: { VCPU: TOTAL } });
  on.live(10);
  assert.is(on.typeOf('late'), 'no-valid-host');
});

test('rivals - by chance, whoever comes when: hardly any fails that would have room in the end, and never do all', () => {
  const ROUNDS = 60;
  for (const asked of WAYS) {
    for (const placementShards of [1, 3]) {
      let failedFalsely = 0;
      for (let seed = 1; seed <= ROUNDS; seed += 1) {
        const random = seededRandom(`rivals ${seed}`);
        const hostCount = random.integer(3, 6);
        const on = fleetByChance(random, { placementShards, hostCount });
        const counts = new Map<string, number>();
        for (let left = random.integer(2, 5); left > 0; left -= 1) {
          const count = random.integer(1, hostCount);
          counts.set(`r${left}`, count);
          on.ask(asked(`r${left}`, count));
          for (let steps = random.integer(0, 6); steps > 0; steps -= 1) on.step();
        }
        on.live(2 * OUTWAITS_MS.empty, 5);
        const free = on.hosts.filter((host) => Math.max(...on.tenantsOf(host)) === 0).length;
        const failed = [...counts].filter(([request]) => on.answers.get(request)?.type === 'no-valid-host');
        const served = [...counts].filter(([request]) => on.answers.get(request)?.type === 'selected');
        assert.is(failed.length + served.length, counts.size, `all of seed ${seed} are answered`);
        assert.ok(served.length > 0, `all of seed ${seed} failed`);
        failedFalsely += failed.filter(([, count]) => count <= free).length;
      }
      assert.ok(failedFalsely <= 1, `${failedFalsely} failed falsely over ${placementShards} placement shards`);
    }
  }
});

test.run();
