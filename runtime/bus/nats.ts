// The bus over a NATS server, with the client set up so that it neither goes deaf nor gives up.
// The NATS client is imported in this folder only.

import {
  createInbox,
  type Msg,
  type NatsConnection,
  type Service as NatsService,
  ServiceError,
  type ServiceMsg,
  type Subscription,
} from 'nats';
import { unlessAborted } from '../abortable.ts';
import type { Clock, Timer } from '../clock.ts';
import { CellwrightError, TimeoutError } from '../errors.ts';
import { eachOnce } from '../patience.ts';
import { sleep } from '../pause.ts';
import { systemClock } from '../system-clock.ts';
import { unfailing } from '../unfailing.ts';
import { within } from '../within.ts';
import type { Body, Bus, BusMessage, Encoded, Endpoint, PublishOptions, ServiceConfig } from './bus.ts';
import { interest, type Listener } from './interest.ts';
import { loopbackOf } from './loopback.ts';
import { authenticatorOf, checkAccess } from './nats-access.ts';
import { shownAddresses } from './nats-addresses.ts';
import { checkNatsOptions } from './nats-checks.ts';
import { busError, isOfTls, isPermissionViolation, worthRetrying } from './nats-errors.ts';
import { CLOSE_TIMEOUT_MS, type NatsLink, natsLink, statusOfAll } from './nats-link.ts';
import { headerBlock, isNoResponders, received } from './nats-messages.ts';
import { clientOptions, type NatsOptions, type NatsStatus } from './nats-options.ts';
import { type NatsRequests, natsRequests } from './nats-requests.ts';
import { connectFirst, onFailedAttempt } from './nats-transport.ts';
import {
  checkMessage,
  checkService,
  checkSize,
  checkSubscription,
  closedError,
  type ErrorListener,
  encodedOf,
  guarded,
  reportToConsole,
  serviceErrorHeaders,
  serviceErrorText,
  sizeOf,
} from './wire.ts';

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

/** All attempts at the first connection together, in milliseconds; see `connectTimeoutMs`. */
const CONNECT_TIMEOUT_MS = 10_000;
/** One attempt to connect, in milliseconds: after it the next server, or the same again, has its turn. */
const DIAL_TIMEOUT_MS = 5_000;
/** Pause between first attempts, in milliseconds. */
const DIAL_PAUSE_MS = 100;
/**
 * After which the server is asked again to let this user hear what it forbade, in milliseconds: the client takes it for
 * an answer for good, and an operator who mends the permissions would find a process that is deaf, and owns what it owned.
 */
const FORBIDDEN_PAUSE_MS = 5_000;

/**
 * Connects, and from then on stays connected until `close`.
 * @throws CellwrightError `bad-option` with the field, also for credentials and certificates that cannot be used;
 * `unreachable` when no server answers within `connectTimeoutMs`; `unauthorized`, also when the server wants another
 * certificate; `untrusted-server` when its own is not accepted; `bad-options` when the server does not offer what the
 * options ask for; `interrupted`.
 */
export async function connectNats(options: NatsOptions): Promise<NatsBus> {
  checkNatsOptions(options);
  await checkAccess(options);
  const clock = options.clock ?? systemClock();
  const report = guarded(options.onError ?? reportToConsole);
  const deadline = clock.monotonic() + (options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS);
  let requests: NatsRequests | undefined;
  const servers = shownAddresses(options.servers);
  /** Of each outage anew. */
  let tellOfTls = eachOnce(report);
  const tellCaller = unfailing(
    (status: NatsStatus) => options.onStatus?.(status),
    (error, { type }) => report(error, type),
  );
  const tell = (status: NatsStatus): void => {
    if (status.type === 'reconnected') tellOfTls = eachOnce(report);
    tellCaller(status);
  };
  const tellOf = statusOfAll(tell);
  const link = async (more: { noEcho?: boolean; name?: string }): Promise<NatsLink> => {
    const connection = await dial({ ...options, ...more }, clock, deadline, more.noEcho);
    onFailedAttempt(connection, (failure) => {
      // A server that refuses credentials says so itself, and one that is away will be back.
      if (isOfTls(failure)) tellOfTls(busError(failure, servers), 'connection');
    });
    return natsLink(connection, {
      ...options,
      clock,
      report,
      tell: (status) => tellOf(connection, status),
      onForbiddenToPublish: (subject) => requests?.forbidden(subject),
    });
  };
  const isLooped = options.loopback === true;
  const dialed = [link({ noEcho: isLooped }), ...(isLooped ? [link({ name: `${options.name} (echo)` })] : [])];
  const [main, echo = main] = (await allOrNone(dialed)) as [NatsLink, NatsLink?];
  try {
    requests = natsRequests(echo.connection, clock, options.inboxPrefix);
    if (echo !== main) await requests.listen();
    const { inboxPrefix, closeTimeoutMs = CLOSE_TIMEOUT_MS } = options;
    return natsBus({ main, echo, requests, report, tell, clock, inboxPrefix, closeTimeoutMs });
  } catch (error) {
    await Promise.all([main.close(), echo.close()]);
    throw error;
  }
}

