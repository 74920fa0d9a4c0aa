// A scheduler's picture of all providers and hosts, kept by the numbered feeds of placement and the cells. It may be
// stale and is never wrong in what follows from it, because placement decides. What this scheduler has claimed and
// has no answer for yet is counted as used, see promises.ts.

import type { SteadyTime } from '../../actor.ts';
import type { ProviderState, ProvidersChanged, ProvidersPage, ProviderUsage } from '../../messages/placement.ts';
import type { FailureMemory, HostState, HostStats } from '../../messages/scheduler.ts';
import { PassingMap } from '../../passing-map.ts';
import { countsOf, makeProvider, type Provider } from '../../placement/providers.ts';
import { placementShardOf } from '../../routing.ts';
import { ExpectedBuilds } from './expected-builds.ts';
import { emptyGroupsView, type GroupsView, learnMembers } from './groups-view.ts';

/** A host with its tree, the root first. */
export interface ViewHost {
  readonly cell: string;
  readonly host: string;
  readonly root: string;
  readonly state: HostState['state'];
  readonly stats: HostStats;
  readonly failures: FailureMemory | undefined;
  /** Why it is out of service. */
  readonly reason?: string | undefined;
  /** Whether it is disabled when it is back. */
  readonly disabled?: true | undefined;
  /** Whether it is disabled with its cell. */
  readonly withCell?: true | undefined;
  /** Until when it is set aside if it is back before that, ms since the epoch. */
  readonly asideUntil?: number | undefined;
  /** When it comes back by itself, ms since the epoch. */
  readonly until?: number | undefined;
}

export interface View {
  /** How many placement shards tell of providers, each of its own. */
  readonly shards: number;
  readonly providers: Map<string, Provider>;
  /** The generation at which each provider was last told whole: its use may be known from a later one. */
  readonly toldWholeAt: Map<string, number>;
  /** The use of providers that are not known yet: a page on its way may tell of them as they were before. */
  readonly toldEarly: Map<string, ProviderUsage & { readonly shard: number }>;
  /** What another shard tells than the one that its root is dealt to: what was a child once stays with its shard. */
  readonly toldElsewhere: Map<string, number>;
  /** The providers of each tree, by its root, the root first. */
  readonly trees: Map<string, Provider[]>;
  /** Where the members of instance groups are. */
  readonly groups: GroupsView;
  readonly hosts: Map<string, ViewHost>;
  /** The roots of trees of whose host no cell has told. */
  readonly hostless: Set<string>;
  /** How many hosts each cell has that has any. */
  readonly hostsIn: Map<string, number>;
  /** Cells of which nothing was heard for a while: their hosts are chosen only when no other fits. */
  readonly silentCells: Set<string>;
  /** How often a cell has come to be silent, or to be heard again. */
  silencesNoted: number;
  /** Placement shards of several of which nothing was heard for a while: a claim there may wait for long. */
  silentShards: ReadonlySet<number>;
  /** So it is with the only placement shard: all hosts are kept there, and none of them comes last for it. */
  isPlacementSilent: boolean;
  /** Claimed by this scheduler and not yet answered, by provider and class. */
  readonly promised: Map<string, Map<string, number>>;
  /** How many instances they are for, by root. */
  readonly promisedTenants: Map<string, number>;
  /** The roots on which something came free, or changed that may let somebody in; null while nobody waits for that. */
  freed: Set<string> | null;
  /** Kept only when a filter or weigher goes by what hosts are doing. */
  readonly expected: ExpectedBuilds;
  statsMatter: boolean;
  /** Whether a filter goes by that: then a host may let somebody in though nothing came free there. */
  statsAdmit: boolean;
  /** When something was last heard to be taken, or a claim to be refused. */
  takenAt: SteadyTime;
  /** The time that filters and weighers see, ms since the epoch. */
  now: number;
  /** The same by the clock that nobody sets, and by how much `now` was ahead of it when that was looked at last. */
  steady: SteadyTime;
  ahead: number;
  /** When hosts are to be weighed anew though nothing is told of them, by root, and the earliest of these times. */
  readonly due: Map<string, SteadyTime>;
  nextDue: SteadyTime;
  /** The roots that changed, in order; the rankings follow it. */
  readonly changes: string[];
  /** How many changes were dropped from the front of `changes`. */
  changesDropped: number;
  /**
   * Counts whatever changes of hosts, of providers, of who is where and of who is heard: what was found at one count is
   * true at that count.
   */
  revision: number;
}

