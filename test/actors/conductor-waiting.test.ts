// Area: conductor, requests that wait. What it keeps of them survives its crash, is told, and ends at the deadline.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MOST_IN_TIME } from '../../actors/asking-window.ts';
import { conductor } from '../../actors/conductor/conductor.ts';
import type { ConditionsNow } from '../../actors/conductor/renewing.ts';
import type { ConductorMessage } from '../../actors/messages/conductor.ts';
import { selectionAt } from '../../machines/testing.ts';
import {
  actor,
  buildOf,
  type Desk,
  desk,
  OPTIONS,
  parkAtOne,
  parkedAs,
  selectsIn,
  unhurried,
} from '../support/conductor-waiting.ts';
import { bench, replayed, restored, type Sent, sentOf, stored, viewOf } from '../support/turn.ts';
import { PATIENCE } from '../support/waiting.ts';

const test = suite('conductor - waiting');

/** There is room for it, and others are before it. */
function inLine(on: Desk, request: string) {
  const round = on.state.requests.get(request)?.round ?? 0;
  return on.tell({ type: 'parked', request, round, reason: 'in line', decision: '{}', hasRoom: true }, 'scheduler/s');
}

test('waiting - the conductor says so of the instance, with the last reason, and publishes it once', () => {
  const on = desk();
  const [select] = sentOf(on.tell(buildOf('web')), 'select');
  assert.equal([select?.message.waits, select?.message.project], [{ since: on.now }, 'p']);
  const acceptedAt = on.now;
  const turned = parkedAs(on, 'web');
  assert.equal(
    turned.events.map(({ topic, body }) => [topic.join('.'), body.reason, body.until]),
    [['conductor.0.waiting.web', 'none of 3 hosts', acceptedAt + 300_000]],
  );
  on.now += 1_000;
  assert.equal(parkedAs(on, 'web', 'none of 4 hosts').events, []);
  const view = viewOf(on, 'web');
  assert.is(view?.state, 'requested');
  assert.equal(view?.waiting, {
    since: acceptedAt,
    until: acceptedAt + 300_000,
    reason: 'none of 4 hosts',
    asOf: acceptedAt + 1_000,
  });
});

test('waiting - a reason that tells less than the last one is not told in its place, and is where there is no other', () => {
  const on = desk();
  on.tell(buildOf('web'));
  const brief = () => {
    const round = on.state.requests.get('web')?.round ?? 0;
    const message = {
      type: 'parked',
      request: 'web',
      round,
      reason: 'brief',
      decision: '{"v":2}',
      brief: true,
    } as const;
    on.tell(message, 'scheduler/s');
    const { waiting: told } = viewOf(on, 'web') ?? {};
    const [explained] = sentOf(on.tell({ type: 'explain', ask: 1, instance: 'web' }), 'explained');
    return [told?.reason, told?.asOf, explained?.message.decision];
  };
  const at = on.now;
  parkedAs(on, 'web');
  on.now += 15_000;
  assert.equal(brief(), ['none of 3 hosts', at, '{}']);
  on.now += 15_000;
  parkedAs(on, 'web', 'none of 4 hosts');
  assert.equal(brief(), ['none of 4 hosts', on.now, '{}']);
  const first = desk();
  first.tell(buildOf('web'));
  const round = first.state.requests.get('web')?.round ?? 0;
  first.tell({ type: 'parked', request: 'web', round, reason: 'brief', decision: '{}', brief: true }, 'scheduler/s');
  assert.is(viewOf(first, 'web')?.waiting?.reason, 'brief');
  first.now += 15_000;
  first.tell({ type: 'parked', request: 'web', round, reason: 'briefer', decision: '{}', brief: true }, 'scheduler/s');
  assert.is(viewOf(first, 'web')?.waiting?.reason, 'briefer', 'the later one of those that tell as little');
  parkedAs(first, 'web');
  assert.is(viewOf(first, 'web')?.waiting?.reason, 'none of 3 hosts');
});

