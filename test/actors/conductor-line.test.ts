// Area: conductor, the line of those that wait. All wait at one scheduler: when it dies, comes up anew or stands still, they
// go on where somebody answers, in the order in which they came.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LEAST, LOST_AFTER_MS, MOST_IN_TIME } from '../../actors/asking-window.ts';
import { conductor } from '../../actors/conductor/conductor.ts';
import type { ConductorMessage } from '../../actors/messages/conductor.ts';
import { selectionAt } from '../../machines/testing.ts';
import {
  atOnce,
  buildOf,
  cameUp,
  desk,
  OPTIONS,
  parkAtOne,
  parkedAs,
  selectsIn,
  unhurried,
} from '../support/conductor-waiting.ts';
import { bench, replayed, restored, type Sent, sentOf, viewOf } from '../support/turn.ts';
import { PATIENCE } from '../support/waiting.ts';

const test = suite('conductor - line');

test('waiting - it is asked for again where it waits, and of anybody when nobody answers there', () => {
  const on = desk();
  on.tell(buildOf('web'));
  parkedAs(on, 'web');
  const asked = on.pass(60_000).flatMap(({ sent }) => sentOf({ sent }, 'select'));
  assert.is(asked[0]?.to, 'scheduler/s');
  assert.is(asked[1]?.to, 'scheduler');
  assert.ok(asked.length < 20);
});

test('waiting - when the scheduler of the line has died after the clock was set back, the line moves to another', () => {
  const on = desk();
  on.tell(buildOf('web'));
  parkedAs(on, 'web');
  on.setBack(3_600_000);
  on.pass(60_000);
  parkedAs(on, 'web', 'none of 3 hosts', 'scheduler/t');
  assert.is(on.state.line?.scheduler, 'scheduler/t');
});

test('waiting - requests that wait do so at one scheduler, which alone knows who came first', () => {
  const on = bench(conductor(OPTIONS));
  const hasty = atOnce('hasty');
  assert.equal(selectsIn(on.tell(buildOf('first'))), ['first of scheduler']);
  assert.equal(selectsIn(on.tell(buildOf('early'))), ['early of scheduler'], 'nobody waits yet');
  parkedAs(on, 'first', 'full', 'scheduler/one');
  const moved = parkedAs(on, 'early', 'full', 'scheduler/two');
  assert.equal(selectsIn(moved), ['early of scheduler/one']);
  assert.equal(
    sentOf(moved, 'withdraw').map(({ to, message }) => `${message.request} of ${to}`),
    ['early of scheduler/two'],
  );
  assert.equal(selectsIn(on.tell(buildOf('late'))), ['late of scheduler/one']);
  assert.equal(selectsIn(on.tell(hasty)), ['hasty of scheduler'], 'it does not wait');
  parkedAs(on, 'early', 'full', 'scheduler/one');
  // The scheduler dies: whoever takes what waits is where all wait from now on.
  const asked = on.pass(20_000).flatMap(selectsIn);
  assert.ok(asked.includes('late of scheduler'), asked.join());
  parkedAs(on, 'late', 'full', 'scheduler/two');
  assert.is(on.state.line?.scheduler, 'scheduler/two');
  const late = parkedAs(on, 'first', 'full', 'scheduler/three');
  assert.equal(selectsIn(late), ['first of scheduler/two']);
  const joined = parkedAs(on, 'first', 'full', 'scheduler/two');
  assert.equal(
    sentOf(joined, 'withdraw').map(({ to, message }) => `${message.request} of ${to}`),
    ['first of scheduler/one'],
    'which may be there after all',
  );
});

test('waiting - where the scheduler with whom they wait has died, the first goes elsewhere first, the others follow in order, and who is new comes after them', () => {
  const on = bench(unhurried);
  for (const request of ['first', 'second', 'third']) {
    on.tell(buildOf(request, 7_200_000));
    on.now += 1;
  }
  // They were parked in another order.
  for (const request of ['third', 'second', 'first']) parkedAs(on, request, 'full', 'scheduler/one');
  on.now += 10_000;
  assert.equal(selectsIn(on.tell(buildOf('new', 7_200_000))), ['new of scheduler/one']);
  const asked: string[] = [];
  while (!asked.some((one) => one.endsWith(' of scheduler'))) asked.push(...on.pass(100).flatMap(selectsIn));
  assert.equal(asked, ['new of scheduler/one', 'first of scheduler']);
  const followed = parkedAs(on, 'first', 'full', 'scheduler/two');
  assert.equal(selectsIn(followed), ['second of scheduler/two', 'third of scheduler/two']);
  for (const request of ['second', 'third'])
    assert.equal(selectsIn(parkedAs(on, request, 'full', 'scheduler/two')), []);
  assert.equal(on.pass(PATIENCE.firstMs).flatMap(selectsIn), ['new of scheduler/two']);
});

