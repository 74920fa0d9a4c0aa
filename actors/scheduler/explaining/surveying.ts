// Surveys for requests that have no host. Each is told of hosts as they stood after it had come: what was found for one is
// told of others that ask for the same as long as nothing has changed since it was begun. However many of them there are,
// not much is spent on looking again and again at hosts that change meanwhile.

import type { GroupHeld } from '../../messages/decision.ts';
import { present } from '../../present.ts';
import type { Request } from '../request.ts';
import type { Awaiting, Surveyed, Work } from '../state.ts';
import { beginSweep, isShort } from '../sweeps.ts';
import { cellFeed } from '../view/feeds.ts';
import { nameMembers } from './group-held.ts';
import { surveyOf } from './survey.ts';

/** For how long one that looks for what was looked for already is not the first, ms. */
const FRESH_MS = 1_000;
/**
 * How long a survey is told of, ms, where nothing has changed: for longer than until one that waits is asked for again. A
 * filter that goes by the time says when it changes.
 */
const UNCHANGED_MS = 60_000;
/** At how many hosts all surveys look in that time, but for the first of each kind, which may look at more. */
const MAX_LOOKED_AT = 15_000;
/** As many as may wait for different things. */
const MAX_KEPT = 2_048;

/**
 * Finds out how all hosts stand to a request and what would let it fit; it is told in this turn or in a later one.
 * @param mayTakeLong Whether there is time for more than can be done in this turn.
 */
export function surveyFor(work: Work, request: Request, count: number, mayTakeLong: boolean, awaiting: Awaiting): void {
  const { surveyed, surveying, rankings, view } = work.state;
  const { steady } = work.turn;
  const key = keyFor(request, count);
  const known = surveyed.get(key);
  const isSame = known?.revision === view.revision;
  if (known?.doneAt === null)
    return isSame && mayTakeLong ? void known.awaited.push(awaiting) : awaiting.found(work, null);
  if (known !== undefined && isSame && steady - known.doneAt < UNCHANGED_MS) return awaiting.found(work, known.found);
  const isNext = known !== undefined && steady - known.since < FRESH_MS;
  if (steady - surveying.since >= FRESH_MS) Object.assign(surveying, { since: steady, looked: 0 });
  const looked = surveying.looked + view.hosts.size;
  if ((isNext && looked > MAX_LOOKED_AT) || !(mayTakeLong || isShort(work))) return awaiting.found(work, null);
  const since = isNext ? known.since : steady;
  const one: Surveyed = { revision: view.revision, since, doneAt: null, found: null, awaited: [awaiting] };
  const isHeardOf = (cell: string) => work.state.followers.has(cellFeed(cell));
  const survey = surveyOf(rankings, view, { request, count, limit: 0, roughly: true, isHeardOf }, (told, later) => {
    const { advice, hosts, fits, times, refused, partly, room, runsOut, tooLarge, unknown } = told;
    // Of hosts that change all the time no look at all of them is of one moment; one that took long tells nothing.
    const isTold = view.revision === one.revision || later.turn.steady - steady < FRESH_MS;
    const end = (at: Work, held: GroupHeld | undefined) => {
      one.doneAt = at.turn.steady;
      if (isTold) {
        const standing = { hosts, fits, times, refused, ...present({ partly }) };
        one.found = { advice, standing, ...present({ room, runsOut, tooLarge, unknown, groupHeld: held }) };
      }
      for (const each of one.awaited.splice(0)) each.found(at, one.found);
    };
    if (!isTold || told.groupHeld === undefined) end(later, undefined);
    else nameMembers(later, request.spec, told.groupHeld, end);
  });
  surveyed.delete(key);
  surveyed.set(key, one);
  if (surveyed.size > MAX_KEPT) surveyed.delete(surveyed.keys().next().value as string);
  surveying.looked = looked;
  const tellUnderWay = (now: Work) => {
    for (const each of one.awaited) each.underWay(now);
  };
  if (beginSweep(work, { ...survey, tellUnderWay })) return;
  surveyed.delete(key);
  // With too many to look for, it stays unknown.
  awaiting.found(work, null);
}

/** The same for requests that ask for the same, as far as hosts are looked at by it. */
function keyFor({ spec, where, project, company }: Request, count: number): string {
  const { near, far, nowhere } = company ?? {};
  return JSON.stringify([count, spec, where, project, near && [...near], far && [...far], nowhere]);
}
