// Area: stopping. A node that stops ends, whatever its drivers do; and a start that is given up leaves nothing running,
// however far it had come.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { lentBus } from '../../runtime/bus/lent.ts';
import { memoryServer } from '../../runtime/bus/memory.ts';
import { silenceOf } from '../../runtime/bus/silence.ts';
import { endWithShell } from '../../runtime/cli/end-with-shell.ts';
import type { Driver } from '../../runtime/drivers/driver.ts';
import { type Journals, noSnapshots } from '../../runtime/journal/journal.ts';
import { startNatsServer } from '../../runtime/nats-server/server.ts';
import { startNode } from '../../runtime/node.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';
import { withResolvers } from '../../runtime/with-resolvers.ts';
import { quickDriver } from '../e2e/system.ts';
import { startTestServer } from '../support/nats-server.ts';
import { failureOf, settled, until } from '../support/until.ts';

const test = suite('stopping');

test('stopping - a driver that never closes is passed over, by name, and the others are closed', async () => {
  const clock = virtualClock();
  const told: string[] = [];
  const closed: string[] = [];
  const driver = ({ cell, host }: { cell: string; host: string }): Driver => ({
    ...quickDriver(cell, host),
    close: () => {
      if (host === 'h1') return new Promise(() => {});
      closed.push(host);
      return Promise.resolve();
    },
  });
  const starting = startNode({
    roles: ['compute:c1/h1', 'compute:c1/h2'],
    bus: memoryServer({ clock }).connect(),
    clock,
    driver,
    logger: pino({ level: 'warn' }, { write: (line) => told.push(line) }),
  });
  const node = await settled(clock, starting);
  const from = clock.monotonic();
  await settled(clock, node.stop());
  assert.equal(closed, ['h2']);
  assert.is(clock.monotonic() - from, 10_000);
  assert.is(told.length, 1);
  assert.match(told[0] ?? '', /'driver\/c1\/h1' did not answer within 10000 ms/);
});

test('stopping - whoever waits for a build is told that the node has stopped, also on a bus that goes on', async () => {
  const clock = virtualClock();
  const bus = memoryServer({ clock }).connect();
  const driver = ({ cell, host }: { cell: string; host: string }): Driver => ({
    ...quickDriver(cell, host),
    build: () => new Promise(() => {}),
  });
  const roles = ['placement', 'scheduler', 'conductor', 'cell:c1', 'compute:c1/h1'];
  const node = await settled(clock, startNode({ roles, bus, clock, driver, logger: pino({ level: 'silent' }) }));
  await settled(clock, node.client.build({ id: 'web', resources: { VCPU: 1 } }));
  const waiting = failureOf(() => node.client.ended('web'));
  await settled(clock, node.stop());
  const from = clock.monotonic();
  const failures = [
    await settled(clock, waiting),
    await settled(
      clock,
      failureOf(() => node.client.show('web')),
    ),
  ];
  assert.equal(
    failures.map((error) => (error as { code?: string }).code),
    ['closed', 'closed'],
  );
  assert.is(clock.monotonic(), from);
});

test('stopping - of a start whose journal can be neither read nor closed nothing stays on the bus, and it tells of the first', async () => {
  const clock = virtualClock();
  const bus = memoryServer({ clock }).connect();
  const broken = (what: string) => () => Promise.reject(new Error(what));
  const journals: Journals = () => ({
    ...noSnapshots,
    open: broken('the disk is away'),
    append: (_records, done) => done(null),
    close: broken('what is away cannot be closed'),
  });
  const logger = pino({ level: 'silent' });
  const start = (more: object) => settled(clock, startNode({ roles: ['placement'], bus, clock, logger, ...more }));
  assert.is((await failureOf(() => start({ journals }))).message, 'the disk is away');
  await settled(clock, (await start({})).stop());
});

test('stopping - of a start that is given up while its computes come on the bus no driver stays open, and none is asked', async () => {
  const server = await startTestServer({ jetstream: false });
  try {
    const giveUp = new AbortController();
    let open = 0;
    let asked = 0;
    const driver = ({ cell, host }: { cell: string; host: string }): Driver => {
      giveUp.abort();
      open += 1;
      const sound = quickDriver(cell, host);
      return {
        ...sound,
        inventory() {
          asked += 1;
          return sound.inventory();
        },
        async close() {
          open -= 1;
        },
      };
    };
    const nats = { servers: server.url, signal: giveUp.signal };
    const roles = ['compute:c1/h1', 'compute:c1/h2', 'compute:c2/h1'];
    const failing = failureOf(() => startNode({ roles, driver, nats, journals: 'memory' }));
    assert.is((await failing).code, 'interrupted');
    assert.equal([open, asked], [0, 0]);
  } finally {
    await server.stop();
  }
});

test('stopping - a bus that is lent ends with the node, or with the bus itself if that is first', async () => {
  const none = { request: () => Promise.reject(new Error('none')), subscribe: () => ({ unsubscribe() {} }) };
  const bus = { ...none, maxPayloadBytes: 1 };
  const { promise: ending, resolve: endBus } = withResolvers();
  const first = lentBus({ ...bus, ending });
  endBus();
  await first.bus.ending;
  const second = lentBus({ ...bus, ending: new Promise<void>(() => {}) });
  second.bus.subscribe('a', () => {});
  second.end();
  await second.bus.ending;
  assert.throws(() => second.bus.subscribe('a', () => {}), /the node has stopped/);
});

