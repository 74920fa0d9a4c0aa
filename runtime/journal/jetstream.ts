// Journals on JetStream: one stream for each owner. An owner that opens its journal reads it, begins a new epoch there
// on the condition that nobody wrote meanwhile, and from then on is the only one whose entries are stored. Snapshots
// stand in the same stream, part by part between the entries of turns; what is before the last whole one is purged.

import type { StreamAPI } from 'nats';
import type { Address } from '../../actors/actor.ts';
import type { NatsBus } from '../bus/nats.ts';
import { busError, WRONG_LAST_SEQUENCE } from '../bus/nats-errors.ts';
import type { Clock } from '../clock.ts';
import { CellwrightError } from '../errors.ts';
import type { Tenure } from '../ownership/tenure.ts';
import { sleep } from '../pause.ts';
import type { Subjects } from '../subjects.ts';
import { entriesOf, epochEntry, partEntries } from './entries.ts';
import { type Journal, type Journals, leaseInDoubt } from './journal.ts';
import { type MadeJournals, madeJournals } from './made.ts';
import { MOST_BYTES_AT_ONCE } from './reading.ts';
import { SnapshotsDue } from './snapshots-due.ts';
import { storedIn } from './stored.ts';
import {
  API_TIMEOUT_MS,
  insistSame,
  type KnownStream,
  makeStream,
  managerOf,
  streamOf,
  unfitness,
  whatIsThere,
} from './stream.ts';
import { Turns } from './turns.ts';
import { type Coming, SURE_AFTER_MS, type Upkeep, upkeepOf } from './upkeep.ts';
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
  /**
   * How often an owner that runs looks whether its stream still has what it needs to start again, ms; default 20,000.
   * Else it writes a snapshot at once, and says so.
   */
  readonly lookEveryMs?: number;
  /** Told what keeps a journal from growing, such as a full disk; its owner waits until that is mended. */
  onError?(error: CellwrightError, what: string): void;
}

/** The largest piece of a turn or a snapshot in one entry, bytes. */
const MAX_PIECE_BYTES = 512 * 1024;
/** How many large journals are read at the same time by one process. */
const READ_AT_ONCE = 3;
const LOOK_EVERY_MS = 20_000;
/** What was told once is told anew then. */
const FORGOTTEN_AFTER_MS = 60_000;
/**
 * How often a rival may get in between reading the stream and beginning an epoch; and for how long at least, ms, since a
 * short stream is read again in no time.
 */
const MAX_OPENINGS = 10;
const OPENING_MS = 5_000;
/** How long it is waited for the renewal of a lease once all is read, ms, and how often it is looked whether it is there. */
const RENEWED_WITHIN_MS = 3_000;
const RENEWED_LOOK_MS = 50;
/** So many tries differ by their ids. */
const MAX_ID_TRIES = 64;
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
  const made = madeJournals(options);
  const shared = { made, known: new Map<string, KnownStream>(), turns: new Turns(READ_AT_ONCE * MOST_BYTES_AT_ONCE) };
  return <R>(owner: Address) => jetStreamJournal<R>(owner, options, shared);
}

