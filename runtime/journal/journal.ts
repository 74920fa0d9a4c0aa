// The journal port: where an owner's records are kept. What one turn decided is one entry; nothing that follows from
// it leaves the owner before the entry is acknowledged.

/** What a journal holds when it is opened: a snapshot of the state, or null, and the records after it. */
export interface Recorded<R> {
  readonly snapshot: unknown;
  readonly records: Iterable<R>;
}

export interface Journal<R> {
  /** Reads what is recorded. Called once, before the first append. */
  open(): Promise<Recorded<R>>;
  /**
   * Appends the records of one turn. `done` is called in the order of the appends: without an error when the entry is
   * safe; with one when it may not be, and then the owner must drop its state and stop, for somebody else may own it.
   */
  append(records: readonly R[], done: (error: Error | null) => void): void;
  close(): Promise<void>;
}

/** Opens the journal of an owner, by the owner's address. */
export type Journals = <R>(owner: string) => Journal<R>;