test('stopping - a bus that outlives the nodes that it is lent to is waited for once, and keeps none of them', async () => {
  const none = { request: () => Promise.reject(new Error('none')), subscribe: () => ({ unsubscribe() {} }) };
  const { promise: ending, resolve: endBus } = withResolvers();
  let waited = 0;
  const counting: Promise<void>['then'] = (...acts) => {
    waited += 1;
    return Promise.prototype.then.call(ending, ...acts) as never;
  };
  void Object.defineProperty(ending, 'then', { value: counting });
  const bus = { ...none, maxPayloadBytes: 1, ending };
  for (let node = 0; node < 20; node += 1) lentBus(bus).end();
  const last = lentBus(bus);
  assert.is(waited, 1);
  endBus();
  await last.bus.ending;
  let hasEnded = false;
  void lentBus(bus).bus.ending?.then(() => {
    hasEnded = true;
  });
  await until('who is lent it after its end is told so', () => hasEnded);
});

test('stopping - a server that hangs is waited for once in all, and whoever starts when it goes on finds all as it was', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'cellwright-test-'));
  const server = await startNatsServer({ dataDir });
  const roles = ['placement', 'scheduler', 'conductor', 'cell:c1'];
  const logger = pino({ level: 'silent' });
  const play = () => startNode({ roles, nats: { servers: server.url, closeTimeoutMs: 1_000 }, logger });
  let node = await play();
  try {
    await node.client.build({ id: 'web', resources: { VCPU: 1 }, wait: { forMs: 3_600_000 } });
    process.kill(server.pid, 'SIGSTOP');
    const from = performance.now();
    await node.stop();
    const tookMs = performance.now() - from;
    assert.ok(tookMs < 4_000, `${tookMs} ms`);
    process.kill(server.pid, 'SIGCONT');
    node = await play();
    assert.is((await node.client.show('web')).state, 'requested');
  } finally {
    process.kill(server.pid, 'SIGCONT');
    await node.stop();
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
});

test('stopping - a server that hangs while the start takes a lease or opens a journal is waited for no longer', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'cellwright-test-'));
  const server = await startNatsServer({ dataDir });
  try {
    for (const at of ['acquiring', 'opening']) {
      const giveUp = new AbortController();
      const isThere = (line: string) => (JSON.parse(line) as { state?: string }).state === at;
      let hung = false;
      const write = (line: string) => {
        if (!isThere(line)) return;
        hung = true;
        process.kill(server.pid, 'SIGSTOP');
      };
      const nats = { servers: server.url, closeTimeoutMs: 1_000, signal: giveUp.signal };
      const logger = pino({ level: 'info' }, { write });
      const starting = startNode({ roles: ['placement'], nats, leaseTtlMs: 60_000, prefix: at, logger });
      const failing = failureOf(() => starting);
      await until(`the server hangs while the start is ${at}`, () => hung);
      const from = performance.now();
      giveUp.abort();
      assert.is((await failing).code, 'interrupted');
      const tookMs = performance.now() - from;
      assert.ok(tookMs < 4_000, `${at}: ${tookMs} ms`);
      process.kill(server.pid, 'SIGCONT');
    }
  } finally {
    process.kill(server.pid, 'SIGCONT');
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
});

test('stopping - the server is asked whether it is there until the node has stopped, and no answer is waited for then', async () => {
  const clock = virtualClock();
  const asked: { resolve(): void; reject(): void }[] = [];
  const flush = () => new Promise<void>((resolve, reject) => void asked.push({ resolve, reject }));
  const begun = async (silence: ReturnType<typeof silenceOf>) => {
    let hasBegun = false;
    void silence.begun.then(() => (hasBegun = true));
    await new Promise(setImmediate);
    return hasBegun;
  };

  const stopped = silenceOf({ flush }, clock, 5_000);
  asked[0]?.resolve();
  await new Promise(setImmediate);
  clock.runUntilIdle({ untilMs: clock.now() + 500 });
  assert.is(asked.length, 2);
  stopped.end();
  assert.is(clock.pending, 0);
  asked[1]?.resolve();
  assert.equal([await begun(stopped), clock.pending, asked.length], [false, 0, 2], 'an answer that comes after that');

  const hung = silenceOf({ flush }, clock, 5_000);
  clock.runUntilIdle({ untilMs: clock.now() + 5_000 });
  assert.equal([await begun(hung), clock.pending], [true, 0]);

  const closed = silenceOf({ flush }, clock, 5_000);
  asked.at(-1)?.reject();
  assert.equal([await begun(closed), clock.pending], [true, 0]);
});

test('stopping - what npm runs is told to end when its shell is gone, once and if it listens, and nothing else is', () => {
  const { process: own, setInterval, clearInterval } = globalThis;
  const told: unknown[] = [];
  const looks = new Set<() => void>();
  const look = () => looks.forEach((one) => void one());
  let listeners = 1;
  const kill = (...all: unknown[]) => told.push(all);
  const run = { env: {}, pid: 7, ppid: own.pid, kill, listenerCount: () => listeners };
  try {
    Object.assign(globalThis, {
      process: run,
      setInterval: (one: () => void) => ({ unref: () => looks.add(one) && one }),
      clearInterval: (one: () => void) => looks.delete(one),
    });
    endWithShell();
    assert.is(looks.size, 0, 'nobody waits for the shell of what npm does not run');
    run.env = { npm_lifecycle_event: 'start' };
    endWithShell();
    look();
    assert.equal(told, [], 'its shell is there');
    run.ppid = 1;
    listeners = 0;
    look();
    assert.equal(told, [], 'it does not listen yet');
    listeners = 1;
    look();
    assert.equal(told, [[7, 'SIGTERM']]);
    assert.is(looks.size, 0, 'it is told once');
  } finally {
    Object.assign(globalThis, { process: own, setInterval, clearInterval });
  }
});

test.run();
