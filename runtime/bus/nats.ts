// The bus over a NATS server, with the client set up so that it neither goes deaf nor gives up.
// Only it and nats-messages.ts import the NATS client; what JetStream needs of it is re-exported from here.

import {
  connect,
  createInbox,
  credsAuthenticator,
  DebugEvents,
  Events,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
  ServiceError,
  type ServiceMsg,
  type Status,
} from 'nats';
import type { Clock } from '../clock.ts';
import { CellwrightError, TimeoutError } from '../errors.ts';
import { unlessGivenUp } from '../giving-up.ts';
import { systemClock } from '../system-clock.ts';
import { within } from '../within.ts';
import type { Bus, Endpoint, PublishOptions, ServiceConfig } from './bus.ts';
import { shownAddresses } from './nats-addresses.ts';
import { checkNatsOptions } from './nats-checks.ts';
import { busError, isPermissionViolation, permissionError, worthRetrying } from './nats-errors.ts';
import { headerBlock, isNoResponders, received } from './nats-messages.ts';
import { clientOptions, type NatsOptions, type NatsStatus } from './nats-options.ts';
import { natsRequests } from './nats-requests.ts';
import { unsentQueue } from './unsent.ts';
import {
  checkMessage,
  checkService,
  checkSize,
  checkSubscription,
  closedError,
  guarded,
  reportToConsole,
  serviceErrorText,
} from './wire.ts';

export type { NatsConnection } from 'nats';
export type { NatsOptions, NatsStatus } from './nats-options.ts';

export interface NatsBus extends Bus {
  /** The client's connection, for JetStream. Publish, subscribe and close through the bus. */
  readonly connection: NatsConnection;
  /** Whether a server is there now. */
  readonly connected: boolean;
  /** A subject for answers that nobody else uses, in the inboxes of this user. */
  inbox(): string;
  /** Resolves when the connection is closed for good, with the reason unless `close` was called. */
  closed(): Promise<CellwrightError | undefined>;
}

/** One attempt to connect, in milliseconds: after it the next server, or the same again, has its turn. */
const DIAL_TIMEOUT_MS = 5_000;
/** Pause between first attempts, in milliseconds. */
const DIAL_PAUSE_MS = 100;
/** What a server has unless it says otherwise. */
const USUAL_MAX_PAYLOAD = 1024 * 1024;

/**
 * Connects, and from then on stays connected until `close`.
 * @throws CellwrightError `unreachable` when no server answers within `connectTimeoutMs`, `unauthorized`,
 * `bad-option` for addresses that are none, `bad-options`, `interrupted`.
 */
export async function connectNats(options: NatsOptions): Promise<NatsBus> {
  checkNatsOptions(options);
  const clock = options.clock ?? systemClock();
  return natsBus(await dial(options, clock), options, clock);
}

/**
 * The client's `waitOnFirstConnect` could not be given up once begun, so the first connection is tried for here.
 */
async function dial(options: NatsOptions, clock: Clock): Promise<NatsConnection> {
  const { connectTimeoutMs = 10_000, credentials, signal } = options;
  const servers = shownAddresses(options.servers);
  const connection = clientOptions(options);
  const authenticator =
    credentials === undefined ? {} : { authenticator: credsAuthenticator(new TextEncoder().encode(credentials)) };
  const deadline = clock.monotonic() + connectTimeoutMs;
  for (;;) {
    const timeout = Math.max(1, Math.min(deadline - clock.monotonic(), DIAL_TIMEOUT_MS));
    try {
      const connecting = connect({ ...connection, ...authenticator, timeout });
      return await unlessGivenUp(connecting, signal, 'connecting', (late) => late.close());
    } catch (failure) {
      const error = busError(failure, servers, timeout);
      if (!worthRetrying(error)) throw error;
      if (clock.monotonic() + DIAL_PAUSE_MS >= deadline) {
        const message = `no NATS server answers at '${servers}' within ${connectTimeoutMs} ms: ${error.message}`;
        throw new CellwrightError('unreachable', message, { retryable: true, cause: failure });
      }
    }
    await unlessGivenUp(new Promise<void>((resolve) => clock.after(DIAL_PAUSE_MS, resolve)), signal, 'connecting');
  }
}

