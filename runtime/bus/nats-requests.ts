// Requests over one NATS connection: their answers come to one subject of its own, and the one that an answer is for
// stands in its last token. The client's own requests make an Error and several timers for each.

import { createInbox, type Msg, type NatsConnection } from 'nats';
import { PassingMap } from '../../actors/passing-map.ts';
import type { Clock, Timer } from '../clock.ts';
import { type CellwrightError, NoRespondersError, TimeoutError } from '../errors.ts';
import type { BusMessage } from './bus.ts';
import { busError, permissionError } from './nats-errors.ts';
import { isNoResponders, received } from './nats-messages.ts';
import { closedError } from './wire.ts';

interface Waiting {
  readonly subject: string;
  readonly timer: Timer;
  resolve(answer: BusMessage): void;
  reject(error: CellwrightError): void;
}

export interface NatsRequests {
  /** Has the server know where answers go before the first question, for those that come by another connection. */
  listen(): Promise<void>;
  /**
   * Waits for the first answer; `publish` sends the question, with the subject on which the answer is expected.
   * @throws NoRespondersError, TimeoutError, CellwrightError `permission-denied`, `closed`; what `publish` throws.
   */
  ask(subject: string, timeoutMs: number, publish: (reply: string) => void): Promise<BusMessage>;
  /** The server does not let this user publish there. */
  forbidden(subject: string): void;
  /** Ends all that wait: the connection is closed. */
  end(): void;
}

export function natsRequests(connection: NatsConnection, clock: Clock, inboxPrefix: string | undefined): NatsRequests {
  const inbox = createInbox(inboxPrefix);
  const waiting = new PassingMap<string, Waiting>();
  let asked = 0;
  let listening = false;

  function take(token: string): Waiting | undefined {
    const one = waiting.take(token);
    one?.timer.cancel();
    return one;
  }

  function listen(): void {
    if (listening) return;
    connection.subscribe(`${inbox}.*`, { callback: answered });
    listening = true;
  }

  /** Never throws: a throw here would silence the whole connection. */
  function answered(error: Error | null, message: Msg): void {
    if (error !== null) {
      for (const token of [...waiting.keys()]) take(token)?.reject(busError(error, inbox));
      listening = false;
      return;
    }
    const { subject } = message;
    const one = take(subject.slice(subject.lastIndexOf('.') + 1));
    if (one === undefined) return;
    if (isNoResponders(message)) one.reject(new NoRespondersError(one.subject));
    else one.resolve(received(message));
  }

  return {
    async listen() {
      listen();
      // One that is cut off now tells the server when it is back.
      await connection.flush().catch(() => undefined);
    },
    ask: (subject, timeoutMs, publish) =>
      new Promise((resolve, reject) => {
        listen();
        asked += 1;
        const token = asked.toString(36);
        const late = () => take(token)?.reject(new TimeoutError(`'${subject}'`, timeoutMs));
        waiting.set(token, { subject, timer: clock.after(timeoutMs, late), resolve, reject });
        try {
          publish(`${inbox}.${token}`);
        } catch (error) {
          take(token);
          throw error;
        }
      }),
    forbidden(subject) {
      for (const [token, one] of [...waiting]) {
        if (one.subject === subject) take(token)?.reject(permissionError('publish', subject));
      }
    },
    end() {
      for (const token of [...waiting.keys()]) take(token)?.reject(closedError());
    },
  };
}