test('waiting - when the scheduler with whom they wait comes up anew, all are asked for there at once and in their order', () => {
  const on = bench(unhurried);
  const waiting = ['first', 'second', 'third', 'fourth'];
  parkAtOne(on, waiting);
  on.now += 10_000;
  // One of them was asked for when nobody was there.
  on.tell({ type: 'wake', id: 'request third' });
  assert.equal(
    cameUp(on, 'fourth'),
    waiting.map((request) => `${request} of scheduler/one`),
  );
  on.now += 1;
  assert.equal(cameUp(on, 'second'), [], 'it was told so before all were asked for, and heard it after');
  // Yet another comes up: it may be the one where they wait as well.
  on.now += 2_000;
  assert.equal(
    cameUp(on, 'third'),
    waiting.map((request) => `${request} of scheduler/one`),
    'one that was asked for in vain before, too, as nobody was answered since',
  );
});

test('waiting - one that was left alone where others were answered is not asked for with all when a scheduler comes up', () => {
  const on = bench(unhurried);
  parkAtOne(on, ['first', 'second', 'third']);
  on.now += 10_000;
  on.tell({ type: 'wake', id: 'request second' });
  on.now += 500;
  on.tell({ type: 'wake', id: 'request third' });
  parkedAs(on, 'third', 'full', 'scheduler/one');
  on.now += 500;
  assert.equal(selectsIn(on.tell({ type: 'wake', id: 'request second' })), ['second of scheduler']);
  on.now += 500;
  assert.equal(cameUp(on, 'third'), ['first of scheduler/one', 'third of scheduler/one']);
});

test('waiting - nobody is there for long: the first is asked for wherever somebody is, and the others follow it there, before any who is new', () => {
  const on = bench(unhurried);
  const waiting = ['first', 'second', 'third'];
  parkAtOne(on, waiting);
  on.now += 10_000;
  cameUp(on, 'third');
  on.now += 1_000;
  cameUp(on, 'third');
  on.now += PATIENCE.firstMs;
  assert.equal(cameUp(on, 'third'), ['first of scheduler']);
  assert.equal([...cameUp(on, 'second'), ...cameUp(on, 'third')], [], 'they hear of it, and stay behind the first');
  assert.equal(selectsIn(on.tell(buildOf('new', 7_200_000))), []);
  assert.equal(selectsIn(on.tell(atOnce('hasty'))), ['hasty of scheduler'], 'it does not wait');
  // Another comes up, while nobody has answered.
  on.now += 1_000;
  assert.equal(cameUp(on, 'first'), ['first of scheduler']);
  // Whatever it answers, it is there.
  const { round = 0 } = on.state.requests.get('first') ?? {};
  assert.equal(selectsIn(on.tell({ type: 'selecting', request: 'first', round }, 'scheduler/two')), [
    'second of scheduler/two',
    'third of scheduler/two',
    'new of scheduler/two',
  ]);
  assert.equal(selectsIn(parkedAs(on, 'second', 'full', 'scheduler/two')), [], 'none is asked for again');
});

test('waiting - nobody is there for long, and the first is answered by none: from the second question in vain on one more is asked for with each', () => {
  const on = bench(unhurried);
  const waiting = Array.from({ length: 12 }, (_, n) => `r${n}`);
  parkAtOne(on, waiting);
  on.now += 10_000;
  cameUp(on, 'r11');
  on.now += 1_000;
  cameUp(on, 'r11');
  on.now += PATIENCE.firstMs;
  assert.equal(cameUp(on, 'r11'), ['r0 of scheduler']);
  // Others in the group stand still, and the question was dealt to one of them.
  const firstAskedAgain = on.pass(2 * PATIENCE.firstMs).flatMap(selectsIn);
  assert.equal(new Set(firstAskedAgain.map((one) => one.split(' ')[0])), new Set(['r0']));
  const asked = new Set(
    on.pass(15_000).flatMap(({ sent }) => sentOf({ sent }, 'select').map(({ message }) => message.request)),
  );
  assert.ok(asked.size >= 4, `of those that wait ${[...asked]} were asked for`);
  assert.equal([...asked], waiting.slice(0, asked.size), 'in their order');
  // One of them is answered: the others follow it, those that came before it, too.
  const { round = 0 } = on.state.requests.get('r1') ?? {};
  const then = selectsIn(on.tell({ type: 'selecting', request: 'r1', round }, 'scheduler/two'));
  assert.equal(
    then,
    waiting.filter((one) => one !== 'r1').map((one) => `${one} of scheduler/two`),
  );
});

