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
import { whyNone } from './explain.ts';
import { mayHaveMissed } from './following.ts';
import { bestOfGroup } from './grouping.ts';
import { promiseMember } from './groups-view.ts';
import { learnLocated, locate, needsCompany } from './locating.ts';
import type { Open, Selected, SelectionSnapshot, Work } from './state.ts';
import { learnUsage, promise } from './view.ts';
import { expect } from './view-hosts.ts';
import { tellGranted } from './weighers/weigher.ts';

/** The most allocations in one answer; each takes some hundred bytes, and a message a megabyte at most. */
const MAX_ALLOCATIONS_TOLD = 1_000;

/** Refusals after which no other host would do. */
const HOPELESS: ReadonlySet<string> = new Set(['consumer-deleted', 'superseded', 'expired', 'group-policy-conflict']);

export function select(work: Work, asked: Select, from: Address): void {
  const key = asked.request;
  const standing = work.state.open.get(key);
  if (standing !== undefined && standing.asked.round >= asked.round) return;
  if (standing !== undefined) close(work, standing);
  const open: Open = {
    asked,
    from,
    request: { spec: asked.spec, where: asked.where, project: asked.project },
    locating: null,
    machines: new Map(),
    waiting: new Set(asked.instances),
    promised: new Map(),
    repeats: 0,
  };
  work.state.open.set(key, open);
  work.turn.wakeAt(`select ${key}`, work.turn.now + waitMs(work.patience, 0, key), placementAddress(0));
  if (needsCompany(open)) locate(work, open);
  for (const instance of asked.instances) {
    if (!work.state.open.has(key)) return;
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

function bestFor(work: Work, open: Open, instance: string) {
  const { tried } = contextOf(open, instance);
  const { rankings, view } = work.state;
  const together = open.waiting.size - open.promised.size;
  const seed = `${instance} ${tried.length}`;
  return bestOfGroup(rankings, view, open.request, together, (root) => tried.includes(root), seed);
}

function rank(work: Work, open: Open, instance: string): void {
  if (open.locating !== null) return;
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
  const reason = `${refusal.code}: ${refusal.message}`;
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
  }));
  for (const some of inMessages(selections)) {
    work.turn.send(open.from, { type: 'selected', request, round, selections: some });
  }
  close(work, open);
}

/** One instance has no host, so the request has none. What was claimed for the others is the asker's to give back. */
function fail(work: Work, open: Open, instance: string): void {
  const { request, round, instances } = open.asked;
  const { reason } = contextOf(open, instance);
  const which =
    instances.length === 1
      ? ''
      : `only ${instances.length - open.waiting.size} of ${instances.length} instances have a host: `;
  work.turn.send(open.from, { type: 'no-valid-host', request, round, reason: `${which}${reason}` });
  close(work, open);
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

/**
 * The selections of a request, in as many messages as it takes: with their alternates those of a large request are more
 * than one message may carry. Of one that is lost, the asker asks again.
 */
function inMessages(selections: readonly Selected[]): Selected[][] {
  const messages: Selected[][] = [];
  let room = 0;
  for (const one of selections) {
    const allocations = [one.selection, ...one.alternates].reduce(
      (sum, { allocations: { length } }) => sum + length,
      0,
    );
    if (messages.length === 0 || allocations > room) {
      messages.push([]);
      room = MAX_ALLOCATIONS_TOLD;
    }
    messages.at(-1)?.push(one);
    room -= allocations;
  }
  return messages;
}

/** Whether what is told of providers is told of those of a candidate. */
function concerns(usages: readonly ProviderUsage[], candidate: Selection | null): boolean {
  return candidate?.allocations.some(({ provider }) => usages.some(({ id }) => id === provider)) ?? false;
}
