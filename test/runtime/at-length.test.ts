// Area: work that takes long. However much of it there is, others have their turns after a few steps.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { atLength } from '../../runtime/at-length.ts';
import type { Clock } from '../../runtime/clock.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';

const test = suite('work at length');

const STEP_MS = 5;

/** A clock by which each step takes 5 ms; `turns`: how long was worked in each turn of the event loop. */
function workRoom() {
  const virtual = virtualClock();
  let now = 0;
  let turnBegan = 0;
  const turns: number[] = [];
  const clock: Clock = {
    ...virtual,
    monotonic: () => now,
    after: (ms, wake) =>
      virtual.after(ms, () => {
        if (now > turnBegan) turns.push(now - turnBegan);
        turnBegan = now;
        wake();
      }),
  };
  function* steps(count: number, ended: () => void): Generator<void, number> {
    for (let n = 0; n < count; n += 1) {
      now += STEP_MS;
      yield;
    }
    ended();
    return count;
  }
  return { clock, virtual, turns, steps };
}

test('work at length - many works together hold others up for no longer than one', async () => {
  const { clock, virtual, turns, steps } = workRoom();
  const ended: number[] = [];
  const works = Array.from({ length: 30 }, (_, n) =>
    atLength(
      clock,
      steps(n === 0 ? 100 : 20, () => ended.push(n)),
      () => true,
    ),
  );
  await virtual.runAsync(() => ended.length === works.length);
  assert.equal((await Promise.all(works)).slice(0, 2), [100, 20]);
  assert.ok(Math.max(...turns) <= 4 * STEP_MS, `${Math.max(...turns)} ms in one turn`);
  assert.is(ended.at(-1), 0, 'nobody waits until a long one is over');
});

test('work at length - what is wanted no more is not gone on with, and others are', async () => {
  const { clock, virtual, steps } = workRoom();
  let isWanted = true;
  const ended: string[] = [];
  const dropped = atLength(
    clock,
    steps(100, () => ended.push('dropped')),
    () => isWanted,
  );
  const other = atLength(
    clock,
    steps(100, () => ended.push('other')),
    () => true,
  );
  isWanted = false;
  await virtual.runAsync(() => ended.length > 0);
  assert.equal([await dropped, await other, ended], [undefined, 100, ['other']]);
});

test.run();
