// Which shards have a part in a change of what consumers hold, and what each part is: those of the providers, those with
// which the consumers hold something now, and the consumers' home shards when they begin, end or go elsewhere.

import type { ConsumerChange, GivenAllocation } from '../../../actors/messages/placement-api.ts';
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
  const { home, holders, registered, generation, latest, group } = standing;
  const { consumerType = standing.consumerType, generation: _, ...asked } = change;
  const byShard = new Map<number, GivenAllocation[]>();
  for (const [position, allocation] of change.allocations.entries()) {
    const shard = shardOf(allocation.provider);
    const known = byShard.get(shard);
    if (known === undefined) byShard.set(shard, [{ ...allocation, position }]);
    else known.push({ ...allocation, position });
  }
  const become = [...byShard.keys()].filter((shard) => shard !== home).sort((one, other) => one - other);
  const goesElsewhere = become.join() !== registered.join();
  const touched = [...new Set([...byShard.keys(), ...holders.keys()])];
  const involved = holders.size === 0 || goesElsewhere ? [...new Set([...touched, home])] : touched;
  return {
    touched,
    involved,
    changeIn: (shard: number): ConsumerChange => ({
      ...asked,
      allocations: byShard.size > 1 ? (byShard.get(shard) ?? []) : byShard.has(shard) ? change.allocations : [],
      ...(consumerType === null ? {} : { consumerType }),
      generation: holders.get(shard)?.generation ?? null,
      becomes: generation + 1,
      ...(byShard.size > 1 ? { several: true } : {}),
      ...(shard === home ? { homes: { expected: [...registered], become } } : {}),
      ...(latest === null ? {} : { latest }),
      ...(group === null ? {} : { group }),
    }),
  };
}

/** The classes that a change is about, of which what is given up counts where nothing else is asked. */
function classesOf(wanted: readonly Wanted[]): string[] {
  const named = wanted.flatMap(({ change: { allocations }, standing: { holders } }) => {
    if (allocations.length > 0) return allocations.flatMap(({ resources }) => Object.keys(resources));
    return [...holders.values()].flatMap(({ classes }) => classes);
  });
  return [...new Set(named)];
}
