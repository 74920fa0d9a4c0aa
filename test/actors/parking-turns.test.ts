// Area: scheduler, whose turn it is of those who wait: first come first served among requests of a project that ask for the
// same, and in turn between projects.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { SchedulerMessage } from '../../actors/messages/scheduler.ts';
import { schedulersOf, selectFor } from '../support/schedulers.ts';
import { sentOf } from '../support/turn.ts';
import { rig } from '../support/waiting.ts';

const test = suite('scheduler - waiting in turn');

test('waiting - first come first served within a project, though they are asked for anew in another order', () => {
  const all = rig('h1', 'h2', 'h3');
  const since = all.on.now;
  for (const [position, request] of ['first', 'second', 'third'].entries())
    all.ask(request, { since: since + position });
  // A scheduler that is new is asked for all of them, in any order.
  for (const request of ['third', 'first', 'second']) {
    all.ask(request, { round: 2, since: since + ['first', 'second', 'third'].indexOf(request) });
  }
  for (const host of ['h1', 'h2', 'h3']) all.release(`rival-${host}`);
  assert.equal(all.placed(), ['first', 'second', 'third']);
});

test('waiting - one that comes while the first is being served, and its claims are in order, does not overtake it', () => {
  const all = schedulersOf([{ host: 'h1', has: { VCPU: 8 } }]);
  all.take('rival', 'h1', 8);
  all.deliver();
  const ask = (request: string, since: number) =>
    all.hear(selectFor(request, { vcpu: 8, ordered: true, waits: { since } }));
  ask('first', 1);
  all.deliver();
  all.pass(5_000);
  all.release('rival');
  // Its turn has come, and it has not taken its round yet.
  all.deliver(undefined, ({ message }) => message.type === 'providers-changed');
  assert.is(all.desks[0]?.state.open.size, 1);
  ask('second', 2);
  all.deliver();
  all.run(5_000);
  assert.equal(
    all.answers.map(({ type, request }) => `${request} ${type}`),
    ['first parked', 'second parked', 'first selected'],
  );
});

test('waiting - in turn between projects: a long queue of one does not keep another waiting', () => {
  const all = rig('h1', 'h2', 'h3', 'h4', 'h5');
  const since = all.on.now;
  for (let n = 0; n < 4; n += 1) all.ask(`big-${n}`, { project: 'big', since: since + n });
  for (let n = 0; n < 2; n += 1) all.ask(`small-${n}`, { project: 'small', since: since + 100 + n });
  for (const host of ['h1', 'h2', 'h3', 'h4', 'h5']) all.release(`rival-${host}`);
  assert.equal(all.placed(), ['big-0', 'small-0', 'big-1', 'small-1', 'big-2']);
});

test('waiting - in turn also when much capacity appears at once', () => {
  const all = rig('h1');
  const since = all.on.now;
  for (let n = 0; n < 6; n += 1) all.ask(`big-${n}`, { vcpu: 2, project: 'big', since: since + n });
  for (let n = 0; n < 2; n += 1) all.ask(`small-${n}`, { vcpu: 2, project: 'small', since: since + 100 + n });
  all.release('rival-h1');
  assert.equal(all.placed().toSorted(), ['big-0', 'big-1', 'small-0', 'small-1']);
});

test('waiting - what is asked for anew, or comes, in the turn in which something comes free does not take it from whoever is due', () => {
  const all = rig('h1', 'h2', 'h3');
  const since = all.on.now;
  // Each of its own kind, so that none of the project has others of its kind before it.
  for (let n = 0; n < 4; n += 1) all.ask(`big-${n}`, { vcpu: 5 + n, project: 'big', since: since + n });
  all.ask('small', { vcpu: 4, project: 'small', since: since + 100 });
  const again = (n: number) =>
    all.selectOf(`big-${n}`, { vcpu: 5 + n, project: 'big', since: since + n, round: since + n });
  const newcomer = all.selectOf('new', { vcpu: 3, project: 'big', since: since + 200 });
  all.release('rival-h1', again(3), newcomer);
  assert.equal(all.placed().slice(0, 1), ['big-0']);
  all.release('rival-h2', again(2));
  all.release('rival-h3', again(3));
  assert.equal(
    all.placed().filter((request) => request !== 'new'),
    ['big-0', 'small', 'big-1'],
  );
});

test('waiting - one that is put in line though there is room for it is said to have it', () => {
  const all = rig('h1', 'h2', 'h3');
  all.release('rival-h3');
  all.ask('never', { vcpu: 100 });
  const freed = (consumer: string) =>
    sentOf(all.shard.tell({ type: 'release', consumer, deleted: true }), 'providers-changed').map(({ message }) => ({
      message: message as SchedulerMessage,
      from: 'placement/0',
    }));
  // Something comes free in the turn in which it is asked for, and in that in which placement says that it holds nothing.
  const newcomer = { message: all.selectOf('new', { vcpu: 1 }), from: 'conductor/0' };
  const { sent } = all.on.tellAll([...freed('rival-h1'), newcomer]);
  const recalled = sentOf({ sent }, 'recall').flatMap(({ message }) => all.shard.tell(message).sent);
  const held = sentOf({ sent: recalled }, 'nothing-held').map(({ message }) => ({ message, from: 'placement/0' }));
  assert.is(held.length, 1);
  const parked = sentOf(all.on.tellAll([...freed('rival-h2'), ...held]), 'parked');
  assert.equal(
    parked.map(({ message: { request, hasRoom } }) => [request, hasRoom]),
    [['new', true]],
  );
});

test('waiting - a turn that came to nothing is given back: the project is not passed over for it', () => {
  const all = schedulersOf([{ host: 'h1', has: { VCPU: 8 } }]);
  const rival = (consumer: string) => assert.is(all.take(consumer, 'h1', 8)[0]?.message.type, 'claim-granted');
  const comesFree = (consumer: string) => {
    all.release(consumer);
    all.deliver(undefined, ({ message }) => message.type !== 'claim');
    all.pass(50);
  };
  rival('rival');
  all.deliver();
  for (const [since, request] of ['early', 'late'].entries()) {
    const select = selectFor(request, { vcpu: 8, project: request, waits: { since: since + 1 } });
    all.hear(select);
  }
  all.deliver();
  comesFree('rival');
  assert.equal(
    all.underWay().flatMap(({ message }) => (message.type === 'claim' ? [message.consumer] : [])),
    ['early'],
  );
  rival('quicker');
  all.deliver();
  all.run(5_000);
  comesFree('quicker');
  all.deliver();
  assert.equal(
    all.answers.flatMap(({ type, request }) => (type === 'selected' ? [request] : [])),
    ['early'],
  );
});

test('waiting - one that comes later does not overtake those that ask for the same; one that asks for less may', () => {
  const all = rig('h1', 'h2');
  const since = all.on.now;
  all.ask('first', { since });
  all.ask('later', { since: since + 1 });
  all.release('rival-h1');
  assert.equal(all.placed(), ['first']);
  all.ask('small', { vcpu: 2, since: since + 2 });
  all.release('rival-h2');
  assert.equal(all.placed(), ['first', 'later']);
  all.release('first');
  assert.equal(all.placed(), ['first', 'later', 'small']);
});

test.run();
