// Area: scheduler, places in line. Who came first keeps its place while it is out of line: asked for anew, served, or
// told why it has no host; and what others change on hosts costs nobody a turn.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { RequestSpec } from '../../actors/messages/common.ts';
import type { SchedulerMessage, Select } from '../../actors/messages/scheduler.ts';
import { chosenIn, type SchedulerWords, schedulersOf, selectFor } from '../support/schedulers.ts';
import { sentOf } from '../support/turn.ts';
import { FOREVER } from '../support/waiting.ts';

const test = suite('scheduler - places in line');

/** A host has room for one of these. */
const SPEC: RequestSpec = { groups: [{ name: '', resources: { VCPU: 8 } }], groupPolicy: 'none' };
/** Why none of so many hosts fits is found out in several turns. */
const MANY = 1_200;

function fullHosts(count: number, words?: readonly SchedulerWords[]) {
  const all = schedulersOf(
    Array.from({ length: count }, (_, n) => ({ host: `h${n}`, has: { VCPU: 8 } })),
    words,
  );
  const take = (consumer: string, host: number) => all.take(consumer, `h${host}`, 8);
  for (let host = 0; host < count; host += 1) take(`rival-${host}`, host);
  all.deliver();

  return {
    ...all,
    take,
    step: (ms: number) => all.run(ms, 10),
    /** A host comes free, and that is known. */
    free(host: number): void {
      all.release(`rival-${host}`);
      all.deliver(undefined, ({ message }) => message.type === 'providers-changed');
    },
    ask(request: string, since: number, more: Partial<Select> = {}, from = 'conductor/0'): void {
      all.hear(selectFor(request, { spec: SPEC, waits: { since }, expiresAt: FOREVER, ...more }), 'scheduler/s', from);
    },
    said: () => all.answers.map(({ request, type }) => `${request} ${type}`),
  };
}

for (const ordered of [{}, { ordered: true as const }]) {
  test(`places in line - the first is asked for anew, and not overtaken meanwhile ${JSON.stringify(ordered)}`, () => {
    const all = fullHosts(1);
    all.ask('first', 1, ordered);
    all.deliver();
    all.ask('second', 2, ordered);
    all.step(3_000);
    all.ask('first', 1, { ...ordered, round: 2 });
    all.free(0);
    all.step(1_000);
    assert.equal(all.said().slice(2), ['first parked', 'first selected']);
  });
}

test('places in line - one behind the first is asked for anew, and that holds up nobody before it', () => {
  const all = fullHosts(1);
  all.ask('first', 1);
  all.step(50);
  all.ask('second', 2);
  all.step(50);
  all.ask('second', 2, { ordered: true, round: 2 });
  all.drop(({ message }) => message.type === 'take');
  all.free(0);
  all.step(20);
  assert.equal(all.said().slice(2), ['first selected']);
});

test('places in line - one that must be with its group goes elsewhere once the group has left', () => {
  const all = schedulersOf([
    { host: 'h1', has: { VCPU: 8 } },
    { host: 'h2', has: { VCPU: 8 } },
  ]);
  const instanceGroup = { id: 'g', policy: 'affinity' as const };
  all.take('member', 'h1', 4, { spec: { ...selectFor('member', { vcpu: 4 }).spec, instanceGroup } });
  all.take('rival', 'h1', 4);
  all.deliver();
  all.hear(selectFor('web', { spec: { ...SPEC, instanceGroup }, waits: { since: 1 } }));
  all.deliver();
  assert.equal(
    all.answers.map(({ type }) => type),
    ['parked'],
  );
  all.release('member');
  all.deliver();
  all.run(100);
  assert.is(chosenIn(all.answers[1]), 'h2');
});

test('places in line - one that keeps apart from another is tried at once when that one leaves', () => {
  const all = schedulersOf([{ host: 'h1', has: { VCPU: 8 } }]);
  all.take('x', 'h1');
  all.deliver();
  all.hear(selectFor('apart', { tree: { notHeldBy: ['x'] }, waits: { since: 1 } }));
  all.deliver();
  all.release('x');
  all.deliver();
  all.run(50);
  assert.equal(
    all.answers.map(({ type }) => type),
    ['parked', 'selected'],
  );
});

