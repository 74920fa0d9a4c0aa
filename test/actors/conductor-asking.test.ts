// Area: conductor, many requests at once. Schedulers are asked for no more than they answer in good time, in the order in
// which the requests were accepted; nobody is asked twice for that; what is asked for again goes by the same bound; and
// whatever nobody answers ends at its deadline.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LEAST, LOST_AFTER_MS, SILENT_AFTER_MS } from '../../actors/asking-window.ts';
import { DOUBT_WAKE } from '../../actors/conductor/asking.ts';
import { conductor } from '../../actors/conductor/conductor.ts';
import { BY_NAME_MOST_MS, BY_NAME_MS } from '../../actors/conductor/known-schedulers.ts';
import type { Build, ConductorMessage } from '../../actors/messages/conductor.ts';
import { SCHEDULERS } from '../../actors/routing.ts';
import { seededRandom } from '../../runtime/random.ts';
import { bench, type Sent, sentOf } from '../support/turn.ts';

const test = suite('conductor - asking');

const GATEWAY = 'gateway/g';
const REQUESTED_MS = 60_000;
const actor = conductor({ shard: 0, requestedMs: REQUESTED_MS });
type Desk = ReturnType<typeof desk>;
const desk = () => bench(actor);

function buildOf(request: string, more: Partial<Build> = {}): { message: Build; from: string } {
  const spec: Build['spec'] = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' };
  return { message: { type: 'build', ask: 1, request, count: 1, alternates: 0, spec, ...more }, from: GATEWAY };
}

function accept(on: Desk, from: number, to: number, more: Partial<Build> = {}): string[] {
  return askedIn(on.tellAll(names(from, to).map((request) => buildOf(request, more))));
}

const askedIn = (turned: { readonly sent: readonly Sent[] }): string[] =>
  sentOf(turned, 'select').map(({ message }) => message.request);

/** Answers with a host for each; tells who is asked for next. */
function answer(on: Desk, requests: readonly string[], from = 'scheduler/s'): string[] {
  const letters = requests.map((request) => {
    const round = on.state.requests.get(request)?.round ?? 0;
    const selection = { cell: 'c1', host: 'h1', provider: 'p' };
    const selections = [{ instance: request, selection, alternates: [], decision: '{}' }];
    const message: ConductorMessage = { type: 'selected', request, round, selections };
    return { message, from };
  });
  return askedIn(on.tellAll(letters));
}

const names = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, at) => `r${from + at}`);

test('conductor - of very many requests schedulers are asked for some, the next as they answer, each once and in order', () => {
  const on = desk();
  const asked = accept(on, 0, 3_000);
  assert.equal(asked, names(0, LEAST));
  for (let answered = 0; asked.length < 3_000; ) {
    on.now += 20;
    const some = asked.slice(answered, answered + 100);
    answered += some.length;
    asked.push(...answer(on, some));
    // Nobody has waited for long, so nobody is asked for again.
    assert.equal(on.pass(1).flatMap(askedIn), []);
  }
  assert.equal(asked, names(0, 3_000));
});

test('conductor - instances count, and a request for more of them than there is room for is asked for all the same', () => {
  const on = desk();
  assert.equal(accept(on, 0, 40, { count: 3 }), names(0, Math.ceil(LEAST / 3)));
  const other = desk();
  assert.equal(accept(other, 0, 6, { count: 1_000 }), names(0, 4), 'some questions may be put, however large');
});

test('conductor - while schedulers do not answer, some more are asked for each second, and all fail at their deadline', () => {
  const on = desk();
  assert.is(accept(on, 0, 5_000).length, LEAST);
  const first = new Set<string>();
  for (const request of on.pass(LOST_AFTER_MS).flatMap(askedIn)) first.add(request);
  assert.equal([...first], names(LEAST, 2 * LEAST));
  on.pass(REQUESTED_MS);
  assert.equal([on.state.requests.size, on.state.unasked.size], [0, 0]);
  const [shown] = sentOf(on.tell({ type: 'show', ask: 1, instance: 'r4999' }, GATEWAY), 'shown');
  assert.is(shown?.message.view?.state, 'failed');
});

