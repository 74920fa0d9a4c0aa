// Between which bounds all that counts of some hosts lies: a row for each box of them.

import { PooledRows, type Rows } from './rows.ts';

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

  /** Widens them so that a host is within: its row begins with its measures. */
  stretch(row: number, hosts: Rows, host: number, tie: number, commonTie: number): void {
    const { values, tieAt, mostAt } = this;
    const leastAt = row * this.width;
    const from = host * hosts.width;
    for (let measure = 0; measure < tieAt; measure += 1) {
      const value = hosts.values[from + measure] as number;
      if (value < (values[leastAt + measure] as number)) values[leastAt + measure] = value;
      if (value > (values[leastAt + mostAt + measure] as number)) values[leastAt + mostAt + measure] = value;
    }
    if (tie < (values[leastAt + tieAt] as number)) values[leastAt + tieAt] = tie;
    if (commonTie < (values[leastAt + this.commonTieAt] as number)) values[leastAt + this.commonTieAt] = commonTie;
  }

  /** Sets them by those of two halves; answers whether they were others. */
  embrace(row: number, lower: number, upper: number): boolean {
    const { values, width, mostAt } = this;
    const [at, ofLower, ofUpper] = [row * width, lower * width, upper * width];
    let isOther = false;
    for (let place = 0; place < width; place += 1) {
      const [one, other] = [values[ofLower + place] as number, values[ofUpper + place] as number];
      const bound = place < mostAt ? Math.min(one, other) : Math.max(one, other);
      if (values[at + place] === bound) continue;
      values[at + place] = bound;
      isOther = true;
    }
    return isOther;
  }
}
