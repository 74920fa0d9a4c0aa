// Journals in memory: safe against the death of an actor, not of the process. For tests, simulation and in-memory runs.

import type { Clock } from '../clock.ts';
import { decode, encode } from '../codec.ts';
import { CellwrightError } from '../errors.ts';
import { type Journal, type Journals, leaseInDoubt } from './journal.ts';

export interface MemoryJournalsOptions {
  readonly clock: Clock;
  /**
   * Whether records are kept, so that an owner can be opened again; default true. A long run that never opens one
   * twice saves the memory.
   */
  readonly keep?: boolean;
  /**
   * Records after which a snapshot takes their place; default 50,000. Of a large state the next one waits until there
   * are two records for each row of the last one.
   */
  readonly snapshotEvery?: number;
}

/** Records for each row of the last snapshot, about, before the next one is taken. */
const RECORDS_FOR_ROW = 2;

/** What one journal holds. */
interface Kept {
  /** Its parts as they were taken: rows share nothing with the state that can change. */
  snapshot: readonly unknown[] | null;
  /** Those after it. */
  records: unknown[];
  /** So many of those, and the next snapshot is due. */
  due: number;
  /** Only who opened it last may write. */
  openings: number;
}

export function memoryJournals({ clock, keep = true, snapshotEvery = 50_000 }: MemoryJournalsOptions): Journals {
  const journals = new Map<string, Kept>();
  return <R>(owner: string): Journal<R> => {
    const kept: Kept = journals.get(owner) ?? { snapshot: null, records: [], due: snapshotEvery, openings: 0 };
    journals.set(owner, kept);
    let opening = 0;
    /** A snapshot is being taken. */
    let isSaving = false;

    return {
      async open(tenure) {
        // Whoever has the lease by now may write already: opened here, its journal would be taken from it.
        if (tenure?.holds() === false) throw leaseInDoubt(owner);
        kept.openings += 1;
        opening = kept.openings;
        isSaving = false;
        const snapshot = kept.snapshot?.map(copied) ?? null;
        return { snapshot, records: [...kept.records] as R[] };
      },
      append(records, done) {
        const isFenced = opening !== kept.openings;
        if (keep && !isFenced) for (const record of records) kept.records.push(record);
        const error = isFenced
          ? new CellwrightError('fenced', `another owner writes to the journal of '${owner}'`)
          : null;
        clock.soon(() => done(error));
      },
      get wantsSnapshot() {
        return !isSaving && kept.records.length >= kept.due;
      },
      beginSnapshot() {
        const mine = opening;
        const stoodBefore = kept.records.length;
        const parts: unknown[] = [];
        let rows = 0;
        isSaving = true;
        return {
          add(part, isLast, stored) {
            if (mine !== kept.openings) return 0;
            // What is no row stands in the first part, and may change.
            parts.push(parts.length === 0 ? copied(part) : part);
            rows += rowsIn(part);
            if (isLast) {
              isSaving = false;
              kept.records.splice(0, stoodBefore);
              kept.snapshot = parts;
              kept.due = Math.max(snapshotEvery, RECORDS_FOR_ROW * rows);
            }
            clock.soon(stored);
            // Nothing is written: a slice is as long as its time allows.
            return 0;
          },
        };
      },
      close: async () => {},
    };
  };
}

/** As it would be read from a store. */
function copied(part: unknown): unknown {
  return decode(encode(part), Number.POSITIVE_INFINITY);
}

/** About: what the head has of lists counts too. */
function rowsIn(part: unknown): number {
  return Object.values(part as object).reduce((sum, table) => sum + (Array.isArray(table) ? table.length : 0), 0);
}
