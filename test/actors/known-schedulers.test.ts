// Area: conductor, which of several schedulers it asks.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  BY_NAME_MOST_MS,
  BY_NAME_MS,
  BY_NAME_QUESTIONS,
  KnownSchedulers,
} from '../../actors/conductor/known-schedulers.ts';

const test = suite('known schedulers');

const NOW = 1_000_000;

/** These have answered; and whoever the group dealt to answered nothing to a question that was put before that. */
function asking(...names: readonly string[]) {
  const schedulers = new KnownSchedulers();
  for (const name of names) schedulers.heard(name, NOW - 10);
  schedulers.askedInVain('lost', NOW - 2_000, NOW);
  let questions = 0;
  /** Whom each of so many questions is put to. */
  const ask = (count: number, now = NOW) =>
    Array.from({ length: count }, () => {
      const picked = schedulers.insteadOfGroup(now);
      schedulers.asked(`q${questions}`, picked);
      questions += 1;
      return picked;
    });
  return { schedulers, ask };
}

const countOf = (asked: readonly (string | undefined)[], one: string | undefined) =>
  asked.filter((other) => other === one).length;

test('known schedulers - the group is asked as long as nobody was asked in vain', () => {
  const schedulers = new KnownSchedulers();
  schedulers.heard('a', NOW);
  assert.is(schedulers.insteadOfGroup(NOW), undefined);
  schedulers.askedInVain('lost', NOW - 2_000, NOW);
  assert.is(schedulers.insteadOfGroup(NOW), 'a');
});

test('known schedulers - the group is asked again after a while, if many questions were not in vain meanwhile', () => {
  const { schedulers, ask } = asking('a');
  ask(BY_NAME_QUESTIONS);
  assert.equal(ask(1, NOW + BY_NAME_MS - 1), ['a']);
  assert.equal(ask(1, NOW + BY_NAME_MS), [undefined]);
  schedulers.heard('a', NOW + BY_NAME_MS);
  schedulers.askedInVain('lost', NOW + BY_NAME_MS - 2_000, NOW + BY_NAME_MS);
  const then = NOW + 2 * BY_NAME_MS;
  assert.is(countOf(ask(BY_NAME_QUESTIONS, then), 'a'), BY_NAME_QUESTIONS - 3);
  assert.equal(ask(2, then), [undefined, undefined]);
});

test('known schedulers - where questions come seldom the group is asked again when the server must know who is gone', () => {
  const { schedulers, ask } = asking('a');
  schedulers.heard('a', NOW);
  assert.equal(ask(2, NOW + BY_NAME_MOST_MS - 1), ['a', 'a']);
  assert.equal(ask(2, NOW + BY_NAME_MOST_MS), [undefined, undefined]);
});

test('known schedulers - who was not heard for a minute is asked only where none other was, and who was never not at all', () => {
  assert.equal(asking().ask(3), [undefined, undefined, undefined]);
  const { schedulers, ask } = asking('a', 'b');
  schedulers.heard('b', NOW + 10);
  assert.equal(ask(3, NOW + 60_000 - 10), ['b', 'b', 'b']);
  assert.equal(ask(3, NOW + 60_010), ['b', 'b', 'b'], 'it was heard last');
  schedulers.asked('q', 'b');
  schedulers.askedInVain('q', NOW + 60_010, NOW + 62_010);
  assert.equal(ask(2, NOW + 62_010), ['a', 'a'], 'it was not asked in vain');
});

test('known schedulers - who was not heard for ten minutes is not asked by name, whoever else is asked in vain', () => {
  const { schedulers, ask } = asking('a');
  const then = NOW + BY_NAME_MOST_MS - 10;
  schedulers.askedInVain('lost', then - 2_000, then - 1);
  assert.equal(ask(2, then - 1), ['a', 'a']);
  assert.is(schedulers.another('q', NOW, then - 1), 'a');
  assert.equal(ask(2, then), [undefined, undefined]);
  assert.is(schedulers.another('q', NOW, then), undefined);
  schedulers.heard('b', then);
  assert.equal(ask(2, then + 1), ['b', 'b']);
});

test('known schedulers - who was asked in vain by name is asked for less, at once, unless it was heard since', () => {
  const { schedulers, ask } = asking('a', 'b');
  assert.equal(ask(2), ['b', 'a']);
  schedulers.askedInVain('q0', NOW, NOW);
  assert.equal(ask(2), ['a', 'b'], 'b owes one, and that in vain');
  schedulers.heard('a', NOW + 1);
  schedulers.askedInVain('q1', NOW, NOW + 2);
  assert.equal(ask(1), ['a'], 'it was heard since');
});

