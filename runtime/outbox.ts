// What the actors of one process let out: gathered by destination over a tick, then published, one body for each
// destination. Nothing comes here before the turn that sent it is safe in its journal.

import type { Address, Message, PublicEvent } from '../actors/actor.ts';
import type { AnyMessage } from '../actors/messages/any.ts';
import type { Bus } from './bus/bus.ts';
import type { Clock } from './clock.ts';
import { encodeJson } from './codec.ts';
import { encodeFrame, HEADERS, type Part, sendersOf, summaryOf } from './frames.ts';
import type { Subjects } from './subjects.ts';

/** The most messages in one body, so that a body stays far below the payload limit in the usual case. */
const MAX_MESSAGES_PER_FRAME = 512;

export interface Outbox {
  send(from: Address, to: Address, message: AnyMessage): void;
  publish(from: Address, event: PublicEvent): void;
  /** Messages to addresses that begin like this are not published but handed to `take`, in this process. */
  local(prefix: string, take: (to: Address, message: Message, from: Address) => void): void;
}

export interface OutboxOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly subjects: Subjects;
  /** Whether events for people are published. They cost about a fifth of the throughput. */
  readonly events: boolean;
  /** Told of a message that could not be sent: it is too large, or the bus is closed. */
  onError(error: unknown, what: string): void;
}

interface Pile {
  readonly parts: { from: Address; messages: Message[] }[];
  count: number;
}

export function outboxOf({ bus, clock, subjects, events, onError }: OutboxOptions): Outbox {
  const piles = new Map<Address, Pile>();
  const told: { from: Address; event: PublicEvent }[] = [];
  const locals: { prefix: string; take: (to: Address, message: Message, from: Address) => void }[] = [];
  let flushing = false;

  function flushSoon(): void {
    if (flushing) return;
    flushing = true;
    clock.soon(flush);
  }

  function flush(): void {
    flushing = false;
    for (const [to, { parts }] of piles) publishParts(to, parts);
    piles.clear();
    for (const { from, event } of told) publishEvent(from, event);
    told.length = 0;
  }

  function publishParts(to: Address, parts: readonly Part[]): void {
    const subject = subjects.of(to);
    try {
      const data = encodeFrame(parts);
      const headers = { [HEADERS.type]: summaryOf(parts), [HEADERS.from]: sendersOf(parts) };
      // Room is left for the headers, which count towards the limit as well.
      if (data.length + 1024 > bus.maxPayloadBytes && halve(to, parts)) return;
      bus.publish(subject, data, { headers });
    } catch (error) {
      onError(error, `a message to '${subject}'`);
    }
  }

  /** A body that is too large travels in two; false when it is a single message. */
  function halve(to: Address, parts: readonly Part[]): boolean {
    const single = parts.flatMap(({ from, messages }) => messages.map((message) => ({ from, messages: [message] })));
    if (single.length < 2) return false;
    publishParts(to, single.slice(0, single.length / 2));
    publishParts(to, single.slice(single.length / 2));
    return true;
  }

  function publishEvent(from: Address, { topic, body, cause, traceparent }: PublicEvent): void {
    const headers: Record<string, string> = {
      [HEADERS.type]: topic.at(-1) ?? '',
      [HEADERS.from]: from,
      [HEADERS.cause]: cause,
    };
    if (traceparent !== undefined) headers[HEADERS.traceparent] = traceparent;
    const subject = subjects.event(topic);
    try {
      bus.publish(subject, encodeJson(body), { headers });
    } catch (error) {
      onError(error, `an event on '${subject}'`);
    }
  }

  return {
    send(from, to, message) {
      const local = locals.find(({ prefix }) => to.startsWith(prefix));
      if (local !== undefined) return local.take(to, message, from);
      let pile = piles.get(to);
      if (pile === undefined) {
        pile = { parts: [], count: 0 };
        piles.set(to, pile);
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
    local(prefix, take) {
      locals.push({ prefix, take });
    },
  };
}
