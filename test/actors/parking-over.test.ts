// Area: scheduler, what those are told who wait while hosts change: how these stand by then, with others before them and when
// their time is over; or they take what has come free.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Select } from '../../actors/messages/scheduler.ts';
import { unpackDecision } from '../../actors/messages/stored-decision.ts';
import { countingFilter } from '../support/counting.ts';
import { named, schedulersOf, selectFor } from '../support/schedulers.ts';
import { FOREVER, rig } from '../support/waiting.ts';

const test = suite('scheduler - waiting no longer');

/** Two hosts, the larger of which has room for less and less; requests of 8 VCPU wait. */
function filling() {
  const all = schedulersOf([
    { host: 'a', has: { VCPU: 8 } },
    { host: 'b', has: { VCPU: 2 } },
  ]);
  const [desk] = all.desks;
  assert.ok(desk);
  const use = (name: string, vcpu: number) => assert.is(all.choose(selectFor(name, { vcpu }))?.type, 'selected');
  const ask = (request: string, since: number, more: Partial<Select> = {}) => {
    const answer = all.choose(selectFor(request, { vcpu: 8, expiresAt: FOREVER, waits: { since }, ...more }));
    assert.ok(answer !== undefined && answer.type !== 'selected');
    const { at } = unpackDecision(JSON.parse(answer.decision ?? ''));
    return { type: answer.type, reason: answer.reason, decidedAt: at };
  };
  use('first', 2);
  return { ...all, desk, use, ask };
}

test('waiting - one that joins others is told how hosts stand by then, in a decision of its own', () => {
  const all = filling();
  assert.match(all.ask('one', 1).reason, /nearest c1\/a: .*\(short by 2\); with 2 VCPU less/);
  all.use('second', 6);
  all.run(5_000);
  const { reason, decidedAt, type } = all.ask('two', 2);
  assert.is(type, 'parked');
  assert.match(
    reason,
    /nearest c1\/b \(of which nothing was heard lately\): .*\(short by 6\); nothing was heard lately of .*placement\/0; with 6 VCPU less \(2 instead of 8\)/,
  );
  assert.is(decidedAt, all.desk.now);
  const again = all.ask('one', 1, { round: 2 });
  assert.equal([again.type, again.reason, again.decidedAt], ['parked', reason, all.desk.now]);
});

test('waiting - one whose time is over is told how hosts stand by then, and waits no longer', () => {
  const all = filling();
  for (const [since, request] of ['one', 'two'].entries()) all.ask(request, since);
  all.use('second', 6);
  all.run(5_000);
  for (const [since, request] of ['one', 'two'].entries()) {
    const { type, reason, decidedAt } = all.ask(request, since, { round: 2, waits: { since, last: true } });
    assert.is(type, 'no-valid-host');
    assert.match(
      reason,
      /nearest c1\/b \(of which nothing was heard lately\): .*\(short by 6\); nothing was heard lately of .*placement\/0; with 6 VCPU less \(2 instead of 8\)/,
    );
    assert.is(decidedAt, all.desk.now);
  }
  all.run(1_000);
  const { open, parking } = all.desk.state;
  assert.equal([open.size, parking.byRequest.size, parking.lots.size], [0, 0, 0]);
});

test('waiting - of several whose time is over at one moment none overtakes another that still waits', () => {
  const all = rig('h1', 'h2');
  const since = all.on.now;
  for (const [position, request] of ['first', 'second', 'third'].entries())
    all.ask(request, { since: since + position });
  for (const request of ['second', 'third']) {
    all.ask(request, { round: 2, waits: { since: since + 1, last: true } });
  }
  all.release('rival-h1');
  all.release('rival-h2');
  assert.equal(all.placed(), ['first']);
  assert.equal(
    all.answersOf('no-valid-host').map(({ request }) => request),
    ['second', 'third'],
  );
});

test('waiting - one whose time is over takes a host that has come free, before those that came after it and wait on', () => {
  const since = 1_000;
  for (const count of [1, 2]) {
    const all = schedulersOf(['a', 'b', 'c'].map((host) => ({ host, has: { VCPU: 8 } })));
    const ask = (request: string, place: number, more: Partial<Select> = {}) => {
      const instances = named(count, request);
      const asked = { instances, ordered: true as const, expiresAt: FOREVER, waits: { since: since + place } };
      all.hear(selectFor(request, { vcpu: 8, ...asked, ...more }));
      all.deliver();
    };
    for (const host of ['a', 'b', 'c']) all.choose(selectFor(`on-${host}`, { vcpu: 8 }));
    for (const [place, request] of ['one', 'two', 'three'].entries()) ask(request, place);
    for (const host of ['a', 'b', 'c']) all.release(`on-${host}`);
    const before = all.answers.length;
    ask('two', 1, { round: 2, waits: { since: since + 1, last: true } });
    ask('one', 0, { round: 2, waits: { since, last: true } });
    const told = all.answers.slice(before).map(({ request, type }) => `${request} ${type}`);
    assert.equal(told.slice(0, 2), ['two no-valid-host', 'one selected'], `${count} at once`);
  }
});

test('waiting - many whose time is over at one moment are told by one look at all hosts', () => {
  const { filter, looks } = countingFilter();
  const hosts = Array.from({ length: 1_200 }, (_, n) => ({ host: `h${n}`, has: { VCPU: 8 } }));
  const all = schedulersOf(hosts, [{ name: 's', filters: [filter] }]);
  const ask = (round: number, last: { last?: true }) => {
    for (let n = 0; n < 100; n += 1) {
      const waits = { since: n, ...last };
      all.hear(selectFor(`x-${n}`, { vcpu: 10, round, waits, expiresAt: FOREVER }));
    }
    all.run(1_000, 10);
  };
  ask(1, {});
  all.pass(5_000);
  const before = looks();
  ask(2, { last: true });
  const failed = all.answers.filter(({ type }) => type === 'no-valid-host');
  assert.is(failed.length, 100);
  for (const one of failed)
    assert.match((one as { reason: string }).reason, /it would fit on 1200 hosts, but not without/);
  assert.ok(looks() - before < 5 * 1_200, `${looks() - before} looks`);
});

test.run();
