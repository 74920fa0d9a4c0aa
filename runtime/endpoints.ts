// Brings messages from the bus to the actors of a process: decodes, checks each message against its actor's protocol,
// and answers whoever can be answered when a message cannot be taken.

import type { Address, Message } from '../actors/actor.ts';
import type { Protocol } from '../actors/messages/common.ts';
import { present } from '../actors/present.ts';
import { isGateway } from '../actors/routing.ts';
import type { BusMessage } from './bus/bus.ts';
import { CellwrightError, messageOf, OverloadedError } from './errors.ts';
import { HEADERS, type Opened, opened } from './frames.ts';
import type { Outbox } from './outbox.ts';
import { checkOfProtocol, type ProtocolCheck } from './schemas.ts';
import type { ActorHost } from './turn.ts';

/** The type of the question by which a process learns who serves an address, before it serves it itself. */
export const WHO = 'who';

/** A question waits for an answer, which carries its number. */
interface Question extends Message {
  readonly ask: number;
}

export interface EndpointOptions {
  readonly node: string;
  readonly protocol: Protocol;
  readonly outbox: Outbox;
  readonly maxBytes: number;
  answer(subject: string, text: string): void;
  onError(error: unknown, what: string): void;
}

/**
 * Whether somebody waits for an answer who understands that there will be none: actors, which ask each other too, say
 * again what is not answered.
 */
function isQuestion(from: Address, message: Message | null): message is Question {
  return isGateway(from) && typeof (message as Question | null)?.ask === 'number';
}

/** The handler that delivers what arrives for one actor. */
export function endpointOf(host: ActorHost, options: EndpointOptions): (message: BusMessage) => void {
  const { node, protocol, outbox, maxBytes, answer, onError } = options;
  const check = compiled(protocol);
  const decline = (to: Address, message: Message | null, error: CellwrightError) => {
    if (!isQuestion(to, message)) return onError(error, `a message for '${host.address}'`);
    const { code, message: reason, field, retryAfterMs } = error.toJSON();
    const more = present({ field, retryAfterMs });
    outbox.send(host.address, to, { type: 'declined', ask: message.ask, code, reason, ...more });
  };
  /** Set while the mailbox is full: what is turned away then is told once. It is counted in the actor's figures. */
  let isFull = false;
  const turnAway = (to: Address, message: Message) => {
    const error = new OverloadedError(host.address, host.retryAfterMs());
    if (isQuestion(to, message)) decline(to, message, error);
    // Whoever waits for what comes of it says it again, at a slowing pace.
    else if (!isFull) onError(error, `messages for '${host.address}'`);
    isFull = true;
  };
  return (message) => {
    if (isWho(message)) {
      if (!host.isReplaced()) answer(message.reply as string, node);
      return;
    }
    let arrived: Opened;
    try {
      arrived = opened(message, maxBytes);
    } catch (error) {
      return onError(error, `a body on '${message.subject}'`);
    }
    for (const { from, messages } of arrived.parts) {
      for (const each of messages) {
        try {
          if (arrived.isForeign) check(each);
          else check.ofType(each);
        } catch (error) {
          const fault = error instanceof CellwrightError ? error : new CellwrightError('malformed', messageOf(error));
          decline(from, each, fault);
          continue;
        }
        if (host.deliver(each, from)) {
          if (host.waiting() === 1) isFull = false;
        } else if (host.isUp()) {
          // One that has stopped says nothing: another owner may hear the same, and whoever sent it says it again.
          turnAway(from, each);
        }
      }
    }
  };
}

/** The headers, which take time to read, are looked at only where there is no body. */
function isWho(message: BusMessage): boolean {
  if (message.value !== undefined || message.data.length > 0) return false;
  return message.reply !== undefined && message.headers[HEADERS.type] === WHO;
}

const checks = new WeakMap<Protocol, ProtocolCheck>();

/** One compiled check a protocol, however many actors speak it. */
function compiled(protocol: Protocol): ProtocolCheck {
  let check = checks.get(protocol);
  if (check === undefined) {
    check = checkOfProtocol(protocol);
    checks.set(protocol, check);
  }
  return check;
}
