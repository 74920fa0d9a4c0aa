// Between which bounds all that counts of some hosts lies: a row for each box of them.

import { PooledRows, type Rows } from './rows.ts';
import type { Slots } from './slots.ts';

/**
 * The least of each measure, the least tie, the least of those ties that all schedulers have in common, and the most of each
 * measure: in this order, for whoever looks for the best looks at what is the most, and at the ties.
 */
export class Bounds extends PooledRows {
  readonly tieAt: number;
  readonly commonTieAt: number;
  /** From where on the most of each measure stands; the least do from the beginning. */
  readonly mostAt: number;

  constructor(measures: number) {
    super(2 * measures + 2);
    this.tieAt = measures;
    this.commonTieAt = measures + 1;
    this.mostAt = measures + 2;
  }

  tieOf(row: number): number {
    return this.values[row * this.width + this.tieAt] as number;
  }

  commonTieOf(row: number): number {
    return this.values[row * this.width + this.commonTieAt] as number;
  }

  least(row: number, measure: number): number {
    return this.values[row * this.width + measure] as number;
  }

  most(row: number, measure: number): number {
    return this.values[row * this.width + this.mostAt + measure] as number;
  }

  /** Of no hosts. */
  clear(row: number): void {
    const first = row * this.width;
    this.values.fill(Number.POSITIVE_INFINITY, first, first + this.mostAt);
    this.values.fill(Number.NEGATIVE_INFINITY, first + this.mostAt, first + this.width);
  }

  copy(from: number, to: number): void {
    this.values.copyWithin(to * this.width, from * this.width, (from + 1) * this.width);
  }

  /** Widens them so that a host is within: its row begins with its measures. Answers whether it was not. */
  stretch(row: number, hosts: Rows, host: number, tie: number, commonTie: number): boolean {
    const { values, tieAt, commonTieAt } = this;
    const leastAt = row * this.width;
    const mostAt = leastAt + this.mostAt;
    const from = host * hosts.width;
    let isWider = false;
    for (let measure = 0; measure < tieAt; measure += 1) {
      const value = hosts.values[from + measure] as number;
      if (value < (values[leastAt + measure] as number)) {
        values[leastAt + measure] = value;
        isWider = true;
      }
      if (value > (values[mostAt + measure] as number)) {
        values[mostAt + measure] = value;
        isWider = true;
      }
    }
    if (tie < (values[leastAt + tieAt] as number)) {
      values[leastAt + tieAt] = tie;
      isWider = true;
    }
    if (commonTie < (values[leastAt + commonTieAt] as number)) {
      values[leastAt + commonTieAt] = commonTie;
      isWider = true;
    }
    return isWider;
  }

  /** Narrows those of the measures to hosts that are all within; answers whether they were wider. */
  narrow(row: number, hosts: Rows, slots: readonly number[]): boolean {
    const { values } = this;
    const leastAt = row * this.width;
    const mostAt = leastAt + this.mostAt;
    let isNarrower = false;
    for (let measure = 0; measure < this.tieAt; measure += 1) {
      const [least, most] = [values[leastAt + measure] as number, values[mostAt + measure] as number];
      // Of most measures the hosts of a box have the same.
      if (least === most) continue;
      let [leastNow, mostNow] = [most, least];
      for (const slot of slots) {
        const value = hosts.values[slot * hosts.width + measure] as number;
        if (value < leastNow) leastNow = value;
        if (value > mostNow) mostNow = value;
      }
      if (leastNow === least && mostNow === most) continue;
      values[leastAt + measure] = leastNow;
      values[mostAt + measure] = mostNow;
      isNarrower = true;
    }
    return isNarrower;
  }

  /** The same of the ties. */
  narrowTies(row: number, { ties, commonTies }: Pick<Slots, 'ties' | 'commonTies'>, slots: readonly number[]): boolean {
    let [tie, commonTie] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (const slot of slots) {
      tie = Math.min(tie, ties[slot] as number);
      commonTie = Math.min(commonTie, commonTies[slot] as number);
    }
    if (tie === this.tieOf(row) && commonTie === this.commonTieOf(row)) return false;
    this.values[row * this.width + this.tieAt] = tie;
    this.values[row * this.width + this.commonTieAt] = commonTie;
    return true;
  }

  /** Sets them by those of two halves; answers whether they were others. */
  embrace(row: number, lower: number, upper: number): boolean {
    const { values, width, mostAt } = this;
    const at = row * width;
    const toLower = (lower - row) * width;
    const toUpper = (upper - row) * width;
    let isOther = false;
    for (let place = at; place < at + mostAt; place += 1) {
      const bound = Math.min(values[place + toLower] as number, values[place + toUpper] as number);
      if (values[place] === bound) continue;
      values[place] = bound;
      isOther = true;
    }
    for (let place = at + mostAt; place < at + width; place += 1) {
      const bound = Math.max(values[place + toLower] as number, values[place + toUpper] as number);
      if (values[place] === bound) continue;
      values[place] = bound;
      isOther = true;
    }
    return isOther;
  }
}