test('waiting - who is accepted after the clock was set back comes after those that have no host yet', () => {
  const on = bench(conductor(OPTIONS));
  const placeOf = (request: string) => sentOf(on.tell(buildOf(request)), 'select')[0]?.message.waits?.since ?? 0;
  const first = placeOf('first');
  on.setBack(3_600_000);
  const second = placeOf('second');
  assert.ok(second > first, `${second} is behind ${first}`);
  assert.ok(placeOf('third') > second);
});

test('waiting - who is accepted behind others after the clock was set back has waited for as long as it did', () => {
  const on = bench(conductor(OPTIONS));
  on.tell(buildOf('first', 7_200_000));
  on.setBack(3_600_000);
  on.tell(buildOf('second'));
  parkedAs(on, 'second');
  on.pass(300_000 + PATIENCE.firstMs);
  assert.match(viewOf(on, 'second')?.failure?.message ?? '', /^waited 300 s in vain; /);
});

test('waiting - one for which there is room, and which only stands in line to have it, waits however many do', () => {
  const on = desk();
  for (const request of ['one', 'two']) {
    on.tell(buildOf(request));
    parkedAs(on, request);
  }
  on.tell(buildOf('next'));
  inLine(on, 'next');
  assert.is(viewOf(on, 'next')?.state, 'requested');
});

test('waiting - where others have taken the room for which some stood in line, no more of them wait than may, as they came', () => {
  const on = desk();
  const names = ['one', 'two', 'three', 'four'];
  for (const request of names) {
    on.tell(buildOf(request));
    inLine(on, request);
  }
  on.tell(buildOf('new'));
  assert.equal(sentOf(parkedAs(on, 'new'), 'withdraw').length, 1, 'it came after all of them');
  for (const request of names) parkedAs(on, request);
  assert.equal([...on.state.parked], ['one', 'two']);
  assert.match(viewOf(on, 'three')?.failure?.message ?? '', /^it cannot wait, as 2 requests do; none of 3 hosts/);
  inLine(on, 'two');
  parkedAs(on, 'two');
  assert.is(viewOf(on, 'two')?.state, 'requested', 'it has its place for good');
});

test('waiting - one that waits for room which it stood in line for before counts among those that wait', () => {
  const on = desk();
  for (const request of ['one', 'two', 'three']) {
    on.tell(buildOf(request));
    inLine(on, request);
  }
  for (const request of ['one', 'two']) parkedAs(on, request);
  inLine(on, 'one');
  parkedAs(on, 'three');
  assert.match(viewOf(on, 'three')?.failure?.message ?? '', /^it cannot wait, as 2 requests do/);
});

test('waiting - one that stood in line when its conductor died is not turned away after that', () => {
  const on = desk();
  for (const request of ['one', 'two', 'three']) {
    on.tell(buildOf(request));
    inLine(on, request);
  }
  const again = bench(actor, { at: on.now, entries: on.entries });
  for (const request of ['one', 'two', 'three']) parkedAs(again, request);
  assert.is(again.state.parked.size, 3);
});

test('waiting - a scheduler that says so of one that is gone, or of what was asked before, is heeded no more', () => {
  const on = desk();
  on.tell(buildOf('web'));
  on.tell({ type: 'delete', ask: 8, instance: 'web' });
  const late: ConductorMessage = { type: 'parked', request: 'web', round: 1, reason: 'full', decision: '{}' };
  assert.equal(
    sentOf(on.tell(late, 'scheduler/s'), 'withdraw').map(({ to, message }) => [to, message.request]),
    [['scheduler/s', 'web']],
  );
  on.tell(buildOf('next'));
  const { round = 0 } = on.state.requests.get('next') ?? {};
  on.pass(10_000);
  on.tell({ ...late, request: 'next', round }, 'scheduler/s');
  assert.is(viewOf(on, 'next')?.waiting, undefined);
});

