// A map whose entries come and go by the thousand. The engine's own Map moves to a new table every so often and leaves a
// pointer to it in the one that it leaves: once one of them has grown old, none after it is collected with the young,
// nor is what stood there, though it was deleted long ago. Measured in a process that built 7,000 instances a second,
// a third of all that was allocated grew old that way. Here the engine's Map holds numbers, by which values stand in a
// list; what is deleted is taken off that list; and a Map of which much was deleted gives way to a new one, to whose table
// no old one points. With V8 14.6 (Node 26) keys that are strings grow old all the same; what they stand for does not.

/** So many are deleted at least, and as many as are left, before the engine's Map is made anew. */
const RENEWED_AFTER = 32;
/** To make a larger map anew would take too long at once. */
const MOST_RENEWED = 4_096;

/** What an empty one has: there are thousands of those, and 300 bytes of its own each. */
const NO_PLACES = new Map<never, number>();
const NOTHING: never[] = [];

export class PassingMap<Key, Value> implements Map<Key, Value> {
  #places: Map<Key, number> = NO_PLACES;
  /** Since the engine's Map was made. */
  #deleted = 0;
  /** Iterations under way, which go by the engine's Map. */
  #iterations = 0;
  #values: (Value | undefined)[] = NOTHING;
  /** Places in the list that may be taken. */
  #free: number[] = NOTHING;

  get size(): number {
    return this.#places.size;
  }

  get [Symbol.toStringTag](): string {
    return 'PassingMap';
  }

  has(key: Key): boolean {
    return this.#places.has(key);
  }

  get(key: Key): Value | undefined {
    const place = this.#places.get(key);
    return place === undefined ? undefined : this.#values[place];
  }

  set(key: Key, value: Value): this {
    if (this.#places === NO_PLACES) return this.#begin(key, value);
    let place = this.#places.get(key);
    if (place === undefined) {
      place = this.#free.pop() ?? this.#values.length;
      this.#places.set(key, place);
    }
    this.#values[place] = value;
    return this;
  }

  delete(key: Key): boolean {
    const place = this.#places.get(key);
    if (place === undefined) return false;
    this.#vacate(key, place);
    return true;
  }

  /** Deletes what stands under the key, and answers it. */
  take(key: Key): Value | undefined {
    const place = this.#places.get(key);
    if (place === undefined) return undefined;
    const value = this.#values[place];
    this.#vacate(key, place);
    return value;
  }

  /** Lists that are made of what is on them take no more room than that. */
  #begin(key: Key, value: Value): this {
    this.#places = new Map();
    this.#places.set(key, 0);
    this.#values = [value];
    return this;
  }

  #end(): void {
    this.#places = NO_PLACES;
    this.#values = NOTHING;
    this.#free = NOTHING;
    this.#deleted = 0;
  }

  #vacate(key: Key, place: number): void {
    this.#places.delete(key);
    const { size } = this.#places;
    if (size === 0 && this.#iterations === 0) return this.#end();
    this.#values[place] = undefined;
    if (this.#free === NOTHING) this.#free = [place];
    else this.#free.push(place);
    this.#deleted += 1;
    if (this.#deleted >= Math.max(RENEWED_AFTER, size) && size <= MOST_RENEWED && this.#iterations === 0) this.#renew();
  }

  #renew(): void {
    const places = new Map<Key, number>();
    // Given the old one to read, the engine's Map would make a list of each entry.
    this.#places.forEach((place, key) => void places.set(key, place));
    this.#places = places;
    this.#deleted = 0;
  }

  clear(): void {
    // The engine's `clear` moves to a new table too.
    if (this.#iterations === 0) return this.#end();
    if (this.#places === NO_PLACES) return;
    this.#places.clear();
    this.#values = [];
    this.#free = NOTHING;
    this.#deleted = 0;
  }

  keys(): MapIterator<Key> {
    return this.#each((key) => key);
  }

  values(): MapIterator<Value> {
    return this.#each((_, value) => value);
  }

  entries(): MapIterator<[Key, Value]> {
    return this.#each((key, value) => [key, value]);
  }

  *#each<Shown>(shown: (key: Key, value: Value) => Shown): MapIterator<Shown> {
    this.#iterations += 1;
    try {
      for (const [key, place] of this.#places) yield shown(key, this.#values[place] as Value);
    } finally {
      this.#iterations -= 1;
    }
  }

  [Symbol.iterator](): MapIterator<[Key, Value]> {
    return this.entries();
  }

  forEach(callback: (value: Value, key: Key, map: Map<Key, Value>) => void, thisArg?: unknown): void {
    this.#iterations += 1;
    try {
      this.#places.forEach((place, key) => void callback.call(thisArg, this.#values[place] as Value, key, this));
    } finally {
      this.#iterations -= 1;
    }
  }
}
