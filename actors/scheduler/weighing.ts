// Weighs hosts for a shape of request: by the numbers of its family, of all hosts in one go where much has changed; and by a
// look at each of those of which these do not tell all.

import { effort } from '../fitting/effort.ts';
import type { ServerPreference } from '../fitting/offer.ts';
import type { Obstacle } from './census.ts';
import { type Family, KIND, keepUp } from './families.ts';
import { type Demand, isBeyondUnit, LACKS, lackOn, shortOf, type Worked, weightIn } from './family-numbers.ts';
import { HARD_TO_TELL, judge } from './judging.ts';
import type { Shape } from './shape.ts';
import type { EachOnce, Slots } from './slots.ts';
import { changesEnd, type View } from './view.ts';
import { lookAgainAt } from './view-hosts.ts';
import { changeOf, type Overrides, weightOf } from './weighers/weigher.ts';

/** So many hosts are weighed by the numbers of a family, all in one go, in the time in which one is put into its place. */
const IN_ONE_GO = 25;

/** What of a fleet hosts are weighed by. */
interface Fleet {
  readonly view: View;
  readonly rankings: {
    readonly overrides: Overrides;
    readonly preference: ServerPreference | undefined;
    readonly countsRefusals: boolean;
    readonly eachOnce: EachOnce;
    readonly worked: Worked;
  };
}

/** Whether it takes less to weigh all hosts in one go than so many one by one. */
export function isFarBehind({ slots }: Shape, changes: number): boolean {
  return changes * IN_ONE_GO >= slots.size;
}

/** Has a family know of what has changed since it was looked at last. */
function keepFamilyUp({ rankings: { eachOnce, overrides }, view }: Fleet, family: Family, slots: Slots): void {
  const end = changesEnd(view);
  if (family.seen === end) return;
  const changed =
    family.seen < slots.changesDropped
      ? slots.all
      : eachOnce.of(slots.changes, family.seen - slots.changesDropped, slots.size);
  keepUp(family, slots, view, overrides, changed);
  family.seen = end;
}

/**
 * Weighs hosts anew that have changed, or all.
 * @param looks How many looks at providers those that fitted may take, and the others, before they are searched no further.
 */
export function weighAll(fleet: Fleet, shape: Shape, changed: readonly number[], looks: number): void {
  const { family, slots } = shape;
  shape.widen(slots.size);
  if (family !== null) keepFamilyUp(fleet, family.known, slots);
  const isInOneGo = family !== null && isFarBehind(shape, changed.length);
  if (isInOneGo) weighInOneGo(fleet, shape, changed);
  shape.seen = changesEnd(fleet.view);
  if (isInOneGo && shape.isToldByFamily) return;
  // Those that fitted come first, so that none is lost because of what others cost.
  let end = effort.looks + looks;
  const others: number[] = [];
  for (const slot of changed) {
    if (family !== null && (isInOneGo ? isToldByNumbers(shape, slot) : byNumbers(fleet, shape, slot))) continue;
    if (shape.isRanked(slot)) weigh(fleet, shape, slot, effort.looks < end);
    else others.push(slot);
  }
  end = effort.looks + looks;
  for (const slot of others) weigh(fleet, shape, slot, effort.looks < end);
}

