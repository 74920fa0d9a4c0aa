// Amounts by resource class, added up.

import type { Allocation } from '../machines/instance-build.ts';

export type Amounts = Readonly<Record<string, number>>;

export function addAmounts(sums: Record<string, number>, amounts: Amounts): void {
  for (const resourceClass in amounts) {
    sums[resourceClass] = (sums[resourceClass] ?? 0) + (amounts[resourceClass] as number);
  }
}

/** Counts or amounts by whatever: what comes to none is not among them. */
export function adjust<Key>(counts: Map<Key, number>, key: Key, by: number): void {
  const left = (counts.get(key) ?? 0) + by;
  if (left === 0) counts.delete(key);
  else counts.set(key, left);
}

/** The same of the amounts of all classes. */
export function adjustAll(sums: Map<string, number>, amounts: Amounts, sign: 1 | -1): void {
  for (const resourceClass in amounts) adjust(sums, resourceClass, sign * (amounts[resourceClass] as number));
}

/** By provider and resource class. */
export type Sums = Map<string, Map<string, number>>;

export function sumsOf(allocations: readonly Allocation[]): Sums {
  const sums: Sums = new Map();
  addAllocations(sums, allocations, 1);
  return sums;
}

/** A provider of which nothing is taken has sums, too: none. */
export function addAllocations(sums: Sums, allocations: readonly Allocation[], sign: 1 | -1): void {
  for (const { provider, resources } of allocations) {
    const ofProvider = sumsOfProvider(sums, provider);
    for (const resourceClass in resources) add(ofProvider, resourceClass, sign * (resources[resourceClass] as number));
  }
}

/** Answers the sum. */
export function addAmount(sums: Sums, provider: string, resourceClass: string, amount: number): number {
  return add(sumsOfProvider(sums, provider), resourceClass, amount);
}

function sumsOfProvider(sums: Sums, provider: string): Map<string, number> {
  const known = sums.get(provider);
  if (known !== undefined) return known;
  const ofProvider = new Map<string, number>();
  sums.set(provider, ofProvider);
  return ofProvider;
}

function add(sums: Map<string, number>, resourceClass: string, amount: number): number {
  const sum = (sums.get(resourceClass) ?? 0) + amount;
  sums.set(resourceClass, sum);
  return sum;
}
