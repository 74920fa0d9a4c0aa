// What callers of the Placement API changed, as records, and how each changes the state: the same live and on replay.
// Whether a change may be made was decided before.

import type { Allocation } from '../../../machines/instance-build.ts';
import { OF_NO_BUILD } from '../../messages/placement.ts';
import type { ApiInventories } from '../../messages/placement-api.ts';
import { present } from '../../present.ts';
import { type Consumer, type Identity, identityOf } from '../consumers.ts';
import { countAnew, locateHolders, noteHolders } from '../counting-anew.ts';
import { locate, shares } from '../groups.ts';
import { install } from '../indexes.ts';
import { adjustUse, makeProvider, type Provider } from '../providers.ts';
import type { ApiRecord, ConsumerRecord } from '../records.ts';
import type { PlacementState } from '../state.ts';
import { noteHolder } from '../taking.ts';
import { tally } from '../tallies.ts';
import { countTenant } from '../tenants.ts';
import { grow } from '../tree-apply.ts';
import { graft, moveSubtree, plant, subtreeOf, treeOf, uproot } from '../trees.ts';
import { renameClass } from './rename-class.ts';

export function applyApiRecord(state: PlacementState, record: ApiRecord): void {
  const { catalog } = state;
  switch (record.type) {
    case 'provider-created':
      return plant(state, record);
    case 'provider-updated':
      return applyUpdate(state, record);
    case 'provider-deleted':
      return uproot(state, [record.id]);
    case 'subtree-left':
      return uproot(state, record.ids);
    case 'subtree-joined':
      return graft(state, record);
    case 'tree-grown':
      return grow(state, record);
    case 'inventories':
      return respecify(state, record.id, { inventories: record.inventories }, record.at, true);
    case 'traits':
      return respecify(state, record.id, { traits: [...record.traits] }, record.at, true);
    case 'aggregates':
      return respecify(state, record.id, { aggregates: [...record.aggregates] }, record.at, record.counted);
    case 'class-made':
      catalog.classes.add(record.name);
      return;
    case 'class-renamed':
      return renameClass(state, record.name, record.to);
    case 'class-removed':
      catalog.classes.delete(record.name);
      return;
    case 'trait-made':
      catalog.traits.add(record.name);
      return;
    case 'trait-removed':
      catalog.traits.delete(record.name);
      return;
    case 'allocated':
      return replaceAllocations(state, record.consumers, record.counted, record.at);
    case 'reshaped': {
      const named = record.inventories.filter(({ provider }) => state.providers.has(provider));
      // The reference counts the inventories before and after the move of what is held; so do we.
      for (const { provider, inventories } of named) {
        if (Object.keys(inventories).length === 0) continue;
        state.providers.touch(provider);
        (state.providers.get(provider) as Provider).generation += 1;
      }
      // What moves in needs its inventory there, what moves out needs its own still there.
      for (const { provider, inventories } of named) widen(state, provider, inventories);
      replaceAllocations(state, record.consumers, true, record.at);
      for (const { provider, inventories } of named) respecify(state, provider, { inventories }, record.at, true);
    }
  }
}

type Change = Partial<Pick<Provider['spec'], 'inventories' | 'traits' | 'aggregates' | 'name'>>;

/** Gives a provider other properties. */
function respecify(state: PlacementState, id: string, change: Change, at: number, counted: boolean): void {
  const before = state.providers.get(id);
  if (before === undefined) return;
  const after = makeProvider({ ...before.spec, ...change }, before.root, before);
  after.changedAt = at;
  if (!counted) after.quiet += 1;
  install(state, after);
  state.untold.changed.add(id);
  if (shares(after) !== shares(before)) locateHolders(state, treeOf(state, id));
}

/** Adds inventories to those of a provider, without counting it as a change. */
function widen(state: PlacementState, id: string, inventories: ApiInventories): void {
  const before = state.providers.get(id) as Provider;
  const wide = makeProvider(
    { ...before.spec, inventories: { ...before.spec.inventories, ...inventories } },
    before.root,
    before,
  );
  wide.generation = before.generation;
  install(state, wide);
}

