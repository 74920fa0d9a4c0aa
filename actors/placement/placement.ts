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
import { forgetAgainMs } from '../deleted.ts';
import type { GroupHomeMessage } from '../messages/group-homes.ts';
import type {
  Claim,
  ConsumerState,
  PlacementMessage,
  ProviderSpec,
  ProvidersChanged,
  PutTree,
  Refusal,
} from '../messages/placement.ts';
import type { PlacementApiMessage } from '../messages/placement-api.ts';
import type { TransactionMessage } from '../messages/transactions.ts';
import { fitting, page } from '../page.ts';
import { FEED_BEAT_MS, placementFeedAddress } from '../routing.ts';
import { joined } from '../snapshot.ts';
import { takeApi } from './api.ts';
import { applyToPlacement } from './apply.ts';
import { refusalOfClaim } from './conditions.ts';
import type { Consumer } from './consumers.ts';
import { refusalByFence } from './fences.ts';
import { forgetOld } from './forgetting.ts';
import { askKeeper, mustAsk, sweepGroupHomes, takeGroupHome, waitsNoLonger } from './group-keeping.ts';
import { askAgain } from './holding.ts';
import { park, takeReady } from './parking.ts';
import { isLeftover, type Provider, sameAsTold, stateOf, treeFault, usageOf } from './providers.ts';
import { locate, recall, unclaim } from './recalling.ts';
import type { PlacementRecord } from './records.ts';
import { release } from './releasing.ts';
import { emptyPlacement, type PlacementState } from './state.ts';
import { restorePlacement, type StoredPlacement, storePlacement } from './store.ts';
import { giveBack } from './taking.ts';
import { isTransactionWake, pursue, takeTransaction, wakeTransaction } from './together.ts';
import { refusalOfTree } from './tree-conditions.ts';
import { grant, usagesOf } from './usages.ts';
import { type ShardWork, tell } from './work.ts';

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

  function commit(state: PlacementState, turn: Turn<PlacementRecord>, record: PlacementRecord): void {
    applyToPlacement(state, record);
    turn.record(record);
  }

  /** @param elsewhere Why the group may not be here, if that is known of other shards. */
  function claim(
    state: PlacementState,
    asked: Claim,
    from: Address,
    turn: Turn<PlacementRecord>,
    elsewhere: Refusal | null = null,
  ): void {
    const { consumer: id, attempt, keep, order } = asked;
    const consumer = state.consumers.holding.get(id);
    const refuse = (refusal: Refusal) => {
      turn.send(from, {
        type: 'claim-refused',
        consumer: id,
        attempt,
        refusal,
        usages: usagesOf(state, asked.allocations, refusal.provider),
        ...(order === undefined ? {} : { order }),
      });
      tell(turn, asked.allocations[0]?.provider ?? '', 'refused', { consumer: id, attempt, ...refusal });
    };
    if (state.consumers.deleted.has(id)) {
      return refuse({ code: 'consumer-deleted', message: `consumer '${id}' is deleted` });
    }
    if (consumer !== undefined && attempt <= consumer.latest) {
      const held = consumer.held.find((one) => one.attempt === attempt);
      if (attempt === consumer.latest && held !== undefined) {
        return grant(state, asked, held.allocations, from, turn);
      }
      const superseded = `attempt ${attempt} of '${id}' comes after attempt ${consumer.latest} was decided`;
      return refuse(
        (attempt === consumer.latest ? consumer.refusal : null) ?? { code: 'superseded', message: superseded },
      );
    }
    const early = state.fences.size === 0 ? null : refusalByFence(state.fences, asked);
    if (early !== null) return refuse(early);
    if (turn.now > asked.expiresAt) {
      // Granted by whoever has superseded this shard, it may be refused here: then it is not told.
      commit(state, turn, { type: 'read' });
      return refuse({ code: 'expired', message: `the claim of '${id}' came after whoever sent it gave up` });
    }
    // What the claim gives back is free for what it takes: this is a move, decided as one.
    const movesOut = consumer !== undefined && consumer.held.length > 0;
    const isOpen = shards > 1 && elsewhere === null && mustAsk(state, asked);
    if (isOpen && movesOut) return askKeeper(workOf(state, turn), asked, from);
    if (movesOut) {
      state.consumers.holding.touch(id);
      giveBack(consumer, (one) => !keep.includes(one), state.providers, state.untold.used);
    }
    const refusal = refusalOfClaim(asked, state) ?? refusalOfTree(asked, state.providers, state.consumers) ?? elsewhere;
    if (refusal === null && isOpen) return askKeeper(workOf(state, turn), asked, from);
    if (refusal === null) {
      const group = asked.spec.instanceGroup;
      const record: PlacementRecord = { type: 'claimed', consumer: id, attempt, keep, allocations: asked.allocations };
      if (group !== undefined) record.group = group;
      if (order !== undefined) record.order = order;
      commit(state, turn, record);
      waitsNoLonger(state, asked);
      grant(state, asked, asked.allocations, from, turn);
      tell(turn, asked.allocations[0]?.provider ?? '', 'granted', {
        consumer: id,
        attempt,
        allocations: asked.allocations,
      });
      return;
    }
    // A first claim that is refused changed nothing and needs no memory: the next one is for another host. Only where that
    // may be another shard's must this one, should it come once more, be refused once more.
    if (consumer !== undefined) commit(state, turn, { type: 'refused', consumer: id, attempt, keep, refusal });
    else if (order !== undefined) {
      commit(state, turn, { type: 'fenced', consumer: id, order, until: asked.expiresAt, refusal });
    }
    refuse(refusal);
  }

  function putTree(state: PlacementState, asked: PutTree, from: Address, turn: Turn<PlacementRecord>): void {
    const root = (asked.providers[0] as ProviderSpec).id;
    const fault = treeFault(asked.providers, state.providers);
    if (fault !== null) {
      turn.send(from, { type: 'tree-refused', ask: asked.ask, root, reason: fault });
      return;
    }
    const told = new Set(asked.providers.map(({ id }) => id));
    const unchanged =
      asked.providers.every((spec) => sameAsTold(state.providers.get(spec.id), spec)) &&
      (state.trees.get(root) ?? []).every((id) => told.has(id) || isLeftover(state.providers.get(id) as Provider));
    if (!unchanged) commit(state, turn, { type: 'tree', providers: asked.providers });
    turn.send(from, { type: 'tree-put', ask: asked.ask, root });
  }

  function workOf(state: PlacementState, turn: Turn<PlacementRecord>): ShardWork {
    return { shard: options.shard, shards, state, turn, commit: (record) => commit(state, turn, record) };
  }

  function receive(state: PlacementState, message: Incoming | Wake, from: Address, turn: Turn<PlacementRecord>): void {
    if (state.holds.locks.size > 0 && park(state, message, from)) return;
    take(state, message, from, turn);
    if (state.holds.parked.length > 0) resume(state, turn);
  }

  /** Takes what has waited for changes that are over now. */
  function resume(state: PlacementState, turn: Turn<PlacementRecord>): void {
    for (let ready = takeReady(state); ready.length > 0; ready = takeReady(state)) {
      for (const { message, from } of ready) {
        if (park(state, message, from, true)) continue;
        take(state, message as Incoming, from, turn);
      }
    }
  }

  function take(state: PlacementState, message: Incoming | Wake, from: Address, turn: Turn<PlacementRecord>): void {
    switch (message.type) {
      case 'claim':
        return claim(state, message, from, turn);
      case 'recall':
        return recall(workOf(state, turn), message, from);
      case 'unclaim':
        return unclaim(workOf(state, turn), message, from);
      case 'locate':
        return locate(workOf(state, turn), message, from);
      case 'release':
        return release(workOf(state, turn), message, from);
      case 'put-tree':
        return putTree(state, message, from, turn);
      case 'list-providers': {
        const [providers, next] = page(state.providers, message.after, message.limit, stateOf);
        turn.send(from, {
          type: 'providers',
          ask: message.ask,
          shard: options.shard,
          epoch: state.feed.epoch,
          sequence: state.feed.sequence,
          providers,
          next,
        });
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
        return takeTransaction(workOf(state, turn), message, from);
      case 'group-ask':
      case 'group-yours':
      case 'group-elsewhere':
      case 'group-leave':
      case 'group-left':
      case 'group-stays':
        return takeGroupHome(workOf(state, turn), message, from, (asked, claimant, elsewhere) => {
          if (!park(state, asked, claimant)) claim(state, asked, claimant, turn, elsewhere);
        });
      case 'wake': {
        if (isTransactionWake(message.id)) return wakeTransaction(workOf(state, turn), message.id);
        if (message.id === 'beat') {
          tellFeed(state, {}, turn);
          turn.wakeAt('beat', turn.now + FEED_BEAT_MS);
          return;
        }
        const before = turn.now - rememberDeletedMs;
        const isAll = forgetOld(workOf(state, turn), before);
        if (shards > 1 && isAll) sweepGroupHomes(workOf(state, turn), before);
        turn.wakeAt('forget-deleted', turn.now + forgetAgainMs(rememberDeletedMs, isAll));
        return;
      }
      default:
        return takeApi(state, message, from, turn, (record) => commit(state, turn, record));
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
      const states = fitting(changedNow.slice(changedTold, changedTold + MAX_PROVIDERS_TOLD), stateOf);
      const usages = fitting(usedOnly.slice(usedTold, usedTold + MAX_PROVIDERS_TOLD), usageOf);
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
    turn.wakeAt('forget-deleted', turn.now + forgetAgainMs(rememberDeletedMs));
    turn.wakeAt('beat', turn.now);
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
    figures: ({ providers, consumers }) => ({ providers: providers.size, consumers: consumers.holding.size }),
    snapshot: storePlacement,
    restore: (parts) => restorePlacement(joined(parts) as StoredPlacement),
  };
}

function doubtsOf({ holds: { open } }: PlacementState): { inDoubt?: Allocation[] } {
  return open.size === 0 ? {} : { inDoubt: [...open.values()].flatMap(({ extra }) => [...extra]) };
}

function consumerState({ held }: Consumer, consumer: string): ConsumerState {
  return { consumer, held: held.map(({ attempt, allocations }) => ({ attempt, allocations: [...allocations] })) };
}
