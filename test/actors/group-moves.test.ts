// Area: group moves. While a member of an instance group is on its way to a host, by a change over several shards that is
// not decided yet, nobody else of its group is placed: neither by a claim nor by another change, nor anywhere else.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceGroup } from '../../actors/messages/common.ts';
import type { Part } from '../../actors/messages/transactions.ts';
import { CALLER, type Desk, hostOf, rig } from '../support/shards.ts';

const test = suite('group moves');

const APART: InstanceGroup = { id: 'p/apart', policy: 'anti-affinity' };
const CLOSE: InstanceGroup = { id: 'p/close', policy: 'affinity' };
const SOFT: InstanceGroup = { id: 'p/soft', policy: 'soft-anti-affinity' };
const resources = { VCPU: 1 };
const inventory = { total: 4, reserved: 0, min_unit: 1, max_unit: 4, step_size: 1, allocation_ratio: 1 };
/** A second host of the first shard. */
const SECOND = 'host-0b';

type Rig = ReturnType<typeof rig>;
const deskOf = (on: Rig, shard: number) => on.shards[shard] as Desk;

function scene(): Rig {
  const on = rig();
  const provider = { id: SECOND, name: SECOND, parent: null, inventories: { VCPU: inventory } };
  deskOf(on, 0).tell({ type: 'put-tree', ask: 1, providers: [{ ...provider, traits: [], aggregates: [] }] } as never);
  return on;
}

/** What comes of a claim: `granted`, or the code of its refusal; null: it waits. */
function claim(on: Rig, consumer: string, host: string, group: InstanceGroup | null, shard = 0): string | null {
  const spec = {
    groups: [{ name: '', resources }],
    groupPolicy: 'none',
    ...(group === null ? {} : { instanceGroup: group }),
  };
  const allocations = [{ provider: host, group: '', resources }];
  const asked = { type: 'claim', consumer, attempt: 1, spec, allocations, keep: [], expiresAt: 1e15 };
  for (const { message } of deskOf(on, shard).tell(asked as never, CALLER).sent) {
    if (message.type === 'claim-granted') return 'granted';
    if (message.type === 'claim-refused') return message.refusal.code;
  }
  return null;
}

const holding = (consumer: string, host: string | null, more: object = {}) => ({
  consumer,
  allocations: host === null ? [] : [{ provider: host, resources }],
  project: 'p',
  user: 'u',
  ...more,
});

/** A change with a part in the first shard, and one in the second that is about a consumer of its own. */
const beside = (key: string, first: Part['consumers'], ask = 1) => ({
  type: 'change-together',
  ask,
  key,
  parts: [
    { shard: 0, consumers: first },
    { shard: 1, consumers: [holding(`pool-${key}`, hostOf(1))] },
  ],
});

/** All is delivered but what the second shard is to hold: the first one holds its part. */
const untilHeld = (on: Rig) => on.deliver(({ type }, to) => !(type === 'hold' && to === 'placement/1'));
const codes = ({ answers }: Rig) => answers.map(({ outcome }) => ('refused' in outcome ? outcome.refused.code : 'ok'));
const members = (on: Rig, host: string, { id }: InstanceGroup) =>
  deskOf(on, 0).state.providers.get(host)?.groups.get(id) ?? 0;

test('group moves - while a member is on its way, a claim of its group waits, and no other', () => {
  const on = scene();
  assert.is(claim(on, 'a', hostOf(0), APART), 'granted');
  on.say(0, beside('one', [holding('a', SECOND)]));
  untilHeld(on);
  assert.is(claim(on, 'b', SECOND, APART), null);
  assert.is(claim(on, 'i', SECOND, null), 'granted');
  assert.is(claim(on, 's', SECOND, SOFT), 'granted');
  assert.is(claim(on, 'o', SECOND, { ...APART, id: 'p/other' }), 'granted');
  on.replace(0);
  assert.is(claim(on, 'b', SECOND, APART), null, 'whoever goes on for the shard knows of it');
  on.pass(2_500);
  on.deliver();
  assert.equal(codes(on), ['ok']);
  assert.is(claim(on, 'b', SECOND, APART), 'group-anti-affinity');
  assert.is(claim(on, 'b', hostOf(0), APART), 'granted');
  assert.equal([members(on, hostOf(0), APART), members(on, SECOND, APART)], [1, 1]);
  assert.is(deskOf(on, 0).state.holds.locks.size, 0);
  on.check();
});

