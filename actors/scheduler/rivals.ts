// Rivals: a request for several holds what it was granted while it looks for the rest, and gives it back if there is none.
// So one that finds no room, while others have claimed lately, looks once more, each at a time of its own: of those that stand
// in each other's way one fails first, and what it held serves another. Who holds nothing looks when those are through.

import { claimsRefused, selection as selectionMachine } from '../../machines/selection.ts';
import { begin } from '../../machines/step.ts';
import { fnv1a, scattered } from '../routing.ts';
import { wakeId } from '../wakes.ts';
import { mayWait } from './lots.ts';
import { shapeOf } from './ranking/ranking.ts';
import type { Shape } from './ranking/shape.ts';
import { contextOf, RIVALS_WAKE, tellSelecting } from './selecting.ts';
import type { Open, Work } from './state.ts';

/** For how long it waits at most, ms, with something held and with nothing: longer than others take to hear of a failure. */
export const OUTWAITS_MS = { holding: 300, empty: 600 } as const;

/** Has a request without a host wait for what becomes of others' claims; false when it has, or there were none lately. */
export function awaitsRivals(work: Work, open: Open): boolean {
  const { state, turn } = work;
  if (mayWait(open)) return false;
  if (open.outwaits === null) {
    const isContended = turn.steady < state.view.takenAt + OUTWAITS_MS.holding;
    if (!isContended || !mayLackRoomOnly(shapeOf(state, open.request))) return false;
    const isHolding = open.waiting.size < open.asked.instances.length;
    const afterMs = (isHolding ? 0 : OUTWAITS_MS.holding) + momentOf(open);
    open.outwaits = turn.steady + afterMs;
    turn.wakeAfter(wakeId(RIVALS_WAKE, open.key), afterMs);
    tellSelecting(work, open);
  }
  return turn.steady < open.outwaits;
}

/** At which moment it looks, of all those at which one that holds something may, ms: none comes at once. */
function momentOf({ key }: Open): number {
  const earliest = OUTWAITS_MS.holding / 4;
  return earliest + (scattered(fnv1a(key)) % (OUTWAITS_MS.holding - earliest));
}

/** Lets the hosts that refused an instance be tried again: what was in the way may be gone. */
export function forgiveRefusals(open: Open, instance: string): void {
  const passing = claimsRefused(contextOf(open, instance));
  open.machines.set(instance, begin(selectionMachine, { instance, passing }).snapshot);
}

/** What stands in the way on a host that others have filled, or just the part of it that a request could use. */
export const OF_ROOM: ReadonlySet<string> = new Set([
  'exceeds-capacity',
  'too-many-instances',
  'not-isolated',
  'not-one-subtree',
]);

/** Whether others may be all that is in the way: on hosts that they have filled, or that fit but are too few. */
function mayLackRoomOnly(shape: Shape): boolean {
  return shape.fits > 0 || shape.refusals.reasons().some(({ code }) => OF_ROOM.has(code));
}
