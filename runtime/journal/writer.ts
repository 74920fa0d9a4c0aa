// Appends to a journal's stream, by one writer only, one entry at a time. An entry is stored only if the one before it
// stands last in the stream: so once another owner has written, nothing of this one is stored any more, unless the server
// has lost what it acknowledged and the other wrote just as many (then the journal is refused when it is read). And each
// has an id, `<epoch>-<n>`, by which the server knows one that is sent again, and this writer its own.
// With several under way this would not do: after a rival's one entry the later numbers fit again. To expect the id of
// the last entry instead (Nats-Expected-Last-Msg-Id), many under way, stops copies: with 2.15 each server checks that for
// itself and gives up its copy when it is wrong, as it is in all of them after a leader was lost in the middle, and in one
// that has caught up and so does not know the last id.

import type { BusMessage } from '../bus/bus.ts';
import type { NatsBus } from '../bus/nats.ts';
import { WRONG_LAST_SEQUENCE } from '../bus/nats-errors.ts';
import type { Clock, Timer } from '../clock.ts';
import { CellwrightError, messageOf } from '../errors.ts';
import { entryIdOf } from './entry-id.ts';

/** What JetStream says of an entry that it knows and has not stored yet. */
export const IS_BEING_STORED = 10158;
/** That the account has no room left. A server of version 2.9 has given the entry a number by then, and removed it. */
export const ACCOUNT_IS_FULL = 10002;

/** How long an acknowledgement may take before the entry is sent again, ms. */
const RESEND_AFTER_MS = 3_000;
/** How long one may be missing before that is told, ms: longer than a cluster usually takes to elect a leader. */
const SILENT_AFTER_MS = 10_000;

export interface StoredTail {
  /** The id of the last entry, empty when it has none. */
  readonly id: string;
  readonly sequence: number;
  /** The number of the last entry that ever stood in the stream, when it was removed. */
  readonly removed?: number;
}

export interface WriterOptions {
  readonly bus: NatsBus;
  readonly clock: Clock;
  readonly stream: string;
  readonly subject: string;
  readonly epoch: number;
  /** The number in the stream of the entry that began the epoch. */
  readonly begun: number;
  /**
   * The entry that stands last in the stream as it is read now; null when there is none, or no such stream.
   * @param known The number of the last entry that this writer knows of.
   */
  readTail(known: number): Promise<StoredTail | null>;
  /**
   * Keeps in mind, for whoever opens the journal, that the entry of this number was refused and then removed. Never fails:
   * it is not missed once something stands after it.
   */
  noteRefused(sequence: number): Promise<void>;
  /**
   * Told, once for each outage and reason, that the server has no room or no leader, or says nothing for ten seconds:
   * the entry is sent again until it is stored.
   */
  onRefused(reason: string): void;
  /**
   * Asked before a fault ends the writer, when the stream has lost what it acknowledged, or is no more, with what stands
   * last there: the number after which the writer may go on, for its owner still knows all of it; or null, and the fault
   * stands. When it fails the writer asks again, unless it says `fenced` for good. Default: null.
   * @param before The last number of which the writer knows.
   */
  regain?(tail: StoredTail | null, before: number): Promise<number | null>;
  /** Told when an entry is refused for good: another owner has written, or the stream has lost what it acknowledged. */
  onBroken(error: CellwrightError): void;
}

export interface Writer {
  /** The last reason why what waits is not stored; undefined while all is well. */
  readonly refusal: string | undefined;
  /** `stored` is called in the order of the appends, with the entry's number in the stream. */
  append(body: Uint8Array, stored: (sequence: number) => void): void;
  /** Looks whether it can go on in the stream as it is now, while it has nothing to store; resolves with true when so. */
  look(): Promise<boolean>;
  /** The last entry that was stored. */
  readonly lastStored: number;
  close(): void;
}

interface Entry {
  /** Its number in the epoch. */
  n: number;
  readonly body: Uint8Array;
  readonly stored: (sequence: number) => void;
}

interface Ack {
  seq?: number;
  error?: { err_code?: number; description?: string };
}

