// The end of a request that has no host: it is parked, if it may wait, or else the asker is told. Either way it is said why,
// see why-failed.ts, once it is known what would have let it fit.

import type { Advice } from '../messages/advice.ts';
import { MAX_ROOMS_NAMED, type RoomForSome } from '../messages/decision.ts';
import { noteRefusedOfOthers } from './decision.ts';
import { isToldOfLate, surveyFor } from './explaining/surveying.ts';
import { giveAllBack } from './giving-back.ts';
import { GROUP_CONFLICT } from './group-rules.ts';
import { isBehindOthers, keepPlace, mayWait } from './lots.ts';
import { park, type WhyParked } from './parking.ts';
import { isOrdered } from './rounds.ts';
import { close, contextOf, draftOf, isOpen, settleRest, tellSelecting } from './selecting.ts';
import type { Found, Open, Work } from './state.ts';
import { expectNoMore } from './view/view-hosts.ts';
import { type Failed, whyFailed } from './why-failed.ts';

/** How long before its time is over a request is answered, ms, though it be not known what would have let it fit. */
const ANSWER_BEFORE_MS = 1_000;

/** One instance has no host, so the request has none. What was claimed for the others is the asker's to give back. */
export function fail(work: Work, open: Open, instance: string): void {
  if (open.failing) return;
  open.failing = true;
  const { request, round, instances } = open.asked;
  // Those that only join the line are many, and are asked for again and again: they need not wait until it is known why.
  const isInLine = mayWait(open) && isBehindOthers(work, open);
  if (mayWait(open)) keepPlace(work, open);
  explainFailure(work, open, instance, isInLine, (now, reason, decision, isBrief) => {
    if (mayWait(open)) return parkWithNothing(now, open, { reason, decision, isBrief });
    for (const one of instances) expectNoMore(now.state.view, one);
    close(now, open);
    now.turn.send(open.from, { type: 'no-valid-host', request, round, reason, decision });
  });
}

/** What some of its instances have is given back first: nothing is held for a request that waits. */
function parkWithNothing(work: Work, open: Open, why: WhyParked): void {
  const wait = (now: Work) => {
    close(now, open);
    park(now, open, why);
  };
  keepPlace(work, open);
  if (isOrdered(work, open)) giveAllBack(work, open, wait);
  else wait(work);
}

/**
 * Answers why there is no host for an instance, once it is known what would have let the request fit.
 * @param isInLine Others like it wait already: where that takes more than this turn, it is parked, and told afterwards.
 */
function explainFailure(
  work: Work,
  open: Open,
  instance: string,
  isInLine: boolean,
  tell: (work: Work, reason: string, decision: string, isBrief: boolean) => void,
): void {
  const { instances } = open.asked;
  const { request } = open;
  const count = instances.length;
  const given = givenIn(open);
  const which = given === undefined ? '' : whichOf(given);
  const draft = draftOf(open, instance);
  noteRefusedOfOthers(draft, open.drafts.values());
  const failed: Failed = {
    open,
    draft,
    which,
    reason: contextOf(open, instance).reason ?? '',
    draftedAt: work.turn.now,
    revision: work.state.view.revision,
    isOfHosts: open.hopeless === null,
    isConflict: open.hopeless === GROUP_CONFLICT,
  };
  const { since = 0 } = open.asked.waits ?? {};
  const mayBeBrief = mayWait(open) && draft.claimsRefused === 0 && given === undefined;
  const isBrief = mayBeBrief && isToldOfLate(work, request, count, since);
  const answer = (now: Work, found: Found | null) => {
    if (!isOpen(now, open)) return;
    const { reason, decision } = whyFailed(now, failed, found);
    tell(now, reason, decision, mayBeBrief && found === null);
  };
  if (!failed.isOfHosts && !failed.isConflict) return answer(work, null);
  if (given !== undefined) {
    const fewer: Advice = { code: 'fewer-instances', from: count, to: given.instances, hosts: given.hosts };
    return answer(work, { advice: [fewer], room: given });
  }
  if (open.hopeless !== null) settleRest(work, open);
  if (isBrief) return answer(work, null);
  let isParked = false;
  const comes = surveyFor(work, request, count, {
    found: (now, found) => {
      if (!isParked) answer(now, found);
      else if (found !== null) tellParked(now, open, () => whyFailed(now, failed, found));
    },
    underWay: (now) => {
      if (!isParked) tellSelecting(now, open);
    },
    endsAt: open.endsAt,
    mayGather: isInLine,
    answerBy: open.asked.waits === undefined ? open.endsAt - ANSWER_BEFORE_MS : null,
  });
  // While it is found out why, room that comes free goes to others: one that waits for room has no time to wait for that.
  isParked = mayWait(open) && (comes === 'later' || (comes === 'begun' && isInLine));
  if (isParked) answer(work, null);
}

/** What has been found out of a request since it was parked, if it still is. */
function tellParked(work: Work, { key, asked, from }: Open, why: () => { reason: string; decision: string }): void {
  const { byRequest, hopeful } = work.state.parking;
  const { request, round } = asked;
  const parked = byRequest.get(key);
  if (parked?.asked.round !== round) return;
  const hasRoom = parked.lot.kind !== null && hopeful.has(parked.lot.kind) ? { hasRoom: true as const } : {};
  work.turn.send(from, { type: 'parked', request, round, ...why(), ...hasRoom });
}

/** The hosts that some of its instances have been given, if any have. */
function givenIn({ asked: { instances }, machines, waiting }: Open): RoomForSome | undefined {
  const given = new Map<string, { cell: string; host: string; instances: number }>();
  for (const instance of instances) {
    const candidate = machines.get(instance)?.context.candidate ?? null;
    if (candidate === null || waiting.has(instance)) continue;
    const { provider, cell, host } = candidate;
    const one = given.get(provider) ?? { cell, host, instances: 0 };
    one.instances += 1;
    given.set(provider, one);
  }
  if (given.size === 0) return undefined;
  const named = [...given.values()].sort((one, other) => other.instances - one.instances).slice(0, MAX_ROOMS_NAMED);
  return { instances: instances.length - waiting.size, of: instances.length, hosts: given.size, named };
}

/** Said before the reason, where some of its instances have a host. */
function whichOf({ instances, of }: RoomForSome): string {
  const hosts = instances === 1 ? 'a host, which is' : 'hosts, which are';
  return `only ${instances} of ${of} instances had been given ${hosts} counted as used here: `;
}
