// What stands in a journal's stream: the start of an epoch, the records of a turn, or a piece of a snapshot. Each entry
// names the version of its form; one that this program does not read is refused by name, never guessed.

import { decode, encode } from '../codec.ts';
import { CellwrightError } from '../errors.ts';
import type { Recorded } from './journal.ts';

/** The version of the entries that this program writes, and the only one that it reads. */
export const ENTRY_VERSION = 1;

/** The largest entry read, bytes: what a server may be configured to carry. */
const MAX_ENTRY_BYTES = 64 * 1024 * 1024;

export type Entry = (
  | { v: 1; kind: 'epoch'; epoch: number }
  /** The records of a turn, or a snapshot of the state. A large one stands in `of` pieces that follow each other. */
  | { v: 1; kind: 'records' | 'snapshot'; epoch: number; piece: number; of: number; data: Uint8Array }
) & {
  /** Noted by whoever reads it: entries are missing before this one. */
  afterGap?: true;
};

/** The bodies of the entries in which a value is written, none with more than `pieceBytes` of it. */
export function entriesOf(
  kind: 'records' | 'snapshot',
  value: unknown,
  { epoch, pieceBytes }: { epoch: number; pieceBytes: number },
): Uint8Array[] {
  const whole = encode(value);
  const of = Math.max(1, Math.ceil(whole.length / pieceBytes));
  return Array.from({ length: of }, (_, piece) => {
    const data = whole.subarray(piece * pieceBytes, (piece + 1) * pieceBytes);
    return encode({ v: ENTRY_VERSION, kind, epoch, piece, of, data });
  });
}

export function epochEntry(epoch: number): Uint8Array {
  return encode({ v: ENTRY_VERSION, kind: 'epoch', epoch });
}

/**
 * Reads an entry.
 * @throws CellwrightError `unknown-version` when it was written in a form that this program does not know.
 */
export function readEntry(body: Uint8Array, stream: string, sequence: number): Entry {
  const entry = decode(body, MAX_ENTRY_BYTES) as Entry;
  if (entry.v === ENTRY_VERSION) return entry;
  const said = JSON.stringify(entry.v);
  const message = `entry ${sequence} of journal '${stream}' is of version ${said}; this program reads ${ENTRY_VERSION}`;
  throw new CellwrightError('unknown-version', message);
}

export interface Assembled<R> extends Recorded<R> {
  readonly epoch: number;
  /** Records after the snapshot, and the bytes of them. */
  readonly recordsSince: number;
  readonly bytesSince: number;
  readonly snapshotBytes: number;
  /** Entries are missing, and no snapshot stands for them. */
  readonly hasGap: boolean;
}

/**
 * Puts entries together, in the order in which they stand: the last whole snapshot and the records after it. Pieces
 * whose last one is missing belong to a turn that was never acknowledged: it did not happen.
 * @throws CellwrightError `two-writers` when an owner wrote after a later one had begun, which fencing rules out.
 */
export function assemble<R>(entries: Iterable<Entry>): Assembled<R> {
  let epoch = 0;
  let snapshot: unknown = null;
  let records: R[] = [];
  let pieces: Uint8Array[] = [];
  let snapshotBytes = 0;
  let bytesSince = 0;
  let hasGap = false;
  for (const entry of entries) {
    if (entry.afterGap === true) {
      hasGap = true;
      pieces = [];
    }
    if (entry.epoch < epoch) {
      throw new CellwrightError('two-writers', `an entry of epoch ${entry.epoch} follows one of epoch ${epoch}`);
    }
    epoch = entry.epoch;
    if (entry.kind === 'epoch') {
      pieces = [];
      continue;
    }
    if (entry.piece === 0) pieces = [];
    if (entry.piece !== pieces.length) continue;
    pieces.push(entry.data);
    if (pieces.length < entry.of) continue;
    const whole = pieces.length === 1 ? entry.data : Buffer.concat(pieces);
    const value = decode(whole, Number.MAX_SAFE_INTEGER);
    pieces = [];
    if (entry.kind === 'snapshot') {
      snapshot = (value as { state: unknown }).state;
      records = [];
      // What is before it may be purged, also while it is read.
      hasGap = false;
      snapshotBytes = whole.length;
      bytesSince = 0;
    } else {
      bytesSince += whole.length;
      for (const record of value as R[]) records.push(record);
    }
  }
  return { snapshot, records, epoch, recordsSince: records.length, bytesSince, snapshotBytes, hasGap };
}
