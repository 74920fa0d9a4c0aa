// Area: hosting. An actor that fails is started again, also when its journal cannot be read for a while; one that fails
// again and again leaves its place to others, and so does one that is fenced, whatever it was doing.

import pino from 'pino';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Actor, Message, Wake } from '../../actors/actor.ts';
import { snapshotOf } from '../../actors/snapshot.ts';
import type { Bus } from '../../runtime/bus/bus.ts';
import { memoryServer } from '../../runtime/bus/memory.ts';
import type { Clock } from '../../runtime/clock.ts';
import { WHO } from '../../runtime/endpoints.ts';
import { CellwrightError, TimeoutError } from '../../runtime/errors.ts';
import { HEADERS } from '../../runtime/frames.ts';
import { type Hosting, type HostingOptions, hostingOf } from '../../runtime/hosting.ts';
import { type Journal, noJournal, noSnapshots } from '../../runtime/journal/journal.ts';
import { outboxOf } from '../../runtime/outbox.ts';
import { memoryLeases } from '../../runtime/ownership/memory.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';
import { failureOf, settled } from '../support/until.ts';

const test = suite('hosting');

const ADDRESS = 'placement/0';
const logger = pino({ level: 'silent' });

/** What hosts the actors of a process that is on a bus. */
function hostingOn(bus: Bus, clock: Clock, told: Partial<HostingOptions> = {}): Hosting {
  const common = { bus, clock, subjects: subjectsOf(), onError() {}, ...told };
  const outbox = outboxOf({ events: false, ...common });
  return hostingOf({ name: 'one', outbox, logger, maxMailbox: 10, leaseTtlMs: 1_000, ...common });
}

/** Takes note of what it is told, and fails of `bad`. */
const fragile = (taken: string[]): Actor<object, Message, never> => ({
  init: () => ({}),
  receive(_state, { type }) {
    if (type === 'bad') throw new Error('bad');
    taken.push(type);
  },
  apply() {},
  recover() {},
  snapshot: () => snapshotOf({}, {}),
  restore: () => ({}),
});

