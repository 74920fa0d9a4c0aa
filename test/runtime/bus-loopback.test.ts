// Area: bus loopback. What a process publishes and hears itself needs no server, and everybody else hears it all the same.

import { once } from 'node:events';
import { type AddressInfo, connect as connectTo, createServer, type Socket } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Bus, BusMessage } from '../../runtime/bus/bus.ts';
import { connectNats, type NatsBus } from '../../runtime/bus/nats.ts';
import type { NatsStatus } from '../../runtime/bus/nats-options.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { bytes, EMPTY, greeter, settled, textOf, withServer } from '../support/bus.ts';
import { startProxy } from '../support/proxy.ts';
import { failureOf, until } from '../support/until.ts';

const test = suite('bus loopback');

const loopback = true;
const clock = systemClock();

/** What is written to the socket from now on, piece by piece. */
function piecesOf({ connection }: NatsBus): string[] {
  const { transport } = (connection as unknown as { protocol: { transport: { send(piece: Uint8Array): void } } })
    .protocol;
  const pieces: string[] = [];
  const send = transport.send;
  transport.send = (piece) => {
    pieces.push(Buffer.from(piece).toString());
    send.call(transport, piece);
  };
  return pieces;
}

test('bus loopback - a value is handed over as it is, once, and encoded for others', async () => {
  await withServer({}, async (_, connect) => {
    const [bus, other] = [await connect({ loopback }), await connect()];
    const value = { some: 'thing' };
    const here: BusMessage[] = [];
    const there: string[] = [];
    bus.subscribe('cw.cell.c1', (message) => here.push(message), { loopback });
    bus.subscribe('cw.cell.*', ({ subject }) => there.push(`plain ${subject}`));
    other.subscribe('cw.>', (message) => there.push(`${textOf(message)} ${message.headers['Cw-Type']}`));
    await Promise.all([bus.flush(), other.flush()]);
    bus.publish('cw.cell.c1', { value, encoded: () => bytes('encoded') }, { headers: { 'Cw-Type': 'start' } });
    assert.is(here.length, 0, 'not inside the call');
    await settled(bus, other);
    await until('others have it', () => there.length === 2);
    assert.equal(there.sort(), ['encoded start', 'plain cw.cell.c1']);
    assert.is(here.length, 1);
    assert.is(here[0]?.value, value);
    assert.is(textOf(here[0] as BusMessage), 'encoded');
    // From elsewhere it comes as bytes.
    other.publish('cw.cell.c1', bytes('from elsewhere'));
    await until('it is there', () => here.length === 2);
    assert.is(here[1]?.value, undefined);
    assert.is(textOf(here[1] as BusMessage), 'from elsewhere');
  });
});

test('bus loopback - without a server a process goes on hearing itself; what only others hear is sent later', async () => {
  await withServer({}, async (server, connect) => {
    const statuses: NatsStatus[] = [];
    const [bus, other] = [await connect({ loopback, onStatus: (status) => statuses.push(status) }), await connect()];
    const here: string[] = [];
    const there: string[] = [];
    bus.subscribe('cw.a', (message) => here.push(textOf(message)), { loopback });
    other.subscribe('cw.a', (message) => there.push(textOf(message)));
    await Promise.all([bus.flush(), other.flush()]);
    await server.kill();
    await until('the loss is noticed', () => !bus.connected && !other.connected);
    bus.publish('cw.a', bytes('1'));
    bus.publish('cw.elsewhere', EMPTY);
    await until('it is heard here', () => here.length === 1);
    await server.restart();
    await until('both are back', () => statuses.length === 2 && other.connected);
    assert.equal(
      statuses.map((status) => [status.type, 'resent' in status ? status.resent : 0]),
      [
        ['disconnected', 0],
        ['reconnected', 1],
      ],
      'of both connections as of one',
    );
    await other.flush();
    bus.publish('cw.a', bytes('2'));
    await until('it is heard', () => here.length === 2 && there.length === 1);
    assert.equal([here, there], [['1', '2'], ['2']]);
  });
});

test('bus loopback - what is to go by the server does not arrive while nobody can be reached', async () => {
  await withServer({}, async (server, connect) => {
    const proxy = await startProxy(server.port);
    try {
      const bus = await connect({ servers: proxy.url, loopback });
      const got: string[] = [];
      bus.subscribe('cw.a', (message) => got.push(textOf(message)), { loopback });
      await bus.flush();
      void proxy.cut();
      bus.publish('cw.a', bytes('echo'), { byServer: true });
      bus.publish('cw.a', bytes('1'));
      bus.publish('cw.a', bytes('2'));
      await until('what is handed over is there', () => got.length === 2);
      assert.equal(got, ['1', '2']);
      proxy.mend();
    } finally {
      await proxy.close();
    }
  });
});