test('known schedulers - when a scheduler comes up, nobody is asked by name who was not heard since: it may be that one, anew', () => {
  const { schedulers, ask } = asking('a', 'b');
  assert.ok(schedulers.cameUp(NOW));
  assert.equal(ask(2), [undefined, undefined]);
  assert.is(schedulers.another('q', NOW - 1_000, NOW), undefined);
  schedulers.heard('c', NOW + 1);
  assert.not.ok(schedulers.cameUp(NOW + 200), 'others are told of the same one');
  assert.not.ok(schedulers.cameUp(NOW + 200, NOW - 1), 'that was not asked for since');
  assert.not.ok(schedulers.cameUp(NOW + 99, NOW), 'it was on its way');
  assert.equal(ask(2, NOW + 2), ['c', 'c']);
  assert.is(schedulers.another('q', NOW + 2, NOW + 2), 'c');
});

test('known schedulers - whoever was not heard since a question was put to the group in vain is asked for less', () => {
  const { schedulers, ask } = asking('a', 'b');
  schedulers.askedInVain('lost', NOW - 10, NOW);
  schedulers.heard('b', NOW);
  assert.equal(ask(3), ['b', 'a', 'b']);
  schedulers.askedInVain('q0', NOW, NOW);
  assert.equal(ask(2), ['a', 'b'], 'of what was put by name it is known who was asked');
});

test('known schedulers - who was not heard for ten minutes is forgotten when somebody new is', () => {
  const { schedulers } = asking('a', 'b');
  schedulers.heard('b', NOW);
  schedulers.heard('c', NOW + BY_NAME_MOST_MS - 10);
  const others = Array.from({ length: 6 }, () => schedulers.another('q', 0, NOW));
  assert.equal(new Set(others), new Set(['b', 'c']));
});

test('known schedulers - what one owed that was forgotten is of no account when it is back', () => {
  const { schedulers, ask } = asking('a');
  ask(5);
  schedulers.heard('b', NOW + BY_NAME_MOST_MS);
  schedulers.heard('a', NOW + BY_NAME_MOST_MS);
  schedulers.askedInVain('lost', NOW, NOW + BY_NAME_MOST_MS);
  for (let question = 0; question < 5; question += 1) schedulers.settled(`q${question}`);
  assert.is(countOf(ask(10, NOW + BY_NAME_MOST_MS), 'a'), 5);
});

test('known schedulers - those that owe as little are asked in turn, and the group one time in sixty-four', () => {
  const asked = asking('a', 'b', 'c').ask(640);
  assert.is(countOf(asked, undefined), 10);
  for (const name of ['a', 'b', 'c']) assert.is(countOf(asked, name), 210, name);
  const { schedulers, ask } = asking('a', 'b');
  const answered = Array.from({ length: 20 }, (_, question) => {
    const [picked] = ask(1);
    schedulers.settled(`q${question}`);
    return picked;
  });
  assert.is(countOf(answered, 'a'), 10, 'also where nobody owes anything');
});

test('known schedulers - who owes more than others is not asked', () => {
  const { schedulers, ask } = asking('a', 'b');
  const asked = ask(20);
  for (const [question, name] of asked.entries()) if (name === 'b') schedulers.settled(`q${question}`);
  assert.equal(ask(9), Array(9).fill('b'));
});

test('known schedulers - what was put in vain, and then to somebody else, counts as owed until the first one is heard', () => {
  const { schedulers, ask } = asking('a', 'b');
  const asked = ask(8);
  for (const [question, name] of asked.entries()) {
    if (name !== 'a') continue;
    schedulers.askedInVain(`q${question}`, NOW, NOW);
    schedulers.asked(`q${question}`, undefined);
  }
  for (const [question, name] of asked.entries()) if (name === 'b') schedulers.settled(`q${question}`);
  assert.equal(ask(3), ['b', 'b', 'b']);
  schedulers.heard('a', NOW);
  assert.equal(ask(3), ['a', 'a', 'a']);
});

test('known schedulers - another is one that was heard since, or else last, and not the one that was asked before', () => {
  const { schedulers } = asking('a', 'b', 'c');
  schedulers.heard('b', NOW);
  schedulers.heard('c', NOW - 5);
  schedulers.asked('q', 'b');
  assert.is(schedulers.another('q', NOW - 10, NOW), 'c');
  assert.is(schedulers.another('q', NOW, NOW), 'c');
  assert.is(schedulers.another('other', NOW - 5, NOW), 'b');
  assert.is(schedulers.another('other', NOW, NOW), 'b');
  assert.is(schedulers.another('other', NOW, NOW, 'b'), 'c', 'nor the one that was asked in vain before that');
  assert.is(schedulers.another('q', NOW, NOW, 'c'), 'c');
  assert.is(asking('a').schedulers.another('q', NOW, NOW), 'a');
  assert.is(asking().schedulers.another('q', NOW, NOW), undefined);
});

test('known schedulers - what is asked again takes nothing from what the group is left', () => {
  const { schedulers, ask } = asking('a', 'b');
  const asked = Array.from({ length: 128 }, () => {
    schedulers.another('q', 0, NOW);
    return ask(1)[0];
  });
  assert.is(countOf(asked, undefined), 2);
});

test.run();