function applyUpdate(
  state: PlacementState,
  { id, name, parent, at, keepsOthers }: Extract<ApiRecord, { type: 'provider-updated' }>,
): void {
  const provider = state.providers.get(id);
  if (provider === undefined) return;
  respecify(state, id, { name }, at, false);
  if (provider.spec.parent === parent) return;
  const { root } = provider;
  moveSubtree(state, id, parent, keepsOthers === true);
  const now = state.providers.get(id)?.root;
  if (now === undefined || now === root) return;
  const holders = new Set<string>();
  for (const one of subtreeOf(state, id)) noteHolders(state.providers.get(one) as Provider, holders);
  // Whoever holds something of it is on another host now, or on one of its own.
  countAnew(state, holders, [...treeOf(state, root), ...treeOf(state, now)]);
}

export function replaceAllocations(
  state: PlacementState,
  changes: readonly ConsumerRecord[],
  counted: boolean,
  at: number,
): void {
  const { consumers, providers, untold } = state;
  const touched = new Set<string>();
  const named = new Set<string>();
  const use = (consumer: string, allocations: readonly Allocation[], sign: 1 | -1, naming: boolean) => {
    for (const { provider: id, resources } of allocations) {
      const provider = noteHolder(state, consumer, id, sign);
      if (provider === undefined) continue;
      adjustUse(provider, resources, sign);
      touched.add(id);
      if (naming) named.add(id);
    }
  };
  for (const change of changes) {
    const { consumer: id, allocations, owner, homes, generation: given, several } = change;
    consumers.holding.touch(id);
    const consumer = consumers.holding.get(id);
    if (homes !== undefined) {
      if (homes.length === 0) state.homes.delete(id);
      else state.homes.set(id, homes);
    }
    const ends = allocations.length === 0;
    for (const held of consumer?.held ?? []) {
      use(id, held.allocations, -1, ends);
      countTenant(held, -1, providers, untold.used);
    }
    if (consumer !== undefined) tally(consumers.tallies, id, consumer, -1);
    use(id, allocations, 1, true);
    if (ends) {
      if (consumer === undefined || !isMark(consumer)) consumers.holding.delete(id);
      continue;
    }
    const identity = identityOf(consumer, change);
    const all = { attempt: identity.latest, allocations, ...(several === true ? { several } : {}) };
    countTenant(all, 1, providers, untold.used);
    const held = [all];
    const generation = given ?? (consumer?.generation ?? 0) + 1;
    if (consumer === undefined) {
      const { latest, group } = identity;
      const fresh: Consumer = { latest, held, refusal: null, generation, changedAt: at, owner, ...present({ group }) };
      if (several === true) fresh.several = true;
      consumers.holding.set(id, fresh);
    } else {
      if (consumer.held.length === 0) settle(consumer, identity);
      Object.assign(consumer, { held, generation, changedAt: at, owner });
      if (several === true) consumer.several = true;
      else if (consumer.several === true) delete consumer.several;
    }
    tally(consumers.tallies, id, consumers.holding.get(id) as Consumer, 1);
  }
  for (const id of touched) {
    const provider = providers.get(id) as Provider;
    providers.touch(id);
    provider.generation += 1;
    if (!counted || !named.has(id)) provider.quiet += 1;
    else provider.changedAt = at;
    untold.used.add(id);
  }
  // A group that ends by the change may begin anew by it, with another rule.
  for (const { consumer, allocations } of changes) if (allocations.length === 0) locate(state, consumer);
  for (const { consumer, allocations } of changes) if (allocations.length > 0) locate(state, consumer);
}

/** Whether it says of an instance that holds nothing here which of its attempts are over: a claim that is late comes to nothing. */
function isMark({ held, latest, away }: Consumer): boolean {
  return held.length === 0 && (latest !== OF_NO_BUILD || away === true);
}

/** A consumer that held nothing here is here again. */
function settle(consumer: Consumer, identity: Identity): void {
  if (identity.latest > consumer.latest) consumer.refusal = null;
  delete consumer.away;
  Object.assign(consumer, identity);
}
