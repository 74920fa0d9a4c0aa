// Reads the entries of a journal's stream from the first to the last. Each entry has the number after that of the one
// before it, in its id, so that one that is missing is noticed; and a stream that goes silent is given up.

import type { NatsBus } from '../bus/nats.ts';
import type { Clock, Timer } from '../clock.ts';
import { CellwrightError, messageOf } from '../errors.ts';
import { type Entry, readEntry } from './entries.ts';

export interface ReadingOptions {
  readonly bus: NatsBus;
  readonly clock: Clock;
  readonly stream: string;
  /** The number of the entry that stands last. */
  readonly last: number;
  /** How long to wait for the next entry, ms; default 10,000: a server that restarts is back before. */
  readonly stalledAfterMs?: number;
}

export interface Reading {
  /** @throws CellwrightError `journal-stalled` when no more entries come, or `stop` was called. */
  readonly entries: Promise<Entry[]>;
  stop(): void;
}

const STALLED_AFTER_MS = 10_000;
const AT_ONCE = 1_000;

export function readStream(options: ReadingOptions): Reading {
  const { bus, clock, stream, last, stalledAfterMs = STALLED_AFTER_MS } = options;
  const entries: Entry[] = [];
  let stop = () => {};
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });

  function stalled(): CellwrightError {
    const message = `journal '${stream}' cannot be read to its end: entry ${entries.length + 1} does not come`;
    return new CellwrightError('journal-stalled', message, { retryable: true });
  }

  async function readAll(): Promise<void> {
    const consumer = await bus.connection.jetstream().consumers.get(stream);
    const messages = await consumer.consume({ max_messages: AT_ONCE });
    void stopped.then(() => messages.stop());
    let before: readonly [number, number] | null = null;
    try {
      for await (const { data, seq, headers } of messages) {
        const id = idOf(headers?.get('Nats-Msg-Id') ?? '');
        const entry = entryOf(data, seq);
        const isNext = before === null ? seq === 1 : follows(id, before);
        entries.push(isNext ? entry : { ...entry, afterGap: true });
        before = id;
        if (seq >= last) return;
      }
    } finally {
      messages.stop();
    }
    throw stalled();
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
        if (entries.length === seen) return reject(stalled());
        seen = entries.length;
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

  return { entries: watched(), stop };
}

function idOf(text: string): readonly [number, number] {
  const [epoch, n] = text.split('-').map(Number);
  return [epoch ?? Number.NaN, n ?? Number.NaN];
}

/** The entries of an epoch are numbered, from the one that begins it. */
function follows([epoch, n]: readonly [number, number], [epochBefore, before]: readonly [number, number]): boolean {
  return epoch === epochBefore ? n === before + 1 : n === 0;
}
