// What a compute may be told to do otherwise than by default.

import type { Patience } from '../builds.ts';

export interface ComputeOptions {
  readonly cell: string;
  readonly host: string;
  /** Names each life of the compute that begins: orders for another one are not carried out. */
  readonly incarnation: () => string;
  /** How many placement shards the deployment has; default 1. */
  readonly placementShards?: number;
  /** How often the compute says that it is alive, ms; default 5,000. Less than `silentMs` of its cell, by far. */
  readonly heartbeatMs?: number;
  /**
   * How often the driver is asked what the host has, and what runs there, while the compute is up, ms, at a heartbeat;
   * default 60,000, as often as Nova's computes look (`update_resources_interval`). Every fifth time placement is told
   * again, even if nothing has changed.
   */
  readonly inventoryEveryMs?: number;
  /** How long to wait for an answer before a step is done again, ms; default 500 at first, 10,000 at most. */
  readonly patience?: Patience;
  /**
   * How long it is known what came of an attempt that is over, ms; default an hour, as cells and placement remember what was
   * deleted. Less than `rememberDeletedMs` of the conductors: after that another instance may have its name.
   */
  readonly rememberEndedMs?: number;
}

export const DEFAULT_HEARTBEAT_MS = 5_000;

export const DEFAULTS = {
  heartbeatMs: DEFAULT_HEARTBEAT_MS,
  inventoryEveryMs: 60_000,
  patience: { firstMs: 500, mostMs: 10_000 },
  rememberEndedMs: 3_600_000,
} as const;