test('waiting - nobody is there for long, and then the one is back where they wait: all are asked for there', () => {
  const on = bench(unhurried);
  parkAtOne(on, ['first', 'second', 'third']);
  on.now += 10_000;
  cameUp(on, 'third');
  on.now += 1_000;
  cameUp(on, 'third');
  on.now += PATIENCE.firstMs;
  assert.equal(cameUp(on, 'third'), ['first of scheduler']);
  assert.equal(selectsIn(parkedAs(on, 'first', 'full', 'scheduler/one')), [
    'second of scheduler/one',
    'third of scheduler/one',
  ]);
});

test('waiting - what a scheduler has parked that was asked for elsewhere since is withdrawn there: it must not stand in two lines', () => {
  const on = bench(unhurried);
  parkAtOne(on, ['first', 'second']);
  on.tell(buildOf('web', 7_200_000));
  const { round = 0 } = on.state.requests.get('web') ?? {};
  on.tell({ type: 'wake', id: 'request web' });
  const late = on.tell({ type: 'parked', request: 'web', round, reason: 'full', decision: '{}' }, 'scheduler/two');
  const withdraw = { to: 'scheduler/two', message: { type: 'withdraw', request: 'web', round } };
  assert.equal(sentOf(late, 'withdraw'), [withdraw]);
  assert.is(on.state.requests.get('web')?.parked, undefined);
});

test('waiting - what the scheduler of the line has parked for an earlier life of the shard stays in line until it is asked for', () => {
  const on = bench(unhurried);
  const waiting = Array.from({ length: MOST_IN_TIME + 8 }, (_, n) => `r${n}`);
  parkAtOne(on, waiting);
  const last = waiting.at(-1) as string;
  const { round = 0 } = on.state.requests.get(last) ?? {};
  const again = bench(unhurried, { at: on.now, entries: on.entries });
  const message: ConductorMessage = { type: 'parked', request: last, round, reason: 'full', decision: '{}' };
  const late = again.tell(message, 'scheduler/one');
  assert.not.ok(selectsIn(late).includes(`${last} of scheduler/one`), 'others come first');
  assert.equal(sentOf(late, 'withdraw'), []);
  const elsewhere = again.tell(message, 'scheduler/two');
  assert.equal(sentOf(elsewhere, 'withdraw'), [
    { to: 'scheduler/two', message: { type: 'withdraw', request: last, round } },
  ]);
});

test('waiting - the first is asked for elsewhere in vain once: by name next, and those who gave way do so once more', () => {
  const on = bench(unhurried);
  parkAtOne(on, ['first', 'second']);
  on.tell(atOnce('hasty'));
  on.now += 10_000;
  on.tell(buildOf('new', 7_200_000));
  const asked: string[] = [];
  const until = (what: string) => {
    while (!asked.includes(what)) asked.push(...on.pass(50).flatMap(selectsIn));
  };
  until('first of scheduler');
  const { round = 0 } = on.state.requests.get('hasty') ?? {};
  on.tell({ type: 'selecting', request: 'hasty', round }, 'scheduler/two');
  until('first of scheduler/two');
  assert.not.ok(
    asked.some((one) => one === 'new of scheduler' || one === 'new of scheduler/two'),
    asked.join(),
  );
});

test('waiting - the first was asked for elsewhere in vain, and no other is known: it is not asked for where it was before', () => {
  const on = bench(unhurried);
  parkAtOne(on, ['first', 'second']);
  on.now += 10_000;
  on.tell(buildOf('new', 7_200_000));
  const first: string[] = [];
  while (first.length < 2) {
    const asked = on.pass(50).flatMap(selectsIn);
    first.push(...asked.filter((one) => one.startsWith('first')));
  }
  assert.equal(first, ['first of scheduler', 'first of scheduler']);
});

test('waiting - where several schedulers come up one after the other, all are asked for each time where they wait, until it answers', () => {
  for (const gapMs of [20, 150, 300]) {
    const on = bench(unhurried);
    const waiting = ['first', 'second', 'third', 'fourth'];
    const asked = waiting.map((request) => `${request} of scheduler/one`);
    parkAtOne(on, waiting);
    on.now += 10_000;
    assert.equal(cameUp(on, 'fourth'), asked, 'another than the one where they wait');
    on.now += gapMs;
    const then = cameUp(on, 'third');
    assert.equal([...then, ...on.pass(200).flatMap(selectsIn)], asked, `another after ${gapMs} ms`);
    on.now += gapMs;
    assert.equal([...cameUp(on, 'second'), ...on.pass(200).flatMap(selectsIn)], asked, 'and yet another');
    for (const request of waiting) parkedAs(on, request, 'full', 'scheduler/one');
    assert.equal(on.pass(200).flatMap(selectsIn), []);
  }
});

