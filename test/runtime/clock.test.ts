// Area: clock. The virtual clock keeps order and never goes back; the system clock is never early.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { CellwrightError } from '../../runtime/errors.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';
import { failureOf, until } from '../support/until.ts';

const test = suite('clock');
const withCode = (code: string) => (error: CellwrightError) => error.code === code;

test('virtual clock - time stands still until something is run', () => {
  const clock = virtualClock({ startMs: 1000 });
  let ran = 0;
  clock.at(1500, () => ran++);
  clock.soon(() => ran++);
  assert.equal([clock.now(), ran, clock.pending, clock.nextAt], [1000, 0, 2, 1500]);
  assert.is(clock.runUntilIdle(), 2);
  assert.equal([clock.now(), ran, clock.pending, clock.nextAt], [1500, 2, 0, undefined]);
});

test('virtual clock - tasks run before any timer, in order, and so do those that they add', () => {
  const clock = virtualClock();
  const ran: string[] = [];
  clock.at(0, () => ran.push('timer'));
  clock.soon(() => {
    ran.push('first');
    clock.soon(() => ran.push('third'));
  });
  clock.soon(() => ran.push('second'));
  clock.runUntilIdle();
  assert.equal(ran, ['first', 'second', 'third', 'timer']);
});

test('virtual clock - timers run by time, then by creation; cancelled ones do not', () => {
  const timers = fc.array(fc.record({ at: fc.nat(50), cancel: fc.boolean() }), { maxLength: 300 });
  void fc.assert(
    fc.property(timers, (plan) => {
      const clock = virtualClock();
      const ran: { at: number; index: number }[] = [];
      const handles = plan.map(({ at }, index) =>
        clock.at(at, () => {
          assert.is(clock.now(), at);
          ran.push({ at, index });
        }),
      );
      for (const [index, { cancel }] of plan.entries()) if (cancel) handles[index]?.cancel();
      const expected = plan
        .map(({ at, cancel }, index) => ({ at, index, cancel }))
        .filter(({ cancel }) => !cancel)
        .map(({ at, index }) => ({ at, index }))
        .sort((one, other) => one.at - other.at || one.index - other.index);
      assert.is(clock.pending, expected.length);
      clock.runUntilIdle();
      assert.equal(ran, expected);
      assert.is(clock.pending, 0);
    }),
  );
});

test('virtual clock - deadlines that are met leave nothing behind', () => {
  const clock = virtualClock();
  let ran = 0;
  const keep = clock.at(2_000_000, () => ran++);
  for (let n = 0; n < 200_000; n++) clock.at(1_000_000 + n, () => ran++).cancel();
  keep.cancel();
  keep.cancel();
  assert.is(clock.pending, 0);
  clock.at(5, () => ran++);
  assert.is(clock.runUntilIdle(), 1);
  assert.equal([ran, clock.now()], [1, 5]);
});

test('virtual clock - the order stays when many are cancelled', () => {
  const clock = virtualClock();
  const ran: number[] = [];
  const timers = Array.from({ length: 10_007 }, (_, n) => {
    const at = (n * 7919) % 10_007;
    return { at, handle: clock.at(at, () => ran.push(at)) };
  });
  for (const { at, handle } of timers) if (at % 10 !== 0) handle.cancel();
  assert.is(clock.pending, 1001);
  clock.runUntilIdle();
  assert.equal(
    ran,
    Array.from({ length: 1001 }, (_, n) => n * 10),
  );
});

test('virtual clock - a timer in the past runs now, and time does not go back', () => {
  const clock = virtualClock({ startMs: 100 });
  let at = 0;
  clock.at(5, () => (at = clock.now()));
  clock.runUntilIdle();
  assert.equal([at, clock.now()], [100, 100]);
  assert.throws(() => clock.advanceTo(99), withCode('bad-time'));
  assert.throws(() => clock.at(NaN, () => {}), withCode('bad-time'));
  assert.throws(() => clock.at(Infinity, () => {}), withCode('bad-time'));
});

test('virtual clock - advanceTo runs what is due up to then and no more', () => {
  const clock = virtualClock();
  const ran: number[] = [];
  for (const at of [10, 20, 21]) clock.at(at, () => ran.push(at));
  clock.advanceTo(20);
  assert.equal([clock.now(), ran], [20, [10, 20]]);
  clock.runUntilIdle({ untilMs: 20 });
  assert.equal([clock.now(), ran], [20, [10, 20]]);
  assert.is(clock.step(), true);
  assert.is(clock.step(), false);
  assert.equal([clock.now(), ran], [21, [10, 20, 21]]);
});

test('virtual clock - an endless loop is an error', () => {
  const clock = virtualClock();
  const again = (): void => clock.soon(again);
  again();
  assert.throws(() => clock.runUntilIdle({ maxSteps: 1000 }), withCode('clock-runaway'));
});

test('virtual clock - what a task throws comes out, and the clock goes on', () => {
  const clock = virtualClock();
  let ran = 0;
  clock.soon(() => {
    throw new Error('broken');
  });
  clock.soon(() => ran++);
  clock.at(1, () => {
    throw new Error('late');
  });
  clock.at(2, () => ran++);
  assert.throws(() => clock.runUntilIdle(), /broken/);
  assert.throws(() => clock.runUntilIdle(), /late/);
  clock.runUntilIdle();
  assert.equal([ran, clock.now()], [2, 2]);
});