test('places in line - a round is taken by the shard of the conductor that asked, and by no other', () => {
  const all = fullHosts(1);
  all.ask('web', 1, { ordered: true }, 'conductor/1');
  all.deliver();
  all.step(100);
  all.free(0);
  all.step(500);
  assert.equal(all.said(), ['web parked', 'web selected']);
});

test('places in line - the first is not overtaken while it is found out why its turn came to nothing', () => {
  const all = fullHosts(MANY);
  for (const [at, request] of ['first', 'second'].entries()) {
    all.ask(request, at, { ordered: true });
    all.step(2_000);
  }
  assert.equal(all.said(), ['first parked', 'second parked', 'second parked'], 'once in line, and with why');
  all.free(5);
  // Another scheduler is quicker.
  all.take('quick', 5);
  all.deliver();
  const sweeping = () => all.desks[0]?.state.sweeps.length ?? 0;
  for (let ms = 0; sweeping() === 0 && ms < 3_000; ms += 1) all.run(1);
  assert.is(sweeping(), 1, 'it was served, and why that came to nothing is looked for');
  all.free(9);
  all.deliver();
  all.step(4_000);
  assert.equal(all.said().slice(3), ['first parked', 'first selected']);
});

test('places in line - one that has just come has its place while it is found out why it has no host', () => {
  const all = fullHosts(MANY);
  all.ask('first', 1);
  all.deliver();
  assert.equal(all.said(), [], 'that takes several turns');
  all.free(5);
  all.ask('second', 2);
  all.step(3_000);
  assert.equal(
    all.said().filter((said) => said.endsWith('selected')),
    ['first selected'],
  );
  assert.equal(
    [...(all.desks[0]?.state.parking.lots.values() ?? [])].flatMap(({ queue }) =>
      queue.map(({ asked }) => asked.request),
    ),
    ['second'],
  );
});

test('places in line - one that has just come has its place while it is asked whether it holds anything', () => {
  const all = fullHosts(1);
  all.ask('first', 1);
  assert.equal(
    all.underWay().map(({ message }) => message.type),
    ['recall'],
  );
  all.free(0);
  all.ask('second', 2);
  all.step(100);
  assert.equal(all.said().sort(), ['first selected', 'second parked']);
});

test('places in line - one that came when nobody waited does not overtake those that wait once it is known that it holds nothing', () => {
  const all = fullHosts(1);
  const [desk] = all.desks;
  assert.ok(desk);
  all.ask('first', 1);
  // The first is not answered for so long that nobody is held up for it any more.
  all.pass(100);
  all.ask('second', 2);
  all.deliver(undefined, ({ to }) => to === 'placement/0');
  all.deliver(undefined, ({ message }) => message.type === 'nothing-held' && message.consumer === 'first');
  assert.equal(all.said(), ['first parked']);
  // A host comes free in the very turn in which the second would look once more.
  const freed = sentOf(all.shard.tell({ type: 'release', consumer: 'rival-0', deleted: true }), 'providers-changed');
  const letters = [...freed, ...all.underWay()] as { message: SchedulerMessage }[];
  assert.equal(
    letters.map(({ message }) => message.type),
    ['providers-changed', 'nothing-held'],
  );
  const turned = desk.tellAll(letters.map(({ message }) => ({ message, from: 'placement/0' })));
  assert.equal(
    sentOf(turned, 'claim').map(({ message }) => message.consumer),
    ['first'],
  );
});

test('places in line - what comes free while one is asked what it holds is claimed for it at once where nobody else waits', () => {
  const all = fullHosts(1);
  const [desk] = all.desks;
  assert.ok(desk);
  all.ask('first', 1);
  all.deliver(undefined, ({ to }) => to === 'placement/0');
  const freed = sentOf(all.shard.tell({ type: 'release', consumer: 'rival-0', deleted: true }), 'providers-changed');
  const letters = [...freed, ...all.underWay()] as { message: SchedulerMessage }[];
  const { sent } = desk.tellAll(letters.map(({ message }) => ({ message, from: 'placement/0' })));
  assert.equal(
    sent.map(({ message }) => message.type),
    ['claim'],
  );
});

