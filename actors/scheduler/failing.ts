// The end of a request that has no host: it is parked, if it may wait, or else the asker is told. Either way it is said why,
// with what would have let it fit, as far as that is known of the hosts as they stand when it is told.

import { firstListed } from '../count-words.ts';
import { timeOfDay } from '../host-words.ts';
import type { Advice } from '../messages/advice.ts';
import { adviceWords, NO_CHANGE_KNOWN } from '../messages/advice.ts';
import { clipped, MAX_REASON_LENGTH } from '../messages/common.ts';
import { MAX_ROOMS_NAMED, type RefusedClaim, type RoomForSome } from '../messages/decision.ts';
import { placementShardOf } from '../routing.ts';
import { type Draft, decided, noteRefusedOfOthers } from './decision.ts';
import { absentOf, roomWords, whyNoneOf, whyNoneTogether } from './explaining/explain.ts';
import { heldWords } from './explaining/group-held.ts';
import { firstOnNamed, type OnNamed, recordOnNamed } from './explaining/named-obstacles.ts';
import { runsOutWords } from './explaining/running-out.ts';
import { standing } from './explaining/standing.ts';
import { isToldOfLate, surveyFor } from './explaining/surveying.ts';
import { tooLargeWords } from './explaining/too-large.ts';
import { unknownWords } from './explaining/unknown-names.ts';
import { anyAdmits } from './gangs.ts';
import { giveAllBack } from './giving-back.ts';
import { GROUP_CHANGED, GROUP_CONFLICT, keptRuleWords, toldRuleOf } from './group-rules.ts';
import { isBehindOthers, keepPlace, mayWait } from './lots.ts';
import { park, type WhyParked } from './parking.ts';
import { lateFiltersOf } from './ranking/ranking.ts';
import type { Request } from './request.ts';
import { OF_ROOM } from './rivals.ts';
import { isOrdered } from './rounds.ts';
import { close, contextOf, draftOf, isOpen, settleRest, tellSelecting } from './selecting.ts';
import type { Found, Open, Work } from './state.ts';
import { silentAmong } from './view/silence.ts';
import type { View } from './view/view.ts';
import { expectNoMore } from './view/view-hosts.ts';

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
  const reason = contextOf(open, instance).reason ?? '';
  const { now: draftedAt } = work.turn;
  const { revision } = work.state.view;
  const isOfHosts = open.hopeless === null;
  const isConflict = open.hopeless === GROUP_CONFLICT;
  const { since = 0 } = open.asked.waits ?? {};
  const mayBeBrief = mayWait(open) && draft.claimsRefused === 0 && given === undefined;
  const isBrief = mayBeBrief && isToldOfLate(work, request, count, since);
  const why = (now: Work, found: Found | null): { reason: string; decision: string } => {
    const { rankings, view } = now.state;
    const isAsDrafted = view.revision === revision;
    const stands = found?.standing ?? (isAsDrafted ? undefined : standing(now.state, request, count));
    draft.advice = [...(found?.advice ?? []), ...adviceOnRivals(now, open, draft, found)];
    draft.unknown = found?.unknown;
    draft.room = found?.room;
    draft.runsOut = found?.runsOut;
    draft.tooLarge = found?.tooLarge === undefined ? undefined : [...found.tooLarge];
    draft.groupHeld = found?.groupHeld;
    // Of a refusal after which no host would do, its own words come first.
    const isRankedByAll = request.spec.instanceGroup === undefined && lateFiltersOf(rankings, request).length === 0;
    // A survey need not have searched each host to its end.
    const isWhole = stands?.partly !== true;
    const { times = count } = found?.standing ?? {};
    const hasRoomForSome = times > 0 && times < count;
    const isStillSo = isWhole && (hasRoomForSome || (isAsDrafted && draft.ofFitting !== null));
    const saysMore = stands?.fits === 0 ? !isRankedByAll || isWhole : isStillSo;
    // Where a host would do, as far as is known here, the group has changed meanwhile.
    const isOfSurvey = isConflict && found?.standing?.fits === 0;
    const isRenewed = (isOfHosts || isOfSurvey) && stands !== undefined && saysMore;
    const isOfNow = isAsDrafted || isRenewed;
    const onNamed = (isOfHosts || isConflict) && isOfNow ? firstOnNamed(now.state, request, count) : [];
    draft.onNamed = recordOnNamed(onNamed);
    // The ranking goes by the first thing that each host falls short of; its nearest hosts may lack others, too.
    if (isRenewed) Object.assign(draft, { hosts: stands.hosts, fits: stands.fits, refused: stands.refused });
    const rule = isConflict ? undefined : toldRuleOf(view, request.spec);
    const onNamedInWords = isConflict || rule !== undefined ? butConflict(onNamed) : onNamed;
    const ofConflict = { isCauseTold: true, onNamed: onNamedInWords, count };
    let refusal = isConflict ? `${reason}; ${whyNoneOf(now.state, request, draft, undefined, ofConflict)}` : reason;
    if (isRenewed && isOfHosts) {
      const [first] = found?.advice ?? [];
      const isChangeTold = first !== undefined && first.code !== 'fewer-instances';
      const isCauseTold = draft.groupHeld !== undefined || isChangeTold;
      const more = { isCauseTold, onNamed: onNamedInWords, count };
      refusal = hasRoomForSome
        ? whyNoneTogether(now.state, request, count, stands, more)
        : whyNoneOf(now.state, request, stands, draft.ofFitting ?? undefined, more);
    }
    if (draft.fits === 0) {
      draft.absent = absentOf(view, request);
      // What was weighed fitted at an earlier look.
      draft.weights = [];
    }
    const at = isOfNow ? now.turn.now : draftedAt;
    const where = draft.room === undefined ? '' : `; ${roomWords(draft.room)}`;
    const runsOut = draft.runsOut === undefined ? '' : `; ${runsOutWords(draft.runsOut)}`;
    const tooLarge = draft.tooLarge === undefined ? '' : `; ${tooLargeWords(draft.tooLarge)}`;
    const held = draft.groupHeld === undefined ? '' : `; ${heldWords(draft.groupHeld)}`;
    const ruled = rule === undefined ? '' : `; ${keptRuleWords(rule)}`;
    const silent = silenceWords(view, request);
    const misspelt = draft.unknown === undefined ? '' : `; ${unknownWords(draft.unknown)}`;
    const words = withWords(
      `${which}${refusal}${where}${runsOut}${tooLarge}${held}${ruled}${silent}`,
      misspelt,
      adviceFor(draft.advice, found),
    );
    return { reason: words, decision: decided(draft, at, rankings.salt, null, []) };
  };
  const answer = (now: Work, found: Found | null) => {
    if (!isOpen(now, open)) return;
    const { reason: words, decision } = why(now, found);
    tell(now, words, decision, mayBeBrief && found === null);
  };
  if (!isOfHosts && !isConflict) return answer(work, null);
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
      else if (found !== null) tellParked(now, open, () => why(now, found));
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

