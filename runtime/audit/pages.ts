// Reading what an owner lists, page by page, to the end.

import { pageThatFits } from '../gateway/page-size.ts';

/** A cell's views tell every attempt and its reason: so many fit into one body, whatever they say. */
export const VIEWS_PER_PAGE = 200;
/** The conductor's views are short, and there may be very many of them. */
export const CONDUCTED_PER_PAGE = 500;
export const PROVIDERS_PER_PAGE = 500;

/** All items; `ask` is given where to go on from, and answers a page and the next place, or null at the end. */
export async function allPages<Item>(
  limit: number,
  ask: (page: { limit: number; after?: string }) => Promise<readonly [readonly Item[], string | null]>,
): Promise<Item[]> {
  const all: Item[] = [];
  let after: string | null = null;
  do {
    const from: { after?: string } = after === null ? {} : { after };
    const [items, next] = await pageThatFits(limit, (rows) => ask({ limit: rows, ...from }));
    for (const item of items) all.push(item);
    after = next;
  } while (after !== null);
  return all;
}