test('waiting - a scheduler is to hold a request for some times the pace at which it is asked for, and not beyond its time', () => {
  const on = bench(conductor(OPTIONS));
  const heldUntil = ({ sent }: { sent: readonly Sent[] }) => sentOf({ sent }, 'select')[0]?.message.expiresAt;
  const until = on.now + 40_000;
  assert.is(heldUntil(on.tell(buildOf('long', 3_600_000))), on.now + 4 * OPTIONS.parkedAskMs);
  on.tell(buildOf('short', 40_000));
  parkedAs(on, 'short');
  const [again] = on.pass(20_000).filter((turned) => selectsIn(turned).some((one) => one.startsWith('short')));
  assert.is(again === undefined ? undefined : heldUntil(again), until);
  for (let n = 1; n < 4_000; n += 1) on.state.parked.add(`other${n}`);
  assert.is(heldUntil(on.tell(buildOf('web', 3_600_000))), on.now + 4 * 4_000 * 5, 'many are asked for less often');
});

test('waiting - where no scheduler answers it waits for as long as it may, and not only as others look for hosts', () => {
  const on = desk();
  on.tell(buildOf('web', 300_000));
  on.pass(299_000);
  assert.is(viewOf(on, 'web')?.state, 'requested');
  on.pass(2_000);
  assert.is(viewOf(on, 'web')?.failure?.code, 'scheduling-timed-out');
});

test('waiting - a crash loses neither the request nor its deadline, and it is asked for at once', () => {
  const on = desk();
  on.tell(buildOf('web', 300_000));
  const until = on.now + 300_000;
  parkedAs(on, 'web');
  assert.equal(replayed(actor, on.entries), on.stored());
  assert.equal(restored(actor, on.stored()), on.stored());
  assert.is(actor.figures?.(actor.restore([on.stored()])).parked, 1);
  const again = bench(actor, { at: on.now + 100_000, entries: on.entries });
  assert.is(sentOf(again.first, 'select').length, 1);
  assert.is(viewOf(again, 'web')?.waiting?.until, until);
  again.pass(199_000);
  assert.is(viewOf(again, 'web')?.state, 'requested');
  again.pass(2_000);
  const view = viewOf(again, 'web');
  assert.is(view?.state, 'failed');
  assert.is(view?.failure?.code, 'no-valid-host');
  assert.match(
    view?.failure?.message ?? '',
    /^waited 300 s in vain; as of 300 s before the end \(.*\): none of 3 hosts$/,
  );
});

test('waiting - when its time is over it is asked for once more where it waits, and fails with what is said then', () => {
  const on = desk();
  on.tell(buildOf('web', 10_000));
  const acceptedAt = on.now;
  parkedAs(on, 'web');
  const asked = (ms: number) => on.pass(ms).flatMap((turned) => sentOf(turned, 'select'));
  assert.equal(asked(9_999), []);
  const [select, ...others] = asked(1);
  assert.equal(others, []);
  assert.equal([select?.to, select?.message.waits], ['scheduler/s', { since: acceptedAt, last: true }]);
  assert.ok((select?.message.expiresAt ?? 0) > on.now, 'what is claimed for it is valid');
  assert.is(viewOf(on, 'web')?.state, 'requested');
  const { round = 0 } = select?.message ?? {};
  const said: ConductorMessage = {
    type: 'no-valid-host',
    request: 'web',
    round,
    reason: 'none of 5',
    decision: '{"at":5}',
  };
  assert.equal(sentOf(on.tell(said, 'scheduler/s'), 'withdraw'), [], 'it waits nowhere any more');
  assert.is(viewOf(on, 'web')?.failure?.message, 'waited 10 s in vain; at last: none of 5');
  const [told] = sentOf(on.tell({ type: 'explain', ask: 1, instance: 'web' }), 'explained');
  assert.is(told?.message.decision, '{"at":5}');
  assert.equal(replayed(actor, on.entries), on.stored());
});

test('waiting - a host that is found when its time is over is taken', () => {
  const on = desk();
  on.tell(buildOf('web'));
  parkedAs(on, 'web');
  on.pass(300_000);
  const { round = 0 } = on.state.requests.get('web') ?? {};
  const selection = { cell: 'c1', host: 'h1', provider: 'p1', allocations: [] };
  const selections = [{ instance: 'web', selection, alternates: [], decision: '{}' }];
  assert.is(sentOf(on.tell({ type: 'selected', request: 'web', round, selections }, 'scheduler/s'), 'start').length, 1);
  on.pass(10_000);
  assert.is(viewOf(on, 'web')?.failure, undefined);
});

