// Area: the keeping of a lease. Several processes keep the same one in memory, on a clock that the test moves: one of
// them serves, the others stand by; a stop hands over, a silence is waited out, and whoever is in doubt takes no turn.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CellwrightError, TimeoutError } from '../../runtime/errors.ts';
import { type Duty, type Keeper, keeperOf } from '../../runtime/ownership/keeper.ts';
import type { Leases, SeenLease } from '../../runtime/ownership/leases.ts';
import { memoryLeases } from '../../runtime/ownership/memory.ts';
import type { Tenure } from '../../runtime/ownership/tenure.ts';
import { type VirtualClock, virtualClock } from '../../runtime/virtual-clock.ts';
import { withResolvers } from '../../runtime/with-resolvers.ts';
import { failureOf, settled } from '../support/until.ts';

const test = suite('keeping a lease');

const ADDRESS = 'placement/0';
const TTL_MS = 3_000;
/** A lease that was removed. */
const GONE: SeenLease = { record: null, revision: 0 };

interface Process {
  readonly keeper: Keeper;
  /** What its actor was told to do, in order. */
  readonly duties: string[];
  tenure: Tenure | undefined;
  /** Cut off, its reads and writes fail, and it hears of no change. */
  cutOff: boolean;
  /** What its reads and writes fail with then; undefined: nothing answers. */
  says: string | undefined;
  /** The next so many writes are carried out, but their answers are lost. */
  losesAnswers: number;
  /** For it each lease is gone soon after it is written, as where a store drops what is old. */
  dropsLeases: boolean;
  /** Its writes wait until it goes on. */
  hangs: boolean;
  goOn(): void;
  /** What is in its actor's mailbox is never done. */
  isStuck: boolean;
  /** To open the actor takes until this. */
  opened: Promise<void> | undefined;
  /** Its next attempts to open the actor fail of this. */
  failsOf: Error | undefined;
  errors: string[];
}

interface Room {
  readonly clock: VirtualClock;
  readonly leases: Leases;
  process(name: string, ttlMs?: number): Process;
  /** Starts it and waits until it serves or stands by. */
  start(one: Process): Promise<void>;
  /** Two of them, of which the second stands by. */
  startTwo(): Promise<[one: Process, two: Process]>;
  until(holds: () => boolean): Promise<void>;
  pass(ms: number): Promise<void>;
  /** Ends every process, so that no timer is left. */
  end(): Promise<void>;
}

async function inRoom(run: (room: Room) => Promise<void>): Promise<void> {
  const clock = virtualClock();
  const leases = memoryLeases({ clock });
  const all: Process[] = [];

  function through(one: Process): Leases {
    const reach = () => {
      if (one.cutOff) throw one.says === undefined ? new TimeoutError('the server', TTL_MS) : new Error(one.says);
    };
    return {
      async read(address) {
        reach();
        return one.dropsLeases ? GONE : leases.read(address);
      },
      watch(address, onSeen, onEnd) {
        if (one.dropsLeases) {
          const telling = clock.after(1, () => onSeen(GONE));
          return { stop: () => telling.cancel() };
        }
        if (!one.cutOff) return leases.watch(address, (seen) => one.cutOff || onSeen(seen), onEnd);
        const ending = clock.after(1, () => onEnd(new TimeoutError('the server', TTL_MS)));
        return { stop: () => ending.cancel() };
      },
      async write(...what) {
        reach();
        if (one.dropsLeases) {
          const [address, record, revision] = what;
          return revision === 0 ? leases.write(address, record, (await leases.read(address)).revision) : null;
        }
        if (one.hangs) await new Promise<void>((resolve) => (one.goOn = resolve));
        const written = await leases.write(...what);
        reach();
        if (one.losesAnswers === 0) return written;
        one.losesAnswers -= 1;
        throw new TimeoutError('the server', TTL_MS);
      },
    };
  }

  const room: Room = {
    clock,
    leases,
    process(name, ttlMs = TTL_MS) {
      const duty: Duty = {
        async open(tenure) {
          one.duties.push('open');
          if (one.failsOf !== undefined) throw one.failsOf;
          one.tenure = tenure;
          await one.opened;
        },
        resume() {},
        async drain() {
          one.duties.push('drain');
          if (one.isStuck) await new Promise(() => undefined);
        },
        async drop() {
          one.duties.push('drop');
          one.tenure = undefined;
          // What is being opened is awaited.
          if (one.opened !== undefined) await one.opened.catch(() => undefined);
        },
      };
      const one: Process = {
        duties: [],
        tenure: undefined,
        cutOff: false,
        says: undefined,
        losesAnswers: 0,
        dropsLeases: false,
        hangs: false,
        goOn() {},
        isStuck: false,
        opened: undefined,
        failsOf: undefined,
        errors: [],
        get keeper() {
          return keeper;
        },
      };
      const keeper = keeperOf({
        address: ADDRESS,
        name,
        leases: through(one),
        clock,
        ttlMs,
        duty,
        onError: (_error, what) => one.errors.push(what),
      });
      all.push(one);
      return one;
    },
    async start(one) {
      let over = false;
      const started = one.keeper.start().finally(() => {
        over = true;
      });
      started.catch(() => undefined);
      await room.until(() => over);
      return started;
    },
    async startTwo() {
      const [one, two] = [room.process('one'), room.process('two')];
      await room.start(one);
      await room.start(two);
      return [one, two];
    },
    until: (holds) => clock.runAsync(holds),
    pass(ms) {
      let over = false;
      clock.after(ms, () => {
        over = true;
      });
      return clock.runAsync(() => over);
    },
    async end() {
      let left = all.length;
      for (const one of all) {
        one.cutOff = false;
        void one.keeper.stop().then(() => {
          left -= 1;
        });
      }
      await clock.runAsync(() => left === 0);
    },
  };
  try {
    await run(room);
  } finally {
    await room.end();
  }
  assert.is(clock.pending, 0, 'no timer is left');
}

