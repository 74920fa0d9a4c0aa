// What a cell owns, and how each row of it is stored.

import type { Address, SteadyTime } from '../actor.ts';
import { type HostedBuild, type StoredBuild, storeBuild } from '../builds.ts';
import { Deleted } from '../deleted.ts';
import type { InstanceView } from '../messages/gateway.ts';
import { PassingMap } from '../passing-map.ts';
import { PassingSet } from '../passing-set.ts';
import { Table } from '../table.ts';
import { Removals } from './removals.ts';
import type { Service } from './service.ts';
import type { Shared } from './sharing.ts';

export interface Entry {
  readonly build: HostedBuild;
  /** The caller wants it gone. */
  deleting: boolean;
  /** It was active on a host that was fenced: why, when if that is known, and whether its conductor has taken note. */
  lost: { readonly reason: string; readonly at?: number; readonly told: boolean } | null;
  /** It is deleted, and its last attempt is cleared away: of earlier ones something is left. It follows from the removals. */
  cleared: boolean;
  /** Since when it is known that its host does not have it, though it is active, ms since the epoch. */
  missingSince: number | null;
}

export interface CellState extends Shared {
  /** How operators have set the cell as a whole. */
  service: Service;
  readonly instances: Table<Entry>;
  readonly removals: Removals;
  /** When each deleted instance was gone, ms since the epoch, oldest first. */
  readonly deleted: Deleted;
  /** When each host that was removed was, as of what is deleted. */
  readonly removedHosts: Deleted;
  /** Hosts that are to be removed when placement has let go of them, by root provider, and who asked; not recorded. */
  readonly leaving: Map<string, Leaving>;
  /** What the feed has still to tell of this turn, and its numbering in this life; not recorded. */
  readonly feed: {
    readonly untold: Set<string>;
    /** Hosts of which only the counts changed, and nobody waits for that: they are told with the next beat. */
    readonly recounted: Set<string>;
    /** The root providers of hosts that are no more. */
    readonly gone: Set<string>;
    /** Somebody waits to hear that a build has ended. */
    tellsBuilds: boolean;
    epoch: number;
    sequence: number;
  };
  /** Builds on their way to another placement shard; not recorded. */
  readonly moves: Map<string, Move>;
  /** What drivers said instead of what came of an attempt, by instance; not recorded, for they are asked again. */
  readonly troubles: Map<string, Trouble>;
  /** When silent hosts were last looked for; not recorded. */
  swept: SteadyTime;
  /** How many hosts are in service, and how many of these rest, as they were counted last; null: they have changed since. */
  inService: { readonly hosts: number; readonly resting: number } | null;
}

/**
 * A build whose next attempt is claimed in another placement shard: those where earlier ones were give back first what
 * they hold, and grant nothing that is late. Whoever recovers asks them again.
 */
interface Move {
  readonly attempt: number;
  /** The shards that have still to answer. */
  readonly left: Set<Address>;
}

export interface Leaving {
  readonly host: string;
  readonly ask: number;
  readonly asker: Address;
}

export type Trouble = NonNullable<InstanceView['trouble']>;

/** A row of the instances, as snapshots have it. */
export interface StoredEntry {
  readonly build: StoredBuild;
  readonly deleting: boolean;
  readonly lost?: Entry['lost'];
  /** Absent when it is not missing. */
  readonly missingSince?: number;
}

export function emptyCell(): CellState {
  return {
    service: { disabled: null, revision: 0 },
    instances: new Table(storeEntry),
    specs: new Map(),
    lastSpec: null,
    selections: new Map(),
    removals: new Removals(),
    hosts: new Map(),
    deleted: new Deleted(),
    removedHosts: new Deleted(),
    leaving: new Map(),
    feed: {
      untold: new PassingSet(),
      recounted: new PassingSet(),
      gone: new PassingSet(),
      tellsBuilds: false,
      epoch: 0,
      sequence: 0,
    },
    moves: new PassingMap(),
    troubles: new PassingMap(),
    swept: 0,
    inService: null,
  };
}

function storeEntry({ build, deleting, lost, missingSince }: Entry): StoredEntry {
  return {
    build: storeBuild(build),
    deleting,
    ...(lost === null ? {} : { lost }),
    ...(missingSince === null ? {} : { missingSince }),
  };
}
