// A scheduler: it chooses hosts and claims them, there and then, at placement. It owns nothing. Its view may be stale;
// placement decides, a refusal mends the view, and the next best host is tried. Any number of schedulers may run.
// It keeps no record of what it does: an asker that hears nothing asks again, whoever answers then finds what was
// claimed already, because placement answers a claim for a consumer that holds one with what it holds.
//
// It takes: select (from conductors), claim-granted, claim-refused, nothing-held, providers, providers-changed (from placement),
// hosts, hosts-changed (from cells). See actors/messages/scheduler.ts.

import type { Allocation, Selection } from '../../machines/instance-build.ts';
import { type SelectionEvent, selection as selectionMachine } from '../../machines/selection.ts';
import { begin, type Effect, step } from '../../machines/step.ts';
import type { Actor, Address, Turn, Wake } from '../actor.ts';
import { type Patience, waitMs } from '../builds.ts';
import type {
  ClaimGranted,
  ClaimRefused,
  ProvidersChanged,
  ProvidersPage,
  ProviderUsage,
} from '../messages/placement.ts';
import type { HostsChanged, HostsPage, SchedulerMessage, Select } from '../messages/scheduler.ts';
import { cellAddress, placementAddress } from '../routing.ts';
import { alternatesFor, selectionOf } from './alternates.ts';
import { whyNone } from './explain.ts';
import { type Follower, follow, newFollower } from './feeds.ts';
import { best, emptyRankings, type Rankings } from './ranking.ts';
import {
  emptyView,
  forgetGenerations,
  forgetUnlisted,
  learnChanges,
  learnHosts,
  learnProvidersPage,
  learnUsage,
  promise,
  type View,
} from './view.ts';
import { DEFAULT_WEIGHERS, type Weigher } from './weighers.ts';

export interface SchedulerOptions {
  /** Names this scheduler among others; it also orders hosts of equal weight, so that schedulers do not collide. */
  readonly name: string;
  readonly weighers?: readonly Weigher[];
  /** How long to wait for an answer before a question is put again. */
  readonly patience?: Patience;
  /**
   * How long after its start a scheduler that finds no host waits for feeds that it may not have heard yet, ms: more
   * than two beats of a feed.
   */
  readonly warmUpMs?: number;
}

const DEFAULTS = { patience: { firstMs: 1_000, mostMs: 5_000 }, warmUpMs: 2_500 } as const;
const PAGE = 500;
/** The most allocations in one answer; each takes some hundred bytes, and a message a megabyte at most. */
const MAX_ALLOCATIONS_TOLD = 1_000;

type SelectionSnapshot = ReturnType<typeof begin<typeof selectionMachine>>['snapshot'];

/** What was chosen for an instance. */
interface Selected {
  readonly instance: string;
  readonly selection: Selection;
  readonly alternates: readonly Selection[];
}

/** A selection under way. */
interface Open {
  readonly asked: Select;
  readonly from: Address;
  readonly machines: Map<string, SelectionSnapshot>;
  /** Instances that have no answer yet. */
  readonly waiting: Set<string>;
  /** What was claimed and is not answered, by instance. */
  readonly promised: Map<string, readonly Allocation[]>;
  repeats: number;
}

export interface SchedulerState {
  readonly view: View;
  readonly rankings: Rankings;
  readonly open: Map<string, Open>;
  /** Which selection an instance belongs to. */
  readonly selecting: Map<string, string>;
  /** By feed: `placement 0`, `cell c1`. */
  readonly followers: Map<string, Follower>;
  /** Requests with an instance for which no host was known when it was looked for. */
  readonly unplaced: Set<string>;
  asks: number;
  startedAt: number;
  /** Claims that placement refused: what a stale view cost. */
  conflicts: number;
}

type SchedulerTurn = Turn<never>;

