// What callers of the Placement API are told of who holds what, beside what a look at all consumers finds.

import * as assert from 'uvu/assert';
import { showProviderAllocations } from '../../actors/placement/api/reads.ts';
import type { PlacementState } from '../../actors/placement/state.ts';

export function checkHolding(state: PlacementState): void {
  const found = new Map<string, Record<string, { resources: Record<string, number> }>>();
  for (const [id, { held, generation, changedAt = 0 }] of state.consumers.holding) {
    for (const { provider, resources } of held.flatMap(({ allocations }) => allocations)) {
      for (const [name, amount] of Object.entries(resources)) {
        const ofProvider = found.get(provider) ?? {};
        found.set(provider, ofProvider);
        ofProvider[id] ??= Object.assign({ resources: {} }, { generation, changedAt });
        ofProvider[id].resources[name] = (ofProvider[id].resources[name] ?? 0) + amount;
      }
    }
  }
  for (const id of state.providers.keys()) {
    const told = showProviderAllocations(state, { type: 'provider-allocations', ask: 1, id });
    assert.equal('ok' in told && (told.ok as { allocations: object }).allocations, found.get(id) ?? {}, id);
  }
}
