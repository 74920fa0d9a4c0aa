// What a scheduler takes: requests for hosts, placement's answers to its claims, and the feeds that its view lives on.

import Type, { type Static } from 'typebox';
import {
  Ask,
  Attempt,
  Id,
  MAX_ALLOCATIONS,
  type MessageOf,
  Metrics,
  message,
  Reason,
  RequestSpec,
  Token,
} from './common.ts';
import { MAX_ALTERNATES, MAX_COUNT } from './limits.ts';
import { claimAnswers, feedMessages, Located, Order, ProviderUsage } from './placement.ts';
import { questionMessages } from './questions.ts';
import { Where } from './where.ts';

/**
 * What a host is doing, as its cell counts it and its compute reports it; told by the second, but at once when an instance
 * has left, and, where somebody follows builds, when one has ended.
 */
export const HostStats = Type.Object({
  /**
   * Instances on the host, those that are being built included. Filters and weighers see at least as many as placement has
   * there: those that were lost, or are being removed, count until they are gone.
   */
  instances: Type.Integer({ minimum: 0 }),
  /** Instances that are being built there. */
  builds: Type.Integer({ minimum: 0 }),
  /** Builds that have been ordered there since the cell came up: whoever claims knows by it what is counted already. */
  ordered: Type.Optional(Type.Integer({ minimum: 0 })),
  /** What the driver measures, by names of its own. */
  metrics: Type.Optional(Metrics),
});
export type HostStats = Static<typeof HostStats>;

/** Builds that failed on a host lately: how many, as `at` (ms since the epoch) was the last; they fade with time. */
export const FailureMemory = Type.Object({ weight: Type.Number({ minimum: 0 }), at: Type.Number() });
export type FailureMemory = Static<typeof FailureMemory>;

/** How a host stands, as its cell tells it. */
export const HostState = Type.Object({
  host: Token,
  /** The root provider of the host. */
  provider: Id,
  /** Only one that is `up` is offered instances. */
  state: Type.Union([
    Type.Literal('up'),
    Type.Literal('disabled'),
    /** Its builds kept failing: it rests until the time in `until`. */
    Type.Literal('set-aside'),
    Type.Literal('down'),
    /** Down, and an operator has stated that nothing runs there. */
    Type.Literal('fenced'),
  ]),
  /** Why it is not up; of one that is down, why it is disabled when it comes back. */
  reason: Type.Optional(Type.String()),
  /**
   * Of one that is down or fenced: it is disabled when it comes back; of one that is disabled with its cell: by itself,
   * too.
   */
  disabled: Type.Optional(Type.Literal(true)),
  /** Of one that is disabled, or is when it comes back: it is so with its cell, whatever else keeps it from being up. */
  withCell: Type.Optional(Type.Literal(true)),
  /**
   * Of one that is down or fenced, and not disabled, or that is disabled with its cell alone: until when it is set aside
   * if it is back before that, ms since the epoch.
   */
  asideUntil: Type.Optional(Type.Number()),
  /** When it comes back by itself, ms since the epoch. */
  until: Type.Optional(Type.Number()),
  /** Absent when no build failed there lately. */
  failures: Type.Optional(FailureMemory),
  stats: Type.Optional(HostStats),
  /**
   * In a list of hosts: instances that were there before the cell knew the host, so that it did not order them, as
   * `<instance> <attempt>`. Absent: none, where `tellsForeign` says so. Of thousands not all are named; nor do
   * cells of earlier versions name all.
   */
  foreign: Type.Optional(Type.Object({ count: Type.Integer(), named: Type.Array(Type.String()) })),
  /** How often operators have set the host; absent: never. */
  revision: Type.Optional(Type.Integer({ minimum: 1 })),
});
export type HostState = Static<typeof HostState>;

export const schedulerMessages = {
  /** Choose a host for each instance, claim it, and name up to `alternates` more of the same cell. */
  select: message('select', {
    request: Token,
    /** Counts how often the request was asked for; the answer carries it back. */
    round: Type.Integer({ minimum: 1 }),
    instances: Type.Array(Token, { minItems: 1, maxItems: MAX_COUNT }),
    spec: RequestSpec,
    where: Type.Optional(Where),
    project: Type.Optional(Token),
    alternates: Type.Integer({ minimum: 0, maximum: MAX_ALTERNATES }),
    /** When the asker gives up, ms since the epoch: no claim of this selection is valid after it. */
    expiresAt: Type.Number(),
    /**
     * It may wait: with no host it is parked and tried again when one has room, those of a project in order of `since`.
     * One for which it is the last time is told why it has no host instead, and waits no longer.
     */
    waits: Type.Optional(Type.Object({ since: Type.Number(), last: Type.Optional(Type.Literal(true)) })),
    /**
     * Its claims are put in order, and its rounds belong to one scheduler, though there is one placement shard: what is
     * claimed may have to be given back, to be claimed elsewhere.
     */
    ordered: Type.Optional(Type.Literal(true)),
  }),
  /** The conductor's answer to a scheduler that is taking a round: it is this one's, and nobody else's. */
  take: message('take', {
    request: Token,
    round: Type.Integer({ minimum: 1 }),
    taker: Type.String({ maxLength: 128 }),
  }),
  /** A request that is parked is not wanted any more; with a round: as far as it was parked in that one, or before. */
  withdraw: message('withdraw', { request: Token, round: Type.Optional(Type.Integer({ minimum: 1 })) }),
  ...questionMessages,
  ...claimAnswers,
  /** Placement's answer to a recall: it holds nothing for the consumer. */
  'nothing-held': message('nothing-held', { consumer: Id, attempt: Attempt, order: Type.Optional(Order) }),
  /** Placement's answer to an unclaim, with how the providers stand of which something was given back. */
  unclaimed: message('unclaimed', {
    consumer: Id,
    order: Order,
    usages: Type.Array(ProviderUsage, { maxItems: 2 * MAX_ALLOCATIONS }),
  }),
  located: Located,
  ...feedMessages,
  /** The numbered feed of a cell, of the hosts that changed. */
  'hosts-changed': message('hosts-changed', {
    cell: Token,
    epoch: Type.Number(),
    sequence: Type.Integer({ minimum: 0 }),
    hosts: Type.Array(HostState),
    /** The root providers of hosts that are no more; absent when there are none. */
    gone: Type.Optional(Type.Array(Id)),
    /** Why the whole cell is out of service; absent: it is not. Its hosts are told as disabled. */
    disabled: Type.Optional(Reason),
  }),
  /** All hosts of a cell, a page at a time. */
  hosts: message('hosts', {
    ask: Ask,
    cell: Token,
    epoch: Type.Number(),
    sequence: Type.Integer({ minimum: 0 }),
    hosts: Type.Array(HostState),
    next: Type.Union([Token, Type.Null()]),
    /** Hosts of which no `foreign` is told have none. Absent: of a cell that tells less of it, or nothing. */
    tellsForeign: Type.Optional(Type.Literal(true)),
  }),
};
export type SchedulerMessage = MessageOf<typeof schedulerMessages>;
export type Select = Static<typeof schedulerMessages.select>;
export type Take = Static<typeof schedulerMessages.take>;
export type Unclaimed = Static<typeof schedulerMessages.unclaimed>;
export type NothingHeld = Static<(typeof schedulerMessages)['nothing-held']>;
export type HostsChanged = Static<(typeof schedulerMessages)['hosts-changed']>;
export type HostsPage = Static<typeof schedulerMessages.hosts>;
