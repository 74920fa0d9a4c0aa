// Pulls the entries of a stream from a consumer, with a limit of entries and one of bytes that are on their way: the
// client's own `consume` knows one or the other, and with one of bytes it has a hundred entries on their way at most. (The
// subject, the request and the statuses are those of the JetStream API, docs.nats.io, CONSUMER.MSG.NEXT.)

import type { Msg } from 'nats';
import type { NatsBus } from '../bus/nats.ts';
import type { Clock, Timer } from '../clock.ts';

interface PulledEntry {
  readonly data: Uint8Array;
  /** Its number in the stream. */
  readonly seq: number;
  /** By which it was stored; absent where it had none. */
  readonly id: string | undefined;
}

export interface Pulling extends AsyncIterable<PulledEntry> {
  /** Nothing more is brought. */
  stop(): void;
}

export interface PullingOptions {
  readonly bus: NatsBus;
  readonly clock: Clock;
  readonly stream: string;
  readonly consumer: string;
  /** Bytes on their way at a time. An entry that is larger is not brought. */
  readonly mostBytes: number;
}

/** Entries on their way at a time. */
const AT_ONCE = 1_000;
/** How long the server may have nothing to send until it is asked again, ms, and how often it says so. */
const PULLED_WITHIN_MS = 30_000;
const HEARTBEAT_MS = 2_000;
/** After so long without a word the consumer counts as gone, as it is when its server was started anew. */
const SILENT_MS = 2.5 * HEARTBEAT_MS;
const NS_IN_MS = 1_000_000;

/** What the server says instead of an entry. */
const HEARTBEAT = 100;
const NO_ENTRIES = 404;
const TIMED_OUT = 408;
/** Says how many of the entries that were asked for have not come. */
const PENDING_ENTRIES = 'Nats-Pending-Messages';

/** Ends when it is stopped, or the consumer brings nothing more: it is gone, or silent, or the next entry is too large. */
export function pulling({ bus, clock, stream, consumer, mostBytes }: PullingOptions): Pulling {
  const { connection } = bus;
  const inbox = bus.inbox();
  let there: PulledEntry[] = [];
  let isOver = false;
  /** Of what was asked for last. */
  let brought = 0;
  let heardAt = clock.monotonic();
  let wake = () => {};
  let timer: Timer;
  const subscription = connection.subscribe(inbox, { callback: (error, message) => heard(error, message) });

  function heard(error: Error | null, message: Msg): void {
    if (isOver) return;
    if (error !== null) return end();
    heardAt = clock.monotonic();
    const seq = sequenceOf(message.reply);
    if (seq === null) return told(message);
    there.push({ data: message.data, seq, id: message.headers?.get('Nats-Msg-Id') });
    brought += 1;
    if (brought === AT_ONCE) ask();
    wake();
  }

  function told({ headers }: Msg): void {
    const code = headers?.code ?? 0;
    // Newer servers say so after the last of as many entries as were asked for: by then more were.
    const isComplete = headers?.get(PENDING_ENTRIES) === '0';
    if (code === HEARTBEAT || isComplete) return;
    // Where the next entry is too large for what is left of the limit, that ends what was asked for.
    if (brought > 0 || code === NO_ENTRIES || code === TIMED_OUT) ask();
    else end();
  }

  function ask(): void {
    brought = 0;
    const times = { expires: PULLED_WITHIN_MS * NS_IN_MS, idle_heartbeat: HEARTBEAT_MS * NS_IN_MS };
    const request = JSON.stringify({ batch: AT_ONCE, max_bytes: mostBytes, ...times });
    try {
      connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, request, { reply: inbox });
    } catch {
      end();
    }
  }

  function lookWhetherSilent(): void {
    const leftMs = heardAt + SILENT_MS - clock.monotonic();
    if (leftMs <= 0) end();
    else timer = clock.after(leftMs, lookWhetherSilent);
  }

  function end(): void {
    if (isOver) return;
    isOver = true;
    timer.cancel();
    if (!connection.isClosed()) subscription.unsubscribe();
    wake();
  }

  async function* entries(): AsyncGenerator<PulledEntry> {
    try {
      for (;;) {
        const some = there;
        there = [];
        yield* some;
        if (there.length > 0) continue;
        if (isOver) return;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      end();
    }
  }

  timer = clock.after(SILENT_MS, lookWhetherSilent);
  ask();
  return { [Symbol.asyncIterator]: entries, stop: end };
}

/**
 * The number of an entry, from where it would be acknowledged; null: it is none. Where servers have a domain, it and the
 * account are named there, too.
 */
function sequenceOf(reply: string | undefined): number | null {
  if (reply?.startsWith('$JS.ACK.') !== true) return null;
  const tokens = reply.split('.');
  return Number(tokens.length === 9 ? tokens[5] : tokens[7]);
}