const stateOf = ({ keeper }: Process) => keeper.standing.state;
const serves = (one: Process) => stateOf(one) === 'owning' && one.tenure?.holds() === true;

test('keeping - the first one serves, the second stands by and says who owns it', () =>
  inRoom(async ({ startTwo }) => {
    const [one, two] = await startTwo();
    assert.equal([stateOf(one), stateOf(two)], ['owning', 'standby']);
    assert.is(two.keeper.standing.owner, 'one');
    assert.equal([one.duties, two.duties], [['open'], []]);
  }));

test('keeping - a stop drains, drops and hands over at once, without waiting for the lease', () =>
  inRoom(async ({ clock, until, startTwo }) => {
    const [one, two] = await startTwo();
    const at = clock.now();
    let stopped = false;
    void one.keeper.stop().then(() => {
      stopped = true;
    });
    await until(() => serves(two));
    assert.ok(stopped);
    assert.is(clock.now(), at);
    assert.equal(one.duties, ['open', 'drain', 'drop']);
    await one.keeper.stop();
  }));

test('keeping - a stop waits for what is never done as long as a lease lasts, then drops it and hands over', () =>
  inRoom(async ({ clock, until, startTwo }) => {
    const [one, two] = await startTwo();
    one.isStuck = true;
    const at = clock.now();
    void one.keeper.stop();
    await until(() => serves(two));
    assert.is(clock.now() - at, TTL_MS);
    assert.equal(one.duties, ['open', 'drain', 'drop']);
  }));

test('keeping - a stop waits for nothing from when on it is given up, and hands over where that is still heard', () =>
  inRoom(async ({ clock, until, pass, startTwo }) => {
    const [one, two] = await startTwo();
    one.isStuck = true;
    const at = clock.now();
    const { promise: givenUp, resolve: giveUp } = withResolvers();
    void one.keeper.stop(givenUp);
    await pass(TTL_MS / 10);
    giveUp();
    await until(() => serves(two));
    assert.equal([clock.now() - at, stateOf(one)], [TTL_MS / 10, 'stopped']);
    assert.equal(one.duties, ['open', 'drain', 'drop']);
  }));

