// A node: one process's share of a deployment. It hosts the actors of its roles, puts them on the bus, registers each
// role as a NATS service, and takes them off again. This is what users embed.

import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import pino from 'pino';
import type { Actor, Message } from '../actors/actor.ts';
import { cell } from '../actors/cell/cell.ts';
import { compute } from '../actors/compute/compute.ts';
import { conductor } from '../actors/conductor/conductor.ts';
import { cellMessages } from '../actors/messages/cell.ts';
import type { Protocol } from '../actors/messages/common.ts';
import { computeMessages, type DriverMessage } from '../actors/messages/compute.ts';
import { conductorMessages } from '../actors/messages/conductor.ts';
import { placementMessages } from '../actors/messages/placement.ts';
import { schedulerMessages } from '../actors/messages/scheduler.ts';
import { placement } from '../actors/placement/placement.ts';
import { cellAddress, computeAddress, conductorAddress, placementAddress, SCHEDULERS } from '../actors/routing.ts';
import { scheduler } from '../actors/scheduler/scheduler.ts';
import type { Bus, Endpoint, Service, Subscription } from './bus/bus.ts';
import { connectNats } from './bus/nats.ts';
import { type Client, clientOf } from './client.ts';
import { type DriverHost, driverHost } from './drivers/driver-host.ts';
import { endpointOf, WHO } from './endpoints.ts';
import { CellwrightError, messageOf, NoRespondersError } from './errors.ts';
import { HEADERS } from './frames.ts';
import { asking } from './gateway/asking.ts';
import { gatewayEndpoints } from './gateway/gateway.ts';
import type { Journal } from './journal/journal.ts';
import { memoryJournals } from './journal/memory.ts';
import { type NatsServer, startNatsServer } from './nats-server/server.ts';
import type { NodeOptions } from './node-options.ts';
import { outboxOf } from './outbox.ts';
import { parseRoles, type Role } from './roles.ts';
import { checkToken, subjectsOf } from './subjects.ts';
import { systemClock } from './system-clock.ts';
import { type ActorHost, actorHost } from './turn.ts';
import { VERSION } from './version.ts';

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
   * of this node are taken up again when it is started with the same journals.
   */
  stop(): Promise<void>;
}

/** How often an actor that failed is started again before the node gives up on it. */
const MAX_RESTARTS = 5;
const WHO_TIMEOUT_MS = 1_000;
const ASK_TIMEOUT_MS = 5_000;

/**
 * Starts a node.
 * @throws CellwrightError `bad-role`, `bad-id`, `bad-option` with the field; `already-hosted` when another node serves
 * one of the actors; what connecting to NATS or starting a server throws.
 */
