// Who waits in which order: the requests of a lot by their places, and the lots of a kind by the turns of their projects. All
// that these orders go by changes here.

import type { Select } from '../messages/scheduler.ts';
import { addTo, deleteFrom } from '../multimap.ts';
import { type Before, putIn, takeOut } from './in-order.ts';
import type { Kind, Lot, Parked, Parking } from './state.ts';

/** Of how many projects it is kept when they were served last: one of which that is long ago comes as soon as a new one. */
const MAX_PROJECTS_KEPT = 10_000;

export function placeInLine({ waits }: Pick<Select, 'waits'>): number {
  return waits?.since ?? 0;
}

const isAhead: Before<Parked> = (one, other) => {
  const [place, otherPlace] = [placeInLine(one.asked), placeInLine(other.asked)];
  return place === otherPlace ? one.number < other.number : place < otherPlace;
};

/** Whose turn comes first: of the project that was served longest ago, and there the lot whose head came first. */
export const isServedBefore: Before<Lot> = ({ stands: one, number }, { stands: other, number: otherNumber }) => {
  if (one.servedAt !== other.servedAt) return one.servedAt < other.servedAt;
  return one.place === other.place ? number < otherNumber : one.place < other.place;
};

/** The number of whoever comes next. */
export function nextNumber(parking: Parking): number {
  parking.numbered += 1;
  return parking.numbered;
}

/** A request gets in line, behind those of its lot that came before it. */
export function getInLine(parking: Parking, lot: Lot, one: Omit<Parked, 'lot' | 'number'>): Parked {
  const parked = { ...one, lot, number: nextNumber(parking) };
  parking.byRequest.set(one.key, parked);
  putIn(lot.queue, parked, isAhead);
  if (lot.queue[0] === parked) settle(parking, lot);
  return parked;
}

/** A request gets out of line; answers the lot in which it was. */
export function getOutOfLine(parking: Parking, key: string): Lot | undefined {
  const parked = parking.byRequest.get(key);
  if (parked === undefined) return undefined;
  const { lot } = parked;
  const isHead = lot.queue[0] === parked;
  parking.byRequest.delete(key);
  takeOut(lot.queue, parked, isAhead);
  if (isHead) settle(parking, lot);
  return lot;
}

/** Those of a lot that nobody wants any more get out of line. */
export function dropFromLine(parking: Parking, lot: Lot, isUnwanted: (one: Parked) => boolean): void {
  const left: Parked[] = [];
  for (const parked of lot.queue) {
    if (isUnwanted(parked)) parking.byRequest.delete(parked.key);
    else left.push(parked);
  }
  if (left.length === lot.queue.length) return;
  lot.queue = left;
  settle(parking, lot);
}

/** It is the turn of a project. */
export function noteServed(parking: Parking, project: string): void {
  const { servedAt } = parking;
  parking.served += 1;
  servedAt.delete(project);
  noteServedAt(parking, project, parking.served);
  if (servedAt.size > MAX_PROJECTS_KEPT) noteServedAt(parking, servedAt.keys().next().value as string, undefined);
}

/** Notes when a project was served last, counted; undefined: that is long ago. */
export function noteServedAt(parking: Parking, project: string, servedAt: number | undefined): void {
  if (servedAt === undefined) parking.servedAt.delete(project);
  else parking.servedAt.set(project, servedAt);
  for (const lot of parking.inLineOf.get(project) ?? []) settle(parking, lot);
}

/** Puts a lot where it belongs among those of its kind, now that its head may be another, or its project was served. */
function settle(parking: Parking, lot: Lot): void {
  const { kind: before } = lot;
  const [head] = lot.queue;
  if (before?.inLine.length === 1 && head !== undefined) {
    // Alone in its kind it stays where it is.
    lot.stands = standsOf(parking, lot, head);
    return;
  }
  if (before !== null) takeOut(before.inLine, lot, isServedBefore);
  lot.kind = head === undefined ? null : (before ?? kindFor(parking, lot));
  if (lot.kind !== null && head !== undefined) {
    lot.stands = standsOf(parking, lot, head);
    putIn(lot.kind.inLine, lot, isServedBefore);
  }
  if (before === lot.kind) return;
  if (before === null) joinLine(parking, lot);
  else leaveLine(parking, lot, before);
}

function standsOf({ servedAt }: Parking, { project }: Lot, { asked }: Parked): Lot['stands'] {
  return { servedAt: servedAt.get(project) ?? 0, place: placeInLine(asked) };
}

function kindFor({ kinds }: Parking, { kindKey: key }: Lot): Kind {
  return kinds.get(key) ?? { key, inLine: [], lookAgainAt: 0, homes: '' };
}

/** Somebody of a lot is in line now. */
function joinLine({ kinds, outOfLine, inLineOf }: Parking, lot: Lot): void {
  const { kind, project } = lot;
  if (kind !== null) kinds.set(kind.key, kind);
  outOfLine.delete(lot);
  addTo(inLineOf, project, lot);
}

/** Nobody of a lot is in line any more. */
function leaveLine({ kinds, hopeful, outOfLine, inLineOf }: Parking, lot: Lot, kind: Kind): void {
  if (kind.inLine.length === 0) {
    kinds.delete(kind.key);
    hopeful.delete(kind);
  }
  outOfLine.add(lot);
  deleteFrom(inLineOf, lot.project, lot);
}
