// Listing by pages: in the order of the keys, so that entries may come and go between two pages.

import { smallest } from './key-run.ts';
import { Table } from './table.ts';

/** The largest page, in characters as JSON: a page is one message, and a message has its limit too. */
const MAX_PAGE_LENGTH = 256 * 1024;

/**
 * Up to `limit` entries of a map whose keys come after `after`, fewer when they are large, and the key to go on from,
 * or null at the end.
 */
export function page<Value, View>(
  entries: ReadonlyMap<string, Value>,
  after: string | undefined,
  limit: number,
  view: (value: Value, key: string) => View,
): [View[], string | null] {
  const [keys, more] =
    entries instanceof Table ? entries.keysAfter(after, limit) : smallest(entries.keys(), after, limit);
  const views = onOnePage(keys, (key) => view(entries.get(key) as Value, key));
  if (views.length < keys.length) return [views, keys[views.length - 1] ?? null];
  return [views, more ? (keys.at(-1) ?? null) : null];
}

/** As many as fit a page, from the first on, and at least that one. */
export function onOnePage<Item, View>(items: readonly Item[], view: (item: Item) => View): View[] {
  const views: View[] = [];
  let length = 0;
  for (const item of items) {
    const one = view(item);
    length += JSON.stringify(one).length;
    if (length > MAX_PAGE_LENGTH && views.length > 0) break;
    views.push(one);
  }
  return views;
}
