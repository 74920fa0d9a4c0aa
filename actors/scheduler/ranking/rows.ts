// Numbers in one array, those of one host or moment in a row: whoever looks at one finds the others of its row beside it,
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
