// Whether groups can be given a provider each: a matching between groups and providers, found by augmenting paths. It
// spares the search the many ways in which too few providers fail too many groups.

import type { Provider } from '../providers.ts';
import type { Slot } from './options.ts';

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
