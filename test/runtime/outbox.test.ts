// Area: outbox. What the actors of a process send in one tick travels together; what cannot travel costs only itself.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Message } from '../../actors/actor.ts';
import type { AnyMessage } from '../../actors/messages/any.ts';
import type { Bus } from '../../runtime/bus/bus.ts';
import { memoryBus } from '../../runtime/bus/memory.ts';
import { bytesOf, encodedOf } from '../../runtime/bus/wire.ts';
import { decodeFrame, HEADERS } from '../../runtime/frames.ts';
import { type Outbox, outboxOf } from '../../runtime/outbox.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';

const test = suite('outbox');

interface Sent {
  readonly from: string;
  readonly message: Message;
}

/** Sends, lets the tick pass, and answers what arrived at an address: a list for each body. */
function arriving(at: string, send: (outbox: Outbox) => void, maxPayloadBytes = 4_096) {
  const clock = virtualClock();
  const bus = memoryBus({ clock, maxPayloadBytes, sharesValues: false });
  const subjects = subjectsOf('cw');
  const errors: string[] = [];
  const bodies: Sent[][] = [];
  bus.subscribe(subjects.of(at), ({ data }) => {
    const parts = decodeFrame(data, maxPayloadBytes);
    bodies.push(parts.flatMap(({ from, messages }) => messages.map((message) => ({ from, message }))));
  });
  const outbox = outboxOf({ bus, clock, subjects, events: true, onError: (_, what) => errors.push(what) });
  send(outbox);
  clock.runUntilIdle();
  return { bodies, errors };
}

const removed = (instance: string): AnyMessage => ({ type: 'removed', instance });
const large = (ask: number): AnyMessage => ({ type: 'listed', ask, instances: [], next: 'x'.repeat(5_000) });

test('outbox - messages of several actors to one address in one tick are one body, in order', () => {
  const { bodies } = arriving('cell/c1', (outbox) => {
    outbox.send('compute/c1/h1', 'cell/c1', removed('a'));
    outbox.send('compute/c1/h2', 'cell/c1', removed('b'));
    outbox.send('compute/c1/h1', 'cell/c1', removed('c'));
    outbox.send('compute/c1/h1', 'cell/c2', removed('elsewhere'));
  });
  assert.equal(bodies, [
    [
      { from: 'compute/c1/h1', message: removed('a') },
      { from: 'compute/c1/h2', message: removed('b') },
      { from: 'compute/c1/h1', message: removed('c') },
    ],
  ]);
});

test('outbox - what is too large for one body travels in several, in order', () => {
  const names = Array.from({ length: 300 }, (_, n) => `instance-${n}`);
  const { bodies, errors } = arriving('cell/c1', (outbox) => {
    for (const name of names) outbox.send('conductor/0', 'cell/c1', removed(name));
  });
  assert.ok(bodies.length > 1);
  assert.equal(
    bodies.flat().map(({ message }) => (message as unknown as { instance: string }).instance),
    names,
  );
  assert.equal(errors, []);
});

test('outbox - what is far too large for one body is written once to see that, and once more to be sent', () => {
  const names = Array.from({ length: 500 }, (_, n) => `instance-${n}`);
  const clock = virtualClock();
  const memory = memoryBus({ clock, maxPayloadBytes: 4_096 });
  let bytes = 0;
  const sizes: number[] = [];
  const bus: Bus = {
    ...memory,
    publish(subject, body, options) {
      const data = bytesOf(encodedOf(body));
      bytes += data.length;
      memory.publish(subject, data, options);
      sizes.push(data.length);
    },
  };
  const outbox = outboxOf({ bus, clock, subjects: subjectsOf('cw'), events: true, onError: assert.unreachable });
  for (const [n, name] of names.entries()) {
    const instances = Array.from({ length: n % 7 }, (_, one) => `${name}-${one}`);
    outbox.send('conductor/0', 'cell/c1', { type: 'ask-ends', instances: [name, ...instances] });
  }
  clock.runUntilIdle();
  const sent = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(sent > 8 * 4_096);
  assert.ok(bytes < 2.1 * sent, `${bytes} bytes were written to send ${sent}`);
});

test('outbox - very many messages of one tick travel in several bodies, in order, though all would fit one', () => {
  const names = Array.from({ length: 1_100 }, (_, n) => `instance-${n}`);
  const { bodies } = arriving(
    'cell/c1',
    (outbox) => {
      for (const name of names) outbox.send('conductor/0', 'cell/c1', removed(name));
    },
    1 << 20,
  );
  assert.equal(
    bodies.map(({ length }) => length),
    [512, 512, 76],
  );
  assert.equal(
    bodies.flat().map(({ message }) => (message as unknown as { instance: string }).instance),
    names,
  );
});

test('outbox - a message that cannot travel is reported and costs the others nothing', () => {
  const { bodies, errors } = arriving('cell/c1', (outbox) => {
    outbox.send('conductor/0', 'cell/c1', removed('before'));
    outbox.send('conductor/0', 'cell/c1', { type: 'removed', instance: Number.NaN } as unknown as AnyMessage);
    outbox.send('conductor/0', 'cell/c1', removed('after'));
  });
  assert.equal(
    bodies.flat().map(({ message }) => message),
    [removed('before'), removed('after')],
  );
  assert.equal(errors, ["a message to 'cw.cell.c1.conductor'"]);
});