test('conductor - what nobody was asked for yet fails at its deadline too, when those before it may wait for longer', () => {
  const on = bench(conductor({ shard: 0, requestedMs: 3_000 }));
  accept(on, 0, 4_000, { waitMs: 3_600_000 });
  accept(on, 4_000, 4_001);
  assert.ok(on.state.unasked.has('r4000'));
  const [explained] = sentOf(on.tell({ type: 'explain', ask: 1, instance: 'r4000' }, GATEWAY), 'explained');
  assert.equal(explained?.message.view?.asking, { times: 0, asOf: on.now });
  on.pass(3_000 + LOST_AFTER_MS);
  const [shown] = sentOf(on.tell({ type: 'show', ask: 1, instance: 'r4000' }, GATEWAY), 'shown');
  const why = 'no scheduler was asked for it yet, as those that came before have no answer';
  assert.ok(shown?.message.view?.failure?.message.startsWith(why));
  assert.not(on.state.requests.has('r4000'));
  assert.ok(on.state.unasked.size > 1_000, 'others wait still');
});

test('conductor - what nobody was asked for yet has as much time as the others where the clock is set forward', () => {
  const on = desk();
  accept(on, 0, 1_000);
  assert.ok(on.state.unasked.has('r999'));
  on.setBack(-3_600_000);
  on.pass(REQUESTED_MS - 1_000);
  assert.is(on.state.requests.size, 1_000);
  on.pass(1_000 + LOST_AFTER_MS);
  assert.is(on.state.requests.size, 0);
});

test('conductor - of a scheduler that is slow, but answers, nothing is asked twice', () => {
  const on = desk();
  const asked = accept(on, 0, 100);
  for (let answered = 0; answered < asked.length; answered += 1) {
    asked.push(...on.pass(250).flatMap(askedIn), ...answer(on, asked.slice(answered, answered + 1)));
  }
  assert.equal(asked, names(0, 100), 'each once, though it takes eight seconds');
});

test('conductor - when a scheduler comes up all is asked again at once, though another one had answered just before', () => {
  const on = desk();
  const asked = accept(on, 0, 10);
  on.now += 100;
  answer(on, asked.slice(0, 1));
  assert.equal(cameUp(on), names(1, 10));
});

test('conductor - what was to be asked again while a scheduler stood still is not, when it goes on', () => {
  const on = desk();
  const asked: { request: string; round: number }[] = [];
  const see = (turned: { readonly sent: readonly Sent[] }) =>
    asked.push(...sentOf(turned, 'select').map(({ message: { request, round } }) => ({ request, round })));
  const hear = ({ request, round }: { request: string; round: number }) =>
    see(on.tell({ type: 'no-valid-host', request, round, reason: 'full', decision: '{}' }, 'scheduler/s'));
  see(on.tellAll(names(0, 10 * LEAST).map((request) => buildOf(request))));
  for (let answered = 0; answered < 5 * LEAST; answered += 1) {
    on.now += 5;
    hear(asked.shift() as (typeof asked)[number]);
  }
  for (const turned of on.pass(SILENT_AFTER_MS + 2_000)) see(turned);
  assert.ok(on.state.again.size > LEAST / 2, `${on.state.again.size} are to be asked again`);
  let inVain = 0;
  for (let at = 0; at < asked.length; at += 1) {
    const question = asked[at] as (typeof asked)[number];
    if (on.state.requests.get(question.request)?.round !== question.round) inVain += 1;
    for (const turned of on.pass(20)) see(turned);
    hear(question);
  }
  assert.is(on.state.requests.size, 0);
  assert.ok(inVain < 3 * LEAST, `${inVain} in vain`);
});

test('conductor - what a scheduler has lost is asked again, though it answers what came later', () => {
  const on = desk();
  const asked = accept(on, 0, 100);
  const [lost] = asked.splice(0, 1);
  for (let answered = 0; answered < asked.length && !asked.includes(lost as string); answered += 1) {
    asked.push(...on.pass(250).flatMap(askedIn), ...answer(on, asked.slice(answered, answered + 1)));
  }
  assert.ok(asked.includes(lost as string));
  assert.is(asked.length, new Set(asked).size, 'nothing else is');
});

