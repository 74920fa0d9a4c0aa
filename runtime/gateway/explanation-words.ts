// Explanations in words: a line each, in numbers that add up to all hosts. Pure.

import { askingWords } from '../../actors/conductor/words.ts';
import { howMany } from '../../actors/count-words.ts';
import { type Advice, adviceWords, NO_CHANGE_KNOWN } from '../../actors/messages/advice.ts';
import { clipped, type FailureCode } from '../../actors/messages/common.ts';
import type { Decision, RefusedHosts, Weighing } from '../../actors/messages/decision.ts';
import type { InstanceView } from '../../actors/messages/gateway.ts';
import type { Silence } from '../../actors/messages/questions.ts';
import { shortWords } from '../../actors/placement/inventory.ts';
import { absenceWords, NO_HOST_KNOWN, obstacleWords, roomWords } from '../../actors/scheduler/explaining/explain.ts';
import { heldWords } from '../../actors/scheduler/explaining/group-held.ts';
import { runsOutWords } from '../../actors/scheduler/explaining/running-out.ts';
import { tooLargeWords } from '../../actors/scheduler/explaining/too-large.ts';
import { unknownWords } from '../../actors/scheduler/explaining/unknown-names.ts';
import { alternatesUntried, noFurtherHosts } from './advice-on-builds.ts';
import { type Asked, askedWords } from './asked.ts';
import { attemptLines, hostLines, placesWords, timeWords } from './attempt-words.ts';

/** What is known of how an instance came to be where it is. */
export function wordsOfExplanation(view: InstanceView, decision: Decision | null, asked?: Asked): string[] {
  return [
    headline(view),
    ...lastKnownHost(view, decision),
    ...hostLines(view),
    ...waitingOf(view),
    ...askingOf(view, decision),
    ...lineOf(asked, askedWords),
    ...(decision === null
      ? [noDecision(view)]
      : wordsOfDecision(decision, keepsTogether(view, decision), view.instance !== view.request)),
    ...attemptLines(view),
    ...(decision?.chosen === undefined ? [] : furtherLines(view, decision)),
    ...forgottenOf(view, decision),
  ].map(oneLine);
}

/** What there was beside the hosts that were tried. */
const furtherLines = (view: InstanceView, decision: Decision): string[] => [
  ...alternatesUntried(view, decision),
  ...noFurtherHosts(view, decision),
  ...adviceLines(decision.advice),
];

/** Drivers and filters of a deployment's own say what they like, on many lines perhaps: what stands in one of ours is folded. */
export const oneLine = (line: string): string => line.replaceAll(/(?<=\S)[\s\u0085]+/g, ' ').trimEnd();

function headline(view: InstanceView): string {
  const { instance, cell, host, attempt, failure } = view;
  const where = host !== undefined ? ` on ${cell ?? '?'}/${host}` : cell !== undefined ? ` in cell ${cell}` : '';
  const which = attempt !== undefined && attempt > 1 ? ` (attempt ${attempt})` : '';
  const why = failure === undefined ? '' : `: ${failure.code}: ${messageWords(failure.message, view)}`;
  return view.state === 'unknown'
    ? `how instance '${instance}'${where}${which} is, is not known${why}`
    : `instance '${instance}' ${howWords(view)}${where}${which}${why}`;
}

/** How much of a failure is told first, of which the attempts say all that drivers said. */
const MOST_TOLD_FIRST = 1_000;

/** Twenty drivers may each say a thousand characters, which would all stand in one line, and again with the attempts. */
function messageWords(message: string, { attempts = [] }: InstanceView): string {
  const isTooLong = attempts.length > 0 && message.length > MOST_TOLD_FIRST;
  return isTooLong ? `${clipped(message, MOST_TOLD_FIRST)} (in full with its attempts)` : message;
}

/** `is active`, `has failed`: what state an instance is in. */
const stateWords = (state: string): string => (state === 'failed' ? 'has failed' : `is ${state}`);

/** The same of one that may be waiting for a host. */
export const howWords = ({ state, waiting }: InstanceView): string =>
  waiting === undefined ? stateWords(state) : 'waits for a host';

/** Whether its cell does not answer: how and on which host it is now, the cell alone knows. */
export const isSilent = ({ failure }: InstanceView): boolean => failure?.code === 'cell-silent';