/** Two wait for one host, and the first is asked for anew. */
function askedAnew() {
  const all = fullHosts(1);
  const [desk] = all.desks;
  assert.ok(desk);
  all.ask('first', 1);
  all.deliver();
  all.ask('second', 2);
  all.step(3_000);
  all.ask('first', 1, { round: 2 });
  return { all, desk };
}

test('places in line - one whose answer has come, and is not read yet, is not overtaken, however busy the scheduler is', () => {
  const { all, desk } = askedAnew();
  all.deliver(undefined, ({ to }) => to === 'placement/0');
  // The answer stands behind so much in the mailbox, and so do the wakes.
  desk.now += 500;
  all.free(0);
  all.deliver();
  all.step(1_000);
  assert.equal(all.said().slice(2), ['first parked', 'first selected']);
});

test('places in line - nor where the scheduler comes late to its wakes: what it had been told by then is behind them', () => {
  const { all, desk } = askedAnew();
  all.deliver(undefined, ({ to }) => to === 'placement/0');
  desk.now += 500;
  all.pass(0);
  all.free(0);
  all.deliver();
  all.step(1_000);
  assert.equal(all.said().slice(2), ['first parked', 'first selected']);
});

for (const isOften of [false, true]) {
  const often = isOften ? 'however often others are asked for meanwhile' : 'where nobody else is asked for';
  test(`places in line - one that is asked for anew and not answered holds nobody up for long, ${often}`, () => {
    const { all } = askedAnew();
    all.free(0);
    for (let round = 1; round <= 50; round += 1) {
      if (isOften) all.ask('other', 3, { round, spec: { ...SPEC, tree: { noneOf: ['p-h0'] } } });
      all.run(2, 2, ({ message }) => !('consumer' in message && message.consumer === 'first'));
    }
    assert.ok(all.said().includes('second selected'), all.said().join());
  });
}

test('places in line - one whose claim is under way holds up nobody behind it', () => {
  const all = fullHosts(2);
  for (const [at, request] of ['first', 'second'].entries()) {
    all.ask(request, at);
    all.step(100);
  }
  for (const host of [0, 1]) all.free(host);
  assert.equal(
    all.underWay().flatMap(({ message }) => (message.type === 'claim' ? [message.consumer] : [])),
    ['first', 'second'],
  );
});

test('places in line - one that is asked what it holds does not overtake one that asks for something else and came before', () => {
  const all = fullHosts(1);
  const [desk] = all.desks;
  assert.ok(desk);
  all.ask('late', 2);
  all.deliver(undefined, ({ to }) => to === 'placement/0');
  const isOfLate = ({ message }: { message: { type: string; consumer?: string } }) => message.consumer === 'late';
  all.ask('early', 1, { where: { hints: { size: 'other' } } });
  all.deliver(undefined, (letter) => !isOfLate(letter));
  assert.equal(all.said(), ['early parked']);
  const freed = sentOf(all.shard.tell({ type: 'release', consumer: 'rival-0', deleted: true }), 'providers-changed');
  const letters = [...freed, ...all.underWay()] as { message: SchedulerMessage }[];
  const turned = desk.tellAll(letters.map(({ message }) => ({ message, from: 'placement/0' })));
  assert.equal(
    sentOf(turned, 'claim').map(({ message }) => message.consumer),
    ['early'],
  );
});

test('places in line - of one that does not wait no line is kept', () => {
  const all = fullHosts(1);
  const { waits: _, ...once } = selectFor('once', { spec: SPEC, waits: { since: 1 }, expiresAt: FOREVER });
  all.hear(once);
  assert.equal([...(all.desks[0]?.state.parking.lots.keys() ?? [])], []);
  all.step(1_000);
  assert.equal(all.said(), ['once no-valid-host']);
});

test('places in line - once nobody is out of line any more, it is not noted how far the scheduler has come', () => {
  const all = fullHosts(1);
  const [desk] = all.desks;
  all.ask('first', 1);
  assert.is(desk?.wakes.has('heard'), true);
  all.step(200);
  assert.equal([all.said(), desk?.wakes.has('heard')], [['first parked'], false]);
});

