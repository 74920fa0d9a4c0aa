// What all placement shards say of consumers, put together: with several shards a consumer may be known to more than one,
// and for as long as something of an earlier attempt may run it holds resources in two.

import type { ConsumerState } from '../../actors/messages/placement.ts';

export function mergedConsumers(told: readonly ConsumerState[]): ConsumerState[] {
  const merged = new Map<string, ConsumerState>();
  for (const one of told) {
    const known = merged.get(one.consumer);
    if (known === undefined) merged.set(one.consumer, one);
    else merged.set(one.consumer, { consumer: one.consumer, held: [...known.held, ...one.held] });
  }
  return [...merged.values()];
}