/** What has come about beside one that fails is closed. */
async function allOrNone(links: readonly Promise<NatsLink>[]): Promise<NatsLink[]> {
  const outcomes = await Promise.allSettled(links);
  const there = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed === undefined) return there;
  await Promise.all(there.map((link) => link.close()));
  throw failed.reason;
}

/**
 * The client's `waitOnFirstConnect` could not be given up once begun, so the first connection is tried for here.
 */
async function dial(options: NatsOptions, clock: Clock, deadline: number, noEcho = false): Promise<NatsConnection> {
  const { connectTimeoutMs = CONNECT_TIMEOUT_MS, credentials, signal } = options;
  const servers = shownAddresses(options.servers);
  const connection = { ...clientOptions(options), noEcho };
  const authenticator = credentials === undefined ? {} : { authenticator: authenticatorOf(credentials) };
  for (;;) {
    const timeout = Math.max(1, Math.min(Math.round(deadline - clock.monotonic()), DIAL_TIMEOUT_MS));
    try {
      const connecting = connectFirst({ ...connection, ...authenticator, timeout }, DIAL_TIMEOUT_MS, signal);
      return await unlessAborted(connecting, signal, 'connecting', (late) => late.close());
    } catch (failure) {
      const error = busError(failure, servers, timeout);
      if (!worthRetrying(error)) throw error;
      if (clock.monotonic() + DIAL_PAUSE_MS >= deadline) {
        const message = `no NATS server answers at '${servers}' within ${connectTimeoutMs} ms: ${error.message}`;
        throw new CellwrightError('unreachable', message, { retryable: true, cause: failure });
      }
    }
    await unlessAborted(sleep(clock, DIAL_PAUSE_MS), signal, 'connecting');
  }
}

interface Links {
  /**
   * Publishes all, and hears what is served to this process alone. If there is a second one, this one is not sent its own
   * messages: they are handed over here. Leases and journals go by it too: an owner that is deaf soon owns nothing.
   */
  readonly main: NatsLink;
  /** For what is to come by the server even from this process; the same where there is one only. */
  readonly echo: NatsLink;
  /** By `echo`. */
  readonly requests: NatsRequests;
  readonly report: ErrorListener;
  readonly tell: (status: NatsStatus) => void;
  readonly clock: Clock;
  readonly inboxPrefix: string | undefined;
  readonly closeTimeoutMs: number;
}

