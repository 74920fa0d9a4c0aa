// Explaining that a request has no host: the asker is told why, with what would have let it fit, as far as that is known of
// the hosts as they stand when it is told.

import type { Advice } from '../messages/advice.ts';
import { adviceWords, NO_CHANGE_KNOWN } from '../messages/advice.ts';
import { clipped, MAX_REASON_LENGTH } from '../messages/common.ts';
import { type Draft, decided, type Standing, standing } from './decision.ts';
import { absentOf, whyNoneOf, whyNoneTogether } from './explain.ts';
import { GROUP_CONFLICT } from './group-rules.ts';
import { NO_ROOM_TOGETHER } from './grouping.ts';
import { lateFiltersOf } from './ranking.ts';
import type { Request } from './request.ts';
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
    const isWhole = stands?.partly !== true;
    const { fits: fitting = 0, times = count } = found?.standing ?? {};
    const hasRoomForSome = fitting > 0 && times < count;
    const isStillSo = isWhole && (hasRoomForSome || (isAsDrafted && draft.ofFitting !== null));
    const saysMore = stands?.fits === 0 ? !isRankedByAll || isWhole : isStillSo;
    const isRenewed = isOfHosts && stands !== undefined && saysMore;
    let why = reason;
    if (isRenewed) {
      // The ranking goes by the first thing that each host falls short of; its nearest hosts may lack others, too.
      const told = hasRoomForSome ? withoutRoomTogether(request, stands) : stands;
      const { hosts, fits, refused } = told;
      Object.assign(draft, { hosts, fits, refused });
      why = hasRoomForSome
        ? whyNoneTogether(now.state, request, count, told)
        : whyNoneOf(now.state, request, told, draft.ofFitting ?? undefined);
    }
    if (draft.fits === 0) {
      draft.absent = absentOf(view, request);
      // What was weighed fitted at an earlier look.
      draft.weights = [];
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

/** Of a group that keeps together and finds no room for all, the hosts that fit have room for some. */
function withoutRoomTogether({ spec }: Request, stands: Standing): Standing {
  const { fits, refused } = stands;
  if (spec.instanceGroup?.policy !== 'affinity') return stands;
  const all = [...refused, { code: NO_ROOM_TOGETHER, hosts: fits }];
  return { ...stands, fits: 0, refused: all.sort((one, other) => other.hosts - one.hosts) };
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
