// How hosts of a family stood before each of the last changes that count, and after it: whoever has counted them before puts
// right what has changed since, instead of counting all of them anew.

import { type Column, OF_COLUMN } from './columns.ts';
import type { FamilyHosts, Place } from './family-hosts.ts';
import { Rows } from './rows.ts';

/** How many are kept, for each host and at most: to follow more would take longer than to count all hosts. */
const KEPT = { forEach: 1 / 8, atLeast: 128, atMost: 4_096 } as const;

export class Moves {
  /** How many there were, those that are not kept any more among them. */
  end = 0;
  /** The rows of hosts as they stood, by `before` and `after` of each. */
  readonly stood: Rows;
  readonly #places: (Place | undefined)[] = [];
  #slots = new Int32Array(0);
  #keptFrom = 0;
  readonly #columns: readonly Column[];
  /** As hosts stand now, by slot. */
  readonly #now: Rows;
  readonly #hosts: FamilyHosts;

  constructor(columns: readonly Column[], now: Rows, hosts: FamilyHosts) {
    this.stood = new Rows(now.width);
    this.#columns = columns;
    this.#now = now;
    this.#hosts = hosts;
  }

  /** Keeps as many as it takes for so many hosts; if that is more than were kept, those are let go. */
  makeRoom(hosts: number): void {
    const most = Math.min(KEPT.atMost, Math.max(KEPT.atLeast, Math.ceil(KEPT.forEach * hosts)));
    if (most <= this.#slots.length) return;
    this.#keptFrom = this.end;
    this.#slots = new Int32Array(most);
    this.stood.widen(2 * most);
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
    const { values, width } = this.stood;
    for (let place = 0; place < width; place += 1) {
      values[at * width + place] = this.#now.values[slot * width + place] as number;
    }
  }

  #areAlike(before: number, after: number): boolean {
    if (this.#places[before] !== this.#places[after]) return false;
    if (this.#places[before] === undefined) return true;
    const { values, width } = this.stood;
    const [was, is] = [before * width, after * width];
    return this.#columns.every(
      ({ at, usedAt }) =>
        values[was + at + OF_COLUMN.free] === values[is + at + OF_COLUMN.free] &&
        values[was + at + OF_COLUMN.capacity] === values[is + at + OF_COLUMN.capacity] &&
        values[was + at + OF_COLUMN.maxUnit] === values[is + at + OF_COLUMN.maxUnit] &&
        values[was + usedAt] === values[is + usedAt],
    );
  }
}
