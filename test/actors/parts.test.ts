// Area: transactions of names, trees, inventories and consumers, as fronts of the Placement API ask for them: answered when
// all shards have made them, and forgotten; what they lock, others wait for; and whoever dies goes on where it was.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ApiOutcome } from '../../actors/messages/placement-api.ts';
import type { Part, TransactionMessage } from '../../actors/messages/transactions.ts';
import { restorePlacement, type StoredPlacement, storePlacement } from '../../actors/placement/store.ts';
import { atOnce } from '../../actors/snapshot.ts';
import { CALLER, type Desk, dieAt, hostOf, rig, SHARDS } from '../support/shards.ts';
import { sentOf } from '../support/turn.ts';

const test = suite('parts');

type Rig = ReturnType<typeof rig>;
type Content = Omit<Part, 'shard' | 'consumers'> & { consumers?: Part['consumers'] };

const inventory = { total: 4, reserved: 0, min_unit: 1, max_unit: 4, step_size: 1, allocation_ratio: 1 };

/** A part for each shard, as `contentOf` says. */
const parts = (contentOf: (shard: number) => Content): Part[] =>
  Array.from({ length: SHARDS }, (_, shard) => ({ shard, consumers: [], ...contentOf(shard) }));

const together = (key: string, given: Part[], ask = 1) =>
  ({ type: 'change-together', ask, key, parts: given, brief: true }) as const;

const create = (id: string, name: string, own: number, parent: string | null = null) =>
  parts((shard) =>
    shard === own ? { change: { type: 'provider-create', ask: 0, id, name, parent } } : { absent: { id, name } },
  );

const putClass = (name: string, fresh = true) =>
  parts(() => ({ change: { type: 'class-put', ask: 0, name }, wide: true, fresh }));

/** What the consumer holds with each shard from then on. */
const holding = (consumer: string, vcpu: readonly number[]) =>
  parts((shard) => ({
    wide: true,
    consumers: [
      {
        consumer,
        allocations: vcpu[shard] === 0 ? [] : [{ provider: hostOf(shard), resources: { VCPU: vcpu[shard] as number } }],
        project: 'p',
        user: 'u',
      },
    ],
  }));

const codes = ({ answers }: Rig) => answers.map(({ outcome }) => ('refused' in outcome ? outcome.refused.code : 'ok'));
const isFor = (kind: TransactionMessage['type'], shard: number) => (message: TransactionMessage, to: string) =>
  !(message.type === kind && to === `placement/${shard}`);

/** What a shard answers to a question now; null: it waits. */
function told(on: Rig, shard: number, question: object): ApiOutcome | null {
  const before = on.answers.length;
  on.say(shard, { ask: 99, ...question });
  return on.answers.splice(before)[0]?.outcome ?? null;
}

function checkQuiet(on: Rig, where = ''): void {
  for (const { state } of on.shards) {
    const { open, locks, parked } = state.holds;
    assert.equal([open.size, locks.size, parked.length, state.transactions.known.size], [0, 0, 0, 0], where);
  }
  on.check();
}

test('parts - a change is answered when all shards have made it, and forgotten', () => {
  const on = rig();
  on.say(0, together('one', putClass('CUSTOM_A')));
  on.deliver(isFor('end-hold', 2));
  assert.equal(codes(on), [], 'one shard has not made it yet');
  on.deliver();
  assert.equal(codes(on), ['ok']);
  for (const { state } of on.shards) {
    assert.ok(state.catalog.classes.has('CUSTOM_A'));
    assert.is(state.holds.lately.size, 1);
  }
  checkQuiet(on);
  on.say(0, together('two', putClass('CUSTOM_A'), 2));
  on.deliver();
  assert.equal(codes(on), ['ok', 'name-exists']);
  on.pass(121_000);
  on.say(0, together('three', putClass('CUSTOM_B'), 3));
  on.deliver();
  for (const { state } of on.shards) assert.is(state.holds.lately.size, 1, 'only what may still come late');
  checkQuiet(on);
});

test('parts - what is over is forgotten in the same order by whoever reads it back, though clocks are set', () => {
  const on = rig();
  for (const [position, name] of ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C'].entries()) {
    on.say(0, together(name, putClass(name), position));
    on.deliver();
    on.pass(position === 0 ? -60_000 : 1_000);
  }
  for (const { state } of on.shards) {
    const again = atOnce(restorePlacement(storePlacement(state).next(Infinity) as StoredPlacement));
    assert.equal([...again.holds.lately], [...state.holds.lately]);
    const times = [...state.holds.lately.values()].map(({ at }) => at);
    assert.equal(
      times,
      times.toSorted((one, other) => one - other),
    );
    assert.is(times.length, 3);
  }
});

