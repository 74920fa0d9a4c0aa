// Area: bus NATS. What only a real server can show: lost connections, refused users, forbidden subjects, services
// that other tools find.

import { getEventListeners, once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { format } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import { connect, DebugEvents } from 'nats';
import pino from 'pino';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Bus, BusMessage, Service } from '../../runtime/bus/bus.ts';
import { memoryBus } from '../../runtime/bus/memory.ts';
import { connectNats, type NatsBus } from '../../runtime/bus/nats.ts';
import type { NatsStatus } from '../../runtime/bus/nats-options.ts';
import { clientOf } from '../../runtime/client.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { type CellwrightError, TimeoutError } from '../../runtime/errors.ts';
import { type NatsServer, startNatsServer } from '../../runtime/nats-server/server.ts';
import { startNode } from '../../runtime/node.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { within } from '../../runtime/within.ts';
import { hostsUp, quickDriver } from '../e2e/system.ts';
import { bytes, EMPTY, greeter, settled, textOf, withServer } from '../support/bus.ts';
import { startTestServer } from '../support/nats-server.ts';
import { freePort } from '../support/ports.ts';
import { failureOf, until } from '../support/until.ts';

const test = suite('bus NATS');

/** Of bodies, in characters: about what is written at once there are some. */
const SIZES = [0, 1, 200, 5_000, 43_000, 70_000, 131_072, 200_000];

test('bus NATS - patterns and groups reach the same subscribers in memory', async () => {
  await withServer({}, async (_, connect) => {
    const token = fc.constantFrom('a', 'b', 'c');
    const subject = fc.array(token, { minLength: 1, maxLength: 4 }).map((tokens) => tokens.join('.'));
    const pattern = fc
      .tuple(fc.array(fc.oneof(token, fc.constant('*')), { minLength: 1, maxLength: 4 }), fc.boolean())
      .map(([tokens, rest]) => (rest ? [...tokens.slice(1), '>'] : tokens).join('.'));
    const patterns = fc.sample(
      fc.record({ pattern, queue: fc.option(fc.constantFrom('x', 'y'), { nil: undefined }) }),
      { numRuns: 60, seed: 11 },
    );
    const subjects = fc.sample(subject, { numRuns: 200, seed: 12 });
    const countsOn = async (bus: Bus): Promise<string[]> => {
      const got: string[] = [];
      for (const { pattern: on, queue } of patterns) {
        // Which member of a group is the server's choice; that it is one is not.
        const by = queue === undefined ? `'${on}'` : `group ${queue}`;
        bus.subscribe(
          `cw.${on}`,
          (message) => got.push(`${textOf(message)} ${by}`),
          queue === undefined ? {} : { queue },
        );
      }
      for (const [n, on] of subjects.entries()) bus.publish(`cw.${on}`, bytes(String(n)));
      await settled(bus);
      return got.sort();
    };
    const inMemoryGot = await countsOn(memoryBus({ clock: systemClock() }));
    assert.ok(inMemoryGot.length > subjects.length);
    assert.equal(inMemoryGot, await countsOn(await connect()));
  });
});

test('bus NATS - what is published while disconnected arrives after the server restarts, in order', async () => {
  await withServer({}, async (server, connect) => {
    const statuses: NatsStatus['type'][] = [];
    const bus = await connect({ onStatus: ({ type }) => statuses.push(type) });
    const got: string[] = [];
    bus.subscribe('a', (message) => {
      got.push(textOf(message));
      // Published between the kept messages and later ones: it may not overtake.
      if (textOf(message) === '0') bus.publish('a', bytes('from a handler'));
    });
    await bus.flush();
    await server.kill();
    await until('the loss is noticed', () => !bus.connected);
    const sent = Array.from({ length: 1000 }, (_, n) => String(n));
    for (const n of sent) bus.publish('a', bytes(n));
    const flushed = bus.flush();
    const answer = bus.request('echo', bytes('x'), { timeoutMs: 20_000 });
    bus.subscribe('echo', ({ reply, data }) => bus.publish(reply ?? '', data));
    await server.restart();
    await flushed;
    assert.is(textOf(await answer), 'x');
    await until('all are there', () => got.length === sent.length + 1);
    assert.equal(
      got.filter((each) => each !== 'from a handler'),
      sent,
    );
    assert.equal(statuses, ['disconnected', 'reconnected']);
  });
});

test('bus NATS - it comes back as soon as ever when the time of day was set back meanwhile, or stands still', async () => {
  const real = Date.now;
  await withServer({}, async (server, connect) => {
    const bus = await connect();
    const setBack = real() - 7_200_000;
    try {
      for (const now of [() => real() - 3_600_000, () => setBack]) {
        Date.now = now;
        await server.kill();
        await until('the loss is noticed', () => !bus.connected);
        await server.restart();
        await until('it is back', () => bus.connected, 5_000);
      }
    } finally {
      Date.now = real;
    }
  });
});

test('bus NATS - how long to wait is asked as often as the client asks by itself, of a connection of somebody else too', async () => {
  await withServer({}, async (server) => {
    let [asked, dialled] = [0, 0];
    const reconnectDelayHandler = () => {
      asked += 1;
      return 100;
    };
    const options = { servers: server.url, maxReconnectAttempts: -1, reconnectDelayHandler };
    const connection = await connect(options);
    const follow = async () => {
      for await (const { type } of connection.status()) if (type === DebugEvents.Reconnecting) dialled += 1;
    };
    void follow();
    try {
      await server.kill();
      await until('it was dialled some times', () => dialled >= 8);
    } finally {
      await connection.close();
    }
    // Twice for each: before it, and where that was too early. Now and then a timer comes early, and it is asked once more.
    assert.ok(asked < 3.5 * dialled, `asked ${asked} times for ${dialled}`);
  });
});

