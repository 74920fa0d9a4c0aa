// Area: fake driver. The driver contract, and the failures that simulations order from it, on the virtual clock.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { BuildOutcome, Driver } from '../../runtime/drivers/driver.ts';
import { type FakeDriverOptions, type FakeFailure, fakeDriver } from '../../runtime/drivers/fake.ts';
import { numaHost } from '../../runtime/drivers/numa.ts';
import { CellwrightError, MalformedError, messageOf } from '../../runtime/errors.ts';
import { seededRandom } from '../../runtime/random.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';

const test = suite('fake driver');

const HOST = { name: 'host-1', inventories: { VCPU: { total: 64 } } };
const ALWAYS = (kind: FakeFailure['kind']): FakeFailure[] => [{ reason: `always-${kind}`, rate: 1, kind }];

/** A driver whose builds take 100 ms and destroys 10 ms unless told otherwise, at the time 1000. */
function setUp(options: Partial<FakeDriverOptions> = {}) {
  const clock = virtualClock({ startMs: 1000 });
  const driver = fakeDriver({
    host: HOST,
    clock,
    random: seededRandom(1),
    buildMs: { min: 100, max: 100 },
    destroyMs: { min: 10, max: 10 },
    ...options,
  });
  const build = (instance: string, attempt = 1) => driver.build({ instance, attempt, allocations: [] });
  return { clock, driver, build };
}

/** What came of a promise, as text; `pending` when it has not settled once all continuations have run. */
async function state(promise: Promise<unknown>): Promise<string> {
  const settled = promise.then(
    (value) => JSON.stringify(value) ?? 'done',
    (error: unknown) => (error instanceof CellwrightError ? error.code : messageOf(error)),
  );
  return Promise.race([settled, new Promise<string>((resolve) => setImmediate(resolve, 'pending'))]);
}

const BUILT = JSON.stringify({ outcome: 'built' });
const DESTROYED = JSON.stringify({ outcome: 'failed', reason: 'destroyed' });

async function listed(driver: Driver): Promise<string[]> {
  return (await driver.list()).map(({ instance, attempt }) => `${instance}/${attempt}`);
}

test('fake driver - a build takes its time and then runs', async () => {
  const { clock, driver, build } = setUp();
  const answer = build('vm-1');
  clock.advanceTo(1099);
  assert.is(await state(answer), 'pending');
  assert.equal(await listed(driver), ['vm-1/1']);
  clock.advanceTo(1100);
  assert.is(await state(answer), BUILT);
  assert.equal(await listed(driver), ['vm-1/1']);
});

test('fake driver - a second call joins the build under way, a later one gets what came of it', async () => {
  const { clock, build } = setUp();
  const first = build('vm-1');
  clock.advanceTo(1050);
  const second = build('vm-1');
  assert.is(clock.pending, 1);
  clock.advanceTo(1100);
  assert.is(await state(first), BUILT);
  assert.is(await state(second), BUILT);
  assert.is(await state(build('vm-1')), BUILT);
  assert.is(clock.pending, 0);
});

test('fake driver - failed and aborted builds leave nothing and fail again when asked again', async () => {
  for (const kind of ['failed', 'aborted'] as const) {
    const { clock, driver, build } = setUp({ failures: ALWAYS(kind) });
    const answer = build('vm-1');
    clock.advanceTo(1100);
    const expected = JSON.stringify({ outcome: kind, reason: `always-${kind}` });
    assert.is(await state(answer), expected);
    assert.equal(await listed(driver), []);
    assert.is(await state(build('vm-1')), expected);
    assert.is(clock.pending, 0);
  }
});

test('fake driver - a hang never answers by itself, and ends with its destruction', async () => {
  const { clock, driver, build } = setUp({ failures: ALWAYS('hang') });
  const answer = build('vm-1');
  clock.advanceTo(10_000_000);
  assert.is(await state(answer), 'pending');
  assert.equal(await listed(driver), ['vm-1/1']);
  const gone = driver.destroy('vm-1', 1);
  clock.advanceTo(10_000_010);
  await gone;
  assert.is(await state(answer), DESTROYED);
  assert.equal(await listed(driver), []);
});

