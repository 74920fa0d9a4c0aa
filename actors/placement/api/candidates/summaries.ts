// The providers of the trees that candidates touch: what they have, what of it is used, and where they stand.

import type { Landscape } from './foreign.ts';
import type { Candidate } from './search.ts';

export interface CandidateSummary {
  readonly parent: string | null;
  readonly root: string;
  readonly traits: readonly string[];
  readonly resources: Readonly<Record<string, { readonly capacity: number; readonly used: number }>>;
}

/** With `nested` all providers of the trees, otherwise those that are used alone. */
export function summariesOf(
  { providers, tree }: Landscape,
  candidates: readonly Candidate[],
  nested: boolean,
): Record<string, CandidateSummary> {
  const used = new Set<string>();
  for (const { allocations } of candidates) for (const id in allocations) used.add(id);
  const roots = new Set([...used].map((id) => providers.get(id)?.root ?? id));
  const summaries: Record<string, CandidateSummary> = {};
  for (const root of roots) {
    for (const { spec, stocks } of tree(root)) {
      if (!nested && !used.has(spec.id)) continue;
      const resources: Record<string, { capacity: number; used: number }> = {};
      for (const resourceClass in spec.inventories) {
        const stock = stocks.get(resourceClass);
        if (stock === undefined) continue;
        resources[resourceClass] = { capacity: Math.trunc(stock.capacity), used: stock.used };
      }
      summaries[spec.id] = { parent: spec.parent, root, traits: spec.traits, resources };
    }
  }
  return summaries;
}
