// One connection to a NATS server, for good: what is published while it is down is kept and sent when it is back.

import { DebugEvents, ErrorCode, Events, type NatsConnection, type Status } from 'nats';
import type { Clock } from '../clock.ts';
import { CellwrightError } from '../errors.ts';
import { within } from '../within.ts';
import type { Encoded, PublishOptions } from './bus.ts';
import { natsCommands } from './nats-commands.ts';
import { busError, permissionError } from './nats-errors.ts';
import { type HeaderBlock, headerBlock } from './nats-messages.ts';
import type { NatsOptions, NatsStatus } from './nats-options.ts';
import { lastRefusal } from './nats-transport.ts';
import { unsentQueue } from './unsent.ts';
import { closedError, type ErrorListener } from './wire.ts';

export interface NatsLink {
  readonly connection: NatsConnection;
  /** Whether a server is there now. */
  readonly connected: boolean;
  /** The largest message that the server takes, in bytes. */
  readonly maxPayloadBytes: number;
  /**
   * Sends, or keeps, what has been looked at.
   * @param bytes Of body and headers.
   * @throws CellwrightError as the client has it.
   */
  publish(subject: string, data: Encoded, options: PublishOptions, block: HeaderBlock | undefined, bytes: number): void;
  /** Resolves when a server is there, or the connection is closed, or after so long. */
  back(limitMs: number): Promise<void>;
  flush(): Promise<void>;
  /**
   * Waits for what the server is to say, with all that wait so no longer than `closeTimeoutMs` while it says nothing; answers
   * whether it has.
   */
  said(word: Promise<unknown>): Promise<boolean>;
  /**
   * Has `ended` told when the server, set up anew, ends what is heard of a subject in a queue group: it does not say in
   * which one, and the client takes note of it only for who is in none.
   * @returns What takes that back.
   */
  whenEnded(subject: string, ended: (error: CellwrightError) => void): () => void;
  /** Resolves when the connection is closed for good, with the reason unless `close` was called. */
  readonly closed: Promise<CellwrightError | undefined>;
  close(): Promise<void>;
}

export interface NatsLinkOptions extends Pick<NatsOptions, 'maxUnsentMessages' | 'maxUnsentBytes' | 'closeTimeoutMs'> {
  readonly clock: Clock;
  readonly report: ErrorListener;
  /** Told of all but its end; must not throw. */
  readonly tell: (status: NatsStatus) => void;
  /** Told of a subject on which the server does not let this user publish. */
  readonly onForbiddenToPublish: (subject: string) => void;
}

/** What a server says that it forbids. */
interface Forbidden {
  readonly operation: string;
  readonly subject: string;
  readonly queue?: string;
}

/** How long whoever closes waits for the server, ms, unless told otherwise. */
export const CLOSE_TIMEOUT_MS = 5_000;
/** How often it is told at most that the server refuses the same, ms: it may for hours, and of each message anew. */
const TOLD_AGAIN_AFTER_MS = 60_000;
/** Of so many that it refuses is kept in mind that they were told. */
const MOST_TOLD = 1_000;
/** By which one service is found, with its id in the end: each that is begun anew has another. */
const OF_ONE_SERVICE = /('\$SRV\.[^.']+\.[^.']+)\.[^.']+/;
/** What a server has unless it says otherwise. */
const USUAL_MAX_PAYLOAD = 1024 * 1024;

