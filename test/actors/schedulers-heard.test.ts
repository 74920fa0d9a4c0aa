// Area: conductor, which of several schedulers it asks.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DOUBTED_MS, SchedulersHeard } from '../../actors/conductor/schedulers-heard.ts';

const test = suite('schedulers heard');

const NOW = 1_000_000;

/** Two that answered a moment ago, where one was asked in vain. */
function doubted(): SchedulersHeard {
  const schedulers = new SchedulersHeard();
  schedulers.heard('a', NOW - 20);
  schedulers.heard('b', NOW - 10);
  schedulers.doubtGroup(NOW);
  return schedulers;
}

const asks = (schedulers: SchedulersHeard, count: number, now = NOW) =>
  Array.from({ length: count }, () => schedulers.insteadOfGroup(now));

test('schedulers heard - the group is asked as long as nobody was asked in vain, and again after a while', () => {
  const schedulers = new SchedulersHeard();
  schedulers.heard('a', NOW);
  assert.is(schedulers.insteadOfGroup(NOW), undefined);
  schedulers.doubtGroup(NOW);
  assert.is(schedulers.insteadOfGroup(NOW + DOUBTED_MS - 1), 'a');
  assert.is(schedulers.insteadOfGroup(NOW + DOUBTED_MS), undefined);
});

test('schedulers heard - those that answer are asked in turn instead, but for one time in sixty-four', () => {
  const asked = asks(doubted(), 640);
  const countOf = (one?: string) => asked.filter((other) => other === one).length;
  assert.is(countOf(undefined), 10);
  assert.ok(Math.abs(countOf('a') - countOf('b')) <= 10, `${countOf('a')} and ${countOf('b')}`);
});

test('schedulers heard - of several that answer, one that has not for half a second is not asked', () => {
  const schedulers = doubted();
  schedulers.heard('b', NOW + 500);
  assert.equal(asks(schedulers, 4, NOW + 500), ['b', 'b', 'b', 'b']);
});

test('schedulers heard - where all answer seldom, the one that was heard last is asked', () => {
  assert.equal(asks(doubted(), 4, NOW + 5_000), ['b', 'b', 'b', 'b']);
});

test('schedulers heard - nobody is asked instead when none was heard', () => {
  const schedulers = new SchedulersHeard();
  schedulers.doubtGroup(NOW);
  assert.equal(asks(schedulers, 3), [undefined, undefined, undefined]);
});

test('schedulers heard - only who was heard after a time counts where that is wanted', () => {
  const schedulers = doubted();
  assert.is(schedulers.oneSince(NOW - 15, NOW), 'b');
  assert.is(schedulers.oneSince(NOW - 10, NOW), undefined);
  assert.is(schedulers.latestSince(NOW - 11), 'b');
  assert.is(schedulers.latestSince(NOW - 10), undefined);
});

test('schedulers heard - when the clock is set back nothing was heard yet, and nobody was asked in vain', () => {
  const schedulers = doubted();
  schedulers.forgetFuture(NOW - 10);
  assert.is(schedulers.latestSince(0), 'b');
  schedulers.forgetFuture(NOW - 11);
  assert.is(schedulers.latestSince(0), undefined);
  schedulers.heard('a', NOW - 11);
  assert.is(schedulers.insteadOfGroup(NOW - 11), undefined);
});

test.run();