function jetStreamJournal<R>(owner: Address, options: JetStreamJournalsOptions, shared: Shared): Journal<R> {
  const { bus, clock, subjects, replicas = 1, snapshotEvery = 50_000, lookEveryMs = LOOK_EVERY_MS } = options;
  const subject = subjects.journal(owner);
  const stream = subjects.journalStream(owner);
  const stored = storedIn<R>({ bus, clock, subject, stream, owner, ...shared });
  const snapshots = new SnapshotsDue(snapshotEvery, owner);
  let writer: Writer | undefined;
  let epoch = 0;
  let known: KnownStream | undefined;
  /** Ends the opening that is under way. */
  let opening = new AbortController();
  let breakOff: (error: CellwrightError) => void = () => {};
  let upkeep: Upkeep | undefined;
  /** After which entry it was said to have lost what was acknowledged, and when that was said first. */
  let told: { readonly last: number; readonly at: number } | null = null;

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
    stored.stop();
  }

  function end(): void {
    writer?.close();
    upkeep?.stop();
  }

  async function openNow(tenure?: Tenure) {
    endOpening();
    const { signal } = opening;
    end();
    const { streams } = await managerOf(bus, stream);
    const { made } = shared;
    const onError = (error: CellwrightError) => options.onError?.(error, stream);
    known = shared.known.get(stream);
    const info = await streamOf({ streams, made, owner, stream, subject, replicas, known, onError });
    const until = clock.monotonic() + OPENING_MS;
    for (let tries = 0; tries < MAX_OPENINGS || clock.monotonic() < until; tries += 1) {
      const { state } = tries === 0 ? info : await streams.info(stream);
      const recorded = await stored.readAll(state, signal);
      if (recorded === null) continue;
      insistSame({ created: info.created, state }, recorded.epoch, { stream, owner, made, known });
      await leaseRenewed(tenure, signal);
      epoch = Math.max(recorded.epoch + 1, tenure?.epoch ?? 0);
      // A newer owner can only have come after this moment, and so has written after what was read, or will: then the
      // beginning of our epoch is refused, or is before its.
      if (tenure?.holds() === false) throw leaseInDoubt(owner);
      signal.throwIfAborted();
      const begun = await begin(state.last_seq, tries);
      // Else what was closed would have a writer again, which nobody closes.
      signal.throwIfAborted();
      if (begun === null) continue;
      // Not before: an empty stream that was noted is one that somebody has made anew.
      await made.note(owner);
      signal.throwIfAborted();
      note(info.created, begun);
      snapshots.begin(recorded);
      writer = journalWriter({
        bus,
        clock,
        stream,
        subject,
        epoch,
        begun,
        readTail: stored.readTail,
        noteRefused,
        regain: (tail, before) => regained(streams, tail, { before, signal, tenure }),
        onRefused,
        onBroken(error) {
          upkeep?.stop();
          breakOff(error);
        },
      });
      upkeep = upkeepOf({
        clock,
        streams,
        stream,
        owner,
        created: info.created,
        needed: recorded.snapshotAt ?? Math.max(1, Math.min(state.first_seq, begun)),
        everyMs: lookEveryMs,
        lastStored: () => writer?.lastStored ?? begun,
        straysOf: () => made.straysOf(owner),
        faultOf: (config) => unfitness(config, stream, subject),
        lookAtTail: async () => (await writer?.look()) === true,
        wantSnapshot: () => snapshots.want(),
        onWell() {
          told = null;
        },
        onError,
      });
      return recorded;
    }
    throw new CellwrightError('contended', `others keep opening journal '${stream}'`, { retryable: true });
  }

  /**
   * A lease that was not renewed in time is mostly still its owner's, whose machine is busy; to give it up would be to read
   * all again, and to be as late again. Where it is another's by now the journal is closed.
   */
  async function leaseRenewed(tenure: Tenure | undefined, signal: AbortSignal): Promise<void> {
    const until = clock.monotonic() + RENEWED_WITHIN_MS;
    while (tenure?.holds() === false && clock.monotonic() < until) {
      await sleep(clock, RENEWED_LOOK_MS);
      signal.throwIfAborted();
    }
  }

  function note(created: string, lastSequence: number): void {
    known = { created, lastSequence, epoch };
    shared.known.set(stream, known);
  }

  /** A server that leads no more may tell of how the stream stood for a moment: what is to be believed is told twice. */
  function insistSure(tail: StoredTail | null): void {
    const last = tail === null ? 0 : (tail.removed ?? tail.sequence);
    const at = clock.monotonic();
    const isTold = told !== null && told.last === last && at - told.at < FORGOTTEN_AFTER_MS;
    if (!isTold) told = { last, at };
    if (told !== null && at - told.at >= SURE_AFTER_MS) return;
    throw new CellwrightError('contended', `how journal '${stream}' stands is asked again`, { retryable: true });
  }

  /**
   * After which entry the writer goes on, in a stream that has lost what was acknowledged, or is made anew: its owner
   * still knows all of it, and as long as it holds the lease nobody else does. Until a snapshot is whole, whoever opens
   * the journal sees that something is missing.
   */
  async function regained(
    streams: StreamAPI,
    tail: StoredTail | null,
    { before, signal, tenure }: { before: number; signal: AbortSignal; tenure: Tenure | undefined },
  ): Promise<number | null> {
    if (tenure === undefined) return null;
    const insistHeld = () => {
      signal.throwIfAborted();
      if (!tenure.holds()) throw leaseInDoubt(owner);
    };
    insistHeld();
    insistSure(tail);
    // The clock of a machine that was suspended has stood still: its lease may be another's by now, which may write to a
    // stream made anew, or have done so, and has no entry there that would stop this one.
    if ((await tenure.confirm?.()) === false) throw leaseInDoubt(owner);
    insistHeld();
    const there = await whatIsThere(streams.info(stream));
    insistHeld();
    const info = there ?? (await makeStream({ streams, stream, subject, replicas }));
    insistHeld();
    const { messages, last_seq } = info.state;
    // Somebody has written since the tail was read.
    if (tail === null && messages > 0)
      throw new CellwrightError('contended', `journal '${stream}' is being written`, { retryable: true });
    // A lease may seem to be held that is not, for the same reason.
    if (tail === null && info.created === known?.created && last_seq > before) {
      const why = `entry ${last_seq} of journal '${stream}' was removed, which this owner knows nothing of`;
      throw new CellwrightError('fenced', why);
    }
    const after = tail === null ? last_seq : (tail.removed ?? tail.sequence);
    note(info.created, after);
    upkeep?.goesOnIn(info.created);
    return after;
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
    if (ack.error.err_code === ACCOUNT_IS_FULL && (await stored.hasGrown(last))) await noteRefused(last + 1);
    throw new CellwrightError('journal-refused', `journal '${stream}' refuses to be opened: ${ack.error.description}`);
  }

  /** This process keeps it in mind in any case. */
  const noteRefused = (sequence: number) => shared.made.noteStrays(owner, [[sequence, sequence]]).catch(() => {});

  const refusalOf = (reason: string) => `the server takes nothing more for journal '${stream}': ${reason}`;

  function onRefused(reason: string): void {
    const message = `${refusalOf(reason)}; '${owner}' waits for it`;
    options.onError?.(new CellwrightError('journal-refused', message, { retryable: true }), stream);
  }

  async function purgeBefore(sequence: number): Promise<void> {
    // Before the first there is nothing, and the server would take that number for none, and remove all.
    if (sequence <= 1) return;
    const manager = await managerOf(bus, stream);
    await manager.streams.purge(stream, { seq: sequence });
  }

  /** A snapshot is safe: it stands for what is before its first entry. */
  function ended(coming: Coming, bytes: number): void {
    snapshots.taken(bytes);
    if (upkeep?.ended(coming) === false) return;
    // What is purged too late is only read once more: a failure here needs no more than the next snapshot.
    purgeBefore(coming.first as number).catch(() => {});
  }

  return {
    open,
    append(records, done) {
      breakOff = done;
      const bodies = entriesOf(records, { epoch, pieceBytes: pieceBytes() });
      snapshots.noteRecorded(records.length, bytesOf(bodies));
      bodies.forEach((body, position) => {
        writer?.append(body, (sequence) => {
          if (known !== undefined) known.lastSequence = sequence;
          told = null;
          if (position === bodies.length - 1) done(null);
        });
      });
    },
    get refusal() {
      const reason = writer?.refusal;
      return reason === undefined ? undefined : refusalOf(reason);
    },
    get wantsSnapshot() {
      return snapshots.isDue;
    },
    beginSnapshot() {
      const writing = writer;
      const recordBytes = snapshots.take();
      let parts = 0;
      let bytes = 0;
      const coming: Coming = upkeep?.begun() ?? {};
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
              if (part === 0 && position === 0) coming.first = sequence;
              if (position < bodies.length - 1) return;
              if (last) ended(coming, bytes);
              stored();
            });
          });
          return size;
        },
      };
    },
    settle: async (onWanted) => upkeep?.settle(onWanted),
    async close() {
      endOpening();
      end();
    },
  };
}

function bytesOf(bodies: readonly Uint8Array[]): number {
  return bodies.reduce((sum, { length }) => sum + length, 0);
}
