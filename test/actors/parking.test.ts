// Area: scheduler, requests that wait. Parked with nothing held and nothing said while nothing changes, tried when
// capacity appears, several instances together or not at all.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { RequestSpec } from '../../actors/messages/common.ts';
import type { ProvidersChanged } from '../../actors/messages/placement.ts';
import type { Filter } from '../../actors/scheduler/filters/filter.ts';
import { metric } from '../../actors/scheduler/weighers/metric.ts';
import { countingFilter } from '../support/counting.ts';
import { schedulersOf, selectFor } from '../support/schedulers.ts';
import { sentOf } from '../support/turn.ts';
import { comingUp, FOREVER, PATIENCE, rig, WARM_UP_MS } from '../support/waiting.ts';

const test = suite('scheduler - waiting');

test('waiting - a request that has no host is parked with its reason, and placed when one has room', () => {
  const all = rig('h1', 'h2');
  all.ask('web');
  const [parked] = all.answersOf('parked');
  assert.match(parked?.reason ?? '', /none of 2 hosts: 2 exceeds-capacity VCPU/);
  assert.ok(parked?.decision);
  assert.equal(all.placed(), []);
  all.release('rival-h2');
  assert.equal(all.placed(), ['web']);
  const [selected] = all.answersOf('selected');
  assert.is(selected?.round, 1, 'in the round in which it was asked for');
  assert.is(selected?.selections[0]?.selection.host, 'h2');
  assert.is(all.on.state.parking.lots.size, 0);
  assert.is(all.on.state.view.freed, null, 'nobody waits, so nothing is noted');
});

test('waiting - while nothing changes nothing is said: nobody is asked again and again', () => {
  const all = rig('h1');
  for (const request of ['one', 'two', 'three']) all.ask(request);
  const before = all.answers.length;
  const claims = all.shard.entries.length;
  all.pass(600_000);
  assert.is(all.answers.length, before);
  assert.is(all.shard.entries.length, claims);
  const conflicts = all.on.state.conflicts;
  assert.is(conflicts, 0);
});

test('waiting - one that was to be tried a moment later is, though the clock is set back meanwhile', () => {
  const all = rig('h1');
  all.ask('web');
  for (const lot of all.on.state.parking.lots.values()) lot.notBefore = all.on.steady + 6_000;
  all.on.setBack(3_600_000);
  all.release('rival-h1');
  assert.equal(all.placed(), []);
  all.pass(1_000);
  assert.equal(all.placed(), ['web']);
});

test('waiting - one that wants to be with another is tried as soon as that one has a host, and for nobody else', () => {
  const all = schedulersOf([{ host: 'h1' }, { host: 'h2' }]);
  const waits = { since: 1 };
  all.hear(selectFor('with', { tree: { heldBy: ['x'] }, waits }));
  all.deliver();
  const said = () => all.answers.map(({ type, request }) => [type, request]);
  assert.equal(said(), [['parked', 'with']]);
  const asksAtFirst = all.desks[0]?.state.asks;
  for (const instance of ['y', 'x']) {
    all.hear(selectFor(instance));
    all.deliver();
    if (instance === 'y') all.pass(500);
    if (instance === 'y')
      assert.is(all.desks[0]?.state.asks, (asksAtFirst ?? 0) + 1, 'but for the request of y nothing is asked');
  }
  all.run(500);
  assert.equal(said(), [
    ['parked', 'with'],
    ['selected', 'y'],
    ['selected', 'x'],
    ['selected', 'with'],
  ]);
  assert.is(all.desks[0]?.state.parking.awaiting.size, 0);
});

test('waiting - one that wants to be with another is tried too when that one gets a host unheard of, however late', () => {
  const all = schedulersOf([{ host: 'h1' }, { host: 'h2' }]);
  all.hear(selectFor('with', { tree: { heldBy: ['x'] }, waits: { since: 1 } }));
  all.run(4_000, 1_000);
  all.take('x', 'h2');
  all.run(3_000, 1_000);
  assert.equal(
    all.answers.map(({ type, request }) => [type, request]),
    [
      ['parked', 'with'],
      ['selected', 'with'],
    ],
  );
});

