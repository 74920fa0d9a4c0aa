// Why a request has no host, in words and as the record of a decision, with what would have let it fit, as far as that is
// known of the hosts as they stand when it is told.

import { firstListed } from '../count-words.ts';
import { timeOfDay } from '../host-words.ts';
import { type Advice, adviceWords, NO_CHANGE_KNOWN } from '../messages/advice.ts';
import { clipped, MAX_REASON_LENGTH } from '../messages/common.ts';
import type { RefusedClaim } from '../messages/decision.ts';
import { placementShardOf } from '../routing.ts';
import { type Draft, decided } from './decision.ts';
import { absentOf, roomWords, whyNoneOf, whyNoneTogether } from './explaining/explain.ts';
import { heldWords } from './explaining/group-held.ts';
import { firstOnNamed, type OnNamed, recordOnNamed } from './explaining/named-obstacles.ts';
import { runsOutWords } from './explaining/running-out.ts';
import { type Standing, standing } from './explaining/standing.ts';
import { tooLargeWords } from './explaining/too-large.ts';
import { unknownWords } from './explaining/unknown-names.ts';
import { anyAdmits } from './gangs.ts';
import { GROUP_CHANGED, GROUP_CONFLICT, keptRuleWords, toldRuleOf } from './group-rules.ts';
import { lateFiltersOf } from './ranking/ranking.ts';
import type { Request } from './request.ts';
import { OF_ROOM } from './rivals.ts';
import type { Found, Open, Work } from './state.ts';
import { silentAmong } from './view/silence.ts';
import type { View } from './view/view.ts';

/** What is known of a request that fails, when it does. */
export interface Failed {
  readonly open: Open;
  /** Of the instance that has no host. */
  readonly draft: Draft;
  /** Said before all else. */
  readonly which: string;
  /** Why its ranking ended. */
  readonly reason: string;
  /** When the draft was made, ms since the epoch, and of which revision of the view it tells. */
  readonly draftedAt: number;
  readonly revision: number;
  /** It is the hosts that refuse it. */
  readonly isOfHosts: boolean;
  /** It is the rule of its group. */
  readonly isConflict: boolean;
}

/** @param found What was found out since; null: nothing. */
export function whyFailed(work: Work, failed: Failed, found: Found | null): { reason: string; decision: string } {
  const { open, draft, isOfHosts, isConflict } = failed;
  const { rankings, view } = work.state;
  const { request } = open;
  const count = open.asked.instances.length;
  const isAsDrafted = view.revision === failed.revision;
  const stands = found?.standing ?? (isAsDrafted ? undefined : standing(work.state, request, count));
  noteFound(work, failed, found);
  const renewed = stands !== undefined && tellsMore(work, failed, found, stands) ? stands : undefined;
  const isOfNow = isAsDrafted || renewed !== undefined;
  const onNamed = (isOfHosts || isConflict) && isOfNow ? firstOnNamed(work.state, request, count) : [];
  draft.onNamed = recordOnNamed(onNamed);
  // The ranking goes by the first thing that each host falls short of; its nearest hosts may lack others, too.
  if (renewed !== undefined) {
    const { hosts, fits, refused } = renewed;
    Object.assign(draft, { hosts, fits, refused });
  }
  const rule = isConflict ? undefined : toldRuleOf(view, request.spec);
  const onNamedInWords = isConflict || rule !== undefined ? butConflict(onNamed) : onNamed;
  const refusal = refusalWords(work, failed, found, renewed, onNamedInWords);
  if (draft.fits === 0) {
    draft.absent = absentOf(view, request);
    // What was weighed fitted at an earlier look.
    draft.weights = [];
  }
  const more = [
    also(draft.room, roomWords),
    also(draft.runsOut, runsOutWords),
    also(draft.tooLarge, tooLargeWords),
    also(draft.groupHeld, heldWords),
    also(rule, keptRuleWords),
    silenceWords(view, request),
  ].join('');
  const misspelt = also(draft.unknown, unknownWords);
  const reason = withWords(`${failed.which}${refusal}${more}`, misspelt, adviceFor(draft.advice, found));
  const at = isOfNow ? work.turn.now : failed.draftedAt;
  return { reason, decision: decided(draft, at, rankings.salt, null, []) };
}

const also = <Part>(part: Part | undefined, words: (part: Part) => string): string =>
  part === undefined ? '' : `; ${words(part)}`;

function noteFound(work: Work, { open, draft }: Failed, found: Found | null): void {
  draft.advice = [...(found?.advice ?? []), ...adviceOnRivals(work, open, draft, found)];
  draft.unknown = found?.unknown;
  draft.room = found?.room;
  draft.runsOut = found?.runsOut;
  draft.tooLarge = found?.tooLarge === undefined ? undefined : [...found.tooLarge];
  draft.groupHeld = found?.groupHeld;
}

/** Whether how the hosts stand now tells more than the draft does. */
function tellsMore(
  { state: { rankings, view } }: Work,
  { open, draft, revision, isOfHosts, isConflict }: Failed,
  found: Found | null,
  { fits, partly }: Standing,
): boolean {
  // Where a host would do, as far as is known here, the group has changed meanwhile.
  const isOfSurvey = isConflict && found?.standing?.fits === 0;
  if (!isOfHosts && !isOfSurvey) return false;
  const { request } = open;
  // A survey need not have searched each host to its end.
  const isWhole = partly !== true;
  // Of a refusal after which no host would do, its own words come first.
  const isRankedByAll = request.spec.instanceGroup === undefined && lateFiltersOf(rankings, request).length === 0;
  if (fits === 0) return !isRankedByAll || isWhole;
  const isAsDrafted = view.revision === revision;
  return isWhole && (hasRoomForSome(open, found) || (isAsDrafted && draft.ofFitting !== null));
}

/** Whether some of its instances would fit, and not all. */
function hasRoomForSome({ asked: { instances } }: Open, found: Found | null): boolean {
  const { times = instances.length } = found?.standing ?? {};
  return times > 0 && times < instances.length;
}

/** @param renewed How the hosts stand now, where that is to be told. */
function refusalWords(
  { state }: Work,
  { open, draft, reason, isOfHosts, isConflict }: Failed,
  found: Found | null,
  renewed: Standing | undefined,
  onNamed: readonly OnNamed[],
): string {
  const { request, asked } = open;
  const count = asked.instances.length;
  if (isConflict) {
    return `${reason}; ${whyNoneOf(state, request, draft, undefined, { isCauseTold: true, onNamed, count })}`;
  }
  if (!isOfHosts || renewed === undefined) return reason;
  const [first] = found?.advice ?? [];
  const isChangeTold = first !== undefined && first.code !== 'fewer-instances';
  const more = { isCauseTold: draft.groupHeld !== undefined || isChangeTold, onNamed, count };
  return hasRoomForSome(open, found)
    ? whyNoneTogether(state, request, count, renewed, more)
    : whyNoneOf(state, request, renewed, draft.ofFitting ?? undefined, more);
}

/** What stands in the way there beside the rule of the group, which is said once for all hosts. */
const butConflict = (onNamed: readonly OnNamed[]): OnNamed[] =>
  onNamed
    .map(({ host, found }) => ({
      host,
      found: { ...found, all: found.all.filter(({ code }) => code !== GROUP_CONFLICT) },
    }))
    .filter(({ found }) => found.all.length > 0);

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
