// Appends to a journal's stream, many in flight, by one writer only. Every entry carries an id, `<epoch>-<n>`, and is
// stored only if the last entry of the stream has the id before it: so once another owner has written, nothing of this
// one is stored any more, however much of it is under way. (Expecting sequence numbers instead would not do: after a
// rival's one entry the later numbers fit again.)

import type { BusMessage } from '../bus/bus.ts';
import type { NatsBus } from '../bus/nats.ts';
import type { Clock, Timer } from '../clock.ts';
import { CellwrightError, messageOf } from '../errors.ts';

const WRONG_LAST_ID = 10070;

/** How long an acknowledgement may take before what is not acknowledged is sent again, ms. */
const RESEND_AFTER_MS = 3_000;
/** How long one may be missing before that is told, ms: longer than a cluster usually takes to elect a leader. */
const SILENT_AFTER_MS = 10_000;

export interface StoredTail {
  /** The id of the last entry, empty when it has none. */
  readonly id: string;
  readonly sequence: number;
}

export interface ChainOptions {
  readonly bus: NatsBus;
  readonly clock: Clock;
  readonly stream: string;
  readonly subject: string;
  readonly epoch: number;
  /** The entry that stands last in the stream as it is read now; null when there is none, or no such stream. */
  readTail(): Promise<StoredTail | null>;
  /**
   * Told, once for each outage and reason, that the server has no room or no leader, or says nothing for ten seconds:
   * writes are sent again until it stores them.
   */
  onRefused(reason: string): void;
  /** Told when a write is refused for good: another owner has written, or the stream has lost what it acknowledged. */
  onBroken(error: CellwrightError): void;
}

export interface Chain {
  /** `stored` is called in the order of the appends, with the entry's sequence in the stream. */
  append(body: Uint8Array, stored: (sequence: number) => void): void;
  close(): void;
}

interface Pending {
  readonly n: number;
  readonly body: Uint8Array;
  readonly stored: (sequence: number) => void;
  sequence: number | null;
  readonly since: number;
  sentAt: number;
}

interface Ack {
  seq?: number;
  error?: { err_code?: number; description?: string };
}

export function chain({ bus, clock, stream, subject, epoch, readTail, onRefused, onBroken }: ChainOptions): Chain {
  const inbox = bus.inbox();
  const pending: Pending[] = [];
  let n = 0;
  let closed = false;
  let broken: CellwrightError | undefined;
  let looking = false;
  /** Why nothing was stored, since something was last. */
  const refusals = new Set<string>();
  let timer: Timer | undefined;
  // Nobody hears what is written while JetStream is not ready, and when there is no such stream any more.
  const subscription = bus.subscribe(`${inbox}.*`, acknowledged, { onUnheard: () => void lookAtTail() });

  function send(entry: Pending, expect: Readonly<Record<string, string>>): void {
    entry.sentAt = clock.monotonic();
    const headers = { 'Nats-Msg-Id': `${epoch}-${entry.n}`, ...expect };
    try {
      bus.publish(subject, entry.body, { reply: `${inbox}.${entry.n}`, headers });
    } catch (error) {
      // The server may carry less than when the entry was made; whoever opens the journal anew makes smaller ones.
      breakOff('journal-refused', `an entry of journal '${stream}' cannot be sent: ${messageOf(error)}`);
    }
  }

  function sendChained(entry: Pending): void {
    send(entry, { 'Nats-Expected-Last-Msg-Id': `${epoch}-${entry.n - 1}` });
  }

  function acknowledged({ subject: to, data }: BusMessage): void {
    const which = Number(to.slice(to.lastIndexOf('.') + 1));
    const entry = pending.find((one) => one.n === which);
    if (entry === undefined || data.length === 0) return;
    const ack = JSON.parse(Buffer.from(data).toString()) as Ack;
    if (ack.error === undefined && ack.seq !== undefined) {
      entry.sequence = ack.seq;
      refusals.clear();
      settle();
    } else if (ack.error?.err_code === WRONG_LAST_ID && entry === pending[0]) {
      void lookAtTail();
    } else if (ack.error?.err_code !== WRONG_LAST_ID) {
      // It passes or is mended by an operator: the timer sends again.
      refused(ack.error?.description ?? 'no reason is given');
    }
  }

  function refused(reason: string): void {
    if (refusals.has(reason)) return;
    refusals.add(reason);
    onRefused(reason);
  }

  function settle(): void {
    while (pending[0] !== undefined && pending[0].sequence !== null) {
      const { stored, sequence } = pending.shift() as Pending & { sequence: number };
      stored(sequence);
    }
  }

  function breakOff(code: 'fenced' | 'journal-lost' | 'journal-refused', message: string): void {
    if (closed) return;
    close();
    broken = new CellwrightError(code, message);
    onBroken(broken);
  }

  /** The oldest entry does not follow the last one stored, or nobody hears it: find out why. */
  async function lookAtTail(): Promise<void> {
    if (looking || closed) return;
    looking = true;
    try {
      const tail = await readTail();
      if (!closed) followTail(tail);
    } catch {
      // The server does not answer now: the timer will bring us here again.
    } finally {
      looking = false;
    }
  }

  function followTail(tail: StoredTail | null): void {
    const oldest = pending[0];
    if (oldest === undefined) return;
    if (tail === null) return breakOff('journal-lost', `journal '${stream}' is gone, with all that it acknowledged`);
    const { id, sequence } = tail;
    const [tailEpoch, tailN] = id.split('-').map(Number) as [number, number];
    if (tailEpoch !== epoch) {
      return breakOff('fenced', `another owner writes to journal '${stream}' (epoch ${tailEpoch}, ours ${epoch})`);
    }
    if (tailN < oldest.n - 1) {
      return breakOff('journal-lost', `journal '${stream}' ends at '${id}', which is before what it acknowledged`);
    }
    // What the tail shows was stored, though its acknowledgement was lost.
    for (const entry of pending) if (entry.n <= tailN) entry.sequence ??= sequence - (tailN - entry.n);
    settle();
    const [next, ...rest] = pending;
    if (next === undefined) return;
    // A server that was restarted may have forgotten the last id, though the entry stands: one entry goes by number.
    send(next, { 'Nats-Expected-Last-Sequence': String(sequence) });
    for (const entry of rest) if (!closed) sendChained(entry);
  }

  function close(): void {
    closed = true;
    timer?.cancel();
    subscription.unsubscribe();
    pending.length = 0;
  }

  function watch(): void {
    timer = clock.after(RESEND_AFTER_MS / 3, () => {
      const oldest = pending[0];
      if (oldest !== undefined && oldest.sentAt + RESEND_AFTER_MS <= clock.monotonic() && bus.connected) {
        for (const entry of [...pending]) if (!closed && entry.sequence === null) sendChained(entry);
      }
      const isSilent = refusals.size === 0 && oldest !== undefined;
      if (isSilent && clock.monotonic() - oldest.since >= SILENT_AFTER_MS) {
        refused(`nothing is acknowledged for ${SILENT_AFTER_MS / 1_000} s`);
      }
      if (!closed) watch();
    });
  }
  watch();

  return {
    append(body, stored) {
      if (broken !== undefined) return onBroken(broken);
      n += 1;
      const entry: Pending = { n, body, stored, sequence: null, since: clock.monotonic(), sentAt: 0 };
      pending.push(entry);
      sendChained(entry);
    },
    close,
  };
}