test('bus NATS - what is published in one tick arrives whole and in order, as text and as bytes, small and large', async () => {
  await withServer({}, async (_, connect) => {
    const sender = await connect();
    const receiver = await connect();
    const got: string[] = [];
    receiver.subscribe('over.*', ({ subject, headers, data }) =>
      got.push(`${subject} ${headers.n} ${Buffer.from(data).toString()}`),
    );
    await receiver.flush();
    const heardByItself: string[] = [];
    const sent: string[] = [];
    for (let n = 0; n < 300; n += 1) {
      const subject = n % 5 === 0 ? 'over.\u00fc' : 'over.a';
      const text = (['a', '\u00e9', '\u{1f600}'][n % 3] as string).repeat(SIZES[n % SIZES.length] as number);
      const body = n % 2 === 0 ? bytes(text) : { value: text, encoded: () => text };
      sender.publish(subject, body, n % 4 === 0 ? {} : { headers: { n: String(n) } });
      sent.push(`${subject} ${n % 4 === 0 ? undefined : n} ${text}`);
      // The client's own commands stand where they were given.
      if (n === 150) sender.subscribe('over.a', (message) => heardByItself.push(textOf(message)));
    }
    await sender.flush();
    await settled(receiver);
    await settled(sender);
    assert.is(got.length, sent.length);
    assert.is(
      sent.findIndex((one, n) => one !== got[n]),
      -1,
    );
    const after = sent.slice(151).filter((one) => one.startsWith('over.a'));
    assert.is(heardByItself.length, after.length);
  });
});

test('bus NATS - the ping by which a flush knows that all has arrived stands behind what was published before it', async () => {
  await withServer({}, async (server) => {
    let said = '';
    const relay = createServer((inner) => {
      const outer = createConnection({ host: '127.0.0.1', port: server.port });
      inner.on('data', (data) => {
        said += data;
        outer.write(data);
      });
      outer.pipe(inner);
      for (const socket of [inner, outer]) socket.on('error', () => {});
    });
    relay.listen(0, '127.0.0.1');
    await once(relay, 'listening');
    const bus = await connectNats({
      servers: `nats://127.0.0.1:${(relay.address() as AddressInfo).port}`,
      name: 'test',
    });
    try {
      await bus.flush();
      said = '';
      bus.publish('a', bytes('one'));
      bus.subscribe('b', () => {});
      bus.publish('a', bytes('two'));
      await bus.flush();
      assert.equal(
        [...said.matchAll(/PUB|SUB|PING/g)].map(([command]) => command),
        ['PUB', 'SUB', 'PUB', 'PING'],
      );
    } finally {
      await bus.close();
      relay.close();
    }
  });
});

test('bus NATS - of requests that were made in vain while disconnected nothing is kept', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  await withServer({}, async (server, connect) => {
    const bus = await connect();
    await server.kill();
    await until('it is disconnected', () => !bus.connected);
    const askInVain = async (times: number) => {
      for (let asked = 0; asked < times; asked += 500) {
        const asking = Array.from({ length: 500 }, () => bus.request('cw.nobody', EMPTY, { timeoutMs: 2 }));
        for (const { status } of await Promise.allSettled(asking)) assert.is(status, 'rejected');
      }
      collect();
      return process.memoryUsage().heapUsed;
    };
    const before = await askInVain(2_000);
    const kept = ((await askInVain(10_000)) - before) / 10_000;
    assert.ok(kept < 200, `${kept} bytes of each`);
  });
});

test('bus NATS - who waited for the server is woken when it is back, and leaves no timer', async () => {
  const LONG_MS = 77_000;
  const timers = new Set<Timer>();
  const clock = systemClock();
  const counting: Clock = {
    ...clock,
    after(delayMs, wake) {
      const timer = clock.after(delayMs, wake);
      if (delayMs !== LONG_MS) return timer;
      timers.add(timer);
      return {
        cancel() {
          timers.delete(timer);
          timer.cancel();
        },
      };
    },
  };
  await withServer({}, async (server, connect) => {
    const bus = await connect({ clock: counting });
    await server.kill();
    await until('it is disconnected', () => !bus.connected);
    const asking = failureOf(() => bus.request('cw.nobody', EMPTY, { timeoutMs: LONG_MS }));
    assert.is(timers.size, 1);
    await server.restart();
    assert.is((await asking).code, 'no-responders');
    assert.is(timers.size, 0);
  });
});

test('bus NATS - of services that were stopped nothing is kept, however long the connection lasts', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  await withServer({}, async (_, connect) => {
    const bus = await connect();
    const serve = async (times: number) => {
      for (let served = 0; served < times; served += 1) {
        const endpoint = { name: 'hello', subject: 'cw.hello', handler() {} };
        const service = await bus.serve({
          name: 'greeter',
          description: '',
          version: '1.0.0',
          metadata: {},
          endpoints: [endpoint],
        });
        await service.stop();
      }
      collect();
      return process.memoryUsage().heapUsed;
    };
    const before = await serve(50);
    const kept = ((await serve(200)) - before) / 200;
    assert.ok(kept < 4_000, `${kept} bytes of each`);
  });
});

test('bus NATS - too much published while disconnected drops the oldest, and says so once', async () => {
  await withServer({}, async (server, connect) => {
    const errors: CellwrightError[] = [];
    const statuses: NatsStatus[] = [];
    const bus = await connect({
      maxUnsentMessages: 10,
      maxUnsentBytes: 100,
      onError: (error) => errors.push(error as CellwrightError),
      onStatus: (status) => statuses.push(status),
    });
    const got: string[] = [];
    bus.subscribe('a', (message) => got.push(`${textOf(message).slice(0, 2)}${message.data.length}`));
    await bus.flush();
    await server.kill();
    await until('the loss is noticed', () => !bus.connected);
    for (let n = 10; n < 35; n++) bus.publish('a', bytes(String(n)));
    bus.publish('a', bytes('35'.padEnd(90)));
    await server.restart();
    await until('all are there', () => got.length === 6);
    await settled(bus);
    assert.equal(got, ['302', '312', '322', '332', '342', '3590']);
    assert.equal(
      errors.map(({ code }) => code),
      ['publish-buffer-full'],
    );
    const { type, resent, dropped } = statuses.at(-1) as NatsStatus & { type: 'reconnected' };
    assert.equal({ type, resent, dropped }, { type: 'reconnected', resent: 6, dropped: 20 });
  });
});

