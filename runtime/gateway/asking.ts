// Asking actors from outside: a numbered question goes to an address, and the answer that carries the number comes
// back to this process's own address.

import type { Address } from '../../actors/actor.ts';
import type { AnyMessage } from '../../actors/messages/any.ts';
import { asksFrom } from '../../actors/messages/common.ts';
import { type GatewayMessage, gatewayMessages } from '../../actors/messages/gateway.ts';
import { addTo, deleteFrom } from '../../actors/multimap.ts';
import { PassingMap } from '../../actors/passing-map.ts';
import { gatewayAddress, SCHEDULERS } from '../../actors/routing.ts';
import type { Bus } from '../bus/bus.ts';
import type { Clock, Timer } from '../clock.ts';
import { declinedBy } from '../declined.ts';
import { CellwrightError, TimeoutError } from '../errors.ts';
import { type Opened, opened } from '../frames.ts';
import type { Outbox } from '../outbox.ts';
import { checkOfProtocol } from '../schemas.ts';
import type { Subjects } from '../subjects.ts';

type Question = Extract<AnyMessage, { ask: number }>;
type WithoutAsk<T> = T extends unknown ? Omit<T, 'ask'> : never;
type Answer<Type extends GatewayMessage['type']> = Extract<GatewayMessage, { type: Type }>;

export interface Asking {
  /** Where answers come to. */
  readonly address: Address;
  /**
   * Puts a question and waits for the answer of the given type. While nobody owns the actor, or its owner changes, the
   * question is put again, but for as long as somebody says that he is at it: every question may be asked twice.
   * @param waitMs How long to wait; default: as long as is usual here.
   * @throws CellwrightError `no-owner` that names the actor when nobody has served it for all that time, TimeoutError
   * when whoever serves it has not answered; both are worth another try. `unknown-version` when an older version serves it
   * that does not know the question. With the code of an answer that declines.
   */
  ask<Type extends GatewayMessage['type']>(
    to: Address,
    question: WithoutAsk<Question>,
    answer: Type,
    waitMs?: number,
  ): Promise<Answer<Type>>;
  /** An actor has come up anew, or the bus: what it was asked is put again. */
  cameUp(who?: Address): void;
  stop(): void;
}

export interface AskingOptions {
  /** Names the asker among all of the deployment. */
  readonly name: string;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly outbox: Outbox;
  readonly subjects: Subjects;
  /** How long to wait for an answer, ms. */
  readonly timeoutMs: number;
  /** Why an actor cannot answer at present, where this process knows it. Default: it never does. */
  heldUpBy?(to: Address): string | undefined;
  onError(error: unknown, what: string): void;
}

interface Pending {
  readonly to: Address;
  /** Whom it was put to last: the actor, or one by name of all that serve its queue group. */
  putTo: Address;
  /** Where it is told that nobody listens there. */
  unheardOn: string;
  readonly type: string;
  readonly deadline: Timer;
  /** When the question is put again. */
  again: Timer;
  /** Nobody listened when it was put last, as far as is known. */
  unheard: boolean;
  /** It waits to be put to whoever may listen by then. */
  pausing: boolean;
  /** How long to wait before it is put again the next time that nobody listens, ms. */
  pauseMs: number;
  put(): void;
  /** Somebody is at it: it is put again if nothing more is heard of him. */
  putOff(): void;
  resolve(answer: GatewayMessage): void;
  reject(error: Error): void;
}

/** Pause after nobody listened, ms: short, since a planned change of owner takes less than 200 ms; then longer. */
const FIRST_PAUSE_MS = 10;
const MOST_PAUSE_MS = 200;
/**
 * A question that was heard and not answered may be lost with its hearer: it is put again after this, ms, and later; as
 * long after the last word that it is being answered.
 */
const AGAIN_AFTER_MS = 1_000;

const check = checkOfProtocol(gatewayMessages);