test('keeping - a stop that is given up waits for no lease that is being taken or given back, and for no actor that is being opened', () =>
  inRoom(async ({ clock, process, until, pass }) => {
    for (const [state, losesAnswers] of [
      ['acquiring', 0],
      ['acquiring', 1],
      ['opening', 0],
      ['owning', 0],
    ] as const) {
      const one = process('one');
      one.hangs = true;
      one.opened = state === 'owning' ? undefined : new Promise(() => {});
      const starting = one.keeper.start();
      await until(() => stateOf(one) === 'acquiring');
      if (state !== 'acquiring') {
        one.hangs = false;
        one.goOn();
        await until(() => stateOf(one) === state);
        one.hangs = state === 'owning';
      }
      const at = clock.now();
      const { promise: givenUp, resolve: giveUp } = withResolvers();
      const stopping = one.keeper.stop(givenUp).then(() => clock.now() - at);
      await pass(TTL_MS / 10);
      giveUp();
      await until(() => stateOf(one) === 'stopped');
      assert.is(await stopping, TTL_MS / 10, state);
      await starting;
      one.losesAnswers = losesAnswers;
      one.goOn();
      await pass(1);
      assert.equal([stateOf(one), one.errors], ['stopped', []], 'an answer that comes after that means nothing');
    }
  }));

test('keeping - a stop leaves the lease free though the answer to its last renewal was lost', () =>
  inRoom(async ({ clock, until, startTwo }) => {
    const [one, two] = await startTwo();
    one.losesAnswers = 1;
    await until(() => one.errors.length > 0);
    const at = clock.now();
    void one.keeper.stop();
    await until(() => serves(two));
    assert.is(clock.now(), at);
  }));

test('keeping - a stop leaves the lease to another that has taken it meanwhile', () =>
  inRoom(async ({ leases, process, start, until, pass }) => {
    const [one, two] = [process('one'), process('two')];
    await start(one);
    await start(two);
    one.cutOff = true;
    await until(() => serves(two));
    one.cutOff = false;
    void one.keeper.stop();
    await until(() => stateOf(one) === 'stopped');
    const reading = leases.read(ADDRESS);
    await pass(2 * TTL_MS);
    assert.is((await reading).record?.owner, 'two');
    assert.equal([serves(two), two.duties], [true, ['open']]);
  }));

test('keeping - one that falls silent is replaced when its lease is over, not before, and had stopped by itself', () =>
  inRoom(async ({ clock, until, startTwo }) => {
    const [one, two] = await startTwo();
    one.cutOff = true;
    const at = clock.now();
    await until(() => one.tenure?.holds() === false);
    assert.ok(clock.now() < at + TTL_MS);
    assert.is(stateOf(two), 'standby');
    await until(() => serves(two));
    assert.ok(clock.now() <= at + TTL_MS + 100, `${clock.now() - at} ms`);
    assert.ok(!serves(one));
    one.cutOff = false;
    await until(() => stateOf(one) === 'standby' && one.keeper.standing.owner === 'two');
    assert.equal(one.duties, ['open', 'drop']);
  }));

test('keeping - one that was cut off for long while it stood by takes over at once when it is back for as long as a lease lasts', () =>
  inRoom(async ({ clock, until, pass, startTwo }) => {
    let [owner, other] = await startTwo();
    for (const forMs of [60_000, 61_000, 62_000]) {
      for (const each of [owner, other]) each.cutOff = true;
      other.errors.length = 0;
      await pass(forMs);
      assert.equal(other.errors, ["acquiring 'placement/0'", "following 'placement/0'"], 'each is told once');
      for (const each of [owner, other]) each.cutOff = false;
      await pass(TTL_MS);
      assert.ok(serves(owner));
      const at = clock.now();
      owner.keeper.failed(new Error('bad'));
      await until(() => serves(owner) || serves(other));
      assert.is(clock.now(), at);
      [owner, other] = [other, owner];
      await pass(TTL_MS);
    }
  }));

test('keeping - one that stands by and is cut off for a moment tells of that each time', () =>
  inRoom(async ({ process, start, pass }) => {
    const [one, two] = [process('one'), process('two')];
    await start(one);
    await start(two);
    for (const time of ['first', 'second']) {
      two.errors.length = 0;
      two.cutOff = true;
      await pass(3 * TTL_MS);
      two.cutOff = false;
      await pass(TTL_MS + 100);
      assert.equal(two.errors, ["acquiring 'placement/0'", "following 'placement/0'"], time);
      assert.equal([stateOf(two), serves(one)], ['standby', true], time);
    }
  }));

