// Area: transactions. Changes over several placement shards: all of them make one, or none; whatever dies goes on where it
// was; what is held is used and not seen; and whoever reads is told when to read again.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ConsumerChange } from '../../actors/messages/placement-api.ts';
import type { Part } from '../../actors/messages/transactions.ts';
import { putTogether, type ShardRead } from '../../actors/placement/reading.ts';
import { CALLER, type Desk, dieAt, hostOf, rig, SHARDS } from '../support/shards.ts';
import { sentOf } from '../support/turn.ts';

const test = suite('transactions');

/** Amounts by consumer and shard; each shard is told of each consumer. */
function partsOf(wanted: Readonly<Record<string, Readonly<Record<number, number>>>>): Part[] {
  return Array.from({ length: SHARDS }, (_, shard) => ({
    shard,
    consumers: Object.entries(wanted).map(([consumer, byShard]): ConsumerChange => {
      const vcpu = byShard[shard] ?? 0;
      const allocations = vcpu === 0 ? [] : [{ provider: hostOf(shard), resources: { VCPU: vcpu } }];
      return { consumer, allocations, project: 'p', user: 'u' };
    }),
  }));
}

const change = (key: string, wanted: Parameters<typeof partsOf>[0], ask = 1) =>
  ({ type: 'change-together', ask, key, parts: partsOf(wanted) }) as const;

const claim = (consumer: string, shard: number, vcpu: number) => ({
  type: 'claim',
  consumer,
  attempt: 1,
  spec: { groups: [{ name: '', resources: { VCPU: vcpu } }], groupPolicy: 'none' },
  allocations: [{ provider: hostOf(shard), group: '', resources: { VCPU: vcpu } }],
  keep: [],
  expiresAt: 10_000_000,
});

test('transactions - all shards make a change, and it is answered', () => {
  const on = rig();
  on.say(1, change('one', { a: { 0: 2, 2: 1 }, b: { 1: 3 } }));
  on.deliver();
  assert.equal(on.answers, [{ ask: 1, outcome: { ok: null } }]);
  assert.equal(
    [on.held('a'), on.held('b')],
    [
      [[2], [], [1]],
      [[], [3], []],
    ],
  );
  assert.equal(on.used(), [2, 3, 1]);
  on.say(2, change('two', { a: { 1: 1 } }, 2));
  on.deliver();
  assert.equal(on.held('a'), [[], [1], []], 'what it held before is given back everywhere');
  assert.equal(on.used(), [0, 4, 0]);
  on.check();
});

test('transactions - in which listings changes show is forgotten, also after a clock that was wrong', () => {
  const on = rig();
  const changeOf = (project: string) => {
    const parts = partsOf({ a: { 0: 1 } }).map((part) => ({
      ...part,
      wide: true,
      consumers: part.consumers.map((one) => ({ ...one, project })),
    }));
    on.say(0, { ...change(`for-${project}`, {}), parts });
    on.deliver();
  };
  const setForward = (ms: number) => on.shards.forEach((shard) => void shard.setBack(-ms));
  const seen = () => (on.shards[0] as Desk).state.holds.seen.size;
  setForward(200_000_000);
  changeOf('ahead');
  setForward(-200_000_000);
  for (let project = 0; project < 20; project += 1) {
    changeOf(`p${project}`);
    on.pass(60_000);
    on.deliver();
  }
  assert.ok(seen() > 1 && seen() < 8, `${seen()} are remembered`);
});

test('transactions - one that does not fit in one shard is made in none, and told why', () => {
  const on = rig();
  on.say(2, claim('rival', 2, 3));
  on.say(0, change('one', { a: { 0: 2, 2: 2 } }));
  on.deliver();
  const { outcome } = on.answers[0] as (typeof on.answers)[0];
  assert.ok('refused' in outcome);
  const { code, provider, short } = outcome.refused;
  assert.equal([code, provider, short], ['exceeds-capacity', hostOf(2), 1]);
  assert.equal(
    [on.held('a'), on.used()],
    [
      [[], [], []],
      [0, 0, 3],
    ],
  );
  on.check();
});

