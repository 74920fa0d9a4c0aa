// A node: one process's share of a deployment. It hosts the actors of its roles, puts them on the bus, registers each
// role as a NATS service, and takes them off again. This is what users embed.

import type { Address } from '../actors/actor.ts';
import type { DriverMessage } from '../actors/messages/compute.ts';
import { present } from '../actors/present.ts';
import { gatewayAddress } from '../actors/routing.ts';
import { unlessAborted } from './abortable.ts';
import { aggregatesOf } from './aggregates.ts';
import type { Subscription } from './bus/bus.ts';
import { lentBus } from './bus/lent.ts';
import { checkHeartbeat, checkOptions } from './check-options.ts';
import { type Client, clientOf } from './client.ts';
import { checkClock } from './clock-check.ts';
import { followComingsUp } from './comings-up.ts';
import { checkCopies } from './copies-check.ts';
import { checkShards } from './deployment.ts';
import type { DriverHost } from './drivers/driver-host.ts';
import { CellwrightError, messageOf, TimeoutError } from './errors.ts';
import { type Asking, asking } from './gateway/asking.ts';
import { type Gateway, gatewayOf } from './gateway/gateway.ts';
import { hostingOf } from './hosting.ts';
import { unfailingLogger } from './logging.ts';
import { defaultName } from './node-names.ts';
import type { NodeOptions } from './node-options.ts';
import { busOf, checkLeaseTtl, journalsOf, leasesOf, shardsFor } from './node-ports.ts';
import { outboxOf } from './outbox.ts';
import { faultsOfOwnCode } from './own-code.ts';
import type { Standing } from './ownership/keeper.ts';
import { playing } from './playing.ts';
import { hostsByCell, parseRoles, placementShardsPlayed, type Role } from './roles.ts';
import { schedulerOptionsOf } from './scheduler-settings.ts';
import { checkToken, subjectsOf } from './subjects.ts';
import { systemClock } from './system-clock.ts';
import { within } from './within.ts';

/** A node that runs. */
export interface Node {
  /** What it was named, or its name made of those of host and process. */
  readonly name: string;
  /** The API, for use from code, until the node has stopped. */
  readonly client: Client;
  /** The address of the NATS server, without users and passwords, or null on a bus of the caller's. */
  readonly url: string | null;
  /** How many placement shards the deployment has. */
  readonly placementShards: number;
  /** How the actors of this node do, by address: the figures that `nats micro stats --json` shows of them. */
  stats(): Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** How this node stands to each actor that has a lease: whether it owns it or stands by, and who owns it. */
  standings(): Readonly<Record<string, Standing>>;
  /**
   * Stops the roles, then the connection and a managed server. What this node owns is handed over to nodes that stand
   * by, each within some tens of milliseconds; without any, builds under way are taken up again by whoever opens the
   * same journals. A driver that does not close is waited for 10 s; a server that does not
   * answer, for as long as `nats.closeTimeoutMs` says, 5 s by default; what was sent to it by then it may take yet.
   */
  stop(): Promise<void>;
}

/** How long a question waits for an actor's owner to answer, ms, beyond the time in which a dead one is replaced. */
const ASK_TIMEOUT_MS = 3_000;
/** No question waits longer than this, ms: people wait for its answer, and clients for 10 s. */
const MOST_ASK_TIMEOUT_MS = 9_000;
const DEFAULT_LEASE_TTL_MS = 5_000;
/** How long a node that stops waits for the requests that it has taken to be answered, ms. */
const ANSWERED_WITHIN_MS = 2_000;
/** How long it waits for a driver to close, ms. */
const CLOSED_WITHIN_MS = 10_000;
const DEFAULT_MAX_MAILBOX = 100_000;

/**
 * Starts a node. It resolves when each actor of its roles is served here, or owned by another node and stood by for.
 * A server that is slow to answer meanwhile is reported, and waited for.
 * @throws CellwrightError `bad-role`, `bad-id`, `bad-option` with the field; `other-shards`; `already-hosted` when another
 * node serves a compute, or an actor that has no lease; `prefix-taken` when another prefix would have the same streams;
 * `no-jetstream`; `jetstream-refused` with what the server says; what connecting to NATS or starting a server throws.
 */