test('fake driver - a lost answer rejects for those who wait, but the instance runs', async () => {
  const { clock, driver, build } = setUp({ failures: ALWAYS('lost-answer') });
  const [first, joined] = [build('vm-1'), build('vm-1')];
  clock.advanceTo(1100);
  assert.is(await state(first), 'answer-lost');
  assert.is(await state(joined), 'answer-lost');
  assert.equal(await listed(driver), ['vm-1/1']);
  assert.is(await state(build('vm-1')), BUILT);
});

test('fake driver - destroying a running instance takes its time, and it is not built again', async () => {
  const { clock, driver, build } = setUp();
  void build('vm-1');
  clock.advanceTo(2000);
  const [gone, joined] = [driver.destroy('vm-1', 1), driver.destroy('vm-1', 1)];
  const meanwhile = build('vm-1');
  clock.advanceTo(2009);
  assert.equal(await Promise.all([gone, joined, meanwhile].map(state)), ['pending', 'pending', 'pending']);
  assert.equal(await listed(driver), ['vm-1/1']);
  clock.advanceTo(2010);
  assert.equal(await Promise.all([gone, joined].map(state)), ['done', 'done']);
  assert.is(await state(meanwhile), DESTROYED);
  assert.equal(await listed(driver), []);
  assert.is(await state(build('vm-1')), DESTROYED);
  assert.is(clock.pending, 0);
});

test('fake driver - destroying cancels a build under way', async () => {
  const { clock, driver, build } = setUp();
  const answer = build('vm-1');
  clock.advanceTo(1095);
  const gone = driver.destroy('vm-1', 1);
  clock.advanceTo(1200);
  await gone;
  assert.is(await state(answer), DESTROYED);
  assert.equal(await listed(driver), []);
});

test('fake driver - an attempt destroyed before it came builds nothing', async () => {
  const { clock, driver, build } = setUp();
  assert.is(await state(driver.destroy('vm-1', 1)), 'done');
  assert.is(await state(build('vm-1')), DESTROYED);
  assert.is(clock.pending, 0);
  assert.equal(await listed(driver), []);
});

test('fake driver - hours later an attempt of the same name is another one', async () => {
  const { clock, driver, build } = setUp();
  assert.is(await state(driver.destroy('vm-1', 1)), 'done');
  clock.advanceTo(3_600_000);
  assert.is(await state(build('vm-1')), DESTROYED);
  clock.advanceTo(3_601_000);
  void build('vm-1');
  assert.equal(await listed(driver), ['vm-1/1']);
});

test('fake driver - attempts of one instance are separate', async () => {
  const { clock, driver, build } = setUp();
  void build('vm-1', 1);
  clock.advanceTo(1050);
  const second = build('vm-1', 2);
  assert.equal(await listed(driver), ['vm-1/1', 'vm-1/2']);
  const gone = driver.destroy('vm-1', 1);
  clock.advanceTo(1150);
  await gone;
  assert.is(await state(second), BUILT);
  assert.equal(await listed(driver), ['vm-1/2']);
});

test('fake driver - the outcome of an attempt does not depend on the order of calls', async () => {
  const failures: FakeFailure[] = [
    { reason: 'no-image', rate: 0.2, kind: 'failed' },
    { reason: 'bad-request', rate: 0.1, kind: 'aborted' },
  ];
  const names = Array.from({ length: 300 }, (_, index) => `vm-${index}`);
  const run = async (order: readonly string[], seed: number) => {
    const { clock, build } = setUp({ failures, random: seededRandom(seed), buildMs: { min: 20, max: 200 } });
    const story = new Map<string, string>();
    const answers = order.map(async (name) => {
      const outcome: BuildOutcome = await build(name);
      story.set(name, `${JSON.stringify(outcome)} at ${clock.now()}`);
    });
    await clock.runAsync(() => story.size === order.length);
    await Promise.all(answers);
    return names.map((name) => `${name}: ${story.get(name)}`);
  };
  const forwards = await run(names, 1);
  assert.equal(await run(names.toReversed(), 1), forwards);
  assert.not.equal(await run(names, 2), forwards);
  const failed = forwards.filter((line) => line.includes('no-image')).length;
  const aborted = forwards.filter((line) => line.includes('bad-request')).length;
  assert.ok(failed > 40 && failed < 80, `${failed} of 300 failed at a rate of 0.2`);
  assert.ok(aborted > 15 && aborted < 50, `${aborted} of 300 aborted at a rate of 0.1`);
});

