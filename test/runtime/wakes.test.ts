// Area: wakes. Whether one comes before its time, because somebody whose answer is awaited has come up.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { virtualClock } from '../../runtime/virtual-clock.ts';
import { wakesOf } from '../../runtime/wakes.ts';

const test = suite('wakes');

test('wakes - one that is brought forward says so, and not when it is armed again', () => {
  const clock = virtualClock();
  const came: [string, boolean][] = [];
  const wakes = wakesOf(clock, (id, isEarly) => came.push([id, isEarly]));
  wakes.arm('forward', 10_000, 'placement/0');
  wakes.arm('anew', 10_000, 'placement/0');
  wakes.arm('of another', 10_000, 'placement/1');
  wakes.arm('soon', 0, 'placement/0');
  wakes.cameUp('placement/0');
  wakes.arm('anew', 5_000, 'placement/0');
  clock.advanceTo(clock.monotonic() + 20_000);
  assert.equal(came, [
    ['soon', true],
    ['forward', true],
    ['anew', false],
    ['of another', false],
  ]);
});

test.run();
