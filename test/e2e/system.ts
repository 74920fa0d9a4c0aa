// What the end-to-end tests share: a whole deployment in this process, on a real NATS server or on the bus in memory,
// a client beside it, and a look at everything its owners hold.

import { Writable } from 'node:stream';
import pino from 'pino';
import type { InstanceView } from '../../actors/messages/gateway.ts';
import { placementAddress } from '../../actors/routing.ts';
import type { Bus, BusMessage } from '../../runtime/bus/bus.ts';
import { memoryServer } from '../../runtime/bus/memory.ts';
import { connectNats } from '../../runtime/bus/nats.ts';
import { type Client, clientOf } from '../../runtime/client.ts';
import { decode } from '../../runtime/codec.ts';
import type { Driver } from '../../runtime/drivers/driver.ts';
import { type FakeFailure, fakeDriver } from '../../runtime/drivers/fake.ts';
import type { ErrorBody } from '../../runtime/errors.ts';
import { type Asking, asking } from '../../runtime/gateway/asking.ts';
import { type Node, startNode } from '../../runtime/node.ts';
import type { NodeOptions } from '../../runtime/node-options.ts';
import { outboxOf } from '../../runtime/outbox.ts';
import { seededRandom } from '../../runtime/random.ts';
import { type Subjects, subjectsOf } from '../../runtime/subjects.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { startTestServer } from '../support/nats-server.ts';
import { until } from '../support/until.ts';

export interface System {
  readonly node: Node;
  /** A connection of the test's own. */
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly client: Client;
  /** Everything that placement, the conductor and the cells hold. */
  dump(): Promise<object>;
  /** What the node logged as an error or worse: an actor that failed. */
  readonly failures: readonly string[];
}

export interface SystemOptions extends Partial<Omit<NodeOptions, 'roles' | 'bus' | 'nats'>> {
  /** Hosts by cell; each has 8 VCPU and 8,192 MB. Default: `{ c1: ['h1', 'h2'] }`. */
  readonly hosts?: Readonly<Record<string, readonly string[]>>;
  /** The largest message, in bytes. Default: the server's own, 1 MiB. */
  readonly maxPayloadBytes?: number;
}

export type WithSystem = (options: SystemOptions, run: (system: System) => Promise<void>) => Promise<void>;

const LOOK_EVERY_MS = 10;