test('parts - whoever dies goes on where it was, at whatever step', () => {
  const kinds: Record<string, { given: () => Part[]; isMade: (on: Rig) => boolean }> = {
    names: {
      given: () => putClass('CUSTOM_A'),
      isMade: (on) => on.shards.every(({ state }) => state.catalog.classes.has('CUSTOM_A')),
    },
    provider: {
      given: () => create('new', 'new', 1),
      isMade: (on) => on.shards[1]?.state.providers.has('new') === true,
    },
    consumers: {
      given: () => holding('a', [2, 1, 2]),
      isMade: (on) => JSON.stringify(on.held('a')) === '[[2],[1],[2]]' && on.used().join() === '2,1,2',
    },
    tree: {
      given: () => moving('below', 0, 2),
      isMade: (on) => on.shards[2]?.state.providers.get('below')?.root === hostOf(2),
    },
  };
  for (const [kind, { given, isMade }] of Object.entries(kinds)) {
    for (const step of ['hold', 'held', 'end-hold', 'hold-ended'] as const) {
      for (let dead = 0; dead < SHARDS; dead += 1) {
        const on = rig();
        plant(on);
        on.say(0, together('one', given()));
        dieAt(on, step, dead);
        const where = `${kind}: ${step}, shard ${dead}`;
        assert.ok(isMade(on), where);
        checkQuiet(on, where);
      }
    }
  }
});

/** A provider with one below it, in the first shard. */
function plant(on: Rig): void {
  on.say(0, { type: 'provider-create', ask: 90, id: 'below', name: 'below', parent: null });
  on.say(0, { type: 'provider-create', ask: 90, id: 'deep', name: 'deep', parent: 'below' });
  on.say(0, { type: 'traits-put', ask: 90, id: 'deep', traits: ['HW_CPU_X86_AVX'] });
  on.answers.length = 0;
}

function moving(id: string, from: number, to: number, generations = { below: 0, deep: 1 }): Part[] {
  const provider = { inventories: {}, aggregates: [], quiet: 0, changedAt: 0 };
  const providers = [
    { id, name: id, parent: null, traits: [], generation: 0, ...provider },
    { id: 'deep', name: 'deep', parent: id, traits: ['HW_CPU_X86_AVX'], generation: 1, ...provider },
  ];
  return parts((shard) => {
    if (shard === from) return { leaves: { id, generations }, wide: true };
    return shard === to ? { joins: { parent: hostOf(to), providers }, wide: true } : {};
  });
}

test('parts - a provider goes to another shard with all below it, and its generation is what it was', () => {
  const on = rig();
  plant(on);
  on.say(0, together('one', moving('below', 0, 2)));
  on.deliver();
  assert.equal(codes(on), ['ok']);
  assert.not(on.shards[0]?.state.providers.has('deep'));
  const shown = told(on, 2, { type: 'provider-show', id: 'deep' }) as { ok: Record<string, unknown> };
  const { parent, root, generation, traits } = shown.ok;
  assert.equal([parent, root, generation, traits], ['below', hostOf(2), 1, ['HW_CPU_X86_AVX']]);
  checkQuiet(on);
});

test('parts - one that changed since it was looked at stays, and so does one on which something is held', () => {
  const on = rig();
  plant(on);
  on.say(0, together('one', moving('below', 0, 2, { below: 0, deep: 0 })));
  on.deliver();
  on.say(0, {
    type: 'inventories-put',
    ask: 91,
    id: 'deep',
    how: 'all',
    inventories: { VCPU: inventory },
    removed: [],
    allReserved: true,
  });
  on.say(0, {
    type: 'allocations-put',
    ask: 92,
    consumers: [
      { consumer: 'c', allocations: [{ provider: 'deep', resources: { VCPU: 1 } }], project: 'p', user: 'u' },
    ],
  });
  on.answers.splice(1);
  const { generation = -1 } = on.shards[0]?.state.providers.get('deep') ?? {};
  on.say(0, together('two', moving('below', 0, 2, { below: 0, deep: generation }), 2));
  on.deliver();
  assert.equal(codes(on), ['changed-meanwhile', 'other-shard']);
  assert.is(on.shards[0]?.state.providers.get('deep')?.root, 'below');
  assert.not(on.shards[2]?.state.providers.has('deep'));
  checkQuiet(on);
});

