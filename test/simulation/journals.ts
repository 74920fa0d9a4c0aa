// Journals as a JetStream server keeps them, without the server: an entry is stored some time after it was sent and
// acknowledged some time after that; entries of one writer are stored in order or not at all; and when another has
// opened the journal, nothing more of the one before is stored. What is stored is what counts, so it is told at once.
// What stands in a stream, and how it is read, is production's own.

import { joined } from '../../actors/snapshot.ts';
import type { Clock } from '../../runtime/clock.ts';
import { CellwrightError } from '../../runtime/errors.ts';
import { assembler, entriesOf, epochEntry, partEntries, readEntry } from '../../runtime/journal/entries.ts';
import type { Journal } from '../../runtime/journal/journal.ts';
import { journaled } from '../support/turn.ts';
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
  /** Told of a snapshot that begins: it is to be of the state that the records stored by now lead to. */
  onSnapshotBegun(owner: string): void;
  /** Told of the state that an owner keeps, when the last part of it is stored. */
  onSnapshot(owner: string, state: unknown, parts: number): void;
  /** Told of a snapshot of which the owner ended before its last part was stored. */
  onSnapshotLost(owner: string): void;
  /** Told of an entry that was refused because another owner writes. */
  onFenced(owner: string): void;
}

export interface SimulatedJournals {
  /** The journal of an owner as one life of it has it; what the server says waits for that life's clock. */
  journal(owner: string, clock: Clock): Journal<never>;
}

interface Stored {
  epoch: number;
  /** The bodies of what stands in the stream. */
  bodies: Uint8Array[];
  /** Parts of the snapshot that is being stored, and how many bodies are before it; null when there is none. */
  partial: { readonly parts: unknown[]; before: number } | null;
  /** An epoch of which an entry was lost: those after it do not follow what is stored. */
  broken: number;
}

/** The longest time, ms, that an entry takes to be stored, and its acknowledgement to come. */
const LATE_MS = 3_000;
/** Small enough for most turns to be stored in several pieces. */
const PIECE_BYTES = 512;

export function simulatedJournals(options: JournalsOptions): SimulatedJournals {
  const { clock: world, chance, weather, snapshotEvery, fenced } = options;
  const { onStored, onOpened, onSnapshotBegun, onSnapshot, onSnapshotLost, onFenced } = options;
  const kept = new Map<string, Stored>();

  function journal(owner: string, clock: Clock): Journal<never> {
    let stored = kept.get(owner);
    if (stored === undefined) {
      stored = { epoch: 0, bodies: [], partial: null, broken: 0 };
      kept.set(owner, stored);
    }
    return writer(owner, stored, clock);
  }

  function writer(owner: string, stored: Stored, clock: Clock): Journal<never> {
    let epoch = 0;
    let count = 0;
    let recordsSince = 0;
    let isSaving = false;
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

    /** When the next entry is stored and acknowledged: after all before it. */
    function send(key: string): void {
      const [storing, acknowledging] = delays(key);
      storedAt = Math.max(storedAt, world.now() + storing);
      acknowledgedAt = Math.max(acknowledgedAt, storedAt + acknowledging);
    }

    /** A part is stored as an entry is; what follows from the last one is seen to by the server too. */
    function storePart(bodies: Uint8Array[], value: object, part: number, last: boolean): void {
      if (part === 0) {
        stored.partial = { parts: [], before: stored.bodies.length };
        onSnapshotBegun(owner);
      }
      stored.bodies.push(...bodies);
      const { partial } = stored;
      if (partial === null) throw new Error(`part ${part} of a snapshot of '${owner}' has no beginning`);
      partial.parts.push(value);
      if (!last) return;
      stored.partial = null;
      onSnapshot(owner, joined(partial.parts), partial.parts.length);
      // A purge may fail, and then what is before is read once more.
      if (chance.of(`${owner} ${epoch} ${count} purged`) < 0.8) stored.bodies.splice(0, partial.before);
    }

    return {
      async open() {
        const key = `${owner} open ${stored.epoch}`;
        if (chance.happens('journal-unreadable', key, weather.openFails)) {
          // A second time it may be read: the key is another one.
          stored.epoch += 1;
          throw new CellwrightError('no-answer', `the journal of '${owner}' cannot be read now`, { retryable: true });
        }
        const read = assembler<never>();
        stored.bodies.forEach((body, position) => {
          read.take(readEntry(body, owner, position));
        });
        stored.epoch += 1;
        epoch = stored.epoch;
        if (stored.partial !== null) onSnapshotLost(owner);
        stored.partial = null;
        stored.bodies.push(epochEntry(epoch));
        onOpened(owner, epoch);
        count = 0;
        recordsSince = 0;
        isSaving = false;
        failed = false;
        return read.assembled();
      },
      append(records, done) {
        if (failed) return;
        count += 1;
        recordsSince += records.length;
        const mine = epoch;
        const key = `${owner} ${epoch} ${count}`;
        const bodies = entriesOf(records, { epoch, pieceBytes: PIECE_BYTES });
        const entry = journaled([...records]) as object[];
        send(key);
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
          stored.bodies.push(...bodies);
          onStored(owner, { epoch: mine, records: entry });
          if (!fails) later(acknowledgedAt, () => done(null));
        });
      },
      get wantsSnapshot() {
        return snapshotEvery > 0 && !isSaving && recordsSince >= snapshotEvery;
      },
      beginSnapshot() {
        recordsSince = 0;
        isSaving = true;
        let parts = 0;
        const mine = epoch;
        return {
          add(value, last, done) {
            // Nothing is stored any more of what comes after an entry that failed.
            if (failed) return 0;
            const part = parts;
            parts += 1;
            count += 1;
            const bodies = partEntries(value, { part, last }, { epoch: mine, pieceBytes: PIECE_BYTES });
            const copy = journaled(value as object);
            send(`${owner} ${mine} ${count}`);
            world.at(storedAt, () => {
              if (stored.epoch !== mine || stored.broken === mine) return;
              storePart(bodies, copy, part, last);
              later(acknowledgedAt, () => {
                if (last) isSaving = false;
                done();
              });
            });
            return bodies.reduce((sum, { length }) => sum + length, 0);
          },
        };
      },
      async close() {},
    };
  }

  return { journal };
}