test('transactions - a change is answered when it is done, or decided where a shard takes long', () => {
  const on = rig();
  on.say(0, change('one', { a: { 0: 2, 2: 1 } }));
  on.deliver(({ type }, to) => type !== 'end-hold' || to === 'placement/0');
  assert.equal([on.held('a'), on.answers], [[[2], [], []], []], 'it would find the one, and not the other');
  on.deliver();
  assert.equal([on.held('a'), on.answers.length], [[[2], [], [1]], 1]);
  on.say(0, change('two', { a: {} }, 2));
  on.deliver(({ type }) => type !== 'end-hold');
  assert.is(on.answers.length, 1);
  on.pass(200);
  assert.equal(on.answers[1], { ask: 2, outcome: { ok: null } });
  on.deliver();
  on.pass(10_000);
  assert.equal([on.held('a'), on.answers.length], [[[], [], []], 2]);
  on.check();
});

test('transactions - what is held is used, and seen by nobody', () => {
  const on = rig();
  on.say(0, change('one', { a: { 0: 3, 1: 3, 2: 3 } }));
  on.deliver(({ type }) => type !== 'held');
  assert.equal(on.used(), [3, 0, 0]);
  assert.equal(on.held('a'), [[], [], []]);
  const [desk] = on.shards as [Desk];
  const { message } = sentOf(desk.tell(claim('rival', 0, 2) as never, CALLER), 'claim-refused')[0] as {
    message: { refusal: { code: string } };
  };
  assert.is(message.refusal.code, 'exceeds-capacity');
  const [listed] = sentOf(desk.tell({ type: 'list-consumers', ask: 1, limit: 10 } as never), 'consumers');
  assert.equal(
    [listed?.message.consumers, listed?.message.inDoubt],
    [[], [{ provider: hostOf(0), group: '', resources: { VCPU: 3 } }]],
  );
  on.check();
  on.deliver();
  assert.equal(on.held('a'), [[3], [3], [3]]);
});

test('transactions - less than before is held without taking more, and given back when it is made', () => {
  const on = rig();
  on.say(0, change('one', { a: { 0: 4 } }));
  on.deliver();
  on.say(0, change('two', { a: { 0: 1 }, b: { 0: 3 } }, 2));
  on.deliver(({ type }) => type !== 'end-hold');
  assert.equal(on.used(), [4, 0, 0], 'what the one gives up is the other one’s');
  assert.equal([on.held('a')[0], on.held('b')[0]], [[4], []]);
  on.deliver();
  assert.equal([on.held('a')[0], on.held('b')[0], on.used()[0]], [[1], [3], 4]);
  on.check();
});

test('transactions - what a change gives up is nobody else’s until it is made everywhere', () => {
  const on = rig();
  on.say(0, change('one', { a: { 0: 4 } }));
  on.deliver();
  on.say(2, claim('rival', 2, 4));
  on.say(0, change('two', { a: { 0: 1, 2: 1 } }, 2));
  on.deliver(({ type }, to) => type === 'hold' && to === 'placement/0');
  assert.is(on.used()[0], 4);
  const [desk] = on.shards as [Desk];
  const [refused] = sentOf(desk.tell(claim('other', 0, 1) as never, CALLER), 'claim-refused');
  assert.is(refused?.message.refusal.code, 'exceeds-capacity');
  on.deliver();
  assert.equal(
    [on.held('a'), on.used()],
    [
      [[4], [], []],
      [4, 0, 4],
    ],
    'it came to nothing',
  );
  on.check();
});

test('transactions - a part may be held for as long as its coordinator waits, and no longer', () => {
  const on = rig();
  on.pass(60_000);
  on.say(0, change('one', { a: { 0: 1, 2: 1 } }));
  const late: { shard: number; message: object }[] = [];
  on.deliver((message, to) => {
    if (message.type !== 'hold' || to !== 'placement/2') return true;
    late.push({ shard: 2, message });
    return false;
  });
  const [{ message } = { message: {} }] = late;
  const { now } = on.shards[2] as Desk;
  assert.is((message as { expiresAt?: number }).expiresAt, now + 30_000);
});

test('transactions - the end of a part is recorded once, however often it is said', () => {
  const on = rig();
  const ends: object[] = [];
  on.say(0, change('one', { a: { 0: 1, 2: 1 } }));
  on.deliver((message, to) => {
    if (message.type === 'end-hold' && to === 'placement/2') ends.push(message);
    return true;
  });
  const again = (on.shards[2] as Desk).tell(ends[0] as never, 'placement/0');
  assert.equal([again.records, sentOf(again, 'hold-ended').length], [[], 1], 'it is answered again');
});