test('parts - the host of a compute stays with its shard, wherever it was moved there, as does all above it; its devices may go', () => {
  const bare = { inventories: {}, traits: [], aggregates: [] };
  const host = hostOf(0);
  const tree = ['', 'deep'].map((id) => ({
    id: id || host,
    name: id || host,
    parent: id === '' ? null : host,
    ...bare,
  }));
  for (const isMoved of [false, true]) {
    const on = rig();
    const [shard] = on.shards;
    on.say(0, { type: 'put-tree', ask: 1, providers: tree });
    on.say(0, { type: 'provider-create', ask: 90, id: 'top', name: 'top', parent: null });
    if (isMoved) on.say(0, { type: 'provider-update', ask: 90, id: host, name: host, parent: 'top', reparent: true });
    on.answers.length = 0;
    const leave = (...ids: [string, ...string[]]) => {
      const generationOf = (one: string) => shard?.state.providers.get(one)?.generation ?? -1;
      const generations = Object.fromEntries(ids.map((one) => [one, generationOf(one)]));
      const leaving = parts((at) => (at === 0 ? { leaves: { id: ids[0], generations }, wide: true } : {}));
      on.say(0, together(ids[0], leaving));
      on.deliver();
      return codes(on).at(-1);
    };
    if (isMoved) assert.is(leave('top', host, 'deep'), 'other-shard');
    assert.is(leave(host, 'deep'), 'other-shard');
    const restored = atOnce(
      restorePlacement(storePlacement(shard?.state as never).next(Infinity) as StoredPlacement),
    ).providers;
    assert.equal(restored.get(host), shard?.state.providers.get(host));
    assert.is(leave('deep'), 'ok');
    assert.not.ok(shard?.state.providers.has('deep'));
    checkQuiet(on);
  }
});

test('parts - of two that make one name in different shards, one does', () => {
  const on = rig();
  on.say(0, together('one', create('x', 'twin', 1)));
  on.say(0, together('two', create('y', 'twin', 2), 2));
  on.deliver();
  assert.equal(codes(on).sort(), ['duplicate-name', 'ok']);
  const names = on.shards.flatMap(({ state }) => [...state.providers.values()].map(({ spec }) => spec.name));
  assert.is(names.filter((name) => name === 'twin').length, 1);
  on.say(0, together('three', create('x', 'other', 0), 3));
  on.deliver();
  assert.is(codes(on)[2], 'duplicate-id');
  checkQuiet(on);
});

test('parts - what one shard shows of a change, every other shows to whoever asks after', () => {
  const on = rig();
  on.say(0, together('one', holding('a', [1, 0, 2])));
  on.deliver(isFor('end-hold', 2));
  assert.equal(on.held('a'), [[1], [], []], 'shown by the first, and not by the last');
  const questions = [
    { type: 'consumer-show', consumer: 'a' },
    { type: 'provider-show', id: hostOf(2) },
    { type: 'provider-allocations', id: hostOf(2) },
    { type: 'usages', project: 'p' },
  ];
  for (const question of questions) assert.is(told(on, 2, question), null, question.type);
  for (const question of [
    { type: 'usages', project: 'q' },
    { type: 'provider-show', id: 'none' },
    { type: 'classes-list' },
  ]) {
    assert.ok(told(on, 2, question) !== null, `${question.type} shows nothing of it`);
  }
  on.deliver();
  assert.is(codes(on).length, 1 + questions.length);
  for (const { ask, outcome } of on.answers) {
    if (ask === 99) assert.match(JSON.stringify(outcome), '"VCPU":2');
  }
  checkQuiet(on);
});

test('parts - whoever reads waits for what was there before, and not for what has come since', () => {
  const on = rig();
  on.say(0, together('one', holding('a', [1, 0, 1])));
  on.deliver(isFor('end-hold', 2));
  assert.is(told(on, 2, { type: 'provider-show', id: hostOf(2) }), null);
  on.say(0, together('two', holding('b', [1, 0, 1]), 2));
  // The second is held by all, and decided by none, when the first is over.
  on.deliver((message, to) => message.type !== 'end-hold' || (to === 'placement/2' && message.transaction === '0-1'));
  const shown = on.answers.find(({ ask }) => ask === 99);
  assert.ok(shown !== undefined, 'it was answered');
  on.deliver();
  checkQuiet(on);
});

