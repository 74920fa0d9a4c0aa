// Amounts of one resource class that inventories allow, and the search for the largest of them that would do.

import { unitAllowed } from '../../placement/inventory.ts';
import type { Provider } from '../../placement/providers.ts';

/** How many different units and steps of inventories are kept apart. */
const MAX_KINDS = 4;

/** Amounts from one to another, both included. All inventories that allow one allow those below it, as far as steps go. */
export interface Range {
  readonly from: number;
  readonly to: number;
  readonly step: number;
}

/** The amounts below what is asked that the trees may give: those in large steps first, as more inventories allow them. */
export function rangesBelow(
  asked: number,
  resourceClass: string,
  trees: readonly (readonly Provider[])[],
): readonly Range[] {
  const steps = new Set<number>();
  const units = new Set<number>();
  for (const tree of trees) {
    for (const { stocks } of tree) {
      const inventory = stocks.get(resourceClass)?.inventory;
      if (inventory === undefined) continue;
      steps.add(inventory.step_size);
      units.add(Math.max(1, inventory.min_unit));
    }
  }
  const largestFirst = (some: Set<number>) => [...some].sort((one, other) => other - one).slice(-MAX_KINDS);
  const ranges: Range[] = [];
  for (const step of largestFirst(steps)) {
    let below = asked;
    for (const unit of largestFirst(units)) {
      const from = Math.ceil(unit / step) * step;
      const to = (Math.ceil(below / step) - 1) * step;
      if (from <= to) ranges.push({ from, to, step });
      below = Math.min(below, from);
    }
  }
  return ranges;
}

/** How many times providers of a tree could give an amount, each by itself: no more instances can have it there. */
export function timesAtMost(amount: number, resourceClass: string, tree: readonly Provider[]): number {
  let times = 0;
  for (const { stocks } of tree) {
    const stock = stocks.get(resourceClass);
    if (stock === undefined || !unitAllowed(stock.inventory, amount)) continue;
    times += Math.max(0, Math.floor((stock.capacity - stock.used) / amount));
  }
  return times;
}

/** An amount of which is asked whether it would do. */
export interface Trial {
  readonly amount: number;
  /** It is enough to say of it at little cost that it would not. */
  readonly roughly: boolean;
}

/** Asks whether amounts would do, and answers in the end which was searched for; null: none would. */
export type AmountSearch = Generator<Trial, number | null, boolean>;

/** Searches for the largest amount above `floor` that would do. */
export function* largestOf(ranges: readonly Range[], floor: number): AmountSearch {
  let best: number | null = null;
  for (const { from, to, step } of ranges) {
    const above = (Math.floor((best ?? floor) / step) + 1) * step;
    const least = Math.max(from, above);
    const most = yield* lastOf({ from: least, to, step }, true);
    if (most === null) continue;
    const wouldDo = yield { amount: most, roughly: false };
    best = wouldDo ? most : ((yield* lastOf({ from: least, to: most - step, step }, false)) ?? best);
  }
  return best;
}

/** The last amount that would do, if all those before it would; null: none would. */
function* lastOf({ from, to, step }: Range, roughly: boolean): AmountSearch {
  if (from > to || !(yield { amount: from, roughly })) return null;
  let last = from;
  let beyond = to + step;
  while (beyond - last > step) {
    const middle = last + Math.floor((beyond - last) / (2 * step)) * step;
    if (yield { amount: middle, roughly }) last = middle;
    else beyond = middle;
  }
  return last;
}