test('waiting - of many that want to be with others, each is tried soon after that one gets a host unheard of', () => {
  const many = 500;
  const all = schedulersOf([{ host: 'h1', has: { VCPU: 2 * many } }]);
  for (let n = 0; n < many; n += 1) {
    const tree = { heldBy: [`x-${n}`] };
    const waits = { since: n };
    all.hear(selectFor(`with-${n}`, { tree, waits, alternates: 0 }));
  }
  all.run(3_000, 10);
  assert.is(all.answers.filter(({ type }) => type === 'parked').length, many);
  const asked = () => all.desks[0]?.state.asks ?? 0;
  const before = asked();
  all.run(3_000, 10);
  assert.ok(asked() - before < 150, `while nothing is taken few are asked of: ${asked() - before}`);
  for (let n = 0; n < many; n += 1) all.take(`x-${n}`, 'h1');
  all.run(4_000, 10);
  assert.is(all.answers.filter(({ type }) => type === 'selected').length, many);
});

test('waiting - as long as nothing changes nobody looks at all hosts again for one that is asked for again', () => {
  const { filter, looks } = countingFilter({ ignoresStats: true });
  const hosts = Array.from({ length: 40 }, (_, n) => ({ host: `h${n}` }));
  const all = schedulersOf(hosts, [{ name: 's', filters: [filter] }]);
  const ask = (round: number) => {
    all.hear(selectFor('large', { vcpu: 9, waits: { since: 1 }, round }));
    all.deliver();
    const { type, reason } = all.answers.at(-1) as { type: string; reason: string };
    return [type, reason];
  };
  const [type, reason] = ask(1);
  assert.is(type, 'parked');
  assert.match(reason ?? '', /with 1 VCPU less/);
  for (const desk of all.desks) desk.now += 2_000;
  const before = looks();
  assert.equal(ask(2), [type, reason]);
  const again = looks() - before;
  assert.ok(again < hosts.length, `${again} looks`);
  all.tellHost({ host: 'h1', state: 'disabled' });
  assert.match(ask(3)[1] ?? '', /39 exceeds-capacity VCPU, 1 host disabled/);
});

test('waiting - what hosts measure makes no room: nobody looks for any as often as it changes', () => {
  const { filter, looks } = countingFilter({ ignoresStats: true });
  const weighers = [metric('load', { least: 0, most: 100 }, -1)];
  const all = schedulersOf([{ host: 'h1', metrics: { load: 0 } }], [{ name: 's', filters: [filter], weighers }]);
  all.hear(selectFor('large', { vcpu: 9, waits: { since: 1 } }));
  all.deliver();
  const before = looks();
  for (let load = 1; load <= 10; load += 1) {
    all.tellHost({ host: 'h1', metrics: { load } });
    all.run(1_000);
  }
  assert.is(looks(), before);
  all.put({ host: 'h1', has: { VCPU: 9 } });
  all.deliver();
  all.run(1_000);
  assert.equal(
    all.answers.map(({ type }) => type),
    ['parked', 'selected'],
  );
});

test('waiting - what a host lacks that has come free is found out for none of those that it has no room for', () => {
  const all = rig('h1');
  for (let vcpu = 9; vcpu < 29; vcpu += 1) all.ask(`large-${vcpu}`, { vcpu });
  all.pass(60_000);
  const root = all.on.state.view.providers.get('p-h1')?.spec as object;
  let told = 0;
  Object.defineProperty(root, 'name', {
    get: () => {
      told += 1;
      return 'h1';
    },
  });
  all.release('rival-h1');
  assert.is(told, 0, 'it is put into words that nobody reads');
  all.ask('small', { vcpu: 8 });
  assert.equal(all.placed(), ['small']);
});

