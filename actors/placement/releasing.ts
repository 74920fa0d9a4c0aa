// Giving back what consumers hold: an attempt, all but what may still run, for good, or because they move to a tree of
// another shard.

import type { Address } from '../actor.ts';
import type { Release } from '../messages/placement.ts';
import { commit, type ShardWork, tellReleased } from './work.ts';

export function release(work: ShardWork, asked: Release, from: Address): void {
  const { state, turn } = work;
  const { consumer: id, attempt, before, keep, deleted } = asked;
  if (before !== undefined) {
    moveAway(work, id, before, keep ?? []);
    return turn.send(from, { type: 'released', consumer: id, before, deleted: false });
  }
  const consumer = state.consumers.holding.get(id);
  // What a deleted consumer still holds was kept on purpose, and goes back attempt by attempt.
  const isOver = attempt === undefined && state.consumers.deleted.has(id);
  const freed = (consumer?.held ?? []).filter((one) =>
    attempt === undefined ? !isOver && !keep?.includes(one.attempt) : one.attempt === attempt,
  );
  if (freed.length > 0 || (deleted && !state.consumers.deleted.has(id))) {
    commit(work, { type: 'released', consumer: id, attempt, keep, deleted, at: turn.now });
  } else if (!state.consumers.deleted.has(id) && (attempt === undefined || attempt > (consumer?.latest ?? -1))) {
    commit(work, { type: 'nothing-held', consumer: id });
  }
  tellReleased(work, id, freed, deleted);
  turn.send(from, { type: 'released', consumer: id, deleted, ...(attempt === undefined ? {} : { attempt }) });
}

/** The consumer goes to another shard: what it leaves behind is given back, and what is late comes to nothing. */
function moveAway(work: ShardWork, consumer: string, before: number, keep: readonly number[]): void {
  const { consumers } = work.state;
  if (consumers.deleted.has(consumer)) return;
  const known = consumers.holding.get(consumer);
  const freed = (known?.held ?? []).filter(({ attempt }) => attempt < before && !keep.includes(attempt));
  const isAtHome = known !== undefined && known.latest < before && known.away !== true;
  if (freed.length > 0 || isAtHome || (known?.latest ?? 0) < before - 1) {
    commit(work, { type: 'moved-away', consumer, before, keep });
  }
  tellReleased(work, consumer, freed, false);
}
