// What the substrate can do by itself, by way of the plain NATS client: a request and its reply, a message published,
// and one stored by JetStream.

import { connect, createInbox, type NatsConnection } from 'nats';
import { progress, type Report } from './report.ts';

export interface Limits {
  /** Messages stored a second, by messages in flight. */
  readonly stored: ReadonlyMap<number, number>;
}

const FOR_MS = 1_500;
const IN_FLIGHT = [1, 64, 256];
/** Messages published before the client is given the time to send them. */
const PUBLISHED_AT_ONCE = 256;

/** How often a second `once` is done, with so many under way at any time. */
export async function rate(inFlight: number, forMs: number, once: () => Promise<unknown>): Promise<number> {
  const end = performance.now() + forMs;
  let done = 0;
  const begun = performance.now();
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      while (performance.now() < end) {
        await once();
        done += 1;
      }
    }),
  );
  return (done / (performance.now() - begun)) * 1_000;
}

/** Two connections of the plain client: what one asks the other answers, and nothing is done about it. */
export interface BareRequests {
  readonly asker: NatsConnection;
  readonly answerer: NatsConnection;
  readonly body: Uint8Array;
  once(): Promise<unknown>;
  close(): Promise<void>;
}

export async function bareRequests(url: string): Promise<BareRequests> {
  const options = { servers: url, noAsyncTraces: true };
  const asker = await connect(options);
  const answerer = await connect(options);
  const body = new Uint8Array(256);
  answerer.subscribe('bench.ask', { callback: (_, message) => void message.respond(body) });
  await answerer.flush();
  return {
    asker,
    answerer,
    body,
    once: () => asker.request('bench.ask', body, { timeout: 5_000 }),
    close: async () => void (await Promise.all([asker.close(), answerer.close()])),
  };
}

export async function bareLimits(url: string, report: Report): Promise<Limits> {
  progress('bare limits');
  const { asker, answerer, body, once, close } = await bareRequests(url);
  const stored = new Map<number, number>();
  try {
    report({ name: 'bare NATS publish', value: await publishes(asker, answerer, body), unit: 'a second' });
    for (const inFlight of IN_FLIGHT) {
      const value = await rate(inFlight, FOR_MS, once);
      report({ name: `bare NATS request and reply, ${inFlight} in flight`, value, unit: 'a second' });
    }
    const manager = await asker.jetstreamManager();
    await manager.streams.add({ name: 'bench', subjects: ['bench.stored'], storage: 'file' as never });
    const store = storing(asker, body);
    for (const inFlight of IN_FLIGHT) {
      const value = await rate(inFlight, FOR_MS, store);
      stored.set(inFlight, value);
      report({ name: `bare JetStream publish (file, R1), ${inFlight} in flight`, value, unit: 'a second' });
    }
    await manager.streams.delete('bench');
    return { stored };
  } finally {
    await close();
  }
}

/** Messages that one connection publishes and another one gets, a second. */
async function publishes(from: NatsConnection, to: NatsConnection, body: Uint8Array): Promise<number> {
  let got = 0;
  const subscription = to.subscribe('bench.told', {
    callback() {
      got += 1;
    },
  });
  await to.flush();
  const begun = performance.now();
  while (performance.now() - begun < FOR_MS) {
    for (let n = 0; n < PUBLISHED_AT_ONCE; n += 1) from.publish('bench.told', body);
    await from.flush();
  }
  await to.flush();
  const perSecond = (got / (performance.now() - begun)) * 1_000;
  subscription.unsubscribe();
  return perSecond;
}

/** Stores a message and waits until it is: with one subject for all acknowledgements, which come in order. */
function storing(connection: NatsConnection, body: Uint8Array): () => Promise<void> {
  const inbox = createInbox();
  const waiting: (() => void)[] = [];
  let first = 0;
  connection.subscribe(inbox, {
    callback() {
      waiting[first++]?.();
      if (first < 1_024) return;
      waiting.splice(0, first);
      first = 0;
    },
  });
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      connection.publish('bench.stored', body, { reply: inbox });
    });
}