test('transactions - whoever never heard of a change says that it is off only with a record, which a stale owner has not', () => {
  const [desk] = rig().shards as [Desk];
  const { records, sent } = desk.tell({ type: 'held', transaction: '0-7' } as never, 'placement/1');
  assert.equal(records, [{ type: 'transaction-unknown', id: '0-7' }]);
  assert.equal(sent, [{ to: 'placement/1', message: { type: 'end-hold', transaction: '0-7', confirmed: false } }]);
});

test('transactions - a part is refused with a record too', () => {
  const [desk] = rig().shards as [Desk];
  const [part] = partsOf({ a: { 0: 1_000 } }) as [Part];
  const { shard: _, ...content } = part;
  const hold = { type: 'hold', transaction: '1-7', expiresAt: 10_000_000, ...content };
  const { records, sent } = desk.tell(hold as never, 'placement/1');
  assert.equal([records, sent[0]?.message.type], [[{ type: 'read' }], 'hold-refused']);
});

test('transactions - nothing is decided for a consumer in doubt; whoever asks again is answered after', () => {
  const on = rig();
  on.say(0, change('one', { a: { 0: 1 } }));
  on.deliver(({ type }) => type !== 'end-hold');
  const [desk] = on.shards as [Desk];
  for (const message of [
    claim('a', 0, 1),
    { type: 'release', consumer: 'a', deleted: true },
    { type: 'allocations-delete', ask: 9, consumer: 'a' },
    { type: 'allocations-put', ask: 9, consumers: partsOf({ a: {} })[0]?.consumers },
  ]) {
    assert.equal(desk.tell(message as never, CALLER), { records: [], sent: [], events: [] }, message.type);
  }
  on.deliver();
  assert.is(desk.tell({ type: 'release', consumer: 'a', deleted: true } as never, CALLER).records.length, 1);
});

test('transactions - two changes of one consumer follow each other, in the same order everywhere', () => {
  const on = rig();
  on.say(2, change('one', { a: { 0: 1, 1: 1 } }));
  on.say(0, change('two', { a: { 1: 2, 2: 2 } }, 2));
  for (let waits = 0; waits < 20 && on.answers.length < 2; waits += 1) {
    on.deliver();
    on.pass(2_000);
  }
  on.deliver();
  assert.equal(
    on.answers.map(({ outcome }) => outcome),
    [{ ok: null }, { ok: null }],
  );
  const held = JSON.stringify(on.held('a'));
  assert.ok(['[[1],[1],[]]', '[[],[2],[2]]'].includes(held), held);
  on.check();
});

test('transactions - whoever dies goes on where it was, at whatever step', () => {
  const steps = ['hold', 'held', 'end-hold', 'hold-ended'] as const;
  for (const step of steps) {
    for (let dead = 0; dead < SHARDS; dead += 1) {
      const on = rig();
      on.say(1, change('one', { a: { 0: 2, 1: 1, 2: 2 } }));
      dieAt(on, step, dead);
      const where = `${step}, shard ${dead}`;
      assert.equal(on.held('a'), [[2], [1], [2]], where);
      assert.equal(on.used(), [2, 1, 2], where);
      for (const { state } of on.shards) assert.is(state.holds.open.size, 0, where);
      assert.ok(on.answers.length > 0, where);
      on.check();
    }
  }
});

test('transactions - every message may come twice, and late', () => {
  const on = rig();
  const said: { shard: number; message: object }[] = [];
  on.say(0, change('one', { a: { 0: 1, 2: 1 } }));
  on.deliver((message, to) => {
    said.push({ shard: Number(to.slice(-1)), message });
    return true;
  });
  on.say(1, change('two', { a: { 1: 3 } }, 2));
  on.deliver();
  for (const { shard, message } of said) (on.shards[shard] as Desk).tell(message as never, 'placement/0');
  on.deliver();
  assert.equal(on.held('a'), [[], [3], []]);
  assert.equal(on.used(), [0, 3, 0]);
  for (const { state } of on.shards) assert.is(state.holds.open.size, 0);
});

test('transactions - asked again with the same key, it is answered as it was', () => {
  const on = rig();
  on.say(0, change('one', { a: { 0: 5 } }));
  on.deliver();
  on.say(0, change('one', { a: { 0: 1 } }, 2));
  on.deliver();
  assert.equal(on.answers[1]?.outcome, on.answers[0]?.outcome);
  assert.is(on.shards[0]?.state.transactions.count, 1);
});

