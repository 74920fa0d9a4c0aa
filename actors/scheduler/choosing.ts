// Choosing hosts and claiming them: each instance of a request has a selection machine, stepped by what the ranking
// finds and what placement answers.

import type { Selection } from '../../machines/instance-build.ts';
import { type SelectionEvent, selection as selectionMachine } from '../../machines/selection.ts';
import { begin, type Effect, step } from '../../machines/step.ts';
import type { Address } from '../actor.ts';
import { waitMs } from '../builds.ts';
import type { InstanceGroup } from '../messages/common.ts';
import type { ClaimGranted, ClaimRefused, Located, ProviderUsage } from '../messages/placement.ts';
import type { Select } from '../messages/scheduler.ts';
import { placementAddress } from '../routing.ts';
import { alternatesFor, selectionOf } from './alternates.ts';
import { inMessages } from './answers.ts';
import { decided, emptyDraft, noteAll, noteRanked, noteRefused, noteStanding } from './decision.ts';
import { whyNone } from './explain.ts';
import { explainFailure } from './failing.ts';
import { mayHaveMissed } from './following.ts';
import { admits, anyAdmits, gathersFirst, noneTogether, placesFor } from './gangs.ts';
import { bestOfGroup } from './grouping.ts';
import { promiseMember } from './groups-view.ts';
import { learnLocated, locate, needsCompany } from './locating.ts';
import { lotOf, type ParkingHooks, park, queueUp, tryParked, unpark } from './parking.ts';
import type { Open, SelectionSnapshot, Work } from './state.ts';
import { learnUsage, promise } from './view.ts';
import { expect } from './view-hosts.ts';
import { tellGranted } from './weighers/weigher.ts';

/** Refusals after which no other host would do. */
const HOPELESS: ReadonlySet<string> = new Set(['consumer-deleted', 'superseded', 'expired', 'group-policy-conflict']);

/** @param served Whether it waited, and its turn has come. */
export function select(work: Work, asked: Select, from: Address, served = false): void {
  const key = asked.request;
  const standing = work.state.open.get(key);
  if (standing !== undefined && standing.asked.round >= asked.round) return;
  if (standing !== undefined) close(work, standing);
  unpark(work, key);
  const open: Open = {
    asked,
    from,
    request: { spec: asked.spec, where: asked.where, project: asked.project },
    locating: null,
    machines: new Map(),
    waiting: new Set(asked.instances),
    promised: new Map(),
    drafts: new Map(),
    hopeless: false,
    failing: false,
    gathering: gathersFirst(work, asked, served) ? new Set() : null,
    served,
    repeats: 0,
  };
  work.state.open.set(key, open);
  work.turn.wakeAt(`select ${key}`, work.turn.now + waitMs(work.patience, 0, key), placementAddress(0));
  if (needsCompany(open)) locate(work, open);
  for (const instance of asked.instances) {
    if (work.state.open.get(key) !== open || open.failing) return;
    work.state.selecting.set(instance, key);
    const { snapshot, effects } = begin(selectionMachine, { instance });
    open.machines.set(instance, snapshot);
    perform(work, open, instance, effects);
  }
}

function advance(work: Work, open: Open, instance: string, event: SelectionEvent): void {
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
    else if (type === 'recall') recall(work, instance);
    else if (type === 'pickAlternates') finishInstance(work, open, instance);
    else if (type === 'explain') fail(work, open, instance);
  }
}

/** The best host that has not refused it, noted in the record of the decision. */
function bestFor(work: Work, open: Open, instance: string) {
  const { rankings, view } = work.state;
  const { tried } = contextOf(open, instance);
  const { request } = open;
  const draft = draftOf(open, instance);
  const together = open.waiting.size - open.promised.size;
  const seed = `${instance} ${tried.length}`;
  const found = bestOfGroup(rankings, view, request, together, (root) => tried.includes(root), seed);
  if (found === null) {
    noteAll(draft, rankings, view, request);
  } else {
    noteStanding(draft, rankings, view, request);
    noteRanked(draft, rankings, view, request, found);
  }
  return found;
}

function draftOf(open: Open, instance: string) {
  let draft = open.drafts.get(instance);
  if (draft === undefined) {
    draft = emptyDraft();
    open.drafts.set(instance, draft);
  }
  return draft;
}

function rank(work: Work, open: Open, instance: string): void {
  if (open.locating !== null) return;
  if (open.gathering !== null) return advance(work, open, instance, { type: 'NONE_FITS', reason: 'not tried yet' });
  const found = bestFor(work, open, instance);
  if (found !== null) return advance(work, open, instance, { type: 'RANKED', candidate: selectionOf(found) });
  if (mayHaveMissed(work)) {
    work.state.unplaced.add(open.asked.request);
    return;
  }
  advance(work, open, instance, { type: 'NONE_FITS', reason: whyNone(work.state, open.request) });
}

