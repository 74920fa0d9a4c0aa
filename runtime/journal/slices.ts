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
  /**
   * Records during which a snapshot is to be taken whatever time there is, or half as many as it has rows, or as many as
   * take as much to write, if that is more: of an owner that records very fast there would else be too much to replay.
   */
  readonly records: number;
  /** How long a slice shall take, ms. */
  readonly leastMs: number;
  readonly mostMs: number;
}

/**
 * A slice of about a millisecond in six, for all of them: a million instances in about a minute. When the process is
 * busy slices are fewer and larger, a tenth of its time, so that the snapshot comes to its end all the same.
 */
const USUAL_PACE: Pace = {
  firstRows: 100,
  mostRows: 5_000,
  pauseMs: 5,
  share: 0.1,
  records: 75_000,
  leastMs: 1,
  mostMs: 8,
};

/** The most that one slice writes, bytes, but for a single row that is larger. */
const MOST_BYTES = 512 * 1024;

export interface Slicer extends Pick<Pace, 'firstRows' | 'mostRows' | 'records'> {
  readonly clock: Clock;
  /** Has a slice taken later, in its turn, which shall take about so long. */
  later(slice: (forMs: number) => void): void;
}

export function slicerOf(clock: Clock, pace: Pace = USUAL_PACE): Slicer {
  const { firstRows, mostRows, pauseMs, share, records, leastMs, mostMs } = pace;
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
    records,
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

/** A snapshot that is being taken. */
export interface Taking {
  /** The owner has recorded so much more: when it records fast the next slices are due at once. */
  recorded(records: number): void;
}

/** Slices that are due because of what was recorded are taken together, so that they are not too small. */
const OWED_FOR_SLICE = 100;
/** Rows that are due for one record at most. */
const MOST_FOR_RECORD = 2;

/** Takes a snapshot, the first slice of it now; a small state is in that one slice. */
export function takeSnapshot({ snapshot, writer, slicer, isWanted, onFailure }: TakingOptions): Taking {
  const { clock, mostRows } = slicer;
  const { recordBytes = Number.POSITIVE_INFINITY } = writer;
  const rowsForRecord = Math.min(MOST_FOR_RECORD, snapshot.rows / slicer.records);
  let rows = Math.min(slicer.firstRows, mostRows);
  let owed = 0;
  let bytes = 0;
  let tookMs = 0;
  let isOver = false;

  function slice(count: number, stored: () => void): void {
    const begun = clock.monotonic();
    const part = snapshot.next(count);
    isOver = snapshot.isOver;
    bytes = writer.add(part, isOver, stored);
    tookMs = clock.monotonic() - begun;
    owed -= count;
  }

  function later(): void {
    if (!isOver && isWanted()) slicer.later(next);
  }

  function next(forMs: number): void {
    if (isOver || !isWanted()) return;
    // The next rows are most likely as the last ones were.
    const fitting = Math.floor(rows * Math.min(forMs / Math.max(tookMs, 0.01), MOST_BYTES / Math.max(bytes, 1)));
    rows = Math.max(1, Math.min(fitting, 4 * rows, mostRows));
    try {
      slice(rows, later);
    } catch (error) {
      onFailure(error);
    }
  }

  slice(rows, later);

  return {
    recorded(records) {
      if (isOver || !isWanted()) return;
      const rowBytes = bytes / rows;
      owed += records * Math.min(rowsForRecord, recordBytes / rowBytes);
      if (owed < Math.min(OWED_FOR_SLICE, mostRows)) return;
      rows = Math.max(1, Math.min(Math.ceil(owed), mostRows, Math.floor(MOST_BYTES / rowBytes)));
      slice(rows, () => {});
    },
  };
}
