// Deleting, which wins in every state: here when no cell has the instance, by its cell otherwise.

import type { Address } from '../actor.ts';
import { waitMs, wakeOfBuild } from '../builds.ts';
import { cellAddress } from '../routing.ts';
import { wakeId } from '../wakes.ts';
import { advance } from './building.ts';
import { release } from './releasing.ts';
import { type Entry, wantHosts } from './state.ts';
import { stopWaiting } from './waiting.ts';
import { commit, decline, type Work } from './work.ts';

export const DELETE_WAKE = 'delete';

export function remove(work: Work, ask: number, instance: string, from: Address): void {
  const entry = work.state.instances.get(instance);
  if (entry === undefined) return decline(work, from, ask, 'not-found', `there is no instance '${instance}'`);
  if (entry.phase === 'here' && entry.cell === null) {
    const open = work.state.requests.get(entry.request);
    advance(work, instance, { type: 'DELETED' });
    if (open !== undefined && !work.state.requests.has(entry.request)) stopWaiting(work, entry.request, open);
    // The claim for it is refused from now on, which is no reason to fail the others: they are asked for anew.
    wantHosts(work.state, entry.request);
  } else if (entry.phase === 'here' || entry.phase === 'in-cell') {
    commit(work, { type: 'deleting', instance, at: work.turn.now });
    work.turn.cancelWake(wakeOfBuild(instance));
    deleteInCell(work, instance, entry);
  } else if (entry.phase === 'failed') {
    if (entry.releaseOwed) commit(work, { type: 'deleting', instance, at: work.turn.now });
    else commit(work, { type: 'deleted', instance, at: work.turn.now });
  }
  work.turn.send(from, { type: 'delete-accepted', ask, instance, state: entry.phase });
}

export function deleteInCell({ turn, patience }: Work, instance: string, { cell, repeats }: Entry): void {
  const to = cellAddress(cell as string);
  turn.send(to, { type: 'delete', instance });
  turn.wakeAfter(wakeId(DELETE_WAKE, instance), waitMs(patience, repeats, instance), to);
}

/** The cell has cleared the instance away, or never had it: then nobody but this shard gives its resources back. */
export function removed(work: Work, instance: string): void {
  const entry = work.state.instances.get(instance);
  if (entry?.phase !== 'deleting' || entry.cell === null || entry.releaseOwed) return;
  work.turn.cancelWake(wakeId(DELETE_WAKE, instance));
  if (entry.handedOver) {
    commit(work, { type: 'deleted', instance, at: work.turn.now });
  } else {
    commit(work, { type: 'removed', instance });
    release(work, instance, entry);
  }
}