test('waiting - what tells of another scheduler while all are asked for makes nobody ask again once the first is answered', () => {
  const on = bench(unhurried);
  const waiting = ['first', 'second', 'third', 'fourth'];
  parkAtOne(on, waiting);
  on.now += 10_000;
  assert.is(cameUp(on, 'fourth').length, waiting.length);
  on.now += 20;
  assert.equal(cameUp(on, 'third'), []);
  for (const request of waiting.slice(0, 2)) parkedAs(on, request, 'full', 'scheduler/one');
  assert.equal(on.pass(200).flatMap(selectsIn), []);
});

test('waiting - where a scheduler comes up after the first was answered, those that were asked for with it are asked for again', () => {
  const on = bench(unhurried);
  const waiting = ['first', 'second', 'third', 'fourth'];
  parkAtOne(on, waiting);
  on.now += 10_000;
  const asked = cameUp(on, 'fourth');
  assert.is(asked.length, waiting.length);
  on.now += 10;
  parkedAs(on, 'first', 'full', 'scheduler/one');
  on.now += 600;
  assert.equal(cameUp(on, 'third'), asked);
});

test('waiting - those that follow the first do so too where it is not known yet what comes of it, and it is asked for but once', () => {
  const on = bench(unhurried);
  parkAtOne(on, ['first', 'second', 'third']);
  on.now += 10_000;
  on.tell(buildOf('new', 7_200_000));
  while (!on.pass(100).flatMap(selectsIn).includes('first of scheduler')) {}
  const { round = 0 } = on.state.requests.get('first') ?? {};
  assert.equal(selectsIn(on.tell({ type: 'selecting', request: 'first', round }, 'scheduler/two')), [
    'second of scheduler/two',
    'third of scheduler/two',
  ]);
});

test('waiting - where a scheduler comes up just after the first was answered elsewhere, the others go on following it there', () => {
  const on = bench(unhurried);
  parkAtOne(on, ['first', 'second', 'third']);
  on.now += 10_000;
  on.tell(buildOf('new', 7_200_000));
  while (!on.pass(100).flatMap(selectsIn).includes('first of scheduler')) {}
  const { round = 0 } = on.state.requests.get('first') ?? {};
  on.tell({ type: 'selecting', request: 'first', round }, 'scheduler/two');
  on.now += 600;
  assert.equal(selectsIn(on.tell({ type: 'wake', id: 'request second', isEarly: true })), [
    'first of scheduler/two',
    'second of scheduler/two',
    'third of scheduler/two',
  ]);
});

test('waiting - where more follow the first than are asked for at once, none whose time comes meanwhile goes before its turn', () => {
  const on = bench(conductor({ ...OPTIONS, parkedAskMs: 15_000 }));
  const waiting = Array.from({ length: MOST_IN_TIME + 100 }, (_, n) => `r${n}`);
  parkAtOne(on, waiting);
  on.now += 10_000;
  on.tell(buildOf('new', 7_200_000));
  while (!on.pass(100).flatMap(selectsIn).includes('r0 of scheduler')) {}
  const { round = 0 } = on.state.requests.get('r0') ?? {};
  const asked = selectsIn(on.tell({ type: 'selecting', request: 'r0', round }, 'scheduler/two'));
  const later = waiting.filter((one) => one !== 'r0' && !asked.includes(`${one} of scheduler/two`));
  assert.ok(later.length > LEAST);
  const then = on.pass(12_000).flatMap(({ sent }) => sentOf({ sent }, 'select').map(({ message }) => message.request));
  const following = [...new Set(then)].filter((one) => later.includes(one));
  assert.ok(following.length > LEAST);
  assert.equal(following, later.slice(0, following.length));
});

test('waiting - one that may not wait is asked for again at once when a scheduler comes up, though it was asked for just before', () => {
  const on = bench(unhurried);
  parkAtOne(on, ['first']);
  on.now += 10_000;
  on.tell(atOnce('hasty'));
  on.now += 50;
  const asked = cameUp(on, 'hasty');
  assert.ok(asked.includes('hasty of scheduler'), asked.join());
});

test('waiting - where the scheduler with whom they wait comes up just after another, all are asked for there though it answers new ones at once', () => {
  const on = bench(unhurried);
  const waiting = ['first', 'second', 'third', 'fourth'];
  const asked = waiting.map((request) => `${request} of scheduler/one`);
  parkAtOne(on, waiting);
  on.now += 10_000;
  assert.equal(cameUp(on, 'fourth'), asked, 'another than the one where they wait');
  on.now += 60;
  assert.equal(cameUp(on, 'third'), []);
  on.tell(buildOf('new', undefined));
  const round = on.state.requests.get('new')?.round ?? 0;
  on.tell({ type: 'selecting', request: 'new', round }, 'scheduler/one');
  assert.equal(on.pass(200).flatMap(selectsIn), asked);
});

