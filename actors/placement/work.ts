// What the parts of a placement shard work with while they decide.

import type { Turn } from '../actor.ts';
import { applyToPlacement } from './apply.ts';
import type { Held } from './consumers.ts';
import type { PlacementRecord } from './records.ts';
import type { PlacementState } from './state.ts';

export interface ShardWork {
  readonly shard: number;
  /** How many shards there are. */
  readonly shards: number;
  readonly state: PlacementState;
  readonly turn: Turn<PlacementRecord>;
}

/** Applies and records what was decided. */
export function commit({ state, turn }: ShardWork, record: PlacementRecord): void {
  applyToPlacement(state, record);
  turn.record(record);
}

/** Consumer and provider events, for people: `placement.claim.<provider>.<outcome>`. */
export function tell(
  turn: Turn<PlacementRecord>,
  provider: string,
  outcome: string,
  body: Record<string, unknown>,
): void {
  turn.publish({ topic: ['placement', 'claim', provider, outcome], body: { at: turn.now, ...body }, cause: outcome });
}

/** Of all that is given back, in a move too: whoever follows the events counts by them what is held. */
export function tellReleased({ turn }: ShardWork, consumer: string, freed: readonly Held[], deleted: boolean): void {
  for (const { attempt, allocations } of freed) {
    tell(turn, allocations[0]?.provider ?? '', 'released', { consumer, attempt, deleted });
  }
}
