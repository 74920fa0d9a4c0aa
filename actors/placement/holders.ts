// Who holds something of each provider: noted as it is taken and given back, so that it is told without a look at all
// consumers, of which there may be a million.

import { adjust } from '../amounts.ts';

/** A consumer for each of its allocations, in no order; where they are many, how many allocations each has. */
export type Holders = string[] | Map<string, number>;

interface Held {
  holders: Holders;
}

/**
 * Who holds something of providers that are not there, by their ids: what is held for its traits alone keeps no provider
 * there, and one that comes again under its id is held as before.
 */
export type Absent = Map<string, Held>;

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

export function addHolderOfAbsent(absent: Absent, id: string, consumer: string): void {
  const held = absent.get(id) ?? { holders: [] };
  absent.set(id, held);
  addHolder(held, consumer);
}

export function dropHolderOfAbsent(absent: Absent, id: string, consumer: string): void {
  const held = absent.get(id);
  if (held === undefined) return;
  dropHolder(held, consumer);
  if (isHeldByNobody(held)) absent.delete(id);
}

/** A provider goes; who holds something of it goes on doing so. */
export function keepHolders(absent: Absent, id: string, { holders }: Held): void {
  if (!isHeldByNobody({ holders })) absent.set(id, { holders });
}

/** A provider comes that was not there. */
export function giveHolders(absent: Absent, id: string, provider: Held): void {
  const held = absent.get(id);
  if (held === undefined) return;
  provider.holders = held.holders;
  absent.delete(id);
}

function isHeldByNobody({ holders }: Held): boolean {
  return holders instanceof Map ? holders.size === 0 : holders.length === 0;
}

/** The consumers that hold something of a provider, be it for its traits alone. */
export function holdersOf({ holders }: Held): Set<string> {
  return new Set(holders instanceof Map ? holders.keys() : holders);
}
