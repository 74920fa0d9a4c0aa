// Reads the entries of a journal's stream from the first to the last. Each entry has the number after that of the one
// before it, in its id, so that one that is missing is noticed; one without such an id is a stray, which no owner wrote.
// A stream that goes silent is given up.

import type { ConsumerAPI } from 'nats';
import type { NatsBus } from '../bus/nats.ts';
import type { Clock, Timer } from '../clock.ts';
import { CellwrightError, messageOf } from '../errors.ts';
import { sleep } from '../pause.ts';
import { type Entry, readEntry } from './entries.ts';
import { type EntryId, entryIdOf } from './entry-id.ts';
import { pulling } from './pulling.ts';
import { type Range, withStray } from './strays.ts';

export interface ReadingOptions {
  readonly bus: NatsBus;
  readonly clock: Clock;
  readonly stream: string;
  /** The number of the entry that stands first; default 1. */
  readonly first?: number;
  /** The number of the entry that stands last. */
  readonly last: number;
  /** The first number that an owner's entry can have had: what was before it were strays; default 1. */
  readonly firstOwn?: number;
  /** How long to wait for the next entry, ms; default 10,000: a server that restarts is back before. */
  readonly stalledAfterMs?: number;
}

export interface Reading {
  /** @throws CellwrightError `journal-stalled` when no more entries come, or `stop` was called. */
  readonly entries: Promise<Entry[]>;
  /** What no owner wrote, and is not among the entries; whole when they are there. */
  readonly strays: readonly Range[];
  /** The id of what was read last; empty of a stray that has none. */
  readonly lastId: string | undefined;
  stop(): void;
}

const STALLED_AFTER_MS = 10_000;
/**
 * How many bytes are on their way at a time. The server breaks off a connection for which more waits there than it allows,
 * 64 MiB unless told otherwise; what is being written to it counts until all of that is written, so that it can be twice
 * as much.
 */
export const MOST_BYTES_AT_ONCE = 8 * 1024 * 1024;
/** After a consumer that has brought nothing, ms. */
const AGAIN_MS = 100;
/** How long the server keeps a consumer that nobody asks for entries, ns. */
const FORGOTTEN_AFTER_NS = 30_000_000_000;

export function readStream(options: ReadingOptions): Reading {
  const { bus, clock, stream, first = 1, last, firstOwn = 1, stalledAfterMs = STALLED_AFTER_MS } = options;
  const entries: Entry[] = [];
  let strays: readonly Range[] = [];
  let stop = () => {};
  let isStopped = false;
  const stopped = new Promise<void>((resolve) => {
    stop = () => {
      isStopped = true;
      resolve();
    };
  });
  /** What was read last: its number in the stream, and the id of the last entry of an owner. */
  let before: { readonly seq: number; readonly id: EntryId | null } | null = null;
  /** As it was read; a stray may have no id. */
  let lastRead: { readonly id: string; readonly data: Uint8Array } | null = null;
  /** With what the last consumer began, where that was not the next entry. */
  let beganWith: number | undefined;

  function stalled(): CellwrightError {
    const message = `journal '${stream}' cannot be read to its end: entry ${(before?.seq ?? 0) + 1} does not come`;
    return new CellwrightError('journal-stalled', message, { retryable: true });
  }

  async function readAll(): Promise<void> {
    const { consumers } = await bus.connection.jetstreamManager();
    while (!isStopped && (before?.seq ?? 0) < last) await readOn(consumers);
  }

  /**
   * Reads on from the last entry, to the end or until one is left out: it may have been lost on its way to a client that
   * was slow or cut off, and then is there for the next consumer; what two of them leave out is not there. (The client's
   * own ordered consumers cannot be stopped while they wait for a server that is away.)
   */
  async function readOn(consumers: ConsumerAPI): Promise<void> {
    const start = before === null ? first : before.seq + 1;
    const { name } = await consumers.add(stream, {
      deliver_policy: 'by_start_sequence' as never,
      opt_start_seq: start,
      ack_policy: 'none' as never,
      mem_storage: true,
      num_replicas: 1,
      inactive_threshold: FORGOTTEN_AFTER_NS,
    });
    if (isStopped) return;
    // A message that somebody else has put there may be as large as the server takes it.
    const mostBytes = Math.max(MOST_BYTES_AT_ONCE, 2 * bus.maxPayloadBytes);
    const brought = pulling({ bus, clock, stream, consumer: name, mostBytes });
    void stopped.then(() => brought.stop());
    let isFirst = true;
    try {
      for await (const { data, seq, id } of brought) {
        const next = isFirst ? start : (before as { seq: number }).seq + 1;
        if (seq !== next && !(isFirst && seq === beganWith)) {
          beganWith = isFirst ? seq : undefined;
          return;
        }
        isFirst = false;
        take(data, seq, id ?? '');
        if (seq >= last) return;
      }
    } finally {
      brought.stop();
      if (!isStopped) consumers.delete(stream, name).catch(() => {});
    }
    if (isFirst) await sleep(clock, AGAIN_MS);
  }

  function take(data: Uint8Array, seq: number, text: string): void {
    const id = entryIdOf(text);
    const isLikeLast = lastRead?.id === text && Buffer.compare(lastRead.data, data) === 0;
    lastRead = { id: text, data };
    if (id === null) {
      strays = withStray(strays, seq);
      before = { seq, id: before?.id ?? null };
      return;
    }
    // Sent again, and stored twice: so do servers of 2.9 and newer ones in one cluster.
    if (isLikeLast) {
      before = { seq, id };
      return;
    }
    const entry = entryOf(data, seq);
    const isNext = before === null ? seq === firstOwn && id[1] === 0 : before.id !== null && follows(id, before.id);
    const noted = entry.kind === 'part' ? { ...entry, sequence: seq } : entry;
    entries.push(isNext ? noted : { ...noted, afterGap: true });
    before = { seq, id };
  }

  function entryOf(data: Uint8Array, sequence: number): Entry {
    try {
      return readEntry(data, stream, sequence);
    } catch (cause) {
      if (cause instanceof CellwrightError && cause.code === 'unknown-version') throw cause;
      const message = `entry ${sequence} of journal '${stream}' cannot be read: ${messageOf(cause)}`;
      throw new CellwrightError('journal-unreadable', message, { cause });
    }
  }

  /** Gives up when nothing came for that long, whatever the client waits for. */
  async function watched(): Promise<Entry[]> {
    let timer: Timer | undefined;
    const silence = new Promise<never>((_, reject) => {
      let seen = -1;
      const look = () => {
        const reached = before?.seq ?? 0;
        if (reached === seen) return reject(stalled());
        seen = reached;
        timer = clock.after(stalledAfterMs, look);
      };
      look();
    });
    try {
      await Promise.race([readAll(), silence, stopped.then(() => Promise.reject(stalled()))]);
      return entries;
    } finally {
      timer?.cancel();
      stop();
    }
  }

  return {
    entries: watched(),
    get strays() {
      return strays;
    },
    get lastId() {
      return lastRead?.id;
    },
    stop,
  };
}

/** The entries of an epoch are numbered, from the one that begins it. */
function follows([epoch, n]: EntryId, [epochBefore, before]: EntryId): boolean {
  return epoch === epochBefore ? n === before + 1 : n === 0;
}