function lastKnownHost(view: InstanceView, decision: Decision | null): string[] {
  const { chosen } = decision ?? {};
  if (!isSilent(view) || view.host !== undefined || chosen === undefined) return [];
  const place = `${chosen.cell}/${chosen.host}`;
  // Where its build failed there, its cell went on with an alternate, and tells nobody above it.
  return decision?.alternates.length === 0
    ? [`its last known host is ${place}, which the decision chose`]
    : [`the decision chose ${place}; whether it went on to an alternate from there, cell ${chosen.cell} alone knows`];
}

function waitingOf({ waiting }: InstanceView): string[] {
  if (waiting === undefined) return [];
  const { since, until, reason, asOf } = waiting;
  const when = asOf === undefined ? '' : `; as of ${timeWords(asOf)}`;
  return [`it has waited for a host since ${timeWords(since)}, until ${timeWords(until)}${when}: ${reason}`];
}

/** That schedulers are asked in vain. One that waits is asked for now and then; that the last question has no answer yet is no news. */
function askingOf({ asking, awaits }: InstanceView, decision: Decision | null): string[] {
  if (asking === undefined || awaits !== undefined || (decision !== null && asking.times === 1)) return [];
  return [`${askingWords(asking)}${isNoneThere(asking) ? ': is one running?' : ''}`];
}

/** Whether schedulers are asked again and again, and none answers anybody. */
const isNoneThere = ({ times, answersOthers }: NonNullable<InstanceView['asking']>): boolean =>
  times > 1 && answersOthers === undefined;

/** What to look at where nobody has decided in time: how often who was asked stands in the failure. */
const UNDECIDED =
  'no scheduler has come to a decision on it, so nobody knows whether it would have fitted: see that a scheduler runs and that ' +
  'every placement shard is served (`nats micro ls` lists who is there), then ask for it again with another id';

/** `scheduler 's' waits for placement/1, which has not answered it: see that ...`. */
function awaitsWords(scheduler = '', awaits: readonly number[]): string {
  const shards = awaits.map((shard) => `placement/${shard}`).join(' and ');
  const [have, they] = awaits.length === 1 ? ['has', 'it is'] : ['have', 'they are'];
  return `scheduler '${scheduler}' waits for ${shards}, which ${have} not answered it: see that ${they} served (\`nats micro ls\` lists who is there)`;
}

function noDecision({ instance, state, scheduler, awaits, asking, failure }: InstanceView): string {
  if (failure?.code === ('scheduling-timed-out' satisfies FailureCode)) return UNDECIDED;
  if (state !== 'requested') return 'no decision of a scheduler is on record';
  if (awaits !== undefined) return `no scheduler has decided on it yet: ${awaitsWords(scheduler, awaits)}`;
  // There is nobody whom `why-not` could ask.
  if (scheduler === undefined && asking !== undefined && isNoneThere(asking))
    return 'no scheduler has decided on it yet';
  // Where there are several schedulers, another may be asked, which does not know.
  const which = `for the answer to a claim, \`cellwright why-not ${instance} HOST\` says which`;
  const isAtIt = scheduler === undefined ? '' : `; scheduler '${scheduler}' is at it`;
  return `no scheduler has decided on it yet${isAtIt}; if ${scheduler === undefined ? 'one' : 'it'} waits ${which}`;
}

/** Whether it must stay with others, so that it may not go elsewhere alone. */
function keepsTogether({ instance, request }: InstanceView, { group, weights, chosen }: Decision): boolean {
  const at = weights.findIndex(({ cell, host }) => cell === chosen?.cell && host === chosen.host);
  const isOfSeveral = instance !== request || (group?.members[at] ?? 0) > 0;
  return group?.policy === 'affinity' && isOfSeveral;
}

