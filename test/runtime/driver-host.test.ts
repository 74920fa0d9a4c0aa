// Area: the host of a driver. What a driver says is checked where it is said: a clear error that names the field, and
// nothing of it goes further; a compute whose driver talks nonsense tries again and comes up when it is mended.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ComputeBuild, DriverAnswer } from '../../actors/messages/compute.ts';
import { memoryServer } from '../../runtime/bus/memory.ts';
import { clientOf } from '../../runtime/client.ts';
import type { Driver } from '../../runtime/drivers/driver.ts';
import { driverHost } from '../../runtime/drivers/driver-host.ts';
import { providerId } from '../../runtime/drivers/naming.ts';
import { startNode } from '../../runtime/node.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { eventually, hostsUp, quickDriver } from '../e2e/system.ts';
import { until } from '../support/until.ts';

const test = suite('driver host');

type Loose = Record<string, unknown>;

const TREE = { name: 'h1', inventories: { VCPU: { total: 8 } } };

function driverOf(parts: Record<string, unknown>): Driver {
  const sound = {
    inventory: async () => TREE,
    capabilities: async () => [],
    list: async () => [],
    build: async () => ({ outcome: 'built' }),
    destroy: async () => undefined,
    close: async () => undefined,
  };
  return { ...sound, ...parts } as unknown as Driver;
}

/** What a driver host answers to a message, and what it reports. */
async function answerOf(driver: Driver, message: Parameters<ReturnType<typeof driverHost>['take']>[0]) {
  const answers: DriverAnswer[] = [];
  const errors: string[] = [];
  const host = driverHost({
    cell: 'c1',
    host: 'h1',
    driver,
    answer: (said) => answers.push(said),
    onError: (error) => errors.push((error as Error).message),
  });
  host.take(message);
  await until('it answers', () => answers.length > 0);
  return { answer: answers[0] as DriverAnswer & { reason?: string }, errors };
}

const tree = (change: object) => ({ inventory: async () => ({ ...TREE, ...change }) });
const stock = (inventory: unknown) => tree({ inventories: { VCPU: inventory } });

