// How a consumer stands over all shards: what it holds with each, whose it is, its generation, and what its home shard
// knows of it. The home shard, by the hash of its id, is where all agree on who makes it: each change that makes it, or
// has it hold something with other shards than before, is one of its home too.

import { addAmounts } from '../../../actors/amounts.ts';
import type { InstanceGroup } from '../../../actors/messages/common.ts';
import type { ConsumerView, Usages } from '../../../actors/placement/api/reads.ts';
import { fnv1a } from '../../../actors/routing.ts';
import { contents, type Outcome, type Shards } from './asking.ts';

interface Holder {
  readonly generation: number;
  /** The classes of which it holds something with this shard. */
  readonly classes: readonly string[];
}

export interface ConsumerStanding {
  readonly home: number;
  /** The shards with which it holds something. */
  readonly holders: ReadonlyMap<number, Holder>;
  readonly generation: number;
  readonly consumerType: string | null;
  readonly deleted: boolean;
  /** With which shards, beside its home, the home shard knows it to hold something. */
  readonly registered: readonly number[];
  /** Of an instance: its latest attempt; null: it is none. */
  readonly latest: number | null;
  /** The instance group that it is a member of. */
  readonly group: InstanceGroup | null;
}

export async function standingOf(shards: Shards, consumer: string): Promise<ConsumerStanding> {
  // Seen as it was at one moment: of what it held then, no change since can have left any as it was.
  const views = contents(await shards.whole<ConsumerView>({ type: 'consumer-show', consumer, standing: true }));
  const home = fnv1a(consumer) % shards.count;
  const holders = new Map<number, Holder>();
  for (const [shard, { standing, generation, allocations }] of views.entries()) {
    if (standing?.holds !== true) continue;
    const classes = new Set(Object.values(allocations).flatMap(({ resources }) => Object.keys(resources)));
    holders.set(shard, { generation, classes: [...classes] });
  }
  return {
    home,
    holders,
    generation: Math.max(...views.map(({ generation }) => generation)),
    consumerType: views.find(({ consumerType }) => consumerType !== null)?.consumerType ?? null,
    deleted: views.some(({ standing }) => standing?.deleted === true),
    registered: views[home]?.standing?.homes ?? [],
    ...identityOf(views),
  };
}

/** What a consumer is: as the shards know it with which it holds something, or all, when it holds nothing. */
function identityOf(views: readonly ConsumerView[]): Pick<ConsumerStanding, 'latest' | 'group'> {
  const told = views.map(({ standing }) => standing).filter((one) => one !== undefined);
  const holding = told.filter(({ holds }) => holds);
  const known = (holding.length > 0 ? holding : told).filter(({ latest }) => latest !== undefined);
  const newestFirst = known.toSorted(({ latest: one = 0 }, { latest: other = 0 }) => other - one);
  return {
    latest: newestFirst[0]?.latest ?? null,
    group: newestFirst.find(({ group }) => group !== undefined)?.group ?? null,
  };
}

/** What all shards show of a consumer as one: all of every change, or nothing of it. */
export async function showConsumer(shards: Shards, consumer: string): Promise<Outcome<ConsumerView>> {
  const question = { type: 'consumer-show', consumer } as const;
  const views = contents(await shards.whole<ConsumerView>(question));
  const holding = views.filter(({ allocations }) => Object.keys(allocations).length > 0);
  const [one = views[0] as ConsumerView] = holding;
  const allocations = holding
    .flatMap((view) => Object.entries(view.allocations))
    .sort(([, { position: before = 0 }], [, { position: after = 0 }]) => before - after)
    .map(([id, { position: _, ...allocation }]) => [id, allocation]);
  return {
    ok: {
      ...one,
      generation: Math.max(...views.map(({ generation }) => generation)),
      changedAt: Math.max(...views.map(({ changedAt }) => changedAt)),
      allocations: Object.fromEntries(allocations),
    },
  };
}

/** The usages of all shards as one. */
export async function showUsages(shards: Shards, asked: { project: string; user?: string }): Promise<Outcome<Usages>> {
  const sum: Record<string, { consumers: number; resources: Record<string, number> }> = {};
  const counted = new Set<string>();
  for (const usages of contents(await shards.whole<Usages>({ type: 'usages', ...asked }))) {
    for (const [type, { consumers, resources, several = [] }] of Object.entries(usages)) {
      sum[type] ??= { consumers: 0, resources: {} };
      const known = several.filter((id) => counted.has(id));
      for (const id of several) counted.add(id);
      sum[type].consumers += consumers - known.length;
      addAmounts(sum[type].resources, resources);
    }
  }
  return { ok: sum };
}
