// Providers of a told tree that are new to their shard, and may be with another one, where a caller has made them or moved
// them. They come in by a change over all shards, when none of the others has them, and stay out while one does.

import type { ProviderSpec } from '../messages/placement.ts';
import type { Part } from '../messages/transactions.ts';
import { type Refused, refused } from './api/refusals.ts';
import { mayBeElsewhere } from './elsewhere.ts';
import { comesLate } from './puts.ts';
import type { ApiRecord } from './records.ts';
import type { PlacementState } from './state.ts';
import type { Newcomers, Outcome } from './transactions.ts';

/**
 * A told tree without what may be with another shard, and without what is new below that; and what comes with the change.
 * What is there and is told below it stands below the root until it comes.
 */
export function withoutDoubtful(
  { providers, elsewhere }: PlacementState,
  tree: readonly ProviderSpec[],
): { tree: readonly ProviderSpec[]; doubtful: readonly ProviderSpec[] } {
  if (elsewhere.size === 0) return { tree, doubtful: [] };
  const [root] = tree;
  const out = new Set<string>();
  const sure: ProviderSpec[] = [];
  const doubtful: ProviderSpec[] = [];
  for (const spec of tree) {
    const { id, parent } = spec;
    const isBelow = out.has(parent ?? '');
    if (providers.has(id)) {
      sure.push(isBelow ? { ...spec, parent: (root as ProviderSpec).id } : spec);
      if (isBelow) doubtful.push(spec);
    } else if (isBelow || mayBeElsewhere(elsewhere, id)) {
      out.add(id);
      doubtful.push(spec);
    } else sure.push(spec);
  }
  return out.size === 0 ? { tree, doubtful: [] } : { tree: sure, doubtful };
}

/** The change by which they come in. */
export function partsOf({ shard, shards }: { shard: number; shards: number }, comes: Newcomers): Part[] {
  const ids = comes.providers.map(({ id }) => id);
  return Array.from({ length: shards }, (_, at) => ({
    shard: at,
    consumers: [],
    ...(at === shard ? { comes } : { absent: { ids } }),
  }));
}

/** Said twice, it is the same change. */
export const keyOf = ({ root, incarnation = '', ask }: Omit<Newcomers, 'providers'>): string =>
  `told ${root} ${incarnation} ${ask}`;

/**
 * What of them comes in as things stand. Nothing comes below what is elsewhere; what is there by now stays as it is, but goes
 * below what comes in where it is told so.
 */
export function decideComing({ providers, puts }: PlacementState, comes: Newcomers): Refused | { record: ApiRecord } {
  const { root, providers: told } = comes;
  if (comesLate(puts.get(root), comes)) {
    return refused('changed-meanwhile', `the tree of '${root}' was told otherwise meanwhile`);
  }
  // It could come to stand below itself.
  if (new Set(told.map(({ id }) => id)).size < told.length) {
    return refused('bad-parts', `a provider comes twice to the tree of '${root}'`);
  }
  /** By id, what they are below then. */
  const coming = new Map<string, string | null>();
  const isAbove = (id: string, below: string | null): boolean => {
    let at = below;
    while (at !== null && at !== id) at = coming.get(at) ?? providers.get(at)?.spec.parent ?? null;
    return at === id;
  };
  for (const { id, parent } of told) {
    const known = providers.get(id);
    const isBelowComing = parent !== null && coming.has(parent);
    if (known === undefined) {
      const isBelow = parent === null ? id === root : isBelowComing || providers.get(parent)?.root === root;
      if (isBelow) coming.set(id, parent);
      // A caller may have moved what it is told below under it meanwhile.
    } else if (isBelowComing && known.root === root && known.told !== null && !isAbove(id, parent))
      coming.set(id, parent);
  }
  if (coming.size === 0) return refused('changed-meanwhile', `nothing of it is to come to the tree of '${root}'`);
  return { record: { type: 'tree-grown', root, providers: told.filter(({ id }) => coming.has(id)) } };
}

/**
 * What is left to come in when a change is over: all, where it was not decided, and all but what another shard has. Of a tree
 * that is there in no part its compute, if it is there yet, tells again, as it has no answer.
 */
export function leftToCome(comes: Newcomers, outcome: Outcome): Newcomers | null {
  if (outcome.confirmed) return null;
  const { code, subject } = outcome.refusal;
  if (code === 'not-decided') return comes.providers[0]?.id === comes.root ? null : comes;
  if (code !== 'duplicate-id') return null;
  const out = new Set([subject]);
  for (const { id, parent } of comes.providers) if (parent !== null && out.has(parent)) out.add(id);
  const providers = comes.providers.filter(({ id }) => !out.has(id));
  return providers.length === 0 || providers.length === comes.providers.length ? null : { ...comes, providers };
}

/** Whether something of it may still come in. */
export function mayYetCome(outcome: Outcome | null): boolean {
  if (outcome === null) return true;
  return !outcome.confirmed && (outcome.refusal.code === 'not-decided' || outcome.refusal.code === 'duplicate-id');
}

/** What its compute is told: as a rule it has been told already that its tree is put in, unless the whole tree was in doubt. */
export function wordOf(comes: Newcomers, ask: number, outcome: Outcome) {
  const { root, providers } = comes;
  if (providers[0]?.id !== root) return null;
  if (outcome.confirmed) return { type: 'tree-put' as const, ask, root };
  const { code, subject, message } = outcome.refusal;
  return code === 'duplicate-id' && subject === root
    ? { type: 'tree-refused' as const, ask, root, reason: message }
    : null;
}
