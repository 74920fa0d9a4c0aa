// Asking actors from outside: a numbered question goes to an address, and the answer that carries the number comes
// back to this process's own address.

import type { Address } from '../../actors/actor.ts';
import type { AnyMessage } from '../../actors/messages/any.ts';
import { type GatewayMessage, gatewayMessages } from '../../actors/messages/gateway.ts';
import type { Bus } from '../bus/bus.ts';
import type { Clock, Timer } from '../clock.ts';
import { CellwrightError, TimeoutError } from '../errors.ts';
import { decodeFrame } from '../frames.ts';
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
   * Puts a question and waits for the answer of the given type.
   * @throws TimeoutError when there is none in time; CellwrightError with the code of an answer that declines.
   */
  ask<Type extends GatewayMessage['type']>(
    to: Address,
    question: WithoutAsk<Question>,
    answer: Type,
  ): Promise<Answer<Type>>;
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
  onError(error: unknown, what: string): void;
}

interface Pending {
  readonly type: string;
  readonly timer: Timer;
  resolve(answer: GatewayMessage): void;
  reject(error: Error): void;
}

const check = checkOfProtocol(gatewayMessages);

export function asking(options: AskingOptions): Asking {
  const { name, bus, clock, outbox, subjects, timeoutMs, onError } = options;
  const address = `gateway/${name}`;
  const pending = new Map<number, Pending>();
  let asks = 0;

  function answered(message: GatewayMessage): void {
    const waiting = pending.get(message.ask);
    if (waiting === undefined) return;
    pending.delete(message.ask);
    waiting.timer.cancel();
    if (message.type === waiting.type) return waiting.resolve(message);
    if (message.type !== 'declined')
      return waiting.reject(new CellwrightError('bad-answer', `a '${message.type}' came as an answer`));
    const retryable = message.code === 'overloaded';
    const field = message.field === undefined ? {} : { field: message.field };
    const { retryAfterMs } = message;
    waiting.reject(new CellwrightError(message.code, message.reason, { retryable, retryAfterMs, ...field }));
  }

  const subscription = bus.subscribe(subjects.of(address), ({ data, subject }) => {
    let parts: ReturnType<typeof decodeFrame> = [];
    const what = `an answer on '${subject}'`;
    try {
      parts = decodeFrame(data, bus.maxPayloadBytes);
    } catch (error) {
      onError(error, what);
    }
    for (const message of parts.flatMap(({ messages }) => messages)) {
      // One that is no answer must not cost those that came with it.
      try {
        answered(check(message) as GatewayMessage);
      } catch (error) {
        onError(error, what);
      }
    }
  });

  return {
    address,
    ask(to, question, type) {
      asks += 1;
      const ask = asks;
      return new Promise((resolve, reject) => {
        const timer = clock.at(clock.now() + timeoutMs, () => {
          pending.delete(ask);
          reject(new TimeoutError(`'${to}'`, timeoutMs));
        });
        pending.set(ask, { type, timer, resolve: resolve as (answer: GatewayMessage) => void, reject });
        outbox.send(address, to, { ...question, ask } as AnyMessage);
      });
    },
    stop() {
      subscription.unsubscribe();
      for (const { timer, reject } of pending.values()) {
        timer.cancel();
        reject(new CellwrightError('closed', 'the node is stopping', { retryable: true }));
      }
      pending.clear();
    },
  };
}
