// What a cell's conductor takes: builds handed over, deletes, the words of its computes, placement's answers.

import Type, { type Static } from 'typebox';
import {
  Ask,
  Attempt,
  DriverTask,
  Id,
  Incarnation,
  Listed,
  MAX_MISSING_TOLD,
  MAX_RUNNING_TOLD,
  type MessageOf,
  Metrics,
  message,
  PageLimit,
  Payload,
  Reason,
  RequestSpec,
  SelectionSchema,
  Token,
  Traceparent,
} from './common.ts';
import { MAX_ALTERNATES } from './limits.ts';
import { claimAnswers, placementAnswers } from './placement.ts';

/** Of the host, as it was told last: if somebody has set it since, it is left as it is. Absent: it is set in any case. */
const Revision = Type.Optional(Type.Integer({ minimum: 0 }));

const ofAttempt = { host: Token, instance: Token, attempt: Attempt };
/**
 * That nothing of an attempt is on its host is the word of one life of the compute. Absent: of a node that did not say of
 * which yet.
 */
const ofLife = { ...ofAttempt, incarnation: Type.Optional(Incarnation) };

export const cellMessages = {
  /** A build changes hands: the cell records it, says `started`, and everything after is the cell's. */
  start: message('start', {
    instance: Token,
    request: Token,
    spec: RequestSpec,
    /** The build machine's state and context, as stored. */
    snapshot: Type.Object({
      value: Type.Literal('claimed'),
      context: Type.Object({
        v: Type.Literal(1),
        instance: Token,
        selection: SelectionSchema,
        alternates: Type.Array(SelectionSchema, { maxItems: MAX_ALTERNATES }),
        attempt: Attempt,
        attempts: Type.Array(Type.Unknown(), { maxItems: 0 }),
        failure: Type.Null(),
      }),
    }),
    /**
     * Until when it is to be taken, ms since the epoch: a conductor that was held up for longer than what is deleted is
     * remembered would else begin it anew. Whoever still wants it says it again.
     */
    expiresAt: Type.Optional(Type.Integer({ minimum: 0 })),
    project: Type.Optional(Token),
    payload: Payload,
    traceparent: Traceparent,
  }),
  /** End an instance in whatever state it is; `removed` is said when nothing of it is left. */
  delete: message('delete', { instance: Token }),
  /** Which of these builds have ended? Each that has is told again as `ended`. */
  'ask-ends': message('ask-ends', { instances: Type.Array(Token, { minItems: 1, maxItems: 1_000 }) }),
  accepted: message('accepted', ofAttempt),
  'build-refused': message('build-refused', { ...ofLife, reason: Reason }),
  built: message('built', ofAttempt),
  'build-failed': message('build-failed', { ...ofLife, reason: Reason }),
  'build-aborted': message('build-aborted', { ...ofLife, reason: Reason }),
  destroyed: message('destroyed', ofLife),
  /**
   * The host's driver was asked to build or to destroy an attempt and did not say what came of it: it rejected, or its
   * answer is none. It is asked again.
   */
  'driver-trouble': message('driver-trouble', { ...ofAttempt, task: DriverTask, reason: Reason }),
  /** A compute presents itself: after its start, or because the cell asked who it is. */
  'compute-up': message('compute-up', {
    host: Token,
    provider: Id,
    /** Which life of the compute this is. */
    incarnation: Incarnation,
    /** The number in the cell's question, when this answers one. */
    challenge: Type.Optional(Type.Integer({ minimum: 0 })),
    running: Type.Array(Type.Object({ instance: Token, attempt: Attempt }), { maxItems: MAX_RUNNING_TOLD }),
    listed: Listed,
  }),
  /** A compute is alive: said at a steady pace. */
  alive: message('alive', {
    host: Token,
    incarnation: Incarnation,
    /** What the host's driver measures now, if it measures anything. */
    metrics: Type.Optional(Metrics),
    /**
     * What was built and is on the host no more, as its driver says; of very many as many as fit, others each time. Absent:
     * nobody has looked in this life of the compute.
     */
    missing: Type.Optional(
      Type.Array(Type.Object({ instance: Token, attempt: Attempt }), { maxItems: MAX_MISSING_TOLD }),
    ),
    listed: Listed,
  }),
  ...claimAnswers,
  /** An operator takes a host out of service, or puts it back. */
  'set-host': message('set-host', {
    ask: Ask,
    host: Token,
    enabled: Type.Boolean(),
    reason: Type.Optional(Reason),
    revision: Revision,
  }),
  /** An operator states that nothing runs on a host that is down, so that nobody waits for its word any more. */
  'fence-host': message('fence-host', { ask: Ask, host: Token, revision: Revision }),
  /** An operator states that a fenced host does not come back: it and its providers are forgotten. */
  'remove-host': message('remove-host', { ask: Ask, host: Token, revision: Revision }),
  /** An operator takes the whole cell out of service, or puts it back; without `enabled` it is told how it stands. */
  'set-cell': message('set-cell', {
    ask: Ask,
    enabled: Type.Optional(Type.Boolean()),
    reason: Type.Optional(Reason),
    /** As that of a host. */
    revision: Revision,
  }),
  'tree-withdrawn': placementAnswers['tree-withdrawn'],
  'tree-kept': placementAnswers['tree-kept'],
  /** The cell's own word to itself: heard again, it shows that the cell can be heard and hosts could be. */
  echo: message('echo', {}),
  /** Do now what is owed for an instance, and say how it ended if it did. */
  'do-again': message('do-again', { instance: Token }),
  /** The conductor has recorded that an instance is lost. */
  'lost-noted': message('lost-noted', { instance: Token }),
  show: message('show', { ask: Ask, instance: Token }),
  /** What the cell knows of how an instance came to be where it is: its attempts, and what was asked for. */
  explain: message('explain', { ask: Ask, instance: Token }),
  list: message('list', { ask: Ask, after: Type.Optional(Token), limit: PageLimit }),
  /** What is still to be cleared away, a page at a time. */
  'list-removals': message('list-removals', {
    ask: Ask,
    after: Type.Optional(Type.String({ maxLength: 128 })),
    limit: PageLimit,
  }),
  'list-hosts': message('list-hosts', {
    ask: Ask,
    after: Type.Optional(Token),
    limit: PageLimit,
    /** This one alone. */
    host: Type.Optional(Token),
    /**
     * True: the asker follows the feed and goes by how many builds each host has. Until the cell starts anew it then tells
     * at once, and not with the next beat, when one has ended.
     */
    followsBuilds: Type.Optional(Type.Boolean()),
  }),
};
export type CellMessage = MessageOf<typeof cellMessages>;
export type Start = Static<typeof cellMessages.start>;
export type DriverTrouble = Static<(typeof cellMessages)['driver-trouble']>;
