// Resource providers in trees: a host, and in it its GPUs or NUMA nodes. Each counts its changes in a generation.

import type { Allocation } from '../../machines/instance-build.ts';
import type { Inventory, ProviderSpec, ProviderState, ProviderUsage } from '../messages/placement.ts';
import { setOfNames } from '../name-sets.ts';
import { isSame } from '../same.ts';
import { Table } from '../table.ts';
import type { Holders } from './holders.ts';
import { capacityOf, type Stock } from './inventory.ts';

interface MutableStock extends Stock {
  used: number;
}

export interface Provider {
  readonly spec: ProviderSpec;
  /** As its compute told it last, of which callers of the Placement API may have changed some; null: none has told it. */
  told: ProviderSpec | null;
  /** A compute tells it as the root of its tree: a caller has put it into another. */
  wasHost: boolean;
  readonly root: string;
  readonly stocks: ReadonlyMap<string, Stock>;
  readonly traits: ReadonlySet<string>;
  readonly aggregates: ReadonlySet<string>;
  /** Of a root: how many members of each instance group count there; made in groups.ts. */
  groups: ReadonlyMap<string, number>;
  /** The rule of each of these groups. */
  groupRules: ReadonlyMap<string, string>;
  /** Of a root: how many attempts of builds hold something of its tree; made in tenants.ts. */
  tenants: number;
  /** Who holds something of it; made in holders.ts. */
  holders: Holders;
  /** Counts every change, for the feed. */
  generation: number;
  /** How many of them callers of the Placement API are not to notice: see `revisionOf`. */
  quiet: number;
  /** When a caller of the Placement API changed it last, ms since the epoch; 0: never. */
  changedAt: number;
}

/** What of it is counted, for those who count it; everybody else only reads. */
export const countsOf = ({ stocks }: Pick<Provider, 'stocks'>): Map<string, MutableStock> =>
  stocks as Map<string, MutableStock>;

/** Whoever changes one in place says so first, with `touch`. */
export type Providers = Table<Provider>;

export function noProviders(): Providers {
  return new Table(storeProvider);
}

/** The root of the tree that a provider is in. */
export function rootOf(id: string, providers: Providers): Provider | undefined {
  const provider = providers.get(id);
  return provider === undefined || provider.root === id ? provider : providers.get(provider.root);
}

/** The root of the one tree that allocations are of. */
export function rootServing([first]: readonly Allocation[], providers: Providers): Provider | undefined {
  return first === undefined ? undefined : rootOf(first.provider, providers);
}

export interface StoredProvider {
  spec: ProviderSpec;
  /** As its compute told it; null: none has. Absent: as it is. */
  told?: ProviderSpec | null;
  /** Whether it `wasHost`; of snapshots of before, that a compute told it of another tree. Absent: it is not so. */
  wasTold?: true;
  root: string;
  generation: number;
  quiet: number;
  changedAt: number;
  untold: [string, Inventory][];
}

function storeProvider(provider: Provider): StoredProvider {
  const { spec, told, wasHost, root, generation, quiet, changedAt } = provider;
  const row = {
    ...{ spec, root, generation, quiet, changedAt, untold: untoldInventories(provider) },
    ...(wasHost ? { wasTold: true as const } : {}),
  };
  return told === spec || (told !== null && isSame(told, spec)) ? row : { ...row, told };
}

/** Shared by all providers that have no member of any group. */
const NO_GROUPS: ReadonlyMap<string, number> = new Map();
const NO_RULES: ReadonlyMap<string, string> = new Map();

/**
 * Builds a provider, keeping what the one before it had in use and its count of changes.
 * @param told As its compute tells it; default: as the one before it was told.
 */
export function makeProvider(
  spec: ProviderSpec,
  root: string,
  before?: Provider,
  told = before?.told ?? null,
): Provider {
  const stocks = new Map<string, MutableStock>();
  for (const [resourceClass, inventory] of Object.entries(spec.inventories)) {
    const used = before?.stocks.get(resourceClass)?.used ?? 0;
    stocks.set(resourceClass, { inventory, capacity: capacityOf(inventory), used });
  }
  // What is in use stays counted even when its inventory is no longer told: with no capacity, nothing new fits.
  for (const [resourceClass, stock] of before?.stocks ?? []) {
    if (stock.used > 0 && !stocks.has(resourceClass)) stocks.set(resourceClass, { ...stock, capacity: 0 });
  }
  return {
    spec,
    told,
    wasHost: told === null && before?.wasHost === true,
    root,
    stocks,
    traits: setOfNames(spec.traits),
    aggregates: setOfNames(spec.aggregates),
    groups: before?.groups ?? NO_GROUPS,
    groupRules: before?.groupRules ?? NO_RULES,
    tenants: before?.tenants ?? 0,
    holders: before?.holders ?? [],
    generation: (before?.generation ?? -1) + 1,
    quiet: before?.quiet ?? 0,
    changedAt: before?.changedAt ?? 0,
  };
}

