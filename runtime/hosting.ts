// Keeps the actors of one process: hosts them, starts them again when they fail, puts them on the bus as NATS
// services, and takes them off when the process stops or another owner has taken over. Those that have a lease are
// served only while it is held.

import type { Logger } from 'pino';
import type { Actor, Address, Message } from '../actors/actor.ts';
import type { Protocol } from '../actors/messages/common.ts';
import type { Bus, BusMessage, Endpoint, Service } from './bus/bus.ts';
import type { Clock, Timer } from './clock.ts';
import { tellUp } from './comings-up.ts';
import { endpointOf } from './endpoints.ts';
import { CellwrightError, messageOf } from './errors.ts';
import type { Journal } from './journal/journal.ts';
import { slicerOf } from './journal/slices.ts';
import type { Outbox } from './outbox.ts';
import { ownedActor } from './owned.ts';
import { type Keeper, keeperOf, type Standing } from './ownership/keeper.ts';
import type { Leases } from './ownership/leases.ts';
import { DEFAULT_PREFIX, type Subjects } from './subjects.ts';
import { supervision } from './supervision.ts';
import { type ActorHost, actorHost } from './turn.ts';
import { VERSION } from './version.ts';
import { AwaitedWakes } from './wakes.ts';
import { refuseIfHeard, refuseIfHosted } from './who-hosts.ts';

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
  /** Who owns what. Default: whoever serves an actor first, until it stops. */
  readonly leases?: Leases;
  /** How long a lease lasts without being renewed, ms. */
  readonly leaseTtlMs: number;
  onError(error: unknown, what: string): void;
}

/** An actor, and the handler that brings it what arrives for it. */
interface Hosted {
  readonly host: ActorHost;
  readonly handler: (message: BusMessage) => void;
}

/** A role as it stands in `nats micro ls`. */
interface RoleService {
  readonly role: string;
  readonly description: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly endpoints: readonly Endpoint[];
  /** Nobody else answers there: what actors of this process say to each other is handed over inside it. */
  readonly loopback?: boolean;
  /** The figures of an endpoint; default: those of the actor that it leads to. */
  stats?(endpoint: string): Readonly<Record<string, number>>;
}

/** An actor with a journal: one process at a time may own it. */
interface Owned<S, M extends Message, R> {
  readonly address: Address;
  readonly actor: Actor<S, M, R>;
  readonly journal: Journal<R>;
  readonly protocol: Protocol;
  readonly service: Omit<RoleService, 'endpoints' | 'stats'> & { readonly endpoint: string };
}

export interface Hosting {
  /**
   * Makes the host of an actor that needs no lease; it is not started.
   * @param hooks `restarted`: it has failed, and takes messages anew. `givenUp`: it has failed for good.
   */
  host<S, M extends Message, R>(
    address: Address,
    actor: Actor<S, M, R>,
    journal: Journal<R>,
    protocol: Protocol,
    hooks?: { readonly restarted?: () => void; readonly givenUp?: () => void },
  ): Hosted;
  /**
   * Serves an actor with a journal, or stands by for it while another process does.
   * @throws CellwrightError `already-hosted` that names the other node, or TimeoutError when it is silent, where there
   * are no leases; what acquiring the lease or reading the journal fails of, unless it passes within half a minute.
   */
  own<S, M extends Message, R>(owned: Owned<S, M, R>): Promise<void>;
  /**
   * Makes sure that nobody else serves these addresses. One who is there and does not answer is taken for gone: should
   * it come back, its cell tells it that it has been replaced.
   * @throws CellwrightError `already-hosted` that names the other node.
   */
  claim(addresses: readonly Address[]): Promise<void>;
  /** Puts a role on the bus; `owner` names it, so that it can be taken off when that actor fails for good. */
  serve(owner: Address, service: RoleService): Promise<void>;
  /**
   * Tells everybody that an actor has come up, which may have lost what was said to it before.
   * @param as The name by which it is asked; default: its own.
   */
  announce(address: Address, as?: Address): void;
  /**
   * Somebody has: whoever here waits for an answer of it asks again. Without a name it is the bus that came back: nobody
   * knows who missed what, so all ask again, and those who are served here say that they are there.
   */
  cameUp(who?: Address): void;
  /** A node says that it serves an actor: if it is owned here all the same, and stays so, there are two owners. */
  heardUp(who: Address, node: string): void;
  /** Takes a role off the bus: nothing more comes, what has come is handed on. */
  leave(owner: Address): Promise<void>;
  stats(): Readonly<Record<Address, Readonly<Record<string, number>>>>;
  /** Why an actor that is hosted here lets nothing out at present, where that is known. */
  heldUpBy(address: Address): string | undefined;
  /** How this process stands to each actor that has a lease. */
  standings(): Readonly<Record<Address, Standing>>;
  /**
   * Hands over what is owned, in order; it is over when others can have it.
   * @param givenUp From when on nothing is waited for.
   */
  handOver(givenUp?: Promise<void>): Promise<void>;
  stop(): Promise<void>;
}

