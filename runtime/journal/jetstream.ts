// Journals on JetStream: one stream for each owner. An owner that opens its journal reads it, begins a new epoch there
// on the condition that nobody wrote meanwhile, and from then on is the only one whose entries are stored. Snapshots
// stand in the same stream, part by part between the entries of turns; what is before the last whole one is purged.

import type { Address } from '../../actors/actor.ts';
import { fnv1a } from '../../actors/routing.ts';
import type { NatsBus } from '../bus/nats.ts';
import { busError, lacksJetStream, WRONG_LAST_SEQUENCE } from '../bus/nats-errors.ts';
import type { Clock } from '../clock.ts';
import { CellwrightError, messageOf } from '../errors.ts';
import type { Tenure } from '../ownership/tenure.ts';
import type { Subjects } from '../subjects.ts';
import { type Assembled, assemble, entriesOf, epochEntry, partEntries } from './entries.ts';
import { type Journal, type Journals, leaseInDoubt } from './journal.ts';
import { type MadeJournals, madeJournals } from './made.ts';
import { MOST_BYTES_AT_ONCE, type Reading, readStream } from './reading.ts';
import { firstUnlike, numberOf, type Range } from './strays.ts';
import { type KnownStream, type StreamInfo, streamOf, whatIsThere } from './stream.ts';
import { Turns } from './turns.ts';
import { ACCOUNT_IS_FULL, IS_BEING_STORED, journalWriter, type StoredTail, type Writer } from './writer.ts';

export interface JetStreamJournalsOptions {
  readonly bus: NatsBus;
  readonly clock: Clock;
  readonly subjects: Subjects;
  /** Copies of each stream in a cluster of servers: 1, 3 or 5; default 1. With 3, one server may be lost. */
  readonly replicas?: number;
  /**
   * Records after which a snapshot is written, the first one after at least half as many, differently so for each owner;
   * default 50,000; or after 64 MiB of records, if that is earlier. Opening an owner reads one snapshot and about as many
   * records as this, and those of the time that the snapshot took, which takes a second or two. Of a large state the
   * next snapshot waits until four times as much was recorded as the last one took, so that most of all that is written
   * is records; so much is read then.
   */
  readonly snapshotEvery?: number;
  /** Told what keeps a journal from growing, such as a full disk; its owner waits until that is mended. */
  onError?(error: CellwrightError, what: string): void;
}

/** The largest piece of a turn or a snapshot in one entry, bytes. */
const MAX_PIECE_BYTES = 512 * 1024;
/** Bytes of records after which a snapshot is due, however few records they are: those of builds have payloads in them. */
const MOST_RECORDED_BYTES = 64 * 1024 * 1024;
/** How many large journals are read at the same time by one process. */
const READ_AT_ONCE = 3;
/** Bytes of records for each byte of the last snapshot before the next one is written. */
const RECORDED_FOR_SNAPSHOT = 4;
/**
 * How often a rival may get in between reading the stream and beginning an epoch; and for how long at least, ms, since a
 * short stream is read again in no time.
 */
const MAX_OPENINGS = 10;
const OPENING_MS = 5_000;
/** So many tries differ by their ids. */
const MAX_ID_TRIES = 64;
/** So many entries removed at the end are looked for, beside the strays: an operator removes them one at a time. */
const MAX_REMOVED = 1_000;
/** How long the client waits for an answer of JetStream, ms: its own default. */
const API_TIMEOUT_MS = 5_000;

/** What the journals of one process know together. */
interface Shared {
  readonly made: MadeJournals;
  /** The streams that were open here. */
  readonly known: Map<string, KnownStream>;
  readonly turns: Turns;
}

/**
 * The journals of a deployment. Opening one throws CellwrightError `no-jetstream` when the account has no JetStream,
 * `journal-lost` when something is missing of what was recorded, `journal-unfit` when the stream is set to lose it,
 * `journal-unreadable` when something stands in it that no owner wrote.
 */
