// Keys of a table in order, some thousands from one on: whoever lists it page by page takes the next ones from here, and
// not from a look at all keys for each page, of which there may be a million.

export class KeyRun {
  readonly #after: string | undefined;
  /** Those that were deleted since stand here still. */
  readonly #keys: string[];
  /** Whether none comes after them. */
  readonly #isLast: boolean;

  /** @param keys All that come after `after`, in order, or the first of these. */
  constructor(after: string | undefined, keys: string[], isLast: boolean) {
    this.#after = after;
    this.#keys = keys;
    this.#isLast = isLast;
  }

  get size(): number {
    return this.#keys.length;
  }

  /** Takes a key that is new to the table, if it belongs here. */
  meet(key: string): void {
    if (this.#after !== undefined && key <= this.#after) return;
    const last = this.#keys.at(-1);
    if (!this.#isLast && (last === undefined || key > last)) return;
    const place = this.#placeAfter(key);
    if (this.#keys[place - 1] === key) return;
    this.#keys.splice(place, 0, key);
  }

  /** The next `limit` keys that still stand, and whether there are more; null: that cannot be told from here. */
  next(after: string | undefined, limit: number, stands: (key: string) => boolean): [string[], boolean] | null {
    if (this.#after !== undefined && (after === undefined || after < this.#after)) return null;
    const found: string[] = [];
    for (let place = after === undefined ? 0 : this.#placeAfter(after); place < this.#keys.length; place += 1) {
      const key = this.#keys[place] as string;
      if (!stands(key)) continue;
      if (found.length === limit) return [found, true];
      found.push(key);
    }
    return this.#isLast ? [found, false] : null;
  }

  /** How many keys are not after this one. */
  #placeAfter(key: string): number {
    let from = 0;
    let to = this.#keys.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((this.#keys[middle] as string) <= key) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}

/** The `limit` smallest keys after `after`, in order, and whether there are more: one pass, and few sorts of few. */
export function smallest(keys: Iterable<string>, after: string | undefined, limit: number): [string[], boolean] {
  let chosen: string[] = [];
  let bound: string | undefined;
  for (const key of keys) {
    if (after !== undefined && key <= after) continue;
    if (bound !== undefined && key > bound) continue;
    chosen.push(key);
    if (chosen.length < 2 * limit + 2) continue;
    chosen = chosen.sort().slice(0, limit + 1);
    bound = chosen.at(-1);
  }
  chosen.sort();
  return [chosen.slice(0, limit), chosen.length > limit];
}
