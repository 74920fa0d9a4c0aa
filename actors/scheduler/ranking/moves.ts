// How hosts of a family stood before each of the last changes that count, and after it: whoever has counted them before puts
// right what has changed since, instead of counting all of them anew.

import type { FamilyHosts, Place } from './family-hosts.ts';

/** What is known of one resource class, by what it is kept by, such as the slots of hosts. */
export interface Numbers {
  /** What is left; below nothing where more is used than there is. */
  free: Float64Array;
  capacity: Float64Array;
  /** The most that one allocation may have. */
  maxUnit: Float64Array;
  /** By this it is told exactly how much is missing, while `free` is rounded. */
  used: Float64Array;
}

/** How many are kept, for each host and at most: to follow more would take longer than to count all hosts. */
const KEPT = { forEach: 1 / 8, atLeast: 128, atMost: 4_096 } as const;

export class Moves {
  /** How many there were, those that are not kept any more among them. */
  end = 0;
  /** As hosts stood, by `before` and `after` of each. */
  readonly columns: readonly Numbers[];
  readonly #places: (Place | undefined)[] = [];
  #slots = new Int32Array(0);
  #keptFrom = 0;
  /** As hosts stand now, by slot. */
  readonly #now: readonly Numbers[];
  readonly #hosts: FamilyHosts;

  constructor(now: readonly Numbers[], hosts: FamilyHosts) {
    const none = new Float64Array(0);
    this.columns = now.map(() => ({ free: none, capacity: none, maxUnit: none, used: none }));
    this.#now = now;
    this.#hosts = hosts;
  }

  /** Keeps as many as it takes for so many hosts; if that is more than were kept, those are let go. */
  makeRoom(hosts: number): void {
    const most = Math.min(KEPT.atMost, Math.max(KEPT.atLeast, Math.ceil(KEPT.forEach * hosts)));
    if (most <= this.#slots.length) return;
    this.#keptFrom = this.end;
    this.#slots = new Int32Array(most);
    for (const kept of this.columns) {
      kept.free = new Float64Array(2 * most);
      kept.capacity = new Float64Array(2 * most);
      kept.maxUnit = new Float64Array(2 * most);
      kept.used = new Float64Array(2 * most);
    }
  }

  /** Whether all are kept from a position on: the next is written where the oldest was, before it is known to be one. */
  areKeptFrom(position: number): boolean {
    return position >= this.#keptFrom && position > this.end - this.#slots.length;
  }

  slotOf(position: number): number {
    return this.#slots[position % this.#slots.length] as number;
  }

  /** Where it is kept how the host stood before. */
  before(position: number): number {
    return 2 * (position % this.#slots.length);
  }

  after(position: number): number {
    return this.before(position) + 1;
  }

  /** Undefined: it was not told by numbers. */
  placeAt(at: number): Place | undefined {
    return this.#places[at];
  }

  /** Notes how a host stands before and after somebody looks at it, if that makes a difference. */
  note(slot: number, look: (slot: number) => void): void {
    const [before, after] = [this.before(this.end), this.after(this.end)];
    this.#keep(before, slot);
    look(slot);
    this.#keep(after, slot);
    if (this.#areAlike(before, after)) return;
    this.#slots[this.end % this.#slots.length] = slot;
    this.end += 1;
  }

  #keep(at: number, slot: number): void {
    this.#places[at] = this.#hosts.placeOf(slot);
    for (const [place, now] of this.#now.entries()) {
      const kept = this.columns[place] as Numbers;
      kept.free[at] = now.free[slot] as number;
      kept.capacity[at] = now.capacity[slot] as number;
      kept.maxUnit[at] = now.maxUnit[slot] as number;
      kept.used[at] = now.used[slot] as number;
    }
  }

  #areAlike(before: number, after: number): boolean {
    if (this.#places[before] !== this.#places[after]) return false;
    if (this.#places[before] === undefined) return true;
    return this.columns.every(
      ({ free, capacity, maxUnit, used }) =>
        free[before] === free[after] &&
        capacity[before] === capacity[after] &&
        maxUnit[before] === maxUnit[after] &&
        used[before] === used[after],
    );
  }
}
