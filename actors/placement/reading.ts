// Putting together what several shards say of consumers, so that nobody sees half of a change: all are asked twice, and
// the answers count when none of these consumers was changed between the two, and nothing is in doubt in the second.
// A change that one shard has made was held by all of them before; so whoever does not show it either doubts, or has made
// it between the two.

import type { ConsumerRead } from './holding.ts';

/** What one shard said, by consumer. */
export type ShardRead = Readonly<Record<string, ConsumerRead>>;

/** What each consumer holds over all shards, by provider and class; null when the shards must be asked once more. */
export function putTogether(
  first: readonly ShardRead[],
  second: readonly ShardRead[],
): Record<string, Record<string, Readonly<Record<string, number>>>> | null {
  const whole = new Map<string, Record<string, Readonly<Record<string, number>>>>();
  for (const [shard, said] of second.entries()) {
    for (const [consumer, { allocations, changedBy, doubt }] of Object.entries(said)) {
      if (doubt !== null || first[shard]?.[consumer]?.changedBy !== changedBy) return null;
      whole.set(consumer, { ...whole.get(consumer), ...allocations });
    }
  }
  // Consumers may have any name, `__proto__` too.
  return Object.fromEntries(whole);
}