test('group moves - while one is on its way by whom a group begins, none comes there with another rule', () => {
  const rules = ['affinity', 'anti-affinity', 'soft-affinity', 'soft-anti-affinity'] as const;
  for (const policy of rules) {
    for (const other of rules.filter((one) => one !== policy)) {
      const on = scene();
      const group = { id: 'p/g', policy };
      assert.is(claim(on, 'a', hostOf(0), group), 'granted');
      deskOf(on, 0).tell({ type: 'release', consumer: 'a', attempt: 1, deleted: false } as never);
      on.say(0, beside('one', [holding('a', hostOf(0))]));
      untilHeld(on);
      assert.is(claim(on, 'b', SECOND, { id: 'p/g', policy: other }), null, `${policy} ${other}`);
      on.deliver();
      assert.equal(codes(on), ['ok']);
      assert.is(claim(on, 'b', SECOND, { id: 'p/g', policy: other }), 'group-policy-conflict');
      on.check();
    }
  }
});

test('group moves - of a group that only wishes to keep to its rule, others with the same rule wait for nobody on his way', () => {
  for (const policy of ['soft-affinity', 'soft-anti-affinity'] as const) {
    const on = scene();
    const group = { id: 'p/g', policy };
    on.say(0, beside('one', [holding('a', hostOf(0), { group, latest: 1 })]));
    untilHeld(on);
    assert.is(claim(on, 'b', SECOND, group), 'granted', policy);
    on.say(0, { type: 'group-leave', group: 'p/g', number: 1 });
    assert.ok(on.said.some(({ type }) => type === 'group-stays'));
    on.say(0, { type: 'allocations-put', ask: 2, consumers: [holding('c', SECOND, { group, latest: 1 })] });
    on.say(0, beside('two', [holding('d', SECOND, { group, latest: 1 })], 3));
    for (const one of ['b', 'c']) {
      deskOf(on, 0).tell({ type: 'release', consumer: one, attempt: 1, deleted: false } as never);
    }
    assert.is(claim(on, 'e', SECOND, { id: 'p/g', policy: 'affinity' }), null, 'by another rule');
    on.deliver();
    assert.equal(codes(on), ['ok', 'ok', 'ok']);
    const { rule, members: those } = deskOf(on, 0).state.groups.known.get('p/g') ?? {};
    assert.equal([rule?.policy, [...(those ?? [])]], [policy, ['a', 'd']]);
    on.check();
  }
});

test('group moves - a move that is off keeps nobody away', () => {
  const on = scene();
  assert.is(claim(on, 'a', hostOf(0), APART), 'granted');
  assert.is(claim(on, 'full', hostOf(1), null, 1), 'granted');
  on.say(0, {
    ...beside('one', [holding('a', SECOND)]),
    parts: [
      { shard: 0, consumers: [holding('a', SECOND)] },
      {
        shard: 1,
        consumers: [{ ...holding('pool', hostOf(1)), allocations: [{ provider: hostOf(1), resources: { VCPU: 4 } }] }],
      },
    ],
  });
  untilHeld(on);
  assert.is(claim(on, 'b', SECOND, APART), null);
  on.deliver();
  assert.equal(codes(on), ['exceeds-capacity']);
  assert.is(claim(on, 'b', SECOND, APART), 'granted');
  on.check();
});

