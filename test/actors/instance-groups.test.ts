// Area: instance groups in placement. A claim that would break the rule of its group is refused where it is decided, and
// no other is; who is where is told by the feed and survives replay and storing; every refusal says where the group is.

import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceGroup, RequestSpec } from '../../actors/messages/common.ts';
import type { Claim, ProviderSpec, ProvidersChanged, Refusal, Release } from '../../actors/messages/placement.ts';
import { placement } from '../../actors/placement/placement.ts';
import { type Provider, usageOf } from '../../actors/placement/providers.ts';
import { emptyGroupsView, learnMembers, toldOn } from '../../actors/scheduler/view/groups-view.ts';
import { emptyView, learnChanges } from '../../actors/scheduler/view/view.ts';
import { groupOracle } from '../support/group-oracle.ts';
import { bench, replayed, restored, sentOf, type Turned } from '../support/turn.ts';

const test = suite('instance groups in placement');

const actor = placement({ shard: 0 });
const ROOTS = ['a', 'b', 'c', 'd'];

/** A host with 100 VCPU, and 100 GPUs in a provider below it. */
function treeOf(id: string): ProviderSpec[] {
  const inventory = { total: 100, reserved: 0, min_unit: 1, max_unit: 100, step_size: 1, allocation_ratio: 1 };
  const bare = { traits: [], aggregates: [] };
  return [
    { id, name: id, parent: null, inventories: { VCPU: inventory }, ...bare },
    { id: `${id}-gpu`, name: `${id}-gpu`, parent: id, inventories: { PGPU: inventory }, ...bare },
  ];
}

function shardWith(...roots: string[]) {
  const shard = bench(actor);
  for (const root of roots) shard.tell({ type: 'put-tree', ask: 1, providers: treeOf(root) });
  return shard;
}

interface Asked {
  readonly attempt?: number;
  readonly keep?: readonly number[];
  readonly vcpu?: number;
  /** Takes of the host's GPUs alone, so that the root itself is not touched. */
  readonly ofDevice?: boolean;
}

function claimOf(consumer: string, root: string, group: InstanceGroup | undefined, asked: Asked = {}): Claim {
  const { attempt = 1, keep = [], vcpu = 1, ofDevice = false } = asked;
  const resources: Record<string, number> = ofDevice ? { PGPU: 1 } : { VCPU: vcpu };
  const spec: RequestSpec = { groups: [{ name: '', resources }], groupPolicy: 'none' };
  if (group !== undefined) spec.instanceGroup = group;
  const allocations = [{ provider: ofDevice ? `${root}-gpu` : root, group: '', resources }];
  return { type: 'claim', consumer, attempt, spec, allocations, keep: [...keep], expiresAt: 10_000_000 };
}

function refusalIn(turned: Turned<unknown>): Refusal | null {
  return (sentOf(turned, 'claim-refused')[0]?.message.refusal as Refusal | undefined) ?? null;
}

const APART: InstanceGroup = { id: 'p/apart', policy: 'anti-affinity', maxPerHost: 1 };
const PAIRS: InstanceGroup = { id: 'p/pairs', policy: 'anti-affinity', maxPerHost: 2 };
const CLOSE: InstanceGroup = { id: 'p/close', policy: 'affinity' };
const NEAR: InstanceGroup = { id: 'p/near', policy: 'soft-affinity' };
const SPREAD: InstanceGroup = { id: 'p/spread', policy: 'soft-anti-affinity' };

// --- as plain reckoning has it, whatever comes in whatever order

