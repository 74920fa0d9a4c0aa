// Asks placement, wherever it runs: a numbered question goes to the shard, and the answer comes back to this process
// in one or more parts.

import type { Address, Message } from '../../actors/actor.ts';
import { asksFrom } from '../../actors/messages/common.ts';
import { gatewayMessages } from '../../actors/messages/gateway.ts';
import {
  type ApiOutcome,
  type PlacementApiAnswer,
  type PlacementApiMessage,
  placementApiAnswers,
  placementApiMessages,
} from '../../actors/messages/placement-api.ts';
import { type TransactionMessage, transactionMessages } from '../../actors/messages/transactions.ts';
import { gatewayAddress, placementAddress } from '../../actors/routing.ts';
import type { Bus } from '../bus/bus.ts';
import type { Clock, Timer } from '../clock.ts';
import { type Declined, declinedBy, unknownTo } from '../declined.ts';
import { type CellwrightError, TimeoutError } from '../errors.ts';
import { opened } from '../frames.ts';
import type { Outbox } from '../outbox.ts';
import { checkOfProtocol } from '../schemas.ts';
import type { Subjects } from '../subjects.ts';

type WithoutAsk<T> = T extends unknown ? Omit<T, 'ask'> : never;
type Together = Extract<TransactionMessage, { ask: number }>;
export type Question = WithoutAsk<PlacementApiMessage | Together>;

export interface Authority {
  /**
   * Puts a question to a placement shard, by default the first.
   * @param withinMs How long to wait for the answer, ms, where that is less than `timeoutMs`.
   * @throws TimeoutError when there is no answer in time; CellwrightError `unknown-version` when an older version serves the
   * shard that does not know the question; with the code of an answer that declines; `closed` when it is stopped before.
   */
  ask(question: Question, shard?: number, withinMs?: number): Promise<ApiOutcome>;
  stop(): void;
}

export interface AuthorityOptions {
  /** Names the asker among all of the deployment. */
  readonly name: string;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly outbox: Outbox;
  readonly subjects: Subjects;
  /** How long to wait for an answer, ms. */
  readonly timeoutMs: number;
  /** With what it answers once it is stopped. */
  closed(): CellwrightError;
  onError(error: unknown, what: string): void;
}

interface Pending {
  readonly to: Address;
  readonly question: Message;
  readonly timer: Timer;
  readonly parts: string[];
  resolve(outcome: ApiOutcome): void;
  reject(error: Error): void;
}

const check = checkOfProtocol({ ...placementApiAnswers, declined: gatewayMessages.declined });
type Answer = PlacementApiAnswer | Declined;

const checkQuestion = checkOfProtocol({ ...placementApiMessages, ...transactionMessages });

/** Whether a question is right as this version has it. A part of it may be a caller's own, such as a name that is too long. */
function isRight(question: Message): boolean {
  try {
    checkQuestion(question);
    return true;
  } catch {
    return false;
  }
}

export function authorityOf(options: AuthorityOptions): Authority {
  const { name, bus, clock, outbox, subjects, timeoutMs, closed, onError } = options;
  const address = gatewayAddress(name);
  const pending = new Map<number, Pending>();
  let asks = asksFrom(clock.now());
  let isStopped = false;

  function answered(answer: Answer): void {
    const waiting = pending.get(answer.ask);
    if (waiting === undefined) return;
    if (answer.type === 'declined') {
      settle(answer.ask, waiting);
      const { to, question } = waiting;
      const isUnknown = answer.code === 'malformed' && isRight(question);
      return waiting.reject(isUnknown ? unknownTo(`'${to}'`) : declinedBy(to, answer));
    }
    waiting.parts.push(answer.text);
    if (waiting.parts.length < answer.parts) return;
    settle(answer.ask, waiting);
    waiting.resolve(JSON.parse(waiting.parts.join('')) as ApiOutcome);
  }

  function settle(ask: number, { timer }: Pending): void {
    pending.delete(ask);
    timer.cancel();
  }

  const subscription = bus.subscribe(subjects.of(address), (arrived) => {
    try {
      const { parts, isForeign } = opened(arrived, bus.maxPayloadBytes);
      for (const { messages } of parts) {
        for (const message of messages) answered((isForeign ? check(message) : message) as Answer);
      }
    } catch (error) {
      onError(error, `an answer on '${arrived.subject}'`);
    }
  });

  return {
    ask(question, shard = 0, withinMs = timeoutMs) {
      // Nobody would hear the answer.
      if (isStopped) return Promise.reject(closed());
      asks += 1;
      const ask = asks;
      return new Promise((resolve, reject) => {
        const limitMs = Math.min(timeoutMs, withinMs);
        const timer = clock.after(limitMs, () => {
          pending.delete(ask);
          reject(new TimeoutError('placement', limitMs));
        });
        const to = placementAddress(shard);
        const numbered = { ask, ...question };
        pending.set(ask, { to, question: numbered, timer, parts: [], resolve, reject });
        outbox.send(address, to, numbered);
      });
    },
    stop() {
      isStopped = true;
      subscription.unsubscribe();
      for (const [ask, waiting] of pending) {
        settle(ask, waiting);
        waiting.reject(closed());
      }
    },
  };
}
