// Area: asking window. How much somebody is asked for at once, by what he answers and how soon; and whether an answer is still
// to be expected.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  AskingWindow,
  IN_TIME_MS,
  LEAST,
  LOST_AFTER_MS,
  MOST_IN_TIME,
  SILENT_AFTER_MS,
} from '../../actors/asking-window.ts';

const test = suite('asking window');

/** A window that is filled and answered again and again. */
function filled() {
  const window = new AskingWindow();
  let asked = 0;
  let heard = 0;
  return {
    window,
    fill(now: number): number {
      const before = asked;
      for (; window.hasRoom(now); asked += 1) window.asked(`q${asked}`, 1, now);
      return asked - before;
    },
    hear(now: number, most = Number.POSITIVE_INFINITY): void {
      for (let count = 0; heard < asked && count < most; heard += 1, count += 1) window.heard(`q${heard}`, now);
    },
  };
}

test('asking window - there is room for some whatever was answered, and for what was answered in the last half second', () => {
  const { fill, hear } = filled();
  let now = 1_000_000;
  assert.is(fill(now), LEAST);
  let answered = 0;
  for (let room = LEAST; room < 4_000; ) {
    hear(now);
    answered += room;
    room = fill(now);
    assert.is(room, answered < MOST_IN_TIME ? answered + LEAST : answered);
  }
  hear(now + 10);
  now += 500;
  assert.is(fill(now), MOST_IN_TIME, 'of what was answered before that nothing counts');
});

test('asking window - who answers in time is asked for more, however seldom; who does not is asked for less', () => {
  const { fill, hear } = filled();
  let now = 1_000_000;
  const rooms: number[] = [];
  for (let round = 0; round < 6; round += 1) {
    rooms.push(fill(now));
    now += IN_TIME_MS - 1;
    hear(now);
    now += 1_000;
  }
  assert.equal(
    rooms,
    [1, 2, 4, 8, 8, 8].map((times) => times * LEAST),
  );
  fill(now);
  now += IN_TIME_MS;
  hear(now, MOST_IN_TIME - 2 * LEAST);
  now += 500;
  assert.is(fill(now), 0, 'so much is not answered yet');
  hear(now);
  now += 500;
  assert.is(fill(now), LEAST);
});

test('asking window - what was taken for lost and is answered in time all the same counts as that', () => {
  const { fill, hear } = filled();
  let now = 1_000_000;
  const rooms: number[] = [];
  for (let round = 0; round < 8; round += 1) {
    rooms.push(fill(now));
    // Whoever waits looks for room each second.
    now += LOST_AFTER_MS;
    const beside = fill(now);
    now += IN_TIME_MS - LOST_AFTER_MS - 1;
    hear(now, (rooms.at(-1) as number) + beside);
    now += 1_000;
  }
  assert.ok((rooms.at(-1) as number) >= MOST_IN_TIME / 2, `room for ${rooms.join(', ')}`);
});

/** One that answers in time, and is asked for as much as that allows. */
function known() {
  const { window, fill, hear } = filled();
  let now = 1_000_000;
  for (let round = 0; round < 6; round += 1) {
    fill(now);
    hear(now);
  }
  now += 1_000;
  assert.is(fill(now), MOST_IN_TIME);
  return { window, fill, hear, now };
}

test('asking window - who falls silent is asked for little more until he is heard again', () => {
  const { fill, hear, ...one } = known();
  let { now } = one;
  for (let second = 0; second < 4; second += 1) {
    now += LOST_AFTER_MS;
    assert.is(fill(now), LEAST);
  }
  hear(now, 1);
  now += 500;
  assert.is(fill(now), MOST_IN_TIME - LEAST - 1, 'what was put last may still be answered, and one answer was late');
});

test('asking window - who has to be asked again is asked for less, unless it is soon, for another reason', () => {
  const roomBeside = (afterMs: number) => {
    const { window, hear, fill, ...one } = known();
    hear(one.now);
    const now = one.now + 1_000;
    window.asked('large', 400, now);
    window.asked('large', 399, now + afterMs, 1);
    return fill(now + afterMs);
  };
  assert.is(roomBeside(IN_TIME_MS - 1), MOST_IN_TIME - 399);
  assert.is(roomBeside(IN_TIME_MS), 3, 'for no more than there always is');
});

