// The wire between the nodes of a deployment under test: everything that actors say to each other passes here, is
// noted, and can be held back, let through later, or lost with the node that it comes from or goes to.

import type { Message } from '../../actors/actor.ts';
import type { Body, Bus, BusMessage, PublishOptions } from '../../runtime/bus/bus.ts';
import { bytesOf, encodedOf } from '../../runtime/bus/wire.ts';
import { encode } from '../../runtime/codec.ts';
import { decodeFrame, HEADERS } from '../../runtime/frames.ts';

/** Something that one actor said to another. */
interface Said {
  readonly from: string;
  readonly subject: string;
  readonly message: Message;
}

/** Messages of a type from actors whose address begins like this. */
export interface Rule {
  readonly type: string;
  readonly from: string;
}

export interface Wire {
  /** The bus as one node has it. */
  tap(node: string, bus: Bus): Bus;
  /** From now on such messages wait. */
  hold(rule: Rule): void;
  /** Lets through what waits; what is said from now on waits again. */
  pass(rule: Rule): void;
  /** Holds such messages no longer, and lets through what waits. */
  free(rule: Rule): void;
  /** Nothing reaches the node any more, and nothing comes from it. */
  cut(node: string): void;
  /** Ends a cut; what was lost is lost. */
  mend(node: string): void;
  /** Everything that was said by nodes that are not cut off, in order. */
  readonly said: readonly Said[];
  /** What has reached each node. */
  heard(node: string): readonly Said[];
}

interface Waiting extends Said {
  readonly node: string;
  send(): void;
}

export function wire(): Wire {
  const rules: Rule[] = [];
  const cuts = new Set<string>();
  const said: Said[] = [];
  const heard = new Map<string, Said[]>();
  let waiting: Waiting[] = [];

  const fits = (rule: Rule, { from, message }: Said) => message.type === rule.type && from.startsWith(rule.from);

  function release(rule: Rule): void {
    const passing = waiting.filter((one) => fits(rule, one));
    waiting = waiting.filter((one) => !fits(rule, one));
    for (const one of passing) if (!cuts.has(one.node)) one.send();
  }

  /** The messages of a body; none when it is no frame of an actor's but an event, a question of the API or an answer. */
  function messagesIn(subject: string, data: Uint8Array, headers: BusMessage['headers'], limit: number): Said[] {
    if (headers[HEADERS.from] === undefined || headers[HEADERS.cause] !== undefined) return [];
    return decodeFrame(data, limit).flatMap(({ from, messages }) =>
      messages.map((message) => ({ from, subject, message })),
    );
  }

  function tap(node: string, bus: Bus): Bus {
    const inbox: Said[] = [];
    heard.set(node, inbox);

    function publish(subject: string, body: Body, options: PublishOptions = {}): void {
      if (cuts.has(node)) return;
      const data = bytesOf(encodedOf(body));
      const messages = messagesIn(subject, data, options.headers ?? {}, bus.maxPayloadBytes);
      said.push(...messages);
      const held = messages.filter((one) => rules.some((rule) => fits(rule, one)));
      if (held.length === 0) return bus.publish(subject, body, options);
      const send = (one: Said) =>
        bus.publish(subject, encode([{ from: one.from, messages: [one.message] }]), {
          headers: { [HEADERS.type]: one.message.type, [HEADERS.from]: one.from },
        });
      for (const one of messages) {
        if (held.includes(one)) waiting.push({ ...one, node, send: () => send(one) });
        else send(one);
      }
    }

    const unlessCut = (handler: (message: BusMessage) => void) => (message: BusMessage) => {
      if (cuts.has(node)) return;
      inbox.push(...messagesIn(message.subject, message.data, message.headers, bus.maxPayloadBytes));
      handler(message);
    };

    return {
      maxPayloadBytes: bus.maxPayloadBytes,
      publish,
      subscribe: (subject, handler, options) => bus.subscribe(subject, unlessCut(handler), options),
      request: (subject, data, options) => bus.request(subject, data, options),
      serve: (config) =>
        bus.serve({
          ...config,
          endpoints: config.endpoints.map((endpoint) => ({ ...endpoint, handler: unlessCut(endpoint.handler) })),
        }),
      flush: () => bus.flush(),
      close: () => bus.close(),
    };
  }

  const sameAs = (rule: Rule) => (one: Rule) => one.type === rule.type && one.from === rule.from;

  return {
    tap,
    hold(rule) {
      if (!rules.some(sameAs(rule))) rules.push(rule);
    },
    pass: release,
    free(rule) {
      const position = rules.findIndex(sameAs(rule));
      if (position >= 0) rules.splice(position, 1);
      release(rule);
    },
    cut: (node) => void cuts.add(node),
    mend: (node) => void cuts.delete(node),
    said,
    heard: (node) => heard.get(node) ?? [],
  };
}
