// Choosing hosts: each instance of a request has a selection machine, stepped by what the ranking finds and by what
// placement answers, see claim-answers.ts.

import { type SelectionEvent, selection as selectionMachine } from '../../machines/selection.ts';
import { begin, type Effect, step } from '../../machines/step.ts';
import type { Address } from '../actor.ts';
import { effort } from '../fitting/effort.ts';
import type { Select, Take } from '../messages/scheduler.ts';
import { wakeId } from '../wakes.ts';
import { selectionOf } from './alternates.ts';
import { awaitsClaims } from './awaited-claims.ts';
import { awaitsRanking } from './awaited-ranking.ts';
import { claim } from './claiming.ts';
import { noteAll, noteRanked, noteStanding } from './decision.ts';
import { NOT_FOUND_IN_TIME, REFUSED_THE_CLAIM, whyNone } from './explaining/explain.ts';
import { fail } from './failing.ts';
import { finish, tellNoMore } from './finishing.ts';
import { isWarmingUp, mayHaveMissed } from './following.ts';
import { gathersFirst, isRoomForAll, notesRoom, whyNotTried } from './gangs.ts';
import { beginAgain, giveAllBack, triedTogether } from './giving-back.ts';
import { conflictWords, GROUP_CONFLICT, mayHaveOtherRule } from './group-rules.ts';
import { pickOfGroup } from './grouping.ts';
import { locate, namesOthers } from './locating.ts';
import { isBehindOthers, keepPlace, mayWait, stepOut } from './lots.ts';
import { requestKey } from './request.ts';
import { awaitsRivals } from './rivals.ts';
import { askAll, FIRST_TRY, type InTurn, isOrdered, mustRecall, take } from './rounds.ts';
import { awaitsSearch } from './searching.ts';
import { armAgain, close, contextOf, countToPlace, draftOf, isOpen, tellSelecting } from './selecting.ts';
import type { Open, Work } from './state.ts';

/** At how many providers one turn looks to choose hosts for the instances of a request: some milliseconds of work. */
const LOOKS_A_TURN = 20_000;

export const BEGIN_WAKE = 'begin';

/** @param inTurn What it goes on from: it waited, and its turn has come. */
export function select(work: Work, asked: Select, from: Address, inTurn?: InTurn): void {
  const key = requestKey(from, asked.request);
  const before = work.state.open.get(key);
  if (before !== undefined && before.asked.round >= asked.round) return;
  if (before !== undefined) close(work, before);
  tellNoMore(work, from, asked.request);
  stepOut(work, { key, asked });
  work.state.asks += 1;
  const open = newOpen(work, key, asked, from, inTurn);
  work.state.open.set(key, open);
  armAgain(work, open);
  for (const instance of asked.instances) work.state.selecting.set(instance, key);
  if (namesOthers(asked.spec)) locate(work, open);
  if (open.taken) beginAll(work, open);
  else take(work, open);
}

function newOpen(work: Work, key: string, asked: Select, from: Address, inTurn: InTurn | undefined): Open {
  return {
    key,
    asked,
    from,
    request: { spec: asked.spec, where: asked.where, project: asked.project },
    locating: null,
    otherRule: undefined,
    machines: new Map(),
    taker: inTurn?.taker ?? `${work.state.incarnation} ${work.state.asks}`,
    tryNumber: inTurn?.tryNumber ?? FIRST_TRY,
    endsAt: inTurn?.endsAt ?? work.turn.steady + asked.expiresAt - work.turn.now,
    taken: !isOrdered(work, { asked }),
    recalls: new Map(),
    waiting: new Set(asked.instances),
    promised: new Map(),
    groupKnown: new Map(),
    behind: null,
    outwaits: null,
    stranded: new Set(),
    drafts: new Map(),
    hopeless: null,
    failing: false,
    isCounted: false,
    gathering: gathersFirst(work, { key, asked }, inTurn !== undefined) ? new Set() : null,
    givingBack: null,
    turnOfProject: inTurn?.turnOfProject ?? null,
    repeats: 0,
    heldUnheard: new Set(),
    givenBack: new Set(),
    toldAwaiting: false,
  };
}