export function journalWriter(options: WriterOptions): Writer {
  const { bus, clock, stream, subject, epoch, begun, readTail, noteRefused, regain, onRefused, onBroken } = options;
  const inbox = bus.inbox();
  /** The first one is under way, the others wait for it. */
  const entries: Entry[] = [];
  /** When the first one was sent last. */
  let sentAt = 0;
  /** Since when it is under way without being refused. */
  let silentSince = 0;
  /** The number in the stream of the entry before the first: the last that was stored, or one that was refused after it. */
  let before = begun;
  let lastStored = begun;
  /** After which entry the first one was refused for want of room in the account. */
  let fullAfter: number | undefined;
  let n = 0;
  let closed = false;
  let broken: CellwrightError | undefined;
  let looking = false;
  /** Why nothing was stored, since something was last: all that was told, and the last. */
  const refusals = new Set<string>();
  let refusal: string | undefined;
  let timer: Timer | undefined;
  // Nobody hears what is written while JetStream is not ready, and when there is no such stream any more.
  const subscription = bus.subscribe(`${inbox}.*`, acknowledged, { onUnheard: unheard });

  const idOf = (entry: Entry) => `${epoch}-${entry.n}`;

  function begin(): void {
    silentSince = clock.monotonic();
    send();
  }

  function send(): void {
    const [entry] = entries;
    if (entry === undefined || closed) return;
    sentAt = clock.monotonic();
    const headers = { 'Nats-Msg-Id': idOf(entry), 'Nats-Expected-Last-Sequence': String(before) };
    try {
      bus.publish(subject, entry.body, { reply: `${inbox}.${entry.n}`, headers });
    } catch (error) {
      // The server may carry less than when the entry was made; whoever opens the journal anew makes smaller ones.
      const why = `an entry of journal '${stream}' cannot be sent: ${messageOf(error)}`;
      breakOff(new CellwrightError('journal-refused', why));
    }
  }

  function acknowledged({ subject: to, data }: BusMessage): void {
    if (data.length === 0 || Number(to.slice(to.lastIndexOf('.') + 1)) !== entries[0]?.n) return;
    const { seq = 0, error } = JSON.parse(Buffer.from(data).toString()) as Ack;
    if (error === undefined && seq > before) return stored(seq);
    // A server with copies knows an entry before it has stored it: 2.10 says so with a sequence of 0.
    if (error === undefined || error.err_code === IS_BEING_STORED) return void lookAtTail(() => {});
    if (error.err_code === WRONG_LAST_SEQUENCE) return void lookAtTail(refusedInVain);
    // It passes or is mended by an operator: the timer sends again.
    refused(error.description ?? 'no reason is given');
    if (error.err_code !== ACCOUNT_IS_FULL) return;
    fullAfter = before;
    void lookAtTail(() => {});
  }

  function unheard(): void {
    sentAt = Number.NEGATIVE_INFINITY;
    void lookAtTail(() => {});
  }

  /** The first entry stands in the stream, under this number. */
  function stored(sequence: number): void {
    const entry = entries.shift() as Entry;
    before = sequence;
    lastStored = sequence;
    refusals.clear();
    refusal = undefined;
    if (entries.length > 0) begin();
    entry.stored(sequence);
  }

  function sendAfter(sequence: number): void {
    before = sequence;
    lastStored = sequence;
    send();
  }

  function refused(reason: string): void {
    silentSince = clock.monotonic();
    note(reason);
  }

  function note(reason: string): void {
    refusal = reason;
    if (refusals.has(reason)) return;
    refusals.add(reason);
    onRefused(reason);
  }

  /** The entry does follow the last one, as far as can be seen: the timer sends again. */
  function refusedInVain(): void {
    refused(`it refuses what follows entry ${before}, which is the last`);
  }

  function breakOff(error: CellwrightError): void {
    if (closed) return;
    close();
    broken = error;
    onBroken(error);
  }

  /**
   * The first entry does not follow the last one stored, or nobody hears it: finds out why.
   * @param otherwise What is to be done when the stream stands as it was left.
   */
  async function lookAtTail(otherwise: () => void): Promise<void> {
    const [entry] = entries;
    if (looking || entry === undefined) return;
    looking = true;
    await lookFor(entry, otherwise).finally(() => {
      looking = false;
    });
  }

  async function lookFor(entry: Entry, otherwise: () => void): Promise<void> {
    // When the server does not answer now, the timer brings us here again.
    const tail = await readTail(lastStored).catch(() => undefined);
    const refusedAs = tail?.sequence === lastStored && fullAfter === before ? tail.removed : undefined;
    const isOnlyRefused = refusedAs === before + 1;
    if (isOnlyRefused) await noteRefused(refusedAs);
    const isAcknowledgedOrClosed = () => entries[0] !== entry;
    if (tail === undefined || isAcknowledgedOrClosed()) return;
    if (isOnlyRefused) {
      before = refusedAs;
      return;
    }
    const fault = faultOf(tail, entry.n);
    if (fault !== null) {
      const after = await regained(fault, tail);
      if (after === undefined || isAcknowledgedOrClosed()) return;
      if (after === null) return breakOff(fault);
      goOnAfter(after);
      return begin();
    }
    if (tail?.id === idOf(entry)) return stored(tail.sequence);
    // The one before it was sent again, and stored twice, which servers of 2.9 and newer ones in one cluster do.
    const [, tailN] = entryIdOf(tail?.id ?? '') ?? [];
    if (tail !== null && tailN === entry.n - 1 && tail.sequence > lastStored) return sendAfter(tail.sequence);
    otherwise();
  }

  /** After which entry to go on though there is a fault; null when not at all, undefined when that cannot be told now. */
  async function regained(fault: CellwrightError, tail: StoredTail | null): Promise<number | null | undefined> {
    if (fault.code !== 'journal-lost' || regain === undefined) return null;
    try {
      // A number that was given to what was refused is no other owner's.
      return await regain(tail, fullAfter === before ? before + 1 : before);
    } catch (error) {
      if (error instanceof CellwrightError && error.code === 'fenced' && !error.retryable) {
        breakOff(error);
        return undefined;
      }
      // What passes by itself is told of when nothing is stored for long.
      const passes = error instanceof CellwrightError && error.retryable;
      if (!closed && !passes) refused(messageOf(error));
      return undefined;
    }
  }

  /**
   * Whoever reads the journal is to see that something is missing here. The next id may stand there already: a server that
   * leads no more tells of a tail of before; so it is left out, and the one after it too.
   */
  function goOnAfter(sequence: number): void {
    before = sequence;
    lastStored = sequence;
    fullAfter = undefined;
    n += 2;
    for (const entry of entries) entry.n += 2;
  }

  async function look(): Promise<boolean> {
    if (looking || closed || entries.length > 0) return false;
    looking = true;
    try {
      const tail = await readTail(lastStored);
      if (closed || entries.length > 0) return false;
      const fault = faultOf(tail, n + 1);
      if (fault === null) return true;
      const after = await regained(fault, tail);
      // What came meanwhile finds out by itself.
      if (closed || entries.length > 0 || after === undefined) return false;
      if (after === null) breakOff(fault);
      else goOnAfter(after);
      return after !== null;
    } finally {
      looking = false;
    }
  }

  /** Why an entry of this number in the epoch can never follow what stands last, or null. */
  function faultOf(tail: StoredTail | null, mine: number): CellwrightError | null {
    if (tail === null) {
      return new CellwrightError('journal-lost', `journal '${stream}' is gone, with all that it acknowledged`);
    }
    const isPassedOver = tail.removed === before && tail.sequence === lastStored;
    if (tail.removed !== undefined && !isPassedOver) {
      const which = `entry ${tail.removed} of journal '${stream}' was removed, which this owner`;
      // What it was is for whoever opens the journal anew to find out: nothing can be stored after it here.
      if (tail.removed > before) return new CellwrightError('fenced', `${which} knows nothing of`);
      return new CellwrightError('journal-lost', `${which} had acknowledged`);
    }
    const tailId = entryIdOf(tail.id);
    if (tailId === null) {
      const why = `an entry that no owner wrote stands in journal '${stream}': entry ${tail.sequence}`;
      return new CellwrightError('fenced', why);
    }
    const [tailEpoch, tailN] = tailId;
    if (tailEpoch > epoch) {
      const why = `another owner writes to journal '${stream}' (epoch ${tailEpoch}, ours ${epoch})`;
      return new CellwrightError('fenced', why);
    }
    // None of an epoch before ours is stored after its beginning, which is lost then: as by a backup that was restored.
    if (tailEpoch === epoch && tailN >= mine - 1) return null;
    const why = `journal '${stream}' ends at '${tail.id}', which is before what it acknowledged`;
    return new CellwrightError('journal-lost', why);
  }

  function close(): void {
    closed = true;
    refusal = undefined;
    timer?.cancel();
    subscription.unsubscribe();
    entries.length = 0;
  }

  function watch(): void {
    timer = clock.after(RESEND_AFTER_MS / 3, () => {
      if (entries.length > 0) {
        const now = clock.monotonic();
        if (now - sentAt >= RESEND_AFTER_MS && bus.connected) send();
        if (now - silentSince >= SILENT_AFTER_MS) note(`nothing is acknowledged for ${SILENT_AFTER_MS / 1_000} s`);
      }
      if (!closed) watch();
    });
  }
  watch();

  return {
    get refusal() {
      return refusal;
    },
    append(body, stored) {
      if (broken !== undefined) return onBroken(broken);
      n += 1;
      entries.push({ n, body, stored });
      if (entries.length === 1) begin();
    },
    look,
    get lastStored() {
      return lastStored;
    },
    close,
  };
}