test('places in line - one that was refused in its turn is not overtaken while it is asked whether it holds anything', () => {
  const all = fullHosts(2);
  all.ask('first', 1);
  all.deliver();
  all.ask('second', 2);
  all.step(3_000);
  all.free(0);
  // Another scheduler is quicker.
  all.take('quick', 0);
  all.drop(({ message }) => message.type === 'providers-changed');
  all.run(10, 10, ({ message }) => message.type === 'claim' || message.type === 'claim-refused');
  assert.equal(
    all.underWay().map(({ message }) => message.type),
    ['recall'],
  );
  all.free(1);
  all.step(1_000);
  assert.equal(
    all.said().filter((said) => said.endsWith('selected')),
    ['first selected'],
  );
});

test('places in line - one that was to be served and whose asker is silent holds nobody up, though the clock is set back', () => {
  const all = fullHosts(2);
  const [desk] = all.desks;
  assert.ok(desk);
  all.ask('first', 1, { ordered: true });
  all.step(500);
  all.ask('second', 2, { ordered: true }, 'conductor/1');
  all.step(500);
  const silence = () => all.drop(({ from, message }) => from === 'conductor/0' && message.type === 'take');
  all.free(0);
  all.pass(10);
  silence();
  desk.setBack(3_600_000);
  for (let passed = 0; passed < 1_000; passed += 10) {
    all.pass(10);
    silence();
    all.deliver();
  }
  assert.ok(all.said().includes('second selected'), all.said().join());
});

test('places in line - words of hosts on which nothing came free cost a request of a group no turn', () => {
  const all = fullHosts(12);
  const asked = { project: 'p1', spec: { ...SPEC, instanceGroup: { id: 'g', policy: 'soft-anti-affinity' as const } } };
  all.ask('of-group', 1, asked);
  all.step(50);
  for (let n = 0; n < 8; n += 1) {
    all.ask(`plain-${n}`, 2 + n, { project: 'p2' });
    all.step(50);
  }
  for (let n = 0; n < 3; n += 1) {
    for (let ms = 0; ms < 300; ms += 10) {
      all.step(10);
      all.tellHost({ host: `h${3 + ((ms / 10) % 9)}`, instances: 1 + (ms % 20) / 10 });
    }
    all.free(n);
    all.step(20);
  }
  assert.equal(
    all.said().filter((said) => said.endsWith('selected')),
    ['of-group selected', 'plain-0 selected', 'plain-1 selected'],
  );
});

test('places in line - one that gives back what it has, and is not answered, holds nobody up for long', () => {
  const all = fullHosts(4);
  const several = (name: string) => ({ ordered: true as const, instances: [`${name}-0`, `${name}-1`] });
  const lost = ({ message }: { message: { type: string } }) => message.type === 'unclaim';
  for (const host of [0, 1]) all.free(host);
  // Another scheduler is quicker at one of the two hosts, which is not known when both are claimed.
  all.take('quick', 1);
  all.drop(({ message }) => message.type === 'providers-changed');
  all.ask('first', 1, several('first'));
  all.deliver(undefined, (letter) => !lost(letter));
  all.drop(lost);
  all.ask('second', 2, several('second'));
  all.deliver();
  all.step(20);
  for (const host of [2, 3]) all.free(host);
  all.step(100);
  assert.equal(
    all.said().filter((said) => said.endsWith('selected')),
    ['second selected'],
  );
});

test('places in line - room for several is looked for before others who come later are given it', () => {
  const all = fullHosts(12);
  for (let n = 0; n < 40; n += 1) {
    const where = { hints: { size: `${n}` } };
    all.ask(`trio-${n}`, 0, { project: 'p1', ordered: true, where, instances: [0, 1, 2].map((i) => `trio-${n}-${i}`) });
  }
  all.ask('pair', 1, { project: 'p1', ordered: true, instances: ['pair-0', 'pair-1'] });
  all.step(50);
  all.ask('plain', 2, { project: 'p1', spec: { ...SPEC, tree: { noneOf: ['p-h0'] } } });
  all.step(200);
  // Looked for in vain: the host would do for one of the two, and the other request does not want it.
  all.free(0);
  all.step(20);
  all.free(1);
  all.step(1_000);
  assert.equal(
    all.said().filter((said) => said.endsWith('selected')),
    ['pair selected'],
  );
});

