// Keeping the view by the feeds: what is heard is learned, what was missed is asked for, page by page.

import { waitMs } from '../builds.ts';
import { FEED_BEAT_MS } from '../feed-beat.ts';
import type { ProvidersChanged, ProvidersPage } from '../messages/placement.ts';
import type { Silence } from '../messages/questions.ts';
import type { HostsChanged, HostsPage } from '../messages/scheduler.ts';
import { cellAddress, placementAddress } from '../routing.ts';
import { timeTold } from '../times.ts';
import { wakeId } from '../wakes.ts';
import { buildsMatter } from './ranking/ranking.ts';
import type { Work } from './state.ts';
import { cellFeed, type Follower, follow, newFollower, placementFeed, type Teller } from './view/feeds.ts';
import { noteCell, noteShard, type Silent } from './view/silence.ts';
import {
  forgetEarly,
  forgetGenerations,
  forgetUnlisted,
  learnChanges,
  learnProvidersPage,
  type View,
} from './view/view.ts';
import { expectNoMore, forgetHost, forgetUnlistedHosts, learnHosts, learnHostsPage } from './view/view-hosts.ts';

const PAGE = 500;

/** For how many times the warm-up a scheduler waits for the cells of hosts that only placement has told of. */
export const UNHEARD_FOR_WARM_UPS = 4;

/** For how long a cell without hosts may be unheard before it counts as given up, ms. */
const GIVEN_UP_MS = 600_000;

export const SILENCE_WAKE = 'silence';
export const RESYNC_WAKE = 'resync';

/** Those who follow all placement shards, of which nothing is heard yet. */
export function followersOfPlacement(shards: number): Map<string, Follower> {
  return new Map(Array.from({ length: shards }, (_, shard) => [placementFeed(shard), newFollower({ shard })]));
}

export function providersChanged(work: Work, message: ProvidersChanged): void {
  const { view, followers } = work.state;
  const feed = placementFeed(message.shard);
  // In another life of the shard its providers may count their changes anew.
  if (message.epoch !== followers.get(feed)?.epoch) forgetGenerations(view, message.shard);
  learnChanges(view, message);
  for (const consumer of message.deleted ?? []) expectNoMore(view, consumer);
  heard(work, feed, { shard: message.shard }, message, isBeat(message));
  const follower = followers.get(feed);
  if (follower === undefined) return;
  // Of what is not there by now no page that is on its way will tell.
  if (follower.ask === null) return forgetEarly(view, message.shard);
  // What is told between two pages is there, though it may stand on neither.
  for (const { id } of message.changed) follower.listed.add(id);
  for (const id of message.removed) follower.goneAt.set(id, message.sequence);
}

export function hostsChanged(work: Work, message: HostsChanged): void {
  const { view, followers } = work.state;
  const { cell, hosts, gone = [] } = message;
  const feed = cellFeed(cell);
  for (const root of gone) forgetHost(view, cell, root);
  learnHosts(view, message);
  heard(work, feed, { cell }, message, hosts.length === 0 && gone.length === 0);
  const follower = followers.get(feed);
  if (follower === undefined) return;
  follower.disabled = message.disabled;
  if (follower.ask === null) return;
  for (const { provider } of hosts) follower.listed.add(provider);
}

/** Asks for the whole of what a feed tells of, from the first page. */
export function resync(work: Work, feed: string): void {
  const follower = work.state.followers.get(feed) as Follower;
  forgetPages(follower);
  askPage(work, feed, follower, undefined);
}

function forgetPages(follower: Follower): void {
  follower.listed.clear();
  follower.goneAt.clear();
  follower.hasMissedMore = false;
}

function askPage(work: Work, feed: string, follower: Follower, after: string | undefined): void {
  work.state.asks += 1;
  Object.assign(follower, { ask: work.state.asks, after, repeats: 0 });
  sayPage(work, feed, follower, work.state.asks);
}

/** Asks for the same page once more: by the same number, for its answer may only be late. */
export function askPageAgain(work: Work, feed: string): void {
  const follower = work.state.followers.get(feed);
  if (follower === undefined || follower.ask === null) return;
  follower.repeats += 1;
  sayPage(work, feed, follower, follower.ask);
}