/** A scheduler that takes what it is asked in order, 50 ms each, and stands still for so long of each three seconds. */
function standingStill(on: Desk, requests: number, forMs: number) {
  const asked: { request: string; round: number }[] = [];
  const see = (turned: { readonly sent: readonly Sent[] }) =>
    asked.push(...sentOf(turned, 'select').map(({ message: { request, round } }) => ({ request, round })));
  for (const request of names(0, requests)) see(on.tellAll([buildOf(request)]));
  let inVain = 0;
  let at = 0;
  for (let ms = 0; on.state.requests.size > 0 && ms < REQUESTED_MS; ms += 50) {
    for (const turned of on.pass(50)) see(turned);
    const next = asked[at];
    if (ms % 3_000 < forMs || next === undefined) continue;
    at += 1;
    if (on.state.requests.get(next.request)?.round !== next.round) inVain += 1;
    see(on.tell({ type: 'no-valid-host', ...next, reason: 'full', decision: '{}' }, 'scheduler/s'));
  }
  return { left: on.state.requests.size, inVain };
}

test('conductor - a scheduler that stands still for most of the time is asked for little in vain', () => {
  const { left, inVain } = standingStill(desk(), 150, 2_200);
  assert.is(left, 0);
  assert.ok(inVain < 75, `${inVain} in vain`);
});

const GROUP = ['scheduler/a', 'scheduler/b', 'scheduler/c'] as const;

/**
 * Some schedulers, dealt to in turn, which answer what they are asked within the moment, but for one. A request comes every
 * so many ms; answers how many that one was asked for.
 */
function askedOf(
  on: Desk,
  one: string,
  requests: readonly string[],
  { answers, everyMs = 50 }: { answers: boolean; everyMs?: number },
): number {
  let count = 0;
  let dealt = 0;
  const hear = (turned: { readonly sent: readonly Sent[] }): void => {
    for (const { to, message } of sentOf(turned, 'select')) {
      dealt += to === SCHEDULERS ? 1 : 0;
      const scheduler = to === SCHEDULERS ? (GROUP[dealt % GROUP.length] as string) : to;
      if (scheduler === one) count += 1;
      if (scheduler === one && !answers) continue;
      const { request, round } = message;
      on.tell({ type: 'no-valid-host', request, round, reason: 'full', decision: '{}' }, scheduler);
    }
  };
  for (const request of requests) {
    hear(on.tellAll([buildOf(request)]));
    for (const turned of on.pass(everyMs)) hear(turned);
  }
  return count;
}

test('conductor - a scheduler that is dealt to and answers nothing is hardly asked any more, until it answers again', () => {
  const on = desk();
  const stopped = { answers: false };
  const first = askedOf(on, 'scheduler/c', names(0, 100), stopped);
  assert.ok(first > 1, 'at first it is not known');
  assert.ok(first < 20, `it was asked for ${first} of 100`);
  const asked = askedOf(on, 'scheduler/c', names(100, 700), stopped);
  assert.ok(asked > 0, 'it is found out whether it is there again');
  assert.ok(asked < 10, `it was asked for ${asked} of 600`);
  const again = askedOf(on, 'scheduler/c', names(700, 1_000), { answers: true });
  assert.ok(again > 60, `it was asked for ${again} of 300`);
  askedOf(on, 'scheduler/c', names(1_000, 1_000 + BY_NAME_MS / 50), { answers: true });
  const last = sentOf(on.tellAll(['one', 'two'].map((request) => buildOf(request))), 'select');
  assert.equal(
    last.map(({ to }) => to),
    [SCHEDULERS, SCHEDULERS],
    'all of them answer',
  );
});

test('conductor - nor is it where requests come seldom', () => {
  const on = desk();
  const asked = askedOf(on, 'scheduler/c', names(0, 100), { answers: false, everyMs: 3_000 });
  assert.ok(asked < 10, `it was asked for ${asked} of 100`);
});