test('keeping - one that cannot take the lease tries again as soon as a lease lasts, tells of it once, and sooner the next time', () =>
  inRoom(async ({ clock, process, start, until, pass }) => {
    const [one, two] = [process('one'), process('two')];
    await start(one);
    await start(two);
    for (const time of ['first', 'second']) {
      one.cutOff = true;
      two.errors.length = 0;
      two.losesAnswers = 5;
      await until(() => two.errors.length > 0);
      const at = clock.now();
      await until(() => serves(two));
      assert.is(clock.now() - at, 1_000 + 2_000 + 3 * TTL_MS, time);
      assert.equal(two.errors, ["acquiring 'placement/0'"], time);
      one.cutOff = false;
      await pass(2 * TTL_MS);
      two.keeper.failed(new Error('bad'));
      await until(() => serves(one));
      await pass(2 * TTL_MS);
      assert.is(stateOf(two), 'standby');
    }
  }));

test('keeping - the lease of another is waited for as long as that one says that it lasts', () =>
  inRoom(async ({ clock, process, start, until, pass }) => {
    const [one, two] = [process('one', 4 * TTL_MS), process('two')];
    await start(one);
    await start(two);
    await pass(8 * TTL_MS);
    assert.equal([serves(one), stateOf(two), one.duties], [true, 'standby', ['open']]);
    one.cutOff = true;
    const at = clock.now();
    await until(() => serves(two));
    assert.ok(clock.now() - at > 2 * TTL_MS && one.tenure?.holds() === false, `${clock.now() - at} ms`);
  }));

test('keeping - one that is cut off with nobody standing by serves again when its lease is renewed', () =>
  inRoom(async ({ process, start, until, pass }) => {
    const one = process('one');
    await start(one);
    one.cutOff = true;
    await pass(TTL_MS * 3);
    assert.is(stateOf(one), 'unsure');
    assert.is(one.tenure?.holds(), false);
    one.cutOff = false;
    await until(() => serves(one));
    assert.equal(one.duties, ['open'], 'it has lost nothing');
  }));

test('keeping - one that was cut off while its actor was opened does not serve before its lease is renewed', () =>
  inRoom(async ({ process, start, until, pass }) => {
    const one = process('one');
    const opening = withResolvers();
    one.opened = opening.promise;
    const started = start(one);
    await until(() => one.tenure !== undefined);
    one.cutOff = true;
    await pass(TTL_MS * 3);
    assert.is(stateOf(one), 'opening');
    opening.resolve();
    await started;
    assert.is(stateOf(one), 'unsure');
    one.cutOff = false;
    await until(() => serves(one));
    assert.equal(one.duties, ['open']);
  }));

test('keeping - whoever has dropped its actor holds nothing any more, whatever is left of its lease', () =>
  inRoom(async ({ process, start, until }) => {
    const one = process('one');
    await start(one);
    const { tenure } = one;
    assert.ok(tenure?.holds());
    one.keeper.fenced();
    await until(() => one.duties.includes('drop'));
    await until(() => tenure?.holds() === false || one.duties.length > 2);
    assert.equal([tenure?.holds(), one.duties], [false, ['open', 'drop']]);
  }));

test('keeping - renewals that fail for long are tried as often, and told of once a minute and for each reason', () =>
  inRoom(async ({ process, start, pass, until }) => {
    const one = process('one');
    await start(one);
    const renewals = () => one.errors.filter((what) => what === `renewing the lease of '${ADDRESS}'`).length;
    one.cutOff = true;
    await pass(59_000);
    assert.is(renewals(), 1);
    assert.is(one.tenure?.refusal, 'the server does not answer');
    one.says = 'insufficient resources';
    await pass(1_000);
    assert.is(renewals(), 2, 'it is another reason');
    assert.is(one.tenure?.refusal, 'insufficient resources');
    await pass(65_000);
    assert.is(renewals(), 3);
    one.says = undefined;
    await pass(1_000);
    one.says = 'insufficient resources';
    await pass(1_000);
    assert.is(renewals(), 4);
    assert.is(one.tenure?.refusal, 'insufficient resources', 'though that is not told again yet');
    one.cutOff = false;
    await until(() => serves(one));
    assert.is(one.tenure?.refusal, undefined);
    one.cutOff = true;
    await pass(TTL_MS);
    assert.is(renewals(), 5, 'it had been renewed meanwhile');
  }));