/** Begins with those that are not begun, as many as a turn has time for. */
function beginAll(work: Work, open: Open): void {
  const most = effort.looks + LOOKS_A_TURN;
  for (const instance of open.asked.instances.slice(open.machines.size)) {
    // One that had to give all back has begun again with all of them, or will.
    if (!isOpen(work, open) || open.failing || open.machines.has(instance) || open.givingBack !== null) return;
    if (work.state.awaitingRanking.has(open.key)) return;
    if (effort.looks >= most) {
      tellSelecting(work, open);
      return work.turn.wakeAfter(wakeId(BEGIN_WAKE, open.key), 0);
    }
    const { snapshot, effects } = begin(selectionMachine, { instance });
    open.machines.set(instance, snapshot);
    perform(work, open, instance, effects);
  }
  if (work.state.unplaced.has(open.key) && isWarmingUp(work)) tellSelecting(work, open);
}

export function goOnBeginning(work: Work, key: string): void {
  const open = work.state.open.get(key);
  if (open?.taken === true) beginAll(work, open);
}

export function taken(work: Work, { request, round, taker }: Take, from: Address): void {
  const open = work.state.open.get(requestKey(from, request));
  if (open === undefined || open.taken || open.asked.round !== round || taker !== open.taker) return;
  open.taken = true;
  beginAll(work, open);
}

export function advance(work: Work, open: Open, instance: string, event: SelectionEvent): void {
  const before = open.machines.get(instance);
  if (before === undefined) return;
  const { snapshot, effects } = step(selectionMachine, before, event);
  open.machines.set(instance, snapshot);
  perform(work, open, instance, effects);
}

function perform(work: Work, open: Open, instance: string, effects: readonly Effect[]): void {
  for (const { type } of effects) {
    if (type === 'rank') rank(work, open, instance);
    else if (type === 'claim') claim(work, open, instance);
    else if (type === 'recall') recall(work, open, instance);
    else if (type === 'pickAlternates') finish(work, open, instance);
    else if (type === 'explain') fail(work, open, instance);
  }
}

/** The best host that has not refused it, noted in the record of the decision. */
function bestFor(work: Work, open: Open, instance: string) {
  const { state } = work;
  const { tried } = contextOf(open, instance);
  const { request } = open;
  const draft = draftOf(open, instance);
  const seed = `${instance} ${tried.length}`;
  // Once some have their host, the others need room there each: it was counted for all.
  const { length: asked } = open.asked.instances;
  const isBegun = countToPlace(open) < asked;
  const toPlace = { count: isBegun ? 1 : asked, isOfSeveral: asked > 1, isCounted: open.isCounted };
  const picked = pickOfGroup(state, request, toPlace, (root) => tried.includes(root), seed);
  if (picked === null) {
    noteAll(draft, state, request, countToPlace(open));
    return null;
  }
  const { count } = toPlace;
  noteStanding(draft, state, request, count);
  noteRanked(draft, state, request, picked, count);
  return picked.found;
}

/** Goes on with the best host, if there is one. */
function tryBest(work: Work, open: Open, instance: string): boolean {
  const found = bestFor(work, open, instance);
  if (found === null) return false;
  const candidate = selectionOf(work.state, open.request, found);
  advance(work, open, instance, { type: 'RANKED', candidate });
  return true;
}

export function rank(work: Work, open: Open, instance: string): void {
  if (open.locating !== null || open.failing) return;
  if (work.state.isForming) return void work.state.unplaced.add(open.key);
  if (open.otherRule === undefined && mayHaveOtherRule(work.state.view, open.asked.spec)) return locate(work, open);
  if (awaitsRanking(work, open)) return;
  if (mustRecall(work, open, instance)) {
    return advance(work, open, instance, { type: 'NONE_FITS', reason: 'an earlier round may hold a host' });
  }
  const conflict = conflictOf(open);
  if (conflict !== null) return advance(work, open, instance, { type: 'NONE_FITS', reason: conflict });
  const isUntouched = open.gathering === null && open.drafts.size === 0;
  if (isUntouched && open.asked.instances.length > 1) {
    // The first is looked at for all; while nothing can be told, again whenever the request is said again.
    const isRoom = instance === open.asked.instances[0] ? isRoomForAll(work, open) : undefined;
    if (isRoom === undefined) return;
    // Claimed in vain, what some of them get would be missed by others until it is given back.
    if (!isRoom) open.gathering = new Set();
  }
  if (open.gathering !== null) return advance(work, open, instance, { type: 'NONE_FITS', reason: 'not tried yet' });
  if (tryBest(work, open, instance) || tryElsewhere(work, open, instance)) return;
  if (mayHaveMissed(work)) return void work.state.unplaced.add(open.key);
  if (awaitsSearch(work, open)) return;
  // While it is asked what it holds, what comes free is not for those who come later.
  if (mayWait(open)) keepPlace(work, open);
  advance(work, open, instance, { type: 'NONE_FITS', reason: whyNone(work.state, open.request, countToPlace(open)) });
}

