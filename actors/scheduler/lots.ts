// The lines of requests that wait: who asks for the same, in a project, in the order in which they came. A place in line is
// kept while whoever has it is out of line for the moment.

import { mapKey } from '../map-key.ts';
import type { Select } from '../messages/scheduler.ts';
import { addTo, deleteFrom } from '../multimap.ts';
import { awaitAnswer, isAwaited } from './hearing.ts';
import { dropFromLine, getOutOfLine, nextNumber, placeInLine } from './in-line.ts';
import { namesOthers } from './locating.ts';
import { rankedAlike } from './ranking/ranking.ts';
import type { Away, Lot, Open, Parking, Work } from './state.ts';

/** How often what is given up is dropped, ms. */
const SWEEP_MS = 10_000;

export const GIVEN_UP_WAKE = 'given-up';

export function emptyParking(): Parking {
  return {
    lots: new Map(),
    outOfLine: new Set(),
    inLineOf: new Map(),
    kinds: new Map(),
    hopeful: new Set(),
    byRequest: new Map(),
    awaiting: new Map(),
    goingByOthers: new Set(),
    locating: new Map(),
    toLocate: new Set(),
    servedAt: new Map(),
    served: 0,
    numbered: 0,
    serving: new Map(),
    waitsAgainAt: Number.NEGATIVE_INFINITY,
    heardUntil: Number.NEGATIVE_INFINITY,
    notesFrom: null,
    awaitsSince: Number.NEGATIVE_INFINITY,
  };
}

function lotKeyOf({ instances, spec, where, project }: Select): string {
  return mapKey(JSON.stringify([instances.length, spec, where, project]));
}

/** The same for lots that the same hosts have room for. Where a group counts, or other instances, each is of its own kind. */
function kindKeyOf({ state: { rankings } }: Work, { asked: { instances, spec, where }, request }: Open): string | null {
  if (spec.instanceGroup !== undefined || namesOthers(spec)) return null;
  const alike = rankedAlike(rankings, request);
  return alike === null ? null : mapKey(JSON.stringify([alike, instances.length, spec, where]));
}

/** Whether a request that has waited is looked at once more, for the last time. */
function isLastLook({ asked }: Pick<Open, 'asked'>): boolean {
  return asked.waits?.last === true;
}

/** Whether it waits for a host where there is none. */
export function mayWait(open: Open): boolean {
  return open.asked.waits !== undefined && !isLastLook(open) && open.hopeless === null;
}

/** The lot that a request belongs to, if others that ask for the same wait already, or are out of line for the moment. */
export function lotOf(work: Work, { key, asked }: Pick<Open, 'key' | 'asked'>): Lot | undefined {
  if (asked.waits === undefined) return undefined;
  const lot = work.state.parking.lots.get(lotKeyOf(asked));
  if (lot === undefined || lot.queue.length > 0) return lot;
  return [...lot.away].some(([other, away]) => other !== key && isKept(work, other, away)) ? lot : undefined;
}

/** Whether a request that is looked at for the last time would overtake one of its lot who came before and waits on. */
function wouldOvertake(work: Work, { queue: [head], away }: Lot, { key, asked }: Open): boolean {
  const place = placeInLine(asked);
  if (head !== undefined && placeInLine(head.asked) < place) return true;
  return [...away].some(([other, one]) => {
    const before = one.place < place && other !== key ? work.state.open.get(other) : undefined;
    return before !== undefined && !isLastLook(before) && isKept(work, other, one);
  });
}

/**
 * Others that ask for the same wait already: it is not tried before its turn, or, the last time, if it came before them. Nor
 * is it, if it may wait, while it is not decided whose turn it is that something has come free for.
 */
export function isBehindOthers(work: Work, open: Open): boolean {
  if (open.turnOfProject !== null) return false;
  if (mayWait(open) && !isAlone(work, open) && isSomebodyDue(work)) return true;
  const lot = lotOf(work, open);
  return lot !== undefined && (!isLastLook(open) || wouldOvertake(work, lot, open));
}

/** Whether nobody else waits, or is out of line for the moment. */
function isAlone({ state: { parking } }: Work, { key }: Open): boolean {
  const [lot] = parking.lots.values();
  return parking.lots.size === 1 && lot?.queue.length === 0 && lot.away.size === 1 && lot.away.has(key);
}