test('places in line - one that wants to be with another is tried when another scheduler gives that one a host', () => {
  const all = schedulersOf([{ host: 'h1' }, { host: 'h2' }], [{ name: 's' }, { name: 't' }]);
  all.hear(selectFor('with', { tree: { heldBy: ['x'] }, waits: { since: 1 } }));
  all.deliver();
  all.hear(selectFor('x'), 'scheduler/t');
  all.deliver();
  all.run(1_000);
  all.run(100);
  assert.equal(
    all.answers.map(({ request, type }) => `${request} ${type}`),
    ['with parked', 'x selected', 'with selected'],
  );
});

test('places in line - one that wants to be with another is tried though both are asked for at the same time', () => {
  const all = schedulersOf([{ host: 'h1' }, { host: 'h2' }]);
  all.hear(selectFor('with', { tree: { heldBy: ['x'] }, waits: { since: 1 } }));
  all.hear(selectFor('x'));
  all.deliver();
  all.run(100);
  assert.equal(
    all.answers.map(({ request, type }) => `${request} ${type}`),
    ['x selected', 'with parked', 'with selected'],
  );
});

test('places in line - nobody is asked where others are any more once nobody waits who goes by them', () => {
  const all = schedulersOf([{ host: 'h1' }]);
  all.hear(selectFor('with', { tree: { heldBy: ['x'] }, waits: { since: 1 } }));
  all.deliver();
  const { parking } = all.desks[0]?.state ?? {};
  assert.is(parking?.goingByOthers.size, 1);
  all.hear({ type: 'withdraw', request: 'with' });
  all.run(1_000);
  assert.equal([parking?.goingByOthers.size, parking?.locating.size, parking?.awaiting.size], [0, 0, 0]);
  const asks = all.desks[0]?.state.asks;
  all.pass(10_000);
  assert.is(all.desks[0]?.state.asks, asks);
});

/** Two hosts that are full; on the second `x` has some, and `other` the rest. All want to be apart from `x`. */
function fullApart() {
  const all = schedulersOf([
    { host: 'h1', has: { VCPU: 8 } },
    { host: 'h2', has: { VCPU: 8 } },
  ]);
  const { take, release } = all;
  const step = (ms: number, isDelivered?: Parameters<typeof all.deliver>[1]) => all.run(ms, 10, isDelivered);
  take('rival', 'h1', 8);
  take('x', 'h2', 1);
  take('other', 'h2', 7);
  all.deliver();
  return {
    ...all,
    step,
    /** The other one where `x` is leaves, and another comes some time later. */
    change(count: number, afterMs: number): void {
      release(count === 0 ? 'other' : `other-${count}`);
      step(afterMs);
      take(`other-${count + 1}`, 'h2', 7);
    },
    ask(request: string, since: number, project: string): void {
      const told = { vcpu: 7, tree: { notHeldBy: ['x'] }, waits: { since }, project, expiresAt: FOREVER };
      all.hear(selectFor(request, told));
      step(50);
    },
    placed: () => all.answers.flatMap(({ type, request }) => (type === 'selected' ? [request] : [])),
  };
}

test('places in line - one that keeps apart is not overtaken while it is found out whether those have left', () => {
  const all = fullApart();
  all.ask('first', 1, 'p');
  all.ask('second', 2, 'p');
  // Something changes where `x` is, which may have left.
  all.release('other');
  const isToFirst = ({ message }: { message: { type: string; consumer?: string } }) =>
    message.type === 'recall' && message.consumer === 'first';
  all.deliver(undefined, (letter) => !isToFirst(letter));
  all.release('rival');
  all.step(20, (letter) => !isToFirst(letter));
  all.step(2_000);
  assert.equal(all.placed(), ['first']);
});

