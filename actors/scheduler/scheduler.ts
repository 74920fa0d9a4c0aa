// A scheduler: it chooses hosts and claims them, there and then, at placement. It owns nothing. Its view may be stale;
// placement decides, a refusal mends the view, and the next best host is tried. Any number of schedulers may run.
// It keeps no record of what it does: an asker that hears nothing asks again, whoever answers then finds what was
// claimed already, because placement answers a claim for a consumer that holds one with what it holds.
//
// It takes: select, take, withdraw (from conductors); fit, why-not, list-cells (from gateways); claim-granted, claim-refused,
// released, unclaimed, nothing-held, located, providers, providers-changed (from placement); hosts, hosts-changed (from
// cells). See actors/messages/scheduler.ts.

import type { Actor, Address, Turn, Wake } from '../actor.ts';
import type { Patience } from '../builds.ts';
import { asksFrom } from '../messages/common.ts';
import type { SchedulerMessage } from '../messages/scheduler.ts';
import { PassingMap } from '../passing-map.ts';
import { snapshotOf } from '../snapshot.ts';
import { readWake, wakeId } from '../wakes.ts';
import { workWith } from '../work.ts';
import { cellsAsked, fitAsked, whyNotAsked } from './answering.ts';
import { RANK_WAKE } from './awaited-ranking.ts';
import { BEGIN_WAKE, goOnBeginning, select, taken } from './choosing.ts';
import { granted, nothingHeld, refused } from './claim-answers.ts';
import { MEMBERS_WAKE, membersTold } from './explaining/group-held.ts';
import { goOnSurveying, SURVEY_WAKE } from './explaining/surveying.ts';
import type { Filter } from './filters/filter.ts';
import { goOnTelling, TELL_WAKE } from './finishing.ts';
import {
  askPageAgain,
  followersOfPlacement,
  hostsChanged,
  noticeSilence,
  pageCame,
  providersChanged,
  RESYNC_WAKE,
  resync,
  SILENCE_WAKE,
  UNHEARD_FOR_WARM_UPS,
} from './following.ts';
import { unclaimed } from './giving-back.ts';
import { HEARD_WAKE, noteHeard } from './hearing.ts';
import { dropGivenUp, emptyParking, GIVEN_UP_WAKE, withdraw } from './lots.ts';
import { PARKED_WAKE } from './parking.ts';
import { askNextMoved, followOthers, MOVED_WAKE, OTHERS_WAKE } from './parking-others.ts';
import { QUESTION_WAKE, sayQuestionAgain } from './questioning.ts';
import { emptyRankings, statsAdmit, statsMatter } from './ranking/ranking.ts';
import { requestKey } from './request.ts';
import { located, lookAfterRivals, lookAgain, lookBehind, rankFurther, sayAgain, searchedFor } from './retrying.ts';
import { SEARCH_WAKE, search, searchSoon } from './searching.ts';
import { RIVALS_WAKE, SELECT_WAKE } from './selecting.ts';
import { tryParked } from './serving.ts';
import type { SchedulerState, Work } from './state.ts';
import { goOnSweeping, SWEEP_WAKE } from './sweeps.ts';
import { emptyView } from './view/view.ts';
import { passTime } from './view/view-hosts.ts';
import { DEFAULT_WEIGHERS } from './weighers/defaults.ts';
import type { Overrides, Weigher } from './weighers/weigher.ts';

export interface SchedulerOptions {
  /** Names this scheduler among others; it also orders hosts of equal weight, so that schedulers do not collide. */
  readonly name: string;
  /** How hosts are ranked; default: see weighers/defaults.ts. */
  readonly weighers?: readonly Weigher[];
  /** What hosts must be, beside what every scheduler insists on; default: nothing. */
  readonly filters?: readonly Filter[];
  /** Multipliers of weighers on the hosts of an aggregate, by its id, instead of the usual ones. */
  readonly overrides?: Overrides;
  /**
   * Among how many of the best hosts one is picked by chance, 1 to 100; default 1, the best. More keep several
   * schedulers from running to the same host, at the price of hosts that are not quite the best.
   */
  readonly pickAmong?: number;
  /** How long to wait for an answer before a question is put again, ms; default 1,000 at first, 5,000 at most. */
  readonly patience?: Patience;
  /**
   * For how long after its start a scheduler that does not know the whole fleet yet chooses no host, ms; default 2,500,
   * more than two beats of a feed. For four times as long it does not say that none fits, while placement tells of
   * providers whose hosts no cell has told yet.
   */
  readonly warmUpMs?: number;
  /**
   * How long a cell, or one of several placement shards, may be silent before its hosts are chosen only when no other
   * fits, ms; default 4,000: several beats of its feed.
   */
  readonly silentMs?: number;
  /** How many hosts one turn ranks for a kind of request that is new; default 2,500: some tens of milliseconds of work. */
  readonly hostsATurn?: number;
  /** How many placement shards the deployment has; default 1. */
  readonly placementShards?: number;
  /** Names each life of the scheduler that begins, among all of all schedulers; needed with several placement shards. */
  readonly incarnation?: () => string;
}

const DEFAULTS = {
  patience: { firstMs: 1_000, mostMs: 5_000 },
  warmUpMs: 2_500,
  silentMs: 4_000,
  hostsATurn: 2_500,
} as const;

/** Its warm-up is over, or the time in which it waits for hosts of which no cell has told. */
const WARM_WAKE = 'warm';

type SchedulerTurn = Turn<never>;