test('conductor - one that comes up while schedulers are asked by name is asked, under whatever name, though nothing waited', () => {
  const on = inVain();
  assert.is(askedFor(on, names(20, 22))[SCHEDULERS], undefined);
  const until = on.wakes.get(DOUBT_WAKE) ?? 0;
  assert.ok(until > on.steady, 'it is to be told when one comes up');
  on.now += 1_000;
  on.tellAll([{ message: { type: 'wake', id: DOUBT_WAKE, isEarly: true }, from: 'conductor/0' }]);
  assert.ok((on.wakes.get(DOUBT_WAKE) ?? 0) > until, 'and of the next one, too');
  assert.equal(askedFor(on, names(22, 26)), { [SCHEDULERS]: 4 });
  on.pass(REQUESTED_MS);
  assert.is(on.state.requests.size, 0);
  on.pass(BY_NAME_MOST_MS);
  assert.not(on.wakes.has(DOUBT_WAKE), 'they are asked by name no more');
});

for (const everyMs of [300, 3_000, 30_000]) {
  test(`conductor - with half of the schedulers stopped few requests wait for long, one each ${everyMs} ms`, () => {
    const random = seededRandom(everyMs);
    const on = desk();
    const there = ['scheduler/a', 'scheduler/b'];
    const waitedMs: number[] = [];
    let stopped: readonly string[] = [];
    const ask = (request: string) => {
      let rest = [on.tellAll([buildOf(request)])];
      const from = on.now;
      while (on.state.requests.has(request) || on.now - from < everyMs) {
        for (const { to, message } of rest.flatMap((turned) => sentOf(turned, 'select'))) {
          const who =
            to === SCHEDULERS ? [...there, ...stopped][random.integer(0, there.length + stopped.length - 1)] : to;
          if (who === undefined || stopped.includes(who)) continue;
          waitedMs.push(on.now - from);
          on.tell({ type: 'no-valid-host', request, round: message.round, reason: 'full', decision: '{}' }, who);
        }
        rest = on.pass(everyMs / 15);
      }
    };
    for (const request of names(0, 20)) ask(request);
    stopped = ['scheduler/c', 'scheduler/d'];
    for (const request of names(20, 120)) ask(request);
    assert.is(waitedMs.length, 120);
    const late = waitedMs.filter((ms) => ms >= 1_000);
    assert.ok(late.length <= 10, `${late.length} of 100`);
    assert.ok(Math.max(...late) < 8_000, `${Math.max(...late)} ms`);
  });
}

/** Whom it asks for each of some requests that nobody answers. */
function askedFor(on: Desk, requests: readonly string[]): Record<string, number> {
  const asked: Record<string, number> = {};
  for (const request of requests) {
    for (const { to } of sentOf(on.tellAll([buildOf(request)]), 'select')) asked[to] = (asked[to] ?? 0) + 1;
  }
  return asked;
}

/** One request was asked for in vain, while two schedulers have answered. */
function inVain(): Desk {
  const on = desk();
  accept(on, 0, 1);
  on.pass(1_000);
  for (const scheduler of GROUP.slice(0, 2)) endAll(on, ['before'], scheduler, 'no-valid-host');
  on.pass(1_000);
  assert.is(on.state.requests.get('r0')?.repeats, 1);
  return on;
}

/** A scheduler comes to this end with requests, of whomever they were asked. */
function endAll(on: Desk, requests: readonly string[], scheduler: string, type: 'no-valid-host' | 'parked'): void {
  for (const request of requests) {
    const round = on.state.requests.get(request)?.round ?? 0;
    on.tell({ type, request, round, reason: 'full', decision: '{}' }, scheduler);
  }
}

for (const end of ['parked', 'no-valid-host', 'selected'] as const) {
  test(`conductor - what has come to the end '${end}' is not owed any more by those that it asks by name`, () => {
    const on = inVain();
    const [a, b] = GROUP;
    // All who may wait are asked for where the first of them waits.
    for (const request of names(1, 7)) {
      on.tellAll([buildOf(request, { waitMs: 60_000 })]);
      if (end === 'selected' && request !== 'r1') answer(on, [request], a);
      else endAll(on, [request], a, end === 'no-valid-host' && request !== 'r1' ? end : 'parked');
    }
    const asked = askedFor(on, names(20, 28));
    assert.ok(Math.abs((asked[a] ?? 0) - (asked[b] ?? 0)) <= 2, JSON.stringify(asked));
    assert.is((asked[a] ?? 0) + (asked[b] ?? 0), 8);
  });
}

