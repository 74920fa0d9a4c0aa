// What stands in a journal's stream: the start of an epoch, the records of a turn, or a part of a snapshot. Each entry
// names the version of its form; one that this program does not read is refused by name, never guessed.

import { decode, encode } from '../codec.ts';
import { CellwrightError } from '../errors.ts';
import type { Recorded } from './journal.ts';

/** The largest entry read, bytes: what a server may be configured to carry. */
const MAX_ENTRY_BYTES = 64 * 1024 * 1024;

/** A large value stands in `of` pieces that follow each other. */
interface Piece {
  readonly epoch: number;
  readonly piece: number;
  readonly of: number;
  readonly data: Uint8Array;
}

/** The form of entries that this program writes. Programs that read only earlier ones would misread records in them. */
export const ENTRY_VERSION = 6;
/** What it reads. Of version 2 were snapshots of a form that was never released. */
const READ: readonly unknown[] = [1, 3, 4, 5, ENTRY_VERSION];

export type Entry = (
  | { readonly kind: 'epoch'; readonly epoch: number }
  /** The records of a turn. */
  | ({ readonly kind: 'records' } & Piece)
  /**
   * A part of a snapshot, from 0. The snapshot stands where its part 0 does: it has in it what is before that, and
   * nothing of what comes between its parts.
   */
  | ({ readonly kind: 'part'; readonly part: number; readonly last: boolean } & Piece)
) & {
  readonly v: 1 | 3 | 4 | 5 | typeof ENTRY_VERSION;
  /** Noted by whoever reads it: entries are missing before this one. */
  readonly afterGap?: true;
  /** So is the number under which a part stands. */
  readonly sequence?: number;
};

export interface Limits {
  readonly epoch: number;
  /** The most of a value that one entry has, bytes. */
  readonly pieceBytes: number;
}

/** The bodies of the entries in which the records of a turn are written. */
export function entriesOf(records: readonly unknown[], limits: Limits): Uint8Array[] {
  return inPieces({ kind: 'records' }, records, limits);
}

/** The bodies of the entries in which a part of a snapshot is written. */
export function partEntries(
  value: unknown,
  { part, last }: { readonly part: number; readonly last: boolean },
  limits: Limits,
): Uint8Array[] {
  return inPieces({ kind: 'part', part, last }, value, limits);
}

function inPieces(head: object, value: unknown, { epoch, pieceBytes }: Limits): Uint8Array[] {
  const whole = encode(value);
  const of = Math.max(1, Math.ceil(whole.length / pieceBytes));
  return Array.from({ length: of }, (_, piece) => {
    const data = whole.subarray(piece * pieceBytes, (piece + 1) * pieceBytes);
    return encode({ v: ENTRY_VERSION, ...head, epoch, piece, of, data });
  });
}

/** About how large one is. */
const EPOCH_BYTES = 32;

export function epochEntry(epoch: number): Uint8Array {
  return encode({ v: ENTRY_VERSION, kind: 'epoch', epoch });
}

/**
 * Reads an entry.
 * @throws CellwrightError `unknown-version` when it was written in a form that this program does not know.
 */
export function readEntry(body: Uint8Array, stream: string, sequence: number): Entry {
  const entry = decode(body, MAX_ENTRY_BYTES) as Entry;
  if (READ.includes(entry.v)) return entry;
  const said = JSON.stringify(entry.v);
  const message = `entry ${sequence} of journal '${stream}' is of version ${said}; this program reads ${READ.join(', ')}`;
  throw new CellwrightError('unknown-version', message);
}

export interface Assembled<R> extends Recorded<R> {
  readonly epoch: number;
  /** Records after the snapshot, how often the journal was opened since, and the bytes of all that. */
  readonly recordsSince: number;
  readonly openingsSince: number;
  readonly bytesSince: number;
  readonly snapshotBytes: number;
  /** Entries are missing, and no snapshot stands for them. */
  readonly hasGap: boolean;
  /** The number of the first entry of the snapshot; undefined when there is none. */
  readonly snapshotAt?: number | undefined;
}