test('fake driver - closing ends builds under way and takes no more', async () => {
  const { clock, driver, build } = setUp();
  void build('runs');
  clock.advanceTo(1100);
  const [answer, gone] = [build('vm-1'), driver.destroy('runs', 1)];
  await driver.close();
  assert.is(clock.pending, 0);
  for (const call of [answer, gone, build('vm-2'), driver.destroy('vm-1', 1)]) {
    assert.is(await state(call), 'driver-closed');
  }
});

test('fake driver - it reports the tree and the traits it was given', async () => {
  const { driver } = setUp({ traits: ['CUSTOM_SSD'] });
  assert.is(await driver.inventory(), HOST);
  assert.equal(await driver.capabilities(), ['CUSTOM_SSD']);
});

test('fake driver - impossible times and rates are refused by name', () => {
  const wrong = (options: Partial<FakeDriverOptions>, field: string) =>
    assert.throws(
      () => setUp(options),
      (error: unknown) => error instanceof MalformedError && error.field === field,
    );
  wrong({ buildMs: { min: 10, max: 5 } }, 'buildMs');
  wrong({ destroyMs: { min: -1, max: 5 } }, 'destroyMs');
  wrong({ failures: [...ALWAYS('hang'), { reason: 'more', rate: 0.1, kind: 'failed' }] }, 'failures');
  wrong({ failures: [{ reason: 'none', rate: Number.NaN, kind: 'failed' }] }, 'failures.0.rate');
  wrong({ failures: { build: 0.3 } as never }, 'failures');
  wrong({ failures: [{ rate: 0.3, kind: 'failed' } as never] }, 'failures.0.reason');
  wrong({ failures: [{ reason: 'none', rate: '0.3' as never, kind: 'failed' }] }, 'failures.0.rate');
  wrong({ failures: [{ reason: 'none', rate: null as never, kind: 'failed' }] }, 'failures.0.rate');
  wrong({ failures: [...ALWAYS('hang'), { reason: 'none', rate: 0, outcome: 'failed' } as never] }, 'failures.1.kind');
  wrong({ failures: [{ ...ALWAYS('hang')[0], kinds: 'failed' } as never] }, 'failures.0.kinds');
});

test('fake driver - a host with NUMA nodes that lacks its name, or the model of its GPUs, is refused by that', () => {
  const host = { name: 'h1', nodes: 1, vcpu: 1, memoryMb: 1, gpus: 1, diskGb: 1, gpuModel: 'T4' };
  for (const [wrong, field] of [
    [{ name: undefined }, 'name'],
    [{ name: '' }, 'name'],
    [{ gpuModel: undefined }, 'gpuModel'],
    [{ gpus: undefined }, 'gpus'],
    [{ nodes: 1e12 }, 'nodes'],
    [{ gpus: Symbol('two') }, 'gpus'],
    [{ vcpu: 2 ** 31 }, 'vcpu'],
    [{ name: Object.create(null) }, 'name'],
  ] as const) {
    assert.throws(
      () => numaHost({ ...host, ...wrong } as never),
      (error: unknown) => error instanceof MalformedError && error.field === field,
    );
  }
  assert.is(numaHost({ ...host, gpus: 0, gpuModel: undefined } as never).name, 'h1');
});

test('fake driver - options that are misspelt or of another kind are refused by name', () => {
  const wrong = (options: object, field: string) =>
    assert.throws(
      () => setUp(options),
      (error: unknown) => error instanceof MalformedError && error.field === field,
    );
  wrong({ buildMS: { min: 1, max: 5 } }, 'buildMS');
  wrong({ host: { ...HOST, name: '' } }, 'host.name');
  wrong({ host: undefined }, 'host');
  wrong({ traits: 'CUSTOM_SSD' }, 'traits');
  wrong({ traits: ['CUSTOM_SSD', 5] }, 'traits.1');
  wrong({ clock: {} }, 'clock');
  wrong({ random: Math }, 'random');
});

test.run();