export function asking(options: AskingOptions): Asking {
  const { name, bus, clock, outbox, subjects, timeoutMs, onError } = options;
  const address = gatewayAddress(name);
  const pending = new PassingMap<number, Pending>();
  /** The same by where it is told that nobody listens: of one actor that is away it is told again and again. */
  const byUnheard = new Map<string, Set<Pending>>();
  let asks = asksFrom(clock.now());
  let isStopped = false;
  /** The scheduler that was heard last. */
  let scheduler: Address | undefined;

  function answered(message: GatewayMessage, from: Address): void {
    const waiting = pending.get(message.ask);
    if (waiting === undefined) return;
    if (waiting.to === SCHEDULERS && from.startsWith(`${SCHEDULERS}/`)) scheduler = from;
    if (message.type === 'answering') return waiting.putOff();
    settle(message.ask, waiting);
    if (message.type === waiting.type) return waiting.resolve(message);
    if (message.type !== 'declined')
      return waiting.reject(new CellwrightError('bad-answer', `a '${message.type}' came as an answer`));
    waiting.reject(declinedBy(waiting.to, message));
  }

  function settle(ask: number, waiting: Pending): void {
    pending.delete(ask);
    leave(waiting);
    waiting.deadline.cancel();
    waiting.again.cancel();
  }

  function leave(waiting: Pending): void {
    deleteFrom(byUnheard, waiting.unheardOn, waiting);
  }

  function notePutTo(waiting: Pending, putTo: Address): void {
    leave(waiting);
    const unheardOn = subjects.unheard(address, putTo);
    Object.assign(waiting, { putTo, unheardOn });
    addTo(byUnheard, unheardOn, waiting);
  }

  /** Nobody listens there: whoever asks that actor tries again soon. */
  function unheard(subject: string): void {
    for (const waiting of byUnheard.get(subject) ?? []) {
      if (waiting.pausing) continue;
      waiting.unheard = true;
      waiting.pausing = true;
      waiting.again.cancel();
      waiting.again = clock.after(waiting.pauseMs, waiting.put);
      waiting.pauseMs = Math.min(waiting.pauseMs * 2, MOST_PAUSE_MS);
    }
  }

  const nobody = bus.subscribe(subjects.unheard(address, '>'), () => {}, { onUnheard: unheard });
  const subscription = bus.subscribe(
    subjects.of(address),
    (arrived) => {
      let { parts, isForeign }: Opened = { parts: [], isForeign: true };
      const what = `an answer on '${arrived.subject}'`;
      try {
        ({ parts, isForeign } = opened(arrived, bus.maxPayloadBytes));
      } catch (error) {
        onError(error, what);
      }
      for (const { from, messages } of parts) {
        for (const message of messages) {
          // One that is no answer must not cost those that came with it.
          try {
            answered((isForeign ? check(message) : message) as GatewayMessage, from);
          } catch (error) {
            onError(error, what);
          }
        }
      }
    },
    { loopback: true },
  );

  return {
    address,
    ask(to, question, type, waitMs = timeoutMs) {
      if (isStopped) return Promise.reject(stopping());
      asks += 1;
      const ask = asks;
      return new Promise((resolve, reject) => {
        let againMs = AGAIN_AFTER_MS;
        const put = (putTo = to) => {
          notePutTo(waiting, putTo);
          waitToPutAgain();
          outbox.send(address, putTo, { ask, ...question });
        };
        const waitToPutAgain = () => {
          waiting.pausing = false;
          waiting.again = clock.after(againMs, () => {
            waiting.unheard = false;
            againMs *= 2;
            // The queue group may go on dealing to one that is stopped or cut off.
            put(to === SCHEDULERS && waiting.putTo === to ? scheduler : to);
          });
        };
        const deadline = clock.after(waitMs, () => {
          settle(ask, waiting);
          reject(waiting.unheard ? noOwner(to) : unanswered(to, waitMs, options.heldUpBy?.(to)));
        });
        const waiting: Pending = {
          to,
          putTo: to,
          unheardOn: '',
          type,
          deadline,
          again: deadline,
          unheard: false,
          pausing: false,
          pauseMs: FIRST_PAUSE_MS,
          put: () => put(),
          putOff() {
            waiting.unheard = false;
            againMs = AGAIN_AFTER_MS;
            waiting.again.cancel();
            waitToPutAgain();
          },
          resolve: resolve as (answer: GatewayMessage) => void,
          reject,
        };
        pending.set(ask, waiting);
        put();
      });
    },
    cameUp(who) {
      for (const waiting of pending.values()) {
        if (who !== undefined && waiting.to !== who) continue;
        waiting.again.cancel();
        waiting.put();
      }
    },
    stop() {
      isStopped = true;
      subscription.unsubscribe();
      nobody.unsubscribe();
      for (const [ask, waiting] of pending) {
        settle(ask, waiting);
        waiting.reject(stopping());
      }
    },
  };
}

/** What whoever waits, in line or for an answer, is told as the node stops. */
export const stopping = () => new CellwrightError('closed', 'the node is stopping', { retryable: true });

function unanswered(address: Address, afterMs: number, because: string | undefined): TimeoutError {
  if (because === undefined) return new TimeoutError(`'${address}'`, afterMs);
  const said = `'${address}' did not answer within ${afterMs} ms, as ${because}; the outcome is unknown`;
  return new TimeoutError('', afterMs, said);
}

function noOwner(address: Address): CellwrightError {
  return new CellwrightError('no-owner', `no node serves '${address}' now; try again later`, { retryable: true });
}
