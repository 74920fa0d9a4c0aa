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
   * Records after which a snapshot takes their place; default 50,000. Of a large state the next one waits until some
   * four times as much was recorded as the last one took.
   */
  readonly snapshotEvery?: number;
}

/** Bytes of the last snapshot for each record before the next one is taken: a record has about four times as many. */
const SNAPSHOT_BYTES_FOR_RECORD = 75;

/** What one journal holds. */
interface Kept {
  /** Parts, encoded: they share nothing with the state of whoever reads them. */
  snapshot: readonly Uint8Array[] | null;
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

    function keepSnapshot(parts: readonly Uint8Array[]): void {
      kept.snapshot = parts;
      const bytes = parts.reduce((sum, { length }) => sum + length, 0);
      kept.due = Math.max(snapshotEvery, bytes / SNAPSHOT_BYTES_FOR_RECORD);
    }

    return {
      async open(tenure) {
        // Whoever has the lease by now may write already: opened here, its journal would be taken from it.
        if (tenure?.holds() === false) throw leaseInDoubt(owner);
        kept.openings += 1;
        opening = kept.openings;
        isSaving = false;
        const snapshot = kept.snapshot?.map((part) => decode(part, part.length)) ?? null;
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
        const parts: Uint8Array[] = [];
        isSaving = true;
        return {
          add(value, isLast, stored) {
            if (mine !== kept.openings) return 0;
            const part = encode(value).slice();
            parts.push(part);
            if (isLast) {
              isSaving = false;
              kept.records.splice(0, stoodBefore);
              keepSnapshot(parts);
            }
            clock.soon(stored);
            return part.length;
          },
        };
      },
      close: async () => {},
    };
  };
}
