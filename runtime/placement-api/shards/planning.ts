// Which shards have a part in a change of what consumers hold, and what each part is: those of the providers, those with
// which the consumers hold something now, and the consumers' home shards when they begin, end or go elsewhere.

import type { ConsumerChange } from '../../../actors/messages/placement-api.ts';
import type { Part } from '../../../actors/messages/transactions.ts';
import type { ConsumerStanding } from './standing.ts';

/** A change as a caller asks for it, and how its consumer stands. */
export interface Wanted {
  readonly change: ConsumerChange;
  readonly standing: ConsumerStanding;
}

export interface PlanOptions {
  readonly wanted: readonly Wanted[];
  /** Inventories that change at the same moment. */
  readonly inventories?: Required<Part>['inventories'];
  /** False: a plain deletion, which the providers do not count. */
  readonly counted?: boolean;
  shardOf(provider: string): number;
}

export function planOf({ wanted, inventories = [], counted, shardOf }: PlanOptions): Part[] {
  const shares = wanted.map((one) => shareOf(one, shardOf));
  const visible = new Set(shares.flatMap(({ touched }) => touched));
  for (const { provider } of inventories) visible.add(shardOf(provider));
  const involved = new Set([...visible, ...shares.flatMap(({ involved: ofConsumer }) => ofConsumer)]);
  const isWide = visible.size > 1;
  const classes = involved.size > 1 ? classesOf(wanted) : [];
  return [...involved].map((shard) => {
    const mine = inventories.filter(({ provider }) => shardOf(provider) === shard);
    return {
      shard,
      consumers: shares.filter((share) => share.involved.includes(shard)).map((share) => share.changeIn(shard)),
      ...(mine.length === 0 ? {} : { inventories: mine }),
      ...(involved.size > 1 ? { classes } : {}),
      ...(isWide ? { wide: true } : {}),
      ...(counted === undefined ? {} : { counted }),
    };
  });
}

/** What one consumer has of a change in each shard. */
function shareOf({ change, standing }: Wanted, shardOf: (provider: string) => number) {
  const { home, holders, registered, generation } = standing;
  const { consumerType = standing.consumerType, generation: _, ...asked } = change;
  const byShard = new Map<number, [string, Record<string, number>][]>();
  for (const [provider, resources] of Object.entries(change.allocations)) {
    const shard = shardOf(provider);
    const known = byShard.get(shard);
    if (known === undefined) byShard.set(shard, [[provider, resources]]);
    else known.push([provider, resources]);
  }
  const named = Object.keys(change.allocations);
  const become = [...byShard.keys()].filter((shard) => shard !== home).sort((one, other) => one - other);
  const goesElsewhere = become.join() !== registered.join();
  const touched = [...new Set([...byShard.keys(), ...holders.keys()])];
  const involved = holders.size === 0 || goesElsewhere ? [...new Set([...touched, home])] : touched;
  return {
    touched,
    involved,
    changeIn: (shard: number): ConsumerChange => ({
      ...asked,
      allocations: Object.fromEntries(byShard.get(shard) ?? []),
      ...(consumerType === null ? {} : { consumerType }),
      generation: holders.get(shard)?.generation ?? null,
      becomes: generation + 1,
      ...(byShard.size > 1
        ? { several: true, positions: (byShard.get(shard) ?? []).map(([id]) => named.indexOf(id)) }
        : {}),
      ...(shard === home ? { homes: { expected: [...registered], become } } : {}),
    }),
  };
}

/** The classes that a change is about, of which what is given up counts where nothing else is asked. */
function classesOf(wanted: readonly Wanted[]): string[] {
  const named = wanted.flatMap(({ change: { allocations }, standing: { holders } }) => {
    const asked = Object.values(allocations);
    if (asked.length > 0) return asked.flatMap((resources) => Object.keys(resources));
    return [...holders.values()].flatMap(({ classes }) => classes);
  });
  return [...new Set(named)];
}