/** Whether something has come free that those who wait have still to be looked at for. */
export function isSomebodyDue({ state: { parking, view }, turn: { steady } }: Work): boolean {
  if (parking.lots.size === 0) return false;
  if (view.freed !== null && view.freed.size > 0) return true;
  for (const { inLine } of parking.hopeful) {
    if (inLine.some(({ notBefore }) => notBefore <= steady)) return true;
  }
  return false;
}

/** The lot of a request. */
export function openLot(work: Work, open: Open): Lot {
  const { asked } = open;
  const { parking, view } = work.state;
  const key = lotKeyOf(asked);
  const known = parking.lots.get(key);
  if (known !== undefined) return known;
  const lot: Lot = {
    key,
    project: asked.project ?? '',
    awaits: asked.spec.tree?.heldBy ?? [],
    queue: [],
    away: new Map(),
    notBefore: 0,
    kindKey: kindKeyOf(work, open) ?? key,
    kind: null,
    stands: { servedAt: 0, place: 0 },
    number: nextNumber(parking),
    locating: null,
    isToLocateAgain: false,
    askedAt: Number.NEGATIVE_INFINITY,
  };
  parking.lots.set(key, lot);
  parking.outOfLine.add(lot);
  for (const instance of lot.awaits) addTo(parking.awaiting, instance, lot);
  view.freed ??= new Set();
  if (parking.lots.size === 1) work.turn.wakeAfter(GIVEN_UP_WAKE, SWEEP_MS);
  return lot;
}

/** A request that may wait has no host, and why is still looked for: it has its place in line from now on. */
export function keepPlace(work: Work, open: Open): void {
  openLot(work, open).away.set(open.key, { place: placeInLine(open.asked), at: awaitAnswer(work) });
}

/** Whether the place of a request that is out of line is kept: until it has claimed, or is in line again. */
function isKept(work: Work, key: string, { at }: Away): boolean {
  const open = work.state.open.get(key);
  if (open === undefined) return false;
  const isGivingBack = open.givingBack !== null;
  // To find out why it has no host takes some turns, and nobody is waited for; one whose time is over is in nobody's way.
  if (open.failing && !isGivingBack) return !isLastLook(open);
  // Also while it is asked what it holds already: what comes free meanwhile is its to claim.
  const isUndecided = open.gathering !== null || isGivingBack || open.locating !== null || open.promised.size === 0;
  // Where somebody does not answer, the others are not held up for long.
  return isUndecided && isAwaited(work, at);
}

/** Whether one who came before the first in line is out of it for the moment. */
export function isHeldUp(work: Work, { queue, away }: Lot): boolean {
  for (const [key, one] of away) {
    if (!isKept(work, key, one)) away.delete(key);
    else if (queue[0] !== undefined && one.place <= placeInLine(queue[0].asked)) return true;
  }
  return false;
}

/** Takes a request out of line that is asked for anew; its place is kept. */
export function stepOut(work: Work, { key, asked }: Pick<Open, 'key' | 'asked'>): void {
  const lot = getOutOfLine(work.state.parking, key);
  lot?.away.set(key, { place: placeInLine(asked), at: awaitAnswer(work) });
}

/** Forgets a request that is not wanted any more, or not what was parked in that round or before. */
export function withdraw(work: Work, key: string, round = Number.POSITIVE_INFINITY): void {
  const parked = work.state.parking.byRequest.get(key);
  if (parked === undefined || parked.asked.round > round) return;
  const lot = getOutOfLine(work.state.parking, key);
  if (lot !== undefined) dropEmpty(work, lot);
}

export function dropEmpty({ state: { parking, view } }: Work, lot: Lot): void {
  if (lot.queue.length > 0 || lot.away.size > 0) return;
  parking.lots.delete(lot.key);
  parking.outOfLine.delete(lot);
  parking.goingByOthers.delete(lot);
  parking.toLocate.delete(lot);
  if (lot.locating !== null) parking.locating.delete(lot.locating.ask);
  for (const instance of lot.awaits) deleteFrom(parking.awaiting, instance, lot);
  if (parking.lots.size > 0) return;
  view.freed = null;
  parking.servedAt.clear();
}

/** Drops what its asker has given up: whoever still wants it would have asked again. */
export function dropGivenUp(work: Work): void {
  const { parking } = work.state;
  for (const lot of [...parking.lots.values()]) {
    dropFromLine(parking, lot, ({ endsAt }) => endsAt <= work.turn.steady);
    isHeldUp(work, lot);
    dropEmpty(work, lot);
  }
  if (parking.lots.size > 0) work.turn.wakeAfter(GIVEN_UP_WAKE, SWEEP_MS);
}