function natsBus(connection: NatsConnection, options: NatsOptions, clock: Clock): NatsBus {
  const { maxUnsentMessages = 10_000, maxUnsentBytes = 8 * 1024 * 1024, closeTimeoutMs = 5_000 } = options;
  const report = guarded(options.onError ?? reportToConsole);
  const requests = natsRequests(connection, clock, options.inboxPrefix);
  const unsent = unsentQueue({ maxMessages: maxUnsentMessages, maxBytes: maxUnsentBytes });
  let connected = true;
  let dropped = 0;
  let maxPayloadBytes = connection.info?.max_payload ?? USUAL_MAX_PAYLOAD;
  let closing: Promise<void> | undefined;
  /** Resolved, and replaced, each time the connection comes back or is closed. */
  let wake = (): void => {};
  let woken = new Promise<void>((resolve) => (wake = resolve));

  const tell = (status: NatsStatus): void => {
    try {
      options.onStatus?.(status);
    } catch (error) {
      report(error, status.type);
    }
  };

  const wakeWaiting = (): void => {
    wake();
    woken = new Promise((resolve) => (wake = resolve));
  };

  const closed = connection.closed().then((reason) => {
    connected = false;
    wakeWaiting();
    requests.end();
    const error = reason ? busError(reason, 'connection') : undefined;
    tell(error === undefined ? { type: 'closed' } : { type: 'closed', error });
    return error;
  });

  const send = (
    subject: string,
    data: Uint8Array,
    { reply, headers }: PublishOptions,
    block = headers === undefined ? undefined : headerBlock(headers),
  ): void => {
    try {
      connection.publish(subject, data, {
        ...(reply === undefined ? {} : { reply }),
        ...(block === undefined ? {} : { headers: block as unknown as MsgHdrs }),
      });
    } catch (error) {
      throw busError(error, subject);
    }
  };

  const keep = (subject: string, data: Uint8Array, publishOptions: PublishOptions, bytes: number): void => {
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
      tell({ type: 'reconnected', server, resent, dropped });
      dropped = 0;
      wakeWaiting();
    } else if (type === Events.LDM) {
      tell({ type: 'lame-duck', server });
    } else if (type === Events.Error && permissionContext !== undefined) {
      const { operation, subject } = permissionContext;
      if (operation === 'publish') requests.forbidden(subject);
      report(permissionError(operation, subject), subject);
    } else if (type === Events.Error) {
      report(busError(Object.assign(new Error(server), { code: server }), 'connection'), 'connection');
    } else if (type === DebugEvents.StaleConnection) {
      report(new CellwrightError('stale', 'the server answers no pings', { retryable: true }), 'connection');
    }
  };

  const watch = async (): Promise<void> => {
    for await (const status of connection.status()) onStatus(status);
  };
  void watch();

  const flush = async (): Promise<void> => {
    for (;;) {
      if (connection.isClosed()) throw closedError();
      if (connected) {
        try {
          return await connection.flush();
        } catch (error) {
          // Cut off while waiting: what was kept meanwhile goes out on return, and is flushed then.
          if (connection.isClosed()) throw busError(error, 'flush');
        }
      }
      if (!connected) await woken;
    }
  };

  /** The client counts and answers what is thrown here; with a message that fits a header it does so safely. */
  const endpointHandler =
    ({ handler }: Endpoint) =>
    (error: Error | null, message: ServiceMsg): void => {
      if (error !== null) return;
      try {
        handler(received(message));
      } catch (failure) {
        report(failure, message.subject);
        if (!connection.isClosed()) throw new ServiceError(500, serviceErrorText(failure));
      }
    };

  return {
    connection,
    get connected() {
      return connected;
    },
    get maxPayloadBytes() {
      return maxPayloadBytes;
    },
    inbox: () => createInbox(options.inboxPrefix),
    closed: () => closed,
    publish(subject, body, publishOptions = {}) {
      if (connection.isClosed()) throw closedError();
      const data = body instanceof Uint8Array ? body : body.encoded();
      const { reply, headers } = publishOptions;
      const block = headers === undefined ? undefined : headerBlock(headers);
      const bytes = checkSize(subject, reply, data.length + (block?.bytes ?? 0), maxPayloadBytes);
      // The client itself would take the message and lose it.
      if (connected) send(subject, data, publishOptions, block);
      else keep(subject, data, publishOptions, bytes);
    },
    subscribe(subject, handler, { queue, onUnheard } = {}) {
      checkSubscription(subject, queue);
      const callback = (error: Error | null, message: Msg): void => {
        if (error !== null) {
          // What the server forbids is reported where its status comes in.
          if (!isPermissionViolation(error)) report(busError(error, subject), subject);
          return;
        }
        // A throw here would silence the whole connection, and leave it open.
        try {
          if (!isNoResponders(message)) handler(received(message));
          else onUnheard?.(message.subject);
        } catch (failure) {
          report(failure, message.subject);
        }
      };
      try {
        const subscription = connection.subscribe(subject, queue === undefined ? { callback } : { callback, queue });
        return { unsubscribe: () => subscription.unsubscribe() };
      } catch (error) {
        throw busError(error, subject);
      }
    },
    async request(subject, data, { timeoutMs, headers }) {
      checkMessage(subject, data, headers === undefined ? {} : { headers }, maxPayloadBytes);
      const deadline = clock.monotonic() + timeoutMs;
      // The client would lose the question and wait for the answer.
      if (!connected && !connection.isClosed()) await within(timeoutMs, woken, clock);
      if (!connected && !connection.isClosed()) throw new TimeoutError(`'${subject}'`, timeoutMs);
      if (connection.isClosed()) throw closedError();
      return requests.ask(subject, Math.max(1, Math.ceil(deadline - clock.monotonic())), (reply) =>
        send(subject, data, headers === undefined ? { reply } : { reply, headers }),
      );
    },
    async serve(config) {
      checkService(config);
      if (connection.isClosed()) throw closedError();
      const { name, description, version, metadata, endpoints } = config;
      const service = await connection.services.add({
        name,
        description,
        version,
        metadata: { ...metadata },
        statsHandler: async (endpoint) => statsOf(config, endpoint.subject),
      });
      for (const endpoint of endpoints) {
        const { queue } = endpoint;
        const group = queue === undefined ? {} : { queue };
        service.addEndpoint(endpoint.name, { subject: endpoint.subject, handler: endpointHandler(endpoint), ...group });
      }
      void service.stopped.then((error) => {
        if (error && closing === undefined && !connection.isClosed()) report(busError(error, name), name);
      });
      // From here on the server knows the endpoints; without one it is told them on connecting.
      if (connected) await connection.flush().catch(() => undefined);
      return { stop: async () => void (await service.stop()) };
    },
    flush,
    close() {
      closing ??= (async () => {
        if (connected) await within(closeTimeoutMs, connection.drain(), clock);
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

/** Never fails: the client answers nobody, and ends the process, when statistics cannot be written as JSON. */
function statsOf({ stats, endpoints }: ServiceConfig, subject: string): unknown {
  const endpoint = endpoints.find((each) => each.subject === subject);
  if (stats === undefined || endpoint === undefined) return null;
  try {
    return JSON.parse(JSON.stringify(stats(endpoint.name)));
  } catch (error) {
    return { error: serviceErrorText(error) };
  }
}