/** What stands in the way there beside the rule of the group, which is said once for all hosts. */
const butConflict = (onNamed: readonly OnNamed[]): OnNamed[] =>
  onNamed
    .map(({ host, found }) => ({
      host,
      found: { ...found, all: found.all.filter(({ code }) => code !== GROUP_CONFLICT) },
    }))
    .filter(({ found }) => found.all.length > 0);

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

/** How many of those that are silent a reason names. */
const MAX_SILENT_NAMED = 3;

/** Of whom nothing was heard lately, of those in which the request may go: their hosts are counted, and not advised on. */
function silenceWords(view: View, { spec, where }: Request): string {
  const { silentCells, silentShards } = silentAmong(view);
  const isWanted = (cell: string) =>
    where?.cells?.includes(cell) !== false && where?.avoidCells?.includes(cell) !== true;
  // Of a host that is named and not known its cell is not known.
  const cellOf = (root: string) => view.hosts.get(root)?.cell;
  const roots = spec.tree?.oneOf?.filter((root) => cellOf(root) === undefined || isWanted(cellOf(root) as string));
  const mayBeIn = (cell: string) => isWanted(cell) && roots?.some((root) => (cellOf(root) ?? cell) === cell) !== false;
  const mayBeAt = (shard: number) => roots?.some((root) => placementShardOf(root, view.shards) === shard) !== false;
  const silent = [
    ...silentCells.filter(mayBeIn).map((cell) => `cell ${cell}`),
    ...silentShards.filter(mayBeAt).map((shard) => `placement/${shard}`),
  ];
  if (silent.length === 0) return '';
  return `; nothing was heard lately of ${firstListed(silent.slice(0, MAX_SILENT_NAMED), silent.length)}`;
}

