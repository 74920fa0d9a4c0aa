// Asks placement, wherever it runs: a numbered question goes to the shard, and the answer comes back to this process
// in one or more parts.

import { asksFrom } from '../../actors/messages/common.ts';
import { gatewayMessages } from '../../actors/messages/gateway.ts';
import {
  type ApiOutcome,
  type PlacementApiAnswer,
  type PlacementApiMessage,
  placementApiAnswers,
} from '../../actors/messages/placement-api.ts';
import type { TransactionMessage } from '../../actors/messages/transactions.ts';
import { gatewayAddress, placementAddress } from '../../actors/routing.ts';
import type { Bus } from '../bus/bus.ts';
import type { Clock, Timer } from '../clock.ts';
import { CellwrightError, TimeoutError } from '../errors.ts';
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
   * @throws TimeoutError when there is no answer in time; CellwrightError with the code of an answer that declines;
   * `closed` when it is stopped before.
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
  readonly timer: Timer;
  readonly parts: string[];
  resolve(outcome: ApiOutcome): void;
  reject(error: Error): void;
}

const check = checkOfProtocol({ ...placementApiAnswers, declined: gatewayMessages.declined });
type Answer = PlacementApiAnswer | { type: 'declined'; ask: number; code: string; reason: string };

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
      const retryable = answer.code === 'overloaded';
      return waiting.reject(new CellwrightError(answer.code, answer.reason, { retryable }));
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
        pending.set(ask, { timer, parts: [], resolve, reject });
        outbox.send(address, placementAddress(shard), { ask, ...question });
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
