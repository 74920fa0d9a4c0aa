// Takes snapshots a slice at a time, between the turns of their owners: however large a state is, nobody waits for more
// than a slice. All owners of a process share the time that is spent so.

import type { Snapshot } from '../../actors/snapshot.ts';
import type { Clock } from '../clock.ts';
import type { SnapshotWriter } from './journal.ts';

export interface Pace {
  /** Rows of the first slice, of which it is not known yet how long they take. */
  readonly firstRows: number;
  /** The most rows of one slice. */
  readonly mostRows: number;
  /** The pause between two slices, ms. */
  readonly pauseMs: number;
  /** The part of the time that slices take: one is the larger the longer the pause before it really was. */
  readonly share: number;
  /** How long a slice shall take, ms. */
  readonly leastMs: number;
  readonly mostMs: number;
}

/**
 * Slices of about a millisecond, and a fifth of a processor for all of them: a million instances in the better part of
 * a minute. When the process is busy slices are fewer and larger, so that the snapshot comes to its end all the same.
 */
const USUAL_PACE: Pace = { firstRows: 100, mostRows: 5_000, pauseMs: 5, share: 0.2, leastMs: 1, mostMs: 8 };

/** The most that one slice writes, bytes, but for a single row that is larger. */
const MOST_BYTES = 512 * 1024;

export interface Slicer extends Pick<Pace, 'firstRows' | 'mostRows'> {
  readonly clock: Clock;
  /** Has a slice taken later, in its turn, which shall take about so long. */
  later(slice: (forMs: number) => void): void;
}

export function slicerOf(clock: Clock, pace: Pace = USUAL_PACE): Slicer {
  const { firstRows, mostRows, pauseMs, share, leastMs, mostMs } = pace;
  const waiting: ((forMs: number) => void)[] = [];
  let isArmed = false;
  let lastAt: number | null = null;

  function arm(): void {
    isArmed = true;
    clock.after(pauseMs, () => {
      isArmed = false;
      const now = clock.monotonic();
      const elapsedMs = lastAt === null ? pauseMs : now - lastAt;
      lastAt = now;
      waiting.shift()?.(Math.min(mostMs, Math.max(leastMs, elapsedMs * share)));
      if (waiting.length > 0 && !isArmed) arm();
    });
  }

  return {
    clock,
    firstRows,
    mostRows,
    later(slice) {
      waiting.push(slice);
      if (!isArmed) arm();
    },
  };
}

export interface TakingOptions {
  readonly snapshot: Snapshot;
  readonly writer: SnapshotWriter;
  readonly slicer: Slicer;
  /** Whether the state is still the one of which the snapshot is taken. */
  isWanted(): boolean;
  /** Told what a later slice throws. */
  onFailure(error: unknown): void;
}

/** Takes a snapshot, the first slice of it now; a small state is in that one slice. */
export function takeSnapshot({ snapshot, writer, slicer, isWanted, onFailure }: TakingOptions): void {
  const { clock, mostRows } = slicer;
  let rows = Math.min(slicer.firstRows, mostRows);
  let bytes = 0;
  let tookMs = 0;

  function slice(): void {
    const begun = clock.monotonic();
    const part = snapshot.next(rows);
    const isLast = snapshot.isOver;
    bytes = writer.add(part, isLast, () => {
      if (!isLast && isWanted()) slicer.later(next);
    });
    tookMs = clock.monotonic() - begun;
  }

  function next(forMs: number): void {
    if (!isWanted()) return;
    // The next rows are most likely as the last ones were.
    const fitting = Math.floor(rows * Math.min(forMs / Math.max(tookMs, 0.01), MOST_BYTES / Math.max(bytes, 1)));
    rows = Math.max(1, Math.min(fitting, 4 * rows, mostRows));
    try {
      slice();
    } catch (error) {
      onFailure(error);
    }
  }

  slice();
}
