// What callers of the Placement API are told of who holds what, beside what a look at all consumers finds.

import * as assert from 'uvu/assert';
import { addAmounts } from '../../actors/amounts.ts';
import { showProviderAllocations, showUsages, type UsageOfType } from '../../actors/placement/api/reads.ts';
import { heldBy, ownerOf } from '../../actors/placement/consumers.ts';
import type { PlacementState } from '../../actors/placement/state.ts';

export function checkHolding(state: PlacementState): void {
  checkProviders(state);
  checkProjects(state);
}

function checkProviders(state: PlacementState): void {
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

function checkProjects(state: PlacementState): void {
  const found = new Map<string, Record<string, UsageOfType>>();
  for (const [id, consumer] of state.consumers.holding) {
    const { project, user, consumerType } = ownerOf(consumer);
    const held = heldBy(consumer);
    if (held.length === 0) continue;
    for (const whose of [`${project}`, `${project} ${user}`]) {
      const usages = found.get(whose) ?? {};
      found.set(whose, usages);
      const usage = usages[consumerType ?? ''] ?? { consumers: 0, resources: {} };
      usages[consumerType ?? ''] = usage;
      usage.consumers += 1;
      for (const { resources } of held) addAmounts(usage.resources, resources);
      if (consumer.several === true) usage.several = [...(usage.several ?? []), id].sort();
    }
  }
  const { owned } = state.consumers.tallies;
  const kept = [...owned].flatMap(([project, users]) => [
    project,
    ...[...users.keys()].map((user) => `${project} ${user}`),
  ]);
  for (const whose of new Set([...kept, ...found.keys()])) {
    const [project, user] = whose.split(' ') as [string, string | undefined];
    const told = showUsages(state, { type: 'usages', ask: 1, project, ...(user === undefined ? {} : { user }) });
    const usages = 'ok' in told ? (told.ok as Record<string, UsageOfType>) : {};
    for (const { several } of Object.values(usages)) several?.sort();
    assert.equal(usages, found.get(whose), whose);
  }
}