const some = <T>(...values: T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
/** Mostly each group with its own rule, and sometimes with that of another one. */
const groups = some<InstanceGroup | undefined>(
  ...[APART, APART, PAIRS, CLOSE, CLOSE, NEAR, SPREAD, undefined],
  { ...CLOSE, policy: 'anti-affinity', maxPerHost: 1 },
  { ...APART, maxPerHost: 2 },
);
const consumers = some('c1', 'c2', 'c3', 'c4', 'c5');
const claims = fc.record({
  what: fc.constant('claim' as const),
  consumer: consumers,
  root: some(...ROOTS),
  group: groups,
  attempt: fc.integer({ min: 1, max: 4 }),
  keep: fc.subarray([1, 2, 3]),
  ofDevice: fc.boolean(),
});
const releases = fc.record({
  what: fc.constant('release' as const),
  consumer: consumers,
  attempt: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
  deleted: some(false, false, false, true),
});
const sequences = fc.array(fc.oneof({ weight: 5, arbitrary: claims }, { weight: 2, arbitrary: releases }), {
  minLength: 1,
  maxLength: 40,
});

test('instance groups - claims are granted and refused as plain reckoning has it, and no rule is ever broken', () => {
  const met = new Set<string>();
  fc.assert(
    fc.property(sequences, (sequence) => {
      const shard = shardWith();
      const oracle = groupOracle();
      const view = emptyView();
      for (const root of ROOTS) {
        const told = shard.tell({ type: 'put-tree', ask: 1, providers: treeOf(root) });
        for (const { message } of sentOf(told, 'providers-changed')) learnChanges(view, message as ProvidersChanged);
      }
      for (const one of sequence) {
        let turned: Turned<unknown>;
        if (one.what === 'release') {
          const { consumer, attempt, deleted } = one;
          const message: Release = {
            type: 'release',
            consumer,
            deleted,
            ...(attempt === undefined ? {} : { attempt }),
          };
          turned = shard.tell(message, 'asker');
          oracle.release(consumer, attempt, deleted);
        } else {
          turned = shard.tell(claimOf(one.consumer, one.root, one.group, one), 'asker');
          const refusal = refusalIn(turned);
          const answer = oracle.claim(one);
          met.add(answer);
          if (answer === 'granted') assert.is(refusal, null, JSON.stringify(one));
          else if (answer === 'other') assert.ok(refusal !== null);
          else assert.is(refusal?.code, answer, JSON.stringify(one));
        }
        assert.equal(oracle.faults(), []);
        for (const { message } of sentOf(turned, 'providers-changed')) learnChanges(view, message as ProvidersChanged);
        const seen = Object.fromEntries([...view.groups.told].map(([id, byRoot]) => [id, Object.fromEntries(byRoot)]));
        assert.equal(seen, oracle.members(), 'the feed tells where all members are');
      }
      assert.equal(replayed(actor, shard.entries), shard.stored());
      assert.equal(restored(actor, shard.stored()), shard.stored());
    }),
    { numRuns: 400, seed: 1 },
  );
  assert.equal([...met].sort(), ['granted', 'group-affinity', 'group-anti-affinity', 'group-policy-conflict', 'other']);
});

test('instance groups - a shard that was stored and restored decides as one that was not', () => {
  fc.assert(
    fc.property(sequences, sequences, (earlier, later) => {
      const tellAll = (shard: ReturnType<typeof shardWith>, sequence: typeof earlier) =>
        sequence.map((one) => {
          if (one.what === 'release')
            return shard.tell({ type: 'release', consumer: one.consumer, deleted: one.deleted });
          return refusalIn(shard.tell(claimOf(one.consumer, one.root, one.group, one)));
        });
      const shard = shardWith(...ROOTS);
      tellAll(shard, earlier);
      const other = bench({ ...actor, init: () => actor.restore([shard.stored()]) });
      const codes = (told: unknown[]) => told.map((one) => (one as Refusal | null)?.code);
      assert.equal(codes(tellAll(other, later)), codes(tellAll(shard, later)));
    }),
    { numRuns: 150 },
  );
});

// --- the rules, one by one

test('instance groups - a refusal says in words and by id where the group is, and how it stands there', () => {
  const shard = shardWith('a', 'b');
  shard.tell(claimOf('c1', 'a', CLOSE));
  const turned = shard.tell(claimOf('c2', 'b', CLOSE));
  assert.equal(refusalIn(turned), {
    code: 'group-affinity',
    message: "instance group 'close' keeps together, and it is on host 'a', not on 'b'",
    provider: 'a',
  });
  const usages = sentOf(turned, 'claim-refused')[0]?.message.usages ?? [];
  assert.equal(
    usages.map(({ id, groups: told }) => [id, told]),
    [
      ['b', undefined],
      ['a', { 'p/close': 1 }],
    ],
  );
  shard.tell(claimOf('c3', 'b', APART));
  assert.equal(refusalIn(shard.tell(claimOf('c4', 'b', APART))), {
    code: 'group-anti-affinity',
    message: "instance group 'apart' may have 1 on each host, and host 'b' has 1",
    provider: 'b',
  });
  assert.equal(refusalIn(shard.tell(claimOf('c5', 'a', { ...PAIRS, id: APART.id }))), {
    code: 'group-policy-conflict',
    message: "instance group 'apart' has the rule 'anti-affinity', not 'anti-affinity, 2 per host'",
  });
});

test('instance groups - who chose by a soft rule, knowing too little, is told what is news', () => {
  const shard = shardWith('a', 'b', 'c');
  const claim = (consumer: string, root: string, group: InstanceGroup, groupKnown?: Claim['groupKnown']) =>
    refusalIn(shard.tell({ ...claimOf(consumer, root, group), ...(groupKnown === undefined ? {} : { groupKnown }) }));
  assert.is(claim('s1', 'a', SPREAD, { members: 0, others: 0 }), null);
  assert.equal(claim('s2', 'a', SPREAD, { members: 0, others: 0 }), {
    code: 'group-changed',
    message: "instance group 'spread' keeps apart if it can, and host 'a' has 1 of it, not 0",
    provider: 'a',
  });
  assert.is(claim('s2', 'a', SPREAD, { members: 1, others: 0 }), null, 'it knows, and there is no other');
  assert.is(claim('s3', 'a', SPREAD), null, 'it does not ask');
  assert.is(claim('n1', 'a', NEAR, { members: 0, others: 0 }), null);
  assert.is(claim('n2', 'a', NEAR, { members: 0, others: 0 }), null, 'where the group is it is welcome');
  assert.equal(claim('n3', 'b', NEAR, { members: 0, others: 0 }), {
    code: 'group-changed',
    message: "instance group 'near' keeps together if it can, and it has come to host 'a'",
    provider: 'a',
  });
  assert.is(claim('n3', 'b', NEAR, { members: 0, others: 1 }), null, 'it knows, and there is no room');
  assert.is(claim('n4', 'c', NEAR, { members: 0, others: 1 })?.provider, 'b', 'the news is where it came last');
  assert.is(
    claim('n4', 'c', NEAR, { members: 2, others: 2 })?.code,
    'group-changed',
    'those that it expected are not there',
  );
  shard.tell(claimOf('full', 'b', undefined, { vcpu: 99 }));
  assert.is(claim('n4', 'c', NEAR, { members: 0, others: 1 }), null, 'there is no room where it came last');
  assert.is(claim('n5', 'c', { ...NEAR, id: 'p/new' }, { members: 2, others: 0 }), null, 'they are nowhere');
});

test('instance groups - groups of one name in two projects are two groups', () => {
  const shard = shardWith('a');
  for (const project of ['one', 'two', '']) {
    assert.is(refusalIn(shard.tell(claimOf(`c-${project}`, 'a', { ...APART, id: `${project}/apart` }))), null);
  }
});

test('instance groups - a group ends with its last member, and may then begin with another rule', () => {
  const shard = shardWith('a', 'b');
  shard.tell(claimOf('c1', 'a', APART));
  const other: InstanceGroup = { ...APART, policy: 'affinity' };
  assert.is(refusalIn(shard.tell(claimOf('c2', 'a', other)))?.code, 'group-policy-conflict');
  shard.tell({ type: 'release', consumer: 'c1', deleted: true });
  for (const consumer of ['c3', 'c4']) assert.is(refusalIn(shard.tell(claimOf(consumer, 'b', other))), null);
});

test('instance groups - who held nothing is given nothing by a caller while his group has another rule than he has', () => {
  const shard = shardWith('a', 'b');
  const give = (...consumers: string[]) => {
    const allocations = [{ provider: 'b', resources: { VCPU: 1 } }];
    const given = consumers.map((consumer) => ({ consumer, allocations, project: 'p', user: 'u' }));
    const turned = shard.tell({ type: 'allocations-put', ask: 1, consumers: given });
    const { ok, refused } = JSON.parse(sentOf(turned, 'placement-answer')[0]?.message.text as string);
    return ok === undefined ? refused.code : 'ok';
  };
  const goes = (consumer: string) => shard.tell({ type: 'release', consumer, attempt: 1, deleted: false });
  const other: InstanceGroup = { ...APART, policy: 'soft-affinity' };
  shard.tell(claimOf('c1', 'a', APART));
  goes('c1');
  shard.tell(claimOf('c2', 'a', other));
  assert.is(give('c1'), 'group-affinity');
  goes('c2');
  assert.is(give('c1', 'c2'), 'group-anti-affinity', 'nor two at once that say two rules');
  assert.is(give('c1'), 'ok');
  assert.is(give('c2'), 'group-anti-affinity');
  assert.is(give('c1'), 'ok', 'a member is one');
  shard.tell(claimOf('c3', 'a', APART));
  for (const consumer of ['c1', 'c3']) goes(consumer);
  assert.is(give('c1', 'c3'), 'group-anti-affinity', 'both on one host');
  assert.equal(actor.restore([shard.stored()]).groups.known, shard.state.groups.known);
});

test('instance groups - a change by which all members of a group go begins it anew, with the rule of those who come', () => {
  const rules: InstanceGroup[] = [APART, CLOSE, { ...APART, policy: 'soft-affinity' }, { ...APART, maxPerHost: 2 }];
  const shared = rules.map((rule) => ({ ...rule, id: 'p/g' }));
  for (const rule of shared) {
    for (const other of shared.filter((one) => one !== rule)) {
      const shard = shardWith('a', 'b');
      const change = (given: Record<string, string | null>) => {
        const consumers = Object.entries(given).map(([consumer, provider]) => {
          const allocations = provider === null ? [] : [{ provider, resources: { VCPU: 1 } }];
          return { consumer, allocations, project: 'p', user: 'u' };
        });
        const turned = shard.tell({ type: 'allocations-put', ask: 1, consumers });
        const { refused } = JSON.parse(sentOf(turned, 'placement-answer')[0]?.message.text as string);
        return refused?.code ?? 'ok';
      };
      for (const consumer of ['new1', 'new2', 'old1', 'old2']) {
        const isNew = consumer.startsWith('new');
        const host = consumer === 'old2' && rule.policy === 'anti-affinity' ? 'b' : 'a';
        const claimed = shard.tell(claimOf(consumer, isNew ? 'b' : host, isNew ? other : rule));
        assert.is(refusalIn(claimed), null);
        if (isNew) shard.tell({ type: 'release', consumer, attempt: 1, deleted: false });
      }
      assert.ok(change({ new1: 'b', old1: null }).startsWith('group-'), 'one stays');
      const isKept = other.policy === 'anti-affinity' && other.maxPerHost !== 2;
      const twoOnOne = change({ new1: 'a', old1: null, new2: 'a', old2: null });
      assert.is(twoOnOne, isKept ? 'group-anti-affinity' : 'ok', `${rule.policy} ${other.policy}`);
      if (isKept) assert.is(change({ new1: 'a', old1: null, new2: 'b', old2: null }), 'ok');
      const { known, places } = shard.state.groups;
      assert.equal(
        [...known].map(([id, { rule: now, members }]) => [id, now, members.size]),
        [['p/g', other, 2]],
      );
      assert.equal([...places.keys()], ['new1', 'new2']);
      assert.equal(actor.restore([shard.stored()]).groups.known, known);
      shard.tell(claimOf('more', 'a', rule));
      assert.is(places.has('more'), false);
    }
  }
});

test('instance groups - where very many members of a group go at once, they are not gone through for each of them', () => {
  const shard = shardWith('a');
  const group: InstanceGroup = { ...CLOSE, policy: 'soft-affinity' };
  const all = Array.from({ length: 8 }, (_, n) => `i${n}`);
  for (const consumer of all) assert.is(refusalIn(shard.tell(claimOf(consumer, 'a', group))), null);
  const members = shard.state.groups.known.get(group.id)?.members as Set<string>;
  let timesRead = 0;
  members[Symbol.iterator] = () => {
    timesRead += 1;
    return members.values();
  };
  const consumers = all.map((consumer) => ({ consumer, allocations: [], project: 'p', user: 'u' }));
  shard.tell({ type: 'allocations-put', ask: 1, consumers });
  assert.is(shard.state.groups.known.size, 0);
  assert.is(timesRead, 1);
});

test('instance groups - a group goes on with its rule while its members hold only what is shared, or is not there', () => {
  const other: InstanceGroup = { ...CLOSE, policy: 'anti-affinity', maxPerHost: 1 };
  const [root] = treeOf('a') as [ProviderSpec];
  const pool = { ...root, id: 'pool', name: 'pool', traits: ['MISC_SHARES_VIA_AGGREGATE'] };
  const device = { ...root, id: 'a-trait', name: 'a-trait', parent: 'a', inventories: {} };
  for (const how of ['shared', 'gone']) {
    const shard = shardWith('b');
    const put = (...providers: ProviderSpec[]) => shard.tell({ type: 'put-tree', ask: 1, providers });
    const ask = (message: object) => shard.tell({ ask: 1, ...message } as never);
    put(root, device);
    const groups = [{ name: 'n', resources: {} }];
    const allocations = [{ provider: device.id, group: 'n', resources: {} }];
    const spec: RequestSpec = { groups, groupPolicy: 'none', instanceGroup: CLOSE };
    assert.is(refusalIn(shard.tell({ ...claimOf('c1', 'a', CLOSE), spec, allocations })), null, how);
    if (how === 'gone') put(root);
    else {
      ask({ type: 'provider-create', id: pool.id, name: pool.name, parent: null });
      ask({ type: 'traits-put', id: pool.id, traits: pool.traits });
      const { inventories } = pool;
      ask({ type: 'inventories-put', id: pool.id, how: 'all', inventories, removed: [], allReserved: true });
      const taken = [{ provider: pool.id, resources: { VCPU: 1 } }];
      const consumers = [{ consumer: 'c1', allocations: taken, project: 'p', user: 'u' }];
      ask({ type: 'allocations-put', consumers });
    }
    assert.is(shard.state.groups.known.get(CLOSE.id)?.homes.size, 0, how);
    assert.is(refusalIn(shard.tell(claimOf('c2', 'b', other)))?.code, 'group-policy-conflict', how);
    assert.is(refusalIn(shard.tell(claimOf('c3', 'b', CLOSE))), null, how);
    if (how === 'gone') put(root, device);
    else ask({ type: 'traits-put', id: pool.id, traits: [] });
    const rules = [...shard.state.providers.values()].flatMap(({ groupRules }) => [...groupRules.values()]);
    assert.equal(rules, ['affinity', 'affinity'], how);
    assert.equal(restored(actor, shard.stored()), replayed(actor, shard.entries));
    for (const consumer of ['c1', 'c3']) shard.tell({ type: 'release', consumer, deleted: true });
    assert.is(refusalIn(shard.tell(claimOf('c4', 'b', other))), null, how);
  }
});

test('instance groups - a claim that moves its own member does not count it, and counts what is kept for the others', () => {
  const shard = shardWith('a', 'b');
  shard.tell(claimOf('c1', 'a', APART));
  // It comes back to the host that it has: as far as its group goes it was never away.
  assert.is(refusalIn(shard.tell(claimOf('c1', 'a', APART, { attempt: 2 }))), null);
  assert.is(refusalIn(shard.tell(claimOf('c1', 'b', APART, { attempt: 3, keep: [2] }))), null);
  for (const root of ['a', 'b']) {
    assert.is(refusalIn(shard.tell(claimOf('c2', root, APART)))?.code, 'group-anti-affinity', root);
  }
  shard.tell({ type: 'release', consumer: 'c1', attempt: 2, deleted: false });
  assert.is(refusalIn(shard.tell(claimOf('c2', 'a', APART))), null);
});

test('instance groups - what was left behind on a host is no home that an affinity group must go back to', () => {
  const shard = shardWith('a', 'b');
  shard.tell(claimOf('c1', 'a', CLOSE));
  assert.is(refusalIn(shard.tell(claimOf('c1', 'b', CLOSE, { attempt: 2, keep: [1] }))), null);
  assert.is(refusalIn(shard.tell(claimOf('c2', 'a', CLOSE)))?.code, 'group-affinity');
  assert.is(refusalIn(shard.tell(claimOf('c2', 'b', CLOSE))), null);
});

test('instance groups - schedulers are told of homes where members keep together, and of all that may run where they keep apart', () => {
  const told = (group: InstanceGroup) => {
    const shard = shardWith('a', 'b');
    shard.tell(claimOf('c1', 'a', group));
    shard.tell(claimOf('c1', 'b', group, { attempt: 2, keep: [1] }));
    shard.tell({ type: 'release', consumer: 'c1', attempt: 2, deleted: false });
    return ['a', 'b'].map((root) => [...(shard.state.providers.get(root)?.groups.values() ?? [])]);
  };
  for (const policy of ['affinity', 'soft-affinity'] as const)
    assert.equal(told({ id: 'g', policy }), [[], []], policy);
  for (const policy of ['anti-affinity', 'soft-anti-affinity'] as const)
    assert.equal(told({ id: 'g', policy }), [[1], []], policy);
});

test('instance groups - a member that holds devices alone is counted on their host', () => {
  const shard = shardWith('a', 'b');
  const turned = shard.tell(claimOf('c1', 'a', APART, { ofDevice: true }));
  assert.equal(
    sentOf(turned, 'claim-granted')[0]?.message.usages.map(({ id }) => id),
    ['a-gpu', 'a'],
  );
  assert.is(refusalIn(shard.tell(claimOf('c2', 'a', APART, { ofDevice: true })))?.code, 'group-anti-affinity');
});

test('instance groups - many claims of one turn are decided one after the other', () => {
  const shard = shardWith(...ROOTS);
  const letters = Array.from({ length: 20 }, (_, at) => ({
    message: claimOf(`c${at}`, ROOTS[at % ROOTS.length] as string, APART),
    from: `scheduler/s${at}`,
  }));
  const turned = shard.tellAll(letters);
  assert.is(sentOf(turned, 'claim-granted').length, ROOTS.length);
  assert.is(sentOf(turned, 'claim-refused').length, 20 - ROOTS.length);
});

test('instance groups - callers of the Placement API do not notice how many members a host has', () => {
  const shard = shardWith('a');
  const revision = () => {
    const { generation, quiet } = shard.state.providers.get('a') ?? { generation: 0, quiet: 0 };
    return generation - quiet;
  };
  const before = revision();
  shard.tell(claimOf('c1', 'a', APART, { ofDevice: true }));
  assert.is(revision(), before);
});

test('instance groups - a shard says which rule the members of a group have that hold something with it, if any do', () => {
  const shard = shardWith('a', 'b');
  const ruleOf = ({ id }: InstanceGroup) => {
    const [told] = sentOf(shard.tell({ type: 'locate', ask: 1, consumers: ['c1'], group: id }), 'located');
    return told?.message.rule;
  };
  shard.tell(claimOf('c1', 'a', PAIRS));
  assert.equal([PAIRS, CLOSE].map(ruleOf), ['anti-affinity, 2 per host', undefined]);
  const [plain] = sentOf(shard.tell({ type: 'locate', ask: 1, consumers: ['c1'] }), 'located');
  assert.equal([plain?.message.rule, plain?.message.members], [undefined, undefined]);
  shard.tell({ type: 'release', consumer: 'c1', deleted: true });
  assert.is(ruleOf(PAIRS), undefined);
});

test('groups - of a host with members of many groups all is told with each claim, and put together only where it has changed', () => {
  const on = shardWith('a');
  const { providers } = on.state;
  const root = () => providers.get('a') as Provider;
  const claim = (consumer: string, group?: string) =>
    on.tell({
      type: 'claim',
      consumer,
      attempt: 1,
      spec: {
        groups: [{ name: '', resources: { VCPU: 1 } }],
        groupPolicy: 'none',
        ...(group === undefined ? {} : { instanceGroup: { id: group, policy: 'affinity' } }),
      },
      allocations: [{ provider: 'a', group: '', resources: { VCPU: 1 } }],
      keep: [],
      expiresAt: 1e12,
    });
  const isAsCounted = () => {
    const { groups = {}, groupRules = {} } = usageOf(root());
    assert.equal(new Map(Object.entries(groups)), new Map(root().groups));
    assert.equal(new Map(Object.entries(groupRules)), new Map(root().groupRules));
  };
  for (let n = 0; n < 30; n += 1) claim(`i${n}`, `/g${n}`);
  isAsCounted();
  const { groups } = usageOf(root());
  claim('plain');
  assert.is(usageOf(root()).groups, groups, 'it is put together anew');
  claim('one-more', '/g0');
  isAsCounted();
  assert.is(usageOf(root()).groups?.['/g0'], 2);
  assert.is(groups?.['/g0'], 1, 'what was told is changed');
  on.tell({ type: 'release', consumer: 'i1', deleted: true });
  isAsCounted();
  assert.not.ok('/g1' in (usageOf(root()).groups ?? {}));
});

test('groups - a scheduler that is told of many groups on a host looks further only at those that have changed', () => {
  const view = emptyGroupsView();
  const all = (more: Record<string, number>) =>
    ({ ...Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`/g${n}`, 1])), ...more }) as Record<string, number>;
  const rulesOf = (members: Record<string, number>) =>
    Object.fromEntries(Object.keys(members).map((group) => [group, 'affinity']));
  const learn = (members: Record<string, number>) => learnMembers(view, 'a', members, rulesOf(members));
  assert.not.ok(learn(all({})));
  let looks = 0;
  for (const map of [view.told, view.rules]) {
    const get = map.get.bind(map) as (key: string) => never;
    map.get = (key: string) => {
      looks += 1;
      return get(key);
    };
  }
  assert.not.ok(learn(all({ '/g7': 2, '/new': 1 })));
  assert.ok(looks <= 8, `looked at ${looks}`);
  const { '/g3': _, ...without } = all({ '/g7': 2, '/new': 1 });
  assert.ok(learn(without), 'one has left');
  assert.ok(learn({ ...without, '/g7': 1 }), 'one of two has left');
  assert.equal([toldOn(view, '/g3', 'a'), toldOn(view, '/g7', 'a'), toldOn(view, '/new', 'a')], [0, 1, 1]);
  assert.ok(learn({}));
  assert.is(view.told.size + view.rules.size + view.onRoot.size, 0);
});

test.run();