test('asking window - what is given up is not under way, but takes up room until it is put once more', () => {
  const window = new AskingWindow();
  for (let question = 0; question < LEAST + 2; question += 1) window.asked(`q${question}`, 1, 1_000);
  window.heard('q0', 1_100);
  window.giveUp('q5');
  assert.not(window.hasRoom(1_100));
  assert.not(window.isUnderWay('q5', 1_100));
  assert.ok(window.isUnderWay('q6', 1_100));
  window.asked('q5', 1, 1_200);
  window.heard('q6', 1_300);
  assert.ok(window.isUnderWay('q5', 1_300));
});

test('asking window - how long something will take goes by the pace of late', () => {
  const { window, fill, hear, now } = known();
  hear(now);
  fill(now);
  assert.is(window.msFor(MOST_IN_TIME, now), 500);
  assert.is(window.msFor(MOST_IN_TIME, now + 1_000), 500 * (MOST_IN_TIME / LEAST));
});

test('asking window - an answer to an earlier round is no answer, but says that whoever was asked is not gone', () => {
  const window = new AskingWindow();
  for (let question = 0; question < LEAST; question += 1) window.asked(`q${question}`, 1, 1_000, 1);
  window.asked('q0', 1, 3_000, 2);
  window.asked('q1', 1, 3_000, 2);
  window.heard('q0', 3_100, 1);
  assert.ok(window.isUnderWay('q0', 3_100));
  assert.ok(window.isUnderWay('q1', 3_100));
  window.heard('q0', 3_200, 2);
  assert.not(window.isUnderWay('q0', 3_200));
});

test('asking window - a question takes up room for its size, until something is heard of it, or nothing at all for a second', () => {
  const window = new AskingWindow();
  for (const small of ['a', 'b', 'c']) window.asked(small, 1, 5_000);
  assert.ok(window.hasRoom(5_000));
  window.asked('large', 100, 5_000);
  assert.not(window.hasRoom(5_000));
  window.heard('other', 5_000);
  assert.not(window.hasRoom(5_000 + LOST_AFTER_MS - 1));
  assert.ok(window.hasRoom(5_000 + LOST_AFTER_MS));
  for (const small of ['a', 'b', 'c']) window.asked(small, 1, 7_000);
  window.asked('large', 100, 7_000);
  window.asked('large', 90, 7_000);
  assert.not(window.hasRoom(7_000));
  window.heard('large', 7_000);
  window.asked('other', 86, 7_000);
  assert.ok(window.hasRoom(7_000), '90 were answered');
});

test('asking window - of somebody who is slow nothing is lost, and all is under way, as long as he answers in order', () => {
  const window = new AskingWindow();
  const begun = 1_000_000;
  const last = `q${LEAST - 1}`;
  for (let question = 0; question < LEAST; question += 1) window.asked(`q${question}`, 1, begun);
  assert.not(window.isUnderWay(last, begun + 1), 'nothing was heard of anybody yet');
  // Ten in a second.
  for (let answered = 0; answered < LEAST - 1; answered += 1) {
    const now = begun + 100 * (answered + 1);
    window.heard(`q${answered}`, now);
    window.asked(`next${answered}`, 1, now);
    window.hasRoom(now);
    assert.ok(window.isUnderWay(last, now), `after ${now - begun} ms`);
    assert.not(window.isUnderWay(`q${answered}`, now), 'it is answered');
  }
  const silentSince = begun + 100 * (LEAST - 1);
  assert.ok(window.isUnderWay(last, silentSince + SILENT_AFTER_MS - 1));
  assert.not(window.isUnderWay(last, silentSince + SILENT_AFTER_MS), 'nothing more is answered');
  assert.not(window.isUnderWay('never asked', silentSince));
});

test('asking window - what was put before another that is answered is under way for a quarter of a second and no longer', () => {
  const window = new AskingWindow();
  for (const question of ['lost', 'answered', 'last']) window.asked(question, 1, 1_000);
  window.heard('answered', 1_100);
  assert.ok(window.isUnderWay('lost', 1_249));
  assert.not(window.isUnderWay('lost', 1_250));
  assert.ok(window.isUnderWay('last', 1_250));
});

test('asking window - of questions that others overtake, as where one of two does not hear, none takes up room for long', () => {
  const window = new AskingWindow();
  let asked = 0;
  const askedWithin = (from: number) => {
    const before = asked;
    for (let now = from; now < from + 1_000; now += 10) {
      for (let more = 0; more < 40 && window.hasRoom(now); more += 1, asked += 1) {
        window.asked(`q${asked}`, 1, now);
        if (asked % 2 === 0) window.heard(`q${asked}`, now);
      }
    }
    return asked - before;
  };
  assert.ok(askedWithin(10_000) > 2_000, 'there is soon room');
  for (let from = 11_000; from < 20_000; from += 1_000) assert.is(askedWithin(from), 4_000);
});

test.run();
