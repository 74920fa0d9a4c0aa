// When the next snapshot of a journal is due, by what was recorded since the last one.

import type { Address } from '../../actors/actor.ts';
import { fnv1a } from '../../actors/routing.ts';
import type { Assembled } from './entries.ts';

/** Bytes of records after which a snapshot is due, however few records they are: those of builds have payloads in them. */
const MOST_RECORDED_BYTES = 64 * 1024 * 1024;
/** Bytes of records for each byte of the last snapshot before the next one is written. */
const RECORDED_FOR_SNAPSHOT = 4;

export class SnapshotsDue {
  readonly #every: number;
  /** With how many records the next one is due. */
  #dueAt: number;
  /** What was recorded since the last one, and how large that was. */
  #records = 0;
  #bytes = 0;
  #lastBytes = 0;
  #isBeingTaken = false;
  #isWanted = false;

  constructor(every: number, owner: Address) {
    this.#every = every;
    // Cells that share the load would else all take theirs at one moment.
    this.#dueAt = every - (fnv1a(owner) % Math.ceil(every / 2));
  }

  /** Goes on from what was read. */
  begin({ recordsSince, openingsSince, bytesSince, snapshotBytes }: Assembled<unknown>): void {
    // Each opening leaves an entry, and an owner that is started again and again may record next to nothing.
    this.#records = recordsSince + openingsSince;
    this.#bytes = bytesSince;
    this.#lastBytes = snapshotBytes;
    this.#isBeingTaken = false;
    this.#isWanted = false;
  }

  /** One is wanted whatever was recorded: what stands in the journal is not enough. */
  want(): void {
    this.#isWanted = true;
  }

  noteRecorded(records: number, bytes: number): void {
    this.#records += records;
    this.#bytes += bytes;
  }

  get isDue(): boolean {
    const isMuch = this.#records >= this.#dueAt || this.#bytes >= MOST_RECORDED_BYTES;
    const isEnough = isMuch && this.#bytes >= RECORDED_FOR_SNAPSHOT * this.#lastBytes;
    return !this.#isBeingTaken && (this.#isWanted || isEnough);
  }

  /** One is being taken. Answers how many bytes a record has had since the last one. */
  take(): number {
    const recordBytes = this.#bytes / Math.max(1, this.#records);
    this.#isBeingTaken = true;
    this.#isWanted = false;
    this.#dueAt = this.#every;
    this.#records = 0;
    this.#bytes = 0;
    return recordBytes;
  }

  /** It is safe, and so large. */
  taken(bytes: number): void {
    this.#isBeingTaken = false;
    this.#lastBytes = bytes;
  }
}