test('bus NATS - closing while disconnected ends, and tells what was never sent', async () => {
  await withServer({}, async (server, connect) => {
    const errors: string[] = [];
    const bus = await connect({ onError: (error) => errors.push((error as CellwrightError).code) });
    bus.subscribe('a', () => {});
    await server.kill();
    await until('the loss is noticed', () => !bus.connected);
    bus.publish('a', EMPTY);
    const asked = failureOf(() => bus.request('a', EMPTY, { timeoutMs: 50 }));
    assert.instance(await asked, TimeoutError);
    const flush = failureOf(() => bus.flush());
    await bus.close();
    assert.is(await bus.closed(), undefined);
    assert.is((await flush).code, 'closed');
    assert.equal(errors, ['unsent']);
  });
});

test('bus NATS - a server that hangs is left for another one, however much was sent to it', async () => {
  const servers = await Promise.all([startNatsServer({ jetstream: false }), startNatsServer({ jetstream: false })]);
  const serverAt = (url: string) => servers.find((one) => url.endsWith(`:${one.port}`)) as NatsServer;
  const statuses: NatsStatus['type'][] = [];
  const bus = await connectNats({
    servers: servers.map(({ url }) => url),
    name: 'test',
    pingIntervalMs: 100,
    reconnectWaitMs: 10,
    reconnectJitterMs: 0,
    onStatus: ({ type }) => statuses.push(type),
    onError() {},
  });
  const left = serverAt(bus.connection.getServer());
  try {
    process.kill(left.pid, 'SIGSTOP');
    // More than the sockets take, so that some of it waits in this process for ever.
    for (let sent = 0; sent < 32; sent += 1) bus.publish('cw.large', new Uint8Array(1_000_000));
    await until('it is connected to the other one', () => statuses.includes('reconnected'));
    assert.not.equal(serverAt(bus.connection.getServer()).port, left.port);
    await bus.flush();
  } finally {
    process.kill(left.pid, 'SIGCONT');
    await bus.close();
    await Promise.all(servers.map((server) => server.stop()));
  }
});

test('bus NATS - taking a service off a server that hangs takes no longer than closing', async () => {
  const server = await startNatsServer({ jetstream: false });
  const bus = await connectNats({ servers: server.url, name: 'test', closeTimeoutMs: 200, onError() {} });
  try {
    const service = await bus.serve(greeter('greeter', () => {}));
    process.kill(server.pid, 'SIGSTOP');
    const from = performance.now();
    await service.stop();
    assert.ok(performance.now() - from < 10_000);
    await bus.close();
  } finally {
    process.kill(server.pid, 'SIGCONT');
    await server.stop();
  }
});

test('bus NATS - a server that hangs is waited for once by all that is taken off it, and takes what was sent when it goes on', async () => {
  const server = await startNatsServer({ jetstream: false });
  const options = { servers: server.url, name: 'test', loopback: true, onError() {} };
  const bus = await connectNats({ ...options, closeTimeoutMs: 1_000 });
  const other = await connectNats(options);
  const heard: string[] = [];
  try {
    other.subscribe('words', ({ data }) => void heard.push(Buffer.from(data).toString()));
    await other.flush();
    const services = [await bus.serve(greeter('one', () => {})), await bus.serve(greeter('two', () => {}))];
    process.kill(server.pid, 'SIGSTOP');
    const from = performance.now();
    const silence = bus.silence();
    for (const word of ['last', 'words']) bus.publish('words', Buffer.from(word));
    for (const service of services) await service.stop();
    await silence.begun;
    await bus.close();
    silence.end();
    const tookMs = performance.now() - from;
    assert.ok(tookMs < 3_000, `${tookMs} ms`);
    process.kill(server.pid, 'SIGCONT');
    await until('what was sent is heard', () => heard.length === 2);
    assert.equal(heard, ['last', 'words']);
  } finally {
    process.kill(server.pid, 'SIGCONT');
    await Promise.all([bus.close(), other.close()]);
    await server.stop();
  }
});

test('bus NATS - a server that was silent and answers again is waited for anew', async () => {
  const server = await startNatsServer({ jetstream: false });
  const closeTimeoutMs = 300;
  const bus = await connectNats({ servers: server.url, name: 'test', closeTimeoutMs, onError() {} });
  const other = await connectNats({ servers: server.url, name: 'other', onError() {} });
  const waitsFor = async (service: Service) => {
    process.kill(server.pid, 'SIGSTOP');
    // It may answer for a moment yet.
    while (await within(100, other.flush(), systemClock())) {}
    const from = performance.now();
    await service.stop();
    return performance.now() - from;
  };
  try {
    const services = [await bus.serve(greeter('one', () => {})), await bus.serve(greeter('two', () => {}))];
    for (const service of services) {
      const tookMs = await waitsFor(service);
      assert.ok(tookMs > closeTimeoutMs / 2, `${tookMs} ms`);
      process.kill(server.pid, 'SIGCONT');
      await bus.flush();
    }
  } finally {
    process.kill(server.pid, 'SIGCONT');
    await Promise.all([bus.close(), other.close()]);
    await server.stop();
  }
});

test('bus NATS - closing ends what waits for an answer at once, also while the server hangs', async () => {
  const server = await startNatsServer({ jetstream: false });
  const options = { servers: server.url, name: 'test', closeTimeoutMs: 1_000, onError() {} };
  const bus = await connectNats(options);
  const other = await connectNats({ ...options, name: 'other' });
  try {
    other.subscribe('silent', () => {});
    const client = clientOf({ bus, clock: systemClock(), subjects: subjectsOf() });
    other.subscribe('cw.api.show', ({ reply = '' }) =>
      other.publish(reply, Buffer.from('{"id":"web","state":"building"}')),
    );
    await other.flush();
    let looks = 0;
    other.subscribe('cw.api.show', () => (looks += 1));
    const endings = [
      failureOf(() => bus.request('silent', EMPTY, { timeoutMs: 60_000 })),
      failureOf(() => client.ended('web')),
    ];
    await until('it has been looked at', () => looks > 0);
    // The answer has come, and the next look is a second away.
    await new Promise((resolve) => setTimeout(resolve, 100));
    process.kill(server.pid, 'SIGSTOP');
    const from = performance.now();
    const closing = bus.close();
    endings.push(failureOf(() => bus.request('silent', EMPTY, { timeoutMs: 60_000 })));
    const codes = (await Promise.all(endings)).map(({ code }) => code);
    assert.equal(codes, ['closed', 'closed', 'closed']);
    assert.ok(performance.now() - from < 500, `${performance.now() - from} ms`);
    await closing;
  } finally {
    process.kill(server.pid, 'SIGCONT');
    await Promise.all([bus.close(), other.close()]);
    await server.stop();
  }
});