test('group moves - while a group that keeps together is on its way, none joins it where it was', () => {
  const on = scene();
  assert.is(claim(on, 'a', hostOf(0), CLOSE), 'granted');
  on.say(0, beside('one', [holding('a', SECOND)]));
  untilHeld(on);
  assert.is(claim(on, 'b', hostOf(0), CLOSE), null);
  const leave = { type: 'group-leave', group: CLOSE.id, number: 1 };
  assert.equal(deskOf(on, 0).tell(leave as never, 'placement/2').sent, [], 'nor is it given to another shard');
  on.deliver();
  assert.is(claim(on, 'b', hostOf(0), CLOSE), 'group-affinity');
  assert.is(claim(on, 'b', SECOND, CLOSE), 'granted');
  const [{ message } = { message: null }] = deskOf(on, 0).tell(leave as never, 'placement/2').sent;
  assert.equal([message?.type, (message as { root?: string }).root], ['group-stays', SECOND]);
  assert.equal([members(on, hostOf(0), CLOSE), members(on, SECOND, CLOSE)], [0, 2]);
  on.check();
});

test('group moves - changes of one shard and of several that move members of one group follow each other', () => {
  for (const another of ['allocations-put', 'change-together', 'reshape'] as const) {
    const on = scene();
    on.say(0, {
      type: 'put-tree',
      ask: 9,
      providers: [{ id: 'z', name: 'z', parent: null, inventories: { VCPU: inventory }, traits: [], aggregates: [] }],
    });
    assert.is(claim(on, 'a', hostOf(0), APART), 'granted');
    assert.is(claim(on, 'b', 'z', APART), 'granted');
    on.say(0, beside('one', [holding('a', SECOND)]));
    untilHeld(on);
    if (another === 'change-together') on.say(0, beside('two', [holding('b', SECOND)], 2));
    else {
      const { generation = 0, quiet = 0 } = deskOf(on, 0).state.providers.get('z') ?? {};
      const inventories = [{ provider: 'z', generation: generation - quiet, inventories: {} }];
      on.say(0, {
        type: another,
        ask: 2,
        consumers: [holding('b', SECOND)],
        inventories: another === 'reshape' ? inventories : [],
      });
    }
    untilHeld(on);
    assert.equal(codes(on), [], `${another} waits`);
    on.deliver();
    assert.equal(codes(on).toSorted(), ['group-anti-affinity', 'ok'], another);
    assert.equal([members(on, SECOND, APART), members(on, 'z', APART)], [1, 1], another);
    on.check();
  }
});

/** As whoever tells every shard what a consumer is to hold, and does not know what it is. */
const everywhere = (consumer: string, host: string, shard: number) => ({
  type: 'change-together',
  ask: 1,
  key: 'one',
  parts: [0, 1, 2].map((one) => ({ shard: one, consumers: [holding(consumer, one === shard ? host : null)] })),
});

test('group moves - a change that does not say what a consumer is moves no instance to another shard', () => {
  for (const [group, code] of [
    [APART, 'group-anti-affinity'],
    [CLOSE, 'group-affinity'],
    [SOFT, 'other-shard'],
    [null, 'other-shard'],
  ] as const) {
    const on = scene();
    assert.is(claim(on, 'a', hostOf(2), group, 2), 'granted');
    on.say(0, everywhere('a', hostOf(1), 1));
    on.deliver();
    assert.equal(codes(on), [code]);
    assert.equal(on.held('a'), [[], [], [1]]);
    on.check();
  }
});

test('group moves - within a shard, or away for good, it may change an instance', () => {
  const on = scene();
  assert.is(claim(on, 'a', hostOf(0), APART), 'granted');
  on.say(0, everywhere('a', SECOND, 0));
  on.deliver();
  on.say(0, { ...everywhere('a', SECOND, 7), key: 'two' });
  on.deliver();
  assert.equal(codes(on), ['ok', 'ok']);
  assert.equal(on.held('a'), [[], [], []]);
  assert.is(members(on, SECOND, APART), 0);
  on.check();
});

test.run();