test('waiting - where another scheduler comes up while more wait than are asked for at once, those who came first are asked for first again', () => {
  const on = bench(unhurried);
  const waiting = Array.from({ length: MOST_IN_TIME + 8 }, (_, n) => `r${n}`);
  parkAtOne(on, waiting);
  on.now += 10_000;
  const asked = cameUp(on, 'r9');
  assert.ok(asked.length < waiting.length);
  on.now += 150;
  const again = [cameUp(on, 'r5'), ...on.pass(1_200).map(selectsIn)].flat();
  assert.equal(again.slice(0, 5), asked.slice(0, 5));
});

test('waiting - where the scheduler with whom they wait has died and the first finds room elsewhere, the others follow all the same', () => {
  const on = bench(unhurried);
  parkAtOne(on, ['first', 'second', 'third']);
  on.now += 10_000;
  on.tell(buildOf('new', 7_200_000));
  const asked: string[] = [];
  while (!asked.some((one) => one.endsWith(' of scheduler'))) asked.push(...on.pass(100).flatMap(selectsIn));
  assert.equal(asked, ['new of scheduler/one', 'first of scheduler']);
  const round = on.state.requests.get('first')?.round ?? 0;
  const selections = [{ instance: 'first', selection: selectionAt('h1'), alternates: [] }];
  const message = { type: 'selected', request: 'first', round, selections } as unknown as ConductorMessage;
  const found = on.tell(message, 'scheduler/two');
  assert.equal(selectsIn(found), ['second of scheduler/two', 'third of scheduler/two']);
  assert.is(on.state.line?.scheduler, 'scheduler/two');
  for (const request of ['second', 'third']) parkedAs(on, request, 'full', 'scheduler/two');
  // Whoever has answered last is not where the others wait.
  on.tell(atOnce('hasty'));
  on.tell(
    { type: 'selecting', request: 'hasty', round: on.state.requests.get('hasty')?.round ?? 0 },
    'scheduler/three',
  );
  const late = on.pass(PATIENCE.firstMs).flatMap(selectsIn);
  assert.equal(
    late.filter((one) => !one.startsWith('hasty')),
    ['new of scheduler/two'],
  );
});

test('waiting - an answer to what was asked before does not move the line, nor one about what was not asked for in vain', () => {
  const on = bench(unhurried);
  on.tell(buildOf('first', 7_200_000));
  parkedAs(on, 'first', 'full', 'scheduler/one');
  on.now += 10_000;
  on.tell(buildOf('second', 7_200_000));
  const answer = (round: number) => on.tell({ type: 'selecting', request: 'second', round }, 'scheduler/two');
  const roundOf = () => on.state.requests.get('second')?.round ?? 0;
  answer(roundOf());
  assert.is(on.state.line?.scheduler, 'scheduler/one', 'it was not asked for in vain');
  while ((on.state.requests.get('second')?.repeats ?? 0) < 2) on.pass(100);
  answer(roundOf() - 1);
  assert.is(on.state.line?.scheduler, 'scheduler/one', 'what was asked before');
  answer(roundOf());
  assert.is(on.state.line?.scheduler, 'scheduler/two');
});

test('waiting - a scheduler that answers anything keeps the line, however long it takes over one of them', () => {
  const on = bench(unhurried);
  on.tell(buildOf('first', 7_200_000));
  parkedAs(on, 'first', 'full', 'scheduler/one');
  on.tell(buildOf('slow', 7_200_000));
  on.tell(buildOf('lost', 7_200_000));
  for (let step = 0; step < 600; step += 1) {
    for (const { to, message } of on.pass(100).flatMap(({ sent }) => sentOf({ sent }, 'select'))) {
      const by = to === 'scheduler' ? 'scheduler/two' : to;
      // One is never done, and of the other the line never hears; another scheduler does, and is at it.
      if (message.request === 'lost' && to === 'scheduler/one') continue;
      on.tell({ type: 'selecting', request: message.request, round: message.round }, by);
    }
    if (step % 2 === 0) on.tell({ type: 'selecting', request: 'other', round: 1 }, 'scheduler/one');
  }
  assert.is(on.state.line?.scheduler, 'scheduler/one');
});