/** Waits for a condition that has to be asked for. @throws Error naming `what` when it does not hold in time. */
export async function eventually(what: string, holds: () => Promise<boolean>, timeoutMs = 60_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`still not so after ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

export const hostTree = (name: string) => ({
  name,
  inventories: { VCPU: { total: 8 }, MEMORY_MB: { total: 8_192 } },
});

/** A driver that builds in a few milliseconds, unless it is to take longer, and fails as it is told to. */
export function quickDriver(
  cell: string,
  host: string,
  buildMs = { min: 1, max: 5 },
  failures: readonly FakeFailure[] = [],
): Driver {
  const random = seededRandom(`${cell}/${host}`);
  const destroyMs = { min: 1, max: 5 };
  return fakeDriver({ host: hostTree(host), clock: systemClock(), random, buildMs, destroyMs, failures });
}

/** One that fails many builds, so that they are rescheduled. */
export const unreliableDriver = ({ cell, host }: { cell: string; host: string }): Driver =>
  quickDriver(cell, host, { min: 1, max: 40 }, [{ reason: 'no image', rate: 0.4, kind: 'failed' }]);

export const inMemory: WithSystem = async (options, run) => {
  const { maxPayloadBytes } = options;
  const limited = maxPayloadBytes === undefined ? {} : { maxPayloadBytes, sharesValues: false };
  const server = memoryServer({ clock: systemClock(), onError() {}, ...limited });
  const connections = [server.connect(), server.connect()] as const;
  await withNode({ bus: connections[0] }, connections[1], options, run);
};

export const overNats: WithSystem = async (options, run) => {
  const { maxPayloadBytes } = options;
  const server = await startTestServer(maxPayloadBytes === undefined ? {} : { maxPayloadBytes });
  try {
    const bus = await connectNats({ servers: server.url, name: 'test', onError() {} });
    await withNode({ nats: { servers: server.url } }, bus, options, run);
  } finally {
    await server.stop();
  }
};

async function withNode(
  transport: Pick<NodeOptions, 'bus' | 'nats'>,
  bus: Bus,
  options: SystemOptions,
  run: (system: System) => Promise<void>,
): Promise<void> {
  const { hosts = { c1: ['h1', 'h2'] }, maxPayloadBytes: _, ...rest } = options;
  const cells = Object.keys(hosts);
  const roles = ['placement', 'scheduler', 'conductor', ...cells.map((cell) => `cell:${cell}`)];
  for (const cell of cells) for (const host of hosts[cell] ?? []) roles.push(`compute:${cell}/${host}`);
  const failures: string[] = [];
  const node = await startNode({
    roles,
    logger: loggerTo(failures),
    driver: ({ cell, host }) => quickDriver(cell, host),
    ...transport,
    ...rest,
  });
  try {
    const subjects = subjectsOf(options.prefix);
    const client = clientOf({ bus, clock: systemClock(), subjects });
    await Promise.all(cells.map((cell) => hostsUp(client, cell, (hosts[cell] ?? []).length)));
    const dump = () => dumpOf(bus, subjects, client, cells);
    await run({ node, bus, subjects, client, dump, failures });
  } finally {
    await node.stop();
    await bus.close();
  }
}

/** An answer of the API as it came, and its body. */
export interface Answer extends BusMessage {
  readonly body: Readonly<Record<string, unknown>> & { readonly error?: ErrorBody };
}

export interface Api {
  /** Sends a body as it is, or an object as JSON, and waits for the first answer. */
  ask(verb: string, body: Uint8Array | object): Promise<Answer>;
  /** How many answers came for each question so far. */
  readonly answers: readonly number[];
}

/** The API as seen from the wire, where every answer is counted. */
export function apiOf({ bus, subjects }: Pick<System, 'bus' | 'subjects'>): Api {
  const came: BusMessage[][] = [];
  return {
    async ask(verb, body) {
      const answers: BusMessage[] = [];
      const reply = `test.answers.${came.push(answers)}`;
      bus.subscribe(reply, (message) => answers.push(message));
      bus.publish(subjects.api(verb), body instanceof Uint8Array ? body : Buffer.from(JSON.stringify(body)), { reply });
      await until(`'${verb}' is answered`, () => answers.length > 0);
      const [first] = answers as [BusMessage];
      const { data, headers, subject } = first;
      return { data, headers, subject, body: decode(data, bus.maxPayloadBytes) as Answer['body'] };
    },
    get answers() {
      return came.map(({ length }) => length);
    },
  };
}

/** Resolves when a cell has that many hosts in service. */
export function hostsUp(client: Client, cell: string, count: number): Promise<void> {
  return eventually(`${count} hosts of cell '${cell}' are up`, async () => {
    // A cell whose owner has only just begun, or died, does not answer yet.
    const { hosts } = await client.hosts({ cell, limit: 1_000 }).catch(() => ({ hosts: [] }));
    return hosts.filter(({ state }) => state === 'up').length === count;
  });
}

function loggerTo(errors: string[]) {
  const sink = new Writable({
    write(line, _encoding, done) {
      errors.push(String(line));
      done();
    },
  });
  return pino({ level: 'error' }, sink);
}

/** Asks actors by their own subjects, in line with all that the bus has published to them. */
export async function withAsker<T>(
  { bus, subjects }: Pick<System, 'bus' | 'subjects'>,
  run: (asker: Asking) => Promise<T>,
): Promise<T> {
  const onError = (error: unknown) => {
    throw error;
  };
  const clock = systemClock();
  const outbox = outboxOf({ bus, clock, subjects, events: false, onError });
  const asker = asking({ name: 'test', bus, clock, outbox, subjects, timeoutMs: 60_000, onError });
  try {
    return await run(asker);
  } finally {
    asker.stop();
  }
}

async function dumpOf(bus: Bus, subjects: Subjects, client: Client, cells: readonly string[]): Promise<object> {
  const everything = { limit: 1_000 };
  return withAsker({ bus, subjects }, async (asker) => {
    const { providers } = await asker.ask(placementAddress(0), { type: 'list-providers', ...everything }, 'providers');
    const { consumers } = await asker.ask(placementAddress(0), { type: 'list-consumers', ...everything }, 'consumers');
    const { instances } = await client.list(everything);
    const inCells: Record<string, { instances: readonly InstanceView[]; hosts: unknown }> = {};
    for (const cell of cells) {
      const held = await client.list({ cell, ...everything });
      inCells[cell] = { instances: held.instances, hosts: (await client.hosts({ cell, ...everything })).hosts };
    }
    return { providers, consumers, instances, inCells };
  });
}

/** Sends a small request until it is accepted, however often its answer is lost. */
export async function accepted(client: Client, id: string, alternates = 2): Promise<string> {
  await eventually(`'${id}' is accepted`, () =>
    client.build({ id, alternates, resources: { VCPU: 1, MEMORY_MB: 16 } }).then(
      () => true,
      () => false,
    ),
  );
  return id;
}
