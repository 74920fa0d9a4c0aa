// Keeps the actors of one process: hosts them, starts them again when they fail, puts them on the bus as NATS
// services, and takes them off when the process stops or another owner has taken over.

import type { Logger } from 'pino';
import type { Actor, Address, Message } from '../actors/actor.ts';
import type { Protocol } from '../actors/messages/common.ts';
import type { Bus, BusMessage, Endpoint, Service } from './bus/bus.ts';
import type { Clock, Timer } from './clock.ts';
import { endpointOf, WHO } from './endpoints.ts';
import { CellwrightError, messageOf, NoRespondersError } from './errors.ts';
import { HEADERS } from './frames.ts';
import type { Journal } from './journal/journal.ts';
import type { Outbox } from './outbox.ts';
import type { Subjects } from './subjects.ts';
import { type ActorHost, actorHost } from './turn.ts';
import { VERSION } from './version.ts';

export interface HostingOptions {
  /** The node's name. */
  readonly name: string;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly outbox: Outbox;
  readonly subjects: Subjects;
  readonly logger: Logger;
  /** Messages that may wait for one actor. */
  readonly maxMailbox: number;
  onError(error: unknown, what: string): void;
}

/** An actor, and the handler that brings it what arrives for it. */
export interface Hosted {
  readonly host: ActorHost;
  readonly handler: (message: BusMessage) => void;
}

/** A role as it stands in `nats micro ls`. */
export interface RoleService {
  readonly role: string;
  readonly description: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly endpoints: readonly Endpoint[];
  /** The figures of an endpoint; default: those of the actor that it leads to. */
  stats?(endpoint: string): Readonly<Record<string, number>>;
}

export interface Hosting {
  /** Makes an actor's host; it is not started. */
  host<S, M extends Message, R>(
    address: Address,
    actor: Actor<S, M, R>,
    journal: Journal<R>,
    protocol: Protocol,
  ): Hosted;
  /**
   * Makes sure that nobody else serves these addresses: two owners of an actor would each decide for themselves.
   * @throws CellwrightError `already-hosted` that names the other node; TimeoutError when one is there and silent.
   */
  claim(addresses: readonly Address[]): Promise<void>;
  /** Puts a role on the bus; `owner` names it, so that it can be taken off when that actor is owned elsewhere. */
  serve(owner: Address, service: RoleService): Promise<void>;
  stats(): Readonly<Record<Address, Readonly<Record<string, number>>>>;
  stop(): Promise<void>;
}

/** How often an actor that fails is started again before it stays stopped and its place is left to others. */
const MAX_RESTARTS = 5;
/** One that ran for this long without failing, ms, is given all its restarts again. */
const CALM_MS = 600_000;
/** How long to wait, ms, when the journal cannot be read to start an actor again: a server may be on its way back. */
const RESTART_PAUSE_MS = 1_000;
const WHO_TIMEOUT_MS = 1_000;

export function hostingOf(options: HostingOptions): Hosting {
  const { name, bus, clock, outbox, subjects, logger, maxMailbox, onError } = options;
  const hosts = new Map<Address, ActorHost>();
  const services = new Map<Address, Service>();
  const pauses = new Set<Timer>();
  let stopped = false;
  const answer = (subject: string, text: string) => bus.publish(subject, Buffer.from(text));

  function supervise(host: () => ActorHost): (error: Error, address: Address) => void {
    let restarts = 0;
    let failedAt = 0;
    const restart = (address: Address): void => {
      if (stopped) return;
      host()
        .start()
        .catch((cause) => {
          if (stopped) return;
          onError(cause, `the restart of '${address}'`);
          const timer = clock.at(clock.now() + RESTART_PAUSE_MS, () => {
            pauses.delete(timer);
            restart(address);
          });
          pauses.add(timer);
        });
    };
    return (error, address) => {
      logger.error({ node: name, actor: address, error: error.stack }, error.message);
      // Another owner has taken over: what still comes here is for that one.
      if (error instanceof CellwrightError && error.code === 'fenced') return leave(address);
      if (clock.now() - failedAt > CALM_MS) restarts = 0;
      failedAt = clock.now();
      restarts += 1;
      if (restarts <= MAX_RESTARTS) return restart(address);
      logger.fatal({ node: name, actor: address }, `'${address}' fails again and again; it stays stopped`);
      // Still served, it would keep every other node from taking it up.
      leave(address);
    };
  }

  function leave(address: Address): void {
    const service = services.get(address);
    services.delete(address);
    service?.stop().catch((error) => onError(error, `leaving '${address}'`));
  }

  async function refuseIfHosted(address: Address): Promise<void> {
    try {
      const headers = { [HEADERS.type]: WHO };
      const { data } = await bus.request(subjects.of(address), new Uint8Array(0), {
        timeoutMs: WHO_TIMEOUT_MS,
        headers,
      });
      const other = Buffer.from(data).toString();
      throw new CellwrightError('already-hosted', `'${address}' is hosted by the node '${other}'`, { field: 'roles' });
    } catch (error) {
      if (!(error instanceof NoRespondersError)) throw error;
    }
  }

  function statsOf(address: Address): Readonly<Record<string, number>> {
    const host = hosts.get(address);
    return host === undefined ? {} : { ...host.stats, waiting: host.waiting };
  }

  return {
    host(address, actor, journal, protocol) {
      const onFailure = supervise(() => host);
      const host = actorHost({ address, actor, journal, clock, outbox, maxMailbox, onFailure });
      hosts.set(address, host);
      const maxBytes = bus.maxPayloadBytes;
      return { host, handler: endpointOf(host, { node: name, protocol, outbox, maxBytes, answer, onError }) };
    },
    async claim(addresses) {
      await Promise.all(addresses.map(refuseIfHosted));
    },
    async serve(owner, { role, description, metadata, endpoints, stats }) {
      const bySubject = new Map([...hosts.keys()].map((address) => [subjects.of(address), address]));
      const addressOf = new Map(endpoints.map((endpoint) => [endpoint.name, bySubject.get(endpoint.subject) ?? owner]));
      const service = await bus.serve({
        name: role,
        description: `${description} on ${name}`,
        version: VERSION,
        metadata: { node: name, ...metadata },
        endpoints,
        stats: stats ?? ((endpoint) => statsOf(addressOf.get(endpoint) ?? owner)),
      });
      services.set(owner, service);
    },
    stats: () => Object.fromEntries([...hosts.keys()].map((address) => [address, statsOf(address)])),
    async stop() {
      stopped = true;
      for (const timer of pauses) timer.cancel();
      report(await Promise.allSettled([...services.values()].map((service) => service.stop())));
      report(await Promise.allSettled([...hosts.values()].map((host) => host.stop())));
    },
  };

  function report(results: readonly PromiseSettledResult<void>[]): void {
    for (const result of results) if (result.status === 'rejected') onError(messageOf(result.reason), 'stopping');
  }
}
