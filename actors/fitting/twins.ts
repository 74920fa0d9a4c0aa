// Providers of a tree that are interchangeable, such as the GPUs of a host: whatever one of them could serve, so could
// the others, as long as none of them serves anything yet.

import type { Provider } from '../placement/providers.ts';

/** Numbers of providers: those that are interchangeable have the same. */
export function twinsOf(tree: readonly Provider[]): Map<Provider, number> {
  const parents = new Set(tree.map(({ spec }) => spec.parent));
  const numbers = new Map<string, number>();
  const twins = new Map<Provider, number>();
  for (const provider of tree) {
    const { id, parent } = provider.spec;
    const stocks = [...provider.stocks].sort(([one], [other]) => (one < other ? -1 : 1));
    const conditions = [[...provider.traits].sort(), [...provider.aggregates].sort()];
    // What is below one provider is not below another.
    const key = JSON.stringify([parent, stocks, conditions, parents.has(id) ? id : null]);
    const number = numbers.get(key) ?? numbers.size;
    numbers.set(key, number);
    twins.set(provider, number);
  }
  return twins;
}
