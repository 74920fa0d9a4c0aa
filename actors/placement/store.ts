// What a placement shard owns, as its snapshots have it.

import { inSteps, type Snapshot, snapshotOf } from '../snapshot.ts';
import { learnNames } from './catalog.ts';
import type { Consumer } from './consumers.ts';
import type { Fence } from './fences.ts';
import { restoreGroupHomes, type StoredGroupHomes, storeGroupHomes } from './group-homes.ts';
import { locate } from './groups.ts';
import { restoreHolds } from './hold-apply.ts';
import { restoreChanges, type StoredHolds, type StoredLately, storeHolds } from './holds.ts';
import { install } from './indexes.ts';
import { makeProvider, type Provider, restoreUntold, type StoredProvider } from './providers.ts';
import { emptyPlacement, type PlacementState } from './state.ts';
import { take } from './taking.ts';
import { restoreTransactions, type StoredTransactions, storeTransactions } from './transactions.ts';

export interface StoredPlacement {
  providers: StoredProvider[];
  catalog: { classes: string[]; traits: string[] };
  trees: [string, readonly string[]][];
  holding: [string, Consumer][];
  deleted: [string, number][];
  // What there are none of is absent: a single shard knows no fences, holds or transactions.
  fences?: [string, Fence][];
  holds?: StoredHolds;
  homes?: [string, readonly number[]][];
  lately?: StoredLately;
  changedBy?: [string, string][];
  transactions?: StoredTransactions;
  groupHomes?: StoredGroupHomes;
  gone?: number;
  elsewhere?: readonly number[];
}

export function storePlacement(state: PlacementState): Snapshot {
  const { providers, trees, consumers, catalog, fences, holds, homes, transactions, groupHomes, gone, elsewhere } =
    state;
  return snapshotOf(
    {
      catalog: { classes: [...catalog.classes], traits: [...catalog.traits] },
      ...(holds.open.size + holds.ended.size === 0 ? {} : { holds: storeHolds(holds) }),
      ...(transactions.count === 0 ? {} : { transactions: storeTransactions(transactions) }),
      ...(groupHomes.count === 0 ? {} : { groupHomes: storeGroupHomes(groupHomes) }),
      ...(gone.generation < 0 ? {} : { gone: gone.generation }),
      ...(elsewhere.size === 0 ? {} : { elsewhere: [...elsewhere] }),
    },
    {
      providers: providers.capture(),
      trees: trees.capture(),
      holding: consumers.holding.capture(),
      deleted: consumers.deleted.capture(),
      ...(fences.size === 0 ? {} : { fences: fences.capture() }),
      ...(homes.size === 0 ? {} : { homes: homes.capture() }),
      ...(holds.lately.size === 0 ? {} : { lately: holds.lately.capture() }),
      ...(holds.changedBy.size === 0 ? {} : { changedBy: holds.changedBy.capture() }),
    },
  );
}

export function* restorePlacement(stored: StoredPlacement): Generator<void, PlacementState> {
  const { providers, trees, holding, deleted } = stored;
  const state = emptyPlacement();
  for (const name of stored.catalog.classes) state.catalog.classes.add(name);
  for (const name of stored.catalog.traits) state.catalog.traits.add(name);
  yield* inSteps(providers, ({ spec, told = spec, wasTold = false, root, untold }) => {
    const provider = makeProvider(spec, root, undefined, told);
    provider.wasHost = wasTold;
    restoreUntold(provider, untold);
    install(state, provider);
    learnNames(state.catalog, spec);
  });
  yield* inSteps(trees, ([root, ids]) => void state.trees.set(root, ids));
  yield* inSteps(holding, ([id, consumer]) => {
    if (state.consumers.holding.has(id)) return;
    state.consumers.holding.set(id, { ...consumer, held: [] });
    const restored = state.consumers.holding.get(id) as Consumer;
    for (const one of consumer.held) take(state, id, restored, one);
    locate(state, id);
  });
  yield* state.consumers.deleted.restoring(deleted);
  if (stored.holds !== undefined) restoreHolds(state, stored.holds);
  restoreChanges(state.holds, stored);
  if (stored.transactions !== undefined) restoreTransactions(state.transactions, stored.transactions);
  if (stored.groupHomes !== undefined) restoreGroupHomes(state.groupHomes, stored.groupHomes);
  for (const [id, homes] of stored.homes ?? []) state.homes.set(id, homes);
  yield* inSteps(stored.fences ?? [], ([id, fence]) => void state.fences.set(id, fence));
  yield* inSteps(providers, ({ spec, generation, quiet, changedAt }) => {
    Object.assign(state.providers.get(spec.id) as Provider, { generation, quiet, changedAt });
  });
  state.gone.generation = stored.gone ?? -1;
  for (const lot of stored.elsewhere ?? []) state.elsewhere.add(lot);
  return state;
}