function sayPage(work: Work, feed: string, { of, after, repeats }: Follower, ask: number): void {
  const { cell, shard } = of;
  const page = { ask, limit: PAGE, ...(after === undefined ? {} : { after }) };
  const teller = cell === undefined ? placementAddress(shard) : cellAddress(cell);
  if (cell === undefined) work.turn.send(teller, { type: 'list-providers', ...page });
  else work.turn.send(teller, { type: 'list-hosts', ...page, followsBuilds: buildsMatter(work.state.rankings) });
  work.turn.wakeAfter(wakeId(RESYNC_WAKE, feed), waitMs(work.patience, repeats), teller);
}

function heard(
  work: Work,
  feed: string,
  of: Teller,
  { epoch, sequence }: Pick<HostsChanged, 'epoch' | 'sequence'>,
  tellsNoChange: boolean,
): void {
  let follower = work.state.followers.get(feed);
  if (follower === undefined) {
    follower = newFollower(of);
    work.state.followers.set(feed, follower);
    work.state.incomplete.add(follower);
    work.state.view.revision += 1;
  }
  follower.heardAt = work.turn.steady;
  follower.saidAt = work.turn.now;
  follower.said = work.turn.steady;
  if (of.cell === undefined) noteShard(work.state.view, of.shard, false);
  else noteCell(work.state.view, of.cell, false);
  const isInOneLife = follower.epoch === epoch;
  if (!follow(follower, epoch, sequence, tellsNoChange)) return;
  // Where the whole is long, a further number may be missed before the last page: then it is asked for once more after that.
  if (isInOneLife && follower.ask !== null) follower.hasMissedMore = true;
  else resync(work, feed);
}

export function pageCame(work: Work, page: ProvidersPage | HostsPage): void {
  const feed = page.type === 'providers' ? placementFeed(page.shard) : cellFeed(page.cell);
  const follower = work.state.followers.get(feed);
  if (follower === undefined || follower.ask !== page.ask || isOutdated(follower, page)) return;
  if (page.type === 'providers') learnProvidersPage(work.state.view, withoutGone(page, follower), follower.listed);
  else learnHostsPage(work.state.view, page, follower.listed);
  if (page.next !== null) return askPage(work, feed, follower, page.next);
  if (page.type === 'providers') forgetUnlisted(work.state.view, follower.listed, page.shard);
  else forgetUnlistedHosts(work.state.view, follower.listed, page.cell);
  if (follower.hasMissedMore) return resync(work, feed);
  work.state.incomplete.delete(follower);
  forgetPages(follower);
  follower.ask = null;
  work.turn.cancelWake(wakeId(RESYNC_WAKE, feed));
}

/** Whether this scheduler has only just begun. */
export function isWarmingUp({ state, turn, warmUpMs }: Work): boolean {
  return turn.steady < state.startedAt + warmUpMs;
}

/**
 * Whether there may be hosts that this scheduler has not heard of, so that it must not say that none fits: it has only
 * just begun, or is being told the whole of a feed that speaks, or knows of providers whose hosts no cell has told yet.
 * Providers may be without hosts for good, so for these it waits only in its first ten seconds or so.
 */
export function mayHaveMissed(work: Work): boolean {
  return mayHaveMissedHosts(work) || untoldShards(work).length > 0;
}

/** The same, as far as cells tell of hosts. */
export function mayHaveMissedHosts(work: Work): boolean {
  const { state, turn, warmUpMs, silentMs } = work;
  const { view, incomplete, startedAt } = state;
  if (isWarmingUp(work)) return true;
  for (const { of, heardAt } of incomplete) {
    if (of.cell !== undefined && turn.steady < heardAt + silentMs) return true;
  }
  return turn.steady < startedAt + warmUpMs * UNHEARD_FOR_WARM_UPS && lacksHosts(view);
}

/** Whether no cell has told of any host, or of the host of some tree of providers. */
function lacksHosts({ hosts, hostless }: View): boolean {
  return hosts.size === 0 || hostless.size > 0;
}

