// Several placement shards as one authority: what the handlers ask goes to the shards that it is about, and comes back as
// one shard would answer it. Whatever a shard does not answer is an error, never half of an answer.

import type { Authority, Question } from '../authority.ts';
import { type Outcome, type ShardsOptions, shardsOf } from './asking.ts';
import { findCandidates } from './candidates.ts';
import { consumersOf } from './consumers.ts';
import { placesOf } from './locating.ts';
import { knowingly, namesOf } from './names.ts';
import { providersOf } from './providers.ts';
import { showConsumer, showUsages } from './standing.ts';

export function shardedAuthority(options: ShardsOptions): Authority {
  const shards = shardsOf(options);
  const places = placesOf(shards);
  const names = namesOf(shards);
  const providers = providersOf(shards, places, names);
  const consumers = consumersOf(shards, places, names);

  function decide(question: Question): Promise<Outcome<unknown>> {
    switch (question.type) {
      case 'provider-show':
      case 'provider-allocations':
      case 'provider-delete':
      case 'aggregates-put':
        return places.askAt(question.id, question);
      case 'inventories-put':
      case 'traits-put':
        return knowingly(names, () => places.askAt(question.id, question));
      case 'provider-create':
        return providers.create(question);
      case 'provider-update':
        return providers.update(question);
      case 'providers-find':
        return providers.find(question);
      case 'classes-list':
        return names.classes();
      case 'traits-list':
        return names.traits();
      case 'class-put':
        return names.put('class', question.name);
      case 'trait-put':
        return names.put('trait', question.name);
      case 'class-delete':
        return names.remove('class', question.name);
      case 'trait-delete':
        return names.remove('trait', question.name);
      case 'class-rename':
        return names.rename(question);
      case 'allocations-put':
        return consumers.put(question.consumers);
      case 'allocations-delete':
        return consumers.remove(question.consumer);
      case 'reshape':
        return consumers.reshape(question);
      case 'consumer-show':
        return showConsumer(shards, question.consumer);
      case 'usages':
        return showUsages(shards, question);
      case 'candidates':
        return findCandidates(shards, names, question);
      default:
        throw new Error(`'${question.type}' is asked of shards one by one`);
    }
  }

  return {
    async ask(question, shard) {
      if (shard !== undefined) return options.authority.ask(question, shard);
      return await decide(question);
    },
    stop: () => options.authority.stop(),
  };
}