function natsBus({ main, echo, requests, report, tell, clock, inboxPrefix, closeTimeoutMs }: Links): NatsBus {
  const { connection } = main;
  const loopback = echo === main ? null : loopbackOf(clock);
  /** Who is to be told when nobody hears a question. */
  const askers = interest<Listener>();
  const links = [...new Set([main, echo])];
  let closing: Promise<void> | undefined;
  let tellEnding = (): void => {};
  const ending = new Promise<void>((resolve) => {
    tellEnding = resolve;
  });

  /** What is to be asked of the server again. */
  const pauses = new Set<Timer>();
  const afterPause = (work: () => void): Timer | undefined => {
    // Whatever the server still says while it is left.
    if (closing !== undefined) return undefined;
    const timer = clock.after(FORBIDDEN_PAUSE_MS, () => {
      pauses.delete(timer);
      if (closing === undefined && !connection.isClosed()) work();
    });
    pauses.add(timer);
    return timer;
  };
  const cancel = (timer: Timer | undefined): void => {
    timer?.cancel();
    if (timer !== undefined) pauses.delete(timer);
  };

  void echo.closed.then(() => requests.end());
  const closed = Promise.all(links.map((link) => link.closed)).then((reasons) => {
    const error = reasons.find((reason) => reason !== undefined);
    tell(error === undefined ? { type: 'closed' } : { type: 'closed', error });
    return error;
  });

  const sendBy = (link: NatsLink | null, subject: string, data: Encoded, publishOptions: PublishOptions): void => {
    const { reply, headers } = publishOptions;
    const block = headers === undefined ? undefined : headerBlock(headers);
    const bytes = checkSize(subject, reply, sizeOf(data) + (block?.bytes ?? 0), main.maxPayloadBytes);
    if (link?.connection.isClosed() === true) throw closedError();
    link?.publish(subject, data, publishOptions, block, bytes);
  };

  const send = (subject: string, body: Body, publishOptions: PublishOptions): void => {
    if (connection.isClosed()) throw closedError();
    const data = encodedOf(body);
    if (publishOptions.byServer === true) return sendBy(echo, subject, data, publishOptions);
    const isHeardHere = loopback?.hears(subject) === true;
    if (!isHeardHere) return sendBy(main, subject, data, publishOptions);
    const { reply, headers } = publishOptions;
    // The server knows of nobody here, and would say that nobody hears it.
    const isAsked = reply !== undefined && askers.route(reply) !== undefined;
    // As a rule, whoever acts on it has it already.
    const forOthers = { reply: isAsked ? undefined : reply, headers, canWait: true };
    // While nobody else can be reached, it is not kept for them.
    sendBy(main.connected ? main : null, subject, data, forOthers);
    const same = body instanceof Uint8Array ? body : { value: body.value, encoded: () => data };
    loopback.deliver(subject, same, publishOptions);
  };

  /** A throw would silence the whole connection, and leave it open. */
  const safely =
    (handler: (message: BusMessage) => void) =>
    (message: BusMessage): void => {
      try {
        handler(message);
      } catch (failure) {
        report(failure, message.subject);
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

  /** The same for what is handed over. */
  const answering =
    ({ handler }: Endpoint) =>
    (message: BusMessage): void => {
      try {
        handler(message);
      } catch (failure) {
        report(failure, message.subject);
        if (message.reply === undefined || connection.isClosed()) return;
        send(message.reply, new Uint8Array(0), { headers: serviceErrorHeaders(failure) });
      }
    };

  const bus: NatsBus = {
    connection,
    get connected() {
      return main.connected;
    },
    get maxPayloadBytes() {
      return main.maxPayloadBytes;
    },
    inbox: () => createInbox(inboxPrefix),
    closed: () => closed,
    publish: (subject, body, publishOptions = {}) => send(subject, body, publishOptions),
    subscribe(subject, handler, { queue, onUnheard, onForbidden, loopback: isLooped = false } = {}) {
      checkSubscription(subject, queue);
      const handle = safely(handler);
      let subscribed: Subscription;
      let isOver = false;
      let again: Timer | undefined;
      const forbidden = (error: Error): void => {
        guarded(() => onForbidden?.(busError(error, subject)))(error, subject);
        cancel(again);
        if (!isOver) again = afterPause(() => (subscribed = begin()));
      };
      const callback = (error: Error | null, message: Msg): void => {
        if (error !== null) {
          // What the server forbids is reported where its status comes in.
          if (!isPermissionViolation(error)) report(busError(error, subject), subject);
          else forbidden(error);
        } else if (!isNoResponders(message)) handle(received(message));
        else if (onUnheard !== undefined) safely(() => onUnheard(message.subject))(received(message));
      };
      // Only the connection that publishes a question is told that nobody heard it.
      const isMain = isLooped || onUnheard !== undefined;
      const link = isMain ? main : echo;
      const { connection } = link;
      const begin = () => connection.subscribe(subject, queue === undefined ? { callback } : { callback, queue });
      try {
        subscribed = begin();
        const looped = isMain ? loopback?.subscribe(subject, handle) : undefined;
        const asker: Listener | null = onUnheard === undefined ? null : { subject, queue: undefined, order: 0 };
        if (asker !== null) askers.add(asker);
        const ended = (error: CellwrightError): void => {
          subscribed.unsubscribe();
          forbidden(error);
        };
        const leave = queue === undefined ? undefined : link.whenEnded(subject, ended);
        return {
          unsubscribe() {
            leave?.();
            if (asker !== null) askers.remove(asker);
            looped?.unsubscribe();
            isOver = true;
            cancel(again);
            subscribed.unsubscribe();
          },
        };
      } catch (error) {
        throw busError(error, subject);
      }
    },
    async request(subject, data, { timeoutMs, headers }) {
      checkMessage(subject, data, headers === undefined ? {} : { headers }, main.maxPayloadBytes);
      const deadline = clock.monotonic() + timeoutMs;
      // The client would lose the question and wait for the answer.
      if (!echo.connected) await within(timeoutMs, echo.back(), clock);
      if (closing !== undefined || echo.connection.isClosed()) throw closedError();
      if (!echo.connected) throw new TimeoutError(`'${subject}'`, timeoutMs);
      return requests.ask(subject, Math.max(1, Math.ceil(deadline - clock.monotonic())), (reply) => {
        const publishOptions = headers === undefined ? { reply } : { reply, headers };
        if (loopback?.hears(subject) === true) send(subject, data, publishOptions);
        else sendBy(echo, subject, data, publishOptions);
      });
    },
    async serve(config) {
      checkService(config);
      if (connection.isClosed()) throw closedError();
      const { name, description, version, metadata, endpoints, loopback: isLooped = false } = config;
      const link = isLooped ? main : echo;
      let service: NatsService;
      let leave = (): void => {};
      let isOver = false;
      let again: Timer | undefined;
      const begin = async (): Promise<void> => {
        const begun = await link.connection.services.add({
          name,
          description,
          version,
          metadata: { ...metadata },
          statsHandler: async (endpoint) => statsOf(config, endpoint.subject),
        });
        service = begun;
        if (isOver) return void begun.stop();
        for (const endpoint of endpoints) {
          const { queue } = endpoint;
          const group = queue === undefined ? {} : { queue };
          begun.addEndpoint(endpoint.name, { subject: endpoint.subject, handler: endpointHandler(endpoint), ...group });
        }
        const looped = (isLooped ? endpoints : []).map((endpoint) =>
          loopback?.subscribe(endpoint.subject, safely(answering(endpoint))),
        );
        const ended = (error: CellwrightError) => void begun.stop(error);
        const heard = endpoints.map((endpoint) => link.whenEnded(endpoint.subject, ended));
        leave = () => {
          for (const each of looped) each?.leave();
          for (const each of heard) each();
        };
        void begun.stopped.then((error) => {
          leave();
          if (error && closing === undefined && !connection.isClosed()) failed(error);
        });
      };
      const failed = (failure: unknown): void => {
        const error = busError(failure, name);
        // What the server forbids is reported where its status comes in, and there not each time.
        if (error.code !== 'permission-denied') report(error, name);
        if (!isOver) again = afterPause(() => void begin().catch(failed));
      };
      await begin();
      // From here on the server knows the endpoints; without one it is told them on connecting.
      if (link.connected) await link.connection.flush().catch(() => undefined);
      return {
        async stop() {
          isOver = true;
          cancel(again);
          leave();
          // The server is to say that it has taken note, which one that hangs does not.
          const stopping = service.stop();
          if (await within(closeTimeoutMs, stopping, clock)) await stopping;
        },
      };
    },
    async flush() {
      await Promise.all([loopback?.flush(), ...links.map((link) => link.flush())]);
    },
    ending,
    close() {
      closing ??= (async () => {
        // Whoever waits is told now: to close takes as long as a server that hangs is given.
        requests.end();
        for (const timer of pauses) timer.cancel();
        tellEnding();
        await loopback?.flush();
        // What comes by the second one until its end is answered by the first.
        await echo.close();
        await loopback?.flush();
        await main.close();
      })();
      return closing;
    },
  };
  // One connection without the other would be deaf, or dumb.
  for (const link of links) void link.closed.then(() => bus.close());
  return bus;
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