test('waiting - a scheduler that parks it when its time is over already is told that it waits no longer', () => {
  const on = desk();
  on.tell(buildOf('web'));
  parkedAs(on, 'web');
  on.pass(300_000);
  const turned = parkedAs(on, 'web', 'none of 4 hosts');
  assert.equal(
    sentOf(turned, 'withdraw').map(({ to }) => to),
    ['scheduler/s'],
  );
  assert.is(viewOf(on, 'web')?.failure?.message, 'waited 300 s in vain; at last: none of 4 hosts');
});

for (const byMs of [3_600_000, -3_600_000]) {
  test(`waiting - a request waits for as long as it may, and is told of as is true, while the clock is set by ${-byMs} ms`, () => {
    const on = desk();
    on.tell(buildOf('web'));
    on.pass(5_000);
    parkedAs(on, 'web');
    on.setBack(byMs);
    const waiting = () => viewOf(on, 'web')?.waiting;
    assert.equal([waiting()?.until, waiting()?.asOf], [on.now + 295_000, on.now]);
    on.pass(294_000);
    assert.is(waiting()?.since, on.now - 299_000, 'when it was accepted, as is told of it once it has a host');
    assert.is(viewOf(on, 'web')?.state, 'requested');
    on.pass(1_000 + PATIENCE.firstMs);
    const words = /^waited 300 s in vain; as of 295 s before the end \(.*\): none of 3 hosts$/;
    assert.match(viewOf(on, 'web')?.failure?.message ?? '', words);
  });
}

test('waiting - where the clock was set before a reason was heard, it is told how long that was before the end, and until when it waits', () => {
  for (const byMs of [3_600_000, -3_600_000]) {
    const on = desk();
    on.tell(buildOf('web'));
    on.pass(5_000);
    on.setBack(byMs);
    const [waits] = parkedAs(on, 'web').events;
    assert.is(waits?.body.until, on.now + 295_000);
    on.pass(295_000 + PATIENCE.firstMs);
    assert.match(viewOf(on, 'web')?.failure?.message ?? '', /; as of 295 s before the end /);
  }
});

test('waiting - by an owner whose clock is hours behind a request waits from then on for no longer than it may', () => {
  for (const isParked of [true, false]) {
    const on = desk();
    on.tell(buildOf('web'));
    if (isParked) parkedAs(on, 'web');
    const stored = [on.stored()];
    for (const next of [
      bench(actor, { at: on.now - 5 * 3_600_000, entries: on.entries }),
      bench({ ...actor, init: () => actor.restore(stored) }, { at: on.now - 5 * 3_600_000 }),
    ]) {
      next.pass(299_000);
      assert.is(viewOf(next, 'web')?.state, 'requested');
      next.pass(1_000 + PATIENCE.firstMs);
      assert.is(viewOf(next, 'web')?.state, 'failed', `parked: ${isParked}`);
    }
  }
});

test('waiting - where nobody answers when its time is over, it is said as of when the reason is', () => {
  const on = desk();
  on.tell(buildOf('web'));
  on.pass(5_000);
  parkedAs(on, 'web');
  on.pass(300_000);
  assert.match(
    viewOf(on, 'web')?.failure?.message ?? '',
    /^waited 300 s in vain; as of 295 s before the end \(schedulers were asked \d\d times in [\d.]+ s, and none has answered\): none of 3 hosts$/,
  );
  assert.equal(replayed(actor, on.entries), on.stored());
});

test('waiting - those that are accepted in one millisecond stand in line as they came, after a crash too', () => {
  const on = desk();
  const placeOf = (select: { readonly message: { readonly waits?: { readonly since: number } } } | undefined) =>
    select?.message.waits?.since ?? 0;
  const places = ['a', 'b', 'c'].map((request) => placeOf(sentOf(on.tell(buildOf(request)), 'select')[0]));
  const acceptedAt = on.now;
  assert.ok(places.every((place, n) => Math.floor(place) === acceptedAt && place > (places[n - 1] ?? 0)));
  on.now += 1;
  assert.is(placeOf(sentOf(on.tell(buildOf('d')), 'select')[0]), acceptedAt + 1);
  assert.equal(replayed(actor, on.entries), on.stored());
  const again = bench(actor, { at: on.now, entries: on.entries });
  assert.equal(sentOf(again.first, 'select').map(placeOf), [...places, acceptedAt + 1]);
});

