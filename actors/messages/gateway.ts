// The answers that the actors give to the API's questions; each carries the number of the question.

import Type, { type Static } from 'typebox';
import {
  Ask,
  Attempt,
  DriverTask,
  type FailureCode,
  type MessageOf,
  message,
  Reason,
  RequestSpec,
  SelectionSchema,
  Token,
} from './common.ts';
import { placementAnswers } from './placement.ts';
import { Answering, CellsTold, Fitted, WhyNotTold } from './questions.ts';
import { HostState, schedulerMessages } from './scheduler.ts';
import { DecisionText } from './stored-decision.ts';
import { Where } from './where.ts';

/** What is left of an attempt and not cleared away yet. */
const Left = {
  attempt: Type.Integer(),
  /** Where something of it may run; null when nothing does. */
  host: Type.Union([Token, Type.Null()]),
  /** `destroying`: its host is to say that nothing of it is left; `releasing`: placement is to say that it has what it held. */
  state: Type.String(),
  /** ms since the epoch. */
  since: Type.Optional(Type.Number()),
  /** In an explanation: the placement shards that were asked more than once to take back what it held, and have not said that they did. */
  awaits: Type.Optional(Type.Array(Type.Integer())),
};

/** An instance as people see it. Absent fields are not known to whoever answers. */
export const InstanceView = Type.Object({
  instance: Token,
  request: Token,
  /**
   * A state of the build machine; or `lost` with its host, `deleting` until nothing is left of any attempt, `deleted` then;
   * or `unknown` while its cell does not answer.
   */
  state: Type.String(),
  project: Type.Optional(Token),
  cell: Type.Optional(Token),
  host: Type.Optional(Token),
  attempt: Type.Optional(Type.Integer()),
  /** Every attempt that came to nothing. */
  attempts: Type.Optional(
    Type.Array(
      Type.Object({
        attempt: Type.Integer(),
        host: Type.String(),
        outcome: Type.String(),
        reason: Type.String(),
        /** Something of it may be on the host still: its resources stay held until the host says otherwise. */
        mayRun: Type.Boolean(),
        /** In an explanation: when it was begun, where it was, and when it ended, as far as that is known, ms since the epoch. */
        begunAt: Type.Optional(Type.Number()),
        endedAt: Type.Optional(Type.Number()),
      }),
    ),
  ),
  /** In an explanation: when the attempt in `attempt` was begun, and when it was built, as far as that is known, ms since the epoch. */
  begunAt: Type.Optional(Type.Number()),
  builtAt: Type.Optional(Type.Number()),
  /** When it was lost with its host, ms since the epoch, where that is known. */
  lostAt: Type.Optional(Type.Number()),
  /** What the driver of a host said last instead of what came of an attempt that it builds or destroys: it is asked again. */
  trouble: Type.Optional(Type.Object({ attempt: Attempt, host: Token, task: DriverTask, reason: Reason })),
  /**
   * It is active and its host's driver, asked what runs there, does not have it any more; since when its cell
   * knows that, ms since the epoch. It may come back. Told within a minute (`inventoryEveryMs` of the computes) and two
   * heartbeats, and by a compute that starts anew with its first ones.
   */
  missing: Type.Optional(Type.Object({ since: Type.Number() })),
  /** In an explanation: what is left of its attempts and not cleared away yet; absent when nothing is. */
  left: Type.Optional(Type.Array(Type.Object(Left))),
  /**
   * In an explanation: of its host, and of those where something of it may run, those that are not up. Absent when all
   * are.
   */
  hostsNotUp: Type.Optional(
    Type.Array(
      Type.Object({
        host: Token,
        state: HostState.properties.state,
        reason: Type.Optional(Type.String()),
        /** Since when it is in that state, where that is known, ms since the epoch. */
        since: Type.Optional(Type.Number()),
        /** When it comes back by itself, ms since the epoch. */
        until: Type.Optional(Type.Number()),
        /** Of one that is down: when it was heard last, where that is known, ms since the epoch. */
        heardAt: Type.Optional(Type.Number()),
      }),
    ),
  ),
  /** In an explanation, while no host was found for it: the scheduler that said last that it is at it. */
  scheduler: Type.Optional(Type.String()),
  /** In an explanation, while no host was found for it: the placement shards that have not answered that scheduler. */
  awaits: Type.Optional(Type.Array(Type.Integer())),
  /**
   * In an explanation, while no host was found for it and the last question about it has no answer: how often a scheduler was
   * asked since one has answered, and since when; at the time in `asOf`, ms since the epoch.
   */
  asking: Type.Optional(
    Type.Object({
      /** 0: none was asked for it yet, as those that came before it have no answer. */
      times: Type.Integer(),
      since: Type.Optional(Type.Number()),
      asOf: Type.Number(),
      /** A scheduler that has answered about others since. */
      answersOthers: Type.Optional(Type.String()),
    }),
  ),
  /** Hosts still to be tried should this one fail. */
  alternates: Type.Optional(Type.Array(Token)),
  allocations: Type.Optional(SelectionSchema.properties.allocations),
  failure: Type.Optional(Type.Object({ code: Type.Unsafe<FailureCode>(Type.String()), message: Type.String() })),
  /**
   * It waits for a host, since and until when (ms since the epoch), and why none had room when that was looked at last, at
   * the time in `asOf`.
   */
  waiting: Type.Optional(
    Type.Object({
      since: Type.Number(),
      until: Type.Number(),
      reason: Reason,
      asOf: Type.Optional(Type.Number()),
    }),
  ),
  /** When the state that the build is in times out, ms since the epoch. */
  deadlineAt: Type.Optional(Type.Number()),
  /**
   * What whoever answers still owes for it: `release` of what is held, its `removal` in the cell, or the `report` of its
   * loss to the super conductor.
   */
  owes: Type.Optional(Type.Union([Type.Literal('release'), Type.Literal('removal'), Type.Literal('report')])),
  /** Since when that is owed, ms since the epoch. */
  owedSince: Type.Optional(Type.Number()),
});
export type InstanceView = Static<typeof InstanceView>;

