// Explaining that a request has no host: the asker is told why, with what would have let it fit, as far as that is known of
// the hosts as they stand when it is told.

import type { Advice } from '../messages/advice.ts';
import { adviceWords, NO_CHANGE_KNOWN } from '../messages/advice.ts';
import { clipped, MAX_REASON_LENGTH } from '../messages/common.ts';
import { type Draft, decided, standing } from './decision.ts';
import { whyNoneOf } from './explain.ts';
import { GROUP_CONFLICT } from './group-rules.ts';
import { lateFiltersOf } from './ranking.ts';
import { isOpen } from './selecting.ts';
import type { Found, Open, Work } from './state.ts';
import { surveyFor } from './surveying.ts';

/**
 * Answers why there is no host, once it is known what would have let the request fit.
 * @param which Said before the reason.
 * @param mayTakeLong Whether there is time to find that out, where it is not known.
 */
export function explainFailure(
  work: Work,
  open: Open,
  draft: Draft,
  which: string,
  reason: string,
  mayTakeLong: boolean,
  tell: (work: Work, reason: string, decision: string) => void,
): void {
  const { instances } = open.asked;
  const { request } = open;
  const count = instances.length;
  const { now: draftedAt } = work.turn;
  const { revision } = work.state.view;
  const answer = (now: Work, found: Found | null) => {
    if (!isOpen(now, open)) return;
    const { rankings, view } = now.state;
    const isAsDrafted = view.revision === revision;
    const stands = found?.standing ?? (isAsDrafted ? undefined : standing(rankings, view, request, count));
    draft.advice = found?.advice ?? [];
    // Of a refusal after which no host would do, its own words say most.
    const isOfHosts = open.hopeless === null;
    const isRankedByAll = request.spec.instanceGroup === undefined && lateFiltersOf(rankings, request).length === 0;
    // A survey need not have searched each host to its end.
    const saysMore = !isRankedByAll || stands?.partly !== true;
    const isRenewed = isOfHosts && stands?.fits === 0 && saysMore;
    let why = reason;
    if (isRenewed) {
      // The ranking goes by the first thing that each host falls short of; its nearest hosts may lack others, too.
      const { hosts, fits, refused } = stands;
      Object.assign(draft, { hosts, fits, refused });
      why = whyNoneOf(now.state, request, { ...stands, advice: draft.advice });
    }
    const at = isAsDrafted || isRenewed ? now.turn.now : draftedAt;
    tell(now, withWords(`${which}${why}`, adviceFor(now, found)), decided(draft, at, rankings.salt, null, []));
  };
  if (open.hopeless !== null && open.hopeless !== GROUP_CONFLICT) return answer(work, null);
  const kept = count - open.waiting.size;
  if (kept > 0) {
    const hosts = new Set(
      [...open.machines.values()].flatMap(({ context: { candidate } }) => candidate?.provider ?? []),
    );
    const fewer: Advice = { code: 'fewer-instances', from: count, to: kept, hosts: hosts.size };
    return answer(work, { advice: [fewer] });
  }
  surveyFor(work, request, count, mayTakeLong, answer);
}

/** The change that asks least; or that none is known, where it was looked for and hosts only refuse. */
function adviceFor({ turn }: Work, found: Found | null): string {
  const { advice: [first] = [], standing: surveyed } = found ?? {};
  if (first !== undefined) {
    return `; ${adviceWords(first, (until) => `for another ${Math.ceil((until - turn.now) / 1_000)} s`)}`;
  }
  return surveyed === undefined || surveyed.hosts === 0 || surveyed.fits > 0 ? '' : `; ${NO_CHANGE_KNOWN}`;
}

/** Advice may name many aggregates; what stands in the way is said all the same. */
function withWords(reason: string, words: string): string {
  const advice = clipped(words, MAX_REASON_LENGTH / 2);
  return `${clipped(reason, MAX_REASON_LENGTH - advice.length)}${advice}`;
}
