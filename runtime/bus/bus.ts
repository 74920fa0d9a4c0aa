// The bus port: subjects with wildcards, queue groups, request and reply, no responders, headers.
// bus/nats.ts carries it over a NATS server, bus/memory.ts inside one process; both behave alike.

import type { CellwrightError } from '../errors.ts';

/** A body as it travels; text stands for its bytes in UTF-8. */
export type Encoded = Uint8Array | string;

/**
 * A body that becomes bytes only where bytes are needed: inside one process the value itself can be handed on. Whoever
 * publishes it leaves it alone from then on, and whoever receives it only reads it.
 */
export interface Unencoded {
  readonly value: unknown;
  /** @throws CellwrightError `unencodable`. */
  encoded(): Encoded;
}

export type Body = Uint8Array | Unencoded;

export interface BusMessage {
  readonly subject: string;
  /** Where an answer is expected; absent when none is. */
  readonly reply?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly data: Uint8Array;
  /** The value that was published, when it has come here as it is; only to be read. */
  readonly value?: unknown;
}

export interface PublishOptions {
  reply?: string | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  /** By the server also to those here who listen with `loopback`: it arrives when they can be reached. Default false. */
  byServer?: boolean;
  /** Nobody waits for it: it may go with what is published next, or else within some milliseconds. Default false. */
  canWait?: boolean;
}

export interface SubscribeOptions {
  queue?: string;
  /**
   * What this process publishes there is handed over inside it, to all who listen, and published for everybody else, for
   * whom it is not kept while the connection is down. Not for a queue group that others are in, for the server would choose one of them as well. Default false; of no effect
   * where there is no server, or one connection only.
   */
  loopback?: boolean;
  onUnheard?: (subject: string) => void;
  /** Told, beside whoever is told of errors, when the server does not allow this user to subscribe: nothing will come. */
  onForbidden?: (error: CellwrightError) => void;
}

export interface Subscription {
  unsubscribe(): void;
}

/** One subject served under a service. Those who serve the same subject in the same queue group share its messages. */
export interface Endpoint {
  /** A token that names the endpoint in `nats micro`. */
  name: string;
  subject: string;
  /** The queue group; default `q`, as NATS services have it. */
  queue?: string;
  handler: (message: BusMessage) => void;
}

/** A role as it stands in `nats micro ls`. */
export interface ServiceConfig {
  /** The role: `cell`, `placement` ... `[A-Za-z0-9_-]+`. */
  name: string;
  description: string;
  /** Semantic version. */
  version: string;
  metadata: Readonly<Record<string, string>>;
  endpoints: readonly Endpoint[];
  /** As of a subscription; for all endpoints. */
  loopback?: boolean;
  /** Shown for each endpoint in `nats micro info` and `stats`. */
  stats?: (endpoint: string) => Readonly<Record<string, unknown>>;
}

export interface Service {
  stop(): Promise<void>;
}

/**
 * What carries messages between actors: NATS, by `connectNats`, or memory, by `memoryBus`. Its errors are those of
 * `errors.ts`, as CellwrightError.
 */
export interface Bus {
  /**
   * Hands the message to the bus. While the connection is down it is kept, in order, up to a limit, and sent
   * when it is up again. `body` is not copied: leave it alone from then on.
   * @throws CellwrightError `payload-too-large` when body and headers are over `maxPayloadBytes`, `bad-subject`,
   * `bad-header`, `closed` after `close`; what encoding the body throws.
   */
  publish(subject: string, body: Body, options?: PublishOptions): void;
  /**
   * `handler` may throw: the error is reported and the subscription lives on. `onUnheard` is told the subject on which
   * an answer was expected when this connection has published something, with such a subject, that nobody listens to.
   */
  subscribe(subject: string, handler: (message: BusMessage) => void, options?: SubscribeOptions): Subscription;
  /**
   * Publishes with a fresh inbox and waits for the first answer.
   * @throws NoRespondersError when nobody listens, TimeoutError, CellwrightError `closed`.
   */
  request(
    subject: string,
    data: Uint8Array,
    options: { timeoutMs: number; headers?: Readonly<Record<string, string>> },
  ): Promise<BusMessage>;
  /**
   * Subscribes every endpoint in its queue group; over NATS it answers discovery as well.
   * A handler that throws is answered with the headers `Nats-Service-Error` and `Nats-Service-Error-Code`.
   */
  serve(config: ServiceConfig): Promise<Service>;
  /** The largest message that may be published, in bytes: its body and its headers together. */
  readonly maxPayloadBytes: number;
  /** Resolves when everything published so far has reached the server (or the subscribers' queues). */
  flush(): Promise<void>;
  /** Resolves when the bus begins to close, by `close` or because its connection is no more. */
  readonly ending?: Promise<void>;
  /** Ends requests that wait, delivers what has arrived, flushes what was published, and closes. Idempotent. */
  close(): Promise<void>;
}