test('bus NATS - a wrong address is an error in time', async () => {
  const server = await startTestServer({ jetstream: false });
  await server.stop();
  const error = await failureOf(() => connectNats({ servers: server.url, name: 'test', connectTimeoutMs: 400 }));
  assert.is(error.code, 'unreachable');
  assert.match(error.message, server.url);
});

test('bus NATS - files for TLS that nobody could read are refused before anything is dialled', async () => {
  const tls = new Map([['caFile', 'ca.pem']]) as object;
  const connecting = () => connectNats({ servers: 'tls://127.0.0.1:1', name: 'test', tls, connectTimeoutMs: 100 });
  const error = (await failureOf(connecting)) as CellwrightError;
  assert.equal([error.code, error.field], ['bad-option', 'tls']);
  assert.match(error.message, /plain object, not a Map/);
});

test('bus NATS - what the connection cannot go by is refused by its name before anything is dialled', async () => {
  for (const [wrong, says] of [
    [{ signal: 'stop' }, /must be an AbortSignal/],
    [{ clock: {} }, /must be a clock, with the methods now, /],
    [{ onStatus: 5 }, /must be a function/],
    [{ onError: 'log' }, /must be a function/],
    [{ inboxPrefix: 'a b' }, /must be tokens with dots between, without spaces/],
    [{ inboxPrefix: 'mine.>' }, /must be tokens with dots between/],
    [{ inboxPrefix: '' }, /must be tokens with dots between/],
  ] as const) {
    const [field] = Object.keys(wrong);
    const options = { servers: 'nats://127.0.0.1:1', name: 'test', connectTimeoutMs: 100, ...(wrong as object) };
    const error = (await failureOf(() => connectNats(options))) as CellwrightError;
    assert.equal([error.code, error.field], ['bad-option', field]);
    assert.match(error.message, says);
  }
});

test('bus NATS - an attempt that a server takes and does not answer is broken off, and keeps no process alive', async () => {
  let taken = 0;
  const open = new Set<Socket>();
  const hanging = createServer((socket) => {
    taken += 1;
    open.add(socket);
    socket.resume().on('close', () => open.delete(socket));
  });
  await once(hanging.listen(0, '127.0.0.1'), 'listening');
  try {
    const { port } = hanging.address() as AddressInfo;
    const servers = `127.0.0.1:${port}`;
    const error = await failureOf(() => connectNats({ servers, name: 'test', connectTimeoutMs: 300 }));
    assert.is(error.code, 'unreachable');
    assert.ok(taken > 0);
    await until('nothing is open', () => open.size === 0, 5_000);
  } finally {
    for (const socket of open) socket.destroy();
    hanging.close();
  }
});

test('bus NATS - an attempt that is given up is broken off at once, and nothing of it keeps the process alive', async () => {
  const open = new Set<Socket>();
  const hanging = createServer((socket) => {
    open.add(socket);
    socket.resume().on('close', () => open.delete(socket));
  });
  await once(hanging.listen(0, '127.0.0.1'), 'listening');
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const before = timers();
  try {
    const { port } = hanging.address() as AddressInfo;
    const givenUp = new AbortController();
    const servers = [`127.0.0.1:${port}`, `localhost:${port}`];
    const connecting = failureOf(() => connectNats({ servers, name: 'test', signal: givenUp.signal }));
    await until('the server has taken it', () => open.size > 0);
    givenUp.abort();
    assert.is((await connecting).code, 'interrupted');
    // Far sooner than an attempt may take by itself.
    await until('nothing of it is left', () => open.size === 0 && timers() <= before, 2_000);
  } finally {
    for (const socket of open) socket.destroy();
    hanging.close();
  }
});

test('bus NATS - what comes of a signal after the bus is connected is nothing to it: it comes back as ever', async () => {
  const server = await startNatsServer({ jetstream: false });
  const givenUp = new AbortController();
  const statuses: NatsStatus['type'][] = [];
  const bus = await connectNats({
    servers: server.url,
    name: 'test',
    signal: givenUp.signal,
    reconnectWaitMs: 10,
    onStatus: ({ type }) => statuses.push(type),
    onError() {},
  });
  try {
    assert.equal(getEventListeners(givenUp.signal, 'abort'), []);
    givenUp.abort();
    await bus.flush();
    assert.equal(statuses, []);
    await bus.connection.reconnect();
    await until('it is connected again', () => statuses.includes('reconnected'));
    await bus.flush();
  } finally {
    await bus.close();
    await server.stop();
  }
});

test('bus NATS - an attempt that a server takes and breaks off is over, and the next one begins', async () => {
  let taken = 0;
  const full = createServer((socket) => {
    taken += 1;
    socket.on('error', () => {}).on('data', () => socket.destroy());
    socket.write('INFO {"server_id":"full","version":"2.10.0","max_payload":1048576,"headers":true}\r\n');
  });
  await once(full.listen(0, '127.0.0.1'), 'listening');
  const giveUp = new AbortController();
  try {
    const servers = `127.0.0.1:${(full.address() as AddressInfo).port}`;
    const { signal } = giveUp;
    const failing = failureOf(() => connectNats({ servers, name: 'test', connectTimeoutMs: 60_000, signal }));
    // One attempt alone may take five seconds.
    await until('it tries again', () => taken > 2, 4_000);
    giveUp.abort();
    assert.is((await failing).code, 'interrupted');
  } finally {
    giveUp.abort();
    full.close();
  }
});