test('conductor - a request that waits is asked for again, and nobody was asked in vain for that', () => {
  const on = desk();
  accept(on, 0, 1, { waitMs: 60_000 });
  endAll(on, ['r0'], GROUP[0], 'parked');
  while (on.pass(100).flatMap(askedIn).length === 0);
  assert.equal(askedFor(on, names(1, 5)), { [SCHEDULERS]: 4 });
});

test('conductor - one that waits is asked for a last time when its time is over, though it is under way', () => {
  const on = desk();
  const endsAt = on.now + 20_000;
  accept(on, 0, 1, { waitMs: 20_000 });
  endAll(on, ['r0'], GROUP[0], 'parked');
  accept(on, 1, 4);
  while (on.pass(100).flatMap(askedIn).includes('r0') === false);
  for (const request of names(1, 4)) {
    on.pass((endsAt - on.now) / 2);
    endAll(on, [request], GROUP[0], 'no-valid-host');
  }
  assert.ok(on.state.window.isUnderWay('r0', on.steady));
  const selects = on.pass(endsAt - on.now).flatMap((turned) => sentOf(turned, 'select'));
  const last = selects.filter(({ message }) => message.request === 'r0').at(-1)?.message;
  assert.is(last?.waits?.last, true);
});

test('conductor - of schedulers that take long, but answer, each is asked for its share, and little in vain', () => {
  const on = desk();
  const random = seededRandom('slow');
  const queues = new Map<string, { request: string; round: number }[]>(GROUP.map((name) => [name, []]));
  const asked = new Map<string, number>();
  let inVain = 0;
  const hear = (turned: { readonly sent: readonly Sent[] }): void => {
    for (const { to, message } of sentOf(turned, 'select')) {
      const scheduler = to === SCHEDULERS ? random.pick(GROUP) : to;
      asked.set(scheduler, (asked.get(scheduler) ?? 0) + 1);
      queues.get(scheduler)?.push(message);
    }
  };
  for (let ms = 0; ms < 300_000; ms += 1_000) {
    // Four in three seconds come to three who take a second and a half each.
    if (ms % 3_000 !== 0) hear(on.tellAll([buildOf(`r${ms}`), ...(ms % 2_000 === 0 ? [buildOf(`s${ms}`)] : [])]));
    for (const turned of on.pass(1_000)) hear(turned);
    for (const [scheduler, queue] of queues) {
      const next = ms % 3_000 === 0 ? undefined : queue.shift();
      if (next === undefined) continue;
      const { request, round } = next;
      if (on.state.requests.get(request)?.round !== round) inVain += 1;
      hear(on.tell({ type: 'no-valid-host', request, round, reason: 'full', decision: '{}' }, scheduler));
    }
  }
  const counts = GROUP.map((name) => asked.get(name) ?? 0);
  assert.ok(Math.min(...counts) > 60, `they were asked for ${counts.join(', ')}`);
  assert.ok(inVain < 30, `${inVain} in vain`);
  assert.ok(on.state.requests.size < 6, `${on.state.requests.size} are left`);
});

test('conductor - deleted before anybody was asked for it: nobody is', () => {
  const on = desk();
  const next = names(LEAST, 2 * LEAST);
  const deleted = next[8] as string;
  accept(on, 0, 2 * LEAST);
  on.tell({ type: 'delete', ask: 1, instance: deleted }, GATEWAY);
  assert.equal(
    answer(on, names(0, LEAST)),
    next.filter((request) => request !== deleted),
  );
});

test('conductor - one that comes up with very many open requests asks for some first', () => {
  const on = desk();
  accept(on, 0, 2_000);
  const next = bench(actor, { entries: on.entries, at: on.now });
  assert.equal(askedIn(next.first), names(0, LEAST));
  on.pass(0);
  assert.is(next.state.unasked.size, 2_000 - LEAST);
});

/** Has requests asked for that nobody answers, as many as there are; the time is then one at which all are due again. */
function askedInVain(on: Desk, count: number, more: Partial<Build> = {}): void {
  accept(on, 0, count, more);
  while (on.state.unasked.size > 0) on.pass(LOST_AFTER_MS);
}

/** As when a scheduler comes up anew: all wakes come within a moment. */
function cameUp(on: Desk): string[] {
  const due = [...on.wakes.keys()].filter((id) => id !== 'unasked');
  return askedIn(on.tellAll(due.map((id) => ({ message: { type: 'wake', id, isEarly: true }, from: 'runtime' }))));
}

