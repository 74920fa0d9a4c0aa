// A node: one process's share of a deployment. It hosts the actors of its roles, puts them on the bus, registers each
// role as a NATS service, and takes them off again. This is what users embed.

import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import pino from 'pino';
import { cell } from '../actors/cell/cell.ts';
import { compute } from '../actors/compute/compute.ts';
import { conductor } from '../actors/conductor/conductor.ts';
import { cellMessages } from '../actors/messages/cell.ts';
import { computeMessages, type DriverMessage } from '../actors/messages/compute.ts';
import { conductorMessages } from '../actors/messages/conductor.ts';
import { placementMessages } from '../actors/messages/placement.ts';
import { placementApiMessages } from '../actors/messages/placement-api.ts';
import { schedulerMessages } from '../actors/messages/scheduler.ts';
import { placement } from '../actors/placement/placement.ts';
import {
  cellAddress,
  computeAddress,
  conductorAddress,
  driverAddress,
  placementAddress,
  SCHEDULERS,
} from '../actors/routing.ts';
import { scheduler } from '../actors/scheduler/scheduler.ts';
import type { Bus, Endpoint, Subscription } from './bus/bus.ts';
import { connectNats, type NatsBus } from './bus/nats.ts';
import { type Client, clientOf } from './client.ts';
import type { Clock } from './clock.ts';
import { type DriverHost, driverHost } from './drivers/driver-host.ts';
import { CellwrightError, messageOf } from './errors.ts';
import { asking } from './gateway/asking.ts';
import { gatewayOf } from './gateway/gateway.ts';
import { hostingOf } from './hosting.ts';
import { jetStreamJournals } from './journal/jetstream.ts';
import { type Journals, noJournal } from './journal/journal.ts';
import { memoryJournals } from './journal/memory.ts';
import { type NatsServer, startNatsServer } from './nats-server/server.ts';
import type { NodeOptions } from './node-options.ts';
import { outboxOf } from './outbox.ts';
import { parseRoles, type Role } from './roles.ts';
import { checkToken, type Subjects, subjectsOf } from './subjects.ts';
import { systemClock } from './system-clock.ts';

export type { NodeOptions } from './node-options.ts';

export interface Node {
  readonly name: string;
  /** The API, for use from code. */
  readonly client: Client;
  /** The address of the NATS server, or null on a bus of the caller's. */
  readonly url: string | null;
  /** How the actors of this node do, by address. */
  stats(): Readonly<Record<string, Readonly<Record<string, number>>>>;
  /**
   * Stops the roles, then the connection and a managed server. Builds under way go on where their actors are; those
   * of this node are taken up again by whoever opens the same journals.
   */
  stop(): Promise<void>;
}

const ASK_TIMEOUT_MS = 5_000;
const MAX_CONDUCTOR_SHARDS = 256;
const DEFAULT_MAX_MAILBOX = 100_000;

/**
 * Starts a node.
 * @throws CellwrightError `bad-role`, `bad-id`, `bad-option` with the field; `already-hosted` when another node serves
 * one of the actors; `no-jetstream`; what connecting to NATS or starting a server throws.
 */
