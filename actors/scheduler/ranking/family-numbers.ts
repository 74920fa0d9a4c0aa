// What the numbers that a family keeps of its hosts come to for one of its members: of one host, and of a box of them, of
// which it is told how good the best can be.

import type { RequestSpec, ResourceGroup } from '../../messages/common.ts';
import type { Bounds } from './bounds.ts';
import type { Box } from './boxes.ts';
import { type Column, OF_COLUMN } from './columns.ts';
import type { Family } from './families.ts';

/** A resource class of a request, as its family knows it. */
interface Demand {
  readonly amount: number;
  /** How much of it a host must have: as much again for each of several at once. */
  readonly total: number;
  readonly column: Column;
  /** Where rows have its measures. */
  readonly at: number;
}

/** A request of a family: what it asks for, in the order in which it does. */
export interface Member {
  readonly known: Family;
  readonly demands: readonly Demand[];
}

/** @param count For how many instances at once hosts must have room. They are weighed with what one of them takes. */
export function memberOf(known: Family, { groups }: RequestSpec, count = 1): Member {
  const { resources } = groups[0] as ResourceGroup;
  const demands = Object.keys(resources).map((resourceClass): Demand => {
    const column = known.columns.find((one) => one.resourceClass === resourceClass) as Column;
    const amount = resources[resourceClass] as number;
    return { amount, total: count * amount, column, at: column.at };
  });
  return { known, demands };
}

/** In place of a class that a host lacks. */
export const LACKS_NOTHING = -1;

/** The first class that a host cannot give as much of as is asked, by its place. */
export function lackOn({ known: { rows }, demands }: Member, slot: number): number {
  const { values, width } = rows;
  const row = slot * width;
  for (let place = 0; place < demands.length; place += 1) {
    const { amount, total, at } = demands[place] as Demand;
    const free = values[row + at + OF_COLUMN.free] as number;
    if (total > free || amount > (values[row + at + OF_COLUMN.maxUnit] as number)) return place;
  }
  return LACKS_NOTHING;
}

/** What a host weighs that has no room, and the best of a box in which none has. */
export const NO_ROOM = Number.NEGATIVE_INFINITY;

/** What a host with room weighs, to the last digit as its weighers would say. */
export function weightIn({ known: { said, rows }, demands }: Member, slot: number): number {
  const { values, width } = rows;
  const row = slot * width;
  // As `freeShare` says.
  let least = 1;
  for (const { amount, total, at } of demands) {
    const free = values[row + at + OF_COLUMN.free] as number;
    if (total > free || amount > (values[row + at + OF_COLUMN.maxUnit] as number)) return NO_ROOM;
    const share = (free - amount) / (values[row + at + OF_COLUMN.capacity] as number);
    if (share < least) least = share;
  }
  let weight = 0;
  for (const { goesBy, at, isNothing } of said) {
    if (isNothing) continue;
    const value = values[row + at] as number;
    if (goesBy === null) weight += value;
    else if (value !== 0) weight += value * (goesBy === 'all-classes' ? least : left(demands, goesBy, values, row));
  }
  return weight;
}

/** As `free` says. */
function left(demands: readonly Demand[], { at }: Column, values: Float64Array, row: number): number {
  const [capacity, free] = [values[row + at + OF_COLUMN.capacity], values[row + at + OF_COLUMN.free]];
  return shareLeft(capacity as number, free as number, takenOf(demands, at));
}

function takenOf(demands: readonly Demand[], at: number): number {
  for (const demand of demands) if (demand.at === at) return demand.amount;
  return 0;
}

function shareLeft(capacity: number, free: number, taken: number): number {
  return capacity > 0 ? Math.max(0, Math.max(0, free) - taken) / capacity : 0;
}

/** More than what sums of shares are rounded by. */
const ROUNDED_BY = 1e-9;

/**
 * The most that a host of a box with room can weigh. Of a box of hosts that differ in nothing it is what they weigh, to the
 * last digit.
 */
export function mostIn({ known: { said, bounds }, demands }: Member, { row, count }: Box): number {
  if (count === 0) return NO_ROOM;
  const { values } = bounds;
  const leastAt = row * bounds.width;
  const mostAt = leastAt + bounds.mostAt;
  let least = 1;
  for (const { amount, total, at } of demands) {
    const free = values[mostAt + at + OF_COLUMN.free] as number;
    if (total > free || amount > (values[mostAt + at + OF_COLUMN.maxUnit] as number)) return NO_ROOM;
    const largest = values[mostAt + at + OF_COLUMN.capacity] as number;
    const share =
      values[leastAt + at + OF_COLUMN.capacity] === largest
        ? (free - amount) / largest
        : Math.max(0, (values[mostAt + at + OF_COLUMN.share] as number) - amount / largest) + ROUNDED_BY;
    if (share < least) least = share;
  }
  let most = 0;
  for (const { goesBy, at, isNothing } of said) {
    if (isNothing) continue;
    const value = values[mostAt + at] as number;
    if (goesBy === null) most += value;
    else if (value > 0) most += value * (goesBy === 'all-classes' ? least : mostLeft(bounds, row, goesBy, demands));
    else if (value < 0) {
      most +=
        value * (goesBy === 'all-classes' ? leastOfAll(bounds, row, demands) : leastLeft(bounds, row, goesBy, demands));
    }
  }
  return most;
}

/** No host has a larger part of a class left. */
function mostLeft(bounds: Bounds, row: number, { at }: Column, demands: readonly Demand[]): number {
  const taken = takenOf(demands, at);
  const largest = bounds.most(row, at + OF_COLUMN.capacity);
  if (bounds.least(row, at + OF_COLUMN.capacity) === largest) {
    return shareLeft(largest, bounds.most(row, at + OF_COLUMN.free), taken);
  }
  return Math.max(0, bounds.most(row, at + OF_COLUMN.share) - taken / largest) + ROUNDED_BY;
}

/** Every host has as large a part of a class left. */
function leastLeft(bounds: Bounds, row: number, { at }: Column, demands: readonly Demand[]): number {
  const taken = takenOf(demands, at);
  const smallest = bounds.least(row, at + OF_COLUMN.capacity);
  if (bounds.most(row, at + OF_COLUMN.capacity) === smallest) {
    return shareLeft(smallest, bounds.least(row, at + OF_COLUMN.free), taken);
  }
  return smallest <= 0 ? 0 : Math.max(0, bounds.least(row, at + OF_COLUMN.share) - taken / smallest - ROUNDED_BY);
}

function leastOfAll(bounds: Bounds, row: number, demands: readonly Demand[]): number {
  let least = 1;
  for (const { column } of demands) least = Math.min(least, leastLeft(bounds, row, column, demands));
  return least;
}

/** The hosts of a box that fit. */
export function slotsWithRoom(member: Member, box: Box): number[] {
  const found: number[] = [];
  const gather = (one: Box): void => {
    if (mostIn(member, one) === NO_ROOM) return;
    const { division, slots } = one;
    for (const slot of slots ?? []) if (lackOn(member, slot) === LACKS_NOTHING) found.push(slot);
    if (division === null) return;
    gather(division.lower);
    gather(division.upper);
  };
  gather(box);
  return found;
}
