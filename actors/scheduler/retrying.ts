// Going on with what is under way: what is not answered is said again, and what waited to know more is looked at again.

import type { GroupKnown, Located } from '../messages/placement.ts';
import { noLongerBehind } from './awaited-claims.ts';
import { rankedFor } from './awaited-ranking.ts';
import { goOnBeginning, rank, recall } from './choosing.ts';
import { claim } from './claiming.ts';
import { membersTold } from './explaining/group-held.ts';
import { isForming, isWarmingUp } from './following.ts';
import { sayUnclaims } from './giving-back.ts';
import { placeInLine } from './in-line.ts';
import { endLocating, learnLocated, locate } from './locating.ts';
import { locatedForParked } from './parking-others.ts';
import { locatedForQuestion } from './questioning.ts';
import { forgiveRefusals } from './rivals.ts';
import { shardsUnheard, take } from './rounds.ts';
import { armAgain, close, isOpen, tellSelecting } from './selecting.ts';
import type { Open, Work } from './state.ts';

/** Says again what is not answered, unless the asker has given up. */
export function sayAgain(work: Work, key: string): void {
  const { state, turn } = work;
  const open = state.open.get(key);
  if (open === undefined) return;
  if (turn.steady >= open.endsAt) return close(work, open);
  open.repeats += 1;
  const unheard = shardsUnheard(work, open);
  // A second round would have to know from each shard that the first was granted nothing there.
  if (isWarmingUp(work) || state.awaitingRanking.has(key)) tellSelecting(work, open);
  // Of others' claims, too, some may not be answered for long: one that waits for them since before it was last said
  // again waits no longer.
  if (open.behind !== null && open.repeats > open.behind.repeats + 1) open.behind = { ...open.behind, upTo: 0 };
  if (open.locating !== null) locate(work, open);
  if (!open.taken) take(work, open);
  if (open.givingBack !== null) sayUnclaims(work, open);
  for (const instance of [...open.waiting]) {
    const value = open.machines.get(instance)?.value;
    if (value === 'ranking') rank(work, open, instance);
    else if (value === 'claiming') {
      insistLess(open, instance);
      claim(work, open, instance);
    } else if (value === 'recalling' && open.gathering?.has(instance) !== true) recall(work, open, instance);
    if (!isOpen(work, open)) return;
  }
  if (endLocating(work, open)) goOnWithAll(work, open);
  if (!isOpen(work, open)) return;
  tellAwaiting(work, open, unheard);
  armAgain(work, open);
}

/** Tells whoever asked which placement shards have not answered, or that all have now: should it come to no end, they are why. */
function tellAwaiting(work: Work, open: Open, shards: readonly number[]): void {
  const { request, round } = open.asked;
  if (shards.length === 0 && !open.toldAwaiting) return;
  open.toldAwaiting = shards.length > 0;
  work.turn.send(open.from, { type: 'awaiting', request, round, shards: [...shards] });
}

/**
 * A first member of a group that wishes to keep together waits for another placement shard's word, which may not come: a
 * wish is not waited for twice.
 */
function insistLess({ groupKnown }: Open, instance: string): void {
  const { isFirst, ...known } = groupKnown.get(instance) ?? {};
  if (isFirst === true) groupKnown.set(instance, known as GroupKnown);
}

/** Placement has told where other instances are. */
export function located(work: Work, message: Located): void {
  const { state } = work;
  if (membersTold(work, message) || locatedForQuestion(work, message) || locatedForParked(work, message)) return;
  const open = state.open.get(state.locating.get(message.ask) ?? '');
  if (open !== undefined && learnLocated(work, open, message)) goOnWithAll(work, open);
}

function goOnWithAll(work: Work, open: Open): void {
  for (const instance of open.asked.instances) {
    if (!isOpen(work, open) || open.failing) return;
    goOn(work, open, instance);
  }
}

/** Instances for which no host was known look again, now that more is: those that wait as they stand in line. */
export function lookAgain(work: Work): void {
  const { state } = work;
  state.isForming &&= isForming(work);
  if (state.isForming || state.unplaced.size === 0) return;
  const placeOf = (key: string) => placeInLine(state.open.get(key)?.asked ?? {});
  const inLine = [...state.unplaced].sort((one, other) => placeOf(one) - placeOf(other));
  state.unplaced.clear();
  forEachIn(work, new Set(inLine), (open, instance, value) => {
    if (value === 'ranking') rank(work, open, instance);
  });
}

/** More hosts are ranked for those who wait for that: they go on once all are. */
export function rankFurther(work: Work): void {
  for (const open of rankedFor(work)) {
    goOnWithAll(work, open);
    goOnBeginning(work, open.key);
  }
}

/** Hosts that were hard to tell have been searched: those who wait for that look again. */
export function searchedFor(work: Work): void {
  forEachIn(work, work.state.awaitingSearch, (open, instance) => goOn(work, open, instance));
}

/** Claims of others are answered: those who wait for that look again. */
export function lookBehind(work: Work): void {
  if (work.state.awaitingClaims.size > 0)
    forEachIn(work, noLongerBehind(work), (open, instance) => goOn(work, open, instance));
}

/** What others held has come free by now, or has not: one that waited for that looks once more. */
export function lookAfterRivals(work: Work, key: string): void {
  forEachIn(work, new Set([key]), (open, instance, value) => {
    if (value === 'recalling') forgiveRefusals(open, instance);
    goOn(work, open, instance);
  });
}

/** What had to wait for it goes on: a host is chosen, or placement says once more that it holds nothing. */
function goOn(work: Work, open: Open, instance: string): void {
  const value = open.machines.get(instance)?.value;
  if (value === 'ranking') rank(work, open, instance);
  else if (value === 'recalling') recall(work, open, instance);
}

/** Takes all requests out of a set, and goes through the instances of those that are open. */
function forEachIn(
  work: Work,
  requests: Set<string>,
  visit: (open: Open, instance: string, value: unknown) => void,
): void {
  const taken = [...requests];
  requests.clear();
  for (const key of taken) {
    const open = work.state.open.get(key);
    if (open === undefined) continue;
    for (const instance of open.asked.instances) {
      if (!isOpen(work, open)) break;
      visit(open, instance, open.machines.get(instance)?.value);
    }
  }
}
