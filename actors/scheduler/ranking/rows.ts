// Numbers in one array, those of one host, box or moment in a row: whoever looks at one finds the others of its row beside it,
// instead of waiting for memory for each.

export class Rows {
  /** How many numbers a row has. */
  readonly width: number;
  values = new Float64Array(0);

  constructor(width: number) {
    this.width = width;
  }

  /** How many rows there is room for. */
  get size(): number {
    return this.values.length / this.width;
  }

  /** Has room for so many; what is in the rows stays. */
  widen(rows: number): void {
    const wider = new Float64Array(rows * this.width);
    wider.set(this.values);
    this.values = wider;
  }
}

/** How many rows there are at first. */
const FEW = 16;

/** Rows that are taken and given back. */
export class PooledRows extends Rows {
  readonly #free: number[] = [];

  take(): number {
    const row = this.#free.pop();
    if (row !== undefined) return row;
    const { size } = this;
    this.widen(Math.max(FEW, 2 * size));
    for (let more = this.size - 1; more > size; more -= 1) this.#free.push(more);
    return size;
  }

  giveBack(row: number): void {
    this.#free.push(row);
  }

  /** How many are taken. */
  get taken(): number {
    return this.size - this.#free.length;
  }
}
