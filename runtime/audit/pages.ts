// Reading what an owner lists, page by page, to the end.

/** All items; `ask` is given where to go on from, and answers a page and the next place, or null at the end. */
export async function allPages<Item>(
  limit: number,
  ask: (page: { limit: number; after?: string }) => Promise<readonly [readonly Item[], string | null]>,
): Promise<Item[]> {
  const all: Item[] = [];
  let after: string | null = null;
  do {
    const [items, next]: readonly [readonly Item[], string | null] = await ask({
      limit,
      ...(after === null ? {} : { after }),
    });
    for (const item of items) all.push(item);
    after = next;
  } while (after !== null);
  return all;
}
