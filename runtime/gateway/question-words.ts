// The answers to `fit` and `why-not` in words, a line each. Pure.

import { NO_CHANGE_KNOWN } from '../../actors/messages/advice.ts';
import type { Decision } from '../../actors/messages/decision.ts';
import type { InstanceView } from '../../actors/messages/gateway.ts';
import type { OnNamedHosts } from '../../actors/messages/in-the-way.ts';
import type { HostStanding, RankedHost } from '../../actors/messages/questions.ts';
import { present } from '../../actors/present.ts';
import { absenceWords } from '../../actors/scheduler/explaining/explain.ts';
import { heldWords } from '../../actors/scheduler/explaining/group-held.ts';
import { runsOutWords } from '../../actors/scheduler/explaining/running-out.ts';
import { tooLargeWords } from '../../actors/scheduler/explaining/too-large.ts';
import { unknownWords } from '../../actors/scheduler/explaining/unknown-names.ts';
import { keptRuleWords } from '../../actors/scheduler/group-rules.ts';
import { CLAIM_REFUSED, hostLines, outcomeWords, PASSED_OVER, remainsOn, timeWords } from './attempt-words.ts';
import {
  adviceLines,
  brief,
  howWords,
  isSilent,
  lastHeardLines,
  lineOf,
  oneLine,
  rankedWords,
  refusedWords,
  shortOfWords,
  silenceLines,
  standingWords,
  untoldLines,
} from './explanation-words.ts';
import type { FitAnswer, HostThen, WhyNot } from './question-answers.ts';

/** @param isTogether Whether the instances must share a host. */
export function fitWords(answer: Omit<FitAnswer, 'words'>, isTogether = false): string[] {
  const {
    fit,
    certain,
    count,
    hosts,
    fits,
    times,
    partly,
    refused,
    onNamed,
    runsOut,
    tooLarge,
    groupRule,
    groupHeld,
    absent,
    unknown,
    best,
    advice,
  } = answer;
  const what = count === 1 ? 'it' : `${count} instances`;
  const verdict = certain ? `${what} would ${fit ? '' : 'not '}fit` : `it is not known whether ${what} would fit`;
  const least = partly === true ? 'at least ' : '';
  const often = times === 0 ? '' : `; there is room for ${least}${times}${isTogether ? ' on one host' : ''}`;
  return [
    `${verdict}; ${standingWords(hosts, fits)}${often}`,
    ...refused.map((one) => `  ${refusedWords(one)}`),
    ...namedLines(onNamed),
    ...lineOf(runsOut, runsOutWords),
    ...lineOf(tooLarge, tooLargeWords),
    // Whatever else is in the way of a request, the rule of its group is, too.
    ...lineOf(groupRule, keptRuleWords),
    ...lineOf(groupHeld, heldWords),
    ...lineOf(absent, absenceWords),
    ...lineOf(unknown, unknownWords),
    ...silenceLines(answer),
    ...lastHeardLines(answer.silence),
    ...untoldLines(answer.untold),
    ...(best.length === 0 ? [] : [`${bestWords(best.length, fits)}${ruleWords(best[0])}:`]),
    ...best.map((one) => `  ${rankedWords(one)}; room for ${least}${one.times}`),
    ...adviceLines(advice),
    ...(!fit && certain && advice.length === 0 && hosts > 0 && times === 0 ? [NO_CHANGE_KNOWN] : []),
  ].map(oneLine);
}

function bestWords(told: number, fits: number): string {
  if (told === fits) return 'the best first';
  return told === 1 ? 'the best' : `the best ${told}`;
}

/**
 * @param hasGroup Whether the instance is of an instance group.
 * @param chosen The host that was chosen for it, as far as that is on record.
 */
export function whyNotWords(
  { id, cell, host, there, then, now, hostGone }: Omit<WhyNot, 'words'>,
  view: InstanceView,
  hasGroup: boolean,
  chosen?: Decision['chosen'],
): string[] {
  // Where it is, or may be, or is claimed for, it counts itself, as what is used there and as a member of its group.
  const { claiming } = now ?? {};
  const isClaimed = claiming?.cell === cell && claiming.host === host;
  const remains = there === false ? remainsOn(view, cell, host) : undefined;
  const isHeld = view.attempts?.some((one) => remainsOn(view, view.cell ?? '', one.host) !== undefined) === true;
  const isPlaced = view.host !== undefined || claiming !== undefined || isHeld;
  const isCounted = there !== false || isClaimed || remains !== undefined || (hasGroup && isPlaced);
  const isAwaited = hostGone !== true && isSilent(view);
  const until = isAwaited ? `while cell '${view.cell}' does not answer` : 'any more';
  return [
    `${whereWords({ id, cell, host, there }, view, chosen)}${remains === undefined ? '' : remainsWords(remains)}`,
    ...hostLines(onHost(view, cell, host)),
    ...(then === null ? ['then: no decision of a scheduler is on record'] : thenLines(then)),
    ...(now === null
      ? [`now: ${hostGone === true ? `host '${host}' of cell '${cell}'` : 'what it asked for'} is not known ${until}`]
      : nowLines(`now: ${claimWords(now)}${isCounted ? 'another like it' : subjectOf(view)}`, now)),
  ].map(oneLine);
}