export function scheduler(options: SchedulerOptions): Actor<SchedulerState, SchedulerMessage, never> {
  const patience = options.patience ?? DEFAULTS.patience;
  const warmUpMs = options.warmUpMs ?? DEFAULTS.warmUpMs;
  const silentMs = options.silentMs ?? DEFAULTS.silentMs;
  const hostsATurn = options.hostsATurn ?? DEFAULTS.hostsATurn;
  const { placementShards = 1, incarnation = () => options.name } = options;
  const settings = { patience, warmUpMs, silentMs, hostsATurn, placementShards };
  const workOf = workWith(settings);

  function init(): SchedulerState {
    const rankings = emptyRankings(options.weighers ?? DEFAULT_WEIGHERS, options.name, options);
    const followers = followersOfPlacement(placementShards);
    return {
      incarnation: incarnation(),
      view: { ...emptyView(placementShards), statsMatter: statsMatter(rankings), statsAdmit: statsAdmit(rankings) },
      rankings,
      open: new PassingMap(),
      selecting: new PassingMap(),
      followers,
      incomplete: new Set(followers.values()),
      locating: new Map(),
      questions: new Map(),
      naming: new Map(),
      unplaced: new Set(),
      awaitingRanking: new Set(),
      awaitingSearch: new Set(),
      claims: new PassingMap(),
      claimed: 0,
      awaitingClaims: new Set(),
      oldestClaims: null,
      parking: emptyParking(),
      telling: [],
      sweeps: [],
      surveyed: new Map(),
      surveying: { freeAt: Number.NEGATIVE_INFINITY, later: new Map(), untold: new Set() },
      isSearching: false,
      asks: 0,
      startedAt: 0,
      isForming: true,
      sweptAt: 0,
      conflicts: 0,
    };
  }

  function receive(state: SchedulerState, message: SchedulerMessage | Wake, from: Address, turn: SchedulerTurn): void {
    const work = workOf(state, turn);
    passTime(state.view, turn);
    switch (message.type) {
      case 'select':
        return select(work, message, from);
      case 'take':
        return taken(work, message, from);
      case 'withdraw':
        return withdraw(work, requestKey(from, message.request), message.round);
      case 'fit':
        return fitAsked(work, message, from);
      case 'why-not':
        return whyNotAsked(work, message, from);
      case 'list-cells':
        return cellsAsked(work, message, from);
      case 'claim-granted':
        return granted(work, message, from);
      case 'claim-refused':
        return refused(work, message, from);
      case 'nothing-held':
        return nothingHeld(work, message, from);
      case 'unclaimed':
        return unclaimed(work, message, from);
      case 'located':
        return located(work, message);
      case 'released':
        return;
      case 'providers-changed':
        providersChanged(work, message);
        return lookAgain(work);
      case 'hosts-changed':
        hostsChanged(work, message);
        return lookAgain(work);
      case 'providers':
      case 'hosts':
        pageCame(work, message);
        return lookAgain(work);
      case 'wake':
        return wake(work, message.id);
    }
  }

  function wake(work: Work, id: string): void {
    const [kind, about] = readWake(id);
    switch (kind) {
      case SILENCE_WAKE:
        return noticeSilence(work);
      case SWEEP_WAKE:
        return goOnSweeping(work);
      case SURVEY_WAKE:
        return goOnSurveying(work);
      case BEGIN_WAKE:
        return goOnBeginning(work, about);
      case TELL_WAKE:
        return goOnTelling(work);
      case RANK_WAKE:
        return rankFurther(work);
      case SEARCH_WAKE:
        return search(work) ? searchedFor(work) : undefined;
      case PARKED_WAKE:
        // What waits is tried at the end of every turn.
        return;
      case HEARD_WAKE:
        return noteHeard(work);
      case GIVEN_UP_WAKE:
        return dropGivenUp(work);
      case OTHERS_WAKE:
        return followOthers(work);
      case MOVED_WAKE:
        return askNextMoved(work);
      case MEMBERS_WAKE:
        membersTold(work, { ask: Number(about) });
        return;
      case QUESTION_WAKE:
        return sayQuestionAgain(work, Number(about));
      case RESYNC_WAKE:
        return askPageAgain(work, about);
      case WARM_WAKE:
        return lookAgain(work);
      case SELECT_WAKE:
        return sayAgain(work, about);
      case RIVALS_WAKE:
        return lookAfterRivals(work, about);
    }
  }

  function recover(state: SchedulerState, turn: SchedulerTurn): void {
    const work = workOf(state, turn);
    state.startedAt = turn.steady;
    state.asks = asksFrom(turn.now);
    state.sweptAt = turn.steady;
    for (const [feed, follower] of state.followers) {
      follower.heardAt = turn.steady;
      resync(work, feed);
    }
    turn.wakeAfter(wakeId(WARM_WAKE, 'up'), warmUpMs);
    turn.wakeAfter(wakeId(WARM_WAKE, 'through'), warmUpMs * UNHEARD_FOR_WARM_UPS);
    noticeSilence(work);
  }

  function endTurn(state: SchedulerState, turn: SchedulerTurn): void {
    const work = workOf(state, turn);
    lookBehind(work);
    tryParked(work);
    searchSoon(work);
  }

  function figures({ view, open, parking, conflicts }: SchedulerState): Readonly<Record<string, number>> {
    return { hosts: view.hosts.size, requests: open.size, parked: parking.byRequest.size, conflicts };
  }

  const snapshot = () => snapshotOf({}, {});
  return { init, receive, apply() {}, recover, endTurn, dropped: workOf.forget, figures, snapshot, restore: init };
}
