// How many of the hosts that a shape ranks have as many members of a group as its rule lets a host have. Of a group that is
// on thousands of hosts they are counted once; after that only hosts that have changed are looked at.

import {
  type FullBy,
  type GroupsView,
  type Movements,
  membersOn,
  movementsOf,
  rootCount,
  rootsOf,
} from '../view/groups-view.ts';
import { Fronts } from './fronts.ts';
import type { RankedHosts } from './several.ts';

/** What a host that is ranked takes, about. */
const BYTES_OF_RANKED = 20;

/** The hosts as a shape of request ranks them. */
type Hosts = Pick<RankedHosts, 'slots' | 'isRanked' | 'weightOf' | 'cellOf'>;

export class FullForGroup {
  /** The first in rank of those that are not full. */
  readonly fronts: Fronts;
  /** Full ones were many of the first in rank. */
  arePassed = false;
  #count = 0;
  /** A bit for each slot: whether the host counts. There may be a thousand shapes. */
  #bits = new Uint8Array(0);
  readonly #shape: Hosts;
  readonly #groups: GroupsView;
  readonly #group: string;
  readonly #mostOnHost: number;
  readonly #movements: Movements;
  /** The positions in the changes of hosts, and in the movements of members, up to which this is true. */
  #seen: number;
  #moved: number;

  /** The shape is up to date, and the group has members. */
  constructor(shape: Hosts, groups: GroupsView, { group, mostOnHost }: FullBy) {
    this.fronts = new Fronts(shape, this.has, () => this.#count);
    this.#shape = shape;
    this.#groups = groups;
    this.#group = group;
    this.#mostOnHost = mostOnHost;
    this.#movements = movementsOf(groups, group);
    this.#seen = this.#changesEnd;
    this.#moved = this.#movementsEnd;
    for (const root of rootsOf(groups, group)) this.#lookAt(root);
  }

  get count(): number {
    return this.#count;
  }

  /** How many hosts could be ranked in the room that it takes. */
  get size(): number {
    return Math.ceil(this.#bits.length / BYTES_OF_RANKED) + this.fronts.size;
  }

  /** Whether a host is full. */
  readonly has = (slot: number): boolean => (((this.#bits[slot >> 3] as number) >> (slot & 7)) & 1) === 1;

  /** Takes note of what has changed; false where that is not known any more, or takes longer than to count them anew. */
  follow(): boolean {
    const { changes, changesDropped } = this.#shape.slots;
    const { roots, dropped } = this.#movements;
    if (this.#groups.movements.get(this.#group) !== this.#movements) return false;
    if (this.#seen < changesDropped || this.#moved < dropped) return false;
    if (this.#changesEnd - this.#seen > rootCount(this.#groups, this.#group)) return false;
    for (let at = this.#seen - changesDropped; at < changes.length; at += 1) this.look(changes[at] as number);
    for (let at = this.#moved - dropped; at < roots.length; at += 1) this.#lookAt(roots[at] as string);
    this.#seen = this.#changesEnd;
    this.#moved = this.#movementsEnd;
    return true;
  }

  /** Looks at a host anew. */
  look(slot: number): void {
    const root = this.#shape.slots.roots[slot] as string;
    const isFull = membersOn(this.#groups, this.#group, root) >= this.#mostOnHost && this.#shape.isRanked(slot);
    const [at, bit] = [slot >> 3, 1 << (slot & 7)];
    if (at >= this.#bits.length) {
      if (!isFull) return;
      const wider = new Uint8Array((Math.max(this.#shape.slots.size, slot) >> 3) + 1);
      wider.set(this.#bits);
      this.#bits = wider;
    }
    const bits = this.#bits[at] as number;
    if (((bits & bit) !== 0) === isFull) return;
    this.#bits[at] = bits ^ bit;
    this.#count += isFull ? 1 : -1;
    this.fronts.note(slot);
  }

  #lookAt(root: string): void {
    const slot = this.#shape.slots.of(root);
    if (slot !== undefined) this.look(slot);
  }

  get #changesEnd(): number {
    const { changes, changesDropped } = this.#shape.slots;
    return changesDropped + changes.length;
  }

  get #movementsEnd(): number {
    return this.#movements.dropped + this.#movements.roots.length;
  }
}
