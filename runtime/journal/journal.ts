// The journal port: where an owner's records are kept. What a turn decided, or several, is one entry; nothing that
// follows from it leaves the owner before the entry is acknowledged.

import type { Address } from '../../actors/actor.ts';
import { CellwrightError } from '../errors.ts';
import type { Tenure } from '../ownership/tenure.ts';

/** What a journal holds when it is opened: all parts of a snapshot of the state, or null, and the records after it. */
export interface Recorded<R> {
  readonly snapshot: readonly unknown[] | null;
  readonly records: Iterable<R>;
}

/** Where the records of one owner are kept, in order. */
export interface Journal<R> {
  /**
   * Reads what is recorded, before the first append, and again when the owner starts anew. From then on nobody who
   * opened it before can append.
   * @param tenure The lease by which the owner owns it: its number is that of the new epoch, or the least it may have.
   * Default: the epoch after the last one.
   * @throws CellwrightError `fenced` when the lease is in doubt, for then a newer owner may have opened it.
   */
  open(tenure?: Tenure): Promise<Recorded<R>>;
  /**
   * Appends the records of one turn or several as one entry. `done` is called in the order of the appends: without an
   * error when the entry is safe; with one when it may not be, and then the owner must drop its state and stop, for
   * somebody else may own it.
   */
  append(records: readonly R[], done: (error: Error | null) => void): void;
  /** Why nothing is stored at present, where that is known: the last entry is sent again until it is. */
  readonly refusal?: string | undefined;
  /** Whether so much was recorded since the last snapshot that another one is due, and none is being taken. */
  readonly wantsSnapshot: boolean;
  /**
   * Begins a snapshot of the state as it is after the last append. Its first part is added before anything else is
   * appended, the others at any later time, with appends in between; when all are safe, what is before it need not be
   * read again. One that is not ended counts for nothing.
   */
  beginSnapshot(): SnapshotWriter;
  /**
   * Asked before an owner ends in order, with nothing under way, of a journal that may have lost what a restart needs: it
   * looks, and resolves when all is there, or that cannot be told. Meanwhile it may want a snapshot. Default: all is there.
   * @param onWanted To be called when it does.
   */
  settle?(onWanted: () => void): Promise<void>;
  close(): Promise<void>;
}

export interface SnapshotWriter {
  /**
   * Adds a part.
   * @param stored Called when it is safe, unless the owner is stopped before.
   * @returns What it takes, bytes.
   */
  add(part: unknown, isLast: boolean, stored: () => void): number;
  /** What a record before it took, bytes, by the average; left out where nothing is written. */
  readonly recordBytes?: number;
}

/** Opens the journal of an owner. */
export type Journals = <R>(owner: Address) => Journal<R>;

/** Why a journal is not opened by an owner that may have been replaced. */
export function leaseInDoubt(owner: Address): CellwrightError {
  const why = `the lease of '${owner}' was not renewed while its journal was opened`;
  return new CellwrightError('fenced', why, { retryable: true });
}

/** Keeps no snapshots. */
export const noSnapshots = {
  wantsSnapshot: false,
  beginSnapshot: (): SnapshotWriter => ({ add: () => 0 }),
} as const;

/** For actors that record nothing. */
export const noJournal: Journal<never> = {
  open: async () => ({ snapshot: null, records: [] }),
  append: (_records, done) => done(null),
  ...noSnapshots,
  close: async () => {},
};