function claim(work: Work, open: Open, instance: string): void {
  const { candidate } = contextOf(open, instance);
  const { allocations, provider } = candidate as Selection;
  const { spec, expiresAt } = open.asked;
  if (!open.promised.has(instance)) {
    open.promised.set(instance, candidate as Selection);
    promise(work.state.view, allocations, 1);
    expect(work.state.view, provider, 1);
    if (spec.instanceGroup !== undefined) count(work, spec.instanceGroup, candidate as Selection, 1);
  }
  work.turn.send(placementAddress(0), {
    type: 'claim',
    consumer: instance,
    attempt: 1,
    spec,
    allocations,
    keep: [],
    expiresAt,
  });
}

function recall(work: Work, instance: string): void {
  work.turn.send(placementAddress(0), { type: 'recall', consumer: instance, attempt: 1 });
}

/** What placement said before it said this is known by now, so the ranking looks once more. */
export function nothingHeld(work: Work, instance: string): void {
  const open = openOf(work, instance);
  if (open === undefined || open.machines.get(instance)?.value !== 'recalling') return;
  if (open.gathering !== null) {
    open.gathering.add(instance);
    return gathered(work, open);
  }
  const found = bestFor(work, open, instance);
  if (found !== null) return advance(work, open, instance, { type: 'RANKED', candidate: selectionOf(found) });
  advance(work, open, instance, { type: 'NOTHING_HELD', reason: whyNone(work.state, open.request) });
}

function settle(work: Work, open: Open, instance: string): void {
  const promised = open.promised.get(instance);
  if (promised === undefined) return;
  open.promised.delete(instance);
  promise(work.state.view, promised.allocations, -1);
  const group = open.asked.spec.instanceGroup;
  if (group !== undefined) count(work, group, promised, -1);
}

function count({ state }: Work, { id }: InstanceGroup, { provider }: Selection, sign: 1 | -1): void {
  promiseMember(state.view.groups, id, provider, sign);
}

export function granted(work: Work, { consumer, attempt, allocations, usages }: ClaimGranted): void {
  for (const usage of usages) learnUsage(work.state.view, usage);
  const open = openOf(work, consumer);
  if (open === undefined || attempt !== 1) return;
  settle(work, open, consumer);
  tellGranted(work.state.rankings.weighers, allocations);
  const root = work.state.view.providers.get(allocations[0]?.provider ?? '')?.root;
  const host = work.state.view.hosts.get(root ?? '');
  // An earlier ask was granted a host that this scheduler has not heard of yet: the asker will ask again.
  if (host === undefined) return;
  const held = { cell: host.cell, host: host.host, provider: host.root, allocations };
  advance(work, open, consumer, { type: 'GRANTED', held });
  if (open.gathering !== null && work.state.open.get(open.asked.request) === open) gathered(work, open);
}

/** Once it is known which instances hold nothing: they are placed together, or wait together. */
function gathered(work: Work, open: Open): void {
  const rest = open.gathering;
  if (rest === null || rest.size < open.waiting.size) return;
  open.gathering = null;
  const lot = lotOf(work, open.asked);
  if (lot !== undefined && !open.served) {
    close(work, open);
    return queueUp(work, HOOKS, lot, open);
  }
  const found = rest.size === 1 ? null : placesFor(work, open.request, rest.size);
  for (const instance of [...rest]) {
    if (work.state.open.get(open.asked.request) !== open || open.failing) return;
    if (rest.size === 1 || found !== null) nothingHeld(work, instance);
    else {
      noteAll(draftOf(open, instance), work.state.rankings, work.state.view, open.request);
      advance(work, open, instance, { type: 'NOTHING_HELD', reason: noneTogether(work, open, rest.size) });
    }
  }
}

const HOOKS: ParkingHooks = { admits, anyAdmits, select: (work, asked, from) => select(work, asked, from, true) };

/** Tries what waits, as far as something has come free for it: once a turn. */
export function serveParked(work: Work): void {
  tryParked(work, HOOKS);
}

export function refused(work: Work, { consumer, refusal, usages }: ClaimRefused): void {
  for (const usage of usages) learnUsage(work.state.view, usage);
  const open = openOf(work, consumer);
  if (open === undefined) return;
  const hopeless = HOPELESS.has(refusal.code);
  // A claim that was said twice is refused twice: the second time another host is being asked already.
  if (!hopeless && usages.length > 0 && !concerns(usages, contextOf(open, consumer).candidate)) return;
  if (open.promised.has(consumer)) expect(work.state.view, contextOf(open, consumer).candidate?.provider ?? '', -1);
  settle(work, open, consumer);
  if (!hopeless) work.state.conflicts += 1;
  const { candidate } = contextOf(open, consumer);
  if (candidate !== null) noteRefused(draftOf(open, consumer), candidate, refusal.code, refusal.message);
  const reason = `${refusal.code}: ${refusal.message}`;
  if (hopeless) open.hopeless = true;
  advance(work, open, consumer, { type: hopeless ? 'GAVE_UP' : 'REFUSED', reason });
}

