// The bus inside one process, with the semantics of a NATS server: for simulations, tests and replays.
// Nothing is delivered inside the call that published it, and nothing here is random or reads the time: the
// same calls give the same deliveries in the same order. Bodies are not copied, and values are handed on as they are:
// nobody may write to one after it was published. Of `$SRV` discovery there is only what nodes ask of each other, since no
// tool can look inside a process.

import { PassingMap } from '../../actors/passing-map.ts';
import type { Clock } from '../clock.ts';
import { MalformedError, NoRespondersError, TimeoutError } from '../errors.ts';
import type { Body, Bus, BusMessage, Endpoint, PublishOptions, SubscribeOptions } from './bus.ts';
import { HandedOn } from './handed-on.ts';
import { interest, type Listener, type QueueGroup } from './interest.ts';
import {
  bytesOf,
  checkMessage,
  checkService,
  checkSubject,
  checkSubscription,
  closedError,
  type ErrorListener,
  encodedOf,
  guarded,
  NO_HEADERS,
  reportToConsole,
  SERVICE_QUEUE,
  serviceErrorHeaders,
} from './wire.ts';

export interface MemoryServerOptions {
  /** Deliveries run in its `soon`, timeouts in its `after`. */
  clock: Clock;
  /** The largest message, body and headers, in bytes; default 1 MiB, as a NATS server has it. Values are not measured. */
  maxPayloadBytes?: number;
  /** Whether values are handed on as they are; false: as bytes, as over a server. Default true. */
  sharesValues?: boolean;
  /** From 0 up to 1, picks the member of a queue group. Default: the members take turns. */
  random?: () => number;
  /** Told when a handler threw; the others are served all the same. Default: the console. */
  onError?: ErrorListener;
}

export interface MemoryBus extends Bus {
  /** Ends as a process that dies: what was on its way to it is lost, its requests never settle. */
  kill(): void;
}

export interface MemoryServer {
  /** One more client. Closing it ends its own subscriptions and requests only. */
  connect(): MemoryBus;
}

/** Where a routed message goes: a subscription, a waiting request, the end of a connection. */
interface Receiver {
  receive(message: BusMessage): void;
}

interface Connection {
  isClosed: boolean;
}

/** A class, for there may be thousands of them: its method is made once. */
class Subscriber implements Receiver, Listener {
  readonly subject: string;
  readonly queue: string | undefined;
  readonly order: number;
  /** Told that what was published, to be answered here, is heard by nobody. */
  readonly onUnheard: ((subject: string) => void) | undefined;
  readonly #handler: (message: BusMessage) => void;
  readonly #connection: Connection;
  /** What a handler throws. */
  readonly #failed: (error: unknown, message: BusMessage) => void;
  /** Nothing more is handed to it. */
  isEnded = false;

  constructor(
    { subject, queue, order }: Listener,
    connection: Connection,
    handler: (message: BusMessage) => void,
    failed: (error: unknown, message: BusMessage) => void,
    onUnheard: ((subject: string) => void) | undefined,
  ) {
    this.subject = subject;
    this.queue = queue;
    this.order = order;
    this.#connection = connection;
    this.#handler = handler;
    this.#failed = failed;
    this.onUnheard = onUnheard;
  }

