// How a connection to NATS is set up, what is told of it while it lasts, and how that is put to the client.
// Every option says its unit, its default and why it is that. It connects nothing.

import { present } from '../../actors/present.ts';
import type { Clock } from '../clock.ts';
import type { CellwrightError } from '../errors.ts';
import { addressesOf } from './nats-addresses.ts';
import type { ErrorListener } from './wire.ts';

/** How to reach NATS servers, and as whom. */
export interface NatsOptions {
  /**
   * One address or several of one cluster, such as `nats://10.0.0.7:4222`, in a list or with commas between. `tls://`
   * insists on TLS; `user:password@` or `token@` before the host stands for the options of these names.
   */
  servers: string | readonly string[];
  /** Who this is, such as `cell/c03@host-7`: shown by `nats server report connections`. */
  name: string;
  user?: string;
  pass?: string;
  token?: string;
  /** The content of a `.creds` file: JWT and NKEY seed. */
  credentials?: string;
  /** Files in PEM form, for a server with certificates of its own or one that asks for the client's. */
  tls?: { caFile?: string; certFile?: string; keyFile?: string };
  /**
   * First token of the inboxes, for servers that allow each user only its own. Default `_INBOX`. Below the prefix of a
   * deployment nothing is answered.
   */
  inboxPrefix?: string;
  /**
   * How long the first connection may take in all, in milliseconds; attempts follow each other until then.
   * Default 10,000: long enough for a server that starts beside us, short enough to show a wrong address.
   */
  connectTimeoutMs?: number;
  /** Gives up the first connection, and the start of a node or its server, which then fail with the code `interrupted`. */
  signal?: AbortSignal;
  /** Pause between attempts to reconnect, in milliseconds; default 500. Attempts go on for ever. */
  reconnectWaitMs?: number;
  /** Random addition to that pause, in milliseconds; default 500: clients of a restarted server spread out. */
  reconnectJitterMs?: number;
  /**
   * How often the server is pinged, in milliseconds; default 15,000. Two pings without an answer end the
   * connection, so a dead peer is noticed after 30 to 45 s; the client's own default would take 4 to 6 minutes.
   */
  pingIntervalMs?: number;
  /**
   * How many messages are kept while disconnected; default 10,000. One more drops the oldest, which is reported
   * once for each outage as `publish-buffer-full`.
   */
  maxUnsentMessages?: number;
  /** How many bytes of messages are kept while disconnected; default 8 MiB: a bounded share of the memory. */
  maxUnsentBytes?: number;
  /**
   * Whether what this process both publishes and hears is handed over inside it, and by the server only to everybody
   * else. That takes a second connection, named `<name> (echo)`, for what is to come by the server all the same; what is
   * said of limits below is for each of them. A subscription that is not looped back is made on that one: flush before
   * publishing what it is to hear. Default: nodes have it, others not.
   */
  loopback?: boolean;
  /** How long `close` waits for the server, in milliseconds; default 5,000. */
  closeTimeoutMs?: number;
  /** Default: the system's. The client's own timers do not follow it. */
  clock?: Clock;
  onStatus?: (status: NatsStatus) => void;
  /**
   * Told of what no call can be told: handlers that threw, operations that the server forbids
   * (`permission-denied`) and refused credentials (`unauthorized`), the same once a minute, dropped messages, and once an
   * outage each fault of TLS for which it does not come back (`untrusted-server`, say). Default: the console.
   */
  onError?: ErrorListener;
}

/** What befalls a connection; `server` is its address. */
export type NatsStatus =
  | { type: 'disconnected'; server: string }
  /** `resent` of the messages published meanwhile were sent, `dropped` had to be given up. */
  | { type: 'reconnected'; server: string; resent: number; dropped: number }
  /** The server is about to stop; the client moves to another by itself when it does. */
  | { type: 'lame-duck'; server: string }
  | { type: 'closed'; error?: CellwrightError };

/**
 * The client's options, but for the credentials and the time of one attempt. Its own defaults do not suit us.
 * @throws CellwrightError `bad-option` for addresses that are none.
 */
export function clientOptions(options: NatsOptions) {
  const { inboxPrefix, reconnectJitterMs = 500 } = options;
  const told = addressesOf(options.servers);
  const { user = told.user, pass = told.pass, token = told.token, tls = told.tls ? {} : undefined } = options;
  return {
    servers: [...told.servers],
    name: options.name,
    maxReconnectAttempts: -1,
    reconnectTimeWait: options.reconnectWaitMs ?? 500,
    reconnectJitter: reconnectJitterMs,
    reconnectJitterTLS: reconnectJitterMs,
    pingInterval: options.pingIntervalMs ?? 15_000,
    maxPingOut: 2,
    // An operator who mends the server's users finds the clients still trying.
    ignoreAuthErrorAbort: true,
    // Otherwise every request makes an Error in advance, for its stack.
    noAsyncTraces: true,
    ...present({ user, pass, token, tls, inboxPrefix }),
  };
}