test('waiting - one that the scheduler of the line is slow to choose for is no reason to leave it', () => {
  const on = bench(unhurried);
  on.tell(buildOf('first', 7_200_000));
  parkedAs(on, 'first', 'full', 'scheduler/one');
  const asked = [...sentOf(on.tell(buildOf('slow', 7_200_000)), 'select')];
  const askedOf = new Set<string>();
  for (let step = 0; step < 600; step += 1) {
    for (const { to, message } of asked.splice(0)) {
      askedOf.add(to);
      const by = to === 'scheduler' ? 'scheduler/two' : to;
      on.tell({ type: 'selecting', request: message.request, round: message.round }, by);
    }
    asked.push(...on.pass(100).flatMap(({ sent }) => sentOf({ sent }, 'select')));
  }
  assert.ok(askedOf.has('scheduler'), 'it was asked of others too');
  assert.is(on.state.line?.scheduler, 'scheduler/one');
});

test('waiting - one that the scheduler of the line never comes to an end with waits where it is answered, and the others stay', () => {
  const on = bench(conductor(OPTIONS));
  parkAtOne(on, ['first']);
  const asked = selectsIn(on.tell(buildOf('lost', 300_000)));
  const elsewhere = new Set<string>();
  for (let step = 0; step < 100; step += 1) {
    for (const one of asked) if (!one.endsWith(' of scheduler/one')) elsewhere.add(one);
    if (asked.splice(0).includes('lost of scheduler')) parkedAs(on, 'lost', 'full', 'scheduler/two');
    asked.push(...on.pass(100).flatMap(selectsIn));
    on.tell({ type: 'selecting', request: 'other', round: 1 }, 'scheduler/one');
  }
  assert.equal([...elsewhere], ['lost of scheduler'], 'nobody else is asked for elsewhere');
  assert.is(viewOf(on, 'lost')?.waiting?.reason, 'full');
  assert.is(on.state.line?.scheduler, 'scheduler/one');
});

test('waiting - where one who went elsewhere is left alone there too, those who were to follow it go on in their order', () => {
  const on = bench(unhurried);
  parkAtOne(on, ['a', 'b', 'c']);
  /** Until nobody is asked but the first, of anybody. */
  const deserted = () => {
    while (!on.pass(100).flatMap(selectsIn).includes('a of scheduler')) {}
  };
  on.tell(buildOf('m', 7_200_000));
  deserted();
  assert.equal(selectsIn(parkedAs(on, 'a', 'full', 'scheduler/two')), ['b of scheduler/two', 'c of scheduler/two']);
  // It dies before it has answered the others.
  deserted();
  const followed = selectsIn(parkedAs(on, 'a', 'full', 'scheduler/three'));
  assert.equal(followed.slice(0, 2), ['b of scheduler/three', 'c of scheduler/three']);
});

test('waiting - of very many that follow the first, no more are asked for at once than are answered in good time', () => {
  const on = bench(unhurried);
  const names = Array.from({ length: 2_000 }, (_, position) => `r${position}`);
  for (const request of names) {
    on.tell(buildOf(request, 7_200_000));
    parkedAs(on, request, 'full', 'scheduler/one');
  }
  on.now += 10_000;
  on.tell(buildOf('new', 7_200_000));
  while (on.state.requests.get('r0')?.repeats !== 2) on.pass(100);
  const selectsIn = (turned: { sent: readonly Sent[] }) =>
    sentOf(turned, 'select').map(({ message }) => message.request);
  const asked = selectsIn(parkedAs(on, 'r0', 'full', 'scheduler/two'));
  assert.ok(asked.length > 0 && asked.length <= MOST_IN_TIME, `${asked.length} at once`);
  for (let next = 0; next < asked.length; next += 1) {
    asked.push(...selectsIn(parkedAs(on, asked[next] as string, 'full', 'scheduler/two')));
  }
  assert.equal(
    asked.filter((request) => request !== 'new'),
    names.slice(1),
  );
});

test('waiting - nobody answers at all where the first is asked for: whoever is new is asked for all the same', () => {
  const on = bench(unhurried);
  on.tell(buildOf('first', 7_200_000));
  parkedAs(on, 'first', 'full', 'scheduler/one');
  on.now += 10_000;
  on.tell(buildOf('new', 7_200_000));
  const asked = on.pass(30_000).flatMap((turned) => sentOf(turned, 'select'));
  const elsewhere = asked.filter(({ to }) => to === 'scheduler').map(({ message }) => message.request);
  assert.is(elsewhere[0], 'first');
  assert.ok(elsewhere.includes('new'));
  const ofNew = asked.filter(({ message }) => message.request === 'new').map(({ to }) => to);
  assert.equal(ofNew.slice(0, 2), ['scheduler/one', 'scheduler'], 'and not again where nobody has answered');
});

