// Surveys: how each host stands to a request, counted over all hosts. They answer whether a request would fit, and advise
// what to change when it does not.

import type { Advice } from '../../messages/advice.ts';
import type { Absent, GroupHeld, RoomForSome, RunsOut, TooLarge, UnknownName } from '../../messages/decision.ts';
import type { FittingHost } from '../../messages/questions.ts';
import { keepsTogether } from '../../placement/groups.ts';
import { present } from '../../present.ts';
import { adviceOf } from '../advice/advice.ts';
import type { Counted } from '../ranking/census.ts';
import type { Rankings } from '../ranking/ranking.ts';
import type { Sweep, Work } from '../state.ts';
import { mapped, type Steps } from '../steps.ts';
import { addSilenced, noneSilenced, silentAmong, silentFew } from '../view/silence.ts';
import { treeOf, type View } from '../view/view.ts';
import { absentOf } from './explain.ts';
import { groupHeld } from './group-held.ts';
import { isTold } from './more-obstacles.ts';
import type { Held, Needs } from './room-heard.ts';
import { type Filled, runningOut } from './running-out.ts';
import { refusedHosts } from './standing.ts';
import { holdsNewGroup, isCut } from './survey-advice.ts';
import {
  type Counting,
  countHost,
  hasRoomForSome,
  hasTooFew,
  newCounting,
  type SurveyOptions,
  silencedOn,
} from './survey-counting.ts';
import { type LikeNamesFound, lookForLike, lookForNames, unknownNames } from './unknown-names.ts';

export interface Survey extends Needs {
  readonly hosts: number;
  readonly fits: number;
  /** How many instances would fit, on all hosts together; on the host that holds most where they must share one. */
  readonly times: number;
  /** Some hosts were not searched to the end. */
  readonly partly?: true;
  readonly refused: ReturnType<typeof refusedHosts>;
  /** Where some would fit, and not all; not of those that keep together. */
  readonly room?: RoomForSome;
  /** Where some would fit, and not all, for want of resources. */
  readonly runsOut?: RunsOut;
  /** Where it does not fit: the classes of which no host is large enough. */
  readonly tooLarge?: TooLarge[];
  /** Where its group is held, if that keeps it from fitting. */
  readonly groupHeld?: GroupHeld;
  readonly absent?: Absent;
  readonly unknown?: UnknownName[];
  /** The best hosts, as far as they were asked for. */
  readonly best: readonly FittingHost[];
  readonly silentCells: readonly string[];
  readonly silentShards: readonly number[];
  /** What would let it fit, if it does not. */
  readonly advice: readonly Advice[];
}

/** What is found out once all hosts were looked at. */
interface Concluded {
  readonly likeNames: LikeNamesFound;
  readonly runsOut?: RunsOut | undefined;
  readonly advice: readonly Advice[];
  /** What would let it fit only with hosts of those that are silent. */
  readonly adviceOnSilent: readonly Advice[];
}

/** Counts how all hosts stand to a request. */
export function surveyOf(
  rankings: Rankings,
  view: View,
  options: SurveyOptions,
  done: (survey: Survey, work: Work) => void,
): Sweep {
  const counting = newCounting(rankings, view, options);
  let concluded: Concluded = { likeNames: new Map(), advice: [], adviceOnSilent: [] };
  return {
    visit(host, isThorough) {
      countHost(counting, host, isThorough);
      return true;
    },
    *conclude() {
      concluded = yield* conclude(counting);
    },
    done: (work) => done(surveyed(counting, concluded), work),
  };
}

function* conclude(counting: Counting): Steps<Concluded> {
  const { view, request, advisers, names, fitting } = counting;
  yield* lookForNames(names, view);
  const likeNames = yield* lookForLike(names, view, request);
  if (!hasTooFew(counting)) return { likeNames, advice: [], adviceOnSilent: [] };
  // Some may be gone since they were looked at, and others go while it is found out which are.
  const still = yield* mapped([...fitting], ([root, one]) =>
    isTold(view, root) ? [{ tree: treeOf(view, root), ...one }] : [],
  );
  const filled = still.flat();
  const runsOut = hasRoomForSome(counting) ? yield* whatRunsOut(counting, filled) : undefined;
  const { ofHeard, ofAll } = advisers;
  const treesOf = (some: typeof filled) => some.map(({ tree }) => tree);
  const advice = yield* adviceOf(ofHeard, treesOf(filled.filter((one) => one.isHeard)));
  const adviceOnSilent = ofAll === undefined ? [] : yield* adviceOf(ofAll, treesOf(filled), ofHeard);
  return { likeNames, runsOut, advice, adviceOnSilent };
}