test('bus NATS - an attempt to reconnect is broken off, too, when others have connected with the client since', async () => {
  const server = await startTestServer({ jetstream: false });
  const open = new Set<Socket>();
  let taken = 0;
  const hanging = createServer((socket) => {
    taken += 1;
    open.add(socket);
    socket.resume().on('close', () => open.delete(socket));
  });
  const { port } = server;
  try {
    const options = { connectTimeoutMs: 500, reconnectWaitMs: 50, onError: () => {} };
    const bus = await connectNats({ servers: server.url, name: 'test', ...options });
    const others = await connect({ servers: server.url, reconnect: false });
    try {
      await server.kill();
      await once(hanging.listen(port, '127.0.0.1'), 'listening');
      await until('the second attempt is taken', () => taken > 1, 20_000);
      await until('the first is broken off', () => open.size <= 1, 5_000);
    } finally {
      await Promise.all([bus.close(), others.close()]);
    }
  } finally {
    for (const socket of open) socket.destroy();
    hanging.close();
    await server.stop();
  }
});

test('bus NATS - to come back it has as long as ever, however little time there was to connect at first', async () => {
  const server = await startTestServer({ jetstream: false });
  const inner: Socket[] = [];
  const relay = createServer((socket) => {
    const slowMs = inner.push(socket) === 1 ? 0 : 600;
    const outer = createConnection({ host: '127.0.0.1', port: Number(new URL(server.url).port) });
    socket.on('error', () => outer.destroy()).on('close', () => outer.destroy());
    outer.on('error', () => socket.destroy());
    socket.pipe(outer);
    setTimeout(() => outer.pipe(socket), slowMs);
  });
  await once(relay.listen(0, '127.0.0.1'), 'listening');
  const servers = `127.0.0.1:${(relay.address() as AddressInfo).port}`;
  const bus = await connectNats({ servers, name: 'test', connectTimeoutMs: 300, reconnectWaitMs: 10 });
  try {
    inner[0]?.destroy();
    await until('it is cut off', () => !bus.connected);
    await until('it is back', () => bus.connected, 10_000);
  } finally {
    await bus.close();
    relay.close();
    await server.stop();
  }
});

test('bus NATS - a server that comes late is waited for', async () => {
  const server = await startTestServer({ jetstream: false });
  try {
    await server.kill();
    const connecting = connectNats({ servers: server.url, name: 'test', connectTimeoutMs: 20_000 });
    await server.restart();
    const bus = await connecting;
    assert.is(bus.connected, true);
    await bus.close();
  } finally {
    await server.stop();
  }
});

const USERS = `authorization {
  users: [
    { user: cell, password: secret, permissions: { publish: ["cw.>", "_INBOX.>"], subscribe: ["cw.>", "_INBOX.>"] } }
  ]
}`;

test('bus NATS - wrong credentials are refused at once', async () => {
  await withServer({ config: USERS }, async (_, connect) => {
    assert.is((await failureOf(() => connect({ user: 'cell', pass: 'wrong' }))).code, 'unauthorized');
    assert.is((await failureOf(() => connect())).code, 'unauthorized');
    await settledWithin(await connect({ user: 'cell', pass: 'secret' }));
  });
});

test('bus NATS - what the server forbids is reported by operation and subject, and the rest goes on', async () => {
  await withServer({ config: USERS }, async (_, connect) => {
    const errors: CellwrightError[] = [];
    const bus = await connect({
      user: 'cell',
      pass: 'secret',
      onError: (error) => errors.push(error as CellwrightError),
    });
    bus.publish('other.a', EMPTY);
    bus.subscribe('other.b', () => {});
    bus.subscribe('other.c', () => {}, { queue: 'q' });
    await bus.flush();
    await until('all are reported', () => errors.length === 3);
    const asked = await failureOf(() => bus.request('other.d', EMPTY, { timeoutMs: 10_000 }));
    assert.equal([asked.code, /publish to 'other.d'/.test(asked.message)], ['permission-denied', true]);
    assert.ok(errors.every(({ code }) => code === 'permission-denied'));
    assert.equal(
      errors.slice(0, 3).map(({ message }) => message.replace(/^.* this user to /, '')),
      ["publish to 'other.a'", "subscribe to 'other.b'", "subscribe to 'other.c'"],
    );
    await settledWithin(bus);
  });
});

test('bus NATS - that the server forbids the same again and again is reported once a minute', async () => {
  await withServer({ config: USERS }, async (_, connect) => {
    const system = systemClock();
    let passedMs = 0;
    const clock = { ...system, monotonic: () => system.monotonic() + passedMs };
    const errors: string[] = [];
    const onError = (error: unknown) => errors.push((error as Error).message.replace(/^.* this user to /, ''));
    const bus = await connect({ user: 'cell', pass: 'secret', clock, onError });
    const publishAll = async () => {
      for (let n = 0; n < 100; n += 1) for (const subject of ['other.a', 'other.b']) bus.publish(subject, EMPTY);
      await bus.flush();
    };
    await publishAll();
    await until('both are reported', () => errors.length === 2);
    await publishAll();
    passedMs = 60_000;
    await publishAll();
    await until('both are reported again', () => errors.length === 4);
    // Which is told first hangs on what was still to be heard of the second time when the minute was over.
    assert.equal(errors.slice(2).sort(), errors.slice(0, 2).sort());
    await settledWithin(bus);
    assert.is(errors.length, 4);
  });
});

test('bus NATS - of inboxes and consumers, whose names are new each time, it is reported what is to be allowed, and once', async () => {
  await withServer({ config: USERS.replaceAll(', "_INBOX.>"', '') }, async (_, connect) => {
    const errors: string[] = [];
    const onError = (error: unknown) => errors.push((error as Error).message.replace(/^.* this user to /, ''));
    const bus = await connect({ user: 'cell', pass: 'secret', onError });
    for (let n = 0; n < 100; n += 1) {
      bus.subscribe(bus.inbox(), () => {});
      bus.subscribe(`${bus.inbox()}.*`, () => {});
      bus.publish(`${bus.inbox()}.${n}`, EMPTY);
      bus.publish(
        `$JS.API.CONSUMER.CREATE.KV_cw_leases.${bus.inbox().slice('_INBOX.'.length)}.$KV.cw_leases.cell.c1`,
        EMPTY,
      );
    }
    await bus.flush();
    await settledWithin(bus);
    const create = '$JS.API.CONSUMER.CREATE.KV_cw_leases.*.$KV.cw_leases.cell.c1';
    assert.equal(errors.sort(), [`publish to '${create}'`, "publish to '_INBOX.>'", "subscribe to '_INBOX.>'"]);
  });
});

