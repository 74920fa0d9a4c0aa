// What a placement shard owns.

import { PassingSet } from '../passing-set.ts';
import { Table } from '../table.ts';
import type { Looks } from './api/looking.ts';
import { type Catalog, emptyCatalog } from './catalog.ts';
import { type Consumers, noConsumers } from './consumers.ts';
import type { Elsewhere } from './elsewhere.ts';
import { type Fences, noFences } from './fences.ts';
import { type GroupHomes, noGroupHomes } from './group-homes.ts';
import { emptyGroups, type Groups } from './groups.ts';
import type { Absent } from './holders.ts';
import { type Holds, noHolds } from './holds.ts';
import { emptyIndexes, type Indexes } from './indexes.ts';
import { noProviders, type Providers } from './providers.ts';
import { noTransactions, type Transactions } from './transactions.ts';

/** Providers to be told whole, providers of which only the use is to be told, those that are gone, and consumers that are. */
type Untold = Readonly<Record<'changed' | 'used' | 'removed' | 'deleted', Set<string>>>;

/** In which life a compute told its tree, and which of what it told then. */
export interface Put {
  readonly incarnation: string;
  readonly ask: number;
}

export interface PlacementState {
  readonly providers: Providers;
  /** The ids of each tree, by root, the root first. */
  readonly trees: Table<readonly string[]>;
  readonly consumers: Consumers;
  /** Up to which order first claims of consumers are void. */
  readonly fences: Fences;
  /** Parts of changes over several shards that are held here. */
  readonly holds: Holds;
  /** Of consumers whose home shard this is: with which other shards they hold something. */
  readonly homes: Table<readonly number[]>;
  /** Changes over several shards that are coordinated here. */
  readonly transactions: Transactions;
  /** Where the members of instance groups are. Made of the consumers; not recorded. */
  readonly groups: Groups;
  /** Which ids may be with other shards. */
  readonly elsewhere: Elsewhere;
  /** With which shard each group is that keeps together, where there are several. */
  readonly groupHomes: GroupHomes;
  /** The resource classes and traits beyond the standard ones. */
  readonly catalog: Catalog;
  /** Made of the providers; not recorded. */
  readonly indexes: Indexes;
  /**
   * The highest generation of the providers that are gone. One that comes back goes on from there: what is told late of
   * it as it was is no news then.
   */
  readonly gone: { generation: number };
  /** Made of the consumers; not recorded. */
  readonly absent: Absent;
  /** What callers of the Placement API wait for; not recorded. */
  readonly looks: Looks;
  /** What the feed has still to tell of this turn; not recorded. */
  readonly untold: Untold;
  /** What was taken last of what computes told of their trees, by root, while that is there; not recorded. */
  readonly puts: Map<string, Put>;
  /** The numbering of the feed in this life of the shard; not recorded. */
  readonly feed: { epoch: number; sequence: number };
}

export function emptyPlacement(): PlacementState {
  return {
    providers: noProviders(),
    trees: new Table((ids, root) => [root, ids]),
    consumers: noConsumers(),
    fences: noFences(),
    holds: noHolds(),
    homes: new Table((shards, id) => [id, shards]),
    transactions: noTransactions(),
    groups: emptyGroups(),
    elsewhere: new Set(),
    groupHomes: noGroupHomes(),
    catalog: emptyCatalog(),
    indexes: emptyIndexes(),
    gone: { generation: -1 },
    absent: new Map(),
    looks: [],
    untold: {
      changed: new PassingSet(),
      used: new PassingSet(),
      removed: new PassingSet(),
      deleted: new PassingSet(),
    },
    puts: new Map(),
    feed: { epoch: 0, sequence: 0 },
  };
}