test('waiting - several that join others, for which no host has room together, cost few looks at all hosts', () => {
  const { filter, looks } = countingFilter({ late: true });
  const hosts = Array.from({ length: 600 }, (_, n) => ({ host: `h${n}`, has: { VCPU: 8 } }));
  const all = schedulersOf(hosts, [{ name: 's', filters: [filter] }]);
  const instanceGroup = { id: 'g', policy: 'affinity' as const };
  const ask = (request: string, since: number) => {
    const instances = ['x', 'y'].map((name) => `${request}-${name}`);
    const asked = selectFor(request, { vcpu: 5, instances, ordered: true, waits: { since }, expiresAt: FOREVER });
    all.hear({ ...asked, spec: { ...asked.spec, instanceGroup } });
    for (let step = 0; step < 20; step += 1) {
      all.deliver();
      all.pass(10);
    }
    const answer = all.answers.at(-1) as { type: string; reason: string };
    assert.is(answer.type, 'parked');
    assert.match(answer.reason, /no room for 2 instances at once: none of 600 hosts: 600 no-room-together/);
  };
  ask('one', 1);
  const before = looks();
  ask('two', 2);
  assert.ok(looks() - before < 1.5 * hosts.length, `${looks() - before} looks`);
});

for (const policy of ['affinity', undefined] as const) {
  const what =
    policy === undefined ? 'for whom all hosts have too little' : 'that join others, and fit on no host together';
  test(`waiting - several ${what}, cost next to nothing as often as something comes free that does not help`, () => {
    const { filter, looks } = countingFilter();
    const hosts = Array.from({ length: 40 }, (_, n) => ({ host: `h${n}`, has: { VCPU: 4 } }));
    const all = schedulersOf(hosts, [{ name: 's', filters: [filter] }]);
    const settle = () => {
      for (let step = 0; step < 30; step += 1) {
        all.deliver();
        all.pass(20);
      }
    };
    const give = (host: string, vcpu: number) => all.release(`of-${host}-${vcpu}`);
    for (const { host } of hosts) for (const vcpu of [1, 2]) all.take(`of-${host}-${vcpu}`, host, vcpu);
    settle();
    const count = policy === undefined ? 60 : 4;
    const instances = Array.from({ length: count }, (_, n) => `web-${n}`);
    const asked = selectFor('web', { vcpu: 1, instances, ordered: true, waits: { since: 1 }, expiresAt: FOREVER });
    const group = policy === undefined ? {} : { instanceGroup: { id: 'g', policy } };
    all.hear({ ...asked, spec: { ...asked.spec, ...group } });
    settle();
    assert.is(all.answers.at(-1)?.type, 'parked');
    const before = looks();
    for (const host of ['h1', 'h2', 'h3']) {
      give(host, 1);
      settle();
    }
    assert.ok(looks() - before < 20, `${looks() - before} looks`);
    const [lot] = all.desks[0]?.state.parking.lots.values() ?? [];
    if (policy !== undefined) assert.is(lot?.kind?.lookAgainAt, 0, 'hosts that did not change are not looked at');
    assert.is(all.answers.at(-1)?.type, 'parked');
    for (const { host } of policy === undefined ? hosts : hosts.slice(3, 4)) give(host, 2);
    settle();
    assert.is(all.answers.at(-1)?.type, 'selected');
  });
}

for (const isGone of [false, true]) {
  const what = isGone ? 'is placed once these are gone' : 'is refused for that';
  test(`waiting - one whose group has come to have members of another rule ${what}, at once when its host is back`, () => {
    const all = schedulersOf([{ host: 'h1', state: 'disabled' }, { host: 'h2' }]);
    const groupOf = (policy: 'affinity' | 'soft-affinity') => ({ id: 'g', policy });
    const { spec, ...asked } = selectFor('web', { tree: { oneOf: ['p-h1'] }, waits: { since: 1 } });
    all.hear({ ...asked, spec: { ...spec, instanceGroup: groupOf('soft-affinity') } });
    all.deliver();
    const ofOther: RequestSpec = { ...selectFor('other').spec, instanceGroup: groupOf('affinity') };
    all.take('other', 'h2', 1, { spec: ofOther });
    all.deliver();
    if (isGone) {
      // The scheduler hears of it late.
      all.release('other');
      all.drop(() => true);
    }
    all.tellHost({ host: 'h1' });
    for (let step = 0; step < 3; step += 1) {
      all.deliver();
      all.pass(10);
    }
    const [parked, last] = all.answers;
    assert.equal([parked?.type, last?.type], ['parked', isGone ? 'selected' : 'no-valid-host']);
    if (last?.type === 'no-valid-host') assert.match(last.reason, /group-policy-conflict/);
  });
}