export async function startNode(options: NodeOptions): Promise<Node> {
  const roles = parseRoles(options.roles);
  const name = checkToken(options.name ?? defaultName(), 'name');
  const subjects = subjectsOf(options.prefix);
  const conductorShards = options.conductorShards ?? 1;
  if (!Number.isInteger(conductorShards) || conductorShards < 1 || conductorShards > 256) {
    throw new CellwrightError('bad-option', 'conductorShards must be a whole number from 1 to 256', {
      field: 'conductorShards',
    });
  }
  const { driver } = options;
  if (driver === undefined && roles.some(({ kind }) => kind === 'compute')) {
    throw new CellwrightError('bad-option', 'a compute role needs the option driver', { field: 'driver' });
  }
  const clock = options.clock ?? systemClock();
  const logger =
    options.logger ?? pino({ name: 'cellwright', level: 'warn' }, pino.destination({ dest: 2, sync: true }));
  const journals = options.journals ?? memoryJournals({ clock });
  const onError = (error: unknown, what: string) =>
    logger.warn({ node: name, what, error: messageOf(error) }, messageOf(error));

  const { bus, server, url } = await busOf(options, name, onError);
  const outbox = outboxOf({ bus, clock, subjects, events: options.events ?? true, onError });
  const asker = asking({ name, bus, clock, outbox, subjects, timeoutMs: ASK_TIMEOUT_MS, onError });
  const hosts = new Map<string, ActorHost>();
  const drivers = new Map<string, DriverHost>();
  const services: Service[] = [];
  const subscriptions: Subscription[] = [];
  outbox.local('driver/', (to, message) => drivers.get(to)?.take(message as DriverMessage));

  const answer = (subject: string, text: string) => bus.publish(subject, Buffer.from(text));
  const endpointFor = (host: ActorHost, protocol: Protocol) =>
    endpointOf(host, { node: name, protocol, outbox, maxBytes: bus.maxPayloadBytes, answer, onError });

  function hostOf<S, M extends Message, R>(address: string, actor: Actor<S, M, R>, journal: Journal<R>): ActorHost {
    let restarts = 0;
    const host = actorHost({
      address,
      actor,
      journal,
      clock,
      outbox,
      maxMailbox: options.maxMailbox ?? 100_000,
      onFailure(error) {
        logger.error({ node: name, actor: address, error: error.stack }, error.message);
        if (error instanceof CellwrightError && error.code === 'fenced') return;
        restarts += 1;
        if (restarts > MAX_RESTARTS)
          return logger.fatal({ node: name, actor: address }, 'the actor fails again and again; it stays stopped');
        host.start().catch((cause) => onError(cause, `the restart of '${address}'`));
      },
    });
    hosts.set(address, host);
    return host;
  }

  /** An actor that must have one owner: nobody else may serve its address. */
  async function own<S, M extends Message, R>(address: string, actor: Actor<S, M, R>): Promise<ActorHost> {
    await refuseIfHosted(bus, subjects.of(address), address);
    const host = hostOf(address, actor, journals<R>(address));
    await host.start();
    return host;
  }

  async function serve(
    role: string,
    description: string,
    metadata: Record<string, string>,
    endpoints: Endpoint[],
  ): Promise<void> {
    const statsOf = (endpoint: string) => {
      const subject = endpoints.find((one) => one.name === endpoint)?.subject;
      const host = [...hosts.values()].find(({ address }) => subjects.of(address) === subject);
      return host === undefined ? {} : { ...host.stats, waiting: host.waiting };
    };
    services.push(
      await bus.serve({
        name: role,
        description,
        version: VERSION,
        metadata: { node: name, ...metadata },
        endpoints,
        stats: statsOf,
      }),
    );
  }

  async function play(role: Role): Promise<void> {
    switch (role.kind) {
      case 'placement': {
        const address = placementAddress(0);
        const host = await own(address, placement({ shard: 0, ...options.placement }));
        const endpoint = {
          name: 'shard-0',
          subject: subjects.of(address),
          handler: endpointFor(host, placementMessages),
        };
        return serve('placement', `placement shard 0 on ${name}`, { shard: '0' }, [endpoint]);
      }
      case 'conductor': {
        const endpoints: Endpoint[] = [];
        for (let shard = 0; shard < conductorShards; shard += 1) {
          const address = conductorAddress(shard);
          const host = await own(address, conductor({ shard, ...options.conductor }));
          endpoints.push({
            name: `shard-${shard}`,
            subject: subjects.of(address),
            handler: endpointFor(host, conductorMessages),
          });
        }
        await serve('conductor', `super conductor on ${name}`, { shards: String(conductorShards) }, endpoints);
        return serve('api', `API on ${name}`, {}, gatewayEndpoints({ asking: asker, conductorShards, bus, subjects }));
      }
      case 'scheduler': {
        const address = `scheduler/${name}`;
        const host = hostOf(address, scheduler({ name, ...options.scheduler }), NO_JOURNAL);
        const handler = endpointFor(host, schedulerMessages);
        await serve('scheduler', `scheduler on ${name}`, {}, [
          { name: 'select', subject: subjects.of(SCHEDULERS), handler },
          { name: 'answers', subject: subjects.of(address), handler },
        ]);
        for (const feed of subjects.feeds) subscriptions.push(bus.subscribe(feed, handler));
        return host.start();
      }
      case 'cell': {
        const address = cellAddress(role.cell);
        const host = await own(address, cell({ cell: role.cell, conductorShards, ...options.cell }));
        const endpoint = { name: 'conductor', subject: subjects.of(address), handler: endpointFor(host, cellMessages) };
        return serve('cell', `cell ${role.cell} on ${name}`, { cell: role.cell }, [endpoint]);
      }
    }
  }

  /** The computes of one cell are one service, with an endpoint for each host: a roster of thousands reads badly. */
  async function playComputes(cellName: string, hostNames: readonly string[]): Promise<void> {
    const endpoints = hostNames.map((hostName): Endpoint => {
      const address = computeAddress(cellName, hostName);
      const incarnation = `${name}-${randomBytes(6).toString('hex')}`;
      const host = hostOf(
        address,
        compute({ cell: cellName, host: hostName, incarnation, ...options.compute }),
        NO_JOURNAL,
      );
      const made = driver?.({ cell: cellName, host: hostName });
      if (made !== undefined) {
        const hosted = driverHost({
          cell: cellName,
          host: hostName,
          driver: made,
          answer: (message, from) => host.deliver(message, from),
        });
        drivers.set(`driver/${cellName}/${hostName}`, hosted);
      }
      return { name: hostName, subject: subjects.of(address), handler: endpointFor(host, computeMessages) };
    });
    const [first] = endpoints;
    if (first !== undefined) await refuseIfHosted(bus, first.subject, computeAddress(cellName, first.name));
    await serve(
      'compute',
      `computes of cell ${cellName} on ${name}`,
      { cell: cellName, hosts: String(hostNames.length) },
      endpoints,
    );
    for (const hostName of hostNames) await hosts.get(computeAddress(cellName, hostName))?.start();
  }

  let stopping: Promise<void> | undefined;
  async function stop(): Promise<void> {
    for (const subscription of subscriptions) subscription.unsubscribe();
    await Promise.allSettled(services.map((service) => service.stop()));
    await Promise.allSettled([...hosts.values()].map((host) => host.stop()));
    await Promise.allSettled([...drivers.values()].map((hosted) => hosted.stop()));
    asker.stop();
    if (options.bus === undefined) await bus.close();
    await server?.stop();
  }

  const node: Node = {
    name,
    url,
    client: clientOf({ bus, clock, subjects }),
    stats: () =>
      Object.fromEntries([...hosts].map(([address, host]) => [address, { ...host.stats, waiting: host.waiting }])),
    stop() {
      stopping ??= stop();
      return stopping;
    },
  };
  try {
    for (const kind of ['placement', 'cell', 'conductor', 'scheduler'] as const) {
      for (const role of roles) if (role.kind === kind) await play(role);
    }
    for (const [cellName, hostNames] of groupByCell(roles)) await playComputes(cellName, hostNames);
    await bus.flush();
  } catch (error) {
    await node.stop();
    throw error;
  }
  return node;
}

