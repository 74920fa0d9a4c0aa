// What the numbers that a family keeps of its hosts come to for one of its members: of one host, and of all in one go, for
// which each number is looked at where it stands beside those of other hosts.

import type { RequestSpec, ResourceGroup } from '../messages/common.ts';
import type { Column, Family } from './families.ts';

/** What is said, in place of a class, of a host that is short of none, and of one of which more is asked than one allocation may have. */
export const LACKS = { nothing: -1, beyondUnit: -2 } as const;

/** A resource class of a request, as its family knows it. */
export interface Demand {
  readonly amount: number;
  readonly column: Column;
}

/** What a member of a family asks for, in the order in which it does. */
export function demandsOf({ columns }: Family, { groups }: RequestSpec): readonly Demand[] {
  const { resources } = groups[0] as ResourceGroup;
  return Object.keys(resources).map((resourceClass) => ({
    amount: resources[resourceClass] as number,
    column: columns.find((column) => column.resourceClass === resourceClass) as Column,
  }));
}

/** Whether more is asked of a class than one allocation may have on a host: that is for others to say. */
export function isBeyondUnit(demands: readonly Demand[], slot: number): boolean {
  for (const { amount, column } of demands) if (amount > (column.maxUnit[slot] as number)) return true;
  return false;
}

/** The first class that a host is short of, by its place. */
export function lackOn(demands: readonly Demand[], slot: number): number {
  for (let place = 0; place < demands.length; place += 1) {
    const { amount, column } = demands[place] as Demand;
    if ((column.used[slot] as number) + amount > (column.capacity[slot] as number)) return place;
  }
  return LACKS.nothing;
}

/** By how much a host is short of a class: amounts are whole, so of a capacity that is not no more can be had. */
export function shortOf({ amount, column }: Demand, slot: number): number {
  return amount - (Math.floor(column.capacity[slot] as number) - (column.used[slot] as number));
}

/** What a host with room weighs, to the last digit as its weighers would say. */
export function weightIn({ said }: Family, demands: readonly Demand[], slot: number): number {
  let weight = 0;
  for (const { goesBy, values } of said) {
    const value = values[slot] as number;
    if (goesBy === null) weight += value;
    else if (value !== 0)
      weight += value * (goesBy === 'all-classes' ? leastLeft(demands, slot) : left(demands, goesBy, slot));
  }
  return weight;
}

/** As `freeShare` says. */
function leastLeft(demands: readonly Demand[], slot: number): number {
  let least = 1;
  for (const { amount, column } of demands) {
    const share = shareLeft(column.capacity[slot] as number, column.used[slot] as number, amount);
    if (share < least) least = share;
  }
  return least;
}

/** As `free` says. */
function left(demands: readonly Demand[], column: Column, slot: number): number {
  return shareLeft(column.capacity[slot] as number, column.used[slot] as number, takenOf(demands, column));
}

function takenOf(demands: readonly Demand[], column: Column): number {
  let taken = 0;
  for (const demand of demands) if (demand.column === column) taken = demand.amount;
  return taken;
}

function shareLeft(capacity: number, used: number, taken: number): number {
  const free = Math.max(0, capacity - used);
  return capacity > 0 ? Math.max(0, free - taken) / capacity : 0;
}

/** So many hosts are worked out at a time: what is looked at again and again stays near at hand. */
const AT_A_TIME = 1_024;

/** What one member comes to on each host, by slot, until the next one is worked out; of those that are told by numbers. */
export class Worked {
  /** What a host with room weighs. */
  weights = new Float64Array(0);
  /** The first class that a host is short of, by its place. */
  lacks = new Int16Array(0);
  /** No host is short of anything. */
  areAllServed = true;
  /** The least share that is left of any class that is asked for. */
  #least = new Float64Array(0);

  /** As `isBeyondUnit`, `lackOn` and `weightIn` would say of each host. */
  workOut({ said }: Family, demands: readonly Demand[], size: number): void {
    if (this.weights.length < size) {
      const wider = Math.ceil(size * 1.25);
      this.weights = new Float64Array(wider);
      this.lacks = new Int16Array(wider);
      this.#least = new Float64Array(wider);
    }
    const { weights, lacks } = this;
    this.areAllServed = true;
    const least = this.#least;
    for (let from = 0; from < size; from += AT_A_TIME) {
      const to = Math.min(size, from + AT_A_TIME);
      lacks.fill(LACKS.nothing, from, to);
      least.fill(1, from, to);
      for (let place = 0; place < demands.length; place += 1) {
        if (!lookFor(demands[place] as Demand, place, lacks, least, from, to)) this.areAllServed = false;
      }
      weights.fill(0, from, to);
      for (const { goesBy, values, isNothing } of said) {
        if (isNothing) continue;
        if (goesBy === null) add(weights, values, from, to);
        else if (goesBy === 'all-classes') addTimes(weights, values, least, from, to);
        else addShares(weights, values, goesBy, takenOf(demands, goesBy), from, to);
      }
    }
  }
}

/** Notes on which hosts a class is the first to run short, and on which the least is left of it; answers whether it does on none. */
function lookFor(
  { amount, column }: Demand,
  place: number,
  lacks: Int16Array,
  least: Float64Array,
  from: number,
  to: number,
): boolean {
  const { used, capacity, maxUnit, leastUnit } = column;
  let areAllServed = true;
  for (let slot = from; slot < to; slot += 1) {
    const all = capacity[slot] as number;
    const rest = all - (used[slot] as number) - amount;
    if (rest < 0) {
      areAllServed = false;
      if (lacks[slot] === LACKS.nothing) lacks[slot] = place;
    }
    // As `shareLeft` says where there is room.
    const share = rest / all;
    if (share < (least[slot] as number)) least[slot] = share;
  }
  if (amount <= leastUnit) return areAllServed;
  for (let slot = from; slot < to; slot += 1) if (amount > (maxUnit[slot] as number)) lacks[slot] = LACKS.beyondUnit;
  return false;
}

function add(weights: Float64Array, values: Float64Array, from: number, to: number): void {
  for (let slot = from; slot < to; slot += 1) weights[slot] = (weights[slot] as number) + (values[slot] as number);
}

function addTimes(weights: Float64Array, values: Float64Array, times: Float64Array, from: number, to: number): void {
  for (let slot = from; slot < to; slot += 1) {
    weights[slot] = (weights[slot] as number) + (values[slot] as number) * (times[slot] as number);
  }
}

function addShares(
  weights: Float64Array,
  values: Float64Array,
  { used, capacity }: Column,
  taken: number,
  from: number,
  to: number,
): void {
  for (let slot = from; slot < to; slot += 1) {
    const share = shareLeft(capacity[slot] as number, used[slot] as number, taken);
    weights[slot] = (weights[slot] as number) + (values[slot] as number) * share;
  }
}
