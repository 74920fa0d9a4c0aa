// Asks placement, wherever it runs: a numbered question goes to the shard, and the answer comes back to this process
// in one or more parts.

import type { Address } from '../../actors/actor.ts';
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

type WithoutAsk<T> = T extends unknown ? Omit<T, 'ask' | 'again'> : never;
type Together = Extract<TransactionMessage, { ask: number }>;
export type Question = WithoutAsk<PlacementApiMessage | Together>;

export interface Authority {
  /**
   * Puts a question to a placement shard, by default the first: again where nobody heard it, as while the owner changes, and
   * one that changes nothing while it is not answered, too.
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
  readonly question: Question;
  /** Under which numbers it was put: the first whole answer to any of them counts. */
  readonly asks: number[];
  /** The first of them. */
  first: number | null;
  readonly deadline: Timer;
  again: Timer | undefined;
  /** How long to wait before it is put again the next time that nobody hears it, ms. */
  pauseMs: number;
  resolve(outcome: ApiOutcome): void;
  reject(error: Error): void;
}

/** A question as it was put once. */
interface Put {
  readonly waiting: Pending;
  /** What has come of the answer. */
  readonly parts: string[];
  /** Where it is told that nobody heard it, once it is on its way. */
  unheardOn?: string;
}

/**
 * A question may be lost with its hearer: one that changes nothing is put again after this, ms, and later. Whether a change
 * was made nobody could tell from what comes of it a second time.
 */
const AGAIN_AFTER_MS = 1_000;
/** Pause after nobody has heard it, ms: short, since a planned change of owner takes less than 200 ms; then longer. */
const FIRST_PAUSE_MS = 10;
const MOST_PAUSE_MS = 200;
const CHANGES_NOTHING: ReadonlySet<Question['type']> = new Set([
  'provider-show',
  'providers-find',
  'provider-allocations',
  'consumer-show',
  'usages',
  'classes-list',
  'traits-list',
  'candidates',
  'subtree-show',
  'sharing-list',
  'consumers-read',
  'consider',
]);
/** Of these it is said that they are put again, as they may be under way. */
const TAKES_LONG: ReadonlySet<Question['type']> = new Set(['candidates', 'providers-find']);

const check = checkOfProtocol({ ...placementApiAnswers, declined: gatewayMessages.declined });
type Answer = PlacementApiAnswer | Declined;

const checkQuestion = checkOfProtocol({ ...placementApiMessages, ...transactionMessages });

/** Whether a question is right as this version has it. A part of it may be a caller's own, such as a name that is too long. */
function isRight(question: object): boolean {
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
  const pending = new Map<number, Put>();
  /** All that is asked: of what nobody heard, and is to be put again, no number is pending. */
  const unanswered = new Set<Pending>();
  /** The numbers of what travelled together, by where it is told that nobody heard it. */
  const byUnheard = new Map<string, Set<number>>();
  let asks = asksFrom(clock.now());
  let isStopped = false;

  function answered(answer: Answer): void {
    const known = pending.get(answer.ask);
    if (known === undefined) return;
    const { waiting, parts } = known;
    if (answer.type === 'declined') {
      // Of those that it was put under before one may still be in line there.
      if (answer.code === 'overloaded' && waiting.asks.length > 1) return forget(waiting, answer.ask);
      settle(waiting);
      const { to, question } = waiting;
      const isUnknown = answer.code === 'malformed' && isRight({ ask: answer.ask, ...question });
      return waiting.reject(isUnknown ? unknownTo(`'${to}'`) : declinedBy(to, answer));
    }
    parts.push(answer.text);
    if (parts.length < answer.parts) return;
    settle(waiting);
    waiting.resolve(JSON.parse(parts.join('')) as ApiOutcome);
  }

  /** By that number nothing more is heard. */
  function forget({ asks: numbers }: Pending, ask: number): void {
    numbers.splice(numbers.indexOf(ask), 1);
    take(ask);
  }

  function take(ask: number): void {
    const { unheardOn = '' } = pending.get(ask) ?? {};
    pending.delete(ask);
    const others = byUnheard.get(unheardOn);
    if (others?.delete(ask) === true && others.size === 0) byUnheard.delete(unheardOn);
  }

  function settle(waiting: Pending): void {
    unanswered.delete(waiting);
    for (const ask of waiting.asks) take(ask);
    waiting.deadline.cancel();
    waiting.again?.cancel();
  }

  function put(waiting: Pending): void {
    asks += 1;
    const ask = asks;
    const put: Put = { waiting, parts: [] };
    waiting.asks.push(ask);
    pending.set(ask, put);
    const again = waiting.first !== null && TAKES_LONG.has(waiting.question.type) ? { again: waiting.first } : {};
    waiting.first ??= ask;
    outbox.send(address, waiting.to, { ask, ...again, ...waiting.question }, (unheardOn) => {
      put.unheardOn = unheardOn;
      if (!pending.has(ask)) return;
      const others = byUnheard.get(unheardOn);
      if (others === undefined) byUnheard.set(unheardOn, new Set([ask]));
      else others.add(ask);
    });
  }

  /** It came to nobody, and was not done: a change, too, is put to whoever listens by then. */
  function unheard(subject: string): void {
    for (const ask of byUnheard.get(subject) ?? []) {
      const { waiting } = pending.get(ask) as Put;
      forget(waiting, ask);
      waiting.again?.cancel();
      putAgain(waiting, waiting.pauseMs);
      waiting.pauseMs = Math.min(waiting.pauseMs * 2, MOST_PAUSE_MS);
    }
  }

  function putAgain(waiting: Pending, afterMs: number): void {
    waiting.again = clock.after(afterMs, () => {
      put(waiting);
      putAgainUnanswered(waiting, Math.max(AGAIN_AFTER_MS, 2 * afterMs));
    });
  }

  function putAgainUnanswered(waiting: Pending, afterMs: number): void {
    if (CHANGES_NOTHING.has(waiting.question.type)) putAgain(waiting, afterMs);
  }

  const nobody = bus.subscribe(subjects.unheard(address, '>'), () => {}, { onUnheard: unheard });

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
      return new Promise((resolve, reject) => {
        const limitMs = Math.min(timeoutMs, withinMs);
        const deadline = clock.after(limitMs, () => {
          settle(waiting);
          reject(new TimeoutError('placement', limitMs));
        });
        const to = placementAddress(shard);
        const waiting: Pending = {
          to,
          question,
          asks: [],
          first: null,
          deadline,
          again: undefined,
          pauseMs: FIRST_PAUSE_MS,
          resolve,
          reject,
        };
        unanswered.add(waiting);
        put(waiting);
        putAgainUnanswered(waiting, AGAIN_AFTER_MS);
      });
    },
    stop() {
      if (isStopped) return;
      isStopped = true;
      subscription.unsubscribe();
      nobody.unsubscribe();
      for (const waiting of unanswered) {
        settle(waiting);
        waiting.reject(closed());
      }
    },
  };
}
