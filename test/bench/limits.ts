// What the substrate can do by itself: a NATS request and reply, and a JetStream publish, with 1, 64 and 256 in flight.

import { connectNats } from '../../runtime/bus/nats.ts';
import type { Figure } from './bench.ts';

export interface Limits {
  /** Requests answered a second, by requests in flight. */
  readonly request: ReadonlyMap<number, number>;
  /** Messages stored a second, by messages in flight. */
  readonly stored: ReadonlyMap<number, number>;
}

const FOR_MS = 1_500;
const IN_FLIGHT = [1, 64, 256];

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

export async function bareLimits(url: string, report: (figure: Figure) => void): Promise<Limits> {
  const bus = await connectNats({ servers: url, name: 'bench-client' });
  const answering = await connectNats({ servers: url, name: 'bench-service' });
  const body = new Uint8Array(256);
  const request = new Map<number, number>();
  const stored = new Map<number, number>();
  try {
    answering.subscribe('bench.ask', ({ reply }) => {
      if (reply !== undefined) answering.publish(reply, body);
    });
    await answering.flush();
    for (const inFlight of IN_FLIGHT) {
      const value = await rate(inFlight, FOR_MS, () => bus.request('bench.ask', body, { timeoutMs: 5_000 }));
      request.set(inFlight, value);
      report({ name: `bare NATS request and reply, ${inFlight} in flight`, value, unit: 'a second' });
    }
    const manager = await bus.connection.jetstreamManager();
    await manager.streams.add({ name: 'bench', subjects: ['bench.stored'], storage: 'file' as never });
    for (const inFlight of IN_FLIGHT) {
      const value = await rate(inFlight, FOR_MS, () => bus.request('bench.stored', body, { timeoutMs: 5_000 }));
      stored.set(inFlight, value);
      report({ name: `bare JetStream publish (file, R1), ${inFlight} in flight`, value, unit: 'a second' });
    }
    await manager.streams.delete('bench');
    return { request, stored };
  } finally {
    await Promise.all([bus.close(), answering.close()]);
  }
}
