// Journals in memory: safe against the death of an actor, not of the process. For tests, simulation and in-memory runs.

import type { Clock } from '../clock.ts';
import { type Journal, type Journals, noSnapshots } from './journal.ts';

export interface MemoryJournalsOptions {
  readonly clock: Clock;
  /**
   * Whether records are kept, so that an owner can be opened again; default true. A long run that never opens one
   * twice saves the memory.
   */
  readonly keep?: boolean;
}

export function memoryJournals({ clock, keep = true }: MemoryJournalsOptions): Journals {
  const kept = new Map<string, unknown[]>();
  return <R>(owner: string): Journal<R> => {
    const records = (kept.get(owner) ?? []) as R[];
    kept.set(owner, records);
    return {
      open: async () => ({ snapshot: null, records: [...records] }),
      append(appended, done) {
        if (keep) for (const record of appended) records.push(record);
        clock.soon(() => done(null));
      },
      ...noSnapshots,
      close: async () => {},
    };
  };
}