/** What a request that is sent again has come to, where some of its instances have failed or are lost: they are not built again. */
export const FailedInstances = Type.Object({
  instances: Type.Array(Token),
  /** Why the first of them has, where that is known. */
  code: Type.Optional(InstanceView.properties.failure.properties.code),
  message: Type.Optional(Type.String()),
});
export type FailedInstances = Static<typeof FailedInstances>;

/** What is left of an attempt and not cleared away yet. */
export const RemovalView = Type.Object({ instance: Token, ...Left, final: Type.Boolean() });
export type RemovalView = Static<typeof RemovalView>;

export const gatewayMessages = {
  'build-accepted': message('build-accepted', {
    ask: Ask,
    request: Token,
    instances: Type.Array(Token),
    failed: Type.Optional(FailedInstances),
  }),
  'delete-accepted': message('delete-accepted', { ask: Ask, instance: Token, state: Type.String() }),
  /** `view` is null when the instance is not known. */
  shown: message('shown', { ask: Ask, view: Type.Union([InstanceView, Type.Null()]) }),
  /** `view` is null when the instance is not known. */
  explained: message('explained', {
    ask: Ask,
    view: Type.Union([InstanceView, Type.Null()]),
    /** The record of the scheduler's decision, if there was one. */
    decision: Type.Optional(DecisionText),
    /** What was asked for, where it is known. */
    spec: Type.Optional(RequestSpec),
    where: Type.Optional(Where),
  }),
  /** By name the instance that is most like it, where one is much like it; itself where it is known. */
  'like-told': message('like-told', { ask: Ask, like: Type.Array(Type.Tuple([Token, Token])) }),
  answering: Answering,
  fitted: Fitted,
  'why-not-told': WhyNotTold,
  cells: CellsTold,
  listed: message('listed', {
    ask: Ask,
    instances: Type.Array(InstanceView),
    next: Type.Union([Token, Type.Null()]),
  }),
  'host-set': message('host-set', {
    ask: Ask,
    host: Token,
    state: Type.String(),
    /**
     * Of one that is down or fenced: why it is disabled when it comes back; absent when it is not. Of one that is back in
     * service: why it is disabled all the same, with its cell.
     */
    disabled: Type.Optional(Type.String()),
  }),
  'cell-set': message('cell-set', {
    ask: Ask,
    /** Why the whole cell is out of service; absent: it is not. */
    disabled: Type.Optional(Reason),
    /** How often operators have set it. */
    revision: Type.Integer({ minimum: 0 }),
  }),
  /** The question was understood and the answer is no. */
  declined: message('declined', {
    ask: Ask,
    code: Type.String(),
    reason: Reason,
    field: Type.Optional(Type.String()),
    /** When it is worth asking again, ms from now. */
    retryAfterMs: Type.Optional(Type.Number({ minimum: 0 })),
  }),
  'instances-running': message('instances-running', {
    ask: Ask,
    running: Type.Array(Type.Object({ instance: Token, attempt: Type.Integer() })),
  }),
  removals: message('removals', {
    ask: Ask,
    removals: Type.Array(RemovalView),
    next: Type.Union([Type.String(), Type.Null()]),
  }),
  hosts: schedulerMessages.hosts,
  consumers: placementAnswers.consumers,
  providers: schedulerMessages.providers,
};
export type GatewayMessage = MessageOf<typeof gatewayMessages>;
