// What first claims came to, for whoever asks: what is held, where it is held; and taking such a claim back.

import type { Address } from '../actor.ts';
import type { Locate, Located, Recall, Unclaim } from '../messages/placement.ts';
import { type Groups, ruleOf, someMembers } from './groups.ts';
import { homesOf, rootsOf } from './tree-conditions.ts';
import { grant, usagesOf } from './usages.ts';
import { commit, type ShardWork, tell } from './work.ts';

export function recall(work: ShardWork, asked: Recall, from: Address): void {
  const { state, turn } = work;
  const { consumer: id, attempt, order, expiresAt } = asked;
  const consumer = state.consumers.holding.get(id);
  const held = consumer?.held.find((one) => one.attempt === attempt);
  if (held !== undefined) {
    if (order === undefined) commit(work, { type: 'read' });
    else if ((consumer?.order ?? -1) < order) commit(work, { type: 'adopted', consumer: id, order });
    return grant(state, asked, held.allocations, from, turn);
  }
  if (order === undefined) {
    commit(work, { type: 'nothing-held', consumer: id });
    return turn.send(from, { type: 'nothing-held', consumer: id, attempt });
  }
  // The attempt was granted here, and the instance has gone on since: whoever still asks is obsolete. Told that nothing is
  // held it would claim elsewhere, and there would be two homes.
  const wasRefused = consumer?.latest === attempt && consumer.refusal !== null;
  if (consumer !== undefined && consumer.latest >= attempt && !wasRefused) return;
  const isNews = (state.fences.get(id)?.order ?? -1) < order && !state.consumers.deleted.has(id);
  if (isNews) commit(work, { type: 'fenced', consumer: id, order, until: expiresAt ?? turn.now, refusal: null });
  turn.send(from, { type: 'nothing-held', consumer: id, attempt, order });
}

/**
 * Takes a first claim back, unless somebody has come to know of it since, or has claimed anew: then it is not the asker's
 * any more.
 */
export function unclaim(work: ShardWork, asked: Unclaim, from: Address): void {
  const { state, turn } = work;
  const { consumer: id, attempt, order, expiresAt } = asked;
  const { consumers, fences, providers } = state;
  const consumer = consumers.holding.get(id);
  const held = consumer?.held.find((one) => one.attempt === attempt)?.allocations ?? [];
  const provider = held[0]?.provider;
  const root = providers.get(provider ?? '')?.root;
  const isOver = consumer !== undefined && (consumer.latest !== attempt || (consumer.order ?? -1) > order);
  const isKnown = consumer === undefined && (fences.get(id)?.order ?? -1) >= order;
  if (isOver || isKnown || consumers.deleted.has(id)) {
    // Nothing changes; but a shard that was superseded, which knows too little, cannot record it, and its word is lost.
    commit(work, { type: 'read' });
  } else {
    commit(work, { type: 'unclaimed', consumer: id, order, until: expiresAt });
    if (provider !== undefined) tell(turn, provider, 'released', { consumer: id, attempt, deleted: false });
  }
  turn.send(from, { type: 'unclaimed', consumer: id, order, usages: usagesOf(state, held, root) });
}

export function locate(work: ShardWork, asked: Locate, from: Address): void {
  const { state, shard, turn } = work;
  const { consumers, providers, groups } = state;
  const told = [...new Set(asked.consumers)]
    .map((consumer) => {
      const roots = [...rootsOf(consumer, consumers, providers)];
      const homes = [...homesOf(consumer, consumers, providers)];
      return homes.length === roots.length ? { consumer, roots } : { consumer, roots, homes };
    })
    .filter(({ roots }) => roots.length > 0);
  // As elsewhere: what a superseded shard says of where somebody is not is lost.
  commit(work, { type: 'read' });
  const ofGroup = asked.group === undefined ? {} : toldOf(groups, asked.group);
  turn.send(from, { type: 'located', ask: asked.ask, shard, consumers: told, ...ofGroup });
}

function toldOf(groups: Groups, group: string): Partial<Pick<Located, 'members' | 'rule'>> {
  const members = someMembers(groups, group);
  const known = groups.known.get(group);
  return known === undefined ? { members } : { members, rule: ruleOf(known.rule) };
}
