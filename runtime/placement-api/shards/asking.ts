// Asks the placement shards of a deployment: one, or all of them, so that what they say fits together; and has them change
// together.

import { randomUUID } from 'node:crypto';
import type { ApiRefusal } from '../../../actors/messages/placement-api.ts';
import type { Part } from '../../../actors/messages/transactions.ts';
import type { Clock } from '../../clock.ts';
import { CellwrightError, TimeoutError } from '../../errors.ts';
import type { Authority, Question } from '../authority.ts';

export type Outcome<Content> =
  | { readonly ok: Content; readonly seen?: string; readonly refused?: undefined }
  | { readonly ok?: undefined; readonly seen?: undefined; readonly refused: ApiRefusal };

/** What all shards said. @throws Error when one refused: none of them may. */
export function contents<Content>(outcomes: readonly Outcome<Content>[]): Content[] {
  return outcomes.map(({ ok, refused }) => {
    if (refused !== undefined) throw new Error(refused.message);
    return ok;
  });
}

export interface Shards {
  readonly count: number;
  readonly every: readonly number[];
  /** @throws TimeoutError that names the shard; CellwrightError when it declines. */
  ask<Content>(question: Question, shard: number): Promise<Outcome<Content>>;
  /** What each shard says, each for itself. @throws what `ask` throws: without one of them there is no answer. */
  all<Content>(question: Question): Promise<Outcome<Content>[]>;
  /** The same, and of no change over several shards it shows a part. */
  whole<Content>(question: Question): Promise<Outcome<Content>[]>;
  /**
   * Changes several shards at one moment, or none.
   * @throws CellwrightError `not-decided` when a shard was away for too long: then nothing was changed.
   */
  together(parts: readonly Part[]): Promise<Outcome<null>>;
  /** Until when a request that begins now may take, by the clock that nobody sets, ms. */
  deadline(): number;
  /** @throws TimeoutError when it is past a deadline. */
  checkTime(deadline: number, what: string): void;
}

export interface ShardsOptions {
  readonly authority: Authority;
  readonly count: number;
  readonly clock: Clock;
  /** How long a request may take, ms. */
  readonly timeoutMs: number;
}

/** How much of its time a change may wait for shards: then who asked still hears what came of it. */
const SHARE_OF_DECISION = 0.8;

export function shardsOf({ authority, count, clock, timeoutMs }: ShardsOptions): Shards {
  const every = Array.from({ length: count }, (_, shard) => shard);
  const withinMs = Math.max(1, Math.round(timeoutMs * SHARE_OF_DECISION));

  async function ask<Content>(question: Question, shard: number): Promise<Outcome<Content>> {
    try {
      return (await authority.ask(question, shard)) as Outcome<Content>;
    } catch (error) {
      throw error instanceof TimeoutError ? new TimeoutError(`'placement/${shard}'`, timeoutMs) : error;
    }
  }

  const all = <Content>(question: Question) => Promise.all(every.map((shard) => ask<Content>(question, shard)));

  const checkTime = (deadline: number, what: string) => {
    if (clock.monotonic() >= deadline) throw new TimeoutError(what, timeoutMs);
  };

  return {
    count,
    every,
    ask,
    all,
    deadline: () => clock.monotonic() + timeoutMs,
    checkTime,
    async whole<Content>(question: Question) {
      const deadline = clock.monotonic() + timeoutMs;
      let before = await all<Content>(question);
      // One shard may have been asked before a change and another after it; when nothing was changed lately, none was.
      if (before.every(({ seen }) => seen === undefined)) return before;
      for (;;) {
        const now = await all<Content>(question);
        if (now.every(({ seen }, shard) => seen === before[shard]?.seen)) return now;
        checkTime(deadline, 'what changes over several shards');
        before = now;
      }
    },
    async together(parts) {
      const coordinator = Math.min(...parts.map(({ shard }) => shard));
      const outcome = await ask<null>(
        { type: 'change-together', key: randomUUID(), parts: [...parts], brief: true, withinMs },
        coordinator,
      );
      if (outcome.refused?.code !== 'not-decided') return outcome;
      throw new CellwrightError('not-decided', `nothing was changed: ${outcome.refused.message}`, { retryable: true });
    },
  };
}
