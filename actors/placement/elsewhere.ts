// Which ids callers may have given to providers that are with other shards. A shard hears of each that is made elsewhere, or
// goes there, and not that it is gone: so it keeps no ids, of which there would be ever more, but to which of some thousand
// lots they belong. What a compute tells of such a lot comes in when all shards have said that they do not have it.

import { fnv1a } from '../routing.ts';

const LOTS = 16_384;

export type Elsewhere = Set<number>;

const lotOf = (id: string): number => fnv1a(id) % LOTS;

export function noteElsewhere(elsewhere: Elsewhere, ids: readonly string[]): void {
  for (const id of ids) elsewhere.add(lotOf(id));
}

export function mayBeElsewhere(elsewhere: Elsewhere, id: string): boolean {
  return elsewhere.size > 0 && elsewhere.has(lotOf(id));
}
