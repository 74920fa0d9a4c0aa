// What the substrate can do by itself: a request and its reply, a message published and one stored by JetStream, by way
// of the plain NATS client; a step by xstate; and what a plain record takes of memory. The figures stand beside these.

import { connect, createInbox, type NatsConnection } from 'nats';
import { transition } from 'xstate';
import { instanceBuild } from '../../machines/instance-build.ts';
import { begin } from '../../machines/step.ts';
import { type Bare, progress, type Report } from './report.ts';
import { ownUsage } from './usage.ts';

export interface Limits {
  /** Requests answered, and messages stored, a second, by how many are in flight. */
  readonly requests: ReadonlyMap<number, number>;
  readonly stored: ReadonlyMap<number, number>;
  /** Steps a second by xstate's transition(). */
  readonly steps: number;
  /** Of heap, for a record of an instance as a plain program would keep it. */
  readonly recordBytes: number;
}

const rateOf = (rates: ReadonlyMap<number, number>, inFlight: number) => rates.get(inFlight) as number;

/** How long one request takes when there is no other. */
export const aRequest = ({ requests }: Limits): Bare => ({
  name: 'a bare request',
  value: 1_000 / rateOf(requests, 1),
});

export const manyRequests = ({ requests }: Limits): Bare => ({
  name: 'bare requests, 256 in flight',
  value: rateOf(requests, 256),
});

/** @param inFlight How much is under way. */
export function storing({ stored }: Limits, inFlight: number): Bare {
  const nearest = inFlight >= 256 ? 256 : inFlight >= 64 ? 64 : 1;
  return { name: `bare JetStream publish, ${nearest} in flight`, value: rateOf(stored, nearest) };
}

/** How long it takes to store so many messages, s. */
export const storingOf = ({ stored }: Limits, messages: number): Bare => ({
  name: 'bare JetStream publish of as many, 256 in flight',
  value: messages / rateOf(stored, 256),
});

export const manySteps = ({ steps }: Limits): Bare => ({ name: "xstate's transition()", value: steps });

/** How long one step takes, us. */
export const aStep = ({ steps }: Limits): Bare => ({ name: "a step by xstate's transition()", value: 1e6 / steps });

/** @param unitBytes Of the unit in which it is told. */
export const plainRecords = ({ recordBytes }: Limits, many: number, unitBytes: number): Bare => ({
  name: many === 1 ? 'a plain record' : 'as many plain records',
  value: (many * recordBytes) / unitBytes,
});

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

/** The same of what is done one after the other, so many times. */
export function perSecond(times: number, once: (n: number) => void): number {
  const begun = performance.now();
  for (let n = 0; n < times; n += 1) once(n);
  return (times / (performance.now() - begun)) * 1_000;
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
  const requests = new Map<number, number>();
  const stored = new Map<number, number>();
  try {
    report({ name: 'bare NATS publish', value: await publishes(asker, answerer, body), unit: 'a second' });
    for (const inFlight of IN_FLIGHT) {
      const value = await rate(inFlight, FOR_MS, once);
      requests.set(inFlight, value);
      report({ name: `bare NATS request and reply, ${inFlight} in flight`, value, unit: 'a second' });
    }
    const manager = await asker.jetstreamManager();
    await manager.streams.add({ name: 'bench', subjects: ['bench.stored'], storage: 'file' as never });
    const store = storedBy(asker, body);
    for (const inFlight of IN_FLIGHT) {
      const value = await rate(inFlight, FOR_MS, store);
      stored.set(inFlight, value);
      report({ name: `bare JetStream publish (file, R1), ${inFlight} in flight`, value, unit: 'a second' });
    }
    await manager.streams.delete('bench');
    return { requests, stored, steps: steps(report), recordBytes: recordBytes(report) };
  } finally {
    await close();
  }
}

const STEPS = 100_000;

function steps(report: Report): number {
  const selection = { cell: 'c1', host: 'h1', provider: 'p1', allocations: [] };
  const chosen = { type: 'SELECTED' as const, selection, alternates: [] };
  const { snapshot } = begin(instanceBuild, { instance: 'i' });
  const value = perSecond(STEPS, () => transition(instanceBuild, snapshot as never, chosen));
  report({ name: "one step by xstate's transition()", value, unit: 'a second' });
  return value;
}

const PLAIN_RECORDS = 100_000;

/** An entry of a Map by the instance's id, with what is to be known of it at the least. */
function recordBytes(report: Report): number {
  const before = ownUsage(true);
  const records = new Map<string, object>();
  for (let n = 0; n < PLAIN_RECORDS; n += 1)
    records.set(`i${n}`, { state: 'active', host: `h${n % 5_000}`, resources: { VCPU: 1, MEMORY_MB: 512 }, since: n });
  const value = (ownUsage(true).heapBytes - before.heapBytes) / records.size;
  report({ name: 'a plain record of an instance, in a Map', value: value / 1_024, unit: 'KiB' });
  return value;
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
function storedBy(connection: NatsConnection, body: Uint8Array): () => Promise<void> {
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
