// How messages are put into the client's socket: as commands of the NATS protocol (docs.nats.io, reference, client
// protocol: PUB and HPUB). The client's own `publish` makes four pieces of each message, and copies them all once more
// when it writes; here the messages of a tick are written one behind the other to where they are sent from, which spares a
// fifth of what an event takes. For this, and to break off a connection, the inside of the client is used, whose version is
// pinned; nowhere else is it, but in nats-transport.ts.

import type { MsgHdrs, NatsConnection } from 'nats';
import type { Clock } from '../clock.ts';
import type { Encoded } from './bus.ts';
import type { HeaderBlock } from './nats-messages.ts';
import { bytesOf, sizeOf } from './wire.ts';

export interface NatsCommands {
  /**
   * @param canWait It goes with what is sent next, or when nothing more comes.
   * @throws As the client does: when it is closed or draining, and for what the server does not take.
   */
  publish(
    subject: string,
    reply: string | undefined,
    block: HeaderBlock | undefined,
    data: Encoded,
    canWait: boolean,
  ): void;
  /** Ends the connection to this server at once; the client looks for another. */
  breakOff(): void;
}

/** What is used of the client's protocol handler. */
interface Protocol {
  readonly transport: { close(): Promise<void> };
  /** Of what `stats` of the connection tells. */
  outMsgs: number;
  outBytes: number;
  /** What is to be sent next; copied into one piece, unless it is one. */
  readonly outbound: { fill(...pieces: Uint8Array[]): void };
  sendCommand(command: string | Uint8Array, ...more: Uint8Array[]): void;
  flushPending(): void;
}

const LINE_END = '\r\n';

/**
 * The socket is written to when there is so much, and at the end of each tick. With the client's own 32 KiB writing and
 * reading take a tenth of a build more; with more than this the server sees too late what it could begin with.
 */
const WRITTEN_AT_ONCE_BYTES = 128 * 1024;
/** Where commands are written, until it is full: what was sent from it may still be on its way. */
const SHEET_BYTES = 4 * WRITTEN_AT_ONCE_BYTES;
/**
 * After so many rounds of what is done soon, in which nothing came, what can wait is sent: whoever was handed a message
 * inside the process has it taken, has taken his turn and has said what follows in fewer. With 3 as many pieces are
 * written as without waiting, 17 for a build that comes alone; with 6 or 9 there are 9 of them.
 */
const QUIET_ROUNDS = 6;
/** It is sent after so many rounds, whatever comes. */
const MOST_ROUNDS = 24;
/** And in the first round after so long, ms: where much is to be done, a round may take long. */
const MOST_WAIT_MS = 5;

export function natsCommands(connection: NatsConnection, clock: Clock): NatsCommands {
  const { protocol } = connection as unknown as { protocol: Protocol };
  const { outbound } = protocol;
  const client = { fill: outbound.fill, flushPending: protocol.flushPending };
  let sheet = Buffer.allocUnsafeSlow(SHEET_BYTES);
  /** From here to there stands what the client has not been given yet. */
  let begin = 0;
  let end = 0;
  /** Whether what is written is sent at the end of this tick. */
  let isSentSoon = false;
  /** Whether a look is taken in the next round at what can wait. */
  let isWatched = false;
  let rounds = 0;
  let quietRounds = 0;
  let watchedSince = 0;

  /** Whether the client is sure to take it; otherwise it is asked. */
  function isTaken(bytes: number): boolean {
    if (connection.isClosed() || connection.isDraining()) return false;
    const { info } = connection;
    return info !== undefined && info.headers === true && bytes <= info.max_payload;
  }

  function handOver(): void {
    if (begin === end) return;
    client.fill.call(outbound, sheet.subarray(begin, end));
    begin = end;
  }

  // What the client says itself comes after what was published before it.
  outbound.fill = (...pieces) => {
    handOver();
    client.fill.call(outbound, ...pieces);
  };
  protocol.flushPending = () => {
    isSentSoon = false;
    handOver();
    client.flushPending.call(protocol);
  };

  function sendSoon(): void {
    if (isSentSoon) return;
    isSentSoon = true;
    queueMicrotask(() => protocol.flushPending());
  }

  function sendWhenQuiet(): void {
    quietRounds = 0;
    if (isWatched || isSentSoon) return;
    isWatched = true;
    rounds = 0;
    watchedSince = clock.monotonic();
    clock.soon(lookWhetherQuiet);
  }

  function lookWhetherQuiet(): void {
    rounds += 1;
    quietRounds += 1;
    const isLeft = begin !== end;
    const isPatient = quietRounds < QUIET_ROUNDS && rounds < MOST_ROUNDS;
    if (isLeft && isPatient && clock.monotonic() - watchedSince < MOST_WAIT_MS) return clock.soon(lookWhetherQuiet);
    isWatched = false;
    if (isLeft) protocol.flushPending();
  }

  /** Begins another sheet where this one has no room for so many bytes. */
  function makeRoom(bytes: number): void {
    if (end + bytes <= SHEET_BYTES) return;
    protocol.flushPending();
    sheet = Buffer.allocUnsafeSlow(SHEET_BYTES);
    begin = 0;
    end = 0;
  }

  /** @param bytes Of the text in UTF-8. */
  function writeText(text: string, bytes: number): void {
    end += sheet.write(text, end, bytes === text.length ? 'latin1' : 'utf8');
  }

  function write(head: string, data: Encoded, size: number, canWait: boolean): void {
    const headBytes = Buffer.byteLength(head);
    const bytes = headBytes + size + LINE_END.length;
    if (bytes > WRITTEN_AT_ONCE_BYTES) return protocol.sendCommand(head, bytesOf(data), Buffer.from(LINE_END));
    makeRoom(bytes);
    if (canWait) sendWhenQuiet();
    else sendSoon();
    if (typeof data === 'string') {
      writeText(head + data + LINE_END, bytes);
    } else {
      writeText(head, headBytes);
      sheet.set(data, end);
      end += size;
      writeText(LINE_END, LINE_END.length);
    }
    if (end - begin >= WRITTEN_AT_ONCE_BYTES) protocol.flushPending();
  }

  return {
    publish(subject, reply, block, data, canWait) {
      const headers = block?.bytes ?? 0;
      const size = sizeOf(data);
      const bytes = headers + size;
      if (!isTaken(bytes)) {
        const options = {
          ...(reply === undefined ? {} : { reply }),
          ...(block === undefined ? {} : { headers: { encode: () => Buffer.from(block.text) } as unknown as MsgHdrs }),
        };
        return connection.publish(subject, data, options);
      }
      const to = reply === undefined ? subject : `${subject} ${reply}`;
      protocol.outMsgs += 1;
      protocol.outBytes += bytes;
      if (block === undefined) write(`PUB ${to} ${bytes}\r\n`, data, size, canWait);
      else write(`HPUB ${to} ${headers} ${bytes}\r\n${block.text}`, data, size, canWait);
    },
    breakOff: () => void protocol.transport.close(),
  };
}