export interface Assembler<R> {
  /** @throws CellwrightError `two-writers` when an owner wrote after a later one had begun, which fencing rules out. */
  take(entry: Entry): void;
  /** What has been taken comes to this. */
  assembled(): Assembled<R>;
}

/**
 * Puts entries together, in the order in which they stand: the last whole snapshot and the records after it. Pieces
 * whose last one is missing belong to a turn that was never acknowledged: it did not happen; nor did a snapshot of which
 * a part is missing.
 */
export function assembler<R>(): Assembler<R> {
  let epoch = 0;
  let snapshot: readonly unknown[] | null = null;
  let records: R[] = [];
  let pieces: Uint8Array[] = [];
  /** Under which number the first of them stands. */
  let piecesAt: number | undefined;
  let snapshotAt: number | undefined;
  let snapshotBytes = 0;
  let openingsSince = 0;
  let bytesSince = 0;
  let hasGap = false;
  /** The snapshot of which parts have come: how many records, and bytes of them, stand before it. */
  let partial: {
    readonly parts: unknown[];
    bytes: number;
    readonly records: number;
    readonly before: number;
    readonly at: number | undefined;
  } | null = null;

  function takePart(value: unknown, bytes: number, { part, last }: { part: number; last: boolean }): void {
    if (part === 0) partial = { parts: [], bytes: 0, records: records.length, before: bytesSince, at: piecesAt };
    if (partial === null || part !== partial.parts.length) {
      partial = null;
      return;
    }
    partial.parts.push(value);
    partial.bytes += bytes;
    if (!last) return;
    snapshot = partial.parts;
    snapshotBytes = partial.bytes;
    snapshotAt = partial.at;
    records = records.slice(partial.records);
    bytesSince -= partial.before;
    // An opening would have ended the snapshot.
    openingsSince = 0;
    partial = null;
    // What is before it may be purged, also while it is read.
    hasGap = false;
  }

  return {
    take(entry) {
      if (entry.afterGap === true) {
        hasGap = true;
        pieces = [];
        partial = null;
      }
      if (entry.epoch < epoch) {
        throw new CellwrightError('two-writers', `an entry of epoch ${entry.epoch} follows one of epoch ${epoch}`);
      }
      if (entry.epoch > epoch || entry.kind === 'epoch') {
        pieces = [];
        partial = null;
      }
      epoch = entry.epoch;
      if (entry.kind === 'epoch') {
        openingsSince += 1;
        bytesSince += EPOCH_BYTES;
        return;
      }
      if (entry.piece === 0) {
        pieces = [];
        piecesAt = entry.sequence;
      }
      if (entry.piece !== pieces.length) return;
      pieces.push(entry.data);
      if (pieces.length < entry.of) return;
      const whole = pieces.length === 1 ? entry.data : Buffer.concat(pieces);
      const value = decode(whole, Number.MAX_SAFE_INTEGER);
      pieces = [];
      if (entry.kind === 'part') {
        takePart(value, whole.length, entry);
      } else {
        bytesSince += whole.length;
        for (const record of value as R[]) records.push(record);
      }
    },
    assembled() {
      const recordsSince = records.length;
      return { snapshot, records, epoch, recordsSince, openingsSince, bytesSince, snapshotBytes, hasGap, snapshotAt };
    },
  };
}

/**
 * What all these entries come to, an entry in each step. They are taken out of the list as it goes on: what is made of them
 * may take tens of megabytes, and so may they.
 */
export function* assembling<R>(entries: Entry[]): Generator<void, Assembled<R>> {
  const all = assembler<R>();
  entries.reverse();
  for (let entry = entries.pop(); entry !== undefined; entry = entries.pop()) {
    all.take(entry);
    yield;
  }
  return all.assembled();
}
