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

export class PassingMap<Key, Value> implements Map<Key, Value> {
  #places = new Map<Key, number>();
  /** Since the engine's Map was made. */
  #deleted = 0;
  /** Iterations under way, which go by the engine's Map. */
  #iterations = 0;
  readonly #values: (Value | undefined)[] = [];
  /** Places in the list that may be taken. */
  readonly #free: number[] = [];

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

  #vacate(key: Key, place: number): void {
    this.#values[place] = undefined;
    this.#free.push(place);
    this.#places.delete(key);
    this.#deleted += 1;
    const { size } = this.#places;
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
    this.#values.length = 0;
    this.#free.length = 0;
    if (this.#places.size === 0) return;
    // The engine's `clear` moves to a new table too.
    if (this.#iterations === 0) this.#places = new Map();
    else this.#places.clear();
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
