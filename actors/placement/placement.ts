// A placement shard: the one authority over its providers and over who holds what of them. Its mailbox is the mailbox
// of each of its providers: claims on a provider are decided one at a time, in order of arrival, in memory, against
// the state that all earlier decisions left. So nothing can be over-committed, no claim is refused that fitted, and
// no caller is ever asked to try again.
//
// It takes what actors/messages/placement.ts names, what callers of the OpenStack Placement API ask (placement-api.ts there,
// in api.ts here), and what shards say to each other: of changes over several of them (transactions.ts) and of groups
// (group-homes.ts).

import type { Allocation } from '../../machines/instance-build.ts';
import type { Actor, Address, Turn, Wake } from '../actor.ts';
import { FORGET_WAKE, forgetAgainMs, forgetFirstMs } from '../deleted.ts';
import { BEAT_WAKE, FEED_BEAT_MS } from '../feed-beat.ts';
import type { GroupHomeMessage } from '../messages/group-homes.ts';
import type { ConsumerState, PlacementMessage, ProvidersChanged } from '../messages/placement.ts';
import type { PlacementApiMessage } from '../messages/placement-api.ts';
import type { TransactionMessage } from '../messages/transactions.ts';
import { onOnePage, page } from '../page.ts';
import { placementFeedAddress } from '../routing.ts';
import { atOnce, joined } from '../snapshot.ts';
import { readWake } from '../wakes.ts';
import { workWith } from '../work.ts';
import { takeApi } from './api/api.ts';
import { LOOK_WAKE, lookFurther } from './api/looks.ts';
import { applyToPlacement } from './apply.ts';
import { claim } from './claiming.ts';
import type { Consumer } from './consumers.ts';
import { forgetOld } from './forgetting.ts';
import { sweepGroupHomes, takeGroupHome } from './group-keeping.ts';
import { askAgain } from './holding.ts';
import { park, takeReady } from './parking.ts';
import { stateOf, usageOf } from './providers.ts';
import { locate, recall, unclaim } from './recalling.ts';
import type { PlacementRecord } from './records.ts';
import { release } from './releasing.ts';
import { emptyPlacement, type PlacementState } from './state.ts';
import { restorePlacement, type StoredPlacement, storePlacement } from './store.ts';
import { pursue, TRANSACTION_WAKE, takeTransaction, wakeTransaction } from './together.ts';
import { putTree } from './told-trees.ts';
import { withdrawTree } from './withdraw-tree.ts';
import type { ShardWork } from './work.ts';

export interface PlacementOptions {
  readonly shard: number;
  /** How many shards the deployment has; default 1. */
  readonly shards?: number;
  /**
   * How long a deleted consumer is remembered, ms; default an hour. It must be longer than any claim may be under way: claims carry
   * the time at which they expire, so an hour leaves room for clocks that differ by most of it.
   */
  readonly rememberDeletedMs?: number;
}

const HOUR_MS = 3_600_000;
/** Providers in one message of the feed; fewer when they are large. */
const MAX_PROVIDERS_TOLD = 100;

type Incoming = PlacementMessage | PlacementApiMessage | TransactionMessage | GroupHomeMessage;