test('keeping - that its lease is removed again and again is told of once a minute, and it serves all the same', () =>
  inRoom(async ({ process, start, pass, until }) => {
    const one = process('one');
    await start(one);
    const removals = () => one.errors.filter((what) => what === `the lease of '${ADDRESS}'`).length;
    one.dropsLeases = true;
    await pass(59_000);
    assert.is(removals(), 1);
    assert.ok(one.duties.filter((what) => what === 'open').length > 10);
    await pass(5_000);
    assert.is(removals(), 2);
    one.dropsLeases = false;
    await until(() => serves(one));
  }));

test('keeping - renewals whose answers are lost are taken for its own', () =>
  inRoom(async ({ pass, startTwo }) => {
    const [one, two] = await startTwo();
    for (let round = 0; round < 5; round += 1) {
      one.losesAnswers = 1;
      await pass(TTL_MS);
      assert.ok(serves(one));
    }
    assert.is(stateOf(two), 'standby');
    assert.equal(one.duties, ['open']);
  }));

test('keeping - a lease that was taken though the answer was lost is taken up again', () =>
  inRoom(async ({ process, start, until }) => {
    const one = process('one');
    one.losesAnswers = 1;
    await start(one);
    await until(() => serves(one));
    assert.equal(one.duties, ['open']);
    assert.equal(one.errors, [`acquiring '${ADDRESS}'`]);
  }));

test('keeping - a start waits for a server that is slow to answer', () =>
  inRoom(async ({ process, start }) => {
    const one = process('one');
    one.losesAnswers = 3;
    await start(one);
    assert.ok(serves(one));
    assert.equal(one.errors, [`acquiring '${ADDRESS}'`], 'it tells the reason once');
  }));

test('keeping - a start tries to open the actor every two seconds, and tells of each reason once', () =>
  inRoom(async ({ clock, process, start }) => {
    const one = process('one');
    one.failsOf = new TimeoutError('the server', TTL_MS);
    clock.after(20_000, () => {
      one.failsOf = undefined;
    });
    await start(one);
    assert.ok(clock.now() <= 22_000, `${clock.now()} ms`);
    assert.equal([serves(one), one.errors], [true, [`opening '${ADDRESS}'`]]);
  }));

test('keeping - a start gives up when the server stays slow', () =>
  inRoom(async ({ clock, process, start }) => {
    const one = process('one');
    one.losesAnswers = Number.POSITIVE_INFINITY;
    const from = clock.monotonic();
    assert.is((await failureOf(() => start(one))).code, 'timeout');
    const tookMs = clock.monotonic() - from;
    assert.ok(tookMs >= 30_000 && tookMs < 33_000, `it gave up after ${tookMs} ms`);
    one.losesAnswers = 0;
  }));

test('keeping - the number of the tenure rises from owner to owner', () =>
  inRoom(async ({ process, start, until, pass }) => {
    const all = ['one', 'two', 'three'].map((name) => process(name));
    for (const one of all) await start(one);
    const epochs: number[] = [];
    for (const one of all) {
      await until(() => all.some(serves));
      const owner = all.find(serves) as Process;
      await pass(TTL_MS);
      epochs.push(owner.keeper.standing.epoch as number);
      void owner.keeper.stop();
      await until(() => stateOf(owner) === 'stopped');
      assert.ok(one);
    }
    assert.equal(
      epochs,
      [...new Set(epochs)].sort((a, b) => a - b),
    );
    assert.is(epochs.length, 3);
  }));

test('keeping - of many that start at once, exactly one serves', () =>
  inRoom(async ({ process, start }) => {
    const all = Array.from({ length: 8 }, (_, n) => process(`p${n}`));
    await Promise.all(all.map(start));
    assert.is(all.filter(serves).length, 1);
    assert.is(all.filter((one) => stateOf(one) === 'standby').length, 7);
  }));

test('keeping - what the first opening fails of is told, and later ones are tried again', () =>
  inRoom(async ({ process, start, until }) => {
    const one = process('one');
    one.failsOf = new CellwrightError('unknown-version', 'entry 7 is of version 9');
    assert.is((await failureOf(() => start(one))).code, 'unknown-version');
    one.failsOf = undefined;
    await until(() => serves(one));
    assert.equal(one.duties, ['open', 'drop', 'open']);
  }));