/** What is known of the instance, and of no other host. */
function onHost(view: InstanceView, cell: string, host: string): InstanceView {
  const { hostsNotUp = [], missing, ...others } = view;
  const isOfCell = view.cell === cell;
  return {
    ...others,
    ...(isOfCell && view.host === host ? present({ missing }) : {}),
    hostsNotUp: isOfCell ? hostsNotUp.filter((one) => one.host === host) : [],
  };
}

/** What an attempt that came to nothing has left on the host. */
function remainsWords({ attempt, mayRun }: { attempt: number; mayRun: boolean }): string {
  return mayRun
    ? `, but attempt ${attempt} of it may still run there, and holds what it was given`
    : `, but what attempt ${attempt} of it was given there is not given back yet`;
}

function claimWords({ claiming, awaiting = [] }: Pick<HostStanding, 'claiming' | 'awaiting'>): string {
  if (claiming !== undefined) {
    const { shard, cell, host } = claiming;
    return `placement/${shard} has not answered its claim of ${cell}/${host}, which counts as used; `;
  }
  if (awaiting.length === 0) return '';
  const shards = awaiting.map((shard) => `placement/${shard}`).join(', ');
  return `${shards} ${awaiting.length === 1 ? 'has' : 'have'} not said yet what was claimed before, and nothing more is claimed until then; `;
}

/** One of several that has no host may fit where all of them did not, or be short of less. */
function subjectOf({ instance, request, host }: InstanceView): string {
  return instance !== request && host === undefined ? 'it alone' : 'it';
}

function whereWords(
  { id, cell, host, there }: Pick<WhyNot, 'id' | 'cell' | 'host' | 'there'>,
  view: InstanceView,
  chosen: Decision['chosen'],
): string {
  if (there === true) return `instance '${id}' is on ${cell}/${host}: ${view.state}`;
  if (there === false) {
    const on = view.host === undefined ? '' : ` on ${view.cell}/${view.host}`;
    const where = isSilent(view) ? `is in cell ${view.cell}, which does not answer` : `${howWords(view)}${on}`;
    return `instance '${id}' is not on ${cell}/${host}: it ${where}`;
  }
  const isIt = chosen?.cell === cell && chosen.host === host;
  const which = isIt ? 'that host' : `${chosen?.cell}/${chosen?.host}`;
  const decided = chosen === undefined ? '' : `; the decision chose ${which}`;
  return `it is not known whether '${id}' is on ${cell}/${host}: ${view.failure?.message}${decided}`;
}

const thenLines = (then: HostThen): string[] => [`then: ${thenWords(then)}`, ...alsoLines(then, 'stood')];

function thenWords(then: HostThen): string {
  const { verdict, code = '', message = '', lacksMore = false, also = [] } = then;
  const against = againstWords(then);
  switch (verdict) {
    case 'chosen':
      return 'it was chosen';
    case 'failed':
      return code === CLAIM_REFUSED || code === PASSED_OVER
        ? outcomeWords(code, message)
        : `it was tried: ${outcomeWords(code, message)}`;
    case 'claim-refused':
      return `placement refused the claim: ${code}: ${message}`;
    case 'alternate':
      return `it was an alternate, to be tried should the build fail${message === '' ? '' : `; ${message}`}${against}`;
    case 'runner-up':
      return `it fitted, ${message === '' ? `and ${otherWords(then)}` : `but ${message}`}${against}`;
    case 'refused':
      return `it was refused: ${refusedThenWords(then)}${lacksMore && also.length === 0 ? ', and more stood in its way' : ''}`;
    case 'not-recorded':
      return 'it was not among the hosts that the record names';
  }
}

/** Of a host that the request names the record has all that was said; of others how near they came. */
function refusedThenWords({ code = '', about, message = '', short }: HostThen): string {
  if (message !== '') return code === '' ? message : obstacleInFull({ code, message, short });
  const what = about === undefined ? code : `${code} ${about}`;
  return short === undefined ? what : `${what}, ${shortOfWords(code, short)}, the nearest of its kind`;
}

