// What callers of the Placement API may ask to see. The answers name things as they are kept; a front words them for
// the version that its caller speaks.

import { addAmounts } from '../../amounts.ts';
import type { InstanceGroup } from '../../messages/common.ts';
import { OF_NO_BUILD } from '../../messages/placement.ts';
import type { ApiInventories, ApiMessage, ApiOutcome, MovingProvider } from '../../messages/placement-api.ts';
import { STANDARD_RESOURCE_CLASSES } from '../../messages/resource-classes.ts';
import { type Consumer, heldBy, ownerOf, UNKNOWN_OWNER } from '../consumers.ts';
import { holdersOf } from '../holders.ts';
import { hasRoom } from '../inventory.ts';
import { CLASSES, TRAITS, usageTopic } from '../lock-keys.ts';
import { type Provider, revisionOf } from '../providers.ts';
import { STANDARD_TRAITS } from '../standard-traits.ts';
import type { PlacementState } from '../state.ts';
import type { Tallies, Tally } from '../tallies.ts';
import { subtreeOf } from '../trees.ts';
import { noProvider } from './refusals.ts';

export interface ProviderSummary {
  readonly id: string;
  readonly name: string;
  readonly parent: string | null;
  readonly root: string;
  readonly generation: number;
  /** ms since the epoch; 0: not known. */
  readonly changedAt: number;
}

export interface ProviderView extends ProviderSummary {
  readonly inventories: ApiInventories;
  readonly used: Readonly<Record<string, number>>;
  readonly traits: readonly string[];
  readonly aggregates: readonly string[];
}

export interface ConsumerView {
  readonly consumer: string;
  readonly project: string;
  readonly user: string;
  readonly consumerType: string | null;
  readonly generation: number;
  readonly changedAt: number;
  /** By provider: its generation, and amounts by class. */
  readonly allocations: Readonly<Record<string, AllocationView>>;
  /** When it is asked for. */
  readonly standing?: Standing;
}

interface AllocationView {
  readonly generation: number;
  readonly resources: Record<string, number>;
  /** Where it stands among those with all shards. */
  readonly position?: number;
}

/** What a change of a consumer over several shards must know of it in each. */
interface Standing {
  /** Whether it holds anything here, be it nothing of a provider for traits alone. */
  readonly holds: boolean;
  readonly deleted: boolean;
  /** With which other shards it holds something, as far as this one knows. */
  readonly homes: readonly number[];
  /** Of an instance: the attempt that was decided last here. */
  readonly latest?: number;
  /** The instance group that it is a member of. */
  readonly group?: InstanceGroup;
}

export interface ProviderAllocations {
  readonly generation: number;
  readonly allocations: Readonly<
    Record<string, { generation: number; changedAt: number; resources: Record<string, number> }>
  >;
}

/** By consumer type, '' for those without one: amounts by class, and how many consumers. */
export type Usages = Readonly<Record<string, UsageOfType>>;

export interface UsageOfType {
  consumers: number;
  resources: Record<string, number>;
  /** Those of the consumers that hold something with other shards too. */
  several?: string[];
}

export function providerSummary(provider: Provider): ProviderSummary {
  const { spec, root, changedAt } = provider;
  const { id, name, parent } = spec;
  return { id, name, parent, root, generation: revisionOf(provider), changedAt };
}

export function providerView(provider: Provider): ProviderView {
  const { spec, stocks } = provider;
  const used: Record<string, number> = {};
  for (const [resourceClass, stock] of stocks) used[resourceClass] = stock.used;
  const { inventories, traits, aggregates } = spec;
  return { ...providerSummary(provider), inventories, used, traits, aggregates };
}

export function showProvider({ providers }: PlacementState, { id }: ApiMessage<'provider-show'>): ApiOutcome {
  const provider = providers.get(id);
  return provider === undefined ? noProvider(id) : { ok: providerView(provider) };
}

export function showSubtree(state: PlacementState, { id }: ApiMessage<'subtree-show'>): ApiOutcome {
  if (!state.providers.has(id)) return noProvider(id);
  const subtree = subtreeOf(state, id).map((one): MovingProvider => {
    const { spec, generation, quiet, changedAt } = state.providers.get(one) as Provider;
    const { name, parent, inventories, traits, aggregates } = spec;
    return { id: one, name, parent, inventories, traits, aggregates, generation, quiet, changedAt };
  });
  return { ok: subtree };
}

/** Whether a provider could give the amount now. */
export function canGive({ stocks, spec }: Provider, resourceClass: string, amount: number): boolean {
  const stock = stocks.get(resourceClass);
  return stock !== undefined && resourceClass in spec.inventories && hasRoom(stock, amount);
}

