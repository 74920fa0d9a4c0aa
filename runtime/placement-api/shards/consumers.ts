// Changes of what consumers hold, over as many shards as it takes. What a caller asks is checked here once, by how the
// consumers stand over all shards; each shard then decides its part only if they still stand so with it, and otherwise it
// is looked again. So a caller who sent no generation is never in conflict with anybody.

import type { ApiMessage, ApiRefusal, ConsumerChange } from '../../../actors/messages/placement-api.ts';
import type { Part } from '../../../actors/messages/transactions.ts';
import type { ProviderView } from '../../../actors/placement/api/reads.ts';
import { noProvider, refused } from '../../../actors/placement/api/refusals.ts';
import type { Outcome, Shards } from './asking.ts';
import { explain } from './explaining.ts';
import type { Places } from './locating.ts';
import { knowingly, type Names } from './names.ts';
import { planOf, type Wanted } from './planning.ts';
import { standingOf } from './standing.ts';

type Refused = { readonly refused: ApiRefusal };
type Reshape = Omit<ApiMessage<'reshape'>, 'ask'>;

export interface Consumers {
  put(changes: readonly ConsumerChange[]): Promise<Outcome<null>>;
  remove(consumer: string): Promise<Outcome<null>>;
  reshape(asked: Reshape): Promise<Outcome<null>>;
}

/** What a shard answers when a consumer or provider is not there as it was a moment ago. */
const LOOK_AGAIN: ReadonlySet<string> = new Set(['consumer-generation', 'consumer-moved', 'no-provider']);