test('conductor - after an outage no more are asked for again at once than are answered in good time, and none is forgotten', () => {
  const on = desk();
  askedInVain(on, 4 * LEAST);
  on.pass(3 * LOST_AFTER_MS);
  const askedWithinASecond = on.pass(LOST_AFTER_MS - 1).flatMap(askedIn).length;
  assert.ok(askedWithinASecond <= LEAST, `${askedWithinASecond} were asked for`);
  const asked = [...cameUp(on), ...on.pass(LOST_AFTER_MS).flatMap(askedIn)];
  const waiting = [...on.state.again];
  const answered = new Set(asked);
  const next: string[] = [];
  for (let some = asked; some.length > 0; some = answer(on, some)) {
    for (const request of some) answered.add(request);
    next.push(...some);
    on.now += 20;
  }
  const later = next.slice(asked.length);
  assert.equal(later, waiting, 'longest due first, each once');
  assert.equal([on.state.again.size, on.state.requests.size], [0, 0]);
  assert.is(answered.size, 4 * LEAST);
});

test('conductor - of those that are asked for again each has its turn, while nobody answers, and ends at its deadline', () => {
  const requestedMs = 10_000;
  const on = bench(conductor({ shard: 0, requestedMs, patience: { firstMs: 1_500, mostMs: 1_500 } }));
  const endsAt = on.now + requestedMs;
  askedInVain(on, 3 * LEAST);
  const again = new Set<string>();
  while (on.now < endsAt - 1_000) for (const request of on.pass(500).flatMap(askedIn)) again.add(request);
  assert.is(again.size, 3 * LEAST);
  assert.ok(on.state.again.size > LEAST / 4, `${on.state.again.size} are behind the window`);
  on.pass(endsAt - 1 - on.now);
  assert.is(on.state.requests.size, 3 * LEAST);
  on.pass(1);
  assert.is(on.state.requests.size, 0);
});

test('conductor - one that waits, and is behind the window when its time is over, ends all the same', () => {
  const on = desk();
  const acceptedAt = on.now;
  accept(on, 0, 1, { waitMs: 20_000 });
  const round = on.state.requests.get('r0')?.round ?? 0;
  on.tell({ type: 'parked', request: 'r0', round, reason: 'full', decision: '{}' }, 'scheduler/s');
  accept(on, 1, 1_500);
  on.pass(15_000);
  on.now = acceptedAt + 20_000 - 1;
  // So much is asked for at once that there is no room when its time is over.
  cameUp(on);
  on.tell({ type: 'wake', id: 'request r0' }, 'runtime');
  on.pass(1);
  const [shown] = sentOf(on.tell({ type: 'show', ask: 1, instance: 'r0' }, GATEWAY), 'shown');
  assert.is(shown?.message.view?.state, 'requested', 'it is asked for at last');
  on.pass(2_000);
  assert.not(on.state.requests.has('r0'));
});

test('conductor - one that is answered after all is not asked for again', () => {
  const on = desk();
  askedInVain(on, 4 * LEAST, { waitMs: 600_000 });
  cameUp(on);
  const late = [...on.state.again].slice(0, 2);
  for (const [position, request] of late.entries()) {
    const round = on.state.requests.get(request)?.round ?? 0;
    const heard: ConductorMessage =
      position === 0
        ? { type: 'selecting', request, round }
        : { type: 'parked', request, round, reason: 'full', decision: '{}' };
    on.tell(heard, 'scheduler/s');
    assert.not(on.state.again.has(request));
  }
  const asked = on.pass(1_000).flatMap(askedIn);
  assert.equal(
    late.filter((request) => asked.includes(request)),
    [],
  );
});

test('conductor - what is asked for the first time does not wait for all that is asked for again', () => {
  const on = desk();
  askedInVain(on, 4 * LEAST);
  on.pass(LOST_AFTER_MS);
  cameUp(on);
  accept(on, 2_000, 2_000 + LEAST / 4);
  on.pass(LOST_AFTER_MS);
  assert.ok(on.state.again.size > LEAST);
  assert.is(on.state.unasked.size, 0);
});

test.run();