function openOf(work: Work, instance: string): Open | undefined {
  return work.state.open.get(work.state.selecting.get(instance) ?? '');
}

function finishInstance(work: Work, open: Open, instance: string): void {
  open.waiting.delete(instance);
  if (open.waiting.size > 0) return;
  const { request, round, instances, alternates: wanted } = open.asked;
  const chosen = instances.map((one) => contextOf(open, one).candidate as Selection);
  const alternates = alternatesFor(work.state.rankings, work.state.view, open.request, chosen, wanted);
  const selections = instances.map((one, position) => ({
    instance: one,
    selection: chosen[position] as Selection,
    alternates: alternates[position] as Selection[],
    decision: decided(
      draftOf(open, one),
      work.turn.now,
      work.state.rankings.salt,
      chosen[position] as Selection,
      alternates[position] as Selection[],
    ),
  }));
  for (const some of inMessages(selections)) {
    work.turn.send(open.from, { type: 'selected', request, round, selections: some });
  }
  close(work, open);
}

/** One instance has no host, so the request has none. What was claimed for the others is the asker's to give back. */
function fail(work: Work, open: Open, instance: string): void {
  if (open.failing) return;
  open.failing = true;
  const { request, round, instances } = open.asked;
  const { reason } = contextOf(open, instance);
  const which =
    instances.length === 1
      ? ''
      : `only ${instances.length - open.waiting.size} of ${instances.length} instances have a host: `;
  explainFailure(work, open, draftOf(open, instance), `${which}${reason}`, (now, why, decision) => {
    close(now, open);
    if (open.asked.waits !== undefined && !open.hopeless) return park(now, HOOKS, open, why, decision);
    now.turn.send(open.from, { type: 'no-valid-host', request, round, reason: why, decision });
  });
}

function close(work: Work, open: Open): void {
  for (const instance of open.asked.instances) {
    settle(work, open, instance);
    work.state.selecting.delete(instance);
  }
  work.state.open.delete(open.asked.request);
  if (open.locating !== null) work.state.locating.delete(open.locating.ask);
  work.turn.cancelWake(`select ${open.asked.request}`);
}

function contextOf(open: Open, instance: string) {
  return (open.machines.get(instance) as SelectionSnapshot).context;
}

/** Says again what is not answered, unless the asker has given up. */
export function sayAgain(work: Work, request: string): void {
  const { state, turn, patience } = work;
  const open = state.open.get(request);
  if (open === undefined) return;
  if (turn.now >= open.asked.expiresAt) return close(work, open);
  open.repeats += 1;
  if (open.locating !== null) locate(work, open);
  for (const instance of [...open.waiting]) {
    const value = open.machines.get(instance)?.value;
    if (value === 'ranking') rank(work, open, instance);
    else if (value === 'claiming') claim(work, open, instance);
    else if (value === 'recalling') recall(work, instance);
    if (state.open.get(request) !== open) return;
  }
  turn.wakeAt(`select ${request}`, turn.now + waitMs(patience, open.repeats, request), placementAddress(0));
}

/** Placement has told where other instances are. */
export function located(work: Work, message: Located): void {
  const { state } = work;
  const open = state.open.get(state.locating.get(message.ask) ?? '');
  if (open === undefined || !learnLocated(open, message)) return;
  state.locating.delete(message.ask);
  for (const instance of open.asked.instances) {
    if (state.open.get(open.asked.request) !== open) return;
    if (open.machines.get(instance)?.value === 'ranking') rank(work, open, instance);
  }
}

/** Instances for which no host was known look again, now that more is. */
export function lookAgain(work: Work): void {
  const unplaced = [...work.state.unplaced];
  work.state.unplaced.clear();
  for (const request of unplaced) {
    const open = work.state.open.get(request);
    for (const instance of open?.asked.instances ?? []) {
      if (open === undefined || work.state.open.get(request) !== open) break;
      if (open.machines.get(instance)?.value === 'ranking') rank(work, open, instance);
    }
  }
}

/** Whether what is told of providers is told of those of a candidate. */
function concerns(usages: readonly ProviderUsage[], candidate: Selection | null): boolean {
  return candidate?.allocations.some(({ provider }) => usages.some(({ id }) => id === provider)) ?? false;
}