function wordsOfDecision(decision: Decision, isTogether: boolean, isOfSeveral: boolean): string[] {
  const {
    at,
    scheduler,
    hosts,
    fits,
    refused,
    room,
    runsOut,
    tooLarge,
    groupHeld,
    waitedSince,
    chosen,
    weights,
    claimsRefused,
    refusedClaims,
  } = decision;
  const lines = [
    ...(waitedSince === undefined ? [] : [`it waited for a host from ${timeWords(waitedSince)} to ${timeWords(at)}`]),
    `scheduler '${scheduler}' decided at ${timeWords(at)}; ${standingWords(hosts, fits)}`,
    ...refused.map((one) => `  ${refusedWords(one)}`),
    ...lineOf(decision.absent, absenceWords),
    ...lineOf(decision.unknown, unknownWords),
    ...lineOf(room, roomWords),
    ...lineOf(runsOut, runsOutWords),
    ...lineOf(tooLarge, tooLargeWords),
    ...lineOf(groupHeld, heldWords),
  ];
  if (decision.narrowedBy.length > 0) {
    lines.push(`of those that fit, these filters narrowed the choice: ${decision.narrowedBy.join(', ')}`);
  }
  lines.push(...silenceLines(decision));
  if (weights.length > 0) {
    lines.push(orderWords(decision));
    const members = decision.group?.members ?? [];
    lines.push(...weights.map((one, position) => `  ${rankedWords({ ...one, members: members[position] })}`));
  }
  if (claimsRefused > 0) {
    const told = refusedClaims.length < claimsRefused ? `, the last ${refusedClaims.length} of them` : '';
    lines.push(`claims refused: ${claimsRefused}${told}`);
    for (const { cell, host, code, message } of refusedClaims) lines.push(`  ${cell}/${host}: ${code}: ${message}`);
  }
  if (chosen === undefined) return [...lines, 'claimed: none', ...changeLines(decision)];
  lines.push(`claimed: ${chosen.cell}/${chosen.host}${whyItWords(decision, chosen)}`);
  lines.push(`alternates: ${alternatesWords(decision, chosen.cell, isTogether, isOfSeveral)}`);
  return lines;
}

/** Why it is not the first of those that were weighed, where nothing else says so: who is silent, or has refused a claim. */
function whyItWords(
  { weights, claimsRefused, narrowedBy, silentCells, silentShards = [] }: Decision,
  chosen: NonNullable<Decision['chosen']>,
): string {
  const at = weights.findIndex(({ cell, host }) => cell === chosen.cell && host === chosen.host);
  if (at === -1) return ', which an earlier question had been granted';
  const others = claimsRefused + narrowedBy.length + silentCells.length + silentShards.length;
  return at === 0 || others > 0 ? '' : ', one of the best: among such chance decides';
}

/** Those that were named, and why they are fewer than were asked for. */
function alternatesWords(
  { alternates, alternatesAsked }: Decision,
  cell: string,
  isTogether: boolean,
  isOfSeveral: boolean,
): string {
  const isNone = alternates.length === 0;
  if (isNone && isTogether) return 'none: members of a group that must keep together have none of their own';
  const told = isNone ? 'none' : placesWords(cell, alternates);
  if (alternatesAsked === undefined) return isNone ? 'none were asked for' : told;
  const asked = `${alternatesAsked} ${alternatesAsked === 1 ? 'was' : 'were'} asked for`;
  const others = isOfSeveral ? " beside those of the request's other instances" : '';
  return `${told}; ${asked}, and no other host of its cell was found to fit${others}`;
}

/** In which order hosts are named. A soft rule comes before what hosts weigh, and so do the cells that are preferred. */
function orderWords({ group, where }: Decision): string {
  if (group?.policy === 'soft-affinity') return 'weighed, those with the most members of its instance group first:';
  if (group?.policy === 'soft-anti-affinity') {
    return 'weighed, those with the fewest members of its instance group first:';
  }
  return where?.preferCells === undefined ? 'weighed, the best first:' : 'weighed, those of preferred cells first:';
}

/** `c1/h1 8.92 = free-share 0.92 + spare-devices 8; 1 member of its group there`. */
export function rankedWords({ members, ...weighing }: Weighing & { members?: number | undefined }): string {
  const weighs = weightWords(weighing);
  if (members === undefined) return weighs;
  const there = members === 0 ? 'no member' : members === 1 ? '1 member' : `${members} members`;
  return `${weighs}; ${there} of its group there`;
}

/** `of 6 hosts, 2 fit and 4 were refused`. */
export function standingWords(hosts: number, fits: number): string {
  if (hosts === 0) return NO_HOST_KNOWN;
  const refused = hosts - fits;
  return `of ${howMany(hosts, 'host')}, ${fits} ${fits === 1 ? 'fits' : 'fit'} and ${refused} ${refused === 1 ? 'was' : 'were'} refused`;
}