function againstWords({ weight, bestWeight = 0 }: HostThen): string {
  if (weight === undefined) return '';
  if (weight === bestWeight) return `; it weighed as much as the best, ${brief(weight)}`;
  return `; it weighed ${brief(weight)} against ${brief(bestWeight)} of the best`;
}

/** Why another was taken that fitted too. */
function otherWords(then: HostThen): string {
  const { weight = 0, bestWeight = weight, chosenWeight = bestWeight, members = 0, chosenMembers = members } = then;
  if (members !== chosenMembers) {
    const whose = `${chosenMembers} of its instance group there, against ${members} here`;
    return `another came first by the rule of its group: ${whose}`;
  }
  if (weight < chosenWeight) return 'another was better';
  const which = weight === chosenWeight ? 'of the same weight' : 'of the best';
  return `another ${which} was taken: among such chance decides`;
}

/** `exceeds-capacity: 4 VCPU exceed what is free on provider 'h1': 2 of 8 (short by 2)`. */
function obstacleInFull({
  code,
  message,
  short,
}: {
  code: string;
  message: string;
  short?: number | undefined;
}): string {
  const isSaid = short === undefined || /(short|off) by|nearest amount/.test(message);
  return `${code}: ${message}${isSaid ? '' : ` (${shortOfWords(code, short)})`}`;
}

/** What stands in the way beside the first thing has lines of its own. */
function alsoLines({ also = [], partly }: Pick<HostStanding, 'also' | 'partly'>, stands = 'stands'): string[] {
  const isUntold = also.length > 0 && partly === true;
  return [
    ...also.map((one) => `  also ${obstacleInFull(one)}`),
    ...(isUntold ? [`  and more ${stands} in its way`] : []),
  ];
}

/** What stands in the way on the hosts that the request names, as `why-not` would say it. */
function namedLines({ told, more = 0 }: OnNamedHosts = { told: [] }): string[] {
  return [
    ...told.flatMap((one) => [
      `${one.cell}/${one.host}, which it names, would be refused: ${refusalWords(one.refusal, one.also)}`,
      ...alsoLines(one),
    ]),
    ...(more === 0 ? [] : [`so would ${more} more of the hosts that it names`]),
  ];
}

function refusalWords(
  refusal: NonNullable<HostStanding['refusal']>,
  also: NonNullable<HostStanding['also']> = [],
): string {
  // What was said last is the reason, which may be anybody's words.
  const till = refusal.until === undefined ? '' : `; it comes back by itself at ${timeWords(refusal.until)}`;
  const isUntold = refusal.lacksMore === true && also.length === 0;
  return `${obstacleInFull(refusal)}${till}${isUntold ? ', and more stands in its way' : ''}`;
}

function nowLines(begin: string, standing: HostStanding): string[] {
  return [
    `${begin} ${nowWords(standing)}`,
    ...alsoLines(standing),
    ...lastHeardLines(standing.silence).map((line) => `  ${line}`),
  ];
}

function nowWords({
  refusal,
  also,
  weighing,
  rank,
  best,
  hosts,
  fits,
  silent,
  silence = [],
  cell,
}: HostStanding): string {
  const all = standingWords(hosts, fits);
  if (refusal !== undefined) return `would be refused: ${refusalWords(refusal, also)}; ${all}`;
  if (weighing === undefined) return `is not weighed; ${all}`;
  // Another may weigh as much, and be named before it.
  const others = best === undefined || rank === 1 ? '' : `; the best: ${rankedWords(best)}`;
  const last = silenceWords(weighing.silentShard, silent === true ? cell : undefined);
  const sure = silence.length === 0 ? '' : ' as far as is known';
  return `would fit${sure}, number ${rank} of ${fits}${ruleWords(weighing)}: ${rankedWords(weighing)}${last}${others}; ${all}`;
}

/** Why a host comes last, if it does because somebody is silent. */
function silenceWords(shard: number | undefined, cell: string | undefined): string {
  if (shard !== undefined)
    return `; nothing was heard lately of placement/${shard}, so hosts kept there come last and their claims wait`;
  return cell === undefined ? '' : `; nothing was heard lately of cell ${cell}, so its hosts come last`;
}

/** What the order of hosts goes by before weight, if anything. */
function ruleWords(one: RankedHost | undefined): string {
  return one?.members === undefined ? '' : ', by the rule of its group and then by weight';
}
