// The driver port: what a compute asks of the thing that really runs instances (processes, containers, virtual
// machines). A driver keeps no promises about order; everything is idempotent by (instance, attempt).

/** How much of what a provider has: the fields of the Placement API, in the class's own units. */
export interface InventoryReport {
  total: number;
  reserved?: number;
  min_unit?: number;
  max_unit?: number;
  step_size?: number;
  allocation_ratio?: number;
}

/** One provider of the host's tree: the host itself, or a device or NUMA node in it. */
export interface ProviderReport {
  /** Unique in the host's tree, `[a-z0-9-]`, stable over restarts. Give the root the name of the host: explanations call it so. */
  name: string;
  inventories: Readonly<Record<string, InventoryReport>>;
  traits?: readonly string[];
  aggregates?: readonly string[];
  children?: readonly ProviderReport[];
}

/**
 * What is to run: `allocations` names the providers of the host's tree that were claimed for it, each with the `group` of the
 * request that it serves ('' for `resources` outside named groups). A provider that serves several groups is there for each.
 * One that was last in the tree long ago, or before the process came up, is told by its id.
 */
export interface BuildOrder {
  instance: string;
  /** Counts the hosts tried for this instance, from 1. */
  attempt: number;
  allocations: readonly { provider: string; group: string; resources: Readonly<Record<string, number>> }[];
  /** The caller's own words about the instance (image, command ...), passed through unread. */
  payload?: unknown;
}

/** What came of a build. */
export type BuildOutcome =
  | { outcome: 'built' }
  /** Nothing of the attempt is left on the host. Another host may succeed. */
  | { outcome: 'failed'; reason: string }
  /** Nothing of the attempt is left on the host, and no host would succeed: the request itself is at fault. */
  | { outcome: 'aborted'; reason: string };

/**
 * What really runs instances on a host: a hypervisor, a container engine, a batch system. It is the embedding
 * program's.
 */
export interface Driver {
  /**
   * Builds an attempt. Called again for the same attempt (after a restart, or because an answer was lost) it joins
   * the build under way or answers what came of it; it never builds twice. An hour after an attempt is over that is to be
   * forgotten: later, an instance of the same name may be another one (see `rememberDeletedMs` of the conductor).
   * A rejection means that the outcome is unknown.
   */
  build(order: BuildOrder): Promise<BuildOutcome>;
  /** Ends an attempt in whatever state it is; resolves when nothing of it is left, also when it never was. */
  destroy(instance: string, attempt: number): Promise<void>;
  /**
   * What is on the host now: what runs, is being built, or has stopped and could be started again. Asked when its compute
   * starts, every minute while it is up (`inventoryEveryMs` of the compute), and by audits. What was built and is not in
   * it is told as missing, until it is in one again. This, like `inventory` and `capabilities`, is not asked again before
   * it has answered: a call that never ends keeps a host away that comes up, and of one that is up, all stays as it was told
   * before; which is said.
   */
  list(): Promise<readonly { instance: string; attempt: number }[]>;
  /**
   * The host's tree of providers. Read when its compute starts, and every minute while it is up (`inventoryEveryMs` of the
   * compute): what has changed counts from then on. A provider that is told no more goes; where something is held on it,
   * it stays, with nothing left to give, until that is given back.
   */
  inventory(): Promise<ProviderReport>;
  /** Traits of the host beyond those in its inventory, for example what images it can boot; read as often. */
  capabilities(): Promise<readonly string[]>;
  /**
   * What there is to measure on the host now: numbers by names of the driver's own, such as `load` or
   * `temperature` (`[a-z0-9-]`, 32 characters), 16 at most. Filters and weighers of schedulers may go by them, some seconds later. Optional: asked at
   * every heartbeat, but not again before it has answered.
   */
  metrics?(): Promise<Readonly<Record<string, number>>>;
  /** Ends builds under way and frees what the driver holds open; a node that stops waits 10 s for it. */
  close(): Promise<void>;
}