for (const byMs of [0, 3_600_000, -3_600_000]) {
  const set = byMs === 0 ? '' : `, though the clock is set by ${-byMs} ms`;
  test(`transactions - with a shard that stays away it is refused after a while, and held by nobody${set}`, () =>
    isRefused(byMs));
}

function isRefused(byMs: number): void {
  const on = rig();
  on.say(0, change('one', { a: { 0: 2, 1: 2, 2: 2 } }));
  for (let waits = 0; waits < 20; waits += 1) {
    on.deliver((_, to) => to !== 'placement/2');
    assert.is(on.answers.length, waits * 2_500 <= 30_000 ? 0 : 1, `after ${waits * 2_500} ms`);
    if (waits === 0) for (const { setBack } of on.shards) setBack(byMs);
    on.pass(2_500);
  }
  assert.equal(
    on.answers.map(({ outcome }) => ('refused' in outcome ? [outcome.refused.code, outcome.refused.message] : 'ok')),
    [['not-decided', 'not all shards could hold their part within 30000 ms']],
  );
  assert.equal(on.used(), [0, 0, 0]);
  // It is back: what was said to it is void.
  on.deliver();
  on.pass(2_500);
  on.deliver();
  assert.equal(on.used(), [0, 0, 0]);
  assert.is(on.shards[2]?.state.holds.open.size, 0);
  assert.is([...(on.shards[0]?.state.transactions.known.values() ?? [])][0]?.settled, true);
  on.check();
}

test('transactions - a change with two parts for one shard is refused', () => {
  const on = rig();
  const [part] = partsOf({ a: { 0: 1 } }) as [Part];
  on.say(0, { type: 'change-together', ask: 1, key: 'one', parts: [part, part] });
  assert.ok('refused' in (on.answers[0]?.outcome ?? {}));
  assert.is(on.shards[0]?.state.transactions.count, 0);
});

test('transactions - words of those who have no part in it mean nothing', () => {
  const on = rig();
  on.say(0, { ...change('one', {}), parts: partsOf({ a: { 0: 1 } }).slice(0, 1) });
  const [desk] = on.shards as [Desk];
  assert.equal(desk.tell({ type: 'held', transaction: '0-1' } as never, 'placement/1').records, []);
  assert.equal(desk.tell({ type: 'hold-ended', transaction: '0-1' } as never, 'placement/0').records, []);
  on.deliver();
  assert.equal(on.held('a')[0], [1]);
});

test('transactions - a shard without a part in a change does not end it, and what is refused late undoes nothing', () => {
  const on = rig();
  on.say(0, { ...change('one', {}), parts: partsOf({ a: { 0: 1, 1: 2 } }).slice(0, 2) });
  const id = '0-1';
  const refusal = { code: 'exceeds-capacity', message: 'too late' };
  const say = (message: object, from: string) =>
    (on.shards[0] as Desk).tell({ transaction: id, ...message } as never, from);
  assert.equal(say({ type: 'hold-refused', refusal }, 'placement/2').records, [], 'it has no part in it');
  on.deliver(({ type }) => type === 'hold' || type === 'held');
  assert.equal([on.used(), on.answers], [[1, 2, 0], []]);
  for (const from of ['placement/1', 'placement/2']) {
    assert.equal(say({ type: 'hold-refused', refusal }, from).records, [], `${from}, when it is decided`);
  }
  assert.equal(say({ type: 'hold-ended' }, 'placement/2').records, [], 'it ends nothing');
  on.deliver((_, to) => to === 'placement/0');
  assert.equal([on.held('a'), on.answers], [[[1], [], []], []], 'one of two has made it');
  // Another life does not know any more who held what; that it was decided it does.
  on.replace(0);
  assert.equal(say({ type: 'hold-refused', refusal }, 'placement/1').records, []);
  on.pass(2_500);
  on.deliver();
  assert.equal(on.answers.at(-1)?.outcome, { ok: null });
  assert.equal(on.held('a'), [[1], [2], []]);
  on.check();
});

test('transactions - who holds a part has not refused it, whatever comes late', () => {
  const on = rig();
  on.say(0, change('one', { a: { 0: 1, 2: 2 } }));
  on.deliver((_, to) => to === 'placement/0');
  const refusal = { code: 'not-decided', message: 'of before' };
  const late = { type: 'hold-refused', transaction: '0-1', refusal };
  assert.equal((on.shards[0] as Desk).tell(late as never, 'placement/0').records, []);
  on.deliver();
  assert.equal([on.answers[0]?.outcome, on.held('a')], [{ ok: null }, [[1], [], [2]]]);
});

