// Area: turn. How one actor is hosted: what fails is dropped whole and begun again from the journal; the mailbox has an
// end; a wake comes once; no turn is taken while the lease is in doubt.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Message } from '../../actors/actor.ts';
import { type Order, pair, started } from '../support/counter.ts';

const test = suite('turn');

test('mailbox - turns away what is over its limit, and takes again when there is room', async () => {
  const { host, clock, take } = await started({ maxMailbox: 2, automatic: true });
  const fits = [1, 2, 3, 4].map((by) => host.deliver({ type: 'add', by } as Message, 'test'));
  assert.equal(fits, [true, true, false, false]);
  assert.is(host.waiting(), 2);
  assert.is(host.stats.overloaded, 2);
  clock.runUntilIdle();
  assert.is(host.waiting(), 0);
  take({ type: 'ask' });
});

test('mailbox - an answer of what the actor asked beside it is taken, however full it is', async () => {
  const { host } = await started({ maxMailbox: 1, automatic: true });
  host.deliver({ type: 'ask' }, 'test');
  host.deliverAnswer({ type: 'ask' }, 'driver/c1/h1');
  assert.is(host.waiting(), 2);
});

test('mailbox - with very many entries not yet safe, messages wait in it, and go on when those are', async () => {
  const { host, clock, unacknowledged } = await started({ maxMailbox: 10 });
  const deliver = () => {
    const fits = host.deliver({ type: 'add', by: 1 } as Message, 'test');
    clock.runUntilIdle();
    return fits;
  };
  let taken = 0;
  while (taken < 5_000 && deliver()) taken += 1;
  assert.is(taken, 1_024 + 10);
  unacknowledged.shift()?.(null);
  clock.runUntilIdle();
  assert.is(host.waiting(), 0);
});

test('mailbox - a flood is taken in several turns, without losing any', async () => {
  const { host, out, take } = await started({ maxMailbox: 10_000, automatic: true });
  take(...Array.from({ length: 2_000 }, (): Order => ({ type: 'add', by: 1 })));
  assert.ok(host.stats.turns > 1);
  assert.is(host.stats.messages, 2_000);
  assert.is(out.at(-2), 'total 2000');
});

test('mailbox - a turn that takes long ends, and the next goes on, in order, before what has come since', async () => {
  const { host, clock, out, kept, take } = await started({ automatic: true });
  let readAt = 0;
  // Each message takes a millisecond.
  clock.monotonic = () => readAt++;
  const deliver = (by: number) => host.deliver({ type: 'add', by } as Message, 'test');
  for (let by = 1; by <= 10; by += 1) deliver(by);
  clock.step();
  const { turns, messages } = host.stats;
  assert.is(turns, 1);
  assert.ok(messages > 1 && messages < 10, `${messages} in the first turn`);
  assert.is(host.waiting(), 10 - messages);
  deliver(11);
  take({ type: 'ask' });
  assert.equal(
    kept,
    Array.from({ length: 11 }, (_, at) => at + 1),
  );
  assert.is(host.stats.messages, 12);
  assert.is(out.at(-2), 'asked 66');
});

test('mailbox - what comes to an actor that has waited for long is collected with the young', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: { type: 'minor' }) => void;
  const growOld = () => {
    for (let times = 0; times < 3; times += 1) collect({ type: 'minor' });
  };
  const { host, clock, out } = await started();
  const ask = (size: number) => {
    host.deliver({ type: 'ask', more: Array.from({ length: size }, (_, at) => ({ at })) } as Message, 'test');
    clock.runUntilIdle();
    out.length = 0;
  };
  const askAfterWaiting = (size: number) => {
    growOld();
    ask(size);
  };
  for (let times = 0; times < 20; times += 1) askAfterWaiting(1);
  const before = process.memoryUsage().heapUsed;
  for (let times = 0; times < 100; times += 1) askAfterWaiting(1_000);
  growOld();
  const kept = (process.memoryUsage().heapUsed - before) / 100;
  assert.ok(kept < 10_000, `${kept} bytes of each message`);
});

test('wake - comes once, at its time, as a message', async () => {
  const { clock, out, take } = await started();
  take({ type: 'nap', at: 50 });
  clock.advanceTo(49);
  assert.equal(out, []);
  clock.advanceTo(50);
  assert.equal(out, pair('woken at 50'));
  clock.advanceTo(500);
  assert.is(out.length, 2);
});

test('wake - asked for again replaces the one before', async () => {
  const { clock, out, take } = await started();
  take({ type: 'nap', at: 50 });
  take({ type: 'nap', at: 80 });
  clock.advanceTo(79);
  assert.equal(out, []);
  clock.advanceTo(500);
  assert.equal(out, pair('woken at 80'));
  take({ type: 'nap', at: 600 });
  take({ type: 'nap', at: 900 });
  take({ type: 'nap', at: 700 });
  clock.advanceTo(700);
  assert.equal(out, [...pair('woken at 80'), ...pair('woken at 700')]);
  clock.advanceTo(2_000);
  assert.is(out.length, 4);
  assert.is(clock.pending, 0);
});