/**
 * Asks for what an earlier ask was granted. One shard knows; of several each is asked once a round, before its first
 * claim, and from then on grants nothing to earlier ones: what this round claimed itself, it was refused.
 */
export function recall(work: Work, open: Open, instance: string): void {
  if (askAll(work, open, instance)) holdsNothing(work, open, instance);
}

export function holdsNothing(work: Work, open: Open, instance: string): void {
  // When it was looked at first nobody waited: those who do by now, and came before it, are not overtaken.
  if (open.gathering === null && mayWait(open) && isBehindOthers(work, open)) open.gathering = new Set();
  if (open.gathering === null || conflictOf(open) !== null) return lookOnceMore(work, open, instance);
  open.gathering.add(instance);
  gathered(work, open);
}

/** What placement said before it said that it holds nothing is known by now, so the ranking looks once more. */
export function lookOnceMore(work: Work, open: Open, instance: string): void {
  // While it is found out why there is none for one instance, a host that comes free would be claimed for another in vain.
  if (open.locating !== null || open.failing) return;
  const conflict = conflictOf(open);
  if (conflict !== null) {
    open.hopeless = GROUP_CONFLICT;
    noteAll(draftOf(open, instance), work.state, open.request, countToPlace(open));
    return advance(work, open, instance, { type: 'NOTHING_HELD', reason: conflict });
  }
  if (awaitsRanking(work, open)) return;
  if (tryBest(work, open, instance) || tryElsewhere(work, open, instance)) return;
  // Asked before anything was ranked, it may be too early to say that nothing fits.
  if (isOrdered(work, open) && mayHaveMissed(work)) return;
  if (awaitsSearch(work, open) || awaitsClaims(work, open)) return;
  if (open.promised.size > 0) return void open.stranded.add(instance);
  if (awaitsRivals(work, open)) return;
  const draft = draftOf(open, instance);
  draft.ofFitting = draft.claimsRefused > 0 ? REFUSED_THE_CLAIM : NOT_FOUND_IN_TIME;
  advance(work, open, instance, {
    type: 'NOTHING_HELD',
    reason: whyNone(work.state, open.request, countToPlace(open), draft.ofFitting),
  });
}

/** Why no host will do, where members of its group have another rule with any placement shard. */
function conflictOf({ asked, otherRule = null }: Open): string | null {
  return otherRule === null ? null : `${GROUP_CONFLICT}: ${conflictWords(asked.spec, otherRule)}`;
}

/** The host of a request that keeps together has no room for this one: all go elsewhere, if they can. */
function tryElsewhere(work: Work, open: Open, instance: string): boolean {
  const tried = triedTogether(work, open, instance);
  if (tried === null) return false;
  giveAllBack(work, open, (now) => {
    beginAgain(open, tried);
    for (const one of open.asked.instances) {
      if (!isOpen(now, open) || open.failing) return;
      if (open.machines.get(one)?.value === 'ranking') rank(now, open, one);
    }
  });
  return true;
}

/** Once it is known which instances hold nothing: they are placed together, or wait together. */
export function gathered(work: Work, open: Open): void {
  const rest = open.gathering;
  if (rest === null || rest.size < open.waiting.size) return;
  open.gathering = null;
  const isBehind = isBehindOthers(work, open);
  const isTried = !isBehind && (rest.size === 1 || notesRoom(work, open, rest.size));
  const isToFail = !isTried && !isBehind && !mayWait(open);
  const isTooEarly = () =>
    mayHaveMissed(work) || awaitsSearch(work, open) || awaitsClaims(work, open) || awaitsRivals(work, open);
  if (isToFail && isTooEarly()) {
    open.gathering = new Set();
    return;
  }
  // What some of them were granted before may have no room for the others any more.
  const [first] = rest;
  if (!isTried && !isBehind && first !== undefined && tryElsewhere(work, open, first)) return;
  for (const instance of [...rest]) {
    if (!isOpen(work, open) || open.failing || open.givingBack !== null) return;
    if (open.machines.get(instance)?.value !== 'recalling') continue;
    if (isTried) lookOnceMore(work, open, instance);
    else advance(work, open, instance, { type: 'NOTHING_HELD', reason: whyNotTried(work, open, instance, isBehind) });
  }
}
