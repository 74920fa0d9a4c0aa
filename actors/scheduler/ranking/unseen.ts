// Hosts that are still to be looked at for the first time, some at a time.

export class Unseen {
  readonly #slots: readonly number[];
  #next = 0;

  constructor(slots: readonly number[]) {
    this.#slots = slots;
  }

  get size(): number {
    return this.#slots.length;
  }

  get left(): number {
    return this.#slots.length - this.#next;
  }

  /** The next of them, up to so many; whoever is given one has looked at it. */
  *take(most: number): Iterable<number> {
    for (const end = Math.min(this.#next + most, this.#slots.length); this.#next < end; ) {
      const slot = this.#slots[this.#next] as number;
      this.#next += 1;
      yield slot;
    }
  }
}
