// The first in rank of parts of the hosts, kept from one choice to the next: where what a choice may not have comes first in
// rank, such as the hosts of a large group, it is passed once and not by each choice; so are cells where few of very many are
// left out.

import { type Among, Front, type RankedNow } from './best-first.ts';
import { NO_ROOM } from './family-numbers.ts';

/** The hosts of one cell, those of all cells but some, or, null, all. */
export type Part = string | ReadonlySet<string> | null;

interface Ranked extends RankedNow {
  cellOf(slot: number): string | undefined;
}

/** Of how many parts the first are kept. */
const MAX_FRONTS = 8;

export class Fronts {
  /** Those that were used longest ago come first. */
  readonly #fronts = new Map<Part, Front>();
  readonly #ranked: Ranked;
  readonly #isOut: Among['isOut'];
  readonly #passed: () => number;

  /**
   * @param isOut Which hosts are of none of the parts; whoever knows that this has changed says so. Null: there are none.
   * @param passed How many hosts, or cells, are passed, about, where the first are found anew.
   */
  constructor(ranked: Ranked, isOut: Among['isOut'], passed: () => number) {
    this.#ranked = ranked;
    this.#isOut = isOut;
    this.#passed = passed;
  }

  /** As the function of that name. */
  bestOf(part: Part, among: () => Among, most: number, accept: (slot: number) => boolean): number[] {
    let front = this.#fronts.get(part);
    this.#fronts.delete(part);
    front ??= new Front(this.#rankedIn(part), this.#passed);
    this.#fronts.set(part, front);
    if (this.#fronts.size > MAX_FRONTS) this.#fronts.delete(this.#fronts.keys().next().value as Part);
    return front.bestOf(among, most, accept);
  }

  /** A host has come to be out, or is so no more. */
  note(slot: number): void {
    for (const front of this.#fronts.values()) front.note(slot);
  }

  /** How many hosts are kept. */
  get size(): number {
    let size = 0;
    for (const front of this.#fronts.values()) size += front.size;
    return size;
  }

  forget(): void {
    for (const front of this.#fronts.values()) front.forget();
  }

  #rankedIn(part: Part): RankedNow {
    const ranked = this.#ranked;
    const isOf = (cell: string | undefined) =>
      typeof part === 'string' ? cell === part : part === null || !part.has(cell ?? '');
    const isIn = (slot: number) => this.#isOut?.(slot) !== true && isOf(ranked.cellOf(slot));
    return { slots: ranked.slots, weightOf: (slot) => (isIn(slot) ? ranked.weightOf(slot) : NO_ROOM) };
  }
}
