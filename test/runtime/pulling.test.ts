// Pulling the entries of a stream from one consumer of a real server: all of them, without a pause and in order.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectNats, type NatsBus } from '../../runtime/bus/nats.ts';
import { pulling } from '../../runtime/journal/pulling.ts';
import { systemClock } from '../../runtime/system-clock.ts';
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

test.run();
