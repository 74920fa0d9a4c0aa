// Area: placement. What callers of the Placement API ask of a shard: whatever they ask, in whatever order, what is
// listed is what is used, what is recorded leads to the same state again, and every message can be sent.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { feedMessages, type PlacementMessage } from '../../actors/messages/placement.ts';
import type { ApiOutcome, PlacementApiMessage } from '../../actors/messages/placement-api.ts';
import { placementApiAnswers, placementApiMessages } from '../../actors/messages/placement-api.ts';
import { applyToPlacement } from '../../actors/placement/apply.ts';
import { idsBy } from '../../actors/placement/indexes.ts';
import { capacityOf } from '../../actors/placement/inventory.ts';
import { placement } from '../../actors/placement/placement.ts';
import type { PlacementRecord } from '../../actors/placement/records.ts';
import { emptyPlacement, type PlacementState } from '../../actors/placement/state.ts';
import { seededRandom } from '../../runtime/random.ts';
import { checkOfProtocol } from '../../runtime/schemas.ts';
import { checkHolding } from '../support/holding-scan.ts';
import { inventoryOf, providerOf } from '../support/placement-desk.ts';
import { randomMessage } from '../support/placement-messages.ts';
import { beginSlices } from '../support/slices.ts';
import { bench, replayed, restored, sentOf } from '../support/turn.ts';

const test = suite('placement - the Placement API');
const checkIn = checkOfProtocol(placementApiMessages);
const checkOut = checkOfProtocol({ ...placementApiAnswers, 'providers-changed': feedMessages['providers-changed'] });

const inventory = (total: number) => ({
  total,
  reserved: 0,
  min_unit: 1,
  max_unit: total,
  step_size: 1,
  allocation_ratio: 1,
});

function shard() {
  const one = bench(placement({ shard: 0 }));
  let asks = 0;
  return {
    ...one,
    get state() {
      return one.state;
    },
    ask(question: object): ApiOutcome {
      asks += 1;
      const parts: string[] = [];
      let turns = [one.tell({ ...question, ask: asks } as PlacementApiMessage, 'gateway/test')];
      for (;;) {
        for (const { message } of turns.flatMap(({ sent }) => sent)) checkOut(message);
        const answers = turns.flatMap((turned) => sentOf(turned, 'placement-answer'));
        parts.push(...answers.map(({ message }) => message.text));
        if (answers.at(-1)?.message.parts === parts.length) return JSON.parse(parts.join('')) as ApiOutcome;
        turns = one.pass(10);
      }
    },
    tell: (message: PlacementMessage) => one.tell(message, 'scheduler/s'),
    put(id: string, inventories: Record<string, object>, parent: string | null = null) {
      this.ask({ type: 'provider-create', id, name: id, parent });
      return this.ask({ type: 'inventories-put', id, how: 'all', inventories, removed: [], allReserved: true });
    },
    hold(consumer: string, amounts: Record<string, Record<string, number>>, more: object = {}) {
      const allocations = Object.entries(amounts).map(([provider, resources]) => ({ provider, resources }));
      const consumers = [{ consumer, allocations, project: 'p', user: 'u', ...more }];
      return this.ask({ type: 'allocations-put', consumers });
    },
  };
}

const codeOf = (outcome: ApiOutcome) => ('refused' in outcome ? outcome.refused.code : 'ok');

function checkAccounts(state: PlacementState): void {
  const { providers, consumers, trees, indexes } = state;
  checkHolding(state);
  const sums = new Map<string, number>();
  for (const { held } of consumers.holding.values()) {
    for (const { allocations } of held) {
      for (const { provider, resources } of allocations) {
        for (const [name, amount] of Object.entries(resources)) {
          const key = `${provider} ${name}`;
          sums.set(key, (sums.get(key) ?? 0) + amount);
        }
      }
    }
  }
  for (const [id, { stocks, spec, root }] of providers) {
    for (const [name, { used, capacity, inventory: told }] of stocks) {
      assert.is(used, sums.get(`${id} ${name}`) ?? 0, `${name} of ${id}`);
      assert.is(capacity, capacityOf(told));
      sums.delete(`${id} ${name}`);
    }
    assert.ok(trees.get(root)?.includes(id));
    assert.is(spec.parent === null ? id : providers.get(spec.parent)?.root, root);
  }
  assert.equal([...sums], [], 'something is held of what is not there');
  const inTrees = [...trees.values()].flat();
  assert.equal([...new Set(inTrees)].sort(), [...providers.keys()].sort());
  assert.is(inTrees.length, providers.size);
  const named = [...indexes.names.keys()].flatMap((name) => [...idsBy(indexes, name)]);
  assert.equal(named.sort(), [...providers.keys()].sort());
}

