// What the tests of the bus share: a server with clients that end with the test, and small words for messages.

import type { Bus, BusMessage, ServiceConfig } from '../../runtime/bus/bus.ts';
import { memoryServer } from '../../runtime/bus/memory.ts';
import { connectNats, type NatsBus } from '../../runtime/bus/nats.ts';
import type { NatsOptions } from '../../runtime/bus/nats-options.ts';
import type { CellwrightError } from '../../runtime/errors.ts';
import type { NatsServerOptions } from '../../runtime/nats-server/options.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { startTestServer, type TestServer } from './nats-server.ts';
import { until } from './until.ts';

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
export const textOf = (message: BusMessage): string => new TextDecoder().decode(message.data);
export const hasCode = (code: string) => (error: CellwrightError) => error.code === code;
export const EMPTY = new Uint8Array(0);

/** Two or more clients of one server, and what was reported to their `onError`. */
export interface Rig {
  maxPayloadBytes: number;
  errors: { error: unknown; subject: string }[];
  connect(): Promise<Bus>;
}

export async function inMemory(run: (rig: Rig) => Promise<void>): Promise<void> {
  const errors: Rig['errors'] = [];
  const maxPayloadBytes = 4096;
  const onError = (error: unknown, subject: string) => void errors.push({ error, subject });
  const server = memoryServer({ clock: systemClock(), maxPayloadBytes, onError });
  await run({ maxPayloadBytes, errors, connect: async () => server.connect() });
}

export const overNats = (run: (rig: Rig) => Promise<void>): Promise<void> => overNatsWith({}, run);

/** Over NATS, where each client hears what it publishes itself without the server. */
export const loopedBack = (run: (rig: Rig) => Promise<void>): Promise<void> =>
  overNatsWith({ loopback: true }, (rig) =>
    run({
      ...rig,
      async connect() {
        const bus = await rig.connect();
        return {
          ...bus,
          subscribe: (subject, handler, options = {}) =>
            bus.subscribe(subject, handler, { ...options, loopback: options.queue === undefined }),
        };
      },
    }),
  );

async function overNatsWith(options: Partial<NatsOptions>, run: (rig: Rig) => Promise<void>): Promise<void> {
  const maxPayloadBytes = 4096;
  await withServer({ maxPayloadBytes }, async (_, connect) => {
    const errors: Rig['errors'] = [];
    const onError = (error: unknown, subject: string) => void errors.push({ error, subject });
    await run({ maxPayloadBytes, errors, connect: () => connect({ onError, ...options }) });
  });
}

/** Runs with a server and clients, and ends them all, whatever happens. */
export async function withServer(
  options: NatsServerOptions,
  run: (server: TestServer, connect: (options?: Partial<NatsOptions>) => Promise<NatsBus>) => Promise<void>,
): Promise<void> {
  const server = await startTestServer({ jetstream: false, ...options });
  const buses: NatsBus[] = [];
  try {
    await run(server, async (more) => {
      const defaults = { servers: server.url, name: 'test', reconnectWaitMs: 20, reconnectJitterMs: 0 };
      const bus = await connectNats({ ...defaults, ...more });
      buses.push(bus);
      return bus;
    });
  } finally {
    await Promise.all(buses.map((bus) => bus.close()));
    await server.stop();
  }
}

/** Returns when all that `bus` published before has been delivered to its own subscriptions. */
export async function settled(...buses: Bus[]): Promise<void> {
  for (const bus of buses) {
    let seen = false;
    const { unsubscribe } = bus.subscribe('test.settled', () => (seen = true));
    await bus.flush();
    bus.publish('test.settled', EMPTY);
    await until('the last message is delivered', () => seen);
    unsubscribe();
  }
}

export const greeter = (subject: string, handler: (message: BusMessage) => void): ServiceConfig => ({
  name: 'greeter',
  description: 'greets',
  version: '1.2.3',
  metadata: { cell: 'c1' },
  endpoints: [{ name: 'greet', subject, handler }],
  stats: () => ({ greeted: 7 }),
});
