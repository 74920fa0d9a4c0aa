// What the actors of one process let out: gathered by destination over a tick, then published, one body for each
// destination. Nothing comes here before the turn that sent it is safe in its journal.

import type { Address, Message, PublicEvent } from '../actors/actor.ts';
import type { AnyMessage } from '../actors/messages/any.ts';
import { PassingMap } from '../actors/passing-map.ts';
import { present } from '../actors/present.ts';
import { isGateway } from '../actors/routing.ts';
import type { Bus } from './bus/bus.ts';
import type { Clock } from './clock.ts';
import { jsonOf } from './codec.ts';
import { CellwrightError, messageOf, PayloadTooLargeError } from './errors.ts';
import { frameOf, HEADERS, type Part, sendersOf, summaryOf } from './frames.ts';
import type { Subjects } from './subjects.ts';

/** The most messages in one body, so that a body stays far below the payload limit in the usual case. */
const MAX_MESSAGES_PER_FRAME = 512;

export interface Outbox {
  /**
   * @param sentWith Of a question: told, once it is published, where it will be told if nobody listens, of what travelled
   * with it and of nothing else. Default: it is told of all that the asker asks there.
   */
  send(from: Address, to: Address, message: AnyMessage, sentWith?: (unheardOn: string) => void): void;
  publish(from: Address, event: PublicEvent): void;
  /** What an owner sends carries the number of its tenure; null: it has none. */
  setEpoch(from: Address, epoch: number | null): void;
  /** Messages to addresses that begin like this are not published but handed to `take`, in this process. */
  local(prefix: string, take: (to: Address, message: Message, from: Address) => void): void;
}

export interface OutboxOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly subjects: Subjects;
  /** Whether events for people are published. */
  readonly events: boolean;
  /** Told of a message that could not be sent: it is too large, or the bus is closed. */
  onError(error: unknown, what: string): void;
}

/** Of headers that are kept to be sent again, the most kinds: a process may own hundreds of cells. */
const MAX_KNOWN_HEADERS = 16_384;

type Headers = Readonly<Record<string, string>>;

/**
 * In how many pieces to try what could not be published. What is too large was written to find out how large it is: in
 * pieces that fit, though some may be twice as large as others, it is written once more, and not again and again.
 */
function piecesAfter(error: unknown): number {
  return error instanceof PayloadTooLargeError ? Math.ceil((2 * error.bytes) / error.maxBytes) : 2;
}

/** Then none can travel. */
const isClosed = (error: unknown) => error instanceof CellwrightError && error.code === 'closed';

interface Pile {
  readonly parts: { from: Address; messages: Message[] }[];
  count: number;
}