test('bus NATS - that answers are forbidden is reported once, whatever client asks', async () => {
  await withServer({ config: USERS.replaceAll(', "_INBOX.>"', '') }, async (_, connect) => {
    const errors: string[] = [];
    const onError = (error: unknown) => errors.push((error as Error).message.replace(/^.* this user to /, ''));
    const bus = await connect({ user: 'cell', pass: 'secret', onError });
    const ofGo = 'aJ7sFZDVaXj3Ge3oVo9bQ';
    for (let n = 0; n < 10; n += 1) {
      bus.publish(`_INBOX.${ofGo}${n}`, EMPTY);
      bus.publish(`_INBOX.${ofGo}${n}.pRx0Bq${n}`, EMPTY);
      bus.publish(`${bus.inbox()}.${bus.inbox().slice('_INBOX.'.length)}`, EMPTY);
    }
    await bus.flush();
    await settledWithin(bus);
    assert.equal(errors, ["publish to '_INBOX.>'"]);
  });
});

test('bus NATS - why a server takes no more connections or subscriptions is told in its own words', async () => {
  await withServer({ config: 'max_connections: 1' }, async (server, connect) => {
    await connect({});
    const refused = await failureOf(() => connectNats({ servers: server.url, name: 'more', connectTimeoutMs: 5_000 }));
    assert.is(refused.code, 'unreachable');
    assert.match(refused.message, /maximum connections exceeded/);
  });
  await withServer({ config: 'max_subscriptions: 1' }, async (_, connect) => {
    const errors: string[] = [];
    const bus = await connect({ onError: (error: unknown) => errors.push((error as Error).message) });
    for (const subject of ['a', 'b']) bus.subscribe(subject, () => {});
    await until('it is told', () => errors.length > 0);
    assert.match(errors[0] as string, /maximum subscriptions exceeded/);
  });
});

test('bus NATS - of a program that takes connections and is silent, at once or after a greeting, it is told how long', async () => {
  for (const greeting of [
    '',
    'INFO {"server_id":"mute","version":"2.10.0","max_payload":1048576,"headers":true}\r\n',
  ]) {
    const held: Socket[] = [];
    const mute = createServer((socket) => {
      held.push(socket.on('error', () => {}));
      socket.write(greeting);
    });
    await once(mute.listen(0, '127.0.0.1'), 'listening');
    try {
      const servers = `127.0.0.1:${(mute.address() as AddressInfo).port}`;
      const error = await failureOf(() => connectNats({ servers, name: 'test', connectTimeoutMs: 500 }));
      assert.is(error.code, 'unreachable');
      assert.match(error.message, /within 500 ms: no connection came about in \d+ ms$/);
    } finally {
      for (const socket of held) socket.destroy();
      mute.close();
    }
  }
});

test('bus NATS - what a server said of why it takes none is told also if it ends later attempts before that is heard', async () => {
  let taken = 0;
  const full = createServer((socket) => {
    taken += 1;
    const refusal = taken === 1 ? "-ERR 'maximum connections exceeded'\r\n" : '';
    socket.on('error', () => {}).on('data', () => socket.destroy());
    socket.write(`INFO {"server_id":"full","version":"2.10.0","max_payload":1048576,"headers":true}\r\n${refusal}`);
  });
  await once(full.listen(0, '127.0.0.1'), 'listening');
  try {
    const servers = `127.0.0.1:${(full.address() as AddressInfo).port}`;
    const error = await failureOf(() => connectNats({ servers, name: 'test', connectTimeoutMs: 1_000 }));
    assert.ok(taken > 1);
    assert.is(error.code, 'unreachable');
    assert.match(error.message, /within 1000 ms: .*'maximum connections exceeded'$/);
  } finally {
    full.close();
  }
});

test('bus NATS - that what is served is forbidden is reported once, however often the server is asked again', async () => {
  await withServer({ config: USERS }, async (_, connect) => {
    const system = systemClock();
    let asked = 0;
    const after = (ms: number, wake: () => void) =>
      system.after(ms / 100, () => {
        asked += ms === 5_000 ? 1 : 0;
        wake();
      });
    const errors: string[] = [];
    const onError = (error: unknown) => errors.push((error as Error).message);
    const bus = await connect({ user: 'cell', pass: 'secret', clock: { ...system, after }, onError });
    const endpoints = [{ name: 'a', subject: 'other.a', handler() {} }];
    await bus.serve({ name: 'role', description: 'a role', version: '1.0.0', metadata: {}, endpoints });
    await until('the server is asked again and again', () => asked > 5);
    const subjects = errors.map((message) => /'(.*)'$/.exec(message)?.[1]?.replace(/\.[A-Z0-9]{22}$/, '.id'));
    const found = ['PING', 'STATS', 'INFO'].flatMap((verb) =>
      ['', '.role', '.role.id'].map((of) => `$SRV.${verb}${of}`),
    );
    assert.equal(subjects, [...found, 'other.a']);
  });
});

test('bus NATS - what is forbidden while the bus is closed leaves no timer behind', async () => {
  await withServer({ config: USERS }, async (_, connect) => {
    const system = systemClock();
    const pending = new Set<object>();
    const after = (ms: number, wake: () => void) => {
      const timer = system.after(ms, () => {
        pending.delete(timer);
        wake();
      });
      pending.add(timer);
      return {
        cancel() {
          pending.delete(timer);
          timer.cancel();
        },
      };
    };
    const bus = await connect({ user: 'cell', pass: 'secret', clock: { ...system, after }, onError() {} });
    const told: unknown[] = [];
    bus.subscribe('other.a', () => {}, { onForbidden: (error) => told.push(error) });
    await bus.close();
    assert.is(told.length, 1);
    assert.is(pending.size, 0);
  });
});