function twoOwners(address: Address, node: string): CellwrightError {
  const message = `'${address}' is owned here, and the node '${node}' owns it, too: do both keep their leases in one JetStream?`;
  return new CellwrightError('two-owners', message);
}

export function hostingOf(options: HostingOptions): Hosting {
  const { name, bus, clock, outbox, subjects, logger, maxMailbox, leases, leaseTtlMs, onError } = options;
  const slicer = slicerOf(clock);
  const hosts = new Map<Address, ActorHost>();
  const awaiting = new AwaitedWakes();
  /** The addresses of all of them. */
  const bySubject = new Map<string, Address>();
  const services = new Map<Address, Service>();
  const keepers = new Map<Address, Keeper>();
  /** What was announced here, with the name by which it is asked. */
  const announced = new Map<Address, Address>();
  /** How to end each actor that is hosted without a lease. */
  const ends: (() => Promise<void>)[] = [];
  /** What failed for good: a compute of several stays on the bus, but another may take its place. */
  const givenUp = new Set<Address>();
  /** When to look whether what another serves is still owned here. */
  const looks = new Set<Timer>();
  let isEnding = false;

  /** What ends everything ends what there is then: nothing may come after it. */
  function refuseIfEnding(): void {
    if (isEnding) throw new CellwrightError('interrupted', `the node '${name}' is being stopped`);
  }

  function hostOf<S, M extends Message, R>(
    { address, actor, journal, protocol }: Pick<Owned<S, M, R>, 'address' | 'actor' | 'journal' | 'protocol'>,
    onFailure: (error: Error) => void,
  ): Hosted {
    const host = actorHost({ address, actor, journal, clock, outbox, maxMailbox, slicer, awaiting, onFailure });
    hosts.set(address, host);
    bySubject.set(subjects.of(address), address);
    const maxBytes = bus.maxPayloadBytes;
    const answer = (subject: string, text: string) => {
      if (!givenUp.has(address)) bus.publish(subject, Buffer.from(text));
    };
    return { host, handler: endpointOf(host, { node: name, protocol, outbox, maxBytes, answer, onError }) };
  }

  function statsOf(address: Address): Readonly<Record<string, number>> {
    const host = hosts.get(address);
    return host === undefined ? {} : { ...host.stats, waiting: host.waiting(), ...host.figures() };
  }

  function onBus(
    owner: Address,
    { role, description, metadata, endpoints, loopback = false, stats }: RoleService,
  ): Promise<Service> {
    const addressOf = new Map(endpoints.map((endpoint) => [endpoint.name, bySubject.get(endpoint.subject) ?? owner]));
    return bus.serve({
      name: role,
      // Several deployments may share a server, and have cells and shards of the same names.
      description: `${description} on ${name}${subjects.prefix === DEFAULT_PREFIX ? '' : `, ${subjects.prefix}`}`,
      version: VERSION,
      metadata: { node: name, prefix: subjects.prefix, ...metadata },
      endpoints,
      loopback,
      stats: stats ?? ((endpoint) => statsOf(addressOf.get(endpoint) ?? owner)),
    });
  }

  function announce(address: Address, as = address): void {
    announced.set(address, as);
    tellUp({ bus, subjects, address }, { actor: as, node: name });
  }

  const isServed = (address: Address) =>
    hosts.get(address)?.isUp() === true && (keepers.get(address)?.standing.state ?? 'owning') === 'owning';

  async function leave(owner: Address): Promise<void> {
    const service = services.get(owner);
    services.delete(owner);
    await service?.stop().catch((error) => onError(error, `leaving '${owner}'`));
  }

  async function own<S, M extends Message, R>(owned: Owned<S, M, R>): Promise<void> {
    const { address, service } = owned;
    const { endpoint, ...role } = service;
    const care = supervision({
      address,
      node: name,
      clock,
      logger,
      countsStarts: leases !== undefined,
      start: () => duty.restart(),
      giveUp,
      onError,
    });
    const { host, handler } = hostOf(owned, (error) => care.failed(error));
    // Each node has a queue group of its own, so that a process which hears and does not answer takes nothing away.
    const endpoints = [{ name: endpoint, subject: subjects.of(address), queue: name, handler }];
    const duty = ownedActor({
      host,
      supervision: care,
      serve: () => onBus(address, { ...role, endpoints, loopback: true }),
      onUp: () => announce(address),
      onError,
    });
    let keeper: Keeper | undefined;
    function giveUp(error: Error): void {
      if (keeper === undefined) void duty.drop();
      else if (error instanceof CellwrightError && error.code === 'fenced') keeper.fenced();
      else keeper.failed(error);
    }
    if (leases === undefined) {
      await refuseIfHeard(bus, subjects.of(address), address);
      refuseIfEnding();
      ends.push(duty.drop);
      return duty.open();
    }
    const onStanding = ({ state, owner, epoch }: Standing) => {
      outbox.setEpoch(address, epoch);
      logger.info({ node: name, actor: address, state, owner, epoch }, `'${address}': ${state}`);
    };
    keeper = keeperOf({ address, name, leases, clock, ttlMs: leaseTtlMs, duty, onError, onStanding });
    keepers.set(address, keeper);
    return keeper.start();
  }

  return {
    host(address, actor, journal, protocol, hooks = {}) {
      const care = supervision({
        address,
        node: name,
        clock,
        logger,
        countsStarts: false,
        start: () => hosted.host.start().then(toldRestarted),
        giveUp() {
          givenUp.add(address);
          hooks.givenUp?.();
          void leave(address);
        },
        onError,
      });
      const hosted = hostOf({ address, actor, journal, protocol }, (error) => care.failed(error));
      function toldRestarted(): void {
        // It may have been stopped meanwhile; and what fails here is no failure of its start.
        if (!hosted.host.isUp()) return;
        try {
          hooks.restarted?.();
        } catch (error) {
          onError(error, `the restart of '${address}'`);
        }
      }
      ends.push(async () => {
        care.end();
        await hosted.host.stop();
      });
      return hosted;
    },
    own,
    async claim(addresses) {
      await Promise.all(addresses.map((address) => refuseIfHosted(bus, subjects.of(address), address)));
    },
    async serve(owner, service) {
      services.set(owner, await onBus(owner, service));
      if (!isEnding) return;
      await leave(owner);
      refuseIfEnding();
    },
    announce,
    cameUp(who) {
      if (who !== undefined) return awaiting.cameUp(who);
      for (const host of hosts.values()) host.cameUp();
      for (const [address, as] of announced) if (isServed(address)) announce(address, as);
    },
    heardUp(who, node) {
      const keeper = keepers.get(who);
      if (node === name || isEnding || keeper?.standing.state !== 'owning') return;
      const { epoch } = keeper.standing;
      // Whose lease is another's by now learns that from its next renewal.
      const look = clock.after(leaseTtlMs, () => {
        looks.delete(look);
        const { standing } = keeper;
        if (standing.state === 'owning' && standing.epoch === epoch)
          onError(twoOwners(who, node), `what '${node}' serves`);
      });
      looks.add(look);
    },
    leave,
    heldUpBy: (address) => hosts.get(address)?.heldUpBy(),
    stats: () => Object.fromEntries([...hosts.keys()].map((address) => [address, statsOf(address)])),
    standings: () => Object.fromEntries([...keepers].map(([address, keeper]) => [address, keeper.standing])),
    async handOver(givenUp) {
      isEnding = true;
      for (const look of looks) look.cancel();
      await Promise.all([...keepers.values()].map((keeper) => keeper.stop(givenUp)));
    },
    async stop() {
      isEnding = true;
      report(await Promise.allSettled([...keepers.values()].map((keeper) => keeper.stop())));
      report(await Promise.allSettled([...services.values()].map((service) => service.stop())));
      report(await Promise.allSettled(ends.map((end) => end())));
    },
  };

  function report(results: readonly PromiseSettledResult<void>[]): void {
    for (const result of results) if (result.status === 'rejected') onError(messageOf(result.reason), 'stopping');
  }
}
