// Surveys for requests that have no host. Each is told of hosts as they stood after it had come: what was found for one is
// told of others that ask for the same as long as nothing has changed since it was begun. However many of them there are,
// not much is spent on looking again and again at hosts that change meanwhile.

import type { SteadyTime } from '../../actor.ts';
import { mapKey } from '../../map-key.ts';
import type { GroupHeld } from '../../messages/decision.ts';
import { present } from '../../present.ts';
import type { Request } from '../request.ts';
import type { Awaiting, Surveyed, ToSurvey, Work } from '../state.ts';
import { beginSweep, mayBeginSweep, TELL_MS } from '../sweeps.ts';
import { cellFeed } from '../view/feeds.ts';
import { nameMembers } from './group-held.ts';
import { surveyOf } from './survey.ts';

/** For how long one that looks for what was looked for already is not the first, ms, at least. */
const FRESH_MS = 1_000;
/**
 * How long a survey is told of, ms, where nothing has changed: for longer than until one that waits is asked for again. A
 * filter that goes by the time says when it changes.
 */
const UNCHANGED_MS = 60_000;
/** At how many hosts all surveys look in a second, but for the first of each kind, which need not wait for that. */
const LOOKS_A_SECOND = 15_000;
/**
 * How long one waits for its turn at most, ms, and how long a survey may take that tells of hosts that change meanwhile:
 * of each it tells how it stood when it was looked at.
 */
const LONGEST_MS = 10_000;
/** So long the others rest after a survey that takes more than a turn, ms: it is not made for each one in line. */
const LONG_REST_MS = 33;
/** How soon it is looked whether somebody has his turn who waits for another survey to end, ms. */
const AGAIN_MS = 10;
/** How many surveys are kept besides as many as wait for different things. */
const MAX_KEPT = 2_048;
/** How many are told in one turn what was found, and the time between two such turns, ms: others are served in between. */
const MAX_TOLD = 100;
const BETWEEN_MS = 3;

export const SURVEY_WAKE = 'survey';

/** When it is told: it has been, it is being found out, or that is to begin. */
type Comes = 'told' | 'begun' | 'later';

/** Finds out how all hosts stand to a request and what would let it fit; it is told in this turn or in a later one. */
export function surveyFor(work: Work, request: Request, count: number, awaiting: Awaiting): Comes {
  const { surveyed, surveying, view } = work.state;
  const { steady } = work.turn;
  const key = keyFor(request, count);
  const known = surveyed.get(key);
  const isUnderWay = known?.doneAt === null;
  if (known?.revision === view.revision) {
    if (known.doneAt === null) {
      known.awaited.push(awaiting);
      return 'begun';
    }
    if (steady - known.doneAt < UNCHANGED_MS) {
      awaiting.found(work, known.found);
      return 'told';
    }
  }
  const isNext = known !== undefined && steady - known.beganAt < Math.max(FRESH_MS, restMs(work));
  const gathers = awaiting.mayGather && restMs(work) >= LONG_REST_MS;
  const hasTurn = !isNext || (!gathers && surveying.later.size === 0 && untilFree(work) <= 0);
  if (!hasTurn || isUnderWay || !mayBeginSweep(work)) return lookLater(work, key, request, count, awaiting);
  return look(work, key, request, count, [awaiting]) ? 'told' : 'begun';
}

/**
 * Whether enough has been told of late of requests that ask for the same, since this one was accepted: where many wait for
 * different things, and hosts change all the time, each is looked into less often.
 * @param since When it was accepted, ms since the epoch.
 */
export function isToldOfLate(work: Work, request: Request, count: number, since: number): boolean {
  const { surveyed, parking, view } = work.state;
  const paceMs = parking.lots.size * restMs(work);
  if (paceMs < FRESH_MS) return false;
  const known = surveyed.get(keyFor(request, count));
  const isChanged = known !== undefined && known.revision !== view.revision;
  if (!isChanged || known.doneAt === null || known.found === null) return false;
  const agoMs = work.turn.steady - known.doneAt;
  return agoMs < paceMs && agoMs <= work.turn.now - since;
}

