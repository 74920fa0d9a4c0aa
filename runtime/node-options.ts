// What can be said when a node is started; every option tells its unit, its default and why it is that.

import type { Logger } from 'pino';
import type { CellOptions } from '../actors/cell/cell.ts';
import type { ComputeOptions } from '../actors/compute/options.ts';
import type { ConductorOptions } from '../actors/conductor/conductor.ts';
import type { PlacementOptions } from '../actors/placement/placement.ts';
import type { AggregateOptions } from './aggregates.ts';
import type { Bus } from './bus/bus.ts';
import type { NatsOptions } from './bus/nats-options.ts';
import type { Clock } from './clock.ts';
import type { Driver } from './drivers/driver.ts';
import type { Journals } from './journal/journal.ts';
import type { NatsServerOptions } from './nats-server/options.ts';
import type { Leases } from './ownership/leases.ts';
import type { SchedulerSettings } from './scheduler-settings.ts';

/** What can be said when a node is started; only `roles` must be, and with a compute `driver`. */
export interface NodeOptions {
  /**
   * What this process does: any of `placement` (all its shards) or `placement:<shard>`, `scheduler`, `conductor`,
   * `cell:<name>`, `compute:<cell>/<host>`.
   * A deployment needs one process at least with each of `placement`, `scheduler`, `conductor` and each cell. Further
   * ones with `scheduler`, and with the API, which comes with `conductor`, share the work; for what has a journal one
   * process owns the actor and the others stand by.
   */
  readonly roles: readonly string[];
  /**
   * The NATS server: `{ servers }` connects to one that runs; `{ managed: {} }`, the default, starts one for this
   * node and stops it with it.
   */
  readonly nats?: Partial<Omit<NatsOptions, 'name' | 'clock' | 'onError'>> & {
    managed?: Omit<NatsServerOptions, 'signal'>;
  };
  /** A bus to use instead of NATS; the node does not close it. For tests and in-memory runs. */
  readonly bus?: Bus;
  /** Names the node among all of the deployment, `[a-z0-9-]`. Default: made of the host name and process id. */
  readonly name?: string;
  /**
   * What every subject begins with, one token or several such as `prod.cw`; default `cw`. Deployments that share a server
   * need different ones, and not only in that one has a hyphen where the other has a dot: that is `prefix-taken`.
   */
  readonly prefix?: string;
  /**
   * How many conductor shards the deployment has, 1 to 256; instances are dealt to them by their ids. Decided and kept as
   * that of the placement shards. Default: what the deployment has, 1 when it is new. One is enough until one process
   * cannot decide and record all requests.
   */
  readonly conductorShards?: number;
  /**
   * How many placement shards the deployment has, 1 to 64; trees of providers are dealt to them by the ids of their roots.
   * Decided when the deployment is made, by the first node that is started, and kept in it for ever: a node that is
   * started with another number is refused. Default: what the deployment has, 1 when it is new; while JetStream, which
   * keeps the number, is away, whoever serves a shard is asked for it, and otherwise the start waits half a minute. One is
   * enough until one process cannot hold all providers, or decide and record all claims.
   */
  readonly placementShards?: number;
  /** Makes the driver of each host whose compute runs here; needed with a `compute` role. */
  readonly driver?: (place: { cell: string; host: string }) => Driver;
  /** Whether events for people are published; default true. What they cost is in the README, 'Where the time goes'. */
  readonly events?: boolean;
  /**
   * Where owners keep their records: `jetstream`, the default on NATS, survives the death of any process; `memory`,
   * the default on a bus of the caller's, survives the death of an actor only. Where several nodes have such owners, all
   * are started anew together: hosts that are up tell placement what they have only minutes later, and nobody tells a conductor
   * of its instances. Or journals of the caller's own. The same on every node of a deployment.
   */
  readonly journals?: 'jetstream' | 'memory' | Journals;
  /** Copies of each journal, and of the leases, in a cluster of NATS servers: 1, 3 or 5; default 1. */
  readonly replicas?: number;
  /**
   * Who owns which actor. Any number of nodes may be started for a role with a journal: one owns the actor, the others
   * stand by. `jetstream`, the default with journals on JetStream, keeps the leases in a KV bucket. `none`, the default
   * otherwise: a second node is refused as `already-hosted`. Or leases of the caller's own, for nodes on one bus.
   */
  readonly leases?: 'jetstream' | 'none' | Leases;
  /**
   * How long a lease lasts without being renewed, ms; 500 to 600,000, default 5,000. An owner that dies is replaced
   * after this time, one that stops hands over at once; an owner that is held up or cut off for longer loses its actor.
   * Shorter leases make for shorter gaps, and for owners that change when a machine is merely busy. Nodes may differ.
   */
  readonly leaseTtlMs?: number;
  /** Default: the system's clock. */
  readonly clock?: Clock;
  /** Told also when the server is lost, and when it is back. Default: warnings and errors, as JSON lines on stderr. */
  readonly logger?: Logger;
  /** Messages that may wait for one actor; default 100,000: some seconds of the most that one can decide. */
  readonly maxMailbox?: number;
  /**
   * What there is to say of aggregates, by their ids: zones, the projects that one is kept for, what is different for
   * schedulers on its hosts. The same on every node with `conductor` or `scheduler`; default: nothing.
   */
  readonly aggregates?: Readonly<Record<string, AggregateOptions>>;
  /**
   * The availability zone of all hosts that are in no aggregate with a zone, for requests to name; default: they can be
   * had only by avoiding every zone. The same on every node with `conductor`.
   */
  readonly defaultZone?: string;
  /**
   * Whether requests are refused whose project no aggregate `confines`, or that name none; default: they may use all hosts
   * that are kept for nobody. It needs an aggregate that confines. The same on every node with `conductor`.
   */
  readonly requireConfinement?: boolean;
  /** Deadlines and paces of the actors; each option says its default where the actor is. */
  readonly conductor?: Omit<ConductorOptions, 'shard' | 'placementShards' | 'conditionsNow'>;
  readonly placement?: Omit<PlacementOptions, 'shard' | 'shards'>;
  /** Also which filters and weighers it goes by. */
  readonly scheduler?: SchedulerSettings;
  readonly cell?: Omit<CellOptions, 'cell' | 'conductorShards' | 'placementShards'>;
  readonly compute?: Omit<ComputeOptions, 'cell' | 'host' | 'incarnation' | 'placementShards'>;
}