/**
 * The generation of the Placement API, which callers compare: it leaves out what the reference does not count, such as
 * a new name or allocations that are given back.
 */
export function revisionOf({ generation, quiet }: Provider): number {
  return generation - quiet;
}

/** Takes (or gives back) resources without counting it as a change yet. */
export function adjustUse(provider: Provider, resources: Readonly<Record<string, number>>, sign: 1 | -1): void {
  for (const resourceClass in resources) {
    const stock = countsOf(provider).get(resourceClass);
    if (stock !== undefined) stock.used += sign * (resources[resourceClass] as number);
  }
}

/** Takes (or, with a negative sign, gives back) resources of one provider. */
export function changeUse(
  providers: Providers,
  provider: Provider,
  resources: Readonly<Record<string, number>>,
  sign: 1 | -1,
): void {
  providers.touch(provider.spec.id);
  adjustUse(provider, resources, sign);
  provider.generation += 1;
}

/** Counts a change that is told by the feed, but is none that callers of the Placement API compare. */
export function noteQuietly(providers: Providers, provider: Provider, changed: Set<string>): void {
  providers.touch(provider.spec.id);
  provider.generation += 1;
  provider.quiet += 1;
  changed.add(provider.spec.id);
}

/** Has the generation of a provider that is new stand above another, without a change that callers compare. */
export function countAbove(provider: Provider, generation: number): void {
  const missing = generation + 1 - provider.generation;
  if (missing <= 0) return;
  provider.generation += missing;
  provider.quiet += missing;
}

/** The inventories of a provider that are told no more, but of which something was in use when they were told last. */
function untoldInventories({ spec, stocks }: Provider): [string, Inventory][] {
  const untold: [string, Inventory][] = [];
  for (const [resourceClass, { inventory }] of stocks) {
    if (!(resourceClass in spec.inventories)) untold.push([resourceClass, inventory]);
  }
  return untold;
}

/** Puts back what `untoldInventories` answered: with no capacity, and as yet nothing in use. */
export function restoreUntold(provider: Provider, untold: readonly [string, Inventory][]): void {
  const stocks = countsOf(provider);
  for (const [resourceClass, inventory] of untold) stocks.set(resourceClass, { inventory, capacity: 0, used: 0 });
}

export function inUse(provider: Provider): boolean {
  for (const stock of provider.stocks.values()) if (stock.used > 0) return true;
  return false;
}

/**
 * What is wrong with a tree that is told, or null: the root first, parents before children, no name twice, and no
 * provider that belongs to another tree.
 */
export function treeFault(tree: readonly ProviderSpec[], providers: Providers): string | null {
  const root = tree[0];
  if (root === undefined || root.parent !== null) return 'the first provider of a tree must be its root';
  const seen = new Set<string>();
  for (const spec of tree) {
    if (seen.has(spec.id)) return `provider '${spec.id}' is told twice`;
    if (spec !== root && (spec.parent === null || !seen.has(spec.parent))) {
      return `provider '${spec.id}' has a parent, '${spec.parent}', that does not stand before it`;
    }
    const known = providers.get(spec.id);
    if (known !== undefined && known.root !== root.id) {
      return `provider '${spec.id}' belongs to the tree of '${known.root}'`;
    }
    seen.add(spec.id);
    for (const [resourceClass, { total, reserved }] of Object.entries(spec.inventories)) {
      if (reserved > total) return `${resourceClass} of provider '${spec.id}' has more reserved than there is`;
    }
  }
  return null;
}

export function usageOf(provider: Provider): ProviderUsage {
  const used: Record<string, number> = {};
  for (const [resourceClass, stock] of provider.stocks) used[resourceClass] = stock.used;
  const usage: ProviderUsage = { id: provider.spec.id, generation: provider.generation, used };
  if (provider.tenants > 0) usage.tenants = provider.tenants;
  if (provider.groups.size > 0) {
    usage.groups = asTold(provider.groups);
    usage.groupRules = asTold(provider.groupRules);
  }
  return usage;
}

/** As they are told, by the maps that hold them: each is replaced when anything of it changes. */
const toldOf = new WeakMap<ReadonlyMap<string, unknown>, object>();

/** A root may have members of thousands of groups, and its use is told with every claim. */
function asTold<Value>(byGroup: ReadonlyMap<string, Value>): Record<string, Value> {
  const told = toldOf.get(byGroup) ?? Object.fromEntries(byGroup);
  toldOf.set(byGroup, told);
  return told as Record<string, Value>;
}

export function stateOf(provider: Provider): ProviderState {
  const { name, parent, inventories, traits, aggregates } = provider.spec;
  return { name, parent, inventories, traits, aggregates, root: provider.root, ...usageOf(provider) };
}