test('random changes keep the accounts, and their records and snapshots lead to the same state', () => {
  for (let seed = 0; seed < 25; seed += 1) {
    const random = seededRandom(`placement-api-${seed}`);
    const actor = placement({ shard: 0 });
    const one = bench(actor);
    const before = new Map<string, number>();
    let slice = beginSlices(actor, one.state);
    for (let n = 0; n < 200; n += 1) {
      if (slice(random.integer(1, 3))) slice = beginSlices(actor, one.state);
      const message = randomMessage(random, one.state, n);
      checkIn(message);
      for (const { spec, stocks } of one.state.providers.values()) {
        for (const [name, { used, capacity }] of stocks) before.set(`${spec.id} ${name}`, used - capacity);
      }
      for (const { message: said } of one.tell(message, 'gateway/test').sent) checkOut(said);
      checkAccounts(one.state);
      if (message.type !== 'allocations-put') continue;
      for (const { spec, stocks } of one.state.providers.values()) {
        for (const [name, { used, capacity }] of stocks) {
          const over = Math.max(0, before.get(`${spec.id} ${name}`) ?? 0);
          assert.ok(used - capacity <= over, `${name} of ${spec.id} was over-committed by ${JSON.stringify(message)}`);
        }
      }
    }
    assert.equal(replayed(actor, one.entries), one.stored());
    assert.equal(restored(actor, one.stored()), one.stored());
    checkAccounts(actor.restore([one.stored()]));
  }
});

test('who holds something of a provider, and how much a project holds, is told without a look at all consumers, however many come and go', () => {
  const one = shard();
  one.put('disk', { DISK_GB: inventory(1_000) });
  one.put('p', { VCPU: inventory(1_000) });
  const random = seededRandom('holders');
  for (let n = 0; n < 600; n += 1) {
    const amounts: Record<string, Record<string, number>> = {};
    if (random.chance(0.6)) amounts.disk = { DISK_GB: random.integer(1, 3) };
    if (random.chance(0.1)) amounts.p = { VCPU: 1 };
    // First they grow many, then few.
    one.hold(`c${random.integer(0, n < 400 ? 150 : 20)}`, n < 450 || random.chance(0.2) ? amounts : {});
    if (n > 500) one.hold(`c${n - 450 + 20}`, {});
    if (n % 20 === 0) checkHolding(one.state);
  }
  checkHolding(one.state);
  const { holding } = one.state.consumers;
  const all = holding.entries;
  holding.entries = () => assert.unreachable('all are looked at') as never;
  for (const id of ['disk', 'p']) assert.is(codeOf(one.ask({ type: 'provider-allocations', id })), 'ok');
  assert.is(codeOf(one.ask({ type: 'usages', project: 'p' })), 'ok');
  holding.entries = all;
});

test('a change that changes nothing, or is refused, is answered with a record, which a superseded shard cannot make', () => {
  const one = shard();
  one.put('p', { VCPU: inventory(10) });
  const records = (message: object) => one.tell({ ask: 1, ...message } as never).records.map(({ type }) => type);
  assert.equal(records({ type: 'class-put', name: 'CUSTOM_A' }), ['class-made']);
  assert.equal(records({ type: 'class-put', name: 'CUSTOM_A' }), ['read']);
  assert.equal(records({ type: 'allocations-delete', consumer: 'c' }), ['read']);
  assert.equal(records({ type: 'provider-show', id: 'p' }), []);
});

test('names of providers are one of a kind, whoever made them', () => {
  const one = shard();
  one.tell({
    type: 'put-tree',
    ask: 0,
    providers: [{ id: 'h1', name: 'host', parent: null, inventories: {}, traits: ['GPU'], aggregates: [] }],
  });
  assert.is(codeOf(one.ask({ type: 'provider-create', id: 'x', name: 'host', parent: null })), 'duplicate-name');
  // What a tree is told with counts as known.
  assert.is(codeOf(one.ask({ type: 'traits-put', id: 'h1', traits: ['GPU'] })), 'ok');
});

