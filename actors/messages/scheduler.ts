// What a scheduler takes: requests for hosts, placement's answers to its claims, and the feeds that its view lives on.

import Type, { type Static } from 'typebox';
import { Ask, Attempt, Id, MAX_ALTERNATES, MAX_COUNT, type MessageOf, message, RequestSpec, Token } from './common.ts';
import { claimAnswers, feedMessages } from './placement.ts';

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
  reason: Type.Optional(Type.String()),
  /** When it comes back by itself, ms since the epoch. */
  until: Type.Optional(Type.Number()),
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
    alternates: Type.Integer({ minimum: 0, maximum: MAX_ALTERNATES }),
    /** When the asker gives up, ms since the epoch: no claim of this selection is valid after it. */
    expiresAt: Type.Number(),
  }),
  ...claimAnswers,
  /** Placement's answer to a recall: it holds nothing for the consumer. */
  'nothing-held': message('nothing-held', { consumer: Id, attempt: Attempt }),
  ...feedMessages,
  /** The numbered feed of a cell, of the hosts that changed. */
  'hosts-changed': message('hosts-changed', {
    cell: Token,
    epoch: Type.Number(),
    sequence: Type.Integer({ minimum: 0 }),
    hosts: Type.Array(HostState),
  }),
  /** All hosts of a cell, a page at a time. */
  hosts: message('hosts', {
    ask: Ask,
    cell: Token,
    epoch: Type.Number(),
    sequence: Type.Integer({ minimum: 0 }),
    hosts: Type.Array(HostState),
    next: Type.Union([Token, Type.Null()]),
  }),
};
export type SchedulerMessage = MessageOf<typeof schedulerMessages>;
export type Select = Static<typeof schedulerMessages.select>;
export type HostsChanged = Static<(typeof schedulerMessages)['hosts-changed']>;
export type HostsPage = Static<typeof schedulerMessages.hosts>;