export function placement(options: PlacementOptions): Actor<PlacementState, Incoming, PlacementRecord> {
  const { shards = 1 } = options;
  const rememberDeletedMs = options.rememberDeletedMs ?? HOUR_MS;
  const workOf = workWith({ shard: options.shard, shards });

  function receive(state: PlacementState, message: Incoming | Wake, from: Address, turn: Turn<PlacementRecord>): void {
    if (state.holds.locks.size > 0 && park(state, message, from)) return;
    const work = workOf(state, turn);
    take(work, message, from);
    if (state.holds.isAnyReady) resume(work);
  }

  /** Takes what has waited for changes that are over now. */
  function resume(work: ShardWork): void {
    const { state } = work;
    for (let ready = takeReady(state); ready.length > 0; ready = takeReady(state)) {
      for (const { message, from } of ready) {
        if (park(state, message, from, true)) continue;
        take(work, message as Incoming, from);
      }
    }
  }

  function take(work: ShardWork, message: Incoming | Wake, from: Address): void {
    const { state, turn } = work;
    switch (message.type) {
      case 'claim':
        return claim(work, message, from);
      case 'recall':
        return recall(work, message, from);
      case 'unclaim':
        return unclaim(work, message, from);
      case 'locate':
        return locate(work, message, from);
      case 'release':
        return release(work, message, from);
      case 'put-tree':
        return putTree(work, message, from);
      case 'withdraw-tree':
        return withdrawTree(work, message, from);
      case 'list-providers': {
        const [providers, next] = page(state.providers, message.after, message.limit, stateOf);
        const { epoch, sequence } = state.feed;
        turn.send(from, { type: 'providers', ask: message.ask, shard: work.shard, epoch, sequence, providers, next });
        return;
      }
      case 'list-consumers': {
        const [consumers, next] = page(state.consumers.holding, message.after, message.limit, consumerState);
        turn.send(from, { type: 'consumers', ask: message.ask, consumers, ...doubtsOf(state), next });
        return;
      }
      case 'change-together':
      case 'hold':
      case 'held':
      case 'hold-refused':
      case 'end-hold':
      case 'hold-ended':
      case 'consider':
      case 'consumers-read':
        return takeTransaction(work, message, from);
      case 'group-ask':
      case 'group-yours':
      case 'group-elsewhere':
      case 'group-leave':
      case 'group-left':
      case 'group-stays':
        return takeGroupHome(work, message, from, (asked, claimant, elsewhere) => {
          if (!park(state, asked, claimant)) claim(work, asked, claimant, elsewhere);
        });
      case 'wake': {
        const [kind, about] = readWake(message.id);
        if (kind === TRANSACTION_WAKE) return wakeTransaction(work, about);
        if (kind === LOOK_WAKE) return lookFurther(state, turn);
        if (kind === BEAT_WAKE) {
          tellFeed(state, {}, turn);
          turn.wakeAfter(BEAT_WAKE, FEED_BEAT_MS);
          return;
        }
        const before = turn.now - rememberDeletedMs;
        const isSweeping = state.groupHomes.unswept !== null;
        const isAll = (isSweeping || forgetOld(work, before)) && (shards === 1 || sweepGroupHomes(work, before));
        turn.wakeAfter(FORGET_WAKE, forgetAgainMs(rememberDeletedMs, isAll));
        return;
      }
      default:
        return takeApi(work, message, from);
    }
  }

  /**
   * What a turn changed is told together, in one message unless it is much; a listener that misses a number asks for the
   * whole again.
   */
  function endTurn({ providers, untold, feed }: PlacementState, turn: Turn<PlacementRecord>): void {
    const { changed, used, removed, deleted } = untold;
    if (Object.values(untold).every(({ size }) => size === 0)) return;
    const live = (ids: Iterable<string>) => [...ids].map((id) => providers.get(id)).filter((one) => one !== undefined);
    const changedNow = live(changed);
    const usedOnly = live(used).filter(({ spec }) => !changed.has(spec.id));
    // What is gone is told first: it may have come again.
    let gone = { removed: [...removed], ...(deleted.size === 0 ? {} : { deleted: [...deleted] }) };
    let changedTold = 0;
    let usedTold = 0;
    do {
      const states = onOnePage(changedNow.slice(changedTold, changedTold + MAX_PROVIDERS_TOLD), stateOf);
      const usages = onOnePage(usedOnly.slice(usedTold, usedTold + MAX_PROVIDERS_TOLD), usageOf);
      feed.sequence += 1;
      tellFeed({ feed }, { changed: states, used: usages, ...gone }, turn);
      gone = { removed: [] };
      changedTold += states.length;
      usedTold += usages.length;
    } while (changedTold < changedNow.length || usedTold < usedOnly.length);
    for (const set of Object.values(untold)) set.clear();
  }

  function tellFeed(
    { feed: { epoch, sequence } }: Pick<PlacementState, 'feed'>,
    told: Partial<Pick<ProvidersChanged, 'changed' | 'used' | 'removed' | 'deleted'>>,
    turn: Turn<PlacementRecord>,
  ): void {
    const { shard } = options;
    turn.send(placementFeedAddress(shard), {
      type: 'providers-changed',
      shard,
      epoch,
      sequence,
      changed: [],
      used: [],
      removed: [],
      ...told,
    });
  }

  function recover(state: PlacementState, turn: Turn<PlacementRecord>): void {
    state.feed.epoch = turn.now;
    state.feed.sequence = 0;
    for (const set of Object.values(state.untold)) set.clear();
    turn.wakeAfter(FORGET_WAKE, forgetFirstMs(rememberDeletedMs));
    turn.wakeAfter(BEAT_WAKE, 0);
    const work = workOf(state, turn);
    // Some may be settled, and forgotten, meanwhile.
    for (const transaction of [...state.transactions.known.values()]) pursue(work, transaction);
    askAgain(work);
  }

  return {
    init: emptyPlacement,
    receive,
    apply: applyToPlacement,
    recover,
    endTurn,
    dropped: workOf.forget,
    figures: ({ providers, consumers }) => ({ providers: providers.size, consumers: consumers.holding.size }),
    snapshot: storePlacement,
    restore: (parts) => atOnce(restorePlacement(joined(parts) as StoredPlacement)),
    restoring: (parts) => restorePlacement(joined(parts) as StoredPlacement),
  };
}

function doubtsOf({ holds: { open } }: PlacementState): { inDoubt?: Allocation[] } {
  return open.size === 0 ? {} : { inDoubt: [...open.values()].flatMap(({ extra }) => [...extra]) };
}

function consumerState({ held }: Consumer, consumer: string): ConsumerState {
  return { consumer, held: held.map(({ attempt, allocations }) => ({ attempt, allocations: [...allocations] })) };
}
