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

  /** Whether no key of the table comes after those that are here. */
  get isLast(): boolean {
    return this.#isLast;
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

/** How many keys of those that are to be halved are looked at for where the half is, and by which steps these are taken. */
const SAMPLE = 1_023;
const SAMPLE_STEP = 7_919;

/**
 * Some ten thousands of keys from one on, in no order: the runs of a listing are made from these, so that all keys need be
 * looked at for few of the runs.
 */
export class KeyChunk {
  readonly #after: string | undefined;
  /** Those that were deleted since stand here still, and may stand here twice when they have come again. */
  readonly #keys: string[];
  /** Those up to this one are here; undefined: all are. */
  readonly #until: string | undefined;
  readonly #most: number;

  /** @param size About how many of the keys after `after` it takes. */
  constructor(keys: Iterable<string>, after: string | undefined, size: number) {
    let chosen: string[] = [];
    let until: string | undefined;
    for (const key of keys) {
      if (after !== undefined && key <= after) continue;
      if (until !== undefined && key > until) continue;
      chosen.push(key);
      if (chosen.length < 2 * size + 2) continue;
      [chosen, until] = smallerHalf(chosen);
    }
    this.#after = after;
    this.#keys = chosen;
    this.#until = until;
    this.#most = chosen.length + size;
  }

  /** More have come to it than are worth keeping. */
  get isTooLong(): boolean {
    return this.#keys.length > this.#most;
  }

  /** Whether no key comes after those that are here. */
  get isLast(): boolean {
    return this.#until === undefined;
  }

  /** Takes a key that is new to the table, if it belongs here. */
  meet(key: string): void {
    if (this.#after !== undefined && key <= this.#after) return;
    if (this.#until === undefined || key <= this.#until) this.#keys.push(key);
  }

  /** The next `limit` keys, or as many as are here; null: those are not here. */
  runAfter(after: string | undefined, limit: number): KeyRun | null {
    if (this.#after !== undefined && (after === undefined || after < this.#after)) return null;
    if (this.#until !== undefined && after !== undefined && after >= this.#until) return null;
    const [keys, more] = smallest(this.#keys, after, limit);
    const single = keys.filter((key, place) => key !== keys[place - 1]);
    return new KeyRun(after, single, !more && this.isLast);
  }
}

/** About half of the keys, those that come first, and the last of these. */
function smallerHalf(keys: readonly string[]): [string[], string] {
  const sample = Array.from({ length: SAMPLE }, (_, n) => keys[(n * SAMPLE_STEP) % keys.length] as string).sort();
  const until = sample[SAMPLE >> 1] as string;
  const half = keys.filter((key) => key <= until);
  if (half.length >= 0.25 * keys.length && half.length <= 0.75 * keys.length) return [half, until];
  // Not what was looked for: the sample was a bad one.
  const exact = [...keys].sort().slice(0, keys.length >> 1);
  return [exact, exact.at(-1) as string];
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