/** How many changes are kept for rankings to follow; one that is further behind starts anew. */
const MAX_CHANGES = 65_536;

export function emptyView(shards = 1): View {
  return {
    shards,
    providers: new Map(),
    toldWholeAt: new Map(),
    toldEarly: new Map(),
    toldElsewhere: new Map(),
    trees: new Map(),
    groups: emptyGroupsView(),
    hosts: new Map(),
    hostless: new Set(),
    hostsIn: new Map(),
    silentCells: new Set(),
    silencesNoted: 0,
    silentShards: new Set(),
    isPlacementSilent: false,
    promised: new PassingMap(),
    promisedTenants: new PassingMap(),
    freed: null,
    expected: new ExpectedBuilds(),
    statsMatter: true,
    statsAdmit: true,
    takenAt: Number.NEGATIVE_INFINITY,
    now: 0,
    steady: 0,
    ahead: 0,
    due: new Map(),
    nextDue: Number.POSITIVE_INFINITY,
    changes: [],
    changesDropped: 0,
    revision: 0,
  };
}

/** The position in the changes up to which a reader that starts now has seen everything. */
export function changesEnd(view: View): number {
  return view.changesDropped + view.changes.length;
}

/** Has the rankings weigh a host anew. */
export function noteChange(view: View, root: string): void {
  view.revision += 1;
  view.changes.push(root);
  if (view.changes.length <= MAX_CHANGES) return;
  view.changes.splice(0, MAX_CHANGES / 2);
  view.changesDropped += MAX_CHANGES / 2;
}

/**
 * Takes a provider as placement tells it, unless something newer is known. The answer to a claim may have told its use
 * of a later generation before: that use stays, but its inventories are news all the same.
 */
export function learnProvider(view: View, told: ProviderState, shard = placementShardOf(told.root, view.shards)): void {
  const known = view.providers.get(told.id);
  if (known !== undefined && (view.toldWholeAt.get(told.id) ?? -1) >= told.generation) return;
  const { root, generation, used, tenants, groups, groupRules, ...spec } = told;
  // A provider may be given another parent, and with it another tree.
  if (known !== undefined && known.root !== root) leaveTree(view, known);
  const isUseNews = known === undefined || known.generation < generation;
  const provider = makeProvider(spec, root, isUseNews ? undefined : known);
  provider.generation = isUseNews ? generation : known.generation;
  view.providers.set(told.id, provider);
  view.toldWholeAt.set(told.id, generation);
  if (shard === placementShardOf(root, view.shards)) view.toldElsewhere.delete(told.id);
  else view.toldElsewhere.set(told.id, shard);
  if (isUseNews) {
    setUsed(view, provider, used);
    setTenants(view, provider, tenants);
    learnMembers(view.groups, told.id, groups, groupRules);
  }
  view.freed?.add(root);
  const early = view.toldEarly.get(told.id);
  view.toldEarly.delete(told.id);
  if (early !== undefined) learnUsage(view, early, early.shard);
  joinTree(view, provider);
  noteChange(view, root);
}

function joinTree(view: View, provider: Provider): void {
  const tree = view.trees.get(provider.root);
  const position = tree?.findIndex(({ spec }) => spec.id === provider.spec.id) ?? -1;
  // Most hosts have no other: a list that is made of one takes no more room than that.
  if (tree === undefined) view.trees.set(provider.root, [provider]);
  else if (position !== -1) tree[position] = provider;
  else if (provider.spec.id === provider.root) tree.unshift(provider);
  else tree.push(provider);
  if (!view.hosts.has(provider.root)) view.hostless.add(provider.root);
}

/** Takes the use of a provider, unless something newer is known. */
export function learnUsage(view: View, told: ProviderUsage, shard = 0): void {
  const provider = view.providers.get(told.id);
  if (provider === undefined) {
    if ((view.toldEarly.get(told.id)?.generation ?? -1) < told.generation) {
      view.toldEarly.set(told.id, { ...told, shard });
    }
    return;
  }
  if (provider.generation >= told.generation) return;
  provider.generation = told.generation;
  view.revision += 1;
  // Members of groups are asked for when a host is picked: no host is ranked by them. Where others came in the place of
  // those who left, as much may be used as before.
  const haveLeft = learnMembers(view.groups, told.id, told.groups, told.groupRules);
  if (haveLeft) view.freed?.add(provider.root);
  const isUseOther = setUsed(view, provider, told.used);
  const areTenantsOther = setTenants(view, provider, told.tenants);
  if (isUseOther || (areTenantsOther && view.statsMatter)) noteChange(view, provider.root);
}