export function showConsumer(state: PlacementState, asked: ApiMessage<'consumer-show'>): ApiOutcome {
  const { consumer: id } = asked;
  const consumer = state.consumers.holding.get(id);
  const allocations = new Map<string, AllocationView>();
  for (const { provider: providerId, resources, ...held } of heldBy(consumer)) {
    const provider = state.providers.get(providerId);
    // What serves a group that asks for traits alone gives nothing.
    if (provider === undefined || Object.keys(resources).length === 0) continue;
    const known = allocations.get(providerId) ?? { generation: revisionOf(provider), resources: {}, ...placeOf(held) };
    allocations.set(providerId, known);
    addAmounts(known.resources, resources);
  }
  const { project, user, consumerType } = ownerOf(consumer);
  const generation = consumer?.generation ?? 0;
  const changedAt = consumer?.changedAt ?? 0;
  const view: ConsumerView = {
    consumer: id,
    project,
    user,
    consumerType,
    generation,
    changedAt,
    allocations: Object.fromEntries(allocations),
    ...(asked.standing === true ? { standing: standingOf(state, id) } : {}),
  };
  return seenAs(state.holds.changedBy.get(id), view);
}

function placeOf(held: object): { position?: number } {
  const { position } = held as { position?: number };
  return position === undefined ? {} : { position };
}

function standingOf({ consumers, homes }: PlacementState, id: string): Standing {
  const { held = [], latest = OF_NO_BUILD, group } = consumers.holding.get(id) ?? {};
  return {
    holds: held.length > 0,
    deleted: consumers.deleted.has(id),
    homes: homes.get(id) ?? [],
    ...(latest === OF_NO_BUILD ? {} : { latest }),
    ...(group === undefined ? {} : { group }),
  };
}

/** An answer that names the last change over several shards that it shows. */
export function seenAs(transaction: string | undefined, ok: unknown): ApiOutcome {
  return transaction === undefined ? { ok } : { ok, seen: transaction };
}

export function showProviderAllocations(state: PlacementState, { id }: ApiMessage<'provider-allocations'>): ApiOutcome {
  const provider = state.providers.get(id);
  if (provider === undefined) return noProvider(id);
  const allocations = new Map<string, { generation: number; changedAt: number; resources: Record<string, number> }>();
  for (const consumerId of holdersOf(provider)) {
    const consumer = state.consumers.holding.get(consumerId) as Consumer;
    for (const { provider: one, resources } of heldBy(consumer)) {
      if (one !== id || Object.keys(resources).length === 0) continue;
      const { generation, changedAt = 0 } = consumer;
      const known = allocations.get(consumerId) ?? { generation, changedAt, resources: {} };
      allocations.set(consumerId, known);
      addAmounts(known.resources, resources);
    }
  }
  const view: ProviderAllocations = {
    generation: revisionOf(provider),
    allocations: Object.fromEntries(allocations),
  };
  return { ok: view };
}

export function showUsages({ consumers, holds }: PlacementState, asked: ApiMessage<'usages'>): ApiOutcome {
  const usages: Record<string, UsageOfType> = {};
  for (const [consumerType, tally] of talliesOf(consumers.tallies, asked)) {
    const key = consumerType ?? '';
    usages[key] ??= { consumers: 0, resources: {} };
    usages[key].consumers += tally.consumers;
    addAmounts(usages[key].resources, Object.fromEntries(tally.resources));
    if (tally.several.size > 0) usages[key].several = [...(usages[key].several ?? []), ...tally.several];
  }
  return seenAs(holds.seen.get(usageTopic(asked.project))?.transaction, usages satisfies Usages);
}

type TallyOfType = readonly [consumerType: string | null, Tally];

/** What is counted of a project, or of a user of it. */
function* talliesOf({ owned, unowned }: Tallies, { project, user }: ApiMessage<'usages'>): Iterable<TallyOfType> {
  const ofProject = owned.get(project);
  if (user !== undefined) yield* ofProject?.get(user) ?? [];
  else for (const types of ofProject?.values() ?? []) yield* types;
  const isMeant = project === UNKNOWN_OWNER && (user ?? UNKNOWN_OWNER) === UNKNOWN_OWNER;
  if (isMeant && unowned.consumers > 0) yield [null, unowned];
}

export function listClasses({ catalog, holds }: PlacementState): ApiOutcome {
  return seenAs(holds.seen.get(CLASSES)?.transaction, [...STANDARD_RESOURCE_CLASSES, ...catalog.classes]);
}

export interface Traits {
  readonly traits: readonly string[];
  /** Those that some provider has. */
  readonly associated: readonly string[];
}

export function listTraits({ catalog, indexes, holds }: PlacementState): ApiOutcome {
  const told: Traits = { traits: [...STANDARD_TRAITS, ...catalog.traits], associated: [...indexes.traits.keys()] };
  return seenAs(holds.seen.get(TRAITS)?.transaction, told);
}
