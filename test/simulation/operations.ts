// The hosts of a simulated fleet, and what callers and operators do with it.

import type { RequestSpec } from '../../actors/messages/common.ts';

export interface HostPlan {
  readonly cell: string;
  readonly host: string;
  readonly vcpu: number;
  /** How many GPUs are in it, each a provider of its own; 0 for none. */
  readonly gpus: number;
  /** Whether it has the trait that some requests need. */
  readonly fast: boolean;
}

/** What callers and operators do. */
export type Operation = { readonly id: string; readonly at: number } & (
  | {
      what: 'build';
      request: string;
      count: number;
      alternates: number;
      spec: RequestSpec;
      waitMs?: number;
      project?: string;
    }
  | { what: 'delete'; instance: string }
  | { what: 'inventory'; host: string; vcpu: number }
  /** The host is given one more GPU. */
  | { what: 'device'; host: string }
  | { what: 'service'; host: string; enabled: boolean }
  | { what: 'cell-service'; cell: string; enabled: boolean }
  /** The host is gone, with all that is on it. With `backMs` another machine takes its place, so long after it was fenced. */
  | { what: 'lose'; host: string; removes: boolean; backMs: number | null }
  /** Instances that are active on the host go by themselves: some of them, or all, as its machine begins anew. */
  | { what: 'vanish'; host: string; restarts: boolean }
  | { what: 'look'; at: number; instance: string }
  | {
      what: 'together';
      /** What each consumer shall hold, by host. */
      wanted: readonly { consumer: string; hosts: readonly { provider: string; vcpu: number }[] }[];
    }
  | { what: 'read'; consumers: readonly string[] }
  /** A resource class that all placement shards are to know, or to know no more. */
  | { what: 'name'; name: string; goes: boolean }
);