test('waiting - nobody answers where the first is asked for: however many give way to it, it is asked for elsewhere once', () => {
  const on = bench(unhurried);
  parkAtOne(on, ['first']);
  on.now += 10_000;
  for (const request of ['b', 'c', 'd']) {
    on.tell(buildOf(request, 7_200_000));
    on.now += 20;
  }
  const asked: string[] = [];
  while (!asked.includes('first of scheduler')) asked.push(...on.pass(10).flatMap(selectsIn));
  asked.push(...on.pass(PATIENCE.firstMs / 2).flatMap(selectsIn));
  assert.is(asked.filter((one) => one.startsWith('first')).length, 1);
});

test('waiting - where another one waits first once the first has a host, it is that one to which others give way', () => {
  const on = bench(unhurried);
  parkAtOne(on, ['first', 'second']);
  /** Who is asked for elsewhere first, once somebody is asked for in vain where all wait. */
  const goesAhead = (request: string) => {
    on.now += 10_000;
    on.tell(buildOf(request, 7_200_000));
    for (;;) {
      const elsewhere = on
        .pass(10)
        .flatMap(selectsIn)
        .find((one) => one.endsWith(' of scheduler'));
      if (elsewhere !== undefined) return elsewhere;
    }
  };
  assert.is(goesAhead('new'), 'first of scheduler');
  for (const request of ['first', 'new']) {
    const round = on.state.requests.get(request)?.round ?? 0;
    const selections = [{ instance: request, selection: selectionAt('h1'), alternates: [] }];
    on.tell({ type: 'selected', request, round, selections } as unknown as ConductorMessage, 'scheduler/one');
  }
  assert.is(goesAhead('late'), 'second of scheduler');
});

test('waiting - where the first itself is asked for in vain, it is asked for elsewhere next and gives way to nobody', () => {
  const on = bench(conductor(OPTIONS));
  parkAtOne(on, ['first', 'second']);
  const asked: { what: string; at: number }[] = [];
  while (!asked.some(({ what }) => what === 'first of scheduler')) {
    asked.push(...on.pass(100).flatMap((turned) => selectsIn(turned).map((what) => ({ what, at: on.now }))));
  }
  const [once, elsewhere] = asked.filter(({ what }) => what.startsWith('first'));
  assert.equal([once?.what, elsewhere?.what], ['first of scheduler/one', 'first of scheduler']);
  const tookMs = (elsewhere?.at ?? 0) - (once?.at ?? 0);
  assert.ok(tookMs < 2 * PATIENCE.firstMs + 500, `after ${tookMs} ms`);
});

test('waiting - nobody answers where all wait, the first was asked for elsewhere, and a scheduler comes up: it is asked for once more', () => {
  const on = bench(unhurried);
  const waiting = ['first', 'second', 'third'];
  parkAtOne(on, waiting);
  const asked: string[] = [];
  on.tell({ type: 'wake', id: 'request first' });
  while (!asked.includes('first of scheduler')) asked.push(...on.pass(100).flatMap(selectsIn));
  on.now += 300;
  assert.equal(cameUp(on, 'third'), ['first of scheduler']);
  // Nor is it otherwise where the first has only given way to one that is new.
  const other = bench(unhurried);
  parkAtOne(other, waiting);
  other.now += 10_000;
  other.tell(buildOf('new', 7_200_000));
  while (!other.pass(100).flatMap(selectsIn).includes('first of scheduler')) {}
  other.now += 300;
  const then = selectsIn(other.tell({ type: 'wake', id: 'request third', isEarly: true }));
  assert.equal(then, ['first of scheduler']);
});

test('waiting - those that are answered where they wait are asked for there for as long as they are', () => {
  const on = bench(conductor({ ...OPTIONS, requestedMs: 3_600_000 }));
  on.tell(buildOf('web', 3_600_000));
  parkedAs(on, 'web', 'full', 'scheduler/one');
  for (let pace = 0; pace < 6; pace += 1) {
    assert.equal(on.pass(20_000).flatMap(selectsIn)[0], 'web of scheduler/one', `after ${pace} answers`);
    assert.not.ok(parkedAs(on, 'web', 'full', 'scheduler/one').records.length > 0, 'nothing new is recorded of that');
  }
});

test('waiting - when nobody waits any more the next one waits with whoever answers, though others waited elsewhere', () => {
  const on = bench(conductor(OPTIONS));
  parkAtOne(on, ['gone']);
  on.tell({ type: 'delete', ask: 8, instance: 'gone' });
  assert.equal(selectsIn(on.tell(buildOf('new'))), ['new of scheduler']);
  const turned = parkedAs(on, 'new', 'full', 'scheduler/two');
  assert.equal([selectsIn(turned), sentOf(turned, 'withdraw')], [[], []]);
  assert.is(viewOf(on, 'new')?.waiting?.reason, 'full');
  // Nor does it wait for an answer from where others waited, after a crash.
  on.tell({ type: 'delete', ask: 8, instance: 'new' });
  const again = bench(conductor(OPTIONS), { at: on.now, entries: on.entries });
  assert.equal(selectsIn(again.tell(buildOf('late'))), ['late of scheduler']);
});

