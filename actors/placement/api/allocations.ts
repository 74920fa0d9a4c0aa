// Decides changes of what consumers hold, for callers of the Placement API: one or several consumers at once, all or
// nothing. What the named consumers hold now is free for what they shall hold. An amount fits when the inventory has
// it, or when the change leaves no more used than was before: so a provider over its capacity can be drained.

import type { Allocation } from '../../../machines/instance-build.ts';
import { type Amounts, addAmount, addAmounts, type Sums, sumsOf } from '../../amounts.ts';
import type { ApiMessage, ApiRefusal, ConsumerChange, GivenAllocation } from '../../messages/placement-api.ts';
import { present } from '../../present.ts';
import { type Consumer, heldBy, ownerOf, UNKNOWN_OWNER } from '../consumers.ts';
import { capacityOf, unitAllowed, verb } from '../inventory.ts';
import type { Provider } from '../providers.ts';
import type { ConsumerRecord } from '../records.ts';
import type { PlacementState } from '../state.ts';
import { staleness, unknownClass } from './checks.ts';
import { type Decision, decline, done } from './decision.ts';
import { refusalOfMoves, refusalOfStrangers } from './groups.ts';
import { noProvider, type Refused, refused } from './refusals.ts';

/** The inventories of a provider as they are to be while the change is made. */
type InventoriesOf = (provider: Provider) => Provider['spec']['inventories'];

export function putAllocations(state: PlacementState, asked: ApiMessage<'allocations-put'>, at: number): Decision {
  const decided = decideConsumers(state, asked.consumers, ({ spec }) => spec.inventories);
  if ('refused' in decided) return decline(decided);
  const isNothing = ({ consumer, allocations }: ConsumerRecord) =>
    allocations.length === 0 && !holds(state, consumer) && !state.homes.has(consumer);
  return done(decided.every(isNothing) ? null : { type: 'allocated', consumers: decided, counted: true, at });
}

export function deleteAllocations(
  state: PlacementState,
  asked: ApiMessage<'allocations-delete'>,
  at: number,
): Decision {
  const { consumer: id, generation } = asked;
  if (!holds(state, id)) {
    return decline(refused('no-allocations', `consumer '${id}' holds nothing`, { consumer: id }));
  }
  const expected = state.consumers.holding.get(id)?.generation ?? null;
  if (generation !== undefined && generation !== expected) return decline(otherGeneration(id, expected, generation));
  const consumers = [{ consumer: id, allocations: [], owner: ownerOf(state.consumers.holding.get(id)) }];
  return done({ type: 'allocated', consumers, counted: false, at });
}

/** `about`: the classes that the whole change is about, when more of it is decided elsewhere. */
export function reshape(
  state: PlacementState,
  asked: Pick<ApiMessage<'reshape'>, 'inventories' | 'consumers'>,
  at: number,
  about?: readonly string[],
): Decision {
  const given = new Map<string, Provider['spec']['inventories']>();
  for (const { provider: id, generation, inventories } of asked.inventories) {
    const provider = state.providers.get(id);
    if (provider === undefined) return decline(noProvider(id));
    const stale = staleness(provider, generation);
    if (stale !== null) return decline(stale);
    given.set(id, inventories);
  }
  const widened: InventoriesOf = ({ spec }) => ({ ...spec.inventories, ...given.get(spec.id) });
  const early = refusalOfConsumers(state, asked.consumers);
  if (early !== null) return decline(early);
  const classes = asked.inventories.flatMap(({ inventories }) => Object.keys(inventories));
  const fault = unknownClass(state, classes);
  if (fault !== null) return decline(fault);
  const decided = decideConsumers(state, asked.consumers, widened, about);
  if ('refused' in decided) return decline(decided);
  const busy = leftBehind(state, asked, decided);
  if (busy !== null) return decline(busy);
  const inventories = asked.inventories.map(({ provider, inventories: ofProvider }) => ({
    provider,
    inventories: ofProvider,
  }));
  return done({ type: 'reshaped', inventories, consumers: decided, at });
}

