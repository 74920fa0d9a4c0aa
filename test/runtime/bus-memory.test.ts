// Area: bus memory. What simulations rely on beyond the contract: exact repeatability, one tick for what is pending,
// time-outs on the clock it was given, and clients that can be killed.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { memoryBus, memoryServer } from '../../runtime/bus/memory.ts';
import { TimeoutError } from '../../runtime/errors.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';
import { bytes, EMPTY, hasCode, textOf } from '../support/bus.ts';
import { failureOf } from '../support/until.ts';

const test = suite('bus memory');

test('bus memory - the same calls give the same deliveries, with turns or with seeded choice', () => {
  const play = (random?: () => number): string[] => {
    const clock = virtualClock();
    const server = memoryServer({ clock, ...(random === undefined ? {} : { random }) });
    const [one, other] = [server.connect(), server.connect()];
    const got: string[] = [];
    for (const [bus, by] of [
      [one, 'a'],
      [other, 'b'],
      [one, 'c'],
    ] as const) {
      bus.subscribe('work', (message) => got.push(by + textOf(message)), { queue: 'q' });
    }
    for (let n = 0; n < 6; n++) one.publish('work', bytes(String(n)));
    assert.equal(got, []);
    clock.runUntilIdle();
    return got;
  };
  assert.equal(play(), ['a0', 'b1', 'c2', 'a3', 'b4', 'c5']);
  const seeded = () => {
    let state = 7;
    return () => {
      state = (state * 16807) % 2147483647;
      return state / 2147483647;
    };
  };
  assert.equal(play(seeded()), play(seeded()));
  assert.not.equal(play(seeded()), play());
});

test('bus memory - members of a queue take turns, whoever else comes and goes meanwhile', () => {
  const clock = virtualClock();
  const bus = memoryBus({ clock });
  for (const [listened, said] of [
    ['work', 'work'],
    ['jobs.*', 'jobs.1'],
  ] as const) {
    const got = [0, 0, 0, 0];
    const members = got.map((_, n) => bus.subscribe(listened, () => (got[n] as number)++, { queue: 'q' }));
    for (let n = 0; n < 40; n += 1) {
      bus.publish(said, EMPTY);
      bus.subscribe('elsewhere', () => {}).unsubscribe();
      bus.subscribe(listened, () => {}, { queue: 'other' }).unsubscribe();
    }
    clock.runUntilIdle();
    assert.equal(got, [10, 10, 10, 10]);
    for (const member of members) member.unsubscribe();
    bus.subscribe(listened, () => (got[0] as number)++, { queue: 'q' });
    bus.subscribe(listened, () => (got[1] as number)++, { queue: 'q' });
    bus.publish(said, EMPTY);
    clock.runUntilIdle();
    assert.equal(got, [11, 10, 10, 10], 'once all have left, nothing is kept of it');
  }
});

test('bus memory - a message goes to those who listened when it was published', () => {
  const clock = virtualClock();
  const bus = memoryBus({ clock });
  const got: string[] = [];
  bus.subscribe('a', () => got.push('early'));
  bus.publish('a', EMPTY);
  bus.subscribe('a', () => got.push('late'));
  clock.runUntilIdle();
  assert.equal(got, ['early']);
});

test('bus memory - all pending messages are delivered in one tick, those published meanwhile in the next', () => {
  const clock = virtualClock();
  const bus = memoryBus({ clock });
  const got: string[] = [];
  bus.subscribe('a', (message) => {
    got.push(textOf(message));
    if (textOf(message) === '1') bus.publish('a', bytes('3'));
  });
  bus.publish('a', bytes('1'));
  bus.publish('a', bytes('2'));
  assert.is(clock.pending, 1);
  clock.soon(() => got.push('other work'));
  clock.runUntilIdle();
  assert.equal(got, ['1', '2', 'other work', '3']);
});

test('bus memory - requests time out on the clock and leave no timer behind', async () => {
  const clock = virtualClock({ startMs: 1000 });
  const bus = memoryBus({ clock });
  bus.subscribe('silent', () => {});
  bus.subscribe('echo', ({ reply, data }) => bus.publish(reply ?? '', data));
  const silent = failureOf(() => bus.request('silent', EMPTY, { timeoutMs: 5000 }));
  const answer = bus.request('echo', bytes('x'), { timeoutMs: 60_000 });
  clock.runUntilIdle();
  assert.instance(await silent, TimeoutError);
  assert.is(textOf(await answer), 'x');
  assert.is(clock.now(), 6000);
});

test('bus memory - a killed client gets nothing more, and its requests never settle', async () => {
  const clock = virtualClock();
  const server = memoryServer({ clock });
  const [victim, other] = [server.connect(), server.connect()];
  const got: string[] = [];
  victim.subscribe('a', () => got.push('victim'));
  other.subscribe('a', () => got.push('other'));
  let settledAs = 'pending';
  void victim.request('a', EMPTY, { timeoutMs: 10 }).then(
    () => (settledAs = 'answered'),
    () => (settledAs = 'failed'),
  );
  victim.kill();
  other.publish('a', EMPTY);
  await clock.runAsync(() => clock.pending === 0);
  assert.equal([got, settledAs, clock.now()], [['other', 'other'], 'pending', 0]);
  assert.throws(() => victim.publish('a', EMPTY), hasCode('closed'));
  await victim.close();
});

test('bus memory - one that fails of what it is told keeps nothing from those after it', () => {
  const clock = virtualClock();
  const server = memoryServer({ clock, onError() {} });
  const [one, other] = [server.connect(), server.connect()];
  const got: string[] = [];
  one.subscribe('me.unheard', () => {}, {
    onUnheard() {
      throw new Error('it failed');
    },
  });
  other.subscribe('a', (message) => got.push(textOf(message)));
  one.publish('nobody', EMPTY, { reply: 'me.unheard' });
  for (const body of ['1', '2']) one.publish('a', bytes(body));
  assert.throws(() => clock.runUntilIdle(), /it failed/);
  one.publish('a', bytes('3'));
  clock.runUntilIdle();
  assert.equal(got, ['1', '2', '3']);
});

test.run();