test('waiting - where it waited, and nobody answered, it is withdrawn when another scheduler says what comes of it', () => {
  for (const isFound of [true, false]) {
    const on = desk();
    on.tell(buildOf('web'));
    parkedAs(on, 'web');
    on.pass(isFound ? 60_000 : 300_000);
    const { round = 0 } = on.state.requests.get('web') ?? {};
    const selection = { cell: 'c1', host: 'h1', provider: 'p1', allocations: [] };
    const selections = [{ instance: 'web', selection, alternates: [] }];
    const said: ConductorMessage = isFound
      ? { type: 'selected', request: 'web', round, selections }
      : { type: 'no-valid-host', request: 'web', round, reason: 'none of 4 hosts' };
    const turned = on.tell(said, 'scheduler/t');
    assert.equal(
      sentOf(turned, 'withdraw').map(({ to, message }) => [to, message.request]),
      [['scheduler/s', 'web']],
    );
    assert.is(on.state.requests.size, 0);
  }
});

test('waiting - it ends when a host is found, and waits no more', () => {
  const on = desk();
  on.tell(buildOf('web'));
  parkedAs(on, 'web');
  const round = on.state.requests.get('web')?.round ?? 0;
  const selection = { cell: 'c1', host: 'h1', provider: 'p1', allocations: [] };
  const selections = [{ instance: 'web', selection, alternates: [], decision: '{}' }];
  const turned = on.tell({ type: 'selected', request: 'web', round, selections }, 'scheduler/s');
  assert.is(sentOf(turned, 'start').length, 1);
  assert.is(viewOf(on, 'web')?.waiting, undefined);
  assert.is(on.state.parked.size, 0);
  assert.is(sentOf(on.tell(buildOf('next')), 'select')[0]?.to, 'scheduler', 'there is no line any more');
});

test('waiting - deleted while it waits, it is withdrawn and gone', () => {
  const on = desk();
  on.tell(buildOf('web'));
  parkedAs(on, 'web');
  const turned = on.tell({ type: 'delete', ask: 8, instance: 'web' });
  assert.equal(
    sentOf(turned, 'withdraw').map(({ to, message }) => [to, message.request]),
    [['scheduler/s', 'web']],
  );
  assert.is(on.state.parked.size, 0);
  assert.equal(replayed(actor, on.entries), on.stored());
});

test('waiting - no more wait than may: the next one that has no host fails, and says why', () => {
  const on = desk();
  for (const request of ['a', 'b', 'c']) {
    on.tell(buildOf(request));
    parkedAs(on, request);
  }
  assert.is(on.state.parked.size, 2);
  assert.match(viewOf(on, 'c')?.failure?.message ?? '', /^it cannot wait, as 2 requests do; none of 3 hosts/);
});

test('waiting - the same request again is the same only if it may wait as long', () => {
  const on = desk();
  on.tell(buildOf('web'));
  assert.is(sentOf(on.tell(buildOf('web')), 'build-accepted').length, 1);
  assert.is(sentOf(on.tell(buildOf('web', 1_000)), 'declined').length, 1);
});