test('transactions - a brief change is answered when all shards have made it, and not before', () => {
  const on = rig();
  const brief = { ...change('one', { a: { 0: 2, 2: 1 } }), brief: true };
  on.say(0, brief);
  on.deliver(({ type }, to) => type !== 'end-hold' || to === 'placement/0');
  for (let waits = 0; waits < 3; waits += 1) on.pass(2_000);
  on.say(0, { ...brief, ask: 2 });
  assert.equal([on.held('a'), on.answers], [[[2], [], []], []], 'whoever looked now would find half of it');
  on.deliver();
  assert.equal(on.held('a'), [[2], [], [1]]);
  assert.equal(on.answers, [{ ask: 1, outcome: { ok: null } }]);
  for (const { state } of on.shards) assert.equal([state.transactions.known.size, state.holds.ended.size], [0, 0]);
  on.check();
});

test('transactions - what consumers hold is told only with a record, which a stale owner has not', () => {
  const [desk] = rig().shards as [Desk];
  const { records, sent } = desk.tell({ type: 'consumers-read', ask: 7, consumers: ['a'] } as never, CALLER);
  assert.equal([records, sent.length], [[{ type: 'read' }], 1]);
});

test('transactions - they are forgotten when nothing late can come', () => {
  const on = rig();
  on.say(0, change('one', { a: { 0: 1 } }));
  on.deliver();
  on.pass(60_000);
  assert.is(on.shards[1]?.state.holds.ended.size, 1);
  for (let waits = 0; waits < 4; waits += 1) on.pass(60_000);
  for (const { state } of on.shards) {
    assert.equal([state.holds.ended.size, state.holds.changedBy.size, state.transactions.known.size], [0, 0, 0]);
  }
  assert.is(on.shards[0]?.state.transactions.count, 1, 'a number is never used twice');
  on.check();
});

test('transactions - a shard that knows of none stores what it ever stored', () => {
  const on = rig();
  on.say(0, claim('c', 0, 1));
  const stored = on.shards[0]?.stored() as Record<string, unknown>;
  assert.equal([stored.holds, stored.transactions], [undefined, undefined]);
});

// --- readers

function readBy(on: ReturnType<typeof rig>): ShardRead[] {
  const before = on.answers.length;
  for (let shard = 0; shard < SHARDS; shard += 1)
    on.say(shard, { type: 'consumers-read', ask: 7, consumers: ['a', 'b'] });
  return on.answers.splice(before).map(({ outcome }) => (outcome as { ok: ShardRead }).ok);
}

test('transactions - whoever reads sees all of a change or nothing of it, or is to read again', () => {
  const on = rig();
  on.say(0, change('one', { a: { 0: 1, 1: 1 } }));
  on.deliver();
  const before = readBy(on);
  assert.equal(putTogether(before, readBy(on)), { a: { [hostOf(0)]: { VCPU: 1 }, [hostOf(1)]: { VCPU: 1 } }, b: {} });

  on.say(0, change('two', { a: { 1: 2, 2: 2 }, b: { 0: 1 } }, 2));
  let seen = new Set<string>();
  const wholes: (string | null)[] = [];
  let last = before;
  on.deliver(() => {
    const now = readBy(on);
    const whole = putTogether(last, now);
    last = now;
    if (whole !== null) seen = seen.add(JSON.stringify(Object.values(whole.a ?? {})));
    wholes.push(whole === null ? null : JSON.stringify(whole));
    return true;
  });
  assert.ok(wholes.includes(null), 'in the midst of it, it is to be read again');
  assert.equal(
    [...seen].filter((one) => !['[{"VCPU":1},{"VCPU":1}]', '[{"VCPU":2},{"VCPU":2}]'].includes(one)),
    [],
  );
  const after = readBy(on);
  assert.equal(putTogether(after, readBy(on)), {
    a: { [hostOf(1)]: { VCPU: 2 }, [hostOf(2)]: { VCPU: 2 } },
    b: { [hostOf(0)]: { VCPU: 1 } },
  });
  assert.is(putTogether(before, after), null, 'it was changed between the two');
});

test.run();
