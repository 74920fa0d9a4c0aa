// Finding out where the instances are that a request wants to be with, or apart from: every shard of placement is asked,
// since any may hold something for them. The request waits for all answers.

import type { Located } from '../messages/placement.ts';
import { placementAddress } from '../routing.ts';
import type { Company } from './request.ts';
import type { Open, Work } from './state.ts';

/** A question that is under way. */
export interface Locating {
  readonly ask: number;
  /** Shards that have not answered. */
  readonly waiting: Set<number>;
  /** The roots where each consumer holds something, as far as was told. */
  readonly roots: Map<string, Set<string>>;
}

/** Whether a request must know where other instances are before a host can be chosen for it. */
export function needsCompany({ asked }: Pick<Open, 'asked'>): boolean {
  const { heldBy, notHeldBy } = asked.spec.tree ?? {};
  return heldBy !== undefined || notHeldBy !== undefined;
}

/** Asks, or asks again those who have not answered. */
export function locate({ state, turn }: Work, open: Open): void {
  if (open.locating === null) {
    state.asks += 1;
    const shards = [...state.followers.keys()].filter((feed) => feed.startsWith('placement '));
    const waiting = new Set(shards.map((feed) => Number(feed.slice('placement '.length))));
    open.locating = { ask: state.asks, waiting, roots: new Map() };
    state.locating.set(state.asks, open.asked.request);
  }
  const { heldBy = [], notHeldBy = [] } = open.asked.spec.tree ?? {};
  const consumers = [...new Set([...heldBy, ...notHeldBy])];
  for (const shard of open.locating.waiting) {
    turn.send(placementAddress(shard), { type: 'locate', ask: open.locating.ask, consumers });
  }
}

/** Takes an answer; true when it was the last, and the request knows where everybody is. */
export function learnLocated(open: Open, { ask, shard, consumers }: Located): boolean {
  const { locating } = open;
  if (locating?.ask !== ask || !locating.waiting.delete(shard)) return false;
  for (const { consumer, roots } of consumers) {
    const known = locating.roots.get(consumer) ?? new Set();
    for (const root of roots) known.add(root);
    locating.roots.set(consumer, known);
  }
  if (locating.waiting.size > 0) return false;
  open.request = { ...open.request, company: companyOf(open, locating.roots) };
  open.locating = null;
  return true;
}

function companyOf({ asked }: Open, roots: Locating['roots']): Company {
  const { heldBy, notHeldBy = [] } = asked.spec.tree ?? {};
  const all = (consumers: readonly string[]) => new Set(consumers.flatMap((one) => [...(roots.get(one) ?? [])]));
  return { far: all(notHeldBy), ...(heldBy === undefined ? {} : { near: all(heldBy) }) };
}
