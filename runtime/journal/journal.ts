// The journal port: where an owner's records are kept. What one turn decided is one entry; nothing that follows from
// it leaves the owner before the entry is acknowledged.

import type { Address } from '../../actors/actor.ts';
import type { Tenure } from '../ownership/tenure.ts';

/** What a journal holds when it is opened: a snapshot of the state, or null, and the records after it. */
export interface Recorded<R> {
  readonly snapshot: unknown;
  readonly records: Iterable<R>;
}

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
   * Appends the records of one turn. `done` is called in the order of the appends: without an error when the entry is
   * safe; with one when it may not be, and then the owner must drop its state and stop, for somebody else may own it.
   */
  append(records: readonly R[], done: (error: Error | null) => void): void;
  /** Whether so much was recorded since the last snapshot that another one is due. */
  readonly wantsSnapshot: boolean;
  /** Keeps the state as it is after the last append, so that what is before need not be read again. */
  saveSnapshot(state: unknown): void;
  close(): Promise<void>;
}

/** Opens the journal of an owner. */
export type Journals = <R>(owner: Address) => Journal<R>;

/** For actors that record nothing. */
export const noJournal: Journal<never> = {
  open: async () => ({ snapshot: null, records: [] }),
  append: (_records, done) => done(null),
  wantsSnapshot: false,
  saveSnapshot() {},
  close: async () => {},
};