/** Answers whether anything counts as used that did not, or the reverse. */
function setUsed(view: View, provider: Provider, used: Readonly<Record<string, number>>): boolean {
  const promised = view.promised.get(provider.spec.id);
  let isOther = false;
  for (const [resourceClass, stock] of countsOf(provider)) {
    const before = stock.used;
    stock.used = (used[resourceClass] ?? 0) + (promised?.get(resourceClass) ?? 0);
    if (stock.used < before) view.freed?.add(provider.root);
    if (stock.used > before) view.takenAt = view.steady;
    if (stock.used !== before) isOther = true;
  }
  return isOther;
}

/** Answers whether a root counts as having another number of instances than before. */
function setTenants(view: View, provider: Provider, told = 0): boolean {
  const before = provider.tenants;
  provider.tenants = told + (view.promisedTenants.get(provider.spec.id) ?? 0);
  if (provider.tenants < before) view.freed?.add(provider.root);
  return provider.tenants !== before;
}

/** The shard that tells of a provider. */
function shardTelling({ toldElsewhere, shards }: Pick<View, 'toldElsewhere' | 'shards'>, one: Provider): number {
  return toldElsewhere.get(one.spec.id) ?? placementShardOf(one.root, shards);
}

function forgetProvider(view: View, provider: Provider): void {
  const { id } = provider.spec;
  view.providers.delete(id);
  view.toldElsewhere.delete(id);
  view.toldWholeAt.delete(id);
  learnMembers(view.groups, id, undefined, undefined);
  leaveTree(view, provider);
}

function leaveTree(view: View, { root, spec }: Provider): void {
  const tree = (view.trees.get(root) ?? []).filter((one) => one.spec.id !== spec.id);
  if (tree.length === 0) {
    view.trees.delete(root);
    view.hostless.delete(root);
  } else view.trees.set(root, tree);
  view.freed?.add(root);
  noteChange(view, root);
}

/** The providers of a host, the root first. */
export function treeOf(view: View, root: string): readonly Provider[] {
  return view.trees.get(root) ?? NO_TREE;
}

const NO_TREE: readonly Provider[] = [];

/**
 * What is gone goes first: a provider that went and came back in one turn is told as both. One that is known to be in a
 * tree of another shard has only left this one.
 */
export function learnChanges(view: View, { shard, changed, used, removed }: ProvidersChanged): void {
  for (const id of removed) {
    const known = view.providers.get(id);
    if (known !== undefined && shardTelling(view, known) === shard) forgetProvider(view, known);
  }
  for (const provider of changed) learnProvider(view, provider, shard);
  for (const usage of used) learnUsage(view, usage, shard);
}

/** Lets whatever a shard tells next count as newer than what is known of its providers. */
export function forgetGenerations(view: View, shard: number): void {
  forgetEarly(view, shard);
  for (const [id, provider] of view.providers) {
    if (shardTelling(view, provider) !== shard) continue;
    view.toldWholeAt.delete(id);
    provider.generation = -1;
  }
}

/** Forgets the use of providers that are not known: they may be gone, and nobody would tell of them any more. */
export function forgetEarly({ toldEarly }: Pick<View, 'toldEarly'>, shard: number): void {
  for (const [id, told] of toldEarly) if (told.shard === shard) toldEarly.delete(id);
}

/** One page of all providers; `listed` gathers the ids of all pages. */
export function learnProvidersPage(view: View, page: ProvidersPage, listed: Set<string>): void {
  for (const provider of page.providers) {
    listed.add(provider.id);
    learnProvider(view, provider, page.shard);
  }
}

/** After the last page of a shard: what no page had is gone. */
export function forgetUnlisted(view: View, listed: ReadonlySet<string>, shard: number): void {
  forgetEarly(view, shard);
  for (const [id, provider] of [...view.providers]) {
    if (!listed.has(id) && shardTelling(view, provider) === shard) forgetProvider(view, provider);
  }
}