test('providers are found that are all that is asked for, and none that is some of it', () => {
  const one = shard();
  for (const name of ['CUSTOM_RED', 'CUSTOM_BLUE']) one.ask({ type: 'trait-put', name });
  const make = (id: string, has: Record<string, number>, traits: string[], aggregates: string[], parent?: string) => {
    const inventories = Object.fromEntries(Object.entries(has).map(([name, total]) => [name, inventory(total)]));
    one.put(id, inventories, parent);
    one.ask({ type: 'traits-put', id, traits: traits.map((trait) => `CUSTOM_${trait}`) });
    one.ask({ type: 'aggregates-put', id, aggregates, counted: false });
  };
  make('a', { VCPU: 4 }, ['RED'], ['x']);
  make('a1', { VGPU: 2 }, ['BLUE'], [], 'a');
  make('b', { VCPU: 2, VGPU: 2 }, ['RED', 'BLUE'], ['x', 'y']);
  make('c', { VCPU: 4 }, [], ['y']);
  const find = (told: object): unknown => {
    const anything = { memberOf: [], notMemberOf: [], required: [], forbidden: [], resources: {} };
    const outcome = one.ask({ type: 'providers-find', ...anything, ...told });
    return 'refused' in outcome ? outcome.refused.code : (outcome.ok as { id: string }[]).map(({ id }) => id).join(' ');
  };
  const [red, blue] = ['CUSTOM_RED', 'CUSTOM_BLUE'];
  assert.is(find({}), 'a a1 b c');
  assert.is(find({ name: '' }), 'a a1 b c', 'as the reference does');
  assert.is(find({ required: [[red, blue]] }), 'a a1 b');
  assert.is(find({ required: [[red], [blue]] }), 'b');
  assert.is(find({ forbidden: [red] }), 'a1 c');
  assert.is(find({ forbidden: [red, blue] }), 'c');
  assert.is(find({ memberOf: [['x', 'y']] }), 'a b c');
  assert.is(find({ memberOf: [['x'], ['y']] }), 'b');
  assert.is(find({ notMemberOf: ['x'] }), 'a1 c');
  assert.is(find({ notMemberOf: ['x', 'y'] }), 'a1');
  assert.is(find({ resources: { VCPU: 3 } }), 'a c');
  assert.is(find({ resources: { VCPU: 1, VGPU: 1 } }), 'b');
  assert.is(find({ inTree: 'a1' }), 'a a1');
  assert.is(find({ id: 'b' }), 'b');
  for (const told of [{ name: 'a' }, { inTree: 'a' }, { memberOf: [['z']] }]) assert.is(find({ id: 'b', ...told }), '');
  assert.is(find({ required: [['CUSTOM_NONE']] }), find({ forbidden: ['CUSTOM_NONE'] }));
  assert.is(find({ required: [['CUSTOM_NONE']] }), 'no-trait');
  assert.is(find({ resources: { CUSTOM_NONE: 1 } }), 'no-class');
  assert.is(find({ required: [['CUSTOM_NONE']], inTree: 'none' }), '', 'there is no such tree');
});

test('who goes by what a consumer held before a build moved it, or gave an attempt back, does not change it', () => {
  const one = shard();
  one.put('h1', { VCPU: inventory(10) });
  const resources = { VCPU: 4 };
  const spec = { groups: [{ name: '', resources }], groupPolicy: 'none' as const };
  const allocations = [{ provider: 'h1', group: '', resources }];
  const claim = (attempt: number, keep: number[]) =>
    one.tell({ type: 'claim', consumer: 'i', attempt, spec, allocations, keep, expiresAt: Number.MAX_VALUE });
  const seen = () =>
    (one.ask({ type: 'consumer-show', consumer: 'i' }) as { ok: { generation: number } }).ok.generation;
  claim(1, []);
  for (const change of [
    () => claim(2, [1]),
    () => one.tell({ type: 'release', consumer: 'i', attempt: 1, deleted: false }),
    () => one.tell({ type: 'release', consumer: 'i', before: 4, keep: [2], deleted: false }),
  ]) {
    const generation = seen();
    change();
    assert.is(codeOf(one.hold('i', { h1: { VCPU: 1 } }, { generation })), 'consumer-generation');
  }
  assert.is(codeOf(one.hold('i', { h1: { VCPU: 1 } }, { generation: seen() })), 'ok');
});

