// The providers of the trees that candidates touch: what they have, what of it is used, and where they stand.

import type { Landscape } from './foreign.ts';

export interface CandidateSummary {
  readonly parent: string | null;
  readonly root: string;
  readonly traits: readonly string[];
  readonly resources: Readonly<Record<string, { readonly capacity: number; readonly used: number }>>;
}

export interface Summaries {
  readonly all: ReadonlyMap<string, CandidateSummary>;
  /** Adds what belongs to providers of a candidate, as it is now; answers how many were added. */
  add(ids: readonly string[]): number;
  /** A provider is gone. */
  forget(id: string): void;
}

/** With `nested` of all providers of the trees, otherwise of those that are used alone. */
export function summariesOf({ providers, tree }: Landscape, nested: boolean): Summaries {
  const all = new Map<string, CandidateSummary>();
  return {
    all,
    add(ids) {
      const before = all.size;
      for (const id of ids) {
        const rootOfId = providers.get(id)?.root ?? id;
        if (all.get(id)?.root === rootOfId) continue;
        for (const { spec, root, stocks } of tree(rootOfId)) {
          // What was told as of another tree has come to this one.
          if (all.get(spec.id)?.root === root || (!nested && spec.id !== id)) continue;
          const resources: Record<string, { capacity: number; used: number }> = {};
          for (const resourceClass in spec.inventories) {
            const stock = stocks.get(resourceClass);
            if (stock === undefined) continue;
            resources[resourceClass] = { capacity: Math.trunc(stock.capacity), used: stock.used };
          }
          all.set(spec.id, { parent: spec.parent, root, traits: spec.traits, resources });
        }
      }
      return all.size - before;
    },
    forget: (id) => void all.delete(id),
  };
}