test('parts - a class that goes is used by nobody meanwhile, and one that is used does not go', () => {
  const on = rig();
  on.say(0, together('one', putClass('CUSTOM_A')));
  on.deliver();
  const removing = parts(() => ({ change: { type: 'class-delete', ask: 0, name: 'CUSTOM_A' }, wide: true }));
  on.say(0, together('two', removing, 2));
  on.deliver(isFor('end-hold', 2));
  const put = {
    type: 'inventories-put',
    id: hostOf(2),
    how: 'add',
    inventories: { CUSTOM_A: inventory },
    removed: [],
    allReserved: true,
  };
  assert.is(told(on, 2, put), null);
  const [desk] = on.shards.slice(2) as [Desk];
  const spec = { id: 'h', name: 'h', parent: null, inventories: { CUSTOM_A: inventory }, traits: [], aggregates: [] };
  assert.equal(desk.tell({ type: 'put-tree', ask: 3, providers: [spec] } as never, CALLER).sent, []);
  on.deliver();
  assert.equal(codes(on), ['ok', 'no-class', 'ok'], 'the inventory came after it');
  assert.ok(desk.state.catalog.classes.has('CUSTOM_A'), 'a host that is told with it makes it again');
  on.say(0, together('three', putClass('CUSTOM_A', false), 4));
  on.deliver();
  on.say(0, together('four', removing, 5));
  on.deliver();
  assert.is(codes(on).at(-1), 'class-in-use');
  checkQuiet(on);
});

test('parts - a reshaped provider is claimed by nobody until it is over', () => {
  const on = rig();
  const reshaping = parts((shard) => {
    if (shard === 1) return {};
    const { generation = 0, quiet = 0 } = on.shards[shard]?.state.providers.get(hostOf(shard)) ?? {};
    const inventories = shard === 0 ? {} : { VCPU: { ...inventory, total: 8 } };
    return { inventories: [{ provider: hostOf(shard), generation: generation - quiet, inventories }], wide: true };
  });
  on.say(0, together('one', reshaping));
  on.deliver(isFor('end-hold', 0));
  const claim = {
    type: 'claim',
    consumer: 'i',
    attempt: 1,
    spec: { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' },
    allocations: [{ provider: hostOf(2), group: '', resources: { VCPU: 1 } }],
    keep: [],
    expiresAt: 10_000_000,
  };
  const [last] = on.shards.slice(2) as [Desk];
  assert.is(sentOf(last.tell(claim as never, CALLER), 'claim-granted').length, 1, 'its shard has made it');
  on.deliver();
  assert.equal(codes(on), ['ok']);
  assert.equal(
    on.shards.map(({ state }, shard) => state.providers.get(hostOf(shard))?.stocks.get('VCPU')?.capacity),
    [undefined, 4, 8],
  );

  on.say(0, together('two', holding('a', [0, 1, 1]), 2));
  on.deliver(isFor('end-hold', 2));
  assert.equal(
    last.tell({ ...claim, consumer: 'a' } as never, CALLER).sent,
    [],
    'of a consumer in doubt nothing is decided',
  );
  on.deliver();
  checkQuiet(on);
});

test('parts - what is held of a change that nobody knows any more is given back', () => {
  const on = rig();
  on.say(0, together('one', holding('a', [0, 1, 1])));
  on.deliver((message) => message.type !== 'hold');
  on.say(2, { type: 'hold', transaction: '0-7', consumers: [], expiresAt: 10_000_000, brief: true });
  assert.is(on.shards[2]?.state.holds.open.size, 1);
  on.replace(2);
  on.deliver();
  assert.is(on.shards[2]?.state.holds.open.size, 0);
  on.pass(2_500);
  on.deliver();
  checkQuiet(on);
});

test('parts - with a shard that stays away it is refused in time, and locks nothing', () => {
  const on = rig();
  on.say(0, { ...together('one', putClass('CUSTOM_A')), withinMs: 8_000 });
  for (let waits = 0; waits < 8; waits += 1) {
    on.deliver((_, to) => to !== 'placement/2');
    on.pass(2_000);
  }
  assert.equal(codes(on), ['not-decided']);
  on.deliver();
  on.pass(2_500);
  on.deliver();
  for (const { state } of on.shards) assert.not(state.catalog.classes.has('CUSTOM_A'));
  checkQuiet(on);
});

test('parts - what is only considered is neither held nor changed', () => {
  const on = rig();
  const [, , part] = holding('a', [0, 0, 5]) as [Part, Part, Part];
  const refusal = told(on, 2, { type: 'consider', consumers: part.consumers });
  assert.is((refusal as { refused: { code: string } }).refused.code, 'exceeds-capacity');
  assert.equal(told(on, 2, { type: 'consider', consumers: [] }), { ok: null });
  checkQuiet(on);
});

test.run();
