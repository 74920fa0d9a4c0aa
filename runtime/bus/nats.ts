// The bus over a NATS server, with the client set up so that it neither goes deaf nor gives up.
// The NATS client is imported in this folder only.

import { createInbox, type NatsConnection } from 'nats';
import { unlessAborted } from '../abortable.ts';
import type { Clock } from '../clock.ts';
import { CellwrightError, TimeoutError } from '../errors.ts';
import { eachOnce } from '../patience.ts';
import { sleep } from '../pause.ts';
import { systemClock } from '../system-clock.ts';
import { unfailing } from '../unfailing.ts';
import { withResolvers } from '../with-resolvers.ts';
import type { Body, Bus, Encoded, PublishOptions } from './bus.ts';
import { interest, type Listener } from './interest.ts';
import { loopbackOf } from './loopback.ts';
import { authenticatorOf, checkAccess } from './nats-access.ts';
import { shownAddresses } from './nats-addresses.ts';
import { checkNatsOptions } from './nats-checks.ts';
import { busError, isCutOff, isOfTls, worthRetrying } from './nats-errors.ts';
import { CLOSE_TIMEOUT_MS, type NatsLink, natsLink, statusOfAll } from './nats-link.ts';
import { headerBlock } from './nats-messages.ts';
import { clientOptions, type NatsOptions, type NatsStatus } from './nats-options.ts';
import { Pauses } from './nats-pauses.ts';
import { type NatsRequests, natsRequests } from './nats-requests.ts';
import { natsService } from './nats-service.ts';
import { natsSubscription } from './nats-subscription.ts';
import { connectFirst, onFailedAttempt } from './nats-transport.ts';
import { type Silence, silenceOf } from './silence.ts';
import {
  checkMessage,
  checkSize,
  closedError,
  type ErrorListener,
  encodedOf,
  guarded,
  reportToConsole,
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
  /** Asks from now on whether the server is there: whether it says anything within what `close` waits for it. */
  silence(): Silence;
}

/** All attempts at the first connection together, in milliseconds; see `connectTimeoutMs`. */
const CONNECT_TIMEOUT_MS = 10_000;
/** One attempt to connect, in milliseconds: after it the next server, or the same again, has its turn. */
const DIAL_TIMEOUT_MS = 5_000;
/** Pause between first attempts, in milliseconds. */
const DIAL_PAUSE_MS = 100;
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
  /** Why the last attempt failed of which that is known: a server that takes no more may end one before it is heard. */
  let known: { readonly why: string; readonly cause: unknown } | undefined;
  for (;;) {
    const timeout = Math.max(1, Math.min(Math.round(deadline - clock.monotonic()), DIAL_TIMEOUT_MS));
    try {
      const connecting = connectFirst({ ...connection, ...authenticator, timeout }, DIAL_TIMEOUT_MS, signal);
      return await unlessAborted(connecting, signal, 'connecting', (late) => late.close());
    } catch (failure) {
      const error = busError(failure, servers, timeout);
      if (!worthRetrying(error)) throw error;
      if (known === undefined || !isCutOff(failure)) {
        // Of what was asked of nobody the outcome is known.
        const why = error instanceof TimeoutError ? `no connection came about in ${timeout} ms` : error.message;
        known = { why, cause: error.cause ?? error };
      }
      if (clock.monotonic() + DIAL_PAUSE_MS >= deadline) {
        const message = `no NATS server answers at '${servers}' within ${connectTimeoutMs} ms: ${known.why}`;
        throw new CellwrightError('unreachable', message, { retryable: true, cause: known.cause });
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
  const pauses = new Pauses(clock, connection);
  let closing: Promise<void> | undefined;
  const ending = withResolvers();

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

  const parts = { main, echo, loopback, askers, report, pauses, send };
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
    subscribe: (subject, handler, subscribeOptions = {}) => natsSubscription(subject, handler, subscribeOptions, parts),
    async request(subject, data, { timeoutMs, headers }) {
      checkMessage(subject, data, headers === undefined ? {} : { headers }, main.maxPayloadBytes);
      const deadline = clock.monotonic() + timeoutMs;
      // The client would lose the question and wait for the answer.
      if (!echo.connected) await echo.back(timeoutMs);
      if (closing !== undefined || echo.connection.isClosed()) throw closedError();
      if (!echo.connected) throw new TimeoutError(`'${subject}'`, timeoutMs);
      return requests.ask(subject, Math.max(1, Math.ceil(deadline - clock.monotonic())), (reply) => {
        const publishOptions = headers === undefined ? { reply } : { reply, headers };
        if (loopback?.hears(subject) === true) send(subject, data, publishOptions);
        else sendBy(echo, subject, data, publishOptions);
      });
    },
    serve: (config) => natsService(config, parts),
    silence: () => silenceOf(bus, clock, closeTimeoutMs),
    async flush() {
      await Promise.all([loopback?.flush(), ...links.map((link) => link.flush())]);
    },
    ending: ending.promise,
    close() {
      closing ??= (async () => {
        // Whoever waits is told now: to close takes as long as a server that hangs is given.
        requests.end();
        pauses.end();
        ending.resolve();
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