/** By how much the nearest host falls short; where room is lacking it is counted in instances. */
export const shortOfWords = (code: string, short: number): string =>
  code === 'no-room-together' ? `with room for all but ${short}` : shortWords(code, short);

/** `3 exceeds-capacity VCPU; nearest c1/h4, short by 2, and more stands in its way`. */
export function refusedWords(refused: RefusedHosts): string {
  const { nearest } = refused;
  if (nearest === undefined) return obstacleWords(refused);
  const more = nearest.lacksMore === true ? ', and more stands in its way' : '';
  const near = `nearest ${nearest.cell}/${nearest.host}, ${shortOfWords(refused.code, nearest.short)}${more}`;
  return `${obstacleWords(refused)}; ${near}`;
}

/** A line for what is there to be told. */
export const lineOf = <T>(told: T | undefined, wordsOf: (told: T) => string): string[] =>
  told === undefined ? [] : [wordsOf(told)];

/** Why hosts that weigh most may not be chosen. */
export function silenceLines({
  silentCells: cells,
  silentShards: shards = [],
}: Pick<Decision, 'silentCells' | 'silentShards'>): string[] {
  const ofCells = cells.length === 1 ? `cell ${cells[0]}: its` : `the cells ${cells.join(', ')}: their`;
  const ofShards = `${shards.map((shard) => `placement/${shard}`).join(', ')}: the hosts kept there`;
  const unheard = (which: string) => `nothing was heard lately of ${which}`;
  return [
    ...(cells.length === 0 ? [] : [`${unheard(ofCells)} hosts are chosen only when no other fits`]),
    ...(shards.length === 0 ? [] : [`${unheard(ofShards)} are chosen only when no other fits, and their claims wait`]),
  ];
}

/** That there may be hosts which schedulers do not know, since nobody has told them. */
export function untoldLines(untold = 0): string[] {
  if (untold === 0) return [];
  const providers = untold === 1 ? '1 more provider' : `${untold} more providers`;
  return [
    `placement knows ${providers} with room, of which no cell has told since the scheduler came up: a cell may be down`,
  ];
}

/** How many of those that are silent are told one by one. */
const MOST_SILENT_TOLD = 8;

/** What is said of hosts of those that are silent is as old as their last word. */
export function lastHeardLines(silence: readonly Silence[] = []): string[] {
  if (silence.length === 0) return [];
  const told = silence
    .slice(0, MOST_SILENT_TOLD)
    .map(
      ({ cell, shard, since }) =>
        `${cell === undefined ? `placement/${shard}` : `cell ${cell}`} at ${timeWords(since)}`,
    );
  const more = silence.length > told.length ? [`${silence.length - told.length} more`] : [];
  return [`it goes by what was heard last: of ${[...told, ...more].join(', of ')}`];
}

/**
 * What would have let it fit, or that nothing alone is known to: it may be short of more than what is said of each host.
 * With room for some of several, fewer would have fitted.
 */
function changeLines({ hosts, fits, refused, advice }: Decision): string[] {
  const isRoomForSome = fits > 0 || refused.some(({ code }) => code === 'no-room-together');
  if (advice.length > 0 || hosts === 0 || isRoomForSome) return adviceLines(advice);
  return [NO_CHANGE_KNOWN];
}

/** What would have let it fit, a line for each change. */
export function adviceLines(advice: readonly Advice[]): string[] {
  return advice.map((one) => adviceWords(one, (until) => `until ${timeWords(until)}`));
}

/** `c1/h1 8.92 = free-share 0.92 + spare-devices 8`. */
function weightWords({ cell, host, weight, parts }: Weighing): string {
  const told = Object.entries(parts).map(([name, part]) => `${name} ${brief(part)}`);
  return `${cell}/${host} ${brief(weight)}${told.length === 0 ? '' : ` = ${told.join(' + ')}`}`;
}

/** Four digits behind the point are enough to tell weights apart. */
export const brief = (value: number): string => String(Math.round(value * 1e4) / 1e4);

/** Its cell forgets an instance that is deleted, and what became of it there. */
function forgottenOf({ state, attempts = [] }: InstanceView, decision: Decision | null): string[] {
  const isForgotten = state === 'deleted' && attempts.length === 0 && decision?.chosen !== undefined;
  return isForgotten ? ['what came of its attempts is not kept once it is deleted'] : [];
}