export async function startNode(options: NodeOptions): Promise<Node> {
  checkOptions(options);
  const roles = parseRoles(options.roles);
  checkHeartbeat(options, roles);
  const { name: named = defaultName(), leaseTtlMs: ttlMs = DEFAULT_LEASE_TTL_MS } = options;
  const name = checkToken(named, 'name');
  const subjects = subjectsOf(options.prefix);
  checkShards('conductor', options.conductorShards);
  checkShards('placement', options.placementShards);
  const leaseTtlMs = checkLeaseTtl(ttlMs);
  if (options.leases === 'jetstream' && options.bus !== undefined) {
    throw new CellwrightError('bad-option', "leases can be 'jetstream' only on NATS", { field: 'leases' });
  }
  const aggregates = aggregatesOf(options.aggregates, options.defaultZone, options.requireConfinement);
  const { driver } = options;
  if (driver === undefined && roles.some(({ kind }) => kind === 'compute')) {
    throw new CellwrightError('bad-option', 'a compute role needs the option driver', { field: 'driver' });
  }
  const clock = options.clock ?? systemClock();
  const logger = unfailingLogger(options.logger);
  const onError = (error: unknown, what: string) => {
    const { code, field } = error instanceof CellwrightError ? error : {};
    logger.warn({ node: name, what, ...present({ code, field }), error: messageOf(error) }, messageOf(error));
  };
  const onOwnFault = faultsOfOwnCode(clock, onError);
  const isScheduler = roles.some(({ kind }) => kind === 'scheduler');
  const schedulerOptions = schedulerOptionsOf(options.scheduler ?? {}, aggregates, onOwnFault, isScheduler);

  const { bus, nats, server, url } = await busOf(options, {
    name,
    logger,
    onError,
    onReconnected: () => cameUp(),
  });
  const outbox = outboxOf({ bus, clock, subjects, events: options.events ?? true, onError });
  const maxMailbox = options.maxMailbox ?? DEFAULT_MAX_MAILBOX;
  const leases = leasesOf(options, { nats, subjects, ttlMs: leaseTtlMs, clock });
  const hosting = hostingOf({
    name,
    bus,
    clock,
    outbox,
    subjects,
    logger,
    maxMailbox,
    ...(leases === undefined ? {} : { leases }),
    leaseTtlMs,
    onError,
  });
  const lent = lentBus(bus);
  const drivers = new Map<string, DriverHost>();
  const subscriptions: Subscription[] = [];
  /** To the end: as long as it is given requests it needs the answers. */
  const heardByScheduler: Subscription[] = [];
  outbox.local('driver/', (to, message) => drivers.get(to)?.take(message as DriverMessage));

  let placementShards = options.placementShards ?? 1;
  const apiOwner = gatewayAddress(name);
  /** Of the API: who serves none asks nothing, and is not to hear answers. */
  let asker: Asking | undefined;
  let gateway: Gateway | undefined;
  let clockCheck: { stop(): void } | undefined;
  let stopping: Promise<void> | undefined;

  function cameUp(who?: Address): void {
    hosting.cameUp(who);
    asker?.cameUp(who);
  }

  /** Whatever has been waited for: a start that is given up meanwhile begins nothing that nobody would end. */
  function goOn(): void {
    if (stopping !== undefined) throw new CellwrightError('interrupted', 'the start was given up');
  }

  async function closeDriver(address: Address, hosted: DriverHost): Promise<void> {
    if (await within(CLOSED_WITHIN_MS, hosted.stop(), clock)) return;
    onError(new TimeoutError(`'${address}'`, CLOSED_WITHIN_MS), 'closing a driver, which is passed over');
  }

  async function stop(): Promise<void> {
    const silence = nats?.silence();
    try {
      await stopUnless(silence?.begun ?? new Promise(() => {}));
    } finally {
      silence?.end();
    }
  }

  /** @param isSilent From when on nobody can be told anything. */
  async function stopUnless(isSilent: Promise<void>): Promise<void> {
    clockCheck?.stop();
    for (const subscription of subscriptions) subscription.unsubscribe();
    // First those who ask: they are answered while the actors of this node are still there to answer.
    await hosting.leave(apiOwner);
    if (gateway !== undefined) await within(ANSWERED_WITHIN_MS, Promise.race([gateway.answered(), isSilent]), clock);
    gateway?.stop();
    await hosting.handOver(isSilent);
    await hosting.stop();
    for (const subscription of heardByScheduler) subscription.unsubscribe();
    await Promise.all([...drivers].map(([address, hosted]) => closeDriver(address, hosted)));
    asker?.stop();
    await gateway?.answered();
    lent.end();
    try {
      if (options.bus === undefined) await bus.close();
    } finally {
      await server?.stop();
    }
  }

  const node: Node = {
    name,
    url,
    get placementShards() {
      return placementShards;
    },
    client: clientOf({ bus: lent.bus, clock, subjects }),
    stats: () => hosting.stats(),
    standings: () => hosting.standings(),
    stop() {
      stopping ??= stop();
      return stopping;
    },
  };
  async function serveApi(conductorShards: number): Promise<void> {
    const isInMemory = nats === undefined;
    const timeoutMs = Math.min(leaseTtlMs + ASK_TIMEOUT_MS, MOST_ASK_TIMEOUT_MS);
    const heldUpBy = (address: Address) => hosting.heldUpBy(address);
    asker = asking({ name, bus, clock, outbox, subjects, timeoutMs, heldUpBy, onError });
    gateway = gatewayOf({ asking: asker, conductorShards, aggregates, bus, isInMemory, clock, subjects, onError });
    const { endpoints, stats } = gateway;
    await hosting.serve(apiOwner, { role: 'api', description: 'API', endpoints, stats });
  }

  async function play(): Promise<void> {
    const ports = { clock, subjects, bus, nats, onError };
    const journals = journalsOf(options, ports);
    placementShards = await shardsFor('placement', options, ports);
    const has = (...kinds: Role['kind'][]) => roles.some(({ kind }) => kinds.includes(kind));
    // Only those who deal with instances by their ids go by it.
    const conductorShards = has('conductor', 'cell')
      ? await shardsFor('conductor', options, ports)
      : (options.conductorShards ?? 1);
    const player = playing({
      name,
      options,
      schedulerOptions,
      aggregates,
      hosting,
      bus,
      subjects,
      journals,
      placementShards,
      conductorShards,
      drivers,
      heardByScheduler,
      goOn,
      onError,
    });
    const shards = placementShardsPlayed(roles, placementShards);
    const steps: (() => Promise<unknown>)[] = [
      () => Promise.all(shards.map((shard) => player.placement(shard))),
      ...roles.flatMap((role) => (role.kind === 'cell' ? [() => player.cell(role.cell)] : [])),
      ...(has('conductor') ? [player.conductor, () => serveApi(conductorShards)] : []),
      ...(has('scheduler') ? [player.scheduler] : []),
      ...[...hostsByCell(roles)].map(
        ([cellName, hosts]) =>
          () =>
            player.computes(cellName, hosts),
      ),
    ];
    for (const step of steps) {
      goOn();
      await step();
    }
    await bus.flush();
    goOn();
    if (nats !== undefined && leases !== undefined) {
      clockCheck = checkClock({ bus: nats, subjects, clock, onError });
      // Whatever hinders the question hinders more than that, and is told of there.
      checkCopies({ bus: nats, subjects, replicas: options.replicas ?? 1, onError }).catch(() => {});
    }
  }

  try {
    const onUp = (who: Address, at: string) => {
      cameUp(who);
      hosting.heardUp(who, at);
    };
    subscriptions.push(...followComingsUp({ bus, subjects, onUp, onError }));
    await unlessAborted(play(), options.nats?.signal, 'the start');
  } catch (error) {
    // Why it does not start is what there is to know.
    await node.stop().catch((failure) => onError(failure, 'stopping what was started'));
    throw error;
  }
  return node;
}