test('consumers of both kinds are seen by both, and a deleted one stays deleted', () => {
  const one = shard();
  one.put('h1', { VCPU: inventory(10) });
  const spec = { groups: [{ name: '', resources: { VCPU: 4 } }], groupPolicy: 'none' as const };
  const allocations = [{ provider: 'h1', group: '', resources: { VCPU: 4 } }];
  one.tell({ type: 'claim', consumer: 'i', attempt: 1, spec, allocations, keep: [], expiresAt: Number.MAX_VALUE });
  const seen = one.ask({ type: 'consumer-show', consumer: 'i' }) as { ok: { generation: number; allocations: object } };
  assert.equal(seen.ok.allocations, { h1: { generation: 2, resources: { VCPU: 4 } } });
  // Who goes by what was seen changes it; who goes by something older does not.
  assert.is(codeOf(one.hold('i', { h1: { VCPU: 2 } }, { generation: seen.ok.generation })), 'ok');
  assert.is(codeOf(one.hold('i', { h1: { VCPU: 3 } }, { generation: seen.ok.generation })), 'consumer-generation');
  assert.is(one.state.providers.get('h1')?.stocks.get('VCPU')?.used, 2);
  one.tell({ type: 'release', consumer: 'i', deleted: true });
  assert.is(one.state.providers.get('h1')?.stocks.get('VCPU')?.used, 0);
  assert.is(codeOf(one.hold('i', { h1: { VCPU: 1 } })), 'consumer-deleted');
});

test('what a caller says of an instance that holds nothing here takes nothing of what is known of its attempts', () => {
  const spec = { groups: [{ name: '', resources: { VCPU: 4 } }], groupPolicy: 'none' as const };
  const one = shard();
  one.put('h1', { VCPU: inventory(10) });
  const claim = (attempt: number): PlacementMessage => {
    const allocations = [{ provider: 'h1', group: '', resources: { VCPU: 4 } }];
    return { type: 'claim', consumer: 'i', attempt, spec, allocations, keep: [], expiresAt: Number.MAX_VALUE };
  };
  one.tell(claim(1));
  // Its next attempt is with another shard.
  one.tell({ type: 'release', consumer: 'i', before: 2, deleted: false });
  assert.is(codeOf(one.hold('i', {})), 'ok');
  const [refused] = sentOf(one.tell(claim(1)), 'claim-refused');
  assert.is(refused?.message.refusal.code, 'superseded', 'one that is late');
  assert.is(sentOf(one.tell(claim(3)), 'claim-granted').length, 1, 'it goes on');
  one.tell({ type: 'release', consumer: 'i', deleted: true });
  assert.is(one.state.consumers.holding.size, 0, 'and is forgotten in the end');
});

test('an instance whose allocations a caller takes away is known no more, and may be claimed for anew', () => {
  const one = shard();
  one.put('h1', { VCPU: inventory(10) });
  const spec = { groups: [{ name: '', resources: { VCPU: 4 } }], groupPolicy: 'none' as const };
  const allocations = [{ provider: 'h1', group: '', resources: { VCPU: 4 } }];
  const ofInstance = { consumer: 'i', attempt: 1, spec, allocations, keep: [], expiresAt: Number.MAX_VALUE };
  const claim: PlacementMessage = { type: 'claim', ...ofInstance };
  one.tell(claim);
  assert.is(codeOf(one.ask({ type: 'allocations-delete', consumer: 'i' })), 'ok');
  assert.is(one.state.consumers.holding.size, 0);
  assert.is(sentOf(one.tell(claim), 'claim-granted').length, 1);
});

test('a class that is told no more is deleted once nothing is held of it', () => {
  const one = shard();
  const tell = (inventories: Record<string, ReturnType<typeof inventory>>) => {
    const host = { id: 'h1', name: 'h1', parent: null, inventories, traits: [], aggregates: [] };
    one.tell({ type: 'put-tree', ask: 1, providers: [host] });
  };
  tell({ VCPU: inventory(8), CUSTOM_X: inventory(8) });
  one.hold('c', { h1: { CUSTOM_X: 2 } });
  tell({ VCPU: inventory(8) });
  const deleted = () => codeOf(one.ask({ type: 'class-delete', name: 'CUSTOM_X' }));
  assert.is(deleted(), 'class-in-use');
  one.ask({ type: 'allocations-delete', consumer: 'c' });
  assert.is(deleted(), 'ok');
});

