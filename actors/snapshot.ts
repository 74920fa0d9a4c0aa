// Snapshots of an actor's state, taken in parts: plain data, in which every table of the state is a list of rows. All
// parts together are the state as it was when the snapshot was begun.

import type { Rows } from './table.ts';

export interface Snapshot {
  /** Rows of all parts, about. */
  readonly rows: number;
  /** The next part, of about so many rows; all of it when there is no limit. */
  next(rows: number): object;
  /** All parts were taken. */
  readonly isOver: boolean;
}

/** @param head What is small, and no part of the state itself, which goes on changing: it stands in the first part. */
export function snapshotOf(head: object, tables: Readonly<Record<string, Rows>>): Snapshot {
  let isFirst = true;
  return {
    rows: Object.values(tables).reduce((sum, { count }) => sum + count, 0),
    next(rows) {
      const part: Record<string, unknown> = isFirst ? { ...head } : {};
      let left = rows;
      for (const [name, table] of Object.entries(tables)) {
        const taken = left > 0 && !table.isOver ? table.take(left) : [];
        if (taken.length > 0 || isFirst) part[name] = taken;
        left -= taken.length;
      }
      isFirst = false;
      return part;
    },
    get isOver() {
      return !isFirst && Object.values(tables).every(({ isOver }) => isOver);
    },
  };
}

/** How many rows are restored in one step. */
const ROWS_IN_STEP = 1_000;

/** Goes through rows that are restored, and ends a step after some. */
export function* inSteps<Row>(rows: readonly Row[], restore: (row: Row) => void): Generator<void, void> {
  for (const [at, row] of rows.entries()) {
    if (at > 0 && at % ROWS_IN_STEP === 0) yield;
    restore(row);
  }
}

/** Restores a state in one go. */
export function atOnce<State>(restoring: Generator<void, State>): State {
  for (;;) {
    const { done, value } = restoring.next();
    if (done === true) return value;
  }
}

/** All parts of a snapshot as one: each table has the rows of all of them. */
export function joined(parts: readonly unknown[]): unknown {
  const [first, ...others] = parts as readonly Record<string, unknown>[];
  if (others.length === 0) return first;
  const whole: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(first ?? {})) whole[name] = Array.isArray(value) ? [...value] : value;
  for (const part of others) {
    for (const [name, rows] of Object.entries(part)) {
      const all = whole[name] as unknown[];
      for (const row of rows as unknown[]) all.push(row);
    }
  }
  return whole;
}