/** Said before the reason, where some of its instances have a host. */
function whichOf({ instances, of }: RoomForSome): string {
  const hosts = instances === 1 ? 'a host, which is' : 'hosts, which are';
  return `only ${instances} of ${of} instances had been given ${hosts} counted as used here: `;
}

/**
 * What helps one that others were quicker than: to be asked for again, where hosts are left to try, or else to wait for
 * room, unless it has waited.
 */
function adviceOnRivals(
  work: Work,
  open: Open,
  { claimsRefused, refusedClaims }: Draft,
  found: Found | null,
): Advice[] {
  const { instances, waits } = open.asked;
  if (waits !== undefined || open.hopeless !== null) return [];
  const many = instances.length === 1 ? {} : { instances: instances.length };
  const { times = instances.length } = found?.standing ?? {};
  if (found !== null && times >= instances.length && isRoomLeft(work, open, refusedClaims)) {
    const { fits } = found.standing ?? standing(work.state, open.request, open.waiting.size);
    return [{ code: 'ask-again', hosts: fits, ...many }];
  }
  const full = refusedClaims.filter(({ code }) => OF_ROOM.has(code)).map(({ cell, host }) => `${cell}/${host}`);
  if (full.length === 0) return [];
  const partly = claimsRefused > refusedClaims.length ? { partly: true as const } : {};
  return [{ code: 'with-wait', hosts: new Set(full).size, ...many, ...partly }];
}

/**
 * Whether those without a host would be placed if they were looked at now. What was refused for other reasons than room may
 * be refused again.
 */
function isRoomLeft(work: Work, { asked, request, waiting }: Open, refusedClaims: readonly RefusedClaim[]): boolean {
  const isOfRoom = refusedClaims.every(({ code }) => OF_ROOM.has(code) || code === GROUP_CHANGED);
  if (!isOfRoom || work.state.view.silentShards.size > 0) return false;
  return anyAdmits(work, { asked: { ...asked, instances: [...waiting] }, request });
}

/** The change that asks least, and to wait; or that none is known, where it was looked for and hosts only refuse. */
function adviceFor(advice: readonly Advice[], found: Found | null): string {
  const till = (until: number) => `until ${timeOfDay(until)}`;
  const told = advice.filter(({ code }, position) => position === 0 || code === 'with-wait');
  if (told.length > 0) return told.map((one) => `; ${adviceWords(one, till)}`).join('');
  const { standing: surveyed } = found ?? {};
  return surveyed === undefined || surveyed.hosts === 0 || surveyed.times > 0 ? '' : `; ${NO_CHANGE_KNOWN}`;
}

/** Names may be long and many, and so may aggregates be that advice names; what stands in the way is said all the same. */
function withWords(reason: string, misspelt: string, advice: string): string {
  const told = `${clipped(misspelt, MAX_REASON_LENGTH / 4)}${clipped(advice, MAX_REASON_LENGTH / 2)}`;
  return `${clipped(reason, MAX_REASON_LENGTH - told.length)}${told}`;
}
