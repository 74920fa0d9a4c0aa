// Finds the shard of a provider. A tree is with the shard that its root's id was dealt to when it was made; what is below
// the root, and what was a child once, may be with any.

import { placementShardOf } from '../../../actors/routing.ts';
import type { Question } from '../authority.ts';
import type { Outcome, Shards } from './asking.ts';

/** Places that are remembered; with more, it is begun anew. */
const MAX_KNOWN = 200_000;

export interface Places {
  /** Null: there is no such provider. */
  find(id: string): Promise<number | null>;
  /** It may be elsewhere by now. */
  forget(id: string): void;
  /** Asks the shard of a provider; any, when there is no such provider. */
  askAt<Content>(id: string, question: Question): Promise<Outcome<Content>>;
}

export function placesOf(shards: Shards): Places {
  const known = new Map<string, number>();

  function learn(id: string, shard: number): number {
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(id, shard);
    return shard;
  }

  async function search(id: string): Promise<number | null> {
    const look = async () => {
      const outcomes = await shards.all({ type: 'provider-show', id });
      return outcomes.findIndex(({ refused }) => refused === undefined);
    };
    let shard = await look();
    // It may have gone from one that was asked late to one that was asked early.
    if (shard < 0) shard = await look();
    return shard < 0 ? null : learn(id, shard);
  }

  return {
    async find(id) {
      return known.get(id) ?? search(id);
    },
    forget: (id) => known.delete(id),
    async askAt<Content>(id: string, question: Question) {
      const guess = known.get(id) ?? placementShardOf(id, shards.count);
      const outcome = await shards.ask<Content>(question, guess);
      if (outcome.refused?.code !== 'no-provider') {
        if (question.type === 'provider-delete') known.delete(id);
        else learn(id, guess);
        return outcome;
      }
      known.delete(id);
      const shard = await search(id);
      return shard === null ? outcome : shards.ask<Content>(question, shard);
    },
  };
}