/** An inventory that would go though something of it would still be held. */
function leftBehind(
  state: PlacementState,
  asked: Pick<ApiMessage<'reshape'>, 'inventories'>,
  decided: readonly ConsumerRecord[],
): Refused | null {
  const freed = sumsOf(decided.flatMap(({ consumer }) => heldBy(state.consumers.holding.get(consumer))));
  const taken = sumsOf(decided.flatMap(({ allocations }) => allocations));
  for (const { provider: id, inventories } of asked.inventories) {
    const provider = state.providers.get(id) as Provider;
    const busy: string[] = [];
    for (const name of new Set([...provider.stocks.keys(), ...(taken.get(id)?.keys() ?? [])])) {
      if (name in inventories) continue;
      const used = provider.stocks.get(name)?.used ?? 0;
      if (used - amountIn(freed, id, name) + amountIn(taken, id, name) > 0) busy.push(name);
    }
    if (busy.length > 0) {
      const message = `something of ${busy.join(', ')} would still be held on provider '${id}'`;
      return refused('inventory-in-use', message, { provider: id, resourceClass: busy.join(', ') });
    }
  }
  return null;
}

/** What the consumers shall hold, or why not, as things stand. */
export function decideConsumers(
  state: PlacementState,
  changes: readonly ConsumerChange[],
  inventoriesOf: InventoriesOf,
  about?: readonly string[],
): Refused | ConsumerRecord[] {
  const early = refusalOfConsumers(state, changes);
  if (early !== null) return early;
  const records = changes.map((change): ConsumerRecord => {
    const { consumer, project, user, consumerType } = change;
    const before = ownerOf(state.consumers.holding.get(consumer));
    const owner = {
      project: project ?? UNKNOWN_OWNER,
      user: user ?? UNKNOWN_OWNER,
      consumerType: consumerType ?? before.consumerType,
    };
    const record = { consumer, allocations: oncePerProvider(change.allocations).map(allocationOf), owner };
    const { becomes, latest, group } = change;
    const isPlain = becomes === undefined && latest === undefined && group === undefined;
    return isPlain ? record : { ...record, ...overShards(change) };
  });
  return (
    refusalOfAmounts(state, records, inventoriesOf, about) ??
    refusalOfMoves(state, records) ??
    refusalOfStrangers(state, changes) ??
    records
  );
}

/** Of a provider that is named twice the amounts are added up. */
function oncePerProvider(given: readonly GivenAllocation[]): readonly GivenAllocation[] {
  if (given.length === 1) return given;
  const byProvider = new Map<string, GivenAllocation>();
  for (const one of given) {
    const before = byProvider.get(one.provider);
    const resources = before === undefined ? one.resources : added(before.resources, one.resources);
    byProvider.set(one.provider, { ...(before ?? one), resources });
  }
  return byProvider.size === given.length ? given : [...byProvider.values()];
}

function added(one: Amounts, other: Amounts): Amounts {
  const sum = { ...one };
  addAmounts(sum, other);
  return sum;
}

function allocationOf({ provider, resources, position }: GivenAllocation): Allocation & { position?: number } {
  if (position === undefined) return { provider, group: '', resources };
  return { provider, group: '', resources, position };
}

/** What is said of a consumer that may hold something with several shards. */
function overShards({ becomes, several, homes, latest, group }: ConsumerChange): Partial<ConsumerRecord> {
  return present({ latest, group, generation: becomes, several: several || undefined, homes: homes?.become });
}

/** What can be refused without looking at amounts, in the order in which the reference looks. */
function refusalOfConsumers(state: PlacementState, changes: readonly ConsumerChange[]): Refused | null {
  for (const { consumer: id, generation, homes } of changes) {
    if (state.consumers.deleted.has(id)) {
      return refused('consumer-deleted', `consumer '${id}' is deleted`, { consumer: id });
    }
    if (homes !== undefined && homes.expected.join() !== (state.homes.get(id) ?? []).join()) {
      return refused('consumer-moved', `consumer '${id}' has gone to other shards meanwhile`, { consumer: id });
    }
    if (generation === undefined) continue;
    const expected = holds(state, id) ? (state.consumers.holding.get(id) as Consumer).generation : null;
    if (expected !== generation) return otherGeneration(id, expected, generation);
  }
  for (const { allocations } of changes) {
    for (const { provider } of allocations) if (!state.providers.has(provider)) return noProvider(provider);
  }
  return null;
}

function otherGeneration(consumer: string, expected: number | null, given: number | null): Refused {
  const message = `consumer '${consumer}' is at generation ${expected}, not ${given}`;
  return refused('consumer-generation', message, { consumer, expected, given });
}

