// Giving back, at placement, what was claimed for an instance that will not be.

import type { Address } from '../actor.ts';
import { waitMs } from '../builds.ts';
import { everyPlacement } from '../routing.ts';
import { wakeId } from '../wakes.ts';
import type { Entry } from './state.ts';
import { commit, type Work } from './work.ts';

export const RELEASE_WAKE = 'release';

/**
 * Whatever any claim took for the instance goes back, and no later claim for it can succeed, in any shard. Who has said so
 * is not recorded: another life asks all of them again, and they say it again.
 */
export function release({ state, turn, patience, placementShards }: Work, instance: string, { repeats }: Entry): void {
  let left = state.releasing.get(instance);
  if (left === undefined) {
    left = new Set(everyPlacement(placementShards));
    state.releasing.set(instance, left);
  }
  for (const shard of left) turn.send(shard, { type: 'release', consumer: instance, deleted: true });
  turn.wakeAfter(wakeId(RELEASE_WAKE, instance), waitMs(patience, repeats, instance), [...left][0]);
}

export function released(work: Work, instance: string, from: Address): void {
  const entry = work.state.instances.get(instance);
  if (entry === undefined || !entry.releaseOwed) return;
  const left = work.state.releasing.get(instance);
  if (work.placementShards > 1 && (left?.delete(from) !== true || left.size > 0)) return;
  work.state.releasing.delete(instance);
  work.turn.cancelWake(wakeId(RELEASE_WAKE, instance));
  if (entry.phase === 'deleting') commit(work, { type: 'deleted', instance, at: work.turn.now });
  else commit(work, { type: 'released', instance });
}
