// Explaining that a request has no host: the asker is told why, with what would have let it fit. That is looked for over all
// hosts, so what was found is used for other requests of the kind for a moment.

import type { Advice } from '../messages/advice.ts';
import { adviceWords, NO_CHANGE_KNOWN } from '../messages/advice.ts';
import { clipped, MAX_REASON_LENGTH } from '../messages/common.ts';
import { present } from '../present.ts';
import { type Draft, decided, type Standing } from './decision.ts';
import { whyNoneOf } from './explain.ts';
import { GROUP_CONFLICT } from './group-rules.ts';
import { lateFiltersOf } from './ranking.ts';
import { isOpen } from './selecting.ts';
import type { Open, Work } from './state.ts';
import { surveyOf } from './survey.ts';
import { begin } from './sweeps.ts';

/** How long advice is given again for another request that asks for the same, ms. */
const FRESH_MS = 1_000;
const MAX_KEPT = 64;

/**
 * Answers why there is no host, once it is known what would have let the request fit.
 * @param which Said before the reason.
 */
export function explainFailure(
  work: Work,
  open: Open,
  draft: Draft,
  which: string,
  reason: string,
  tell: (work: Work, reason: string, decision: string) => void,
): void {
  const { instances } = open.asked;
  const { request } = open;
  const answer = (now: Work, advice: readonly Advice[], surveyed?: Standing) => {
    if (!isOpen(now, open)) return;
    draft.advice = advice;
    let why = reason;
    // Of a refusal after which no host would do, its own words say most.
    const isOfHosts = open.hopeless === null;
    const isRankedByAll =
      request.spec.instanceGroup === undefined && lateFiltersOf(now.state.rankings, request).length === 0;
    // It may be of a moment ago, when there were fewer hosts, and need not have searched each to its end.
    const saysMore = !isRankedByAll || (surveyed?.hosts === draft.hosts && surveyed.partly !== true);
    if (isOfHosts && surveyed?.fits === 0 && saysMore) {
      // The ranking goes by the first thing that each host falls short of; its nearest hosts may lack others, too.
      const { hosts, fits, refused } = surveyed;
      Object.assign(draft, { hosts, fits, refused });
      why = whyNoneOf(now.state, request, { ...surveyed, advice });
    }
    const words = adviceFor(now, advice, surveyed);
    tell(now, withWords(`${which}${why}`, words), decided(draft, now.turn.now, now.state.rankings.salt, null, []));
  };
  if (open.hopeless !== null && open.hopeless !== GROUP_CONFLICT) return answer(work, []);
  const kept = instances.length - open.waiting.size;
  if (kept > 0) {
    const hosts = new Set(
      [...open.machines.values()].flatMap(({ context: { candidate } }) => candidate?.provider ?? []),
    );
    return answer(work, [{ code: 'fewer-instances', from: instances.length, to: kept, hosts: hosts.size }]);
  }
  const count = instances.length;
  const key = JSON.stringify([count, request.spec, request.where, request.project]);
  const { advised, rankings, view } = work.state;
  const known = advised.get(key);
  if (known !== undefined && work.turn.now - known.at < FRESH_MS) return answer(work, known.advice, known.standing);
  const survey = surveyOf(rankings, view, { request, count, limit: 0, roughly: true }, (found, now) => {
    const { advice, hosts, fits, refused, partly } = found;
    const standing = { hosts, fits, refused, ...present({ partly }) };
    advised.delete(key);
    advised.set(key, { at: now.turn.now, advice, standing });
    if (advised.size > MAX_KEPT) advised.delete(advised.keys().next().value as string);
    answer(now, advice, standing);
  });
  // With too many to look for, the reason is all there is.
  if (!begin(work, survey)) answer(work, []);
}

/** The change that asks least; or that none is known, where it was looked for and hosts only refuse. */
function adviceFor({ turn }: Work, [first]: readonly Advice[], surveyed: Standing | undefined): string {
  if (first !== undefined) {
    return `; ${adviceWords(first, (until) => `for another ${Math.ceil((until - turn.now) / 1_000)} s`)}`;
  }
  return surveyed === undefined || surveyed.hosts === 0 || surveyed.fits > 0 ? '' : `; ${NO_CHANGE_KNOWN}`;
}

function withWords(reason: string, words: string): string {
  const advice = clipped(words, MAX_REASON_LENGTH);
  return `${clipped(reason, MAX_REASON_LENGTH - advice.length)}${advice}`;
}