export function jetStreamJournals(options: JetStreamJournalsOptions): Journals {
  const { bus, subjects, replicas = 1 } = options;
  const made = madeJournals({ bus, subjects, replicas });
  const shared = { made, known: new Map<string, KnownStream>(), turns: new Turns(READ_AT_ONCE * MOST_BYTES_AT_ONCE) };
  return <R>(owner: Address) => jetStreamJournal<R>(owner, options, shared);
}

function jetStreamJournal<R>(owner: Address, options: JetStreamJournalsOptions, shared: Shared): Journal<R> {
  const { bus, clock, subjects, replicas = 1, snapshotEvery = 50_000 } = options;
  const subject = subjects.journal(owner);
  const stream = subjects.journalStream(owner);
  let writer: Writer | undefined;
  /** With how many records the next snapshot is due. Cells that share the load would else all take theirs at one moment. */
  let due = snapshotEvery - (fnv1a(owner) % Math.ceil(snapshotEvery / 2));
  /** What was recorded since the last snapshot, and how large that was. */
  let recordsSince = 0;
  let bytesSince = 0;
  let snapshotBytes = 0;
  let epoch = 0;
  /** A snapshot is being taken. */
  let isSaving = false;
  let known: KnownStream | undefined;
  let reading: Reading | undefined;
  /** Ends the opening that is under way. */
  let opening = new AbortController();
  let breakOff: (error: CellwrightError) => void = () => {};

  /** Half of what the server carries leaves ample room for the rest of the entry and its headers. */
  const pieceBytes = () => Math.min(MAX_PIECE_BYTES, Math.floor(bus.maxPayloadBytes / 2));

  async function open(tenure?: Tenure) {
    try {
      return await openNow(tenure);
    } catch (error) {
      throw busError(error, `journal ${stream}`, API_TIMEOUT_MS);
    }
  }

  /** Of what is opened again or closed: it may still wait until others are read. */
  function endOpening(): void {
    opening.abort(new CellwrightError('closed', `journal '${stream}' was closed before it was read`));
    opening = new AbortController();
    reading?.stop();
  }

  async function openNow(tenure?: Tenure) {
    endOpening();
    const { signal } = opening;
    writer?.close();
    const { streams } = await managerOf(bus, stream);
    const { made } = shared;
    const onError = (error: CellwrightError) => options.onError?.(error, stream);
    known = shared.known.get(stream);
    const info = await streamOf({ streams, made, owner, stream, subject, replicas, known, onError });
    const until = clock.monotonic() + OPENING_MS;
    for (let tries = 0; tries < MAX_OPENINGS || clock.monotonic() < until; tries += 1) {
      const { state } = tries === 0 ? info : await streams.info(stream);
      const recorded = await readAll(state, signal);
      if (recorded === null) continue;
      epoch = Math.max(recorded.epoch + 1, tenure?.epoch ?? 0);
      // A newer owner can only have come after this moment, and so has written after what was read, or will: then the
      // beginning of our epoch is refused, or is before its.
      if (tenure?.holds() === false) {
        throw leaseInDoubt(owner);
      }
      signal.throwIfAborted();
      const begun = await begin(state.last_seq, tries);
      // Else what was closed would have a writer again, which nobody closes.
      signal.throwIfAborted();
      if (begun === null) continue;
      known = { created: info.created, lastSequence: begun };
      shared.known.set(stream, known);
      ({ recordsSince, bytesSince, snapshotBytes } = recorded);
      isSaving = false;
      writer = journalWriter({
        bus,
        clock,
        stream,
        subject,
        epoch,
        begun,
        readTail,
        noteRefused,
        onRefused,
        onBroken: (error) => breakOff(error),
      });
      return recorded;
    }
    throw new CellwrightError('contended', `others keep opening journal '${stream}'`, { retryable: true });
  }

  /**
   * Null when somebody has written meanwhile, and may have purged what was to be read.
   * @param state Its `last_seq` is the number of the last entry that ever stood in the stream, whether it still does or not.
   */
  async function readAll(state: StreamInfo['state'], signal: AbortSignal): Promise<Assembled<R> | null> {
    const { messages, bytes, first_seq: first, last_seq: last } = state;
    if (messages === 0) {
      const hadOwn = last > 0 && firstUnlike(await shared.made.straysOf(owner), [1, last]) !== null;
      if (hadOwn) throw lost(`had ${last} entries and has none`);
      return assemble<R>([]);
    }
    const there = await lastThere(last);
    if (there === null) return null;
    const { entries, strays } = await shared.turns.take(Math.min(bytes, MOST_BYTES_AT_ONCE), signal, async () => {
      reading = readStream({ bus, clock, stream, first, last: there });
      return { entries: await reading.entries, strays: reading.strays };
    });
    if (strays.length > 0) await refuseStrays(strays);
    const recorded = assemble<R>(entries);
    if (!recorded.hasGap) return recorded;
    if (await hasGrown(last)) return null;
    throw lost('lacks entries that no snapshot stands for');
  }

  /**
   * The number of the last entry that stands in the stream. What was removed after it may have been the journal's own,
   * of which nothing that is left tells, unless it was seen to be strays. (The server is asked for one number after the
   * other: before 2.10 it finds no last one by its subject when the very last was removed.) Null when somebody has
   * written meanwhile.
   */
  async function lastThere(last: number): Promise<number | null> {
    const { streams } = await managerOf(bus, stream);
    const isThere = async (seq: number) => (await whatIsThere(streams.getMessage(stream, { seq }))) !== null;
    if (await isThere(last)) return last;
    const strays = await shared.made.straysOf(owner);
    const least = Math.max(0, last - MAX_REMOVED - numberOf(strays));
    let there = last - 1;
    while (there > least && !(await isThere(there))) there -= 1;
    if (await hasGrown(last)) return null;
    const first = firstUnlike(strays, [there + 1, last]);
    if (first === null) return there;
    throw lost(
      `ends with entry ${there}, and had entries to ${last}: entry ${first} is gone, which was not seen to be a ` +
        `stray. Restore it; or, if nothing from ${first} to ${last} was the journal's own, say so: ` +
        shared.made.howToAllow(owner, [...strays, [first, last]]),
    );
  }

  async function hasGrown(last: number): Promise<boolean> {
    const { streams } = await managerOf(bus, stream);
    return (await streams.info(stream)).state.last_seq > last;
  }

  async function refuseStrays(strays: readonly Range[]): Promise<void> {
    await shared.made.noteStrays(owner, strays);
    const [[sequence]] = strays as [Range];
    const others = numberOf(strays) - 1;
    const message =
      `entry ${sequence} of journal '${stream}' is one that no owner wrote: somebody has published to '${subject}'. ` +
      `Remove it: nats stream rmm ${stream} ${sequence}${others > 0 ? `; and so ${others} more` : ''}`;
    throw new CellwrightError('journal-unreadable', message);
  }

  function lost(why: string): CellwrightError {
    return new CellwrightError('journal-lost', `journal '${stream}' ${why}`);
  }

  /** Begins an epoch after the entry `last`, and answers the number of its entry; null when somebody wrote meanwhile. */
  async function begin(last: number, tries: number): Promise<number | null> {
    // Servers before 2.12 take an id that they have refused for one that they know: each try has its own, all are 0.
    const zero = tries === 0 ? '0' : `0.${'0'.repeat(1 + (tries % MAX_ID_TRIES))}`;
    const headers = { 'Nats-Msg-Id': `${epoch}-${zero}`, 'Nats-Expected-Last-Sequence': String(last) };
    const { data } = await bus.request(subject, epochEntry(epoch), { timeoutMs: 10_000, headers });
    const ack = JSON.parse(Buffer.from(data).toString()) as {
      seq?: number;
      duplicate?: boolean;
      error?: { err_code: number; description: string };
    };
    if (ack.error === undefined) return ack.duplicate === true ? null : (ack.seq ?? last + 1);
    if ([WRONG_LAST_SEQUENCE, IS_BEING_STORED].includes(ack.error.err_code)) return null;
    // It did follow the last one, so that no other has its number, if the server has given it one.
    if (ack.error.err_code === ACCOUNT_IS_FULL && (await hasGrown(last))) await noteRefused(last + 1);
    throw new CellwrightError('journal-refused', `journal '${stream}' refuses to be opened: ${ack.error.description}`);
  }

  async function readTail(known: number): Promise<StoredTail | null> {
    const { streams } = await managerOf(bus, stream);
    // Asked before the last message is: what is stored between the two was not removed.
    const info = await whatIsThere(streams.info(stream));
    if (info === null || info.state.messages === 0) return null;
    const { last_seq: last } = info.state;
    // Before 2.10 none is found by the subject when the very last was removed.
    const tail =
      (await whatIsThere(streams.getMessage(stream, { last_by_subj: subject }))) ??
      (await whatIsThere(streams.getMessage(stream, { seq: known })));
    const id = tail?.header.get('Nats-Msg-Id') ?? '';
    const { seq: sequence } = tail ?? { seq: 0 };
    return sequence < last ? { id, sequence, removed: last } : { id, sequence };
  }

  /** This process keeps it in mind in any case. */
  const noteRefused = (sequence: number) => shared.made.noteStrays(owner, [[sequence, sequence]]).catch(() => {});

  const refusalOf = (reason: string) => `the server takes nothing more for journal '${stream}': ${reason}`;

  function onRefused(reason: string): void {
    const message = `${refusalOf(reason)}; '${owner}' waits for it`;
    options.onError?.(new CellwrightError('journal-refused', message, { retryable: true }), stream);
  }

  async function purgeBefore(sequence: number): Promise<void> {
    const manager = await managerOf(bus, stream);
    await manager.streams.purge(stream, { seq: sequence });
  }

  /** A snapshot is safe: it stands for what is before its first entry. */
  function ended(first: number, bytes: number): void {
    isSaving = false;
    snapshotBytes = bytes;
    // What is purged too late is only read once more: a failure here needs no more than the next snapshot.
    purgeBefore(first).catch(() => {});
  }

  return {
    open,
    append(records, done) {
      breakOff = done;
      recordsSince += records.length;
      const bodies = entriesOf(records, { epoch, pieceBytes: pieceBytes() });
      bytesSince += bytesOf(bodies);
      bodies.forEach((body, position) => {
        writer?.append(body, (sequence) => {
          if (known !== undefined) known.lastSequence = sequence;
          if (position === bodies.length - 1) done(null);
        });
      });
    },
    get refusal() {
      const reason = writer?.refusal;
      return reason === undefined ? undefined : refusalOf(reason);
    },
    get wantsSnapshot() {
      const isDue = recordsSince >= due || bytesSince >= MOST_RECORDED_BYTES;
      return !isSaving && isDue && bytesSince >= RECORDED_FOR_SNAPSHOT * snapshotBytes;
    },
    beginSnapshot() {
      const writing = writer;
      const recordBytes = bytesSince / Math.max(1, recordsSince);
      isSaving = true;
      due = snapshotEvery;
      recordsSince = 0;
      bytesSince = 0;
      let parts = 0;
      let bytes = 0;
      let first = 0;
      return {
        recordBytes,
        add(value, last, stored) {
          const part = parts;
          parts += 1;
          const bodies = partEntries(value, { part, last }, { epoch, pieceBytes: pieceBytes() });
          const size = bytesOf(bodies);
          bytes += size;
          bodies.forEach((body, position) => {
            writing?.append(body, (sequence) => {
              if (part === 0 && position === 0) first = sequence;
              if (position < bodies.length - 1) return;
              if (last) ended(first, bytes);
              stored();
            });
          });
          return size;
        },
      };
    },
    async close() {
      endOpening();
      writer?.close();
    },
  };
}

function bytesOf(bodies: readonly Uint8Array[]): number {
  return bodies.reduce((sum, { length }) => sum + length, 0);
}

async function managerOf(bus: NatsBus, stream: string) {
  try {
    return await bus.connection.jetstreamManager();
  } catch (cause) {
    // An account without it, or a server on which it is not ready yet; anything else says nothing of that.
    if (!lacksJetStream(cause)) throw busError(cause, `journal ${stream}`, API_TIMEOUT_MS);
    const message = `journal '${stream}' needs JetStream, which this NATS account does not offer: ${messageOf(cause)}`;
    throw new CellwrightError('no-jetstream', message, { cause });
  }
}
