// What is known of hosts that were picked or looked at more closely, until they change.

import type { Allocation } from '../../../machines/instance-build.ts';
import type { WeighingText } from '../../messages/stored-decision.ts';
import type { View } from '../view/view.ts';
import type { RankedNow } from './best-first.ts';
import type { Rank } from './heap.ts';

/** One weighing of a host: what is known of it until it changes. */
export interface Weighed extends Rank {
  readonly root: string;
  readonly cell: string;
  readonly host: string;
  /** What each weigher had in it, once a record has told of it. */
  told: WeighingText | null;
  /** What the host would give, once somebody has asked. */
  offered: readonly Allocation[] | null;
  /** How many instances at once it was counted to hold, of so many; at least, where that took too long. Null: nobody has asked. */
  holds: { readonly count: number; readonly times: number; readonly isWhole: boolean } | null;
  /** So many instances at once, or more, were counted not to fit; placed in another way more of them may. */
  tooMany: number;
  /** How many at most it can hold, however they are placed; null: nobody has asked. */
  most: number | null;
  /** The version of its slot. */
  readonly version: number;
}

/** So many are kept whether they are true or not. */
const MIN_KEPT = 16;

export class Weighings {
  readonly #bySlot = new Map<number, Weighed>();
  /** With so many of them those are let go that are not true any more. */
  #dropsAt = MIN_KEPT;
  readonly #ranked: RankedNow;
  readonly #view: View;

  constructor(ranked: RankedNow, view: View) {
    this.#ranked = ranked;
    this.#view = view;
  }

  /** How many are kept. */
  get size(): number {
    return this.#bySlot.size;
  }

  /** Of a host that fits. */
  of(slot: number): Weighed {
    const { roots, ties, versions } = this.#ranked.slots;
    const version = versions[slot] as number;
    const known = this.#bySlot.get(slot);
    if (known?.version === version) return known;
    const root = roots[slot] as string;
    const { cell, host } = this.#view.hosts.get(root) as { cell: string; host: string };
    const one: Weighed = {
      root,
      cell,
      host,
      weight: this.#ranked.weightOf(slot),
      tie: ties[slot] as number,
      told: null,
      offered: null,
      holds: null,
      tooMany: Number.POSITIVE_INFINITY,
      most: null,
      version,
    };
    if (this.#bySlot.size >= this.#dropsAt) this.#dropOld();
    this.#bySlot.set(slot, one);
    return one;
  }

  #dropOld(): void {
    const { versions } = this.#ranked.slots;
    for (const [slot, { version }] of this.#bySlot) if (version !== versions[slot]) this.#bySlot.delete(slot);
    this.#dropsAt = Math.max(MIN_KEPT, 2 * this.#bySlot.size);
  }
}
