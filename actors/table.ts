// Maps of which a snapshot can be taken bit by bit while they change: what it holds is what stood there when it was
// begun, to the letter. Whoever changes a value in place says so first, with `touch`; a value that is put in or taken
// out is noticed. So a state of a million entries is stored without holding anybody up.

import { KeyChunk, type KeyRun } from './key-run.ts';
import { PassingMap } from './passing-map.ts';

/** Rows of a snapshot that are still to be taken. */
export interface Rows {
  /** How many there were when it was begun. */
  readonly count: number;
  /** The next ones, `most` at most; a row may come twice, and is then the same. */
  take(most: number): unknown[];
  /** Nothing more will come. */
  readonly isOver: boolean;
}

interface Capture {
  /** Keys that were changed since it began: whether they stood there then. */
  readonly changed: Map<string, boolean>;
  /** Rows of which the values have changed before they were come to. */
  readonly early: unknown[];
}

/** How many keys are put in order when one page is asked for: it is hardly the last. */
const KEYS_IN_RUN = 4_096;
/** From how many such runs are made before all keys are looked at again, of which there may be a million. */
const KEYS_IN_CHUNK = 65_536;
/** Of how many who list at one time it is kept where they are. */
const MOST_RUNS = 8;

export class Table<Value> extends PassingMap<string, Value> {
  readonly #rowOf: (value: Value, key: string) => unknown;
  #captures: Capture[] = [];
  /** Where it is listed, the place that was asked for last first; not those where much has come since. */
  #runs: KeyRun[] = [];
  /** From where the next runs are made. */
  #chunks: KeyChunk[] = [];

  /** @param rowOf A value as it is stored: it must share nothing with the value that can change. */
  constructor(rowOf: (value: Value, key: string) => unknown) {
    super();
    this.#rowOf = rowOf;
  }

  /** Says that the value of a key is about to change. */
  touch(key: string): void {
    if (this.#captures.length === 0) return;
    for (const { changed, early } of this.#captures) {
      if (changed.has(key)) continue;
      const value = this.get(key);
      changed.set(key, value !== undefined);
      if (value !== undefined) early.push(this.#rowOf(value, key));
    }
  }

  override set(key: string, value: Value): this {
    if (this.#captures.length > 0) this.touch(key);
    if (this.#runs.length + this.#chunks.length > 0 && !this.has(key)) this.#noteNew(key);
    return super.set(key, value);
  }

  override delete(key: string): boolean {
    if (this.#captures.length > 0) this.touch(key);
    return super.delete(key);
  }

  override take(key: string): Value | undefined {
    if (this.#captures.length > 0) this.touch(key);
    return super.take(key);
  }

  override clear(): void {
    for (const key of this.keys()) this.touch(key);
    super.clear();
  }

  #noteNew(key: string): void {
    let isAnyTooLong = false;
    for (const run of this.#runs) {
      run.meet(key);
      isAnyTooLong ||= run.size > 2 * KEYS_IN_RUN;
    }
    if (isAnyTooLong) this.#runs = this.#runs.filter(({ size }) => size <= 2 * KEYS_IN_RUN);
    for (const chunk of this.#chunks) {
      chunk.meet(key);
      if (chunk.isTooLong) this.#dropChunk(chunk);
    }
  }

  /** The next `limit` keys in order, and whether there are more. */
  keysAfter(after: string | undefined, limit: number): [string[], boolean] {
    for (const run of this.#runs) {
      const known = run.next(after, limit, (key) => this.has(key));
      if (known === null) continue;
      this.#putFirst(run);
      return known;
    }
    for (const chunk of this.#chunks) {
      const known = this.#nextOf(chunk, after, limit);
      if (known !== null) return known;
    }
    // Half of them may be in it, or a quarter: more than a page.
    const chunk = new KeyChunk(this.keys(), after, Math.max(4 * limit, KEYS_IN_CHUNK));
    this.#chunks = [chunk, ...this.#chunks].slice(0, MOST_RUNS);
    return this.#nextOf(chunk, after, limit) as [string[], boolean];
  }

  /** The same from a chunk, as far as they are in it. */
  #nextOf(chunk: KeyChunk, after: string | undefined, limit: number): [string[], boolean] | null {
    const run = chunk.runAfter(after, Math.max(limit + 1, KEYS_IN_RUN));
    if (run === null) return null;
    const known = run.next(after, limit, (key) => this.has(key));
    // Whoever lists has come to its end. It may be large, and those who list later begin at another key.
    if (known === null || (chunk.isLast && run.isLast)) this.#dropChunk(chunk);
    if (known !== null) this.#putFirst(run);
    return known;
  }

  #dropChunk(chunk: KeyChunk): void {
    this.#chunks = this.#chunks.filter((other) => other !== chunk);
  }

  #putFirst(run: KeyRun): void {
    if (this.#runs[0] === run) return;
    this.#runs = [run, ...this.#runs.filter((other) => other !== run)].slice(0, MOST_RUNS);
  }

  /** Begins to take down all that stands here now. */
  capture(): Rows {
    const capture: Capture = { changed: new Map(), early: [] };
    const { changed, early } = capture;
    const entries = this.entries();
    this.#captures = [...this.#captures, capture];
    const count = this.size;
    let isSwept = false;
    const sweep = (rows: unknown[], most: number) => {
      while (rows.length < most) {
        const next = entries.next();
        const stood = next.done === true ? false : changed.get(next.value[0]);
        // What has been put in since stands after all that stood here before.
        if (next.done === true || stood === false) {
          isSwept = true;
          entries.return?.();
          this.#captures = this.#captures.filter((one) => one !== capture);
          return;
        }
        if (stood === undefined) rows.push(this.#rowOf(next.value[1], next.value[0]));
      }
    };
    return {
      count,
      take(most) {
        const rows = early.splice(0, most);
        if (!isSwept) sweep(rows, most);
        return rows;
      },
      get isOver() {
        return isSwept && early.length === 0;
      },
    };
  }
}

/** Rows that are there already and will not change. */
export function rowsOf(rows: readonly unknown[]): Rows {
  let taken = 0;
  return {
    count: rows.length,
    take(most) {
      const next = rows.slice(taken, taken + most);
      taken += next.length;
      return next;
    },
    get isOver() {
      return taken >= rows.length;
    },
  };
}