test('virtual clock - runAsync lets promises go on before time moves', async () => {
  const clock = virtualClock();
  const seen: number[] = [];
  const sleep = (ms: number) => new Promise<void>((resolve) => clock.at(clock.now() + ms, resolve));
  const work = async (): Promise<void> => {
    await sleep(10);
    for (let hop = 0; hop < 100; hop++) await Promise.resolve();
    seen.push(clock.now());
    await sleep(5);
    seen.push(clock.now());
  };
  let done = false;
  void work().then(() => (done = true));
  clock.at(12, () => seen.push(clock.now()));
  await clock.runAsync(() => done);
  assert.equal(seen, [10, 12, 15]);
});

test('virtual clock - runAsync says so when nothing can make its condition true, or nothing ends', async () => {
  const clock = virtualClock();
  assert.is((await failureOf(() => clock.runAsync(() => false))).code, 'clock-idle');
  const again = (): void => clock.soon(again);
  again();
  assert.is((await failureOf(() => clock.runAsync(() => false, { maxSteps: 100 }))).code, 'clock-runaway');
});

test('system clock - timers are never early, cancelled ones never come', async () => {
  const clock = systemClock();
  const early: number[] = [];
  let woken = 0;
  for (let n = 0; n < 50; n++) {
    const at = clock.now() + n;
    clock.at(at, () => {
      woken++;
      if (clock.now() < at) early.push(at);
    });
  }
  const cancelled = clock.at(clock.now() + 5, () => (woken += 1000));
  cancelled.cancel();
  await until('all timers have come', () => woken >= 50);
  assert.equal([woken, early], [50, []]);
});

test('system clock - a timer beyond 2^31 ms does not fire at once, and can be cancelled', async () => {
  const clock = systemClock();
  let woken = false;
  const far = clock.at(clock.now() + 2 ** 33, () => (woken = true));
  let later = false;
  clock.at(clock.now() + 20, () => (later = true));
  await until('a short timer has come', () => later);
  assert.is(woken, false);
  far.cancel();
  assert.throws(() => clock.at(NaN, () => {}), withCode('bad-time'));
  assert.throws(() => clock.after(NaN, () => {}), withCode('bad-time'));
});

test('system clock - what is waited for comes after as long, whether the time of day is set back or forward', async () => {
  const real = Date.now;
  const clock = systemClock();
  try {
    for (const byMs of [-3_600_000, 3_600_000]) {
      const before = clock.now();
      const came: string[] = [];
      clock.at(before + 20, () => came.push('at'));
      clock.after(20, () => came.push('after'));
      clock.at(before + 600_000, () => came.push('later')).cancel();
      Date.now = () => real() + byMs;
      assert.ok(Math.abs(clock.now() - before) > 3_000_000, 'the clock tells the time of day');
      await until('both have come', () => came.length === 2, 2_000);
      Date.now = real;
    }
  } finally {
    Date.now = real;
  }
});

test('system clock - soon is after what runs now, in order', async () => {
  const clock = systemClock();
  const ran: string[] = [];
  clock.soon(() => ran.push('first'));
  clock.soon(() => ran.push('second'));
  ran.push('now');
  await until('both have run', () => ran.length === 3);
  assert.equal(ran, ['now', 'first', 'second']);
});

test('system clock - what a tick adds runs in it, but not without end, and what throws costs nobody else a turn', async () => {
  const clock = systemClock();
  const ran: string[] = [];
  let rounds = 0;
  const again = (): void => {
    rounds += 1;
    if (rounds < 1_000) clock.soon(again);
  };
  clock.soon(again);
  let roundsBefore = 0;
  setImmediate(() => setImmediate(() => (roundsBefore = rounds)));
  await until('the event loop went on', () => roundsBefore > 0);
  assert.ok(roundsBefore < 20, `${roundsBefore} rounds`);
  await until('all rounds have run', () => rounds === 1_000);

  const thrown: unknown[] = [];
  const handlers = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.once('uncaughtException', (error) => thrown.push(error));
  try {
    clock.soon(() => {
      throw new Error('broken');
    });
    clock.soon(() => ran.push('next'));
    await until('the next has run', () => ran.includes('next'));
  } finally {
    process.removeAllListeners('uncaughtException');
    for (const handler of handlers) process.on('uncaughtException', handler);
  }
  assert.equal(String(thrown), 'Error: broken');
});

test('system clock - of very many timers each comes, in order, and without any left a process may end', async () => {
  const clock = systemClock();
  const begun = clock.now();
  const came: number[] = [];
  for (let n = 0; n < 10_000; n += 1) {
    const at = begun + ((n * 7919) % 100);
    const timer = clock.at(at, () => came.push(at));
    if (n % 2 === 1) timer.cancel();
  }
  await until('half of them have come', () => came.length === 5_000);
  assert.equal(
    came,
    came.toSorted((one, other) => one - other),
  );
  const source = `import('./runtime/system-clock.ts').then(({ systemClock }) => {
    const clock = systemClock();
    clock.after(600_000, () => {}).cancel();
    clock.at(Date.now() + 600_000, () => {}).cancel();
    clock.after(1, () => console.log('woken'));
  })`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', '-e', source], {
    timeout: 30_000,
  });
  assert.is(stdout, 'woken\n');
});

test.run();