test('bus NATS - whoever subscribes is told that the server forbids it, before what follows is answered', async () => {
  await withServer({ config: USERS }, async (_, connect) => {
    const bus = await connect({ user: 'cell', pass: 'secret', onError: () => {} });
    const told: CellwrightError[] = [];
    bus.subscribe('other.b', () => {}, { onForbidden: (error) => told.push(error) });
    bus.subscribe('cw.b', () => {}, { onForbidden: (error) => told.push(error) });
    await bus.flush();
    assert.equal(
      told.map(({ code, message }) => [code, message.replace(/^.* this user to /, '')]),
      [['permission-denied', "subscribe to 'other.b'"]],
    );
  });
});

test('bus NATS - what the server forbade to hear is heard again once it is allowed, and not what was given up meanwhile', async () => {
  const allowing = (subjects: string) =>
    `no_auth_user: one\nauthorization { users: [{ user: one, password: one, permissions: { subscribe: ${subjects} } }] }`;
  const system = systemClock();
  const clock = { ...system, after: (ms: number, wake: () => void) => system.after(ms / 20, wake) };
  const port = await freePort();
  for (const loopback of [false, true]) {
    let server = await startNatsServer({ port, jetstream: false, config: allowing('">"') });
    const restarted = async (subjects: string) => {
      await server.stop();
      server = await startNatsServer({ port, jetstream: false, config: allowing(subjects) });
    };
    const errors: string[] = [];
    const options = { servers: server.url, reconnectWaitMs: 20, reconnectJitterMs: 10 };
    const onError = ({ message }: Error) => errors.push(message);
    const bus = await connectNats({ ...options, name: 'bus', clock, loopback, onError: onError as never });
    const other = await connectNats({ ...options, name: 'other', onError() {} });
    try {
      const heard: string[] = [];
      bus.subscribe('cw.a', () => heard.push('a'));
      const givenUp = bus.subscribe('cw.b', () => heard.push('b'));
      const endpoints = [
        { name: 'c', subject: 'cw.c', handler: ({ reply }: { reply?: string }) => bus.publish(reply as string, EMPTY) },
      ];
      await bus.serve({
        name: 'role',
        description: 'a role',
        version: '1.0.0',
        metadata: {},
        endpoints: endpoints as never,
        loopback,
      });
      const ended = { name: 'gone', description: 'a role', version: '1.0.0', metadata: {} };
      const service = await bus.serve({
        ...ended,
        endpoints: [{ ...endpoints[0], subject: 'cw.d' }] as never,
        loopback,
      });
      await restarted('["_INBOX.>", "$SRV.>"]');
      for (const subject of ['cw.a', 'cw.b', 'cw.c', 'cw.d']) {
        await until(`'${subject}' is forbidden`, () =>
          errors.some((line) => line.includes(`subscribe to '${subject}'`)),
        );
      }
      assert.is((await failureOf(() => other.request('cw.c', EMPTY, { timeoutMs: 5_000 }))).code, 'no-responders');
      givenUp.unsubscribe();
      await service.stop();
      await restarted('">"');
      const answered = () =>
        other.request('cw.c', EMPTY, { timeoutMs: 1_000 }).then(
          () => true,
          () => false,
        );
      const deadline = Date.now() + 30_000;
      while (!(await answered())) assert.ok(Date.now() < deadline, 'it is served again');
      await until('it is heard', () => {
        other.publish('cw.b', EMPTY);
        other.publish('cw.a', EMPTY);
        return heard.length > 0;
      });
      assert.not(heard.includes('b'));
      assert.is((await failureOf(() => other.request('cw.d', EMPTY, { timeoutMs: 5_000 }))).code, 'no-responders');
    } finally {
      await Promise.all([bus.close(), other.close()]);
      await server.stop();
    }
  }
});

test('bus NATS - what a server that reads its configuration anew forbids, and later allows, is heard again in a queue group too', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'cellwright-test-'));
  const file = join(folder, 'users.conf');
  const allow = (subjects: string) =>
    writeFile(file, `authorization { users: [{ user: one, password: one, permissions: { subscribe: ${subjects} } }] }`);
  await allow('">"');
  const config = `no_auth_user: one\ninclude "../${basename(folder)}/users.conf"`;
  const server = await startNatsServer({ jetstream: false, config });
  const reloaded = async (subjects: string) => {
    await allow(subjects);
    process.kill(server.pid, 'SIGHUP');
  };
  const system = systemClock();
  const clock = { ...system, after: (ms: number, wake: () => void) => system.after(ms / 20, wake) };
  const buses: NatsBus[] = [];
  try {
    for (const loopback of [false, true]) {
      const bus = await connectNats({ servers: server.url, name: 'bus', clock, loopback, onError() {} });
      const other = await connectNats({ servers: server.url, name: 'other', onError() {} });
      buses.push(bus, other);
      const handler = ({ reply }: BusMessage) => bus.publish(reply as string, EMPTY);
      const endpoints = [{ name: 'a', subject: 'cw.a', queue: 'here', handler }];
      await bus.serve({ name: 'role', description: 'a role', version: '1.0.0', metadata: {}, endpoints, loopback });
      const told: string[] = [];
      const onForbidden = ({ message }: CellwrightError) => void told.push(message);
      bus.subscribe('cw.b', handler, { queue: 'here', onForbidden, loopback });
      const late: string[] = [];
      const givenUp = bus.subscribe('cw.b', ({ subject }) => late.push(subject), { queue: 'gone', loopback });
      await bus.flush();
      const isAnswered = (subject: string) =>
        other.request(subject, EMPTY, { timeoutMs: 1_000 }).then(
          () => true,
          () => false,
        );
      const untilAnswered = async (isIt: boolean) => {
        const deadline = Date.now() + 30_000;
        for (const subject of ['cw.a', 'cw.b']) {
          while ((await isAnswered(subject)) !== isIt) assert.ok(Date.now() < deadline, `'${subject}': ${isIt}`);
        }
      };
      await untilAnswered(true);
      await reloaded('["_INBOX.>", "$SRV.>"]');
      await untilAnswered(false);
      await until('who subscribed is told', () => told.length > 0);
      assert.is(told[0], "the server does not allow this user to subscribe to 'cw.b'");
      givenUp.unsubscribe();
      late.length = 0;
      await reloaded('">"');
      await untilAnswered(true);
      await bus.flush();
      assert.equal(late, [], 'who has given up hears no more');
    }
  } finally {
    await Promise.all(buses.map((bus) => bus.close()));
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
});

