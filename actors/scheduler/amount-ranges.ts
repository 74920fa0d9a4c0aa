// Amounts of one resource class that inventories allow, and the search for the largest of them that would do.

import { unitAllowed } from '../placement/inventory.ts';
import type { Provider } from '../placement/providers.ts';

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

/**
 * The largest amount above `floor` that would do, or null.
 * @param mayDo Says at little cost that an amount would not do.
 */
export function largestOf(
  ranges: readonly Range[],
  floor: number,
  mayDo: (amount: number) => boolean,
  wouldDo: (amount: number) => boolean,
): number | null {
  let best: number | null = null;
  for (const { from, to, step } of ranges) {
    const above = (Math.floor((best ?? floor) / step) + 1) * step;
    const least = Math.max(from, above);
    const most = lastOf({ from: least, to, step }, mayDo);
    if (most === null) continue;
    best = wouldDo(most) ? most : (lastOf({ from: least, to: most - step, step }, wouldDo) ?? best);
  }
  return best;
}

/** The last amount that passes a test, if all those before it do; null: none does. */
function lastOf({ from, to, step }: Range, passes: (amount: number) => boolean): number | null {
  if (from > to || !passes(from)) return null;
  let last = from;
  let beyond = to + step;
  while (beyond - last > step) {
    const middle = last + Math.floor((beyond - last) / (2 * step)) * step;
    if (passes(middle)) last = middle;
    else beyond = middle;
  }
  return last;
}