test('places in line - what changes where those are from whom a request keeps apart costs its project no turn', () => {
  const all = fullApart();
  all.ask('early', 1, 'one');
  for (let change = 0; change < 8; change += 1) {
    all.change(change, 3_000);
    all.step(100);
  }
  all.ask('late', 2, 'two');
  all.release('rival');
  all.step(3_000);
  assert.equal(all.placed(), ['early']);
});

test('places in line - what changed a moment ago where those are from whom a request keeps apart lets nobody overtake it', () => {
  const all = fullApart();
  all.ask('early', 1, 'one');
  for (let change = 0; change < 8; change += 1) all.change(change, change < 7 ? 3_000 : 20);
  all.ask('late', 2, 'two');
  all.release('rival');
  all.step(3_000);
  assert.equal(all.placed(), ['early']);
});

test('places in line - for one host that comes free one request is tried, though it is first asked where others are', () => {
  const all = fullApart();
  all.ask('early', 1, 'one');
  all.ask('late', 2, 'two');
  all.release('rival');
  all.step(1_000);
  assert.equal(
    all.answers.map(({ request, type }) => `${request} ${type}`),
    ['early parked', 'late parked', 'early selected'],
  );
});

test('places in line - on a host that many keep away from changes all the time, and it is asked now and then who is there', () => {
  const all = fullApart();
  const [desk] = all.desks;
  assert.ok(desk);
  for (let n = 0; n < 100; n += 1) all.ask(`apart-${n}`, n, `p${n}`);
  all.step(3_000);
  const before = desk.state.asks;
  for (let change = 0; change < 50; change += 1) {
    all.release(change === 0 ? 'other' : `other-${change}`);
    all.take(`other-${change + 1}`, 'h2', 7);
    all.run(1);
  }
  const asked = desk.state.asks - before;
  assert.ok(asked > 0 && asked <= 300, `${asked} questions in 50 ms`);
});

test('places in line - where an answer is lost it is asked again soon, however many others wait', () => {
  const all = schedulersOf([{ host: 'h1', has: { VCPU: 8 } }]);
  all.take('x', 'h1');
  all.deliver();
  const wait = (request: string, tree: RequestSpec['tree']) => {
    const told = { ...(tree === undefined ? {} : { tree }), waits: { since: 1 }, expiresAt: FOREVER };
    all.hear(selectFor(request, told));
    all.deliver();
  };
  wait('apart', { notHeldBy: ['x'] });
  for (let n = 0; n < 200; n += 1) wait(`with-${n}`, { heldBy: [`nowhere-${n}`] });
  all.run(1_000);
  all.release('x');
  all.deliver(undefined, ({ message }) => message.type !== 'locate');
  all.pass(10);
  all.drop(({ message }) => message.type === 'locate');
  all.run(2_000, 20);
  assert.equal(
    all.answers.flatMap(({ type, request }) => (type === 'selected' ? [request] : [])),
    ['apart'],
  );
});

test('places in line - those who are not answered hold the others up once, and not one after the other', () => {
  const count = 40;
  const all = schedulersOf(Array.from({ length: 2 * count }, (_, n) => ({ host: `h${n}`, has: { VCPU: 8 } })));
  const wait = (request: string, since: number, tree?: RequestSpec['tree']) => {
    const told = { vcpu: 8, ...(tree === undefined ? {} : { tree }), waits: { since }, project: request };
    all.hear(selectFor(request, { ...told, expiresAt: FOREVER }));
    all.deliver();
  };
  for (let n = 0; n < 2 * count; n += 1) all.take(`rival-${n}`, `h${n}`, 8);
  all.deliver();
  for (let n = 0; n < count; n += 1) wait(`apart-${n}`, n, { notHeldBy: [`other-${n}`] });
  for (let n = 0; n < count; n += 1) wait(`plain-${n}`, count + n);
  for (let n = 0; n < 2 * count; n += 1) all.release(`rival-${n}`);
  // Nobody tells where the others are.
  all.run(200, 2, ({ message }) => message.type !== 'locate');
  const placed = all.answers.flatMap(({ type, request }) => (type === 'selected' ? [request] : []));
  assert.is(placed.filter((request) => request.startsWith('plain')).length, count);
});

test.run();
