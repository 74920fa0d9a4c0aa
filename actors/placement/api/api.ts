// Takes what callers of the Placement API ask of a shard, in the shard's own turns: decides it, records what changes,
// and answers with how things stand then.

import type { Address } from '../../actor.ts';
import type { ApiMessage, ApiOutcome, PlacementApiMessage } from '../../messages/placement-api.ts';
import type { PlacementState } from '../state.ts';
import { commit, type ShardWork } from '../work.ts';
import { deleteAllocations, putAllocations, reshape } from './allocations.ts';
import { answer } from './answer.ts';
import { listSharing } from './candidates/foreign.ts';
import type { Decision } from './decision.ts';
import { look } from './looks.ts';
import { deleteClass, deleteTrait, putClass, putTrait, renameClass } from './names.ts';
import {
  createProvider,
  deleteProvider,
  putAggregates,
  putInventories,
  putTraits,
  updateProvider,
} from './providers.ts';
import {
  listClasses,
  listTraits,
  showConsumer,
  showProvider,
  showProviderAllocations,
  showSubtree,
  showUsages,
} from './reads.ts';

/** What is not looked for in steps. */
type AtOnce = Exclude<PlacementApiMessage, ApiMessage<'candidates' | 'providers-find'>>;

export function takeApi(work: ShardWork, message: PlacementApiMessage, from: Address): void {
  if (message.type === 'candidates' || message.type === 'providers-find')
    return look(work.state, message, from, work.turn);
  answer(from, message.ask, outcomeOf(work, message), work.turn);
}

function outcomeOf(work: ShardWork, message: AtOnce): ApiOutcome {
  const decided = decide(work.state, message, work.turn.now);
  if (!('answer' in decided)) return decided;
  // What changes nothing is recorded too: a shard that was superseded cannot, and neither confirms nor refuses anything.
  commit(work, decided.record ?? { type: 'read' });
  return decided.answer();
}

export function decide(state: PlacementState, message: AtOnce, now: number): Decision | ApiOutcome {
  switch (message.type) {
    case 'provider-create':
      return createProvider(state, message, now);
    case 'provider-update':
      return updateProvider(state, message, now);
    case 'provider-delete':
      return deleteProvider(state, message);
    case 'inventories-put':
      return putInventories(state, message, now);
    case 'traits-put':
      return putTraits(state, message, now);
    case 'aggregates-put':
      return putAggregates(state, message, now);
    case 'class-put':
      return putClass(state, message);
    case 'class-rename':
      return renameClass(state, message);
    case 'class-delete':
      return deleteClass(state, message);
    case 'trait-put':
      return putTrait(state, message);
    case 'trait-delete':
      return deleteTrait(state, message);
    case 'allocations-put':
      return putAllocations(state, message, now);
    case 'allocations-delete':
      return deleteAllocations(state, message, now);
    case 'reshape':
      return reshape(state, message, now);
    case 'provider-show':
      return showProvider(state, message);
    case 'provider-allocations':
      return showProviderAllocations(state, message);
    case 'consumer-show':
      return showConsumer(state, message);
    case 'usages':
      return showUsages(state, message);
    case 'classes-list':
      return listClasses(state);
    case 'traits-list':
      return listTraits(state);
    case 'subtree-show':
      return showSubtree(state, message);
    case 'sharing-list':
      return listSharing(state);
  }
}
