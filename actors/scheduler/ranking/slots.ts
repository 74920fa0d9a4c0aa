// Numbers the hosts, so that what is known of each, for each of hundreds of shapes of requests, stands in arrays of numbers:
// objects and maps of so many would cost a hundred bytes each, and a wait for memory whenever one is looked at.

import { fnv1a } from '../../routing.ts';
import { changesEnd, type View } from '../view/view.ts';

/** So many more slots than there are hosts may be those of hosts that are gone. */
const SPARE = 1_024;
/** Hashes have 32 bits and a number 53, so that many slots can be told apart where hashes are one. */
const MOST_TOLD_APART = 2 ** 21;

export class Slots {
  readonly #slots = new Map<string, number>();
  readonly #salt: string;
  readonly #view: View;
  readonly all: number[] = [];
  /** By slot. */
  readonly roots: string[] = [];
  /** Counts what has changed of a host: what was found out at one count is true at that count. */
  readonly versions: number[] = [];
  /** Orders hosts of equal weight, differently for each scheduler; of a million hosts no two have the same. */
  readonly ties: number[] = [];
  /** Orders hosts alike for every scheduler. */
  readonly commonTies: number[] = [];
  /** What changed in the view, in order, from `changesDropped` on: its roots by their slots. */
  readonly changes: number[] = [];
  changesDropped: number;

  constructor(salt: string, view: View) {
    this.#salt = salt;
    this.#view = view;
    this.changesDropped = changesEnd(view);
    for (const root of view.hosts.keys()) this.#add(root);
  }

  get size(): number {
    return this.roots.length;
  }

  /** Undefined: the root was no host so far. */
  of(root: string): number | undefined {
    return this.#slots.get(root);
  }

  /** Whether these are the hosts of a view; if many of them are gone, or some may have come unseen, no more. */
  isOf(view: View): boolean {
    if (view !== this.#view || this.#seen < view.changesDropped) return false;
    return this.size <= 2 * view.hosts.size + SPARE;
  }

  /** The position in the view's changes up to which they were noted. */
  get #seen(): number {
    return this.changesDropped + this.changes.length;
  }

  /** Takes note of what has changed in the view. */
  follow(): void {
    const { changes, changesDropped } = this.#view;
    if (this.changesDropped < changesDropped) {
      this.changes.splice(0, changesDropped - this.changesDropped);
      this.changesDropped = changesDropped;
    }
    for (let position = this.#seen - changesDropped; position < changes.length; position += 1) {
      const root = changes[position] as string;
      const slot = this.#slots.get(root) ?? this.#add(root);
      this.changes.push(slot);
      this.versions[slot] = (this.versions[slot] as number) + 1;
    }
  }

  #add(root: string): number {
    const slot = this.roots.length;
    this.#slots.set(root, slot);
    this.all.push(slot);
    this.roots.push(root);
    this.versions.push(0);
    this.ties.push(fnv1a(this.#salt + root) + slot / MOST_TOLD_APART);
    this.commonTies.push(fnv1a(root));
    return slot;
  }
}

/** Slots of a list, each once: as if they were put into a set, at the cost of a look at an array. */
export class EachOnce {
  #seen = new Int32Array(0);
  #round = 0;

  of(slots: readonly number[], from: number, size: number): number[] {
    if (this.#seen.length < size) {
      this.#seen = new Int32Array(size * 2);
      this.#round = 0;
    }
    this.#round += 1;
    const found: number[] = [];
    for (let position = from; position < slots.length; position += 1) {
      const slot = slots[position] as number;
      if (this.#seen[slot] === this.#round) continue;
      this.#seen[slot] = this.#round;
      found.push(slot);
    }
    return found;
  }
}