export async function startNode(options: NodeOptions): Promise<Node> {
  const roles = parseRoles(options.roles);
  const name = checkToken(options.name ?? defaultName(), 'name');
  const subjects = subjectsOf(options.prefix);
  const conductorShards = checkShards(options.conductorShards ?? 1);
  const { driver } = options;
  if (driver === undefined && roles.some(({ kind }) => kind === 'compute')) {
    throw new CellwrightError('bad-option', 'a compute role needs the option driver', { field: 'driver' });
  }
  const clock = options.clock ?? systemClock();
  const logger =
    options.logger ?? pino({ name: 'cellwright', level: 'warn' }, pino.destination({ dest: 2, sync: true }));
  const onError = (error: unknown, what: string) =>
    logger.warn({ node: name, what, error: messageOf(error) }, messageOf(error));

  const { bus, nats, server, url } = await busOf(options, name, onError);
  const outbox = outboxOf({ bus, clock, subjects, events: options.events ?? true, onError });
  const asker = asking({ name, bus, clock, outbox, subjects, timeoutMs: ASK_TIMEOUT_MS, onError });
  const maxMailbox = options.maxMailbox ?? DEFAULT_MAX_MAILBOX;
  const hosting = hostingOf({ name, bus, clock, outbox, subjects, logger, maxMailbox, onError });
  const drivers = new Map<string, DriverHost>();
  const subscriptions: Subscription[] = [];
  outbox.local('driver/', (to, message) => drivers.get(to)?.take(message as DriverMessage));

  let stopping: Promise<void> | undefined;
  async function stop(): Promise<void> {
    for (const subscription of subscriptions) subscription.unsubscribe();
    await hosting.stop();
    await Promise.allSettled([...drivers.values()].map((hosted) => hosted.stop()));
    asker.stop();
    if (options.bus === undefined) await bus.close();
    await server?.stop();
  }

  async function playPlacement(journals: Journals): Promise<void> {
    const address = placementAddress(0);
    await hosting.claim([address]);
    const actor = placement({ shard: 0, ...options.placement });
    const { host, handler } = hosting.host(address, actor, journals(address), {
      ...placementMessages,
      ...placementApiMessages,
    });
    await host.start();
    const endpoints = [{ name: 'shard-0', subject: subjects.of(address), handler }];
    const description = 'placement shard 0';
    await hosting.serve(address, { role: 'placement', description, metadata: { shard: '0' }, endpoints });
  }

  async function playCell(cellName: string, journals: Journals): Promise<void> {
    const address = cellAddress(cellName);
    await hosting.claim([address]);
    const actor = cell({ cell: cellName, conductorShards, ...options.cell });
    const { host, handler } = hosting.host(address, actor, journals(address), cellMessages);
    await host.start();
    const endpoints = [{ name: 'conductor', subject: subjects.of(address), handler }];
    const description = `cell ${cellName}`;
    await hosting.serve(address, { role: 'cell', description, metadata: { cell: cellName }, endpoints });
  }

  async function playConductor(journals: Journals): Promise<void> {
    for (let shard = 0; shard < conductorShards; shard += 1) {
      const address = conductorAddress(shard);
      await hosting.claim([address]);
      const actor = conductor({ shard, ...options.conductor });
      const { host, handler } = hosting.host(address, actor, journals(address), conductorMessages);
      await host.start();
      const endpoints = [{ name: `shard-${shard}`, subject: subjects.of(address), handler }];
      const metadata = { shard: String(shard), shards: String(conductorShards) };
      const description = `super conductor shard ${shard}`;
      await hosting.serve(address, { role: 'conductor', description, metadata, endpoints });
    }
    const { endpoints, stats } = gatewayOf({ asking: asker, conductorShards, bus, subjects, clock, onError });
    await hosting.serve(`gateway/${name}`, { role: 'api', description: 'API', endpoints, stats });
  }

  async function playScheduler(): Promise<void> {
    const address = `scheduler/${name}`;
    const actor = scheduler({ name, ...options.scheduler });
    const { host, handler } = hosting.host(address, actor, noJournal, schedulerMessages);
    const endpoints = [
      { name: 'select', subject: subjects.of(SCHEDULERS), handler },
      { name: 'answers', subject: subjects.of(address), handler },
    ];
    await hosting.serve(address, { role: 'scheduler', description: 'scheduler', endpoints });
    for (const feed of subjects.feeds) subscriptions.push(bus.subscribe(feed, handler));
    await host.start();
  }

  /** The computes of one cell are one service, with an endpoint for each host: a roster of thousands reads badly. */
  async function playComputes(cellName: string, hostNames: readonly string[]): Promise<void> {
    await hosting.claim(hostNames.map((hostName) => computeAddress(cellName, hostName)));
    const computes = hostNames.map((hostName) => {
      const address = computeAddress(cellName, hostName);
      const incarnation = `${name}-${randomBytes(6).toString('hex')}`;
      const actor = compute({ cell: cellName, host: hostName, incarnation, ...options.compute });
      const { host, handler } = hosting.host(address, actor, noJournal, computeMessages);
      const made = driver?.({ cell: cellName, host: hostName });
      if (made !== undefined) {
        const hosted = driverHost({ cell: cellName, host: hostName, driver: made, answer: host.deliverAnswer });
        drivers.set(driverAddress(cellName, hostName), hosted);
      }
      const endpoint: Endpoint = { name: hostName, subject: subjects.of(address), handler };
      return { host, endpoint };
    });
    const metadata = { cell: cellName, hosts: String(hostNames.length) };
    const endpoints = computes.map(({ endpoint }) => endpoint);
    const description = `computes of cell ${cellName}`;
    await hosting.serve(`computes/${cellName}`, { role: 'compute', description, metadata, endpoints });
    for (const { host } of computes) await host.start();
  }

  const node: Node = {
    name,
    url,
    client: clientOf({ bus, clock, subjects }),
    stats: () => hosting.stats(),
    stop() {
      stopping ??= stop();
      return stopping;
    },
  };
  try {
    const journals = journalsOf(options, { clock, subjects, nats });
    const has = (kind: Role['kind']) => roles.some((role) => role.kind === kind);
    if (has('placement')) await playPlacement(journals);
    for (const role of roles) if (role.kind === 'cell') await playCell(role.cell, journals);
    if (has('conductor')) await playConductor(journals);
    if (has('scheduler')) await playScheduler();
    for (const [cellName, hostNames] of hostsByCell(roles)) await playComputes(cellName, hostNames);
    await bus.flush();
  } catch (error) {
    await node.stop();
    throw error;
  }
  return node;
}