/** Weighs all hosts of which its family tells all. */
function weighInOneGo({ rankings: { countsRefusals, worked } }: Fleet, shape: Shape, changed: readonly number[]): void {
  const { slots, unsearched } = shape;
  const { known, demands } = shape.family as NonNullable<Shape['family']>;
  const { kinds, cells, obstacles } = known;
  worked.workOut(known, demands, slots.size);
  const { weights, lacks } = worked;
  shape.loosen(changed);
  if (worked.areAllServed && shape.allServedAt === known.revision) {
    for (let slot = 0; slot < slots.size; slot += 1) {
      if (kinds[slot] === KIND.plain) shape.weights[slot] = weights[slot] as number;
    }
    shape.isToldByFamily = true;
    return;
  }
  let isToldByFamily = true;
  for (let slot = 0; slot < slots.size; slot += 1) {
    const kind = kinds[slot];
    const lack = lacks[slot] as number;
    if (kind === KIND.other || (kind === KIND.plain && lack === LACKS.beyondUnit)) {
      isToldByFamily = false;
      continue;
    }
    if (unsearched.size > 0) unsearched.delete(slots.roots[slot] as string);
    if (kind === KIND.plain && lack === LACKS.nothing) {
      const cell = cells[slot] as string;
      const weight = weights[slot] as number;
      if (!shape.isRankedAs(slot, cell, weight)) shape.rank(slot, slots.roots[slot] as string, cell, weight);
    } else if (kind === KIND.none || !countsRefusals) shape.leave(slot);
    else
      shape.refuse(slot, kind === KIND.plain ? lacking(demands[lack] as Demand, slot) : (obstacles[slot] as Obstacle));
  }
  shape.isToldByFamily = isToldByFamily;
  shape.allServedAt = isToldByFamily && worked.areAllServed ? known.revision : -1;
}

function isToldByNumbers({ family }: Shape, slot: number): boolean {
  const { known, demands } = family as NonNullable<Shape['family']>;
  const kind = known.kinds[slot];
  return kind !== KIND.other && (kind !== KIND.plain || !isBeyondUnit(demands, slot));
}

function lacking(demand: Demand, slot: number): Obstacle {
  return { code: 'exceeds-capacity', about: demand.column.resourceClass, short: shortOf(demand, slot) };
}

/** Weighs a host anew by what its family knows of it; false where that does not tell all. */
function byNumbers({ rankings: { countsRefusals } }: Fleet, shape: Shape, slot: number): boolean {
  const { known, demands } = shape.family as NonNullable<Shape['family']>;
  const kind = known.kinds[slot];
  if (!isToldByNumbers(shape, slot)) return false;
  if (shape.unsearched.size > 0) shape.unsearched.delete(shape.slots.roots[slot] as string);
  if (kind === KIND.none) {
    shape.leave(slot);
    return true;
  }
  if (kind === KIND.refused) {
    const obstacle = known.obstacles[slot] as Obstacle;
    if (countsRefusals) shape.refuse(slot, obstacle);
    else shape.leave(slot);
    return true;
  }
  const lack = lackOn(demands, slot);
  if (lack === LACKS.nothing) {
    shape.rank(slot, shape.slots.roots[slot] as string, known.cells[slot] as string, weightIn(known, demands, slot));
  } else if (countsRefusals) shape.refuse(slot, lacking(demands[lack] as Demand, slot));
  else shape.leave(slot);
  return true;
}

/** Weighs a host anew, of which much was not searched to the end. */
export function weighAnew(fleet: Fleet, shape: Shape, root: string, isThorough: boolean): void {
  const slot = shape.slots.of(root);
  if (slot !== undefined) weigh(fleet, shape, slot, isThorough);
}

/** Weighs a host anew by all that is known of it. */
function weigh(
  { rankings: { overrides, preference, countsRefusals }, view }: Fleet,
  shape: Shape,
  slot: number,
  isThorough: boolean,
): void {
  const root = shape.slots.roots[slot] as string;
  const host = view.hosts.get(root);
  const judged =
    host === undefined
      ? undefined
      : judge(view, shape.filters, shape.spec, host, preference, isThorough, countsRefusals);
  // A filter of somebody's own may say the same word: what was searched to the end is not searched again.
  if (!isThorough && judged?.obstacle?.code === HARD_TO_TELL) shape.unsearched.add(root);
  else shape.unsearched.delete(root);
  if (host === undefined || judged === undefined) return shape.leave(slot);
  if (judged.obstacle !== null) {
    if (countsRefusals) shape.refuse(slot, judged.obstacle);
    else shape.leave(slot);
    return;
  }
  const { facts, tree, allocations } = judged;
  const weight = weightOf(shape.weighers, { host: facts, tree, allocations }, overrides);
  for (const { weigher } of shape.weighers) {
    const at = weigher.changesAt === undefined ? null : changeOf(weigher, facts);
    if (at !== null && at > view.now) lookAgainAt(view, root, at);
  }
  shape.rank(slot, root, host.cell, weight);
}