test('waiting - after a crash those that wait are asked for where they waited, and if nobody answers there they leave it in their order', () => {
  const on = bench(unhurried);
  parkAtOne(on, ['first', 'second', 'third']);
  assert.equal(replayed(unhurried, on.entries), on.stored());
  assert.equal(restored(unhurried, on.stored()), on.stored());
  const again = bench(unhurried, { at: on.now + 10_000, entries: on.entries });
  assert.equal(selectsIn(again.first), ['first of scheduler/one', 'second of scheduler/one', 'third of scheduler/one']);
  const asked: string[] = [];
  while (!asked.some((one) => one.endsWith(' of scheduler'))) asked.push(...again.pass(100).flatMap(selectsIn));
  assert.is(asked.at(-1), 'first of scheduler');
  const followed = parkedAs(again, 'first', 'full', 'scheduler/two');
  assert.equal(selectsIn(followed), ['second of scheduler/two', 'third of scheduler/two']);
  const later = bench(unhurried, { at: again.now, entries: [...on.entries, ...again.entries] });
  assert.equal(
    later.state.line,
    { scheduler: 'scheduler/two', heardAt: null, isLost: false, soughtInVain: 0 },
    'that it has moved is recorded too',
  );
});

test('waiting - of very many that wait after a crash only the first are asked for until somebody answers, and none is forgotten', () => {
  const on = bench(unhurried);
  const names = Array.from({ length: 1_000 }, (_, position) => `r${position}`);
  for (const request of names) {
    on.tell(buildOf(request, 60_000));
    parkedAs(on, request, 'full', 'scheduler/one');
  }
  const of = (scheduler: string, some: readonly string[]) => some.map((request) => `${request} of ${scheduler}`);
  const recovered = () => bench(unhurried, { at: on.now + 1_000, entries: on.entries });
  const again = recovered();
  assert.equal(selectsIn(again.first), of('scheduler/one', names.slice(0, 8)));
  const hasty = atOnce('hasty');
  assert.equal(selectsIn(again.tell(hasty)), ['hasty of scheduler'], 'who does not wait is not held up by them');
  const third = recovered();
  third.now += 2_000;
  const anew = cameUp(third, 'r5');
  assert.equal(anew, of('scheduler/one', names.slice(0, 8)), 'nor are more when a scheduler comes up');
  const asked = selectsIn(parkedAs(again, 'r0', 'full', 'scheduler/one'));
  assert.ok(asked.length > LEAST / 2, `${asked.length} more`);
  assert.equal(asked, of('scheduler/one', names.slice(8, 8 + asked.length)));
  // Where nobody ever answers, their time is over all the same.
  const alone = recovered();
  assert.equal(selectsIn(alone.tell(buildOf('late', 60_000))), [], 'nor is asked for who may wait, as they do');
  alone.pass(70_000);
  assert.is(viewOf(alone, 'r0')?.state, 'failed');
  assert.is(viewOf(alone, 'r999')?.state, 'failed');
  assert.is(viewOf(alone, 'late')?.state, 'failed');
});

test('waiting - those that are held back until it is known where others wait are not all looked at in each turn', () => {
  const on = bench(unhurried);
  parkAtOne(on, ['first']);
  const again = bench(unhurried, { at: on.now + 1_000, entries: on.entries });
  const late = Array.from({ length: 500 }, (_, position) => `late${position}`);
  for (const request of late) assert.equal(selectsIn(again.tell(buildOf(request, 60_000))), []);
  let looks = 0;
  const { requests } = again.state;
  const { get } = requests;
  requests.get = (request) => {
    looks += 1;
    return get.call(requests, request);
  };
  assert.equal(selectsIn(again.tell(atOnce('hasty'))), ['hasty of scheduler']);
  assert.ok(looks < 20, `${looks} looks`);
  const asked = selectsIn(parkedAs(again, 'first', 'full', 'scheduler/one'));
  assert.equal(
    asked,
    late.slice(0, asked.length).map((request) => `${request} of scheduler/one`),
    'in their order',
  );
  assert.ok(asked.length >= LEAST - 1);
  again.tell({ type: 'delete', ask: 8, instance: late.at(-1) as string });
  while (again.state.unasked.size > 0) again.pass(LOST_AFTER_MS);
  assert.is(again.state.unaskedAhead.size, 0);
});

test.run();
