// Which of the hosts that a shape ranks have room for several instances at once, as far as numbers tell: where every host has
// room for one and hardly any for all, those few are found without a look at the others. What numbers do not tell is counted
// on the hosts that are left; one that was counted in vain stands here no more until it changes.

import type { RequestSpec } from '../../messages/common.ts';
import { changesEnd, type View } from '../view/view.ts';
import { KIND } from './family-hosts.ts';
import { LACKS_NOTHING, lackOn, type Member, memberOf } from './family-numbers.ts';
import type { Slots } from './slots.ts';
import { HEARINGS, Stands } from './stands.ts';
import { Tally } from './tally.ts';

/** The hosts as a shape of request ranks them. */
export interface RankedHosts {
  readonly spec: RequestSpec;
  readonly slots: Slots;
  readonly own: Stands;
  readonly member: Member | null;
  isRanked(slot: number): boolean;
  weightOf(slot: number): number;
  cellOf(slot: number): string | undefined;
  slotsThatFit(): Iterable<number>;
}

export class Several {
  /** The hosts of which no family tells how many they hold. */
  readonly own: Stands;
  /** By which the family tells it of the others; null: of none. */
  readonly member: Member | null;
  readonly #shape: RankedHosts;
  readonly #view: View;
  readonly #isAsMany: (root: string) => boolean;
  /** The position in the changes up to which this is true. */
  #seen: number;
  #tally: Tally | null = null;

  /**
   * @param isAsMany Whether a host may hold as many; asked again when it has changed.
   * @param areNumbersAll Nothing but resources limits how many a host holds.
   */
  constructor(
    shape: RankedHosts,
    view: View,
    count: number,
    isAsMany: (root: string) => boolean,
    areNumbersAll: boolean,
  ) {
    this.#shape = shape;
    this.#view = view;
    this.#isAsMany = isAsMany;
    this.own = new Stands(shape.slots, view);
    const isTold = shape.member !== null && areNumbersAll;
    this.member = isTold ? memberOf((shape.member as Member).known, shape.spec, count) : null;
    this.#seen = changesEnd(view);
    for (const slot of isTold ? shape.own.ranked() : shape.slotsThatFit()) this.look(slot);
  }

  /** Takes note of what has changed; false where that is not known any more. The shape is up to date. */
  follow(): boolean {
    const { changes, changesDropped } = this.#shape.slots;
    if (this.#seen < changesDropped) return false;
    this.own.setApart();
    for (const slot of new Set(changes.slice(this.#seen - changesDropped))) this.look(slot);
    this.#seen = changesEnd(this.#view);
    return true;
  }

  /** Looks at a host anew. */
  look(slot: number): void {
    const root = this.#shape.slots.roots[slot] as string;
    const host = this.#view.hosts.get(root);
    const isOwn = host !== undefined && !this.isTold(slot) && this.#shape.isRanked(slot);
    if (isOwn && this.#isAsMany(root)) this.own.rank(slot, root, host.cell, this.#shape.weightOf(slot));
    else this.own.leave(slot);
  }

  /** Whether numbers tell to the end whether a host has room. */
  isTold(slot: number): boolean {
    return this.member?.known.hosts.kindOf(slot) === KIND.plain;
  }

  /** Whether a host has room, as far as is known. */
  has(root: string): boolean {
    const slot = this.#shape.slots.of(root);
    if (slot === undefined) return false;
    return this.isTold(slot) ? lackOn(this.member as Member, slot) === LACKS_NOTHING : this.own.isRanked(slot);
  }

  /** A host was counted and has no room. */
  refuse(root: string): void {
    const slot = this.#shape.slots.of(root);
    if (slot !== undefined) this.own.leave(slot);
  }

  /** The hosts of a cell of which numbers do not tell to the end. */
  *untoldIn(cell: string): Iterable<string> {
    for (const hearing of HEARINGS) {
      for (const slot of this.own.heapOf(hearing, cell)?.slots ?? []) yield this.#shape.slots.roots[slot] as string;
    }
  }

  /** How many hosts of a cell have room, as numbers tell to the end. */
  toldIn(cell: string): number {
    if (this.member === null) return 0;
    this.#tally ??= new Tally(this.member);
    this.#tally.catchUp();
    return this.#tally.fitsIn(cell);
  }
}
