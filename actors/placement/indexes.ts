// Ways to providers other than by id: who bears a name, who is in an aggregate, who shares, how many have a trait. They are
// made of the providers, so they need no record; every provider comes and goes through here.

import { adjust } from '../amounts.ts';
import { type Absent, giveHolders, keepHolders } from './holders.ts';
import { countAbove, type Provider, type Providers } from './providers.ts';
import { SHARES_VIA_AGGREGATE } from './standard-traits.ts';

export interface Indexes {
  /** As a rule one; computes may tell of a device by the same name on each host. */
  readonly names: Map<string, string | Set<string>>;
  readonly aggregates: Map<string, Set<string>>;
  readonly traits: Map<string, number>;
  readonly sharing: Set<string>;
}

interface Indexed {
  readonly providers: Providers;
  readonly indexes: Indexes;
  readonly gone: { generation: number };
  readonly absent: Absent;
  readonly puts: Map<string, unknown>;
  readonly looks: readonly { readonly gone: ((id: string) => void) | null }[];
}

export function emptyIndexes(): Indexes {
  return { names: new Map(), aggregates: new Map(), traits: new Map(), sharing: new Set() };
}

/** Puts a provider in, in place of the one with its id. */
export function install({ providers, indexes, gone, absent }: Indexed, provider: Provider): void {
  const { id } = provider.spec;
  const before = providers.get(id);
  if (before !== undefined) leave(indexes, before);
  else {
    countAbove(provider, gone.generation);
    if (absent.size > 0) giveHolders(absent, id, provider);
  }
  providers.set(id, provider);
  enter(indexes, provider);
}

export function uninstall({ providers, indexes, gone, absent, puts, looks }: Indexed, id: string): void {
  const provider = providers.get(id);
  if (provider === undefined) return;
  gone.generation = Math.max(gone.generation, provider.generation);
  providers.delete(id);
  keepHolders(absent, id, provider);
  puts.delete(id);
  for (const look of looks) look.gone?.(id);
  leave(indexes, provider);
}

function enter({ names, aggregates, traits, sharing }: Indexes, { spec: { id, name }, ...provider }: Provider): void {
  const known = names.get(name);
  if (known === undefined || known === id) names.set(name, id);
  else if (typeof known === 'string') names.set(name, new Set([known, id]));
  else known.add(id);
  for (const trait of provider.traits) adjust(traits, trait, 1);
  for (const aggregate of provider.aggregates) {
    const members = aggregates.get(aggregate);
    if (members === undefined) aggregates.set(aggregate, new Set([id]));
    else members.add(id);
  }
  if (provider.traits.has(SHARES_VIA_AGGREGATE)) sharing.add(id);
}

function leave({ names, aggregates, traits, sharing }: Indexes, { spec: { id, name }, ...provider }: Provider): void {
  const known = names.get(name);
  if (known === id) names.delete(name);
  else if (typeof known === 'object' && known.delete(id) && known.size === 0) names.delete(name);
  for (const trait of provider.traits) adjust(traits, trait, -1);
  for (const aggregate of provider.aggregates) {
    const members = aggregates.get(aggregate);
    members?.delete(id);
    if (members?.size === 0) aggregates.delete(aggregate);
  }
  sharing.delete(id);
}

/** The ids of the providers by a name. */
export function idsBy({ names }: Pick<Indexes, 'names'>, name: string): Iterable<string> {
  const known = names.get(name) ?? [];
  return typeof known === 'string' ? [known] : known;
}
