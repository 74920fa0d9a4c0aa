// Journals as a JetStream server keeps them, without the server: an entry is stored some time after it was sent and
// acknowledged some time after that; entries of one writer are stored in order or not at all; and when another has
// opened the journal, nothing more of the one before is stored. What is stored is what counts, so it is told at once.

import type { Clock } from '../../runtime/clock.ts';
import { decode, encode } from '../../runtime/codec.ts';
import { CellwrightError } from '../../runtime/errors.ts';
import type { Journal } from '../../runtime/journal/journal.ts';
import type { Chance } from './chance.ts';
import type { Weather } from './plan.ts';

export interface StoredEntry {
  readonly epoch: number;
  readonly records: readonly object[];
}

export interface JournalsOptions {
  readonly clock: Clock;
  readonly chance: Chance;
  readonly weather: Weather;
  readonly snapshotEvery: number;
  /** Whether entries of an earlier epoch are refused; a test of the simulation itself takes this away. */
  readonly fenced: boolean;
  /** Told of every entry, when it is stored. */
  onStored(owner: string, entry: StoredEntry): void;
  /** Told of an owner that opens its journal, and thereby begins an epoch. */
  onOpened(owner: string, epoch: number): void;
  /** Told of the state that an owner keeps, when it is stored. */
  onSnapshot(owner: string, state: unknown): void;
  /** Told of an entry that was refused because another owner writes. */
  onFenced(owner: string): void;
}

export interface SimulatedJournals {
  /** The journal of an owner as one life of it has it; what the server says waits for that life's clock. */
  journal(owner: string, clock: Clock): Journal<never>;
}

interface Stored {
  epoch: number;
  snapshot: Uint8Array | null;
  entries: Uint8Array[];
  /** An epoch of which an entry was lost: those after it do not follow what is stored. */
  broken: number;
}

/** The longest time, ms, that an entry takes to be stored, and its acknowledgement to come. */
const LATE_MS = 3_000;

export function simulatedJournals(options: JournalsOptions): SimulatedJournals {
  const { clock: world, chance, weather, snapshotEvery, fenced, onStored, onOpened, onSnapshot, onFenced } = options;
  const kept = new Map<string, Stored>();

  function journal(owner: string, clock: Clock): Journal<never> {
    let stored = kept.get(owner);
    if (stored === undefined) {
      stored = { epoch: 0, snapshot: null, entries: [], broken: 0 };
      kept.set(owner, stored);
    }
    return writer(owner, stored, clock);
  }

  function writer(owner: string, stored: Stored, clock: Clock): Journal<never> {
    let epoch = 0;
    let count = 0;
    let recordsSince = 0;
    let storedAt = 0;
    let acknowledgedAt = 0;
    let failed = false;

    /** Calls back on the clock of this life: one that is held up hears it later. */
    const later = (at: number, task: () => void) => void clock.at(at - world.now() + clock.now(), task);

    function delays(key: string): [number, number] {
      const late = (what: string) =>
        chance.happens('journal-late', `${key} ${what}`, weather.journalSlow)
          ? Math.ceil(chance.of(`${key} ${what} how late`) * LATE_MS)
          : 1 + Math.floor(chance.of(`${key} ${what}`) * 4);
      return [late('store'), late('acknowledge')];
    }

    return {
      async open() {
        const key = `${owner} open ${stored.epoch}`;
        if (chance.happens('journal-unreadable', key, weather.openFails)) {
          // A second time it may be read: the key is another one.
          stored.epoch += 1;
          throw new CellwrightError('no-answer', `the journal of '${owner}' cannot be read now`, { retryable: true });
        }
        stored.epoch += 1;
        epoch = stored.epoch;
        onOpened(owner, epoch);
        count = 0;
        recordsSince = 0;
        failed = false;
        const { snapshot } = stored;
        return {
          snapshot: snapshot === null ? null : decode(snapshot),
          records: stored.entries.flatMap((entry) => decode(entry) as never[]),
        };
      },
      append(records, done) {
        if (failed) return;
        count += 1;
        recordsSince += records.length;
        const mine = epoch;
        const key = `${owner} ${epoch} ${count}`;
        const entry = encode(records);
        const [storing, acknowledging] = delays(key);
        storedAt = Math.max(storedAt, world.now() + storing);
        acknowledgedAt = Math.max(acknowledgedAt, storedAt + acknowledging);
        const fails = chance.happens('journal-fails', key, weather.journalFails);
        const isStoredThough = fails && chance.of(`${key} stored though`) < 0.5;
        if (fails) {
          failed = true;
          if (!isStoredThough) {
            world.at(storedAt, () => {
              stored.broken = mine;
            });
          }
          later(acknowledgedAt, () => done(new CellwrightError('journal-lost', `entry ${key} is not acknowledged`)));
          if (!isStoredThough) return;
        }
        // The server stores it whatever becomes of the owner meanwhile.
        world.at(storedAt, () => {
          if (stored.broken === mine) return;
          if (fenced && stored.epoch !== mine) {
            onFenced(owner);
            const why = `another owner writes to the journal of '${owner}' (epoch ${stored.epoch}, ours ${mine})`;
            if (!fails) later(acknowledgedAt, () => done(new CellwrightError('fenced', why)));
            return;
          }
          stored.entries.push(entry);
          onStored(owner, { epoch: mine, records: decode(entry) as object[] });
          if (!fails) later(acknowledgedAt, () => done(null));
        });
      },
      get wantsSnapshot() {
        return snapshotEvery > 0 && recordsSince >= snapshotEvery;
      },
      saveSnapshot(state) {
        recordsSince = 0;
        count += 1;
        const mine = epoch;
        const snapshot = encode(state);
        storedAt = Math.max(storedAt, world.now());
        world.at(storedAt, () => {
          if (stored.epoch !== mine || stored.broken === mine) return;
          // It stands where it was appended: the entries before it are in it, and there are none after it yet.
          stored.snapshot = snapshot;
          stored.entries = [];
          onSnapshot(owner, decode(snapshot));
        });
      },
      async close() {},
    };
  }

  return { journal };
}
