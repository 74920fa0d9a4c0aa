// What a conductor shard takes: the API's requests, the scheduler's selections, the words of cells and placement.

import Type, { type Static } from 'typebox';
import {
  Ask,
  FailureCode,
  type MessageOf,
  message,
  PageLimit,
  Payload,
  Reason,
  RequestSpec,
  SelectionSchema,
  Token,
  Traceparent,
} from './common.ts';
import { MAX_ALTERNATES, MAX_COUNT } from './limits.ts';
import { claimAnswers } from './placement.ts';
import { DecisionText } from './stored-decision.ts';
import { Where } from './where.ts';

/** The longest that a request may wait for a host, ms: 30 days. */
export const MAX_WAIT_MS = 2_592_000_000;

/** For how many names it is asked at once what is like them. */
const MAX_LIKENED = 20;

export const conductorMessages = {
  /**
   * Build `count` instances, all or none. Repeated for the same request it is answered as the first time, but that
   * instances which have failed meanwhile are told. With a
   * count of 1 the instance is named as the request, otherwise `<request>-0`, `<request>-1` ...
   */
  build: message('build', {
    ask: Ask,
    request: Token,
    count: Type.Integer({ minimum: 1, maximum: MAX_COUNT }),
    alternates: Type.Integer({ minimum: 0, maximum: MAX_ALTERNATES }),
    spec: RequestSpec,
    where: Type.Optional(Where),
    project: Type.Optional(Token),
    /** How long the request may wait for a host, ms; absent: not at all. */
    waitMs: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_WAIT_MS })),
    payload: Payload,
    traceparent: Traceparent,
  }),
  /** Delete an instance in whatever state it is. */
  delete: message('delete', { ask: Ask, instance: Token }),
  /** What the conductor knows of an instance; if a cell has it, the cell knows more. */
  show: message('show', { ask: Ask, instance: Token }),
  /** What the conductor knows of how an instance came to be where it is. */
  explain: message('explain', { ask: Ask, instance: Token }),
  /** Which instances are much like names that are none's? */
  'like-instances': message('like-instances', {
    ask: Ask,
    names: Type.Array(Token, { minItems: 1, maxItems: MAX_LIKENED }),
    /** Only those for which placement may hold something. */
    holding: Type.Optional(Type.Literal(true)),
  }),
  list: message('list', { ask: Ask, after: Type.Optional(Token), limit: PageLimit }),
  /**
   * A scheduler takes a round of asking: where there are several placement shards no two may claim in one round, as no
   * one shard would know of both. Only one is answered.
   */
  taking: message('taking', {
    request: Token,
    round: Type.Integer({ minimum: 1 }),
    /** Names this selection of this life of the scheduler. */
    taker: Type.String({ maxLength: 128 }),
  }),
  /** The scheduler's answer: for each instance the host that is claimed, and its alternates. */
  selected: message('selected', {
    request: Token,
    round: Type.Integer({ minimum: 1 }),
    selections: Type.Array(
      Type.Object({
        instance: Token,
        selection: SelectionSchema,
        alternates: Type.Array(SelectionSchema, { maxItems: MAX_ALTERNATES }),
        /** The record of the decision, kept with the instance. */
        decision: Type.Optional(DecisionText),
      }),
      { maxItems: MAX_COUNT },
    ),
  }),
  /** The scheduler is at it for some time: it looks for why there is no host, or waits for what comes of others' claims. */
  selecting: message('selecting', { request: Token, round: Type.Integer({ minimum: 1 }) }),
  /** Placement shards have not answered the scheduler in time, so that it may come to no end; none: they have, since that was said. */
  awaiting: message('awaiting', {
    request: Token,
    round: Type.Integer({ minimum: 1 }),
    shards: Type.Array(Type.Integer({ minimum: 0 })),
  }),
  'no-valid-host': message('no-valid-host', {
    request: Token,
    round: Type.Integer({ minimum: 1 }),
    reason: Reason,
    /** The record of the decision, kept with each instance that has no host. */
    decision: Type.Optional(DecisionText),
  }),
  /** No host has room now: the request waits at the scheduler that says so, and is tried again when one has. */
  parked: message('parked', {
    request: Token,
    round: Type.Integer({ minimum: 1 }),
    reason: Reason,
    decision: Type.Optional(DecisionText),
    /** It tells less than was told of such requests a while ago: who was told so keeps that. */
    brief: Type.Optional(Type.Literal(true)),
    /** There is room for it as far as is known, and it only stands in line to have it. */
    hasRoom: Type.Optional(Type.Literal(true)),
  }),
  /** The cell has recorded the instance: it is the cell's from now on. */
  started: message('started', { instance: Token }),
  /** How a build in the cell ended; told for listings, the cell knows best. */
  ended: message('ended', {
    instance: Token,
    state: Type.Union([Type.Literal('active'), Type.Literal('failed'), Type.Literal('lost')]),
    /** Of one that failed or is lost: why. */
    code: Type.Optional(FailureCode),
    reason: Type.Optional(Reason),
  }),
  /** Nothing of the instance is left in the cell, and nothing ever will be. */
  removed: message('removed', { instance: Token }),
  released: claimAnswers.released,
};
export type ConductorMessage = MessageOf<typeof conductorMessages>;
export type Build = Static<typeof conductorMessages.build>;
export type LikeInstances = Static<(typeof conductorMessages)['like-instances']>;
export type Taking = Static<typeof conductorMessages.taking>;
export type Selecting = Static<typeof conductorMessages.selecting>;
export type Awaiting = Static<typeof conductorMessages.awaiting>;
export type Selected = Static<typeof conductorMessages.selected>;