function hostsByCell(roles: readonly Role[]): Map<string, string[]> {
  const hosts = new Map<string, string[]>();
  for (const role of roles) {
    if (role.kind !== 'compute') continue;
    const others = hosts.get(role.cell);
    if (others === undefined) hosts.set(role.cell, [role.host]);
    else others.push(role.host);
  }
  return hosts;
}

async function busOf(
  { bus, nats = {} }: NodeOptions,
  name: string,
  onError: (error: unknown, what: string) => void,
): Promise<{ bus: Bus; nats?: NatsBus; server?: NatsServer; url: string | null }> {
  if (bus !== undefined) return { bus, url: null };
  const { managed, servers, ...rest } = nats;
  if (servers !== undefined) {
    const url = typeof servers === 'string' ? servers : servers.join(',');
    const connected = await connectNats({ servers, name, onError, ...rest });
    return { bus: connected, nats: connected, url };
  }
  const server = await startNatsServer(managed ?? {});
  try {
    const connected = await connectNats({ servers: server.url, name, onError, ...rest });
    return { bus: connected, nats: connected, server, url: server.url };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

function journalsOf(
  { journals, replicas = 1 }: NodeOptions,
  { clock, subjects, nats }: { clock: Clock; subjects: Subjects; nats: NatsBus | undefined },
): Journals {
  if (typeof journals === 'function') return journals;
  if (journals === 'memory' || (journals === undefined && nats === undefined)) return memoryJournals({ clock });
  if (nats !== undefined) return jetStreamJournals({ bus: nats, clock, subjects, replicas });
  throw new CellwrightError('bad-option', "journals can be 'jetstream' only on NATS", { field: 'journals' });
}

function checkShards(shards: number): number {
  if (Number.isInteger(shards) && shards >= 1 && shards <= MAX_CONDUCTOR_SHARDS) return shards;
  const message = `conductorShards must be a whole number from 1 to ${MAX_CONDUCTOR_SHARDS}`;
  throw new CellwrightError('bad-option', message, { field: 'conductorShards' });
}

function defaultName(): string {
  const host = hostname()
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 32)
    .replaceAll(/^-+|-+$/g, '');
  return `${host === '' ? 'node' : host}-${process.pid}-${randomBytes(3).toString('hex')}`;
}