function refusalOfAmounts(
  state: PlacementState,
  records: readonly ConsumerRecord[],
  inventoriesOf: InventoriesOf,
  about: readonly string[] | undefined,
): Refused | null {
  const wanted = allOf(records.map(({ allocations }) => allocations));
  for (const { resources } of wanted) {
    const fault = unknownClass(state, Object.keys(resources));
    if (fault !== null) return fault;
  }
  const bare = withoutInventory(state, records, wanted, inventoriesOf, about);
  if (bare !== null) return bare;
  const freed = sumsOf(allOf(records.map(({ consumer }) => heldBy(state.consumers.holding.get(consumer)))));
  const asked: Sums = new Map();
  for (const { provider: id, resources } of wanted) {
    const provider = state.providers.get(id) as Provider;
    const inventories = inventoriesOf(provider);
    for (const resourceClass in resources) {
      const amount = resources[resourceClass] as number;
      const refusal = (code: ApiRefusal['code'], message: string, short?: number) =>
        refused(code, message, {
          provider: id,
          resourceClass,
          requested: amount,
          ...(short === undefined ? {} : { short }),
        });
      const inventory = inventories[resourceClass];
      if (inventory === undefined) {
        return refusal('no-inventory', `provider '${id}' has no inventory of ${resourceClass}`);
      }
      const before = amountIn(freed, id, resourceClass);
      // What is asked once need not be added up.
      const together = wanted.length === 1 ? amount : addAmount(asked, id, resourceClass, amount);
      const worsens = together > before;
      // A holding that only changes hands is not measured again by rules that came after it.
      const isHandedOver = () => before > 0 && handed(state, records, id, resourceClass, amount);
      if (!unitAllowed(inventory, amount) && !isHandedOver()) {
        const { min_unit, max_unit, step_size } = inventory;
        const rule = `min_unit ${min_unit}, max_unit ${max_unit}, step_size ${step_size}`;
        return refusal(
          'unit-constraint',
          `${amount} ${resourceClass} ${verb('violate', amount)} the ${rule} of '${id}'`,
        );
      }
      const used = (provider.stocks.get(resourceClass)?.used ?? 0) - before;
      const short = used + together - Math.floor(capacityOf(inventory));
      if (short > 0 && worsens) {
        const message = `${amount} ${resourceClass} ${verb('exceed', amount)} what is free on provider '${id}' by ${short}`;
        return refusal('exceeds-capacity', message, short);
      }
    }
  }
  return null;
}

/**
 * Providers that have an inventory of none of the classes that the change is about: as the reference does, they are
 * told first, and together.
 */
function withoutInventory(
  state: PlacementState,
  records: readonly ConsumerRecord[],
  wanted: readonly Allocation[],
  inventoriesOf: InventoriesOf,
  about: readonly string[] | undefined,
): Refused | null {
  const inventoriesAt = (id: string) => inventoriesOf(state.providers.get(id) as Provider);
  // Nearly always each has one of what is asked of itself.
  const doubtful = wanted.filter(({ provider, resources }) => !hasAnyOf(inventoriesAt(provider), resources));
  if (doubtful.length === 0) return null;
  const named = records.flatMap(({ consumer, allocations }) =>
    allocations.length === 0 ? heldBy(state.consumers.holding.get(consumer)) : allocations,
  );
  const classes = about ?? [...new Set(named.flatMap(({ resources }) => Object.keys(resources)))];
  const bare = doubtful
    .map(({ provider }) => provider)
    .filter((id) => !classes.some((name) => name in inventoriesAt(id)));
  if (bare.length === 0) return null;
  const provider = [...new Set(bare)].join(', ');
  const resourceClass = classes.join(', ');
  return refused('no-inventory', `provider '${provider}' has no inventory of ${resourceClass}`, {
    provider,
    resourceClass,
  });
}

function hasAnyOf(inventories: Readonly<Record<string, object>>, resources: Allocation['resources']): boolean {
  for (const name in resources) if (name in inventories) return true;
  return false;
}

/** Whether one of the consumers holds this very amount now. */
function handed(
  state: PlacementState,
  records: readonly ConsumerRecord[],
  id: string,
  resourceClass: string,
  amount: number,
): boolean {
  return records.some(({ consumer }) =>
    heldBy(state.consumers.holding.get(consumer)).some(
      ({ provider, resources }) => provider === id && resources[resourceClass] === amount,
    ),
  );
}

function holds({ consumers }: PlacementState, id: string): boolean {
  return (consumers.holding.get(id)?.held.length ?? 0) > 0;
}

/** All of several lists, of which there is mostly one. */
function allOf<T>(lists: readonly (readonly T[])[]): readonly T[] {
  return lists.length === 1 ? (lists[0] as readonly T[]) : lists.flat();
}

function amountIn(sums: Sums, provider: string, resourceClass: string): number {
  return sums.get(provider)?.get(resourceClass) ?? 0;
}