export function outboxOf({ bus, clock, subjects, events, onError }: OutboxOptions): Outbox {
  const piles = new PassingMap<Address, Pile>();
  /** What actors say to themselves. */
  const echoes: { to: Address; message: AnyMessage }[] = [];
  const told: { from: Address; event: PublicEvent }[] = [];
  const locals: { prefix: string; take: (to: Address, message: Message, from: Address) => void }[] = [];
  const epochs = new Map<Address, string>();
  /** Of owners, by what they say: those of one message or event are much the same as those of the next. */
  const known = new Map<string, Headers>();
  /** Questions of which their askers want to know where it is told that nobody listens. */
  const sentWith = new Map<Message, (unheardOn: string) => void>();
  let bodies = 0;
  let flushing = false;

  function flushSoon(): void {
    if (flushing) return;
    flushing = true;
    clock.soon(flush);
  }

  function flush(): void {
    flushing = false;
    piles.forEach(({ parts }, to) => void publishParts(to, parts));
    piles.clear();
    for (const { to, message } of echoes) publishParts(to, [{ from: to, messages: [message] }]);
    echoes.length = 0;
    for (const { from, event } of told) publishEvent(from, event);
    told.length = 0;
  }

  function publishParts(to: Address, parts: readonly Part[]): void {
    try {
      publishBody(to, parts);
    } catch (error) {
      // Nothing was sent. One message that cannot travel must not cost the others.
      const [first, ...more] = parts.flatMap(({ from, messages }) => messages.map((message) => ({ from, message })));
      if (more.length > 0 && !isClosed(error)) return publishPieces(to, parts, piecesAfter(error));
      if (first !== undefined) sentWith.delete(first.message);
      onError(error, `a message to '${subjects.of(to)}'`);
      if (first !== undefined && !isClosed(error)) tellUnsent(to, first.from, first.message, error);
    }
  }

  function publishBody(to: Address, parts: readonly Part[]): void {
    const body = frameOf(parts);
    // Whoever waits for an answer is told at once when nobody hears the question.
    const asker = parts.find(({ from }) => isGateway(from));
    const told = sentWith.size === 0 ? [] : parts.flatMap((part) => part.messages.filter((one) => sentWith.has(one)));
    if (told.length > 0) bodies += 1;
    const reply = asker && subjects.unheard(asker.from, to, told.length > 0 ? bodies : undefined);
    // Who says a word to itself wants to know whether it can be heard.
    const byServer = parts[0]?.from === to;
    bus.publish(subjects.of(to), body, {
      headers: headersOfFrame(parts),
      ...present({ reply }),
      ...(byServer ? { byServer } : {}),
    });
    for (const message of told) {
      sentWith.get(message)?.(reply as string);
      sentWith.delete(message);
    }
  }

  function headersOfFrame(parts: readonly Part[]): Headers {
    const [first] = parts as readonly [Part];
    const [message] = first.messages as readonly [Message];
    if (parts.length === 1 && first.messages.length === 1) return headersOf(message.type, first.from);
    // The tenure of the first sender that has one.
    const owner = epochs.size === 0 ? undefined : parts.find(({ from }) => epochs.has(from));
    const epoch = owner === undefined ? undefined : epochs.get(owner.from);
    return headersSaying(summaryOf(parts), sendersOf(parts), epoch);
  }

  /** Headers of one message, or of an event, which has a cause. */
  function headersOf(type: string, from: Address, cause?: string): Headers {
    const epoch = epochs.get(from);
    // Others are too many, such as computes, or say little.
    if (epoch === undefined) return headersSaying(type, from, undefined, cause);
    const key = `${type} ${from} ${cause}`;
    let headers = known.get(key);
    if (headers === undefined) {
      headers = Object.freeze(headersSaying(type, from, epoch, cause));
      if (known.size >= MAX_KNOWN_HEADERS) known.clear();
      known.set(key, headers);
    }
    return headers;
  }

  function headersSaying(type: string, from: string, epoch: string | undefined, cause?: string): Headers {
    return {
      [HEADERS.type]: type,
      [HEADERS.from]: from,
      ...(cause === undefined ? {} : { [HEADERS.cause]: cause }),
      ...(epoch === undefined ? {} : { [HEADERS.epoch]: epoch }),
    };
  }

  /** In so many bodies, or as many as there are messages, each with about as many of them. */
  function publishPieces(to: Address, parts: readonly Part[], pieces: number): void {
    const single = parts.flatMap(({ from, messages }) => messages.map((message) => ({ from, messages: [message] })));
    const inEach = Math.ceil(single.length / pieces);
    for (let at = 0; at < single.length; at += inEach) publishParts(to, single.slice(at, at + inEach));
  }

  /** Whoever waits for an answer that cannot be sent, or put the question that cannot, is told so, in fewer words. */
  function tellUnsent(to: Address, from: Address, { type, ask }: Message & { ask?: unknown }, error: unknown): void {
    if (typeof ask !== 'number' || type === 'declined') return;
    const reason = messageOf(error);
    if (isGateway(to)) {
      const message: AnyMessage = { type: 'declined', ask, code: 'answer-too-large', reason, field: 'limit' };
      publishParts(to, [{ from, messages: [message] }]);
    } else if (isGateway(from)) {
      const code = error instanceof CellwrightError ? error.code : 'unsent';
      const message: AnyMessage = { type: 'declined', ask, code, reason };
      publishParts(from, [{ from, messages: [message] }]);
    }
  }

  function publishEvent(from: Address, { topic, type, body, cause, traceparent }: PublicEvent): void {
    const usual = headersOf(type ?? topic.at(-1) ?? '', from, cause);
    const headers = traceparent === undefined ? usual : { ...usual, [HEADERS.traceparent]: traceparent };
    const subject = subjects.event(topic);
    try {
      bus.publish(subject, { value: body, encoded: () => jsonOf(body) }, { headers, canWait: true });
    } catch (error) {
      onError(error, `an event on '${subject}'`);
    }
  }

  return {
    send(from, to, message, told) {
      for (const { prefix, take } of locals) if (to.startsWith(prefix)) return take(to, message, from);
      if (from === to) {
        echoes.push({ to, message });
        return flushSoon();
      }
      if (told !== undefined) sentWith.set(message, told);
      const pile = piles.get(to);
      if (pile === undefined) {
        piles.set(to, { parts: [{ from, messages: [message] }], count: 1 });
        return flushSoon();
      }
      const last = pile.parts.at(-1);
      if (last?.from === from) last.messages.push(message);
      else pile.parts.push({ from, messages: [message] });
      pile.count += 1;
      if (pile.count >= MAX_MESSAGES_PER_FRAME) {
        piles.delete(to);
        publishParts(to, pile.parts);
      } else {
        flushSoon();
      }
    },
    publish(from, event) {
      if (!events) return;
      told.push({ from, event });
      flushSoon();
    },
    setEpoch(from, epoch) {
      if (epoch === null) epochs.delete(from);
      else epochs.set(from, String(epoch));
      known.clear();
    },
    local(prefix, take) {
      locals.push({ prefix, take });
    },
  };
}