test('outbox - on a bus that is closed nothing is tried again in parts, and it is told once', () => {
  const clock = virtualClock();
  const bus = memoryBus({ clock });
  const errors: string[] = [];
  const onError = (_: unknown, what: string) => errors.push(what);
  const outbox = outboxOf({ bus, clock, subjects: subjectsOf('cw'), events: true, onError });
  for (const instance of ['a', 'b', 'c', 'd']) outbox.send('conductor/0', 'cell/c1', removed(instance));
  for (const ask of [1, 2]) outbox.send('conductor/0', 'gateway/n1', large(ask));
  void bus.close();
  clock.runUntilIdle();
  assert.equal(errors, ["a message to 'cw.cell.c1.conductor'", `a message to '${subjectsOf('cw').of('gateway/n1')}'`]);
});

test('outbox - whoever waits for an answer that is too large is told so', () => {
  const { bodies } = arriving('gateway/n1', (outbox) => {
    outbox.send('cell/c1', 'gateway/n1', large(7));
    outbox.send('cell/c1', 'gateway/n1', removed('beside') as AnyMessage);
  });
  const told = bodies.flat().map(({ message }) => message as Message & { ask?: number; code?: string; field?: string });
  assert.equal(
    told.map(({ type, ask, code, field }) => ({ type, ask, code, field })),
    [
      { type: 'declined', ask: 7, code: 'answer-too-large', field: 'limit' },
      { type: 'removed', ask: undefined, code: undefined, field: undefined },
    ],
  );
});

test('outbox - whoever puts a question that is too large is told so', () => {
  const { bodies } = arriving('gateway/n1', (outbox) => outbox.send('gateway/n1', 'placement/0', large(7)));
  const told = bodies.flat().map(({ message }) => message as Message & { ask?: number; code?: string });
  assert.equal(
    told.map(({ type, ask, code }) => ({ type, ask, code })),
    [{ type: 'declined', ask: 7, code: 'payload-too-large' }],
  );
});

test('outbox - what an actor says to itself travels alone and by the server, as nothing else does', () => {
  const clock = virtualClock();
  const published: unknown[] = [];
  const bus: Bus = {
    ...memoryBus({ clock }),
    publish: (subject, body, { byServer = false } = {}) =>
      published.push([subject, byServer, decodeFrame(bytesOf(encodedOf(body)), 4_096).map(({ from }) => from)]),
  };
  const outbox = outboxOf({ bus, clock, subjects: subjectsOf('cw'), events: true, onError() {} });
  outbox.send('compute/c1/h1', 'cell/c1', removed('a'));
  outbox.send('cell/c1', 'cell/c1', { type: 'echo' });
  outbox.send('conductor/0', 'cell/c1', removed('b'));
  clock.runUntilIdle();
  assert.equal(published, [
    ['cw.cell.c1.conductor', false, ['compute/c1/h1', 'conductor/0']],
    ['cw.cell.c1.conductor', true, ['cell/c1']],
  ]);
  outbox.send('conductor/0', 'cell/c1', removed('c'));
  clock.runUntilIdle();
  assert.equal(published.slice(2), [['cw.cell.c1.conductor', false, ['conductor/0']]], 'and once');
});

test('outbox - what an owner says carries the number of its tenure while it has one, and events only where they are wanted', () => {
  for (const events of [true, false]) {
    const clock = virtualClock();
    const epochs: (readonly [string, string | undefined])[] = [];
    const bus: Bus = {
      ...memoryBus({ clock }),
      publish: (subject, _body, { headers } = {}) => epochs.push([subject, headers?.[HEADERS.epoch]]),
    };
    const outbox = outboxOf({ bus, clock, subjects: subjectsOf('cw'), events, onError() {} });
    for (const epoch of [7, 8, null]) {
      outbox.setEpoch('conductor/0', epoch);
      outbox.send('conductor/0', 'cell/c1', removed('a'));
      outbox.publish('conductor/0', { topic: ['conductor', '0', 'build'], body: {}, cause: 'test' });
      clock.runUntilIdle();
    }
    const all = ['7', '8', undefined].flatMap((epoch) => [
      ['cw.cell.c1.conductor', epoch],
      ['cw.conductor.0.build', epoch],
    ]);
    assert.equal(epochs, events ? all : all.filter((_, place) => place % 2 === 0));
  }
});

test('outbox - an event that is too large is reported and costs the others nothing', () => {
  const clock = virtualClock();
  const bus = memoryBus({ clock, maxPayloadBytes: 4_096, sharesValues: false });
  const subjects: string[] = [];
  bus.subscribe('cw.>', ({ subject }) => subjects.push(subject));
  const errors: string[] = [];
  const onError = (_: unknown, what: string) => errors.push(what);
  const outbox = outboxOf({ bus, clock, subjects: subjectsOf('cw'), events: true, onError });
  for (const [name, size] of [
    ['large', 5_000],
    ['small', 5],
  ] as const) {
    outbox.publish('cell/c1', { topic: ['cell', 'c1', name], body: { text: 'x'.repeat(size) }, cause: 'test' });
  }
  clock.runUntilIdle();
  assert.equal([errors, subjects], [["an event on 'cw.cell.c1.large'"], ['cw.cell.c1.small']]);
});

test('outbox - the header of an event says what has happened, also where the last token of its subject is a name', () => {
  const clock = virtualClock();
  const bus = memoryBus({ clock });
  const types: (string | undefined)[] = [];
  bus.subscribe('cw.>', ({ headers }) => types.push(headers[HEADERS.type]));
  const outbox = outboxOf({ bus, clock, subjects: subjectsOf('cw'), events: true, onError: assert.unreachable });
  outbox.publish('cell/c1', { topic: ['cell', 'c1', 'build', 'web', 'active'], body: {}, cause: 'built' });
  outbox.publish('conductor/0', { topic: ['conductor', '0', 'waiting', 'web'], type: 'waiting', body: {}, cause: 'x' });
  clock.runUntilIdle();
  assert.equal(types, ['active', 'waiting']);
});

test.run();
