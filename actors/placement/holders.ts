// Who holds something of each provider: noted as it is taken and given back, so that it is told without a look at all
// consumers, of which there may be a million.

import { adjust } from '../amounts.ts';

/** A consumer for each of its allocations, in no order; where they are many, how many allocations each has. */
export type Holders = string[] | Map<string, number>;

interface Held {
  holders: Holders;
}

/** In a list of as many a consumer is found faster than in a map, and most hosts have fewer. */
const MOST_LISTED = 64;

export function addHolder(provider: Held, consumer: string): void {
  const { holders } = provider;
  if (holders instanceof Map) return adjust(holders, consumer, 1);
  holders.push(consumer);
  if (holders.length <= MOST_LISTED) return;
  const counts = new Map<string, number>();
  for (const one of holders) adjust(counts, one, 1);
  provider.holders = counts;
}

/** A provider that has gone and come again does not know of one who held it for its traits alone. */
export function dropHolder({ holders }: Held, consumer: string): void {
  if (holders instanceof Map) {
    if (holders.has(consumer)) adjust(holders, consumer, -1);
    return;
  }
  const place = holders.indexOf(consumer);
  if (place < 0) return;
  const last = holders.pop() as string;
  if (place < holders.length) holders[place] = last;
}

/** It is known to hold something, of which an entry may have gone for another that was not known of. */
export function keepHolder(provider: Held, consumer: string): void {
  const { holders } = provider;
  const isKnown = holders instanceof Map ? holders.has(consumer) : holders.includes(consumer);
  if (!isKnown) addHolder(provider, consumer);
}

/** The consumers that hold something of a provider, be it for its traits alone. */
export function holdersOf({ holders }: Held): Set<string> {
  return new Set(holders instanceof Map ? holders.keys() : holders);
}