export function consumersOf(shards: Shards, places: Places, names: Names): Consumers {
  async function wantedOf(changes: readonly ConsumerChange[]): Promise<Wanted[]> {
    return Promise.all(
      changes.map(async (change) => ({ change, standing: await standingOf(shards, change.consumer) })),
    );
  }

  /** What is refused whatever the amounts are, in the order in which one shard would look; or where the providers are. */
  async function whereOf(wanted: readonly Wanted[]): Promise<Refused | Map<string, number>> {
    for (const { change, standing } of wanted) {
      const { consumer, generation } = change;
      if (standing.deleted) return refused('consumer-deleted', `consumer '${consumer}' is deleted`, { consumer });
      const expected = standing.holders.size > 0 ? standing.generation : null;
      if (generation === undefined || generation === expected) continue;
      const message = `consumer '${consumer}' is at generation ${expected}, not ${generation}`;
      return refused('consumer-generation', message, { consumer, expected, given: generation });
    }
    return placed(wanted.flatMap(({ change: { allocations } }) => allocations.map(({ provider }) => provider)));
  }

  async function placed(providers: readonly string[]): Promise<Refused | Map<string, number>> {
    const named = [...new Set(providers)];
    const find = () => Promise.all(named.map((id) => places.find(id)));
    let found = await find();
    if (found.includes(null)) {
      // Others, of which is known where they were, may be gone as well; the first one that is gone is told.
      for (const id of named) places.forget(id);
      found = await find();
    }
    const missing = named.find((_, position) => found[position] === null);
    if (missing !== undefined) return noProvider(missing);
    return new Map(named.map((id, position) => [id, found[position] as number]));
  }

  /** Makes a change as it is asked for each time; looks again while what it stands on has moved. */
  async function untilDecided(
    attempt: () => Promise<Outcome<null> | { again: ApiRefusal }>,
    what: string,
  ): Promise<Outcome<null>> {
    return knowingly<null>(names, async () => {
      for (const deadline = shards.deadline(); ; shards.checkTime(deadline, `what comes of ${what}`)) {
        const outcome = await attempt();
        if (!('again' in outcome)) return outcome;
        if (outcome.again.provider !== undefined) places.forget(outcome.again.provider);
      }
    });
  }

  async function make(
    parts: readonly Part[],
    changes: readonly ConsumerChange[],
    alone: (part: Part) => Promise<Outcome<null>>,
  ): Promise<Outcome<null> | { again: ApiRefusal }> {
    const [only] = parts;
    const outcome = parts.length === 1 ? await alone(only as Part) : await shards.together(parts);
    if (outcome.refused === undefined) return { ok: null };
    const isAlone = parts.length === 1 || LOOK_AGAIN.has(outcome.refused.code);
    const refusal = isAlone ? outcome.refused : await explain(shards, parts, changes, outcome.refused);
    return LOOK_AGAIN.has(refusal.code) ? { again: refusal } : { refused: refusal };
  }

  const idsOf = (changes: readonly ConsumerChange[]) => changes.map(({ consumer }) => `'${consumer}'`).join(', ');

  return {
    put(changes) {
      if (changes.length === 0) return Promise.resolve({ ok: null });
      return untilDecided(async () => {
        const wanted = await wantedOf(changes);
        const where = await whereOf(wanted);
        if ('refused' in where) return where;
        const parts = planOf({ wanted, shardOf: (id) => where.get(id) as number });
        return make(parts, changes, ({ shard, consumers }) =>
          shards.ask({ type: 'allocations-put', consumers }, shard),
        );
      }, idsOf(changes));
    },
    remove(consumer) {
      const change: ConsumerChange = { consumer, allocations: [], project: null, user: null };
      return untilDecided(async () => {
        const standing = await standingOf(shards, consumer);
        const { holders, registered, deleted } = standing;
        if (holders.size === 0) return refused('no-allocations', `consumer '${consumer}' holds nothing`, { consumer });
        if (deleted) {
          // What is kept of a deleted instance nobody changes, but it may be given up.
          const give = (shard: number) => shards.ask<null>({ type: 'allocations-delete', consumer }, shard);
          await Promise.all([...holders.keys()].map(give));
          return { ok: null };
        }
        const plain = (shard: number) => {
          const generation = holders.get(shard)?.generation ?? 0;
          return shards.ask<null>({ type: 'allocations-delete', consumer, generation }, shard);
        };
        const parts = planOf({ wanted: [{ change, standing }], counted: false, shardOf: () => standing.home });
        const outcome = await make(parts, [change], ({ shard }) =>
          registered.length === 0 ? plain(shard) : shards.together(parts),
        );
        const isGone = 'refused' in outcome && outcome.refused?.code === 'no-allocations';
        return isGone ? { again: outcome.refused } : outcome;
      }, `'${consumer}'`);
    },
    reshape(asked) {
      const { inventories, consumers } = asked;
      return untilDecided(
        async () => {
          const early = await refusalOfInventories(asked);
          if (early !== null) return early;
          const wanted = await wantedOf(consumers);
          const where = await whereOf(wanted);
          if ('refused' in where) return where;
          const reshaped = await placed(inventories.map(({ provider }) => provider));
          if ('refused' in reshaped) return reshaped;
          const shardOf = (id: string) => (where.get(id) ?? reshaped.get(id)) as number;
          const parts = planOf({ wanted, inventories, shardOf });
          if (parts.length === 0) return { ok: null };
          const outcome = await make(parts, consumers, ({ shard, inventories: given = [], consumers: changes }) =>
            shards.ask({ type: 'reshape', inventories: given, consumers: changes }, shard),
          );
          const isStale = 'refused' in outcome && outcome.refused?.code === 'provider-generation';
          return isStale ? { again: outcome.refused } : outcome;
        },
        inventories.map(({ provider }) => `'${provider}'`).join(', '),
      );
    },
  };

  /** The first provider that is not there, or is not as it was when the caller looked. */
  async function refusalOfInventories({ inventories }: Reshape): Promise<Refused | null> {
    const views = await Promise.all(
      inventories.map(({ provider: id }) => places.askAt<ProviderView>(id, { type: 'provider-show', id })),
    );
    for (const [position, { ok, refused: missing }] of views.entries()) {
      const { provider: id, generation } = inventories[position] as Reshape['inventories'][0];
      if (missing !== undefined) return { refused: missing };
      if (ok.generation === generation) continue;
      const message = `provider '${id}' is at generation ${ok.generation}, not ${generation}`;
      return refused('provider-generation', message, { provider: id, expected: ok.generation, given: generation });
    }
    return null;
  }
}