test('bus NATS - on the console an error of the bus is a line, and one of somebody else has its stack', async () => {
  const { error: usual } = console;
  const lines: string[] = [];
  console.error = (...said) => void lines.push(format(...said));
  try {
    await withServer({ config: USERS }, async (_, connect) => {
      const bus = await connect({ user: 'cell', pass: 'secret' });
      bus.subscribe('cw.a', () => {
        throw new Error('a bug');
      });
      bus.publish('cw.a', EMPTY);
      bus.publish('other.a', EMPTY);
      await until('both are told', () => lines.length === 2);
    });
  } finally {
    console.error = usual;
  }
  const [ofBus = '', ofHandler = ''] = lines.toSorted((one, other) => one.length - other.length);
  assert.is(ofBus, "bus: 'other.a': the server does not allow this user to publish to 'other.a'");
  assert.match(ofHandler, /^bus: 'cw\.a': Error: a bug\n +at /);
});

test('bus NATS - a whole node works for a user who may use the inbox of its own only', async () => {
  const config = `authorization {
  users: [
    { user: own, password: secret, permissions: {
      publish: ["cw.>", "$JS.>", "$KV.>", "$SRV.>", "_INBOX_own.>"],
      subscribe: ["cw.>", "$KV.>", "$SRV.>", "_INBOX_own.>"]
    } }
  ]
}`;
  await withServer({ config, jetstream: true }, async (server, connect) => {
    const errors: string[] = [];
    const user = { user: 'own', pass: 'secret', inboxPrefix: '_INBOX_own' };
    const logger = pino({ level: 'warn' }, { write: (line) => errors.push(line) });
    const roles = ['placement', 'scheduler', 'conductor', 'cell:c1', 'compute:c1/h1'];
    const driver = () => quickDriver('c1', 'h1');
    const servers = server.url.replace('//', '//own:secret@');
    const node = await startNode({ roles, driver, logger, nats: { servers, inboxPrefix: '_INBOX_own' } });
    try {
      assert.is(node.url, server.url, 'the password is nobody else’s');
      const bus = await connect(user);
      const client = clientOf({ bus, clock: systemClock(), subjects: subjectsOf() });
      await hostsUp(client, 'c1', 1);
      await client.build({ id: 'web', resources: { VCPU: 1 } });
      assert.is((await client.ended('web', { timeoutMs: 20_000 })).state, 'active');
      assert.equal(errors, []);
    } finally {
      await node.stop();
    }
  });
});

/** As `settled`, for a user who may use `cw.>` only. */
async function settledWithin(bus: Bus): Promise<void> {
  let seen = false;
  bus.subscribe('cw.settled', () => (seen = true));
  bus.publish('cw.settled', EMPTY);
  await until('a message makes its round', () => seen);
}

test('bus NATS - a service is found by name, with figures that other tools can read', async () => {
  await withServer({}, async (_, connect) => {
    const [asker, bus] = [await connect(), await connect({ onError: () => {} })];
    await bus.serve(
      greeter('cw.greet', (message) => {
        if (message.data.length === 0) throw new Error('greet whom?');
        bus.publish(message.reply ?? '', bytes('hello'));
      }),
    );
    const ask = async (subject: string) => JSON.parse(textOf(await asker.request(subject, EMPTY, { timeoutMs: 5000 })));
    for (const body of ['x', 'y', '']) await asker.request('cw.greet', bytes(body), { timeoutMs: 5000 });
    const ping = await ask('$SRV.PING');
    assert.equal([ping.name, ping.version, ping.metadata], ['greeter', '1.2.3', { cell: 'c1' }]);
    const info = await ask(`$SRV.INFO.greeter.${ping.id}`);
    assert.equal(info.endpoints[0].subject, 'cw.greet');
    assert.equal([info.description, info.endpoints[0].name, info.endpoints[0].queue_group], ['greets', 'greet', 'q']);
    const [stats] = (await ask('$SRV.STATS.greeter')).endpoints;
    assert.equal([stats.num_requests, stats.num_errors, stats.last_error], [3, 1, 'greet whom?']);
    assert.equal(stats.data, { greeted: 7 });
    for (const figure of [stats.processing_time, stats.average_processing_time]) assert.ok(Number.isInteger(figure));
  });
});

test('bus NATS - figures that cannot be written as JSON do not end the process', async () => {
  await withServer({}, async (_, connect) => {
    const bus = await connect();
    await bus.serve({ ...greeter('cw.greet', () => {}), stats: () => ({ n: 5n }) });
    const stats = JSON.parse(textOf(await bus.request('$SRV.STATS.greeter', EMPTY, { timeoutMs: 5000 })));
    assert.match(stats.endpoints[0].data.error, 'BigInt');
  });
});

test('bus NATS - a listener of errors or of the status that throws, at once or by and by, does not make the connection deaf', async () => {
  const { error: print } = console;
  const printed: unknown[] = [];
  const unheard: unknown[] = [];
  const note = (reason: unknown) => unheard.push(reason);
  process.on('unhandledRejection', note);
  console.error = (...line: unknown[]) => void printed.push(line);
  try {
    await withServer({}, async (server, connect) => {
      const fail = () => {
        throw new Error('the listener is broken');
      };
      const bus = await connect({ onError: fail, onStatus: fail });
      await connect({ onError: async () => fail(), onStatus: async () => fail() });
      let got = 0;
      bus.subscribe('a', () => {
        got++;
        throw new Error('the handler is broken');
      });
      bus.publish('a', EMPTY);
      bus.publish('a', EMPTY);
      await until('both are there', () => got === 2);
      await server.kill();
      await until('the loss is noticed', () => !bus.connected);
      await server.restart();
      await until('the connection is back', () => bus.connected);
      bus.publish('a', EMPTY);
      await until('it works again', () => got === 3);
    });
  } finally {
    console.error = print;
    process.off('unhandledRejection', note);
  }
  assert.ok(printed.length > 0);
  assert.equal(unheard, []);
});

test.run();