/** The placement shards that have not told of all their providers yet. */
export function untoldShards({ state: { incomplete } }: Work): number[] {
  const shards: number[] = [];
  for (const { of } of incomplete) if (of.shard !== undefined) shards.push(of.shard);
  return shards;
}

/**
 * Whether this scheduler, which has only just begun, does not know the whole fleet yet, so that it must not choose among
 * the part that it knows. It waits no longer than its warm-up: a cell may be away, and providers without hosts for good.
 */
export function isForming(work: Work): boolean {
  const { view, incomplete } = work.state;
  return isWarmingUp(work) && (incomplete.size > 0 || lacksHosts(view));
}

/** Notes the cells and placement shards whose feeds, which beat at a steady pace, are heard no more. */
export function noticeSilence(work: Work): void {
  const { state, turn, silentMs } = work;
  // A scheduler that was held up could hear nobody.
  const wasHeldUp = turn.steady - state.sweptAt > 2 * FEED_BEAT_MS;
  state.sweptAt = turn.steady;
  for (const follower of state.followers.values()) {
    const { cell, shard } = follower.of;
    if (wasHeldUp) follower.heardAt = turn.steady;
    else if (turn.steady - follower.heardAt < silentMs) continue;
    else if (cell !== undefined) cellIsSilent(work, cell, follower);
    else noteShard(state.view, shard, true);
  }
  turn.wakeAfter(SILENCE_WAKE, FEED_BEAT_MS);
}

/**
 * Since when those are silent of whom nothing was heard lately; undefined when nobody is. Of whom nothing was heard at all
 * since this scheduler came up there is no such time.
 */
export function silencesOf(
  { state: { followers }, turn }: Work,
  { silentCells, silentShards }: Silent,
): Silence[] | undefined {
  const silenceOf = (who: Pick<Silence, 'cell' | 'shard'>, feed: string): Silence[] => {
    const { saidAt = 0, said = 0 } = followers.get(feed) ?? {};
    return saidAt === 0 ? [] : [{ ...who, since: timeTold(saidAt, said, turn) }];
  };
  const silences = [
    ...silentCells.flatMap((cell) => silenceOf({ cell }, cellFeed(cell))),
    ...silentShards.flatMap((shard) => silenceOf({ shard }, placementFeed(shard))),
  ];
  return silences.length === 0 ? undefined : silences;
}

/** A cell that nobody has served for long, and that has no hosts, has been given up: it is known no more. */
function cellIsSilent({ state: { view, followers, incomplete }, turn }: Work, cell: string, follower: Follower): void {
  const feed = cellFeed(cell);
  if (turn.steady - follower.heardAt < GIVEN_UP_MS || view.hostsIn.has(cell)) {
    noteCell(view, cell, true);
    return;
  }
  noteCell(view, cell, false);
  view.revision += 1;
  followers.delete(feed);
  incomplete.delete(follower);
  turn.cancelWake(wakeId(RESYNC_WAKE, feed));
}

/** Whether a feed message tells no change, but only the number of the last one. */
function isBeat({ changed, used, removed, deleted = [] }: ProvidersChanged): boolean {
  return changed.length === 0 && used.length === 0 && removed.length === 0 && deleted.length === 0;
}

/** A page without what the feed, which overtook it, has told to be gone. */
function withoutGone(page: ProvidersPage, { goneAt }: Follower): ProvidersPage {
  if (goneAt.size === 0) return page;
  return { ...page, providers: page.providers.filter(({ id }) => (goneAt.get(id) ?? -1) <= page.sequence) };
}

/**
 * Whether a page tells less than the feed has told: it is of another life of the teller, who may have lost its place to
 * another, or it was overtaken on its way. Providers are told with generations: of them the newer is known by itself.
 */
function isOutdated({ epoch, sequence }: Follower, page: ProvidersPage | HostsPage): boolean {
  if (epoch === -1) return false;
  return page.epoch !== epoch || (page.type === 'hosts' && page.sequence < sequence);
}