const NO_JOURNAL: Journal<never> = {
  open: async () => ({ snapshot: null, records: [] }),
  append: (_records, done) => done(null),
  close: async () => {},
};

function groupByCell(roles: readonly Role[]): Map<string, string[]> {
  const hosts = new Map<string, string[]>();
  for (const role of roles) {
    if (role.kind === 'compute') hosts.set(role.cell, [...(hosts.get(role.cell) ?? []), role.host]);
  }
  return hosts;
}

async function busOf(
  { bus, nats = {} }: NodeOptions,
  name: string,
  onError: (error: unknown, what: string) => void,
): Promise<{ bus: Bus; server?: NatsServer; url: string | null }> {
  if (bus !== undefined) return { bus, url: null };
  const { managed, servers, ...rest } = nats;
  if (servers !== undefined) {
    const url = typeof servers === 'string' ? servers : servers.join(',');
    return { bus: await connectNats({ servers, name, onError, ...rest }), url };
  }
  const server = await startNatsServer(managed ?? {});
  try {
    return { bus: await connectNats({ servers: server.url, name, onError, ...rest }), server, url: server.url };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** Two owners of one actor would each decide for themselves, so the second is turned away. */
async function refuseIfHosted(bus: Bus, subject: string, address: string): Promise<void> {
  try {
    const { data } = await bus.request(subject, new Uint8Array(0), {
      timeoutMs: WHO_TIMEOUT_MS,
      headers: { [HEADERS.type]: WHO },
    });
    const other = Buffer.from(data).toString();
    throw new CellwrightError('already-hosted', `'${address}' is hosted by the node '${other}' already`, {
      field: 'roles',
    });
  } catch (error) {
    if (!(error instanceof NoRespondersError)) throw error;
  }
}

function defaultName(): string {
  const host = hostname()
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 32);
  return `${host === '' ? 'node' : host}-${process.pid}-${randomBytes(3).toString('hex')}`;
}
