// The end of a request whose instances all have a host: what was chosen, with alternates and the records of the decisions.

import type { Selection } from '../../machines/instance-build.ts';
import type { Address } from '../actor.ts';
import { inShort } from '../allocations.ts';
import { alternatesFor } from './alternates.ts';
import { decided, noteFurther } from './decision.ts';
import { type FurtherHosts, furtherHosts } from './explaining/further-hosts.ts';
import { close, contextOf, draftOf } from './selecting.ts';
import type { Open, Selected, Telling, Work } from './state.ts';

/** The most allocations in one answer; each takes some hundred bytes, and a message a megabyte at most. */
const MAX_ALLOCATIONS_TOLD = 1_000;
/** The record of a decision takes as much room in an answer as an allocation for each so many of its characters. */
const CHARACTERS_AS_ALLOCATION = 200;
/** Within which a request that may wait has a host at once, as one that may not. */
const AT_ONCE_MS = 1_000;
/** How many messages one turn tells: to write one takes some milliseconds, and others are to be served in between. */
const MESSAGES_A_TURN = 4;

export const TELL_WAKE = 'tell';

/** A host is claimed for an instance; when that is so of all, the asker is told them, with alternates and records. */
export function finish(work: Work, open: Open, instance: string): void {
  open.waiting.delete(instance);
  if (open.waiting.size > 0) return;
  const { request, round, spec, instances, alternates: wanted } = open.asked;
  const chosen = instances.map((one) => contextOf(open, one).candidate as Selection);
  const alternates = alternatesFor(work.state, open.request, chosen, wanted);
  const further = furtherHosts(work.state, open.request, chosen, alternates, wanted);
  const waitedSince = waitedSinceIn(work, open);
  for (const [position, one] of instances.entries()) {
    const draft = draftOf(open, one);
    noteFurther(draft, further[position] as FurtherHosts);
    draft.waitedSince = waitedSince;
  }
  const selections = instances.map((one, position) => ({
    instance: one,
    selection: inShort(spec, chosen[position] as Selection),
    alternates: (alternates[position] as Selection[]).map((alternate) => inShort(spec, alternate)),
    decision: decided(
      draftOf(open, one),
      work.turn.now,
      work.state.rankings.salt,
      chosen[position] as Selection,
      alternates[position] as Selection[],
      wanted,
    ),
  }));
  tell(work, { to: open.from, request, round, left: inMessages(selections) });
  close(work, open);
}

/** Since when a request has waited for a host, unless it had one at once. */
function waitedSinceIn({ turn }: Work, { asked: { waits } }: Open): number | undefined {
  return waits !== undefined && turn.now - waits.since >= AT_ONCE_MS ? waits.since : undefined;
}

/** Goes on telling the selections of a large request; of several such requests each is told of in turn. */
export function goOnTelling(work: Work): void {
  const next = work.state.telling.shift();
  if (next !== undefined) tell(work, next);
}

/** Of a request that is asked for in another round the rest of what was chosen in this one is told nobody. */
export function tellNoMore({ state: { telling } }: Work, from: Address, request: string): void {
  const at = telling.findIndex((one) => one.to === from && one.request === request);
  if (at !== -1) telling.splice(at, 1);
}

function tell({ state, turn }: Work, telling: Telling): void {
  const { to, request, round, left } = telling;
  for (const selections of left.slice(0, MESSAGES_A_TURN)) {
    turn.send(to, { type: 'selected', request, round, selections: [...selections] });
  }
  if (left.length > MESSAGES_A_TURN) state.telling.push({ ...telling, left: left.slice(MESSAGES_A_TURN) });
  if (state.telling.length > 0) turn.wakeAfter(TELL_WAKE, 0);
}

/**
 * The selections of a request, in as many messages as it takes: with their alternates those of a large request are more
 * than one message may carry. Of one that is lost, the asker asks again.
 */
function inMessages(selections: readonly Selected[]): Selected[][] {
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
