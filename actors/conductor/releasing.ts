// Giving back, at placement, what was claimed for an instance that will not be.

import { waitMs } from '../builds.ts';
import { placementAddress } from '../routing.ts';
import type { Entry } from './state.ts';
import { commit, type Work } from './work.ts';

const RELEASED_WAKE = (instance: string): string => `release ${instance}`;

/** Whatever any claim took for the instance goes back, and no later claim for it can succeed. */
export function release({ turn, patience }: Work, instance: string, { repeats }: Entry): void {
  turn.send(placementAddress(0), { type: 'release', consumer: instance, deleted: true });
  turn.wakeAt(RELEASED_WAKE(instance), turn.now + waitMs(patience, repeats, instance), placementAddress(0));
}

export function released(work: Work, instance: string): void {
  const entry = work.state.instances.get(instance);
  if (entry === undefined || !entry.releaseOwed) return;
  work.turn.cancelWake(RELEASED_WAKE(instance));
  if (entry.phase === 'deleting') commit(work, { type: 'deleted', instance, at: work.turn.now });
  else commit(work, { type: 'released', instance });
}
