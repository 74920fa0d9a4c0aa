// What can be said of a request in one tree before any choice is tried. It spares the search the many ways in which too
// few providers, or too little in them, fail too many groups.

import type { Provider } from '../../providers.ts';
import type { Slot } from './options.ts';

/** Whether the options have, all together, what the slots ask of each class. */
export function canHoldTogether(slots: readonly Slot[]): boolean {
  const asked = new Map<string, number>();
  const options = new Map<string, Set<Provider>>();
  for (const slot of slots) {
    for (const resourceClass in slot.resources) {
      asked.set(resourceClass, (asked.get(resourceClass) ?? 0) + (slot.resources[resourceClass] as number));
      const known = options.get(resourceClass) ?? new Set();
      for (const provider of slot.options) known.add(provider);
      options.set(resourceClass, known);
    }
  }
  for (const [resourceClass, amount] of asked) {
    let free = 0;
    for (const { stocks } of options.get(resourceClass) ?? []) {
      const stock = stocks.get(resourceClass);
      if (stock !== undefined) free += Math.trunc(stock.capacity) - stock.used;
    }
    if (free < amount) return false;
  }
  return true;
}

/** Whether the slots can be given a provider each: a matching, found by augmenting paths. */
export function canBeIsolated(slots: readonly Slot[]): boolean {
  const servedBy = new Map<Provider, Slot>();
  return slots.every((slot) => place(slot, servedBy, new Set()));
}

/** Finds a provider for a slot; whoever has it moves on, if it can. */
function place(slot: Slot, servedBy: Map<Provider, Slot>, tried: Set<Provider>): boolean {
  for (const provider of slot.options) {
    if (tried.has(provider)) continue;
    tried.add(provider);
    const other = servedBy.get(provider);
    if (other === undefined || place(other, servedBy, tried)) {
      servedBy.set(provider, slot);
      return true;
    }
  }
  return false;
}