test('of the consumers of a change each is looked at a few times, however many there are', () => {
  const one = shard();
  one.put('pool', { DISK_GB: inventory(1_000_000) });
  const consumers = (amount: number) =>
    Array.from({ length: 400 }, (_, n) => {
      const allocations = [{ provider: 'pool', resources: { DISK_GB: amount + n } }];
      return { consumer: `c${n}`, allocations, project: 'p', user: 'u' };
    });
  assert.is(codeOf(one.ask({ type: 'allocations-put', consumers: consumers(1) })), 'ok');
  const { holding } = one.state.consumers;
  const { get } = holding;
  let looks = 0;
  holding.get = (id) => {
    looks += 1;
    return get.call(holding, id);
  };
  assert.is(codeOf(one.ask({ type: 'allocations-put', consumers: consumers(1_000) })), 'ok');
  assert.ok(looks < 10 * 400, `${looks} looks`);
});

test('a provider that serves a group of traits alone gives nothing, and is not listed as what is held', () => {
  const one = shard();
  one.put('h1', { VCPU: inventory(10) });
  one.put('numa', {}, 'h1');
  one.ask({ type: 'traits-put', id: 'numa', traits: ['HW_NUMA_ROOT'] });
  const groups = [
    { name: '', resources: { VCPU: 4 } },
    { name: 'node', resources: {}, required: ['HW_NUMA_ROOT'] },
  ];
  const spec = { groups, groupPolicy: 'none' as const };
  const allocations = [
    { provider: 'h1', group: '', resources: { VCPU: 4 } },
    { provider: 'numa', group: 'node', resources: {} },
  ];
  one.tell({ type: 'claim', consumer: 'i', attempt: 1, spec, allocations, keep: [], expiresAt: Number.MAX_VALUE });
  const seen = one.ask({ type: 'consumer-show', consumer: 'i' }) as { ok: { allocations: object } };
  assert.equal(Object.keys(seen.ok.allocations), ['h1']);
  const ofNode = one.ask({ type: 'provider-allocations', id: 'numa' }) as { ok: { allocations: object } };
  assert.equal(ofNode.ok.allocations, {});
});

test('a member of an instance group is moved as its rule allows, alone or with others, and counted where it is', () => {
  const one = shard();
  for (const id of ['a', 'b', 'c']) one.put(id, { VCPU: inventory(10) });
  one.put('shared', { DISK_GB: inventory(100) });
  one.ask({ type: 'traits-put', id: 'shared', traits: ['MISC_SHARES_VIA_AGGREGATE'] });
  const join = (consumer: string, host: string, id: string, policy: 'affinity' | 'anti-affinity') => {
    const resources = { VCPU: 1 };
    const spec = { groups: [{ name: '', resources }], groupPolicy: 'none' as const, instanceGroup: { id, policy } };
    const allocations = [{ provider: host, group: '', resources }];
    one.tell({ type: 'claim', consumer, attempt: 1, spec, allocations, keep: [], expiresAt: Number.MAX_VALUE });
  };
  const move = (to: Record<string, string>) => {
    const consumers = Object.entries(to).map(([consumer, host]) => {
      const allocations = [
        { provider: host, resources: { VCPU: 1 } },
        { provider: 'shared', resources: { DISK_GB: 1 } },
      ];
      return { consumer, allocations, project: 'p', user: 'u' };
    });
    return codeOf(one.ask({ type: 'allocations-put', consumers }));
  };
  const membersOf = (id: string) =>
    ['a', 'b', 'c', 'shared'].map((host) => one.state.providers.get(host)?.groups.get(id) ?? 0);
  join('x1', 'a', '/apart', 'anti-affinity');
  join('x2', 'b', '/apart', 'anti-affinity');
  assert.is(move({ x1: 'b' }), 'group-anti-affinity');
  assert.is(move({ x1: 'c', x2: 'c' }), 'group-anti-affinity');
  assert.is(move({ x1: 'b', x2: 'a' }), 'ok', 'they change places');
  assert.is(move({ x1: 'c' }), 'ok');
  assert.equal(membersOf('/apart'), [1, 0, 1, 0]);
  join('y1', 'a', '/close', 'affinity');
  join('y2', 'a', '/close', 'affinity');
  assert.is(move({ y1: 'b' }), 'group-affinity');
  assert.is(move({ y1: 'b', y2: 'c' }), 'group-affinity');
  assert.is(move({ y1: 'b', y2: 'b' }), 'ok', 'they go together');
  assert.equal(membersOf('/close'), [0, 2, 0, 0]);
  one.ask({ type: 'provider-update', id: 'b', name: 'b', parent: 'c', reparent: true });
  assert.equal(membersOf('/close'), [0, 0, 2, 0], 'a host that becomes part of another takes them along');
  assert.is(codeOf(one.ask({ type: 'allocations-delete', consumer: 'x1' })), 'ok');
  assert.equal(membersOf('/apart'), [1, 0, 0, 0]);
});