export function natsLink(connection: NatsConnection, options: NatsLinkOptions): NatsLink {
  const { clock, report, tell, onForbiddenToPublish } = options;
  const { maxUnsentMessages = 10_000, maxUnsentBytes = 8 * 1024 * 1024, closeTimeoutMs = CLOSE_TIMEOUT_MS } = options;
  const commands = natsCommands(connection, clock);
  const unsent = unsentQueue({ maxMessages: maxUnsentMessages, maxBytes: maxUnsentBytes });
  let connected = true;
  let dropped = 0;
  let maxPayloadBytes = connection.info?.max_payload ?? USUAL_MAX_PAYLOAD;
  let closing: Promise<void> | undefined;
  /** Since when the server owes a word and has said none. */
  let silentSince: number | undefined;
  /** Each is called when the connection comes back or is closed. */
  const waiting = new Set<() => void>();

  const wakeWaiting = (): void => {
    for (const wake of [...waiting]) wake();
  };

  /** Whoever has waited long enough is forgotten: an outage may last for days, and callers ask again and again. */
  const backWithin = (limitMs: number): Promise<void> =>
    new Promise((resolve) => {
      const wake = (): void => {
        waiting.delete(wake);
        timer?.cancel();
        resolve();
      };
      const timer = limitMs === Number.POSITIVE_INFINITY ? undefined : clock.after(limitMs, wake);
      waiting.add(wake);
    });

  const awaited = <T>(word: Promise<T>): Promise<T> => {
    silentSince ??= clock.monotonic();
    const heard = (): void => {
      silentSince = undefined;
    };
    word.then(heard, heard);
    return word;
  };

  const said = (word: Promise<unknown>): Promise<boolean> => {
    const now = clock.monotonic();
    const silentMs = now - (silentSince ?? now);
    return within(Math.max(0, closeTimeoutMs - silentMs), awaited(word), clock);
  };

  const closed = connection.closed().then((reason) => {
    connected = false;
    wakeWaiting();
    return reason ? busError(reason, 'connection') : undefined;
  });

  const send = (
    subject: string,
    data: Encoded,
    { reply, headers, canWait = false }: PublishOptions,
    block = headers === undefined ? undefined : headerBlock(headers),
  ): void => {
    try {
      commands.publish(subject, reply, block, data, canWait);
    } catch (error) {
      throw busError(error, subject);
    }
  };

  const keep = (subject: string, data: Encoded, publishOptions: PublishOptions, bytes: number): void => {
    const lost = unsent.add({ subject, data, options: publishOptions, bytes });
    if (lost > 0 && dropped === 0) {
      const limits = `${maxUnsentMessages} messages or ${maxUnsentBytes} bytes`;
      const message = `more than ${limits} were published while disconnected: the oldest are dropped`;
      report(new CellwrightError('publish-buffer-full', message), subject);
    }
    dropped += lost;
  };

  const sendUnsent = (): number => {
    const messages = unsent.takeAll();
    for (const { subject, data, options: publishOptions } of messages) {
      try {
        send(subject, data, publishOptions);
      } catch (error) {
        report(error, subject);
      }
    }
    return messages.length;
  };

  const told = new Map<string, number>();
  const tellRefused = (error: CellwrightError, what: string): void => {
    const same = error.message.replace(OF_ONE_SERVICE, '$1.*');
    const at = clock.monotonic();
    if (at - (told.get(same) ?? Number.NEGATIVE_INFINITY) < TOLD_AGAIN_AFTER_MS) return;
    if (told.size >= MOST_TOLD) told.clear();
    told.set(same, at);
    report(error, what);
  };

  const listeners = new Map<string, Set<(error: CellwrightError) => void>>();

  const onForbidden = ({ operation, subject, queue }: Forbidden): void => {
    const error = permissionError(operation, subject);
    if (operation === 'publish') onForbiddenToPublish(subject);
    else if (queue === undefined) for (const ended of [...(listeners.get(subject) ?? [])]) ended(error);
    tellRefused(error, subject);
  };

  const onStatus = ({ type, data, permissionContext }: Status): void => {
    const server = String(data);
    if (type === Events.Disconnect) {
      connected = false;
      tell({ type: 'disconnected', server });
    } else if (type === Events.Reconnect) {
      maxPayloadBytes = connection.info?.max_payload ?? maxPayloadBytes;
      // First what waits, then what is published from now on: the order stays.
      const resent = sendUnsent();
      connected = true;
      silentSince = undefined;
      tell({ type: 'reconnected', server, resent, dropped });
      dropped = 0;
      wakeWaiting();
    } else if (type === Events.LDM) {
      tell({ type: 'lame-duck', server });
    } else if (type === Events.Error && permissionContext !== undefined) {
      onForbidden(permissionContext);
    } else if (type === Events.Error) {
      const said = server === ErrorCode.ProtocolError ? lastRefusal(connection) : undefined;
      tellRefused(busError(Object.assign(new Error(said ?? server), { code: server }), 'connection'), 'connection');
    } else if (type === DebugEvents.StaleConnection) {
      report(new CellwrightError('stale', 'the server answers no pings', { retryable: true }), 'connection');
      // The client itself would first wait until the server has taken all that was sent, which one that hangs, or is cut
      // off, never does.
      commands.breakOff();
    }
  };

  const watch = async (): Promise<void> => {
    for await (const status of connection.status()) onStatus(status);
  };
  void watch();

  return {
    connection,
    get connected() {
      return connected;
    },
    get maxPayloadBytes() {
      return maxPayloadBytes;
    },
    closed,
    publish(subject, data, publishOptions, block, bytes) {
      // The client itself would take the message and lose it.
      if (connected) send(subject, data, publishOptions, block);
      else keep(subject, data, publishOptions, bytes);
    },
    back: (limitMs) => (connected || connection.isClosed() ? Promise.resolve() : backWithin(limitMs)),
    async flush() {
      for (;;) {
        if (connection.isClosed()) throw closedError();
        if (connected) {
          try {
            return await awaited(connection.flush());
          } catch (error) {
            // Cut off while waiting: what was kept meanwhile goes out on return, and is flushed then.
            if (connection.isClosed()) throw busError(error, 'flush');
          }
        }
        if (!connected) await backWithin(Number.POSITIVE_INFINITY);
      }
    },
    said,
    whenEnded(subject, ended) {
      const others = listeners.get(subject) ?? new Set();
      listeners.set(subject, others.add(ended));
      return () => {
        others.delete(ended);
        if (others.size === 0 && listeners.get(subject) === others) listeners.delete(subject);
      };
    },
    close() {
      closing ??= (async () => {
        if (connected) await said(connection.drain());
        // Not drained in time, or cut off while draining: then the client stays open by itself.
        if (!connection.isClosed()) await connection.close();
        if (unsent.size > 0) {
          const message = `closed while disconnected: ${unsent.size} messages were never sent`;
          report(new CellwrightError('unsent', message), 'connection');
        }
        await closed;
      })();
      return closing;
    },
  };
}

/**
 * What is told of several connections as of one: lost with the first of them, back with the last. The client tells it
 * again of each attempt that a server takes and breaks off.
 */
export function statusOfAll(tell: (status: NatsStatus) => void): (of: NatsConnection, status: NatsStatus) => void {
  const lost = new Set<NatsConnection>();
  const since = { resent: 0, dropped: 0 };
  return (of, status) => {
    if (status.type === 'disconnected') {
      if (lost.has(of)) return;
      lost.add(of);
      if (lost.size === 1) tell(status);
    } else if (status.type === 'reconnected') {
      if (!lost.delete(of)) return;
      since.resent += status.resent;
      since.dropped += status.dropped;
      if (lost.size > 0) return;
      tell({ ...status, ...since });
      Object.assign(since, { resent: 0, dropped: 0 });
    } else {
      tell(status);
    }
  };
}