test('bus loopback - a question that is heard here is not told to be heard by nobody', async () => {
  await withServer({}, async (_, connect) => {
    const bus = await connect({ loopback });
    const told: string[] = [];
    const heard: (string | undefined)[] = [];
    bus.subscribe('cw.me.unheard.>', () => {}, { onUnheard: (subject) => told.push(subject) });
    const { unsubscribe } = bus.subscribe('cw.here', ({ reply }) => heard.push(reply), { loopback });
    await bus.flush();
    bus.publish('cw.here', EMPTY, { reply: 'cw.me.unheard.here' });
    await bus.flush();
    unsubscribe();
    bus.publish('cw.here', EMPTY, { reply: 'cw.me.unheard.gone' });
    await until('the second one is told to be', () => told.includes('cw.me.unheard.gone'));
    assert.equal([told, heard], [['cw.me.unheard.gone'], ['cw.me.unheard.here']]);
  });
});

test('bus loopback - the time to connect is that of both connections together', async () => {
  await withServer({}, async (server) => {
    // Of two that come at once one is never answered.
    let connections = 0;
    let unanswered: Socket | undefined;
    const listener = createServer((inner) => {
      connections += 1;
      if (connections === 2) {
        unanswered = inner.on('error', () => {});
        return;
      }
      const outer = connectTo(server.port, '127.0.0.1');
      for (const [from, to] of [
        [inner, outer],
        [outer, inner],
      ] as const) {
        from.pipe(to);
        from.on('error', () => to.destroy());
      }
    }).listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const { port } = listener.address() as AddressInfo;
    try {
      const options = { servers: `nats://127.0.0.1:${port}`, name: 'two', connectTimeoutMs: 700, loopback };
      const error = await failureOf(() => connectNats(options));
      assert.is(error.code, 'unreachable');
      const [, all, one] = /within (\d+) ms: no connection came about in (\d+) ms$/.exec(error.message) ?? [];
      assert.is(all, '700', error.message);
      assert.ok(Number(one) <= 700, error.message);
    } finally {
      unanswered?.destroy();
      listener.close();
    }
  });
});

test('bus loopback - one of the two connections that is lost is told as both, and the other goes on', async () => {
  await withServer({}, async (server, connect) => {
    const proxy = await startProxy(server.port);
    try {
      const statuses: string[] = [];
      const onStatus = ({ type }: NatsStatus) => void statuses.push(type);
      const more = { pingIntervalMs: 50, loopback, onStatus, onError() {} };
      const bus = await connect({ servers: proxy.url, name: 'two', ...more });
      const other = await connect();
      const got: string[] = [];
      bus.subscribe('cw.a', (message) => got.push(textOf(message)), { loopback });
      await bus.flush();
      proxy.cut(/echo/);
      await until('the loss is noticed', () => statuses.length === 1);
      assert.ok(bus.connected);
      other.publish('cw.a', bytes('from elsewhere'));
      bus.publish('cw.a', bytes('from here'));
      await until('both are heard', () => got.length === 2);
      proxy.mend();
      await until('all is well', () => statuses.at(-1) === 'reconnected' && bus.connected);
      assert.is(await answered(bus), 'answer');
    } finally {
      await proxy.close();
    }
  });
});

async function answered(bus: Bus): Promise<string> {
  bus.subscribe('cw.question', ({ reply }) => bus.publish(reply ?? '', bytes('answer')), { loopback });
  await bus.flush();
  return textOf(await bus.request('cw.question', EMPTY, { timeoutMs: 10_000 }));
}

test('bus loopback - a service answers its own process and others, also when its handler throws', async () => {
  await withServer({}, async (_, connect) => {
    const errors: string[] = [];
    const [bus, other] = [await connect({ loopback, onError: (_, subject) => errors.push(subject) }), await connect()];
    const service = greeter('cw.greet', ({ data, reply }) => {
      if (data.length === 0) throw new Error('greet whom?');
      bus.publish(reply ?? '', bytes('hello'));
    });
    const served = await bus.serve({ ...service, loopback });
    for (const asker of [bus, other]) {
      assert.is(textOf(await asker.request('cw.greet', bytes('me'), { timeoutMs: 5_000 })), 'hello');
      const { headers } = await asker.request('cw.greet', EMPTY, { timeoutMs: 5_000 });
      assert.is(headers['Nats-Service-Error'], 'greet whom?');
    }
    assert.equal(errors, ['cw.greet', 'cw.greet']);
    const ping = await bus.request('$SRV.PING.greeter', EMPTY, { timeoutMs: 5_000 });
    assert.is(JSON.parse(textOf(ping)).name, 'greeter');
    const answers: string[] = [];
    bus.subscribe('cw.answers', (message) => answers.push(textOf(message)));
    await bus.flush();
    bus.publish('cw.greet', bytes('me'), { reply: 'cw.answers' });
    await served.stop();
    await until('what has come is handed on', () => answers.length === 1);
    assert.equal(answers, ['hello']);
    for (const asker of [bus, other]) {
      const gone = await asker.request('cw.greet', bytes('me'), { timeoutMs: 5_000 }).catch((error) => error.code);
      assert.is(gone, 'no-responders');
    }
  });
});