/** So long the others rest after a survey, ms. */
const restMs = ({ state: { view } }: Work): number => (view.hosts.size * 1_000) / LOOKS_A_SECOND;

/** How long it is until the next may begin, ms: in a second that was quiet there is room for several at once. */
function untilFree(work: Work): number {
  const { steady } = work.turn;
  return work.state.surveying.freeAt - steady - Math.max(0, FRESH_MS - restMs(work));
}

/** Looks at all hosts for some; true when they have been told. */
function look(work: Work, key: string, request: Request, count: number, others: readonly Awaiting[]): boolean {
  const { surveyed, surveying, rankings, view, followers, parking } = work.state;
  const { steady } = work.turn;
  // Who waits for his turn to be told of the same has it now.
  const awaited = [...takeLater(work, key), ...others];
  const one: Surveyed = {
    revision: view.revision,
    beganAt: steady,
    doneAt: null,
    found: null,
    awaited,
    toldAt: steady,
  };
  const isHeardOf = (cell: string) => followers.has(cellFeed(cell));
  const survey = surveyOf(rankings, view, { request, count, limit: 0, roughly: true, isHeardOf }, (told, later) => {
    const { advice, hosts, fits, times, refused, partly, room, runsOut, tooLarge, unknown } = told;
    const isTold = view.revision === one.revision || later.turn.steady - steady < LONGEST_MS;
    const end = (at: Work, held: GroupHeld | undefined) => {
      one.doneAt = at.turn.steady;
      if (isTold) {
        const standing = { hosts, fits, times, refused, ...present({ partly }) };
        one.found = { advice, standing, ...present({ room, runsOut, tooLarge, unknown, groupHeld: held }) };
      }
      tellNext(at, one);
    };
    if (!isTold || told.groupHeld === undefined) end(later, undefined);
    else nameMembers(later, request.spec, told.groupHeld, end);
  });
  surveyed.delete(key);
  surveyed.set(key, one);
  // Where one is forgotten for which others wait, these are looked for as the first of their kind, whatever that costs.
  if (surveyed.size > MAX_KEPT + parking.lots.size) surveyed.delete(surveyed.keys().next().value as string);
  surveying.freeAt = Math.min(Math.max(surveying.freeAt, steady) + restMs(work), steady + LONGEST_MS);
  const tellUnderWay = (now: Work) => {
    const isOver = ({ answerBy }: Awaiting) => answerBy !== null && answerBy <= now.turn.steady;
    const over = one.awaited.filter(isOver);
    if (over.length > 0) one.awaited = one.awaited.filter((each) => !isOver(each));
    for (const each of over) each.found(now, null);
    for (const each of one.awaited) each.underWay(now);
    one.toldAt = now.turn.steady;
  };
  beginSweep(work, { ...survey, tellUnderWay });
  return one.doneAt !== null && one.awaited.length === 0;
}

/** Tells the next of those who wait for it what was found; the others in later turns. */
function tellNext(work: Work, one: Surveyed): void {
  const { untold } = work.state.surveying;
  for (const each of one.awaited.splice(0, MAX_TOLD)) each.found(work, one.found);
  if (one.awaited.length === 0) return void untold.delete(one);
  untold.add(one);
  sayUnderWay(work, one, one.awaited);
  wakeForNext(work);
}

function sayUnderWay(work: Work, one: { toldAt: SteadyTime }, awaited: Iterable<Awaiting>): void {
  if (work.turn.steady - one.toldAt < TELL_MS) return;
  one.toldAt = work.turn.steady;
  for (const each of awaited) each.underWay(work);
}

