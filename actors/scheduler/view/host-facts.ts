// What a filter and a weigher see of a host: the picture that the scheduler has of it at the moment.

import type { FailureMemory, HostState, HostStats } from '../../messages/scheduler.ts';
import { freeOf } from '../../placement/inventory.ts';
import type { Provider } from '../../placement/providers.ts';

/** A host as filters and weighers see it: the scheduler's picture of it at the moment. Nothing of it may be changed. */
export interface HostFacts {
  readonly cell: string;
  /** Its name, unique in its cell. */
  readonly host: string;
  readonly state: HostState['state'];
  /** Why it is out of service, where that is known. */
  readonly reason?: string | undefined;
  /** When it comes back into service by itself, ms since the epoch. */
  readonly until?: number | undefined;
  /** Of one that is away: until when it is set aside if it is back before that, ms since the epoch. */
  readonly asideUntil?: number | undefined;
  /** The tree of its providers, the root first. */
  readonly tree: readonly Provider[];
  /** The traits of the host itself; its devices may have others. */
  readonly traits: ReadonlySet<string>;
  /** The aggregates that the host itself is in. */
  readonly aggregates: ReadonlySet<string>;
  /**
   * What the host is doing: as many instances as placement has there, and what its cell told last of the rest; each with what
   * this scheduler has claimed since.
   */
  readonly stats: HostStats;
  /** Builds that failed there lately; see recalled() for what is left of them. */
  readonly failures: FailureMemory | undefined;
  /** The scheduler's time, ms since the epoch. Whoever goes by it must say when it changes what he says: `changesAt`. */
  readonly now: number;
}

/** How much of a resource class is free in a tree, and how much of it there is at all. */
export function stockOf(tree: readonly Provider[], resourceClass: string): { free: number; capacity: number } {
  let free = 0;
  let capacity = 0;
  for (const { stocks } of tree) {
    const stock = stocks.get(resourceClass);
    if (stock === undefined) continue;
    capacity += stock.capacity;
    free += freeOf(stock);
  }
  return { free, capacity };
}
