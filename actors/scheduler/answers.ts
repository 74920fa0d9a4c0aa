// How the answer to a request is put into messages, none of them larger than a message may be.

import type { Selected } from './state.ts';

/** The most allocations in one answer; each takes some hundred bytes, and a message a megabyte at most. */
const MAX_ALLOCATIONS_TOLD = 1_000;
/** The record of a decision takes as much room in an answer as an allocation for each so many of its characters. */
const CHARACTERS_AS_ALLOCATION = 200;

/**
 * The selections of a request, in as many messages as it takes: with their alternates those of a large request are more
 * than one message may carry. Of one that is lost, the asker asks again.
 */
export function inMessages(selections: readonly Selected[]): Selected[][] {
  const messages: Selected[][] = [];
  let room = 0;
  for (const one of selections) {
    const allocations = [one.selection, ...one.alternates].reduce(
      (sum, { allocations = [] }) => sum + Math.max(1, allocations.length),
      Math.ceil(one.decision.length / CHARACTERS_AS_ALLOCATION),
    );
    if (messages.length === 0 || allocations > room) {
      messages.push([]);
      room = MAX_ALLOCATIONS_TOLD;
    }
    messages.at(-1)?.push(one);
    room -= allocations;
  }
  return messages;
}