/** Those who ask for the same are told together, once it is their turn; where that takes too long, it stays unknown. */
function lookLater(work: Work, key: string, request: Request, count: number, awaiting: Awaiting): Comes {
  const { later } = work.state.surveying;
  const { steady } = work.turn;
  const known = later.get(key);
  const waitMs = untilFree(work) + later.size * restMs(work);
  const mayWaitMs = (awaiting.endsAt - steady) / 2;
  const isTooLong = waitMs > mayWaitMs || (known === undefined && waitMs > LONGEST_MS);
  if (isTooLong) {
    awaiting.found(work, null);
    return 'told';
  }
  const until = steady + Math.min(mayWaitMs, LONGEST_MS);
  const one = known ?? { request, count, awaited: [], soonest: until, toldAt: steady };
  one.awaited.push({ awaiting, until });
  one.soonest = Math.min(one.soonest, until);
  later.set(key, one);
  if (later.size === 1) wakeForNext(work);
  return 'later';
}

function takeLater({ state: { surveying } }: Work, key: string): Awaiting[] {
  const awaited = surveying.later.get(key)?.awaited ?? [];
  surveying.later.delete(key);
  return awaited.map(({ awaiting }) => awaiting);
}

/** Looks for those whose turn it is, and goes on telling what was found. */
export function goOnSurveying(work: Work): void {
  const { surveyed, surveying } = work.state;
  const { steady } = work.turn;
  for (const [key, one] of surveying.later) {
    const isFree = untilFree(work) <= 0 && mayBeginSweep(work) && surveyed.get(key)?.doneAt !== null;
    if (isFree && !mayGather(work, key, one)) {
      look(work, key, one.request, one.count, []);
      continue;
    }
    if (steady >= one.soonest) giveUp(work, key, one);
    sayUnderWay(
      work,
      one,
      one.awaited.map(({ awaiting }) => awaiting),
    );
  }
  const [first] = surveying.untold;
  if (first !== undefined) tellNext(work, first);
  if (surveying.later.size > 0 || surveying.untold.size > 0) wakeForNext(work);
}

/**
 * Whether more may come who ask for the same before it is looked for: nobody waits for it who is not in line already, and it
 * was looked for a moment ago.
 */
function mayGather(work: Work, key: string, one: ToSurvey): boolean {
  const { surveyed } = work.state;
  const { steady } = work.turn;
  const { beganAt = Number.NEGATIVE_INFINITY } = surveyed.get(key) ?? {};
  const freshUntil = beganAt + FRESH_MS;
  if (restMs(work) < LONG_REST_MS || steady >= freshUntil || one.soonest <= freshUntil) return false;
  return one.awaited.every(({ awaiting }) => awaiting.mayGather);
}

/** Others were looked for all the time, who ask for what nobody had asked for: to those who can wait no longer it stays unknown. */
function giveUp(work: Work, key: string, one: ToSurvey): void {
  const { steady } = work.turn;
  const over = one.awaited.filter(({ until }) => until <= steady);
  const left = one.awaited.filter(({ until }) => until > steady);
  one.awaited = left;
  one.soonest = left.reduce((soonest, { until }) => Math.min(soonest, until), Number.POSITIVE_INFINITY);
  if (left.length === 0) work.state.surveying.later.delete(key);
  for (const { awaiting } of over) awaiting.found(work, null);
}

function wakeForNext(work: Work): void {
  const nextMs = Math.min(TELL_MS, Math.max(AGAIN_MS, untilFree(work)));
  work.turn.wakeAfter(SURVEY_WAKE, work.state.surveying.untold.size > 0 ? BETWEEN_MS : nextMs);
}

/** The same for requests that ask for the same, as far as hosts are looked at by it. */
function keyFor({ spec, where, project, company }: Request, count: number): string {
  const { near, far, nowhere } = company ?? {};
  return mapKey(JSON.stringify([count, spec, where, project, near && [...near], far && [...far], nowhere]));
}