test('waiting - begun anew, a shard has those without a host go by what the operator says now, of many alike in one record', () => {
  const on = bench(conductor(OPTIONS));
  for (const request of ['a', 'b', 'c']) {
    on.tell(buildOf(request, 300_000, request === 'c' ? { count: 2, project: 'q' } : {}));
    parkedAs(on, request);
  }
  on.tell(buildOf('placed', undefined));
  const round = on.state.requests.get('placed')?.round ?? 0;
  const selections = [{ instance: 'placed', selection: selectionAt('h1'), alternates: [] }];
  on.tell({ type: 'selected', request: 'placed', round, selections } as never, 'scheduler/s');
  const where = { origins: {} };
  const conditionsNow: ConditionsNow = ({ project }) => {
    return project === 'p' ? { tree: { notMemberOf: ['licensed'] }, where } : null;
  };
  const renewing = conductor({ ...OPTIONS, conditionsNow });
  const again = bench(renewing, { at: on.now + 1_000, entries: on.entries });
  assert.equal(
    again.first.records.filter(({ type }) => type === 'conditions'),
    [{ type: 'conditions', requests: ['a', 'b'], tree: { notMemberOf: ['licensed'] }, where }],
  );
  assert.equal(
    sentOf(again.first, 'withdraw').map(({ to, message }) => [to, message.request]),
    [
      ['scheduler/s', 'a'],
      ['scheduler/s', 'b'],
    ],
    'where they wait they are given nothing by what was said before',
  );
  const asked = [again.first, ...again.pass(60_000)].flatMap((turned) => sentOf(turned, 'select'));
  const treesOf = (request: string) => {
    const all = asked.filter(({ message }) => message.request === request);
    assert.ok(all.length > 0, request);
    return [...new Set(all.map(({ message }) => JSON.stringify([message.spec.tree, message.where])))];
  };
  const renewed = JSON.stringify([{ notMemberOf: ['licensed'] }, where]);
  assert.equal([treesOf('a'), treesOf('b'), treesOf('c')], [[renewed], [renewed], ['[null,null]']]);
  const { message: explained } = sentOf(again.tell({ type: 'explain', ask: 1, instance: 'a' }), 'explained')[0] ?? {};
  assert.equal([explained?.spec?.tree, explained?.where], [{ notMemberOf: ['licensed'] }, where]);
  const [repeated] = sentOf(again.tell(buildOf('a')), 'build-accepted');
  assert.ok(repeated, 'the same request sent again is known as before');

  assert.equal(replayed(renewing, again.entries), stored(renewing, again.state));
  assert.equal(restored(renewing, stored(renewing, again.state)), stored(renewing, again.state));
  const unchanged = bench(renewing, { at: again.now, entries: again.entries });
  assert.not.ok(unchanged.first.records.some(({ type }) => type === 'conditions'));
  for (const others of [{ where }, { tree: { notMemberOf: ['licensed'] } }]) {
    const one = bench(conductor({ ...OPTIONS, conditionsNow: () => others }), {
      at: again.now,
      entries: again.entries,
    });
    const { spec, where: now } = one.state.requests.get('a') ?? {};
    assert.equal(
      [spec?.tree, now],
      ['tree' in others ? others.tree : undefined, 'where' in others ? where : undefined],
    );
  }
  const lifted = bench(conductor({ ...OPTIONS, conditionsNow: () => ({}) }), { at: again.now, entries: again.entries });
  assert.equal(
    lifted.first.records.filter(({ type }) => type === 'conditions'),
    [{ type: 'conditions', requests: ['a', 'b'] }],
  );
  assert.not.ok('tree' in (lifted.state.requests.get('a')?.spec ?? {}));
});

test('waiting - what the scheduler of the line parks late for an earlier life is withdrawn if the request goes by other conditions now', () => {
  const on = bench(unhurried);
  const waiting = Array.from({ length: MOST_IN_TIME + 8 }, (_, n) => `r${n}`);
  parkAtOne(on, waiting);
  const last = waiting.at(-1) as string;
  const { round = 0 } = on.state.requests.get(last) ?? {};
  const conditionsNow: ConditionsNow = () => ({ tree: { notMemberOf: ['licensed'] } });
  const again = bench(conductor({ ...OPTIONS, parkedAskMs: 3_600_000, conditionsNow }), {
    at: on.now,
    entries: on.entries,
  });
  // It was being looked at as the shard began anew, so that it could not be withdrawn then.
  const late = again.tell({ type: 'parked', request: last, round, reason: 'full', decision: '{}' }, 'scheduler/one');
  assert.equal(sentOf(late, 'withdraw'), [
    { to: 'scheduler/one', message: { type: 'withdraw', request: last, round } },
  ]);
});

test.run();
