// Rounds of asking, where there are several placement shards. No one shard knows all that is claimed for an instance, so
// its first claims are put in an order that all shards keep to: a round belongs to one scheduler, which claims one host
// after the other; and before the first claim of a later round all shards are asked what earlier ones were granted,
// and grant them nothing any more. With one shard, which decides all claims itself, nothing of this is needed.

import { claimsRefused, MAX_CLAIMS_PER_SELECTION } from '../../machines/selection.ts';
import type { Address } from '../actor.ts';
import { everyPlacement, placementAddress, placementShardOf, shardOf } from '../routing.ts';
import type { Open, Resumed, SelectionSnapshot, Work } from './state.ts';

const FIRST = placementAddress(0);
/** More than the claims that one selection makes. */
const ORDERS_IN_TRY = 2 * MAX_CLAIMS_PER_SELECTION;
/** Ample: who waits is asked for in another round long before. */
const TRIES_IN_ROUND = 1_048_576;
export const FIRST_TRY = 0;

/** A request whose turn has come: with it when its project was served, counted, as a turn that comes to nothing is none. */
export interface InTurn extends Resumed {
  readonly turnOfProject: { readonly before: number; readonly now: number };
}

export function nextTry({ taker, tryNumber, endsAt }: Open): Resumed {
  return { taker, tryNumber: tryNumber + 1, endsAt };
}

/** Asks for the round: what another scheduler claims in another shard would be a second home. */
export function take({ turn }: Work, { asked: { request, round }, from, taker }: Open): void {
  turn.send(from, { type: 'taking', request, round, taker });
}

/** Before the first claim of a round or try that is not the first, all shards are asked what earlier ones were granted. */
export function mustRecall(work: Work, open: Open, instance: string): boolean {
  const { asked, tryNumber, recalls } = open;
  const isFirst = asked.round === 1 && tryNumber === FIRST_TRY;
  return isOrdered(work, open) && !isFirst && !recalls.has(instance);
}

/** Whether the claims of a request are in order: it may have to take some of them back, or no one shard knows of all. */
export function isOrdered({ placementShards }: Work, { asked }: Pick<Open, 'asked'>): boolean {
  return placementShards > 1 || asked.ordered === true;
}

/** A recall comes before the claims of its try, and after those of all earlier ones. */
export function orderOfRecall({ asked: { round }, tryNumber }: Open): number {
  return (round * TRIES_IN_ROUND + Math.min(tryNumber, TRIES_IN_ROUND - 1)) * ORDERS_IN_TRY;
}

/** How late the present claim of an instance comes among all, if they are in order. */
export function orderOfClaim(work: Work, open: Open, instance: string): { order?: number } {
  if (!isOrdered(work, open)) return {};
  const { context } = open.machines.get(instance) as SelectionSnapshot;
  return { order: orderOfRecall(open) + claimsRefused(context) + 1 };
}

/** Whose coming up anew is a reason to say again what is not answered: that of one shard, when there is one. */
export function awaitedOf({ taken, recalls }: Open): Address {
  return taken && recalls.size > 0 ? ([...recalls.values()].flatMap((left) => [...left])[0] ?? FIRST) : FIRST;
}

const inOrder = (shards: Iterable<number>): number[] => [...new Set(shards)].sort((one, other) => one - other);

/** The placement shards without whose word nothing is claimed for an instance. */
export function shardsAwaited({ recalls, locating, heldUnheard }: Open, instance: string): number[] {
  // Placement has said where its home is: the word of a cell is waited for.
  if (heldUnheard.has(instance)) return [];
  return inOrder([...(locating?.waiting ?? []), ...[...(recalls.get(instance) ?? [])].map(shardOf)]);
}

/** The placement shards that have still to answer anything that was said for a request. */
export function shardsUnheard(work: Work, open: Open): number[] {
  const { view, awaitingRanking, awaitingSearch, awaitingClaims } = work.state;
  const claimed = [...open.promised.values()].map(({ provider }) => placementShardOf(provider, view.shards));
  const givingBack = [...(open.givingBack?.left.values() ?? [])].map(({ to }) => shardOf(to));
  const isRecalling = (one: string) => open.machines.get(one)?.value === 'recalling' && !open.heldUnheard.has(one);
  const isAnyRecalling = [...open.waiting].some(isRecalling);
  // One that holds nothing stays in that state while it waits for something else.
  const isAwaiting = [awaitingRanking, awaitingSearch, awaitingClaims].some((awaiting) => awaiting.has(open.key));
  const isElsewhere = isAwaiting || open.gathering !== null;
  const recalled = isOrdered(work, open) || !isAnyRecalling || isElsewhere ? [] : [shardOf(FIRST)];
  const awaited = [...open.waiting].flatMap((instance) => shardsAwaited(open, instance));
  return inOrder([...claimed, ...givingBack, ...recalled, ...awaited]);
}

/**
 * Asks the shards what an earlier ask was granted: one shard whenever it is of interest; of several all, once a try, and
 * those that have not answered again. Answers whether there is nothing to wait for.
 */
export function askAll(work: Work, open: Open, instance: string): boolean {
  const { placementShards, turn } = work;
  if (!isOrdered(work, open)) {
    turn.send(FIRST, { type: 'recall', consumer: instance, attempt: 1 });
    return false;
  }
  if (mustRecall(work, open, instance)) open.recalls.set(instance, new Set(everyPlacement(placementShards)));
  const left = open.recalls.get(instance) ?? [];
  const { expiresAt } = open.asked;
  const order = orderOfRecall(open);
  for (const shard of left) turn.send(shard, { type: 'recall', consumer: instance, attempt: 1, order, expiresAt });
  return [...left].length === 0;
}

/** Takes a shard's word that it holds nothing; true when that was the last. */
export function haveAllSaid(
  work: Work,
  open: Open,
  instance: string,
  order: number | undefined,
  from: Address,
): boolean {
  if (!isOrdered(work, open)) return true;
  const left = open.recalls.get(instance);
  return left !== undefined && order === orderOfRecall(open) && left.delete(from) && left.size === 0;
}
