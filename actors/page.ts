// Listing by pages: in the order of the keys, so that entries may come and go between two pages.

/** Up to `limit` entries of a map whose keys come after `after`, and the key to go on from, or null at the end. */
export function page<Value, View>(
  entries: ReadonlyMap<string, Value>,
  after: string | undefined,
  limit: number,
  view: (value: Value, key: string) => View,
): [View[], string | null] {
  const keys: string[] = [];
  // Among very many entries only the first can be on the page: beyond `last` there is nothing to sort.
  let last: string | undefined;
  for (const key of entries.keys()) {
    if ((after !== undefined && key <= after) || (last !== undefined && key > last)) continue;
    keys.push(key);
    if (keys.length <= 2 * limit) continue;
    keys.sort();
    keys.length = limit + 1;
    last = keys[limit];
  }
  keys.sort();
  const chosen = keys.slice(0, limit);
  const views = chosen.map((key) => view(entries.get(key) as Value, key));
  return [views, keys.length > limit ? (chosen.at(-1) ?? null) : null];
}