export function scheduler(options: SchedulerOptions): Actor<SchedulerState, SchedulerMessage, never> {
  const patience = options.patience ?? DEFAULTS.patience;
  const warmUpMs = options.warmUpMs ?? DEFAULTS.warmUpMs;

  function init(): SchedulerState {
    return {
      view: emptyView(),
      rankings: emptyRankings(options.weighers ?? DEFAULT_WEIGHERS, options.name),
      open: new Map(),
      selecting: new Map(),
      followers: new Map([['placement 0', newFollower()]]),
      unplaced: new Set(),
      asks: 0,
      startedAt: 0,
      conflicts: 0,
    };
  }

  // --- choosing and claiming

  function select(state: SchedulerState, asked: Select, from: Address, turn: SchedulerTurn): void {
    const key = asked.request;
    const standing = state.open.get(key);
    if (standing !== undefined && standing.asked.round >= asked.round) return;
    if (standing !== undefined) close(state, standing, turn);
    const open: Open = {
      asked,
      from,
      machines: new Map(),
      waiting: new Set(asked.instances),
      promised: new Map(),
      repeats: 0,
    };
    state.open.set(key, open);
    turn.wakeAt(`select ${key}`, turn.now + waitMs(patience, 0));
    for (const instance of asked.instances) {
      if (!state.open.has(key)) return;
      state.selecting.set(instance, key);
      const { snapshot, effects } = begin(selectionMachine, { instance });
      open.machines.set(instance, snapshot);
      perform(state, open, instance, effects, turn);
    }
  }

  function advance(
    state: SchedulerState,
    open: Open,
    instance: string,
    event: SelectionEvent,
    turn: SchedulerTurn,
  ): void {
    const before = open.machines.get(instance);
    if (before === undefined) return;
    const { snapshot, effects } = step(selectionMachine, before, event);
    open.machines.set(instance, snapshot);
    perform(state, open, instance, effects, turn);
  }

  function perform(
    state: SchedulerState,
    open: Open,
    instance: string,
    effects: readonly Effect[],
    turn: SchedulerTurn,
  ): void {
    for (const { type } of effects) {
      if (type === 'rank') rank(state, open, instance, turn);
      else if (type === 'claim') claim(state, open, instance, turn);
      else if (type === 'recall') recall(instance, turn);
      else if (type === 'pickAlternates') finishInstance(state, open, instance, turn);
      else if (type === 'explain') fail(state, open, instance, turn);
    }
  }

  function bestFor(state: SchedulerState, open: Open, instance: string) {
    const { tried } = contextOf(open, instance);
    return best(state.rankings, state.view, open.asked.spec, (root) => tried.includes(root));
  }

  function rank(state: SchedulerState, open: Open, instance: string, turn: SchedulerTurn): void {
    const found = bestFor(state, open, instance);
    if (found !== null) return advance(state, open, instance, { type: 'RANKED', candidate: selectionOf(found) }, turn);
    // A scheduler that has only just begun may not have heard of every host: it looks again when it has.
    if (turn.now < state.startedAt + warmUpMs || !(state.followers.get('placement 0') as Follower).complete) {
      state.unplaced.add(open.asked.request);
      return;
    }
    advance(state, open, instance, { type: 'NONE_FITS', reason: whyNone(state.view, open.asked.spec) }, turn);
  }

  function claim(state: SchedulerState, open: Open, instance: string, turn: SchedulerTurn): void {
    const { candidate } = contextOf(open, instance);
    const { allocations } = candidate as Selection;
    const { spec, expiresAt } = open.asked;
    if (!open.promised.has(instance)) {
      open.promised.set(instance, allocations);
      promise(state.view, allocations, 1);
    }
    turn.send(placementAddress(0), {
      type: 'claim',
      consumer: instance,
      attempt: 1,
      spec,
      allocations,
      keep: [],
      expiresAt,
    });
  }

  function recall(instance: string, turn: SchedulerTurn): void {
    turn.send(placementAddress(0), { type: 'recall', consumer: instance, attempt: 1 });
  }

  /** What placement said before it said this is known by now, so the ranking looks once more. */
  function nothingHeld(state: SchedulerState, instance: string, turn: SchedulerTurn): void {
    const open = openOf(state, instance);
    if (open === undefined || open.machines.get(instance)?.value !== 'recalling') return;
    const found = bestFor(state, open, instance);
    if (found !== null) return advance(state, open, instance, { type: 'RANKED', candidate: selectionOf(found) }, turn);
    advance(state, open, instance, { type: 'NOTHING_HELD', reason: whyNone(state.view, open.asked.spec) }, turn);
  }

  function settle(state: SchedulerState, open: Open, instance: string): void {
    const allocations = open.promised.get(instance);
    if (allocations === undefined) return;
    open.promised.delete(instance);
    promise(state.view, allocations, -1);
  }

  function granted(
    state: SchedulerState,
    { consumer, attempt, allocations, usages }: ClaimGranted,
    turn: SchedulerTurn,
  ): void {
    for (const usage of usages) learnUsage(state.view, usage);
    const open = openOf(state, consumer);
    if (open === undefined || attempt !== 1) return;
    settle(state, open, consumer);
    const root = state.view.providers.get(allocations[0]?.provider ?? '')?.root;
    const host = state.view.hosts.get(root ?? '');
    // An earlier ask was granted a host that this scheduler has not heard of yet: the asker will ask again.
    if (host === undefined) return;
    const held = { cell: host.cell, host: host.host, provider: host.root, allocations };
    advance(state, open, consumer, { type: 'GRANTED', held }, turn);
  }

  function refused(state: SchedulerState, { consumer, refusal, usages }: ClaimRefused, turn: SchedulerTurn): void {
    for (const usage of usages) learnUsage(state.view, usage);
    const open = openOf(state, consumer);
    if (open === undefined) return;
    const hopeless = refusal.code === 'consumer-deleted' || refusal.code === 'superseded' || refusal.code === 'expired';
    // A claim that was said twice is refused twice: the second time another host is being asked already.
    if (!hopeless && usages.length > 0 && !concerns(usages, contextOf(open, consumer).candidate)) return;
    settle(state, open, consumer);
    if (!hopeless) state.conflicts += 1;
    const reason = `${refusal.code}: ${refusal.message}`;
    advance(state, open, consumer, { type: hopeless ? 'GAVE_UP' : 'REFUSED', reason }, turn);
  }

  function openOf(state: SchedulerState, instance: string): Open | undefined {
    return state.open.get(state.selecting.get(instance) ?? '');
  }

  function finishInstance(state: SchedulerState, open: Open, instance: string, turn: SchedulerTurn): void {
    open.waiting.delete(instance);
    if (open.waiting.size > 0) return;
    const { request, round, instances, spec, alternates: wanted } = open.asked;
    const chosen = instances.map((one) => contextOf(open, one).candidate as Selection);
    const alternates = alternatesFor(state.rankings, state.view, spec, chosen, wanted);
    const selections = instances.map((one, position) => ({
      instance: one,
      selection: chosen[position] as Selection,
      alternates: alternates[position] as Selection[],
    }));
    for (const some of inMessages(selections)) {
      turn.send(open.from, { type: 'selected', request, round, selections: some });
    }
    close(state, open, turn);
  }

  /** One instance has no host, so the request has none. What was claimed for the others is the asker's to give back. */
  function fail(state: SchedulerState, open: Open, instance: string, turn: SchedulerTurn): void {
    const { request, round, instances } = open.asked;
    const { reason } = contextOf(open, instance);
    const which =
      instances.length === 1
        ? ''
        : `only ${instances.length - open.waiting.size} of ${instances.length} instances have a host: `;
    turn.send(open.from, { type: 'no-valid-host', request, round, reason: `${which}${reason}` });
    close(state, open, turn);
  }

  function close(state: SchedulerState, open: Open, turn: SchedulerTurn): void {
    for (const instance of open.asked.instances) {
      settle(state, open, instance);
      state.selecting.delete(instance);
    }
    state.open.delete(open.asked.request);
    turn.cancelWake(`select ${open.asked.request}`);
  }

  function contextOf(open: Open, instance: string) {
    return (open.machines.get(instance) as SelectionSnapshot).context;
  }

  // --- following the feeds

  /** Asks for the whole of what a feed tells of, from the first page. */
  function resync(state: SchedulerState, feed: string, turn: SchedulerTurn): void {
    const follower = state.followers.get(feed) as Follower;
    follower.listed.clear();
    askPage(state, feed, follower, undefined, turn);
  }

  function askPage(
    state: SchedulerState,
    feed: string,
    follower: Follower,
    after: string | undefined,
    turn: SchedulerTurn,
  ): void {
    state.asks += 1;
    follower.ask = state.asks;
    follower.askedAt = turn.now;
    const [kind, which] = feed.split(' ') as [string, string];
    const from = after === undefined ? {} : { after };
    if (kind === 'placement')
      turn.send(placementAddress(Number(which)), { type: 'list-providers', ask: state.asks, limit: PAGE, ...from });
    else turn.send(cellAddress(which), { type: 'list-hosts', ask: state.asks, limit: PAGE, ...from });
    turn.wakeAt(`resync ${feed}`, turn.now + waitMs(patience, 0));
  }

  function heard(
    state: SchedulerState,
    feed: string,
    { epoch, sequence }: Pick<HostsChanged, 'epoch' | 'sequence'>,
    isBeat: boolean,
    turn: SchedulerTurn,
  ): void {
    let follower = state.followers.get(feed);
    if (follower === undefined) {
      follower = newFollower();
      state.followers.set(feed, follower);
    }
    if (follow(follower, epoch, sequence, isBeat)) resync(state, feed, turn);
    lookAgain(state, turn);
  }

  function pageCame(state: SchedulerState, feed: string, page: ProvidersPage | HostsPage, turn: SchedulerTurn): void {
    const follower = state.followers.get(feed);
    if (follower === undefined || follower.ask !== page.ask || isOutdated(follower, page)) return;
    if (page.type === 'providers') learnProvidersPage(state.view, page, follower.listed);
    else learnHosts(state.view, page);
    if (page.next !== null) return askPage(state, feed, follower, page.next, turn);
    if (page.type === 'providers') forgetUnlisted(state.view, follower.listed);
    follower.ask = null;
    follower.complete = true;
    turn.cancelWake(`resync ${feed}`);
    lookAgain(state, turn);
  }

  /** Instances for which no host was known look again, now that more is. */
  function lookAgain(state: SchedulerState, turn: SchedulerTurn): void {
    const unplaced = [...state.unplaced];
    state.unplaced.clear();
    for (const request of unplaced) {
      const open = state.open.get(request);
      for (const instance of open?.asked.instances ?? []) {
        if (open === undefined || state.open.get(request) !== open) break;
        if (open.machines.get(instance)?.value === 'ranking') rank(state, open, instance, turn);
      }
    }
  }

  // --- the contract

  function receive(state: SchedulerState, message: SchedulerMessage | Wake, from: Address, turn: SchedulerTurn): void {
    switch (message.type) {
      case 'select':
        return select(state, message, from, turn);
      case 'claim-granted':
        return granted(state, message, turn);
      case 'claim-refused':
        return refused(state, message, turn);
      case 'nothing-held':
        return nothingHeld(state, message.consumer, turn);
      case 'released':
        return;
      case 'providers-changed': {
        const feed = `placement ${message.shard}`;
        // In another life of the shard its providers may count their changes anew.
        if (message.epoch !== state.followers.get(feed)?.epoch) forgetGenerations(state.view);
        learnChanges(state.view, message);
        heard(state, feed, message, isProvidersBeat(message), turn);
        // What is told between two pages is there, though it may stand on neither.
        for (const { id } of message.changed) state.followers.get(feed)?.listed.add(id);
        return;
      }
      case 'hosts-changed':
        learnHosts(state.view, message);
        return heard(state, `cell ${message.cell}`, message, message.hosts.length === 0, turn);
      case 'providers':
        return pageCame(state, `placement ${message.shard}`, message, turn);
      case 'hosts':
        return pageCame(state, `cell ${message.cell}`, message, turn);
      case 'wake':
        return wake(state, message.id, turn);
    }
  }

  function wake(state: SchedulerState, id: string, turn: SchedulerTurn): void {
    const kind = id.slice(0, id.indexOf(' '));
    const rest = id.slice(kind.length + 1);
    if (kind === 'resync') return resync(state, rest, turn);
    if (kind === 'warm') return lookAgain(state, turn);
    const open = state.open.get(rest);
    if (open === undefined) return;
    if (turn.now >= open.asked.expiresAt) return close(state, open, turn);
    open.repeats += 1;
    for (const instance of [...open.waiting]) {
      const value = open.machines.get(instance)?.value;
      if (value === 'ranking') rank(state, open, instance, turn);
      else if (value === 'claiming') claim(state, open, instance, turn);
      else if (value === 'recalling') recall(instance, turn);
      if (state.open.get(rest) !== open) return;
    }
    turn.wakeAt(id, turn.now + waitMs(patience, open.repeats));
  }

  function recover(state: SchedulerState, turn: SchedulerTurn): void {
    state.startedAt = turn.now;
    for (const feed of state.followers.keys()) resync(state, feed, turn);
    turn.wakeAt('warm up', turn.now + warmUpMs);
  }

  return { init, receive, apply() {}, recover, snapshot: () => null, restore: init };
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

/** Whether a feed message tells no change, but only the number of the last one. */
function isProvidersBeat({ changed, used, removed }: ProvidersChanged): boolean {
  return changed.length === 0 && used.length === 0 && removed.length === 0;
}

/**
 * Whether a page tells less than the feed has told: it is of another life of the teller, who may have lost its place to
 * another, or it was overtaken on its way. Providers are told with generations, by which the newer is known by itself.
 */
function isOutdated({ epoch, sequence }: Follower, page: ProvidersPage | HostsPage): boolean {
  if (epoch === -1) return false;
  return page.epoch !== epoch || (page.type === 'hosts' && page.sequence < sequence);
}

/** Whether what is told of providers is told of those of a candidate. */
function concerns(usages: readonly ProviderUsage[], candidate: Selection | null): boolean {
  return candidate?.allocations.some(({ provider }) => usages.some(({ id }) => id === provider)) ?? false;
}