test('a provider gets another parent with all that is below it, but never one of these', () => {
  const one = shard();
  for (const [id, parent] of [
    ['a', null],
    ['b', 'a'],
    ['c', 'b'],
    ['d', null],
  ] as const)
    one.put(id, {}, parent);
  const move = (id: string, parent: string | null, reparent: boolean) =>
    codeOf(one.ask({ type: 'provider-update', id, name: id, parent, reparent }));
  assert.is(move('a', 'c', true), 'loop');
  assert.is(move('b', 'd', false), 'no-reparenting');
  assert.is(move('b', null, false), 'no-unparenting');
  assert.is(move('b', 'd', true), 'ok');
  assert.is(one.state.providers.get('c')?.root, 'd');
  assert.equal(one.state.trees.get('d'), ['d', 'b', 'c']);
  assert.is(codeOf(one.ask({ type: 'provider-delete', id: 'd' })), 'has-children');
  assert.is(move('b', null, true), 'ok');
  assert.is(codeOf(one.ask({ type: 'provider-delete', id: 'd' })), 'ok');
});

test('reshaping moves inventories and what is held of them at one moment', () => {
  const one = shard();
  one.put('host', { VGPU: inventory(4) });
  one.put('gpu', {}, 'host');
  one.hold('c', { host: { VGPU: 3 } });
  const consumer = {
    consumer: 'c',
    allocations: [{ provider: 'gpu', resources: { VGPU: 3 } }],
    project: 'p',
    user: 'u',
    generation: 1,
  };
  const inventories = [
    { provider: 'host', generation: 2, inventories: {} },
    { provider: 'gpu', generation: 1, inventories: { VGPU: inventory(4) } },
  ];
  const asked = (consumers: object[]) => one.ask({ type: 'reshape', inventories, consumers });
  assert.is(codeOf(asked([])), 'inventory-in-use');
  const twice = { provider: 'gpu', resources: { VGPU: 3 } };
  assert.is(
    codeOf(asked([{ ...consumer, allocations: [twice, twice] }])),
    'unit-constraint',
    'said twice it is the sum',
  );
  assert.is(
    codeOf(asked([{ ...consumer, allocations: [{ provider: 'gpu', resources: { VGPU: 5 } }] }])),
    'unit-constraint',
  );
  assert.is(codeOf(asked([consumer])), 'ok');
  assert.is(one.state.providers.get('host')?.stocks.size, 0);
  assert.is(one.state.providers.get('gpu')?.stocks.get('VGPU')?.used, 3);
});

test('a long answer comes in parts that make one', () => {
  const one = shard();
  for (let n = 0; n < 2_000; n += 1) {
    one.ask({ type: 'provider-create', id: `p${n}`, name: `${'\u{1F600}'.repeat(n % 90)}${n}`, parent: null });
  }
  const question = { memberOf: [], notMemberOf: [], required: [], forbidden: [], resources: {} };
  const { ok } = one.ask({ type: 'providers-find', ...question }) as { ok: { name: string }[] };
  assert.is(ok.length, 2_000);
  assert.is(ok[89]?.name, `${'\u{1F600}'.repeat(89)}89`);
});

test('placement api - one who holds a device for its traits is known to hold more of it, though it went and came again', () => {
  const state = emptyPlacement();
  const host = providerOf('h', { inventories: { VCPU: inventoryOf() } });
  const device = providerOf('d', { parent: 'h', inventories: { CUSTOM_GPU: inventoryOf() }, traits: ['CUSTOM_T'] });
  const allocations = (resources: Record<string, number>) => [
    { provider: 'h', group: '', resources: { VCPU: 1 } },
    { provider: 'd', group: 'g', resources },
  ];
  const claimed = { type: 'claimed' as const, consumer: 'x' };
  for (const record of [
    { type: 'tree' as const, providers: [host, device], keepsOthers: true },
    { ...claimed, attempt: 1, keep: [], allocations: allocations({}) },
    { type: 'tree' as const, providers: [host], keepsOthers: true },
    { type: 'tree' as const, providers: [host, device], keepsOthers: true },
    { ...claimed, attempt: 2, keep: [1], allocations: allocations({ CUSTOM_GPU: 1 }) },
    { type: 'released' as const, consumer: 'x', attempt: 1, deleted: false, at: 1 },
  ]) {
    applyToPlacement(state, record as PlacementRecord);
    checkHolding(state);
  }
});

test.run();