test('keeping - one that fails again and again leaves the actor to one that stands by', () =>
  inRoom(async ({ until, startTwo }) => {
    const [one, two] = await startTwo();
    one.keeper.failed(new Error('bad'));
    await until(() => serves(two));
    await until(() => stateOf(one) === 'standby');
    assert.equal(one.duties, ['open', 'drop']);
  }));

test('keeping - one that fails rests longer each time, and shortly again once it has served for a minute', () =>
  inRoom(async ({ clock, process, start, until, pass }) => {
    const one = process('one');
    await start(one);
    const restAfterFailure = async () => {
      const at = clock.now();
      one.keeper.failed(new Error('bad'));
      await until(() => !serves(one));
      await until(() => serves(one));
      return clock.now() - at;
    };
    const rests: number[] = [];
    for (let time = 0; time < 7; time += 1) rests.push(await restAfterFailure());
    assert.equal(rests, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    await pass(61_000);
    assert.is(await restAfterFailure(), 1_000);
  }));

test('keeping - one that is fenced drops everything at once and begins anew', () =>
  inRoom(async ({ process, start, until }) => {
    const one = process('one');
    await start(one);
    one.keeper.fenced();
    assert.equal(one.duties, ['open', 'drop']);
    assert.is(one.tenure, undefined);
    await until(() => serves(one));
  }));

test('keeping - told to stop while it reads the journal, it says of no fault that the reading is broken off', () =>
  inRoom(async ({ until, startTwo }) => {
    const [one, two] = await startTwo();
    const opening = withResolvers();
    two.opened = opening.promise;
    void one.keeper.stop();
    await until(() => two.tenure !== undefined);
    let stopped = false;
    void two.keeper.stop().then(() => {
      stopped = true;
    });
    opening.reject(new Error('the journal cannot be read to its end'));
    await until(() => stopped);
    assert.equal(two.duties, ['open', 'drop']);
    assert.equal(two.errors, []);
  }));

test('keeping - told to stop before it could open its actor for the first time, it says why it could not', () =>
  inRoom(async ({ process, until }) => {
    const one = process('one');
    let fail = () => {};
    one.opened = new Promise((_, reject) => {
      fail = () => reject(new CellwrightError('unknown-version', 'entry 7 is of version 9'));
    });
    const starting = failureOf(() => one.keeper.start());
    await until(() => one.tenure !== undefined);
    void one.keeper.stop();
    fail();
    assert.is((await starting).code, 'unknown-version');
    await until(() => stateOf(one) === 'stopped');
  }));

test('keeping - told to stop in the middle of taking the lease, it leaves it free', () =>
  inRoom(async ({ leases, process, start, until }) => {
    const one = process('one');
    const starting = start(one);
    await until(() => stateOf(one) === 'acquiring');
    let stopped = false;
    void one.keeper.stop().then(() => {
      stopped = true;
    });
    await until(() => stopped);
    await starting;
    assert.equal(one.duties, []);
    let owner: string | null | undefined;
    void leases.read(ADDRESS).then(({ record }) => {
      owner = record?.owner;
    });
    await until(() => owner !== undefined);
    assert.is(owner, null);
  }));

test('keeping a lease - who asks whether its lease is held is told so, and learns that it is not, whatever its clock says', async () => {
  await inRoom(async ({ clock, leases, process, start }) => {
    const one = process('one');
    await start(one);
    const { tenure } = one;
    const confirmed = () => settled(clock, Promise.all([tenure?.confirm?.(), tenure?.confirm?.()]));
    assert.equal(await confirmed(), [true, true]);
    assert.equal(one.errors, []);
    const { revision } = await settled(clock, leases.read(ADDRESS));
    const other = { v: 1, owner: 'two', holder: 'two-1', ttlMs: TTL_MS } as const;
    const written = settled(clock, leases.write(ADDRESS, other, revision));
    assert.is.not(await written, null);
    assert.ok(tenure?.holds());
    assert.equal(await confirmed(), [false, false]);
    assert.is(tenure?.holds(), false);
  });
});

test.run();
