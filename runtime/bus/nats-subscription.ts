// Subscriptions on a NATS server, and in this process where it hands over to itself. What the server forbids is asked for
// again.

import type { Msg, Subscription as NatsSubscription } from 'nats';
import type { Timer } from '../clock.ts';
import type { CellwrightError } from '../errors.ts';
import type { BusMessage, SubscribeOptions, Subscription } from './bus.ts';
import type { Interest, Listener } from './interest.ts';
import type { Loopback } from './loopback.ts';
import { busError, isPermissionViolation } from './nats-errors.ts';
import type { NatsLink } from './nats-link.ts';
import { isNoResponders, received } from './nats-messages.ts';
import type { Pauses } from './nats-pauses.ts';
import { checkSubscription, type ErrorListener, guarded } from './wire.ts';

export interface SubscribingParts {
  /** For what is handed over in this process, and to be told that nobody hears a question. */
  readonly main: NatsLink;
  /** For what is to come by the server even from this process; the same where there is one only. */
  readonly echo: NatsLink;
  readonly loopback: Loopback | null;
  /** Who is to be told when nobody hears a question. */
  readonly askers: Interest<Listener>;
  readonly report: ErrorListener;
  readonly pauses: Pauses;
}

/** A throw would silence the whole connection, and leave it open. */
export const safely =
  (handler: (message: BusMessage) => void, report: ErrorListener) =>
  (message: BusMessage): void => {
    try {
      handler(message);
    } catch (failure) {
      report(failure, message.subject);
    }
  };

export function natsSubscription(
  subject: string,
  handler: (message: BusMessage) => void,
  { queue, onUnheard, onForbidden, loopback: isLooped = false }: SubscribeOptions,
  { main, echo, loopback, askers, report, pauses }: SubscribingParts,
): Subscription {
  checkSubscription(subject, queue);
  const handle = safely(handler, report);
  let subscribed: NatsSubscription;
  let isOver = false;
  let again: Timer | undefined;
  const forbidden = (error: Error): void => {
    guarded(() => onForbidden?.(busError(error, subject)))(error, subject);
    pauses.cancel(again);
    if (!isOver) again = pauses.after(() => (subscribed = begin()));
  };
  const callback = (error: Error | null, message: Msg): void => {
    if (error !== null) {
      // What the server forbids is reported where its status comes in.
      if (!isPermissionViolation(error)) report(busError(error, subject), subject);
      else forbidden(error);
    } else if (!isNoResponders(message)) handle(received(message));
    else if (onUnheard !== undefined) safely(() => onUnheard(message.subject), report)(received(message));
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
        pauses.cancel(again);
        subscribed.unsubscribe();
      },
    };
  } catch (error) {
    throw busError(error, subject);
  }
}
