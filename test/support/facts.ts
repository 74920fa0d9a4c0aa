// Hosts as filters and weighers see them, made of a few words.

import type { Inventory, ProviderSpec, ProviderState } from '../../actors/messages/placement.ts';
import type { HostState } from '../../actors/messages/scheduler.ts';
import { countsOf, makeProvider, type Provider } from '../../actors/placement/providers.ts';
import { present } from '../../actors/present.ts';
import type { HostFacts } from '../../actors/scheduler/view/host-facts.ts';
import { emptyView, learnProvider, type View } from '../../actors/scheduler/view/view.ts';
import { learnHost, passTime } from '../../actors/scheduler/view/view-hosts.ts';
import type { Candidate } from '../../actors/scheduler/weighers/weigher.ts';

export function inventory(total: number): Inventory {
  return { total, reserved: 0, min_unit: 1, max_unit: 100_000, step_size: 1, allocation_ratio: 1 };
}

/** The clock that nobody sets goes on as the time of day does, which is another. */
export const passTo = (view: View, now: number): void => passTime(view, { now, steady: now + 7_000 });

export interface HostWords {
  readonly cell?: string;
  readonly host?: string;
  readonly state?: HostState['state'];
  /** What its cell says beside that. */
  readonly reason?: string;
  readonly disabled?: true;
  readonly withCell?: true;
  readonly asideUntil?: number;
  /** Totals by class. */
  readonly has?: Readonly<Record<string, number>>;
  readonly used?: Readonly<Record<string, number>>;
  readonly traits?: readonly string[];
  readonly aggregates?: readonly string[];
  readonly instances?: number;
  readonly builds?: number;
  /** Builds ordered there since its cell came up. */
  readonly ordered?: number;
  readonly metrics?: Readonly<Record<string, number>>;
  readonly failures?: { weight: number; at: number };
}

export function stateOf(words: HostWords): ProviderState {
  const { host = 'h1', has = { VCPU: 8 }, used = {}, instances = 0, traits = [], aggregates = [] } = words;
  const inventories = Object.fromEntries(Object.entries(has).map(([name, total]) => [name, inventory(total)]));
  const id = `p-${host}`;
  return {
    id,
    name: host,
    parent: null,
    inventories,
    traits: [...traits],
    aggregates: [...aggregates],
    root: id,
    generation: 0,
    used: { ...used },
    ...(instances === 0 ? {} : { tenants: instances }),
  };
}

/** What a compute tells placement of its host. */
export function treeOfHost(words: HostWords): ProviderSpec {
  const { id, name, parent, inventories, traits, aggregates } = stateOf(words);
  return { id, name, parent, inventories, traits, aggregates };
}

function providerOf(words: HostWords): Provider {
  const { root, used } = stateOf(words);
  const provider = makeProvider(treeOfHost(words), root);
  for (const [resourceClass, amount] of Object.entries(used)) {
    const stock = countsOf(provider).get(resourceClass);
    if (stock !== undefined) stock.used = amount;
  }
  return provider;
}

export function factsOf(words: HostWords = {}, now = 0): HostFacts {
  const { cell = 'c1', host = 'h1', state = 'up', instances = 0, builds = 0, metrics, failures } = words;
  const root = providerOf(words);
  const { traits, aggregates } = root;
  const stats = { instances, builds, ...(metrics === undefined ? {} : { metrics }) };
  return { cell, host, state, tree: [root], traits, aggregates, stats, failures, now };
}

/** A host that would give what is asked of it. */
export function candidateOf(words: HostWords = {}, asks: Readonly<Record<string, number>> = {}, now = 0): Candidate {
  const host = factsOf(words, now);
  const allocations = [{ provider: `p-${words.host ?? 'h1'}`, group: '', resources: asks }];
  return { host, tree: host.tree, allocations };
}

/** Tells a view of a host, anew or as it is now. */
export function tellView(view: View, words: HostWords, generation = 0): void {
  learnProvider(view, { ...stateOf(words), generation });
  tellHost(view, words);
}

/** Tells a view what the cell of a host says of it. */
export function tellHost(view: View, words: HostWords): void {
  learnHost(view, words.cell ?? 'c1', toldOf(words));
}

/** What the cell of a host says of it. */
export function toldOf(words: HostWords): HostState {
  const { host = 'h1', state = 'up', instances = 0, builds = 0, ordered, metrics, failures } = words;
  const { reason, disabled, withCell, asideUntil } = words;
  const stats = { instances, builds, ...present({ ordered, metrics }) };
  return {
    host,
    provider: `p-${host}`,
    state,
    stats,
    ...present({ failures, reason, disabled, withCell, asideUntil }),
  };
}

export function viewOf(...hosts: readonly HostWords[]): View {
  const view = emptyView();
  for (const words of hosts) tellView(view, words);
  return view;
}