  receive(message: BusMessage): void {
    if (this.isEnded || this.#connection.isClosed) return;
    try {
      this.#handler(message);
    } catch (error) {
      this.#failed(error, message);
    }
  }
}

/** How the subjects begin on which requests are answered. */
const INBOX = '_INBOX.';

/** Stands for the server's word that nobody listens. */
const NO_RESPONDERS: BusMessage = { subject: '', headers: NO_HEADERS, data: new Uint8Array(0) };

/** One bus on a server of its own. Several nodes of one process that are given it make one deployment. */
export function memoryBus(options: MemoryServerOptions): MemoryBus {
  return memoryServer(options).connect();
}

export function memoryServer(options: MemoryServerOptions): MemoryServer {
  const { clock, maxPayloadBytes = 1024 * 1024, random, sharesValues = true } = options ?? {};
  if (typeof clock?.soon !== 'function') {
    throw new MalformedError('a bus in memory needs the option clock, such as systemClock()', { field: 'clock' });
  }
  const report = guarded(options.onError ?? reportToConsole);
  const listeners = interest<Subscriber>();
  const requests = new PassingMap<string, Receiver>();
  let connections = 0;
  let subscriptions = 0;

  // What is routed and not delivered: receivers[i] is to get messages[i].
  let receivers: Receiver[] = [];
  let messages: BusMessage[] = [];
  let draining = false;

  const enqueue = (receiver: Receiver, message: BusMessage): void => {
    if (receivers.push(receiver) === 1) clock.soon(drain);
    messages.push(message);
  };

  // Takes what is there now: what handlers publish meanwhile waits for the next tick, after other work.
  const drain = (): void => {
    const to = receivers;
    const what = messages;
    receivers = [];
    messages = [];
    draining = true;
    let next = 0;
    try {
      for (const receiver of to) receiver.receive(what[next++] as BusMessage);
    } finally {
      draining = false;
      // After one that threw, the others still have theirs.
      if (next < to.length) {
        receivers = [...to.slice(next), ...receivers];
        messages = [...what.slice(next), ...messages];
        clock.soon(drain);
      }
    }
  };

  const pick = ({ members, turn }: QueueGroup<Subscriber>): Subscriber => {
    const index = random === undefined ? turn.next % members.length : Math.floor(random() * members.length);
    return members[index] as Subscriber;
  };

  /** Routed at once, as by a server: a later subscriber gets none of it. False when nobody listens. */
  const dispatch = (subject: string, messageOf: () => BusMessage): boolean => {
    const request = subject.startsWith(INBOX) ? requests.get(subject) : undefined;
    const route = listeners.route(subject);
    if (request === undefined && route === undefined) return false;
    const message = messageOf();
    if (request !== undefined) enqueue(request, message);
    if (route === undefined) return true;
    if (route.only !== undefined) {
      enqueue(route.only, message);
      return true;
    }
    for (const subscriber of route.plain) enqueue(subscriber, message);
    for (const group of route.groups) {
      enqueue(pick(group), message);
      group.turn.next++;
    }
    return true;
  };

  const connect = (): MemoryBus => {
    const prefix = `${INBOX}${connections++}`;
    const subscribers = new Set<Subscriber>();
    /** Own requests in flight, and how to end each. */
    const waiting = new PassingMap<string, { end(settle?: () => void): void; fail(error: Error): void }>();
    let inboxes = 0;
    const connection: Connection = { isClosed: false };
    let closing: Promise<void> | undefined;

    const send = (subject: string, body: Body, options: PublishOptions): boolean => {
      if (connection.isClosed) throw closedError();
      const { reply, headers = NO_HEADERS } = options;
      if (sharesValues && !(body instanceof Uint8Array)) {
        checkSubject(subject);
        if (reply !== undefined) checkSubject(reply);
        return dispatch(subject, () => new HandedOn(subject, body, reply, headers));
      }
      const data = bytesOf(encodedOf(body));
      checkMessage(subject, data, options, maxPayloadBytes);
      return dispatch(subject, () =>
        reply === undefined ? { subject, headers, data } : { subject, reply, headers, data },
      );
    };

    /** A server says so to the connection that has published, if it listens where the answer was to go. */
    const tellUnheard = (reply: string): void => {
      for (const subscriber of listeners.route(reply)?.plain ?? []) {
        const { onUnheard } = subscriber;
        if (onUnheard !== undefined && subscribers.has(subscriber))
          enqueue({ receive: () => !connection.isClosed && onUnheard(reply) }, NO_RESPONDERS);
      }
    };

    const failed = (error: unknown, { subject }: BusMessage): void => report(error, subject);

    const failedToAnswer = (error: unknown, message: BusMessage): void => {
      failed(error, message);
      if (message.reply === undefined || connection.isClosed) return;
      send(message.reply, new Uint8Array(0), { headers: serviceErrorHeaders(error) });
    };

    const add = (
      subject: string,
      handler: (message: BusMessage) => void,
      { queue, onUnheard }: SubscribeOptions = {},
      onFailure = failed,
    ) => {
      if (connection.isClosed || closing !== undefined) throw closedError();
      checkSubscription(subject, queue);
      const subscriber = new Subscriber(
        { subject, queue, order: subscriptions++ },
        connection,
        handler,
        onFailure,
        onUnheard,
      );
      listeners.add(subscriber);
      subscribers.add(subscriber);
      /** Gets nothing new; what is routed to it already still comes. */
      const leave = (): void => {
        if (subscribers.delete(subscriber)) listeners.remove(subscriber);
      };
      const unsubscribe = (): void => {
        subscriber.isEnded = true;
        leave();
      };
      return { leave, unsubscribe };
    };

    const serveEndpoint = ({ subject, handler, queue = SERVICE_QUEUE }: Endpoint) =>
      add(subject, handler, { queue }, failedToAnswer);

    const leaveAll = (): void => {
      for (const subscriber of subscribers) listeners.remove(subscriber);
      subscribers.clear();
    };

    return {
      maxPayloadBytes,
      publish(subject, body, options = {}) {
        if (!send(subject, body, options) && options.reply !== undefined) tellUnheard(options.reply);
      },
      subscribe(subject, handler, options) {
        const { unsubscribe } = add(subject, handler, options);
        return { unsubscribe };
      },
      request: (subject, data, { timeoutMs, headers }) =>
        new Promise((resolve, reject) => {
          if (closing !== undefined) throw closedError();
          const inbox = `${prefix}.${inboxes++}`;
          const answered = send(subject, data, headers === undefined ? { reply: inbox } : { reply: inbox, headers });
          const end = (settle?: () => void): void => {
            if (!waiting.delete(inbox)) return;
            requests.delete(inbox);
            timer.cancel();
            settle?.();
          };
          const timer = clock.after(timeoutMs, () => end(() => reject(new TimeoutError(`'${subject}'`, timeoutMs))));
          const receiver: Receiver = {
            receive: (message) =>
              end(() => (message === NO_RESPONDERS ? reject(new NoRespondersError(subject)) : resolve(message))),
          };
          waiting.set(inbox, { end, fail: (error) => end(() => reject(error)) });
          requests.set(inbox, receiver);
          if (!answered) enqueue(receiver, NO_RESPONDERS);
        }),
      async serve(config) {
        checkService(config);
        const served = config.endpoints.map(serveEndpoint);
        const { name, description, version, metadata, endpoints } = config;
        const info = { name, description, version, metadata, endpoints: endpoints.map(({ subject }) => ({ subject })) };
        const asked = this.subscribe(`$SRV.INFO.${name}`, ({ reply }) => {
          if (reply !== undefined) this.publish(reply, Buffer.from(JSON.stringify(info)));
        });
        return {
          async stop() {
            asked.unsubscribe();
            for (const { leave } of served) leave();
          },
        };
      },
      async flush() {
        if (connection.isClosed) throw closedError();
      },
      close() {
        closing ??= new Promise((resolve) => {
          leaveAll();
          const finish = (): void => {
            connection.isClosed = true;
            for (const { fail } of [...waiting.values()]) fail(closedError());
            resolve();
          };
          // Behind all that has arrived.
          if (receivers.length === 0 && !draining) finish();
          else enqueue({ receive: finish }, NO_RESPONDERS);
        });
        return closing;
      },
      kill() {
        connection.isClosed = true;
        closing ??= Promise.resolve();
        leaveAll();
        for (const { end } of [...waiting.values()]) end();
      },
    };
  };

  return { connect };
}
