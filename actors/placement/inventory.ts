// The arithmetic of inventories. The rules are those of the OpenStack Placement API: capacity is
// (total - reserved) * allocation_ratio, not rounded, and an amount must obey min_unit, max_unit and step_size.

import type { Inventory, Refusal } from '../messages/placement.ts';
import { present } from '../present.ts';

/** One resource class of one provider: how much there is, and how much of it is taken. */
export interface Stock {
  readonly inventory: Inventory;
  readonly capacity: number;
  readonly used: number;
}

export function capacityOf(inventory: Inventory): number {
  return (inventory.total - inventory.reserved) * inventory.allocation_ratio;
}

/** Whether the inventory allows a part of a claim to be of this amount, however much is free. */
export function unitAllowed(inventory: Inventory, amount: number): boolean {
  return amount >= inventory.min_unit && amount <= inventory.max_unit && amount % inventory.step_size === 0;
}

/** How much is left to take. There may be less than is taken: then nothing is. */
export function freeOf({ capacity, used }: Pick<Stock, 'capacity' | 'used'>): number {
  return Math.max(0, capacity - used);
}

/** Whether `amount` more can be taken. */
export function fits(stock: Stock, amount: number): boolean {
  return stock.used + amount <= stock.capacity;
}

/** Whether one allocation of this amount has room. */
export function hasRoom(stock: Stock, amount: number): boolean {
  return fits(stock, amount) && unitAllowed(stock.inventory, amount);
}

/** The largest amount below one that units do not allow, and the least above it, that can be taken beside `sameClaim`. */
function amountsNear({ inventory, capacity, used }: Stock, amount: number, sameClaim: number): number[] {
  const { min_unit, max_unit, step_size } = inventory;
  const most = Math.min(max_unit, Math.floor(capacity) - used) - sameClaim;
  const below = Math.floor(Math.min(amount, most) / step_size) * step_size;
  const above = Math.ceil(Math.max(amount, min_unit) / step_size) * step_size;
  const isBelow = below > 0 && below >= min_unit;
  return [...(isBelow ? [below] : []), ...(above > amount && above <= most ? [above] : [])];
}

/**
 * By how much an amount that units do not allow differs from the nearest one that can be taken beside `sameClaim`;
 * undefined: there is none, whatever were free or however little were asked.
 */
export function offUnitsBy(stock: Stock, amount: number, sameClaim = 0): number | undefined {
  const near = amountsNear(stock, amount, sameClaim);
  if (near.length > 0) return Math.min(...near.map((one) => Math.abs(one - amount)));
  const { min_unit, max_unit, step_size } = stock.inventory;
  const largest = Math.floor((max_unit - sameClaim) / step_size) * step_size;
  return amount > largest && largest > 0 && largest >= min_unit ? amount : undefined;
}

function offUnitsWords(stock: Stock, amount: number, sameClaim: number): string {
  const short = offUnitsBy(stock, amount, sameClaim);
  const { max_unit } = stock.inventory;
  if (sameClaim + amount > max_unit) {
    if (short === undefined) return '';
    // Else nobody could tell why it is off by more than what it exceeds.
    const all = Math.floor(stock.capacity);
    const left = Math.max(0, all - stock.used);
    return ` (${shortWords('unit-constraint', short)}${left < max_unit ? `, as ${left} of ${all} ${left === 1 ? 'is' : 'are'} free` : ''})`;
  }
  const near = amountsNear(stock, amount, sameClaim);
  return near.length === 0 ? '' : ` (nearest ${near.length === 1 ? 'amount' : 'amounts'} ${near.join(' and ')})`;
}

/** How many digits of a number tell all amounts apart. What a filter has computed may have more: 0.30000000000000004. */
const DIGITS = 12;

/** By how much a host falls short; an amount that units do not allow is off, as a larger one may do. */
export const shortWords = (code: string, short: number): string =>
  `${code === 'unit-constraint' ? 'off' : 'short'} by ${Number(short.toPrecision(DIGITS))}`;

/** `1 VCPU exceeds`, `2 VCPU exceed`. */
export const verb = (plural: string, amount: number): string => (amount === 1 ? `${plural}s` : plural);

/** Why `amount` cannot be taken beside `sameClaim` taken by the same claim, or null if it can. */
export function refusalOf(
  { id: provider, name }: { readonly id: string; readonly name: string },
  resourceClass: string,
  stock: Stock | undefined,
  amount: number,
  sameClaim: number,
): Refusal | null {
  if (stock === undefined) {
    const message = `provider '${name}' has no inventory of ${resourceClass}`;
    return { code: 'no-inventory', message, provider, resourceClass };
  }
  const { inventory } = stock;
  const ofUnits = (violated: string): Refusal => {
    const short = offUnitsBy(stock, amount, sameClaim);
    const message = `${violated}${offUnitsWords(stock, amount, sameClaim)}`;
    return { code: 'unit-constraint', message, provider, resourceClass, ...present({ short }) };
  };
  if (!unitAllowed(inventory, amount)) {
    const { min_unit, max_unit, step_size } = inventory;
    const rules = [
      ...(amount < min_unit ? [`min_unit ${min_unit}`] : []),
      ...(amount > max_unit ? [`max_unit ${max_unit}`] : []),
      ...(amount % step_size === 0 ? [] : [`step_size ${step_size}`]),
    ];
    const message = `${amount} ${resourceClass} on provider '${name}' ${verb('violate', amount)} its inventory's ${rules.join(' and ')}`;
    return ofUnits(message);
  }
  if (!fits(stock, sameClaim + amount)) {
    // Amounts are whole: of a capacity that is not, no more can be had than this.
    const all = Math.floor(stock.capacity);
    const left = all - stock.used - sameClaim;
    const short = amount - left;
    const ofAll = left === all ? '' : ` of ${all}`;
    // A scheduler counts what it is claiming as taken, so that may be more than there is.
    const free = left >= 0 ? `${left}${ofAll}` : `0${ofAll}, with ${-left} taken or being claimed beyond what there is`;
    const steps = inventory.step_size === 1 || left <= 0 ? '' : `, in steps of ${inventory.step_size}`;
    const others = sameClaim === 0 ? '' : ` after ${sameClaim} for another group`;
    const message =
      `${amount} ${resourceClass} ${verb('exceed', amount)} what is free on provider '${name}'${others}: ${free}${steps}` +
      ` (short by ${short})`;
    return { code: 'exceeds-capacity', message, provider, resourceClass, short };
  }
  // A claim's parts on one provider are one allocation to the API, and to whoever owns the provider.
  if (sameClaim + amount > inventory.max_unit) {
    const message = `${sameClaim + amount} ${resourceClass} in all on provider '${name}' violate its inventory's max_unit ${inventory.max_unit}`;
    return ofUnits(message);
  }
  return null;
}