test('bus loopback - what comes by either connection until the end is answered', async () => {
  await withServer({}, async (_, connect) => {
    const [bus, asker] = [await connect({ loopback }), await connect()];
    await bus.serve(greeter('cw.greet', ({ data, reply }) => bus.publish(reply ?? '', data)));
    const asked = Array.from({ length: 1_000 }, (_, n) =>
      asker.request('cw.greet', bytes(String(n)), { timeoutMs: 20_000 }).then(textOf),
    );
    await asker.flush();
    await bus.close();
    assert.equal(
      await Promise.all(asked),
      asked.map((_, n) => String(n)),
    );
  });
});

test('bus loopback - the first question to somebody who is heard here has its answer', async () => {
  await withServer({}, async (_, connect) => {
    for (let n = 0; n < 20; n += 1) assert.is(await answered(await connect({ loopback })), 'answer');
  });
});

test('bus loopback - what is handed over, and what can wait, is written to the socket with what follows from it', async () => {
  await withServer({}, async (_, connect) => {
    const [bus, other] = [await connect({ loopback }), await connect()];
    const heard: string[] = [];
    other.subscribe('cw.>', ({ subject }) => heard.push(subject));
    bus.subscribe('cw.asked', () => bus.publish('cw.followed', EMPTY), { loopback });
    await Promise.all([bus.flush(), other.flush()]);
    const written = piecesOf(bus);
    bus.publish('cw.told', EMPTY, { canWait: true });
    bus.publish('cw.asked', EMPTY);
    await until('others have all', () => heard.length === 3);
    assert.equal(heard, ['cw.told', 'cw.asked', 'cw.followed']);
    assert.is(written.length, 1, written.join(' and '));
  });
});

test('bus loopback - what can wait does not wait for what never comes, nor until no more comes', async () => {
  await withServer({}, async (_, connect) => {
    const [bus, other] = [await connect({ loopback }), await connect()];
    const heard = new Set<string>();
    other.subscribe('cw.>', ({ subject }) => heard.add(subject));
    await other.flush();
    bus.publish('cw.alone', EMPTY, { canWait: true });
    await until('it came', () => heard.has('cw.alone'));
    const written = piecesOf(bus);
    let more = setImmediate(function publish() {
      bus.publish('cw.more', EMPTY, { canWait: true });
      more = setImmediate(publish);
    });
    try {
      await until('it came while more was to come', () => heard.has('cw.more'));
    } finally {
      clearImmediate(more);
    }
    const together = written[0]?.match(/^PUB /gm)?.length ?? 0;
    assert.ok(together > 0 && together < 100, `${together} went out as one`);
  });
});

test('bus loopback - what can wait is sent in the next round where each takes long', async () => {
  await withServer({}, async (_, connect) => {
    const bus = await connect({ loopback, clock });
    const written = piecesOf(bus);
    let rounds = 0;
    const work = () => {
      rounds += 1;
      const end = performance.now() + 20;
      while (performance.now() < end);
      if (written.length === 0 && rounds < 30) clock.soon(work);
    };
    clock.soon(work);
    bus.publish('cw.told', EMPTY, { canWait: true });
    await until('it is sent', () => written.length > 0);
    assert.ok(rounds <= 2, `${rounds} rounds of 20 ms`);
  });
});

test('bus loopback - close hands over what was published before it, and when one connection ends so does the other', async () => {
  await withServer({}, async (_, connect) => {
    const bus = await connect({ loopback });
    let got = 0;
    bus.subscribe('cw.a', () => (got += 1), { loopback });
    bus.publish('cw.a', EMPTY);
    await bus.close();
    assert.is(got, 1);
    const statuses: string[] = [];
    const cut = await connect({ loopback, onStatus: ({ type }) => statuses.push(type) });
    await cut.connection.close();
    await cut.closed();
    assert.equal(statuses, ['closed']);
    assert.throws(() => cut.publish('cw.a', EMPTY), 'closed');
  });
});

test.run();
