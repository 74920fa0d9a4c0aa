// Pulling the entries of a stream from one consumer of a real server: all of them, without a pause and in order.

import type { Msg } from 'nats';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectNats, type NatsBus } from '../../runtime/bus/nats.ts';
import { pulling } from '../../runtime/journal/pulling.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';
import { startTestServer } from '../support/nats-server.ts';

const clock = systemClock();

/** With a stream that has so many entries, all of the same size. */
async function onStream(entries: number, body: (bus: NatsBus) => Promise<void>): Promise<void> {
  const server = await startTestServer();
  const bus = await connectNats({ servers: server.url, name: 'pulling-test', onError() {} });
  try {
    const { streams } = await bus.connection.jetstreamManager();
    await streams.add({ name: 'one', subjects: ['one'], storage: 'memory' as never });
    const stream = bus.connection.jetstream();
    await Promise.all(numbersTo(entries).map(() => stream.publish('one', new Uint8Array(100))));
    await body(bus);
  } finally {
    await bus.close();
    await server.stop();
  }
}

async function consumerOf(bus: NatsBus): Promise<string> {
  const { consumers } = await bus.connection.jetstreamManager();
  const options = { deliver_policy: 'all' as never, ack_policy: 'none' as never, mem_storage: true };
  return (await consumers.add('one', options)).name;
}

/** The numbers of the entries that one consumer brings, up to the last. */
async function broughtBy(bus: NatsBus, last: number, mostBytes: number): Promise<number[]> {
  const numbers: number[] = [];
  for await (const { seq } of pulling({ bus, clock, stream: 'one', consumer: await consumerOf(bus), mostBytes })) {
    numbers.push(seq);
    if (seq === last) break;
  }
  return numbers;
}

const numbersTo = (last: number) => Array.from({ length: last }, (_, n) => n + 1);

test('pulling - one consumer brings more entries than are asked for at once', () =>
  onStream(2_500, async (bus) => {
    assert.equal(await broughtBy(bus, 2_500, 1_000_000), numbersTo(2_500));
  }));

/** What is said to somebody who pulls, without a server; and how often he has asked for more. */
function pulled() {
  const virtual = virtualClock();
  let hear: (error: Error | null, message: Msg) => void = () => {};
  const asked: number[] = [];
  const connection = {
    subscribe(_: string, { callback }: { callback: typeof hear }) {
      hear = callback;
      return { unsubscribe() {} };
    },
    publish: () => asked.push(virtual.now()),
    isClosed: () => false,
  };
  const bus = { connection, inbox: () => 'inbox' } as unknown as NatsBus;
  const all = pulling({ bus, clock: virtual, stream: 'one', consumer: 'c', mostBytes: 1_000 });
  const brought: number[] = [];
  let isOver = false;
  void (async () => {
    for await (const { seq } of all) brought.push(seq);
    isOver = true;
  })();
  const entry = (seq: number) =>
    hear(null, { data: new Uint8Array(1), reply: `$JS.ACK.one.c.1.${seq}.${seq}.0.0` } as Msg);
  const say = (code: number) =>
    hear(null, { data: new Uint8Array(0), headers: { code, get: () => '' } } as unknown as Msg);
  const over = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    return isOver;
  };
  return { virtual, asked, brought, entry, say, over, fail: (error: Error) => hear(error, {} as Msg) };
}

test('pulling - a consumer of which nothing is heard any more is over; one that says that it is there is not', async () => {
  const { virtual, asked, brought, entry, say, over } = pulled();
  entry(1);
  for (let at = 2_000; at <= 20_000; at += 2_000) {
    virtual.advanceTo(at);
    say(100);
    assert.not(await over(), `${at}`);
  }
  virtual.advanceTo(24_999);
  assert.not(await over());
  virtual.advanceTo(25_000);
  assert.ok(await over());
  assert.equal([brought, asked], [[1], [0]]);
});

test('pulling - what the server has no entry for is asked for again; where the next is too large it is over, and where it breaks off', async () => {
  for (const code of [404, 408]) {
    const { asked, say, over } = pulled();
    say(code);
    assert.not(await over());
    assert.is(asked.length, 2, `${code}`);
  }
  const large = pulled();
  large.entry(1);
  large.say(409);
  assert.not(await large.over(), 'for what was left of the limit');
  assert.is(large.asked.length, 2);
  large.say(409);
  assert.ok(await large.over());
  assert.equal([large.brought, large.asked.length], [[1], 2]);
  const broken = pulled();
  broken.fail(new Error('it is gone'));
  assert.ok(await broken.over());
});

test.run();
