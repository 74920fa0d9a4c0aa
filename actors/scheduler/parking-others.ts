// Requests that wait, and want to be with other instances or apart from them: where these are may change unheard, by other
// schedulers or inside a cell, so it is asked when such a request is parked, and from then on now and then.

import type { Located } from '../messages/placement.ts';
import { askWhere, companyOf, isEnough, learnRoots } from './locating.ts';
import type { Company } from './request.ts';
import type { Locating, Lot, Work } from './state.ts';

/** How often it is asked where those are by whom others go, ms, and of how many lots at a time. */
const OTHERS_MS = 1_000;
const MAX_ASKED = 32;
/** Of how many lots beside these it is asked, who want to be with others, where somebody has taken something since. */
const MAX_TO_JOIN = 256;
/** How often it is asked because something has changed there, ms, and of how many lots at a time. */
const MOVED_MS = 2;
const MAX_MOVED = 8;
const NOWHERE: ReadonlySet<string> = new Set();

export const OTHERS_WAKE = 'others';
export const MOVED_WAKE = 'moved';

/** An instance has a host: it may be what those wait for who want to be with it. */
export function tellCame({ state: { parking } }: Work, instance: string): void {
  for (const { kind } of parking.awaiting.get(instance) ?? []) if (kind !== null) parking.hopeful.add(kind);
}

/** Asks where the instances are by which a lot goes, and from then on now and then: others may give them hosts. */
export function askWhereOthersAre(work: Work, lot: Lot): void {
  const { parking } = work.state;
  const [head] = lot.queue;
  if (head === undefined) return;
  if (parking.goingByOthers.size === 0) work.turn.wakeAfter(OTHERS_WAKE, OTHERS_MS);
  parking.goingByOthers.delete(lot);
  parking.goingByOthers.add(lot);
  lot.askedAt = work.turn.steady;
  if (lot.locating !== null) learnOthers(work, lot, lot.locating);
  lot.locating = askWhere(work, head.asked.spec, [], lot.locating ?? undefined);
  // Last of those that are not answered.
  parking.locating.delete(lot.locating.ask);
  parking.locating.set(lot.locating.ask, lot);
}

/**
 * Asks where they are because something has changed there, a few lots at a time: on a host that many keep away from
 * something may change all the time.
 */
export function askWhetherOthersMoved({ state: { parking }, turn }: Work, lot: Lot): void {
  if (parking.toLocate.size === 0) turn.wakeAfter(MOVED_WAKE, MOVED_MS);
  parking.toLocate.add(lot);
}

/** Asks where those are by whom the next of the lots go where something has changed. */
export function askNextMoved(work: Work): void {
  const { toLocate } = work.state.parking;
  for (const lot of [...toLocate].slice(0, MAX_MOVED)) {
    toLocate.delete(lot);
    if (lot.locating === null) askWhereOthersAre(work, lot);
    // An answer that is under way may not tell of it.
    else lot.isToLocateAgain = true;
  }
  if (toLocate.size > 0) work.turn.wakeAfter(MOVED_WAKE, MOVED_MS);
}

/**
 * Asks anew where those are by whom some of the waiting go, and again where an answer may have been lost. With whom they want
 * to be, that one may have got a host from another scheduler: of those who wait for that more are asked of, once something
 * was taken.
 */
export function followOthers(work: Work): void {
  const { goingByOthers, locating } = work.state.parking;
  const unanswered = [...locating.values()].slice(0, MAX_ASKED);
  for (const lot of new Set([...unanswered, ...[...goingByOthers].slice(0, MAX_ASKED)])) askWhereOthersAre(work, lot);
  for (const lot of toJoin(work)) askWhetherOthersMoved(work, lot);
  if (goingByOthers.size > 0) work.turn.wakeAfter(OTHERS_WAKE, OTHERS_MS);
}

/** Some of the lots that want to be with others, and of which it was not asked since something was taken anywhere. */
function toJoin({ state: { parking, view } }: Work): Lot[] {
  const found: Lot[] = [];
  for (const lot of parking.goingByOthers) {
    if (found.length === MAX_TO_JOIN) break;
    if (lot.awaits.length > 0 && lot.askedAt <= view.takenAt) found.push(lot);
  }
  return found;
}

/** Placement has told where others are; true when that was for those who wait. */
export function locatedForParked(work: Work, message: Located): boolean {
  const { parking } = work.state;
  const lot = parking.locating.get(message.ask);
  if (lot?.locating?.ask !== message.ask) return false;
  if (learnRoots(lot.locating, message)) learnOthers(work, lot, lot.locating);
  return true;
}

/** Takes it for granted that they are where they are known to be, if that is enough. */
function learnOthers(work: Work, lot: Lot, locating: Locating): void {
  const [head] = lot.queue;
  if (head !== undefined && !isEnough(work, head.asked.spec, locating)) return;
  const { parking } = work.state;
  parking.locating.delete(locating.ask);
  lot.locating = null;
  for (const parked of lot.queue) {
    const company = companyOf(parked.asked.spec, locating);
    if (lot.kind !== null && !isSameCompany(company, parked.request.company)) parking.hopeful.add(lot.kind);
    parked.request = { ...parked.request, company };
  }
  if (!lot.isToLocateAgain) return;
  lot.isToLocateAgain = false;
  askWhetherOthersMoved(work, lot);
}

function isSameCompany(one: Company, other: Company | undefined): boolean {
  const alike = (some: ReadonlySet<string> = NOWHERE, others: ReadonlySet<string> = NOWHERE) =>
    some.size === others.size && [...some].every((root) => others.has(root));
  return other !== undefined && alike(one.far, other.far) && alike(one.near, other.near);
}