test('wake - one that is put off a thousand times is set twice', async () => {
  const { clock, out, take } = await started();
  let timers = 0;
  const { after } = clock;
  clock.after = (delayMs, wake) => {
    timers += 1;
    return after(delayMs, wake);
  };
  for (let at = 50; at < 1_050; at += 1) take({ type: 'nap', at });
  assert.is(timers, 1);
  clock.advanceTo(1_048);
  assert.equal(out, []);
  clock.advanceTo(1_049);
  assert.equal(out, pair('woken at 1049'));
  assert.is(timers, 2);
});

test('wake - for an answer of one who comes up anew comes soon, and no later than it would have', async () => {
  for (const [awaited, comesWithin] of [
    ['placement/0', 200],
    ['placement/1', 10_000],
    [undefined, 10_000],
  ] as const) {
    const { host, clock, out, take } = await started();
    take({ type: 'nap', at: 10_000, ...(awaited === undefined ? {} : { awaited }) });
    host.cameUp('placement/0');
    host.cameUp('placement/0');
    clock.advanceTo(comesWithin - (comesWithin === 200 ? 0 : 1));
    assert.is(out.length, comesWithin === 200 ? 2 : 0, `${awaited}`);
    clock.advanceTo(20_000);
    assert.is(out.length, 2);
  }
  {
    const { host, clock, out, take } = await started();
    take({ type: 'nap', at: 50 });
    take({ type: 'nap', at: 10_000, awaited: 'placement/0' });
    host.cameUp('placement/0');
    clock.advanceTo(200);
    assert.is(out.length, 2, 'one that was put off, too');
  }
  const { host, clock, out, take } = await started();
  take({ type: 'nap', at: 1, awaited: 'placement/0' });
  host.cameUp('placement/0');
  clock.advanceTo(1_000);
  assert.equal(out, pair('woken at 1'));
});

test('wake - none comes after the actor was stopped', async () => {
  const { host, clock, out, take } = await started();
  take({ type: 'nap', at: 50 });
  await host.stop();
  clock.advanceTo(500);
  assert.equal(out, []);
  assert.is(clock.pending, 0);
});

test('failure - an actor that throws is dropped whole, and begins again from its journal', async () => {
  const { host, clock, out, kept, failures, take } = await started({ automatic: true });
  take({ type: 'add', by: 7 });
  out.length = 0;
  take({ type: 'add', by: 5 }, { type: 'burst' });
  assert.equal(failures, ["actor 'counter/0' failed: burst"]);
  assert.equal([out, kept], [[], [7]], 'nothing of the failed turn was recorded or seen');
  await host.start();
  clock.advanceTo(500);
  assert.equal(out, pair('recovered 7'), 'no wake of the failed turn comes either');
  take({ type: 'ask' });
  assert.equal(out.slice(2), pair('asked 7'));
});

test('failure - the actor is told that its state is dropped, when it fails and when it is stopped', async () => {
  const on = await started({ automatic: true });
  on.take({ type: 'burst' });
  assert.is(on.dropped, 1);
  await on.host.start();
  assert.is(on.dropped, 1);
  await on.host.stop();
  assert.is(on.dropped, 2);
});

test('failure - what was under way when the actor failed does not touch its next life', async () => {
  for (const outcome of [null, new Error('too late')]) {
    const { host, out, unacknowledged, failures, take } = await started();
    take({ type: 'add', by: 1 });
    take({ type: 'burst' });
    assert.is(failures.length, 1);
    await host.start();
    out.length = 0;
    unacknowledged.shift()?.(outcome);
    assert.is(failures.length, 1, 'an append of the life before fails nothing now');
    assert.equal(out, []);
    take({ type: 'ask' });
    assert.is(out.length, 2, 'the actor is at work');
  }
});

test('start - an actor that is stopped while it reads its journal stays stopped', async () => {
  const { host, clock, out } = await started();
  await host.stop();
  const starting = host.start();
  await host.stop();
  await starting;
  assert.not(host.deliver({ type: 'ask' }, 'test'));
  clock.runUntilIdle();
  assert.equal(out, []);
});

test('start - the journal is replayed before anything is taken, and what came meanwhile waits', async () => {
  const { host, clock, out, take } = await started({ kept: [3, 4] });
  take({ type: 'ask' });
  assert.equal(out, pair('asked 7'));
  await host.stop();
  await host.start();
  clock.runUntilIdle();
  assert.equal(out.slice(2), pair('recovered 7'));
});

// --- the lease

/** A lease that the test may put in doubt. */
const held = () => {
  let certain = true;
  return {
    tenure: { epoch: 7, holds: () => certain },
    doubt(inDoubt: boolean) {
      certain = !inDoubt;
    },
  };
};