const NONSENSE: readonly [string, Record<string, unknown>, RegExp][] = [
  ['no tree', { inventory: async () => null }, /a provider of host 'h1' must be an object/],
  ['no name', tree({ name: undefined }), /a provider of host 'h1' lacks the field 'name'|'name' of/],
  ['no inventories', tree({ inventories: 7 }), /'inventories' of provider "h1" of host 'h1' must be an object/],
  ['half an instance', stock({ total: 1.5 }), /'inventories.VCPU.total' of provider "h1" .* must be a whole number/],
  ['less than nothing', stock({ total: 8, reserved: -1 }), /'inventories.VCPU.reserved' .* must be at least 0/],
  [
    'more reserved than there is',
    stock({ total: 5, reserved: 9 }),
    /'inventories.VCPU.reserved' of provider "h1" of host 'h1' must be at most the total, 5; it is 9/,
  ],
  ['a slip of the pen', stock({ total: 8, alocation_ratio: 2 }), /unknown field 'inventories.VCPU.alocation_ratio'/],
  ['no such class', tree({ inventories: { vcpu: { total: 1 } } }), /unknown class, vcpu/],
  ['a trait in words', tree({ traits: ['has a gpu'] }), /'traits.0' of provider "h1" .* must be upper-case/],
  [
    'a child that is none',
    tree({ children: [{ name: 'gpu-0', inventories: 1 }] }),
    /'inventories' of provider "gpu-0"/,
  ],
  [
    'twins',
    tree({
      children: [
        { ...TREE, name: 'a' },
        { ...TREE, name: 'a' },
      ],
    }),
    /two providers named 'a'/,
  ],
  [
    'capabilities in words',
    { capabilities: async () => 'all of them' },
    /the driver's list of capabilities must be a list/,
  ],
  ['a list that is none', { list: async () => ({}) }, /the driver's list of what runs must be a list/],
  ['half an attempt', { list: async () => [{ instance: 'i1' }] }, /what runs lacks the field '0.attempt'/],
  [
    'an id that breaks routing',
    { list: async () => [{ instance: 'I.1', attempt: 1 }] },
    /'0.instance' of .* must be lower-case/,
  ],
];

for (const [name, parts, expected] of NONSENSE) {
  test(`driver host - ${name}: it is refused by the name of the field`, async () => {
    const { answer, errors } = await answerOf(driverOf(parts), { type: 'describe' });
    assert.is(answer.type, 'describe-failed');
    assert.match(answer.reason ?? '', expected);
    assert.match(errors[0] ?? '', expected);
  });
}

test('driver host - what it says is passed on without what nobody asked for', async () => {
  const running = [{ instance: 'i1', attempt: 1, colour: 'red' }];
  const { answer, errors } = await answerOf(driverOf({ list: async () => running }), { type: 'describe' });
  assert.equal([answer.type, errors], ['described', []]);
  assert.equal((answer as { running?: unknown }).running, [{ instance: 'i1', attempt: 1 }]);
});

test('driver host - that placement refuses the host is reported once for each reason', () => {
  const told: string[] = [];
  const onError = (error: unknown, what: string) => told.push(`${what}: ${(error as Error).message}`);
  const host = driverHost({ cell: 'c1', host: 'h1', driver: driverOf({}), answer() {}, onError });
  for (const reason of ['it is told twice', 'it is told twice', 'it is too deep'])
    host.take({ type: 'refused', reason });
  assert.equal(told, [
    "what placement is told of host 'c1/h1': it is told twice",
    "what placement is told of host 'c1/h1': it is too deep",
  ]);
});

test('driver host - what placement refuses again after it took what the host has is reported again', async () => {
  const told: string[] = [];
  let read = 0;
  const answer = ({ type }: { type: string }) => {
    read += type === 'inventory-read' ? 1 : 0;
  };
  const onError = (error: unknown) => told.push((error as Error).message);
  const host = driverHost({ cell: 'c1', host: 'h1', driver: driverOf({}), answer, onError });
  const reads = async () => {
    const before = read;
    host.take({ type: 'read-inventory' });
    await until('it is read', () => read > before);
    await new Promise(setImmediate);
  };
  const refuse = () => host.take({ type: 'refused', reason: 'it is told twice' });
  for (let minute = 0; minute < 3; minute += 1) {
    await reads();
    refuse();
  }
  assert.is(told.length, 1, 'all the while it is refused');
  await reads();
  await reads();
  refuse();
  assert.is(told.length, 2, 'it was taken meanwhile');
});

test('driver host - an outcome that is none is not taken for one', async () => {
  const order: ComputeBuild = { type: 'build', instance: 'i1', attempt: 1, incarnation: 'x', allocations: [] };
  for (const outcome of [undefined, 'built', { outcome: 'fine' }, { outcome: 'failed' }]) {
    const { answer } = await answerOf(driverOf({ build: async () => outcome }), order);
    assert.is(answer.type, 'driver-unknown', JSON.stringify(outcome));
    assert.match(answer.reason ?? '', /the driver's outcome of a build/);
  }
});

test('driver host - what it measures is passed on; what is no figure is refused by its name, and measured as nothing', async () => {
  const measured = (metrics: unknown) => answerOf(driverOf({ metrics: async () => metrics }), { type: 'measure' });
  assert.equal(await measured({ load: 0.5, heat: -3 }), {
    answer: { type: 'measured', metrics: { load: 0.5, heat: -3 } },
    errors: [],
  });
  const wrong: [unknown, RegExp][] = [
    [{ load: 'high' }, /'load' of the driver's metrics must be a number/],
    [{ load: Number.NaN }, /'load' of the driver's metrics/],
    [{ 'Load.1': 1 }, /unknown field 'Load.1'/],
    [[1, 2], /the driver's metrics/],
    [new Map([['load', 1]]), /'metrics' of the driver must be a plain object, not a Map/],
    [Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`m${n}`, n])), /16 properties/],
  ];
  for (const [metrics, says] of wrong) {
    const { answer, errors } = await measured(metrics);
    assert.equal(answer, { type: 'measured', metrics: {} });
    assert.match(errors[0] ?? '', says);
  }
  const { answer, errors } = await answerOf(driverOf({ metrics: async () => Promise.reject(new Error('no sensor')) }), {
    type: 'measure',
  });
  assert.equal([answer, errors], [{ type: 'measured', metrics: {} }, ['no sensor']]);
});

test('driver host - one that never comes back from measuring has measured nothing, until it does', async () => {
  const said: DriverAnswer[] = [];
  let end = (_: Record<string, number>) => {};
  const metrics = () => new Promise<Record<string, number>>((resolve) => (end = resolve));
  const host = driverHost({
    cell: 'c1',
    host: 'h1',
    driver: driverOf({ metrics }),
    answer: (one) => said.push(one),
    onError() {},
  });
  for (let beat = 0; beat < 10; beat += 1) host.take({ type: 'measure' });
  assert.equal(said, [{ type: 'measured', metrics: {} }]);
  end({ load: 3 });
  await until('it says what it has measured', () => said.length === 2);
  assert.equal(said[1], { type: 'measured', metrics: { load: 3 } });
});

test('driver host - what fails of the same at each heartbeat is told once, and again when it has gone well meanwhile', async () => {
  const told: string[] = [];
  const said: DriverAnswer[] = [];
  let fault: string | undefined = 'no sensor';
  const failing = <Told>(answer: Told) =>
    fault === undefined ? Promise.resolve(answer) : Promise.reject(new Error(fault));
  const host = driverHost({
    cell: 'c1',
    host: 'h1',
    driver: driverOf({ metrics: () => failing({ load: 1 }), inventory: () => failing(TREE), list: () => failing([]) }),
    answer: (one) => said.push(one),
    onError: (error, what) => told.push(`${what}: ${(error as Error).message}`),
  });
  const beat = async (fails: string | undefined) => {
    fault = fails;
    said.length = 0;
    host.take({ type: 'measure' });
    host.take({ type: 'describe' });
    host.take({ type: 'list', ask: 1, to: 'cell/c1' });
    await until('all is answered', () => said.length === 3);
    return told.splice(0).toSorted();
  };
  const all = (fails: string) =>
    ['the description', 'the list of what runs', 'the measuring'].map(
      (what) => `${what} by the driver of host 'c1/h1': ${fails}`,
    );
  assert.equal(await beat('no sensor'), all('no sensor'));
  assert.equal(await beat('no sensor'), []);
  assert.equal(await beat('no power'), all('no power'));
  assert.equal(await beat(undefined), []);
  assert.equal(await beat('no power'), all('no power'));
});

/** A driver host over a driver whose `part` answers when the test says so, and how often it was called. */
function stalled<Answer>(part: 'inventory' | 'list') {
  const said: (DriverAnswer & { reason?: string; ask?: number })[] = [];
  const told: string[] = [];
  const calls: ((answer: Answer) => void)[] = [];
  const host = driverHost({
    cell: 'c1',
    host: 'h1',
    driver: driverOf({ [part]: () => new Promise<Answer>((resolve) => calls.push(resolve)) }),
    answer: (one) => said.push(one),
    onError: (error, what) => told.push(`${what}: ${(error as Error).message}`),
  });
  return { host, said, told, calls };
}

test('driver host - one that never comes back from describing is not called again, which is said, until it does', async () => {
  const { host, said, told, calls } = stalled('inventory');
  host.take({ type: 'describe' });
  await new Promise((resolve) => setImmediate(resolve));
  for (let round = 1; round < 7; round += 1) host.take({ type: 'describe' });
  const silence = { type: 'describe-failed', reason: 'the driver does not answer inventory' };
  assert.equal(said, [silence, silence]);
  assert.is(calls.length, 1);
  assert.is(told[0], "the description by the driver of host 'c1/h1': the driver does not answer inventory");
  calls[0]?.(TREE);
  await until('it says what it is', () => said.length === 3);
  assert.is(said[2]?.type, 'described');
  host.take({ type: 'describe' });
  assert.is(calls.length, 2, 'and it can be asked again');
});

test('driver host - what it is asked again of the inventory is checked, and a driver that does not answer is not called again', async () => {
  const { host, said, told, calls } = stalled('inventory');
  for (let round = 0; round < 6; round += 1) host.take({ type: 'read-inventory' });
  await until('it is said', () => said.length > 0);
  assert.equal(said, [{ type: 'inventory-unread', reason: 'the driver does not answer' }]);
  assert.equal(told, ["the inventory by the driver of host 'c1/h1': the driver does not answer"]);
  assert.is(calls.length, 1);
  calls[0]?.({ ...TREE, inventories: { VCPU: { total: -1 } } });
  await until('it is refused', () => said.length === 2);
  assert.match(said[1]?.reason ?? '', /total/);
  const ask = async () => {
    const before = said.length;
    await until('it is called', () => {
      host.take({ type: 'read-inventory' });
      return calls.length > 1;
    });
    calls.pop()?.(TREE);
    await until('it answers', () => said.length > before);
    return said.at(-1);
  };
  const read = (await ask()) as Extract<DriverAnswer, { type: 'inventory-read' }>;
  assert.equal([read.type, read.providers.map(({ name }) => name)], ['inventory-read', ['h1']]);

  const throwing = driverOf({
    inventory: () => {
      throw new Error('no inventory today');
    },
  });
  const { answer, errors } = await answerOf(throwing, { type: 'read-inventory' });
  assert.equal(
    [answer.type, answer.reason, errors],
    ['inventory-unread', 'no inventory today', ['no inventory today']],
  );
});

test('driver host - what has not answered is not asked again, though another part of the description has failed', async () => {
  const said: (DriverAnswer & { reason?: string })[] = [];
  let lists = 0;
  let answer = (_: never[]) => {};
  const list = () => {
    lists += 1;
    return new Promise<never[]>((resolve) => (answer = resolve));
  };
  const inventory = async () => Promise.reject(new Error('no inventory today'));
  const driver = driverOf({ list, inventory });
  const host = driverHost({ cell: 'c1', host: 'h1', driver, answer: (one) => said.push(one), onError() {} });
  host.take({ type: 'describe' });
  await until('it is said', () => said.length === 1);
  for (let round = 0; round < 3; round += 1) host.take({ type: 'describe' });
  assert.equal(
    said.map(({ reason }) => reason),
    ['no inventory today', 'the driver does not answer list'],
  );
  assert.is(lists, 1);
  answer([]);
  await until('it can be asked again', () => {
    host.take({ type: 'describe' });
    return lists === 2;
  });
});

test('driver host - a tree that no message carries is said to be too large, before anybody is told of it', async () => {
  const traits = Array.from({ length: 64 }, (_, number) => `CUSTOM_CAPABILITY_${number}_OF_A_DEVICE_WITH_A_LONG_NAME`);
  const child = (number: number) => ({ name: `gpu-${number}`, inventories: { CUSTOM_GPU: { total: 1 } }, traits });
  const driver = driverOf(tree({ children: Array.from({ length: 500 }, (_, number) => child(number)) }));
  const { answer, errors } = await answerOf(driver, { type: 'describe' });
  assert.is(answer.type, 'describe-failed');
  assert.match(answer.reason ?? '', /^the 501 providers of host 'c1\/h1' take \d+ bytes, of at most 1000000$/);
  assert.is(errors.length, 1);
});

test('driver host - questions of what runs share the next list, and are told when the driver does not answer', async () => {
  const { host, said, told, calls } = stalled('list');
  const ask = (number: number) => host.take({ type: 'list', ask: number, to: 'gateway/g' });
  for (const number of [1, 2, 3]) ask(number);
  assert.is(calls.length, 1);
  calls[0]?.([{ instance: 'early', attempt: 1 }]);
  await until('the next list is begun', () => calls.length === 2);
  calls[1]?.([{ instance: 'late', attempt: 1 }]);
  await until('all are answered', () => said.length === 3);
  const runs = said.map((one) => [one.ask, (one as { running?: { instance: string }[] }).running?.[0]?.instance]);
  assert.equal(runs, [
    [1, 'early'],
    [2, 'late'],
    [3, 'late'],
  ]);
  for (const number of [4, 5, 6, 7]) ask(number);
  assert.is(calls.length, 3);
  assert.equal(
    said.slice(3).map(({ type, ask, reason }) => [type, ask, reason]),
    [4, 5, 6, 7].map((number) => ['list-failed', number, 'the driver does not answer']),
  );
  assert.equal(told, ["the list of what runs by the driver of host 'c1/h1': the driver does not answer"]);
  calls[2]?.([]);
  ask(8);
  await until('it is asked again', () => calls.length === 4);
});

test('driver host - whatever a driver throws, it is put into words, and ends nothing', async () => {
  const mute = {
    toString() {
      throw new Error('no words');
    },
  };
  const odd = Object.assign(new Error('x'), { message: { code: 7 } });
  const unreadable = Object.defineProperty(new Error('x'), 'message', { get: () => mute.toString() });
  for (const thrown of [mute, odd, unreadable, undefined, null, Symbol('s'), Object.create(null)]) {
    const order: ComputeBuild = { type: 'build', instance: 'i1', attempt: 1, incarnation: 'x', allocations: [] };
    for (const message of [{ type: 'describe' }, { type: 'list', ask: 1, to: 'gateway/g' }, order] as const) {
      const part = { describe: 'inventory', list: 'list', build: 'build' }[message.type];
      const said: DriverAnswer[] = [];
      const host = driverHost({
        cell: 'c1',
        host: 'h1',
        driver: driverOf({ [part]: () => Promise.reject(thrown) }),
        answer: (one) => said.push(one),
        onError() {},
      });
      host.take(message);
      await until(`it answers ${message.type}`, () => said.length > 0, 2_000);
      assert.type((said[0] as { reason?: unknown }).reason, 'string');
    }
  }
});

test('driver host - whatever a driver throws, something is said of it: without a message what it was made of, and why', async () => {
  const unreached = [new Error('connect ECONNREFUSED ::1:9'), new Error('connect ECONNREFUSED 127.0.0.1:9')];
  const itself = new AggregateError([], '');
  itself.errors.push(itself);
  const circle: { around?: object } = {};
  circle.around = circle;
  for (const [thrown, words] of [
    // As Node rejects where a name has several addresses, and `fetch`.
    [
      Object.assign(new AggregateError(unreached, ''), { code: 'ECONNREFUSED' }),
      /^connect .* ::1:9; connect .* 127\.0\.0\.1:9$/,
    ],
    [new Error('fetch failed', { cause: unreached[1] }), /^fetch failed: connect ECONNREFUSED 127\.0\.0\.1:9$/],
    [new Error('no daemon: gone', { cause: new Error('gone') }), /^no daemon: gone$/],
    [Object.assign(new Error(''), { code: 'EPIPE' }), /^Error EPIPE$/],
    [new TypeError(' \n'), /^TypeError$/],
    [itself, /^AggregateError$/],
    [{ code: 'EBUSY', volume: 7 }, /^\{"code":"EBUSY","volume":7\}$/],
    [{ message: 'the volume is busy', code: 'EBUSY' }, /^the volume is busy$/],
    [Object.assign(new Error('x'), { message: { code: 7 } }), /^\{"code":7\}$/],
    [circle, /^it says nothing that can be read$/],
    [{ ...circle, code: 'EBUSY', tries: 3 }, /^\{"code":"EBUSY","tries":3\}$/],
    [{ code: 7n, reason: new Error('the volume is busy') }, /^\{"code":"7","reason":"the volume is busy"\}$/],
    [Object.assign(Object.create(null), { message: 'the volume is busy' }), /^the volume is busy$/],
    ['', /^it does not say why$/],
    ['  it is away\n', /^it is away$/],
  ] as const) {
    const said: DriverAnswer[] = [];
    const driver = driverOf({ destroy: () => Promise.reject(thrown) });
    const host = driverHost({ cell: 'c1', host: 'h1', driver, answer: (one) => said.push(one), onError() {} });
    host.take({ type: 'destroy', instance: 'i1', attempt: 1 });
    await until('it says that it failed', () => said.length > 0, 2_000);
    assert.match((said[0] as { reason?: string }).reason ?? '', words);
  }
});

test('driver host - of providers that are told no more the latest are still known by name, and not all there ever were', async () => {
  const said: DriverAnswer[] = [];
  const orders: string[] = [];
  let looks = 0;
  const driver = driverOf({
    inventory: async () => {
      looks += 1;
      const children = Array.from({ length: 500 }, (_, at) => ({ name: `gpu-${looks}-${at}`, inventories: {} }));
      return { ...TREE, children };
    },
    build: async ({ allocations }: ComputeBuild) => {
      orders.push(...allocations.map(({ provider }) => provider));
      return { outcome: 'built' };
    },
  });
  const host = driverHost({ cell: 'c1', host: 'h1', driver, answer: (one) => said.push(one), onError() {} });
  const firstOf = (look: number) => providerId('c1', 'h1', `gpu-${look}-0`);
  for (const look of [1, 2, 3, 4, 5, 6, 7, 8, 9]) {
    host.take({ type: 'read-inventory' });
    await until('it has read it', () => said.length === look);
  }
  const allocations = [providerId('c1', 'h1', ''), firstOf(9), firstOf(5), firstOf(1)].map((provider) => {
    return { provider, group: '', resources: { VCPU: 1 } };
  });
  host.take({ type: 'build', instance: 'i1', attempt: 1, incarnation: 'life', allocations });
  await until('it is built', () => said.length === 10);
  // That of the host itself was told first of all, and is told in each.
  assert.equal(orders, ['h1', 'gpu-9-0', 'gpu-5-0', firstOf(1)]);
});

test('driver host - asked what is on the host, it says what the driver says, or why not', async () => {
  const question = { type: 'list', ask: 3, to: 'gateway/g' } as const;
  const running = [{ instance: 'i1', attempt: 2 }];
  assert.equal((await answerOf(driverOf({ list: async () => running }), question)).answer, {
    type: 'driver-listed',
    ask: 3,
    to: 'gateway/g',
    running,
  });
  const { answer } = await answerOf(
    driverOf({ list: async () => Promise.reject(new Error('no hypervisor')) }),
    question,
  );
  assert.equal([answer.type, answer.reason], ['list-failed', 'no hypervisor']);
});

test('driver host - a compute whose driver talks nonsense says so, and comes up when it is mended', async () => {
  const clock = systemClock();
  const server = memoryServer({ clock });
  const bus = server.connect();
  const told: string[] = [];
  bus.subscribe('cw.cell.c1.host.h1.*', ({ data }) => told.push(Buffer.from(data).toString()));
  let isMended = false;
  const sound = quickDriver('c1', 'h1');
  const driver: Driver = {
    ...sound,
    inventory: async () => (isMended ? sound.inventory() : ({ name: 'h1' } as never)),
  };
  const node = await startNode({
    roles: ['placement', 'scheduler', 'conductor', 'cell:c1', 'compute:c1/h1'],
    bus: server.connect(),
    driver: () => driver,
    compute: { patience: { firstMs: 20, mostMs: 50 } },
    logger: (await import('pino')).default({ level: 'silent' }),
  });
  try {
    const client = clientOf({ bus, clock, subjects: subjectsOf() });
    await until('it is told twice', () => told.length >= 2);
    assert.match(told[0] ?? '', /"reason":"provider \\"h1\\" of host 'h1' lacks the field 'inventories'"/);
    assert.equal((await client.hosts({ cell: 'c1' })).hosts, []);
    isMended = true;
    await hostsUp(client, 'c1', 1);
    await client.build({ id: 'i1', resources: { VCPU: 1 } });
    await eventually('it builds', async () => (await client.show('i1')).state === 'active');
  } finally {
    await node.stop();
    await bus.close();
  }
});

test('driver host - what a driver throws is told to whoever runs it, with the instance and the host, until it is stopped', async () => {
  const told: string[] = [];
  const answered: string[] = [];
  const fail = (what: string) => () => {
    throw new Error(what);
  };
  const driver = {
    ...quickDriver('c1', 'h1'),
    build: fail('no image'),
    destroy: fail('no power'),
    list: fail('no list'),
    close: fail('no end'),
  } as unknown as Driver;
  const hosted = driverHost({
    cell: 'c1',
    host: 'h1',
    driver,
    answer: ({ type }) => answered.push(type),
    onError: (error, what) => told.push(`${what}: ${(error as Error).message}`),
  });
  const ofAttempt = { instance: 'web', attempt: 1 };
  hosted.take({ type: 'build', ...ofAttempt, incarnation: 'one', allocations: [] });
  hosted.take({ type: 'destroy', ...ofAttempt });
  hosted.take({ type: 'list', ask: 1, to: 'conductor/0' });
  await until('all are answered', () => answered.length === 3);
  assert.equal(answered, ['driver-unknown', 'destroy-failed', 'list-failed']);
  await hosted.stop();
  assert.equal(told, [
    "the build of 'web', attempt 1, by the driver of host 'c1/h1': no image",
    "the removal of 'web', attempt 1, by the driver of host 'c1/h1': no power",
    "the list of what runs by the driver of host 'c1/h1': no list",
    "closing the driver of host 'c1/h1': no end",
  ]);
});

test('driver host - a driver may do as it likes with what it is given, and with what it has given', async () => {
  const metrics = { cpuPercent: 10 };
  const inventories = { VCPU: { total: 8 } };
  const traits = ['HW_CPU_X86_AVX2'];
  const driver = driverOf({
    inventory: async () => ({ name: 'h1', inventories }),
    capabilities: async () => traits,
    metrics: async () => metrics,
    build: async ({
      allocations,
      payload,
    }: {
      allocations: { resources: Record<string, number> }[];
      payload: Loose;
    }) => {
      for (const { resources } of allocations) resources.VCPU = 999;
      payload.image = () => 'a function';
      return { outcome: 'failed', reason: 'flaky' };
    },
  });
  const order = {
    type: 'build' as const,
    instance: 'web',
    attempt: 1,
    incarnation: 'i',
    allocations: [{ provider: 'p1', group: '', resources: { VCPU: 1 } }],
    payload: { image: 'debian' },
  };
  await answerOf(driver, order);
  assert.equal([order.allocations[0]?.resources, order.payload], [{ VCPU: 1 }, { image: 'debian' }]);
  const described = (await answerOf(driver, { type: 'describe' })).answer;
  const measured = (await answerOf(driver, { type: 'measure' })).answer;
  const before = structuredClone([described, measured]);
  inventories.VCPU.total = 0;
  traits.length = 0;
  metrics.cpuPercent = 90;
  assert.equal([described, measured], before);
});

test.run();