test('waiting - one that does not wait fails as ever', () => {
  const all = rig('h1');
  all.hear(
    {
      type: 'select',
      request: 'now',
      round: 1,
      instances: ['now'],
      spec: { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' },
      alternates: 0,
      expiresAt: FOREVER,
    },
    'conductor/0',
  );
  all.settle();
  assert.is(all.answersOf('no-valid-host').length, 1);
  assert.is(all.on.state.parking.lots.size, 0);
});

test('waiting - several instances are placed together or hold nothing, so two that wait do not block each other', () => {
  const all = rig('h1', 'h2', 'h3');
  const gang = (request: string) => [0, 1].map((n) => `${request}-${n}`);
  all.ask('one', { instances: gang('one'), project: 'p1' });
  all.ask('two', { instances: gang('two'), project: 'p2' });
  all.release('rival-h1');
  for (const instance of [...gang('one'), ...gang('two')]) assert.equal(all.heldBy(instance), [], instance);
  assert.equal(all.placed(), []);
  all.release('rival-h2');
  assert.is(all.placed().length, 1, 'one of them has both hosts');
  const [first = ''] = all.placed();
  for (const instance of gang(first)) assert.is(all.heldBy(instance).length, 1);
  all.release('rival-h3');
  for (const instance of gang(first)) all.release(instance);
  assert.equal(all.placed().toSorted(), ['one', 'two']);
});

test('waiting - what an earlier question was granted is found, also by one that has to queue', () => {
  const all = rig('h1', 'h2');
  all.ask('other');
  all.release('rival-h2');
  assert.equal(all.placed(), ['other']);
  all.ask('queue');
  // Granted to another scheduler, which died before it could answer.
  all.shard.tell({ type: 'release', consumer: 'rival-h1', deleted: true });
  all.take('h1', 'lost', 8);
  all.pass(5_000);
  all.ask('lost', { since: 1 });
  assert.equal(all.placed(), ['other', 'lost']);
  assert.is(all.answersOf('parked').length, 2);
});

test('waiting - one that is withdrawn is not tried; one that is given up is dropped', () => {
  const all = rig('h1');
  const since = all.on.now;
  all.ask('gone', { since });
  all.ask('late', { since: since + 1, expiresAt: all.on.now + 20_000 });
  all.ask('here', { since: since + 2 });
  all.hear({ type: 'withdraw', request: 'gone' }, 'conductor/0');
  all.pass(40_000);
  all.release('rival-h1');
  assert.equal(all.placed(), ['here']);
  assert.is(all.on.state.parking.byRequest.size, 0);
});

test('waiting - what is withdrawn of a round leaves in line what was asked for in a later one', () => {
  const all = rig('h1');
  all.ask('web', { round: 2 });
  all.hear({ type: 'withdraw', request: 'web', round: 1 }, 'conductor/0');
  assert.is(all.on.state.parking.byRequest.size, 1);
  all.hear({ type: 'withdraw', request: 'web', round: 2 }, 'conductor/0');
  assert.is(all.on.state.parking.byRequest.size, 0);
});

test('waiting - a scheduler that has just come up says at once that it is at what it cannot place yet, and again and again', () => {
  const all = comingUp('h1');
  const said: number[] = [];
  const since = all.on.now;
  const heard = () => all.answers.filter(({ message }) => message.type === 'selecting').length;
  all.ask('web');
  assert.is(heard(), 1, 'nothing is known of hosts');
  all.tellHosts();
  while (all.on.now < since + WARM_UP_MS) {
    const before = heard();
    all.pass(50);
    if (heard() > before) said.push(all.on.now - since);
  }
  const gaps = said.map((at, place) => at - (said[place - 1] ?? 0));
  assert.ok(said.length >= 2 && Math.max(...gaps) <= PATIENCE.firstMs + 50, `after ${said}`);
  all.pass(WARM_UP_MS);
  assert.is(all.answersOf('parked').length, 1, 'and then why it waits');
});

test('waiting - those that are asked for before a scheduler knows any host get what is free in the order in which they came', () => {
  const all = comingUp('h1');
  const since = all.on.now;
  for (const [place, request] of ['third', 'first', 'fourth', 'second'].entries()) {
    all.ask(request, { since: since + ([3, 1, 4, 2][place] as number) });
  }
  const freed = all.shard.tell({ type: 'release', consumer: 'rival-h1', deleted: true });
  for (const { message } of sentOf(freed, 'providers-changed')) all.hear(message as ProvidersChanged, 'placement/0');
  all.tellHosts();
  all.pass(WARM_UP_MS + 1_000);
  for (const consumer of ['first', 'second', 'third']) all.release(consumer);
  assert.equal(all.placed(), ['first', 'second', 'third', 'fourth']);
});

for (const byMs of [3_600_000, -3_600_000]) {
  test(`waiting - whoever is not given up keeps his place, and who is given up does not, while the clock is set by ${-byMs} ms`, () => {
    const all = rig('h1', 'h2');
    const since = all.on.now;
    all.ask('late', { since, expiresAt: all.on.now + 20_000 });
    all.ask('here', { since: since + 1, expiresAt: all.on.now + 60_000 });
    all.on.setBack(byMs);
    all.pass(15_000);
    assert.is(all.on.state.parking.byRequest.size, 2);
    all.pass(20_000);
    assert.equal([...all.on.state.parking.byRequest.keys()], ['conductor/0 here']);
  });
}

test('waiting - two shards of the conductor may have a request of one name: neither is taken for the other', () => {
  const all = rig('h1', 'h2');
  const since = all.on.now;
  const ask = (shard: number, instance: string) => {
    const spec = { groups: [{ name: '', resources: { VCPU: 8 } }], groupPolicy: 'none' as const };
    const asked = { type: 'select' as const, request: 'web-7', round: 1, instances: [instance], spec, alternates: 0 };
    all.hear({ ...asked, expiresAt: FOREVER, waits: { since: since + shard } }, `conductor/${shard}`);
    all.settle();
  };
  for (const [shard, instance] of ['web-7', 'web-7-0', 'web-7-1'].entries()) ask(shard, instance);
  assert.is(all.on.state.parking.byRequest.size, 3);
  all.hear({ type: 'withdraw', request: 'web-7' }, 'conductor/1');
  all.release('rival-h1');
  all.release('rival-h2');
  const placed = all.answersOf('selected').flatMap(({ selections }) => selections.map(({ instance }) => instance));
  assert.equal(placed, ['web-7', 'web-7-1']);
});

test('waiting - of a deleted instance nothing is placed, and it is not parked again', () => {
  const all = rig('h1');
  all.ask('gone');
  all.shard.tell({ type: 'release', consumer: 'gone', deleted: true });
  all.release('rival-h1');
  assert.equal(all.placed(), []);
  assert.is(all.answersOf('no-valid-host').length, 1);
  assert.is(all.on.state.parking.lots.size, 0);
});

for (const late of [false, true]) {
  test(`waiting - one that a filter keeps waiting is placed when its time has come${late ? ', asked late too' : ''}`, () => {
    const opens = { first: 0, last: 0 };
    const window: Filter = {
      name: 'window',
      late,
      // What it says may change twice, and it tells of the next time only.
      refusal: ({ now }) => (now < opens.last ? { code: 'closed', message: 'closed for maintenance' } : null),
      changesAt: ({ now }) => (now < opens.first ? opens.first : now < opens.last ? opens.last : null),
    };
    const all = schedulersOf([{ host: 'h1' }, { host: 'h2' }], [{ name: 's', filters: [window] }]);
    const [desk] = all.desks;
    const now = desk?.now ?? 0;
    Object.assign(opens, { first: now + 20_000, last: now + 60_000 });
    all.choose(selectFor('web', { waits: { since: now } }));
    all.run(55_000, 5_000);
    assert.equal(
      all.answers.map(({ type }) => type),
      ['parked'],
    );
    all.run(10_000);
    assert.equal(
      all.answers.map(({ type }) => type),
      ['parked', 'selected'],
    );
    assert.is(desk?.state.view.due.size, 0, 'one that will say nothing else is not asked again');
  });
}

test.run();