/** An actor that is served, and whose journal cannot be opened the times that are told. */
async function served(unreadable: readonly number[], owner = ADDRESS) {
  const clock = virtualClock();
  const server = memoryServer({ clock, onError() {} });
  const [bus, other] = [server.connect(), server.connect()];
  const subjects = subjectsOf();
  const errors: string[] = [];
  const onError = (error: unknown, what: string) => void errors.push(`${what}: ${(error as Error).message}`);
  let opened = 0;
  const journal: Journal<never> = {
    ...noJournal,
    async open() {
      opened += 1;
      if (unreadable.includes(opened)) throw new Error('no quorum');
      return { snapshot: null, records: [] };
    },
  };
  const taken: string[] = [];
  const hosting = hostingOn(bus, clock, { onError });
  const rival = hostingOn(other, clock, { name: 'two', onError });
  const told: string[] = [];
  const hooks = { restarted: () => told.push('restarted'), givenUp: () => told.push('given up') };
  const { host, handler } = hosting.host(ADDRESS, fragile(taken), journal, {}, hooks);
  await host.start();
  const endpoints = [{ name: 'shard-0', subject: subjects.of(ADDRESS), handler }];
  await hosting.serve(owner, { role: 'placement', description: 'placement', endpoints });
  const tell = async (type: string) => {
    host.deliver({ type }, 'test');
    for (let round = 0; round < 5; round += 1) {
      clock.runUntilIdle();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  /** Another process claims the actor. */
  const claim = async () => {
    const claimed = rival.claim([ADDRESS]);
    clock.runUntilIdle();
    await claimed;
  };
  return { hosting, claim, taken, told, tell, errors };
}

test('hosting - an actor whose journal cannot be read when it starts again is started later', async () => {
  const { taken, told, tell, hosting, errors } = await served([2, 3]);
  await tell('bad');
  await tell('good');
  assert.equal(errors, ["the restart of 'placement/0': no quorum"], 'each reason is told once');
  assert.equal(taken, ['good']);
  assert.equal(told, ['restarted'], 'only when it was');
  await hosting.stop();
});

test('hosting - an actor that fails again and again leaves its place to others', async () => {
  const { told, tell, hosting, claim } = await served([]);
  assert.is((await failureOf(claim)).code, 'already-hosted');
  for (let round = 0; round < 6; round += 1) await tell('bad');
  await claim();
  assert.equal(told, [...Array(5).fill('restarted'), 'given up']);
  await hosting.stop();
});

test('hosting - one of several that are one service leaves its place to others when it fails for good', async () => {
  const { tell, hosting, claim } = await served([], 'several');
  assert.is((await failureOf(claim)).code, 'already-hosted');
  for (let round = 0; round < 6; round += 1) await tell('bad');
  await claim();
  await hosting.stop();
});

test('hosting - a role that comes is no reason to look at all actors that are there', async () => {
  const clock = virtualClock();
  const bus = memoryServer({ clock }).connect();
  let looks = 0;
  const real = subjectsOf();
  const of = (address: string) => {
    looks += 1;
    return real.of(address);
  };
  const subjects = { ...real, of };
  const onError = (error: unknown) => assert.unreachable(String(error));
  const hosting = hostingOn(bus, clock, { subjects, onError });
  const addresses = Array.from({ length: 40 }, (_, shard) => `placement/${shard}`);
  for (const address of addresses) {
    const { handler } = hosting.host(address, fragile([]), noJournal, {});
    const endpoints = [{ name: 'shard', subject: real.of(address), handler }];
    await hosting.serve(address, { role: 'placement', description: 'placement', endpoints });
  }
  assert.ok(looks <= 2 * addresses.length, `looked ${looks} times`);
  await hosting.stop();
});

test('hosting - without leases, one whose subject somebody listens on is not served, and is told why', async () => {
  const { one, run, listen } = await owned(false);
  listen('cw.>');
  const error = await failureOf(() => run(one.own()));
  assert.instance(error, TimeoutError);
  assert.is(
    error.message,
    "whether 'placement/0' is hosted is not known: somebody listens on 'cw.placement.0', and did not say within 1000 ms who it is; let it listen only once the node has started or, if it is a node that is held up, end that",
  );
  await run(one.hosting.stop());
});

/**
 * Two processes that would own the same actor; a test may fence the first, and hold up its coming on the bus.
 * @param unreadable How often the journal cannot be read, for now.
 */
async function owned(withLeases: boolean, unreadable = 0) {
  let left = unreadable;
  const clock = virtualClock();
  const server = memoryServer({ clock, onError() {} });
  const subjects = subjectsOf();
  const leases = withLeases ? { leases: memoryLeases({ clock }) } : {};
  const waiting: (() => void)[] = [];
  const taken: Record<string, string[]> = { one: [], two: [] };
  let holdServing = false;
  const fences: ((error?: Error) => void)[] = [];

  function make(name: string) {
    const bus = server.connect();
    const slow: typeof bus = {
      ...bus,
      async serve(config) {
        const service = await bus.serve(config);
        if (holdServing) await new Promise<void>((resolve) => waiting.push(resolve));
        return service;
      },
    };
    const hosting = hostingOn(slow, clock, { name, ...leases });
    const journal: Journal<number> = {
      async open() {
        left -= 1;
        if (left >= 0) throw new TimeoutError('the server', 1_000);
        return { snapshot: null, records: [] };
      },
      append(_records, done) {
        fences.push((error = new CellwrightError('fenced', 'another owner writes')) => done(error));
      },
      ...noSnapshots,
      close: async () => {},
    };
    const recording: Actor<object, Message, number> = {
      ...(fragile(taken[name] as string[]) as unknown as Actor<object, Message, number>),
      recover(_state, turn) {
        if (name === 'one') turn.record(1);
      },
    };
    const service = { role: 'placement', description: 'placement', endpoint: 'shard-0' };
    return { hosting, own: () => hosting.own({ address: ADDRESS, actor: recording, journal, protocol: {}, service }) };
  }

  const run = <T>(work: Promise<T>) => settled(clock, work);

  return {
    clock,
    one: make('one'),
    two: make('two'),
    run,
    /** Whoever serves the actor now. */
    async servedBy(): Promise<string | null> {
      const headers = { [HEADERS.type]: WHO };
      const asked = server.connect().request(subjects.of(ADDRESS), new Uint8Array(0), { timeoutMs: 100, headers });
      return run(asked).then(
        ({ data }) => Buffer.from(data).toString(),
        () => null,
      );
    },
    holdServing(hold: boolean) {
      holdServing = hold;
      if (!hold) for (const resolve of waiting.splice(0)) resolve();
    },
    fences,
    waiting,
    /** Somebody hears what goes over these subjects, and says nothing. */
    listen: (subject: string) => server.connect().subscribe(subject, () => {}),
    /** From now on the journal cannot be read. */
    loseJournal() {
      left = Number.POSITIVE_INFINITY;
    },
  };
}

for (const withLeases of [false, true]) {
  const how = withLeases ? 'with a lease' : 'without leases';

  test(`hosting - ${how}, one that is fenced while it comes on the bus does not stay there`, async () => {
    const { clock, one, run, servedBy, holdServing, fences, waiting } = await owned(withLeases);
    holdServing(true);
    const owning = one.own();
    owning.catch(() => undefined);
    await clock.runAsync(() => waiting.length === 1 && fences.length === 1);
    fences[0]?.();
    holdServing(false);
    // With a lease it begins anew after a rest; without, that is for others.
    if (withLeases) await clock.runAsync(() => one.hosting.standings()[ADDRESS]?.state === 'resting');
    else await run(owning);
    assert.is(await servedBy(), null);
    await run(one.hosting.stop());
  });
}

for (const withLeases of [false, true]) {
  const how = withLeases ? 'with a lease' : 'without leases';

  test(`hosting - ${how}, one that is stopped while it waits to start again does not`, async () => {
    const { clock, one, run, loseJournal, fences } = await owned(withLeases);
    await run(one.own());
    loseJournal();
    fences[0]?.(new Error('the disk is away'));
    for (let round = 0; round < 5; round += 1) await run(Promise.resolve());
    await run(one.hosting.stop());
    assert.is(clock.pending, 0);
  });
}

test('hosting - an actor that is to be hosted while the node is being stopped is not', async () => {
  const { clock, one, run, servedBy } = await owned(false);
  const owning = one.own();
  owning.catch(() => undefined);
  await run(one.hosting.stop());
  assert.is((await failureOf(() => run(owning))).code, 'interrupted');
  assert.is(await servedBy(), null);
  assert.is(clock.pending, 0);
});

test('hosting - of openings that came to nothing nothing stays on the bus', async () => {
  const { clock, one, run, servedBy } = await owned(true, 3);
  await run(one.own());
  assert.is(await servedBy(), 'one');
  await run(one.hosting.handOver());
  assert.is(await servedBy(), null);
  await run(one.hosting.stop());
  assert.is(clock.pending, 0);
});

test('hosting - whoever comes up has nobody looked at but those that await it', async () => {
  const clock = virtualClock();
  const bus = memoryServer({ clock, onError() {} }).connect();
  const hosting = hostingOn(bus, clock);
  const early: string[] = [];
  for (let n = 0; n < 100; n += 1) {
    const waiting: Actor<object, Message, never> = {
      ...fragile([]),
      receive(_state, message) {
        if ((message as Wake).isEarly) early.push(`c${n}`);
      },
      recover: (_state, turn) => turn.wakeAfter('answer', 10_000, `compute/c1/h${n}`),
    };
    await hosting.host(`cell/c${n}`, waiting, noJournal, {}).host.start();
  }
  let looks = 0;
  const { monotonic } = clock;
  clock.monotonic = () => {
    looks += 1;
    return monotonic();
  };
  hosting.cameUp('compute/c1/h7');
  assert.ok(looks < 5, `${looks}`);
  await clock.runAsync(() => early.length > 0);
  assert.equal(early, ['c7']);
  await hosting.stop();
});

test('hosting - one that is fenced leaves the bus at once, and another that stands by takes over', async () => {
  const { one, two, run, servedBy, fences, clock } = await owned(true);
  await run(one.own());
  await run(two.own());
  assert.is(await servedBy(), 'one');
  fences[0]?.();
  await clock.runAsync(() => two.hosting.standings()[ADDRESS]?.state === 'owning');
  assert.is(await servedBy(), 'two');
  await clock.runAsync(() => one.hosting.standings()[ADDRESS]?.state === 'standby');
  await run(Promise.all([one.hosting.stop(), two.hosting.stop()]));
  assert.is(clock.pending, 0);
});

test.run();