function* whatRunsOut(
  { request: { spec }, count, roomHeard }: Counting,
  filled: readonly Filled[],
): Steps<RunsOut | undefined> {
  const { times, hosts } = roomHeard.all;
  const most = keepsTogether(spec) ? filled.filter(({ instances }) => instances === times) : filled;
  const found = yield* runningOut(spec, most);
  return found === undefined ? undefined : { instances: times, of: count, hosts, ...found };
}

function surveyed(counting: Counting, concluded: Concluded): Survey {
  const { view, request, count, isHeardOf, isTogether, advisers, names, census, lackingMore } = counting;
  const { roomHeard, roomiest, largest, hosts, fits, best, isWhole } = counting;
  const { likeNames, runsOut } = concluded;
  const { times, hosts: holding } = roomHeard.all;
  // Of those that keep together it is said how many the nearest host has room for.
  const isRoomTold = hasRoomForSome(counting) && !isTogether;
  const advice = allAdvice(counting, concluded);
  const tooFew = hasTooFew(counting);
  return {
    hosts,
    fits,
    times,
    ...(isWhole ? {} : { partly: true as const }),
    refused: refusedHosts(view, withNearest(census.counted(), lackingMore.counted())),
    ...present({
      absent: absentOf(view, request),
      unknown: unknownNames(names, view, request, isHeardOf, likeNames),
      room: isRoomTold ? { instances: times, of: count, hosts: holding, named: roomiest } : undefined,
      tooLarge: tooFew ? largest.tooLarge() : undefined,
      runsOut,
      groupHeld: groupHeld(view, request.spec, advice, holdsNewGroup(advisers)),
    }),
    best,
    ...silentAmong(view),
    ...(tooFew ? {} : roomHeard.needs(count)),
    advice,
  };
}

/** For fewer instances where there is room for some, and what lets all fit; then what does with hosts of the silent. */
function allAdvice(counting: Counting, { advice, adviceOnSilent }: Concluded): Advice[] {
  const { count, roomHeard, advisers, isWhole } = counting;
  const isForSome = hasRoomForSome(counting);
  const told = [
    ...(isForSome ? fewer(roomHeard.heard, count) : []),
    ...advice,
    ...(isForSome ? fewerOnSilent(counting) : []),
    ...adviceOnSilent,
  ];
  return isWhole && !isCut(advisers) ? told : told.map((one) => ({ ...one, partly: true as const }));
}

function fewerOnSilent(counting: Counting): Advice[] {
  const { request, count, roomHeard, fitting } = counting;
  const { all, heard } = roomHeard;
  if (all.times === heard.times) return [];
  const named = noneSilenced();
  for (const [root, { instances, cell }] of fitting) {
    const isCounted = keepsTogether(request.spec) ? instances === all.times : instances > 0;
    if (isCounted) addSilenced(named, silencedOn(counting, { cell, root }));
  }
  return fewer(all, count).map((one) => ({ ...one, ...silentFew(named) }));
}

/** That fewer would fit, where there is room for some. */
function fewer({ times, hosts }: Held, count: number): Advice[] {
  return times === 0 ? [] : [{ code: 'fewer-instances', from: count, to: times, hosts }];
}

/** The reasons, with the nearest of others where they name none. */
function withNearest(reasons: readonly Counted[], others: readonly Counted[]): Counted[] {
  return reasons.map((reason) => {
    if (reason.nearest !== undefined) return reason;
    const near = others.find(({ code, about }) => code === reason.code && about === reason.about)?.nearest;
    return near === undefined ? reason : { ...reason, nearest: { ...near, lacksMore: true } };
  });
}