test('lease - while it is in doubt no turn is taken, not even one that records nothing', async () => {
  const { tenure, doubt } = held();
  const { host, clock, out, take } = await started({ tenure, automatic: true });
  take({ type: 'ask' });
  assert.equal(out, pair('asked 0'));
  doubt(true);
  take({ type: 'ask' }, { type: 'add', by: 1 });
  assert.is(host.waiting(), 2);
  assert.is(out.length, 2);
  doubt(false);
  host.resume();
  clock.runUntilIdle();
  assert.equal(out.slice(2), [...pair('asked 0'), ...pair('total 1')]);
});

test('lease - messages that wait for it have a limit, and are forgotten when it is lost', async () => {
  const { tenure, doubt } = held();
  const { host, clock, out, take } = await started({ tenure, maxMailbox: 2 });
  doubt(true);
  take({ type: 'ask' }, { type: 'ask' });
  assert.not.ok(host.deliver({ type: 'ask' }, 'test'));
  await host.stop();
  doubt(false);
  host.resume();
  clock.runUntilIdle();
  assert.equal(out, []);
  assert.not.ok(host.isUp());
});

test('lease - it is known why nothing is let out: the journal takes nothing more, or the lease is not renewed', async () => {
  const { tenure, doubt } = held();
  const { host, journal } = await started({ tenure: { ...tenure, refusal: 'no room' } });
  assert.is(host.heldUpBy(), undefined);
  doubt(true);
  assert.is(host.heldUpBy(), 'its lease is not renewed: no room');
  Object.assign(journal, { refusal: 'the journal is full' });
  assert.is(host.heldUpBy(), 'the journal is full');
  await host.stop();
  assert.is(host.heldUpBy(), undefined, 'whoever does not own it is held up by nothing');
});

test('lease - what the state owes is done only when the lease is certain', async () => {
  const { tenure, doubt } = held();
  doubt(true);
  const { host, clock, out } = await started({ tenure, kept: [5] });
  clock.runUntilIdle();
  assert.equal(out, []);
  doubt(false);
  host.resume();
  clock.runUntilIdle();
  assert.equal(out, pair('recovered 5'));
});

test('draining - it is over when all that came is decided, safe and let out', async () => {
  const { host, clock, out, unacknowledged, take } = await started();
  take({ type: 'add', by: 1 });
  assert.ok(host.deliver({ type: 'add', by: 2 } as Order, 'test'));
  let over = false;
  void host.drained().then(() => {
    over = true;
  });
  const settle = async () => {
    clock.runUntilIdle({ untilMs: clock.now() });
    await new Promise((resolve) => setImmediate(resolve));
  };
  await settle();
  assert.is(unacknowledged.length, 1);
  assert.not.ok(over);
  unacknowledged.shift()?.(null);
  await settle();
  assert.is(unacknowledged.length, 1, 'the second is an entry of its own, after the first');
  assert.not.ok(over);
  unacknowledged.shift()?.(null);
  await settle();
  assert.ok(over);
  assert.equal(out, [...pair('total 1'), ...pair('total 3')]);
});

test('draining - it is not over while a turn that took long has left something for the next', async () => {
  const { host, clock } = await started({ atOnce: true });
  let readAt = 0;
  clock.monotonic = () => readAt++;
  for (let by = 1; by <= 10; by += 1) host.deliver({ type: 'add', by } as Message, 'test');
  let decided = 0;
  void host.drained().then(() => {
    decided = host.stats.messages;
  });
  clock.runUntilIdle({ untilMs: clock.now() });
  await new Promise((resolve) => setImmediate(resolve));
  assert.is(decided, 10);
  assert.ok(host.stats.turns > 1);
});

test('draining - one that has stopped, or fails meanwhile, is waited for no longer', async () => {
  for (const end of ['stop', 'fail'] as const) {
    const { host, clock, unacknowledged, take } = await started();
    take({ type: 'add', by: 1 });
    let over = false;
    void host.drained().then(() => {
      over = true;
    });
    if (end === 'stop') await host.stop();
    else unacknowledged.shift()?.(new Error('no room'));
    await clock.runAsync(() => over);
  }
});

test('draining - a snapshot that the journal wants at its end stands after all that was decided by then', async () => {
  const snapshots: unknown[] = [];
  const { host, journal, clock, unacknowledged, take } = await started({ snapshotAfter: 0, snapshots });
  let want: (() => void) | undefined;
  journal.settle = (onWanted) => {
    want = onWanted;
    return new Promise(() => {});
  };
  void host.drained();
  await clock.runAsync(() => want !== undefined);
  // Nobody waits for what it lets out: it is kept for company.
  take({ type: 'note', by: 5 });
  assert.is(unacknowledged.length, 0);
  want?.();
  assert.is(unacknowledged.length, 1, 'else it would be applied again to a state that has it already');
  assert.equal(snapshots.at(-1), { total: 5 });
});

test.run();
