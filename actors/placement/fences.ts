// First claims that are void. With several shards, a claimant that was refused here goes on to another shard, and one
// that takes over from a dead one first asks all shards what is held; a claim that comes late after either would give the
// consumer a second home. So a shard that refuses a first claim, or is asked, notes up to which order claims are void. It
// is noted for as long as such a claim may come; what the consumer holds here says as much by itself.

import type { Claim, Refusal } from '../messages/placement.ts';
import { Table } from '../table.ts';

export interface Fence {
  /** Claims of this order and of earlier ones are void. */
  readonly order: number;
  /** Until when such claims may come, ms since the epoch. */
  readonly until: number;
  /** How the claim of this very order was refused; null when there was none. */
  readonly refusal: Refusal | null;
}

/** By consumer. Where many first claims are refused there are hundreds of thousands. */
export type Fences = Table<Fence>;

export function noFences(): Fences {
  return new Table((fence, consumer) => [consumer, fence]);
}

/** Why a claim is void, or null. A claim that was refused before is refused as it was. */
export function refusalByFence(fences: Fences, { consumer, attempt, order }: Claim): Refusal | null {
  const fence = fences.get(consumer);
  if (fence === undefined || order === undefined || order > fence.order) return null;
  if (order === fence.order && fence.refusal !== null) return fence.refusal;
  const message = `attempt ${attempt} of '${consumer}' was claimed before what was decided since`;
  return { code: 'superseded', message };
}

/** Forgets what no claim can come for any more. */
export function forgetFences(fences: Fences, before: number): void {
  for (const consumer of outlived(fences, before)) fences.delete(consumer);
}

export function hasOutlived(fences: Fences, before: number): boolean {
  return outlived(fences, before).length > 0;
}

function outlived(fences: Fences, before: number): string[] {
  const found: string[] = [];
  // Of so many, ten times as fast as one after the other.
  fences.forEach(({ until }, consumer) => {
    if (until < before) found.push(consumer);
  });
  return found;
}
