// What a process publishes for its own actors: handed over inside the process, as soon as its event loop comes round.

import type { Clock } from '../clock.ts';
import type { Body, BusMessage, PublishOptions } from './bus.ts';
import { HandedOn } from './handed-on.ts';
import { interest, type Listener } from './interest.ts';
import { NO_HEADERS } from './wire.ts';

export interface Loopback {
  /** @param handler Must not throw. */
  subscribe(subject: string, handler: (message: BusMessage) => void): LoopbackSubscription;
  /** Whether anybody listens here. */
  hears(subject: string): boolean;
  /** Hands the message to all who listen here, to none of them inside this call. */
  deliver(subject: string, body: Body, options: PublishOptions): void;
  /** Resolves when what was published so far is handed over. */
  flush(): Promise<void>;
}

interface LoopbackSubscription {
  /** Nothing more is handed over. */
  unsubscribe(): void;
  /** Nothing more is taken for it; what is on its way is still handed over. */
  leave(): void;
}

interface Hearer extends Listener {
  active: boolean;
  readonly handler: (message: BusMessage) => void;
}

export function loopbackOf(clock: Clock): Loopback {
  const hearers = interest<Hearer>();
  let subscriptions = 0;
  /** receivers[i] is to get messages[i]. */
  let receivers: Hearer[] = [];
  let messages: BusMessage[] = [];

  function drain(): void {
    const to = receivers;
    const what = messages;
    receivers = [];
    messages = [];
    for (const [index, { active, handler }] of to.entries()) if (active) handler(what[index] as BusMessage);
  }

  return {
    subscribe(subject, handler) {
      const hearer: Hearer = { subject, queue: undefined, order: subscriptions++, active: true, handler };
      hearers.add(hearer);
      const leave = () => hearers.remove(hearer);
      return {
        leave,
        unsubscribe() {
          hearer.active = false;
          leave();
        },
      };
    },
    hears: (subject) => hearers.route(subject) !== undefined,
    deliver(subject, body, { reply, headers = NO_HEADERS }) {
      const message =
        body instanceof Uint8Array
          ? { subject, reply, headers, data: body }
          : new HandedOn(subject, body, reply, headers);
      for (const hearer of hearers.route(subject)?.plain ?? []) {
        if (receivers.push(hearer) === 1) clock.soon(drain);
        messages.push(message);
      }
    },
    flush: () => new Promise((resolve) => clock.soon(resolve)),
  };
}
