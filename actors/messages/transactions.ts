// Changes of what consumers hold over several placement shards: all of it or nothing of it. One shard coordinates: it has
// each shard hold its part, in the order of the shards, decides when all do or one refuses, and tells them until they have
// done so. What is held counts as used and is seen by nobody.

import Type, { type Static } from 'typebox';
import { Ask, Id, type MessageOf, message } from './common.ts';
import { ConsumerChange } from './placement-api.ts';

/** The coordinating shard, and its number for the transaction: `2-17`. */
const Transaction = Type.String({ pattern: '^\\d{1,4}-\\d{1,15}$' });
const Shard = Type.Integer({ minimum: 0, maximum: 9_999 });
const ConsumerChanges = Type.Array(ConsumerChange, { maxItems: 1000 });

/** Why something was refused, from one shard to another. */
const RefusalTold = Type.Object({
  code: Type.String({ maxLength: 64 }),
  message: Type.String({ maxLength: 4096 }),
  subject: Type.Optional(Type.String()),
  provider: Type.Optional(Type.String()),
  resourceClass: Type.Optional(Type.String()),
  consumer: Type.Optional(Type.String()),
  expected: Type.Optional(Type.Union([Type.Number(), Type.Null()])),
  given: Type.Optional(Type.Union([Type.Number(), Type.Null()])),
  requested: Type.Optional(Type.Number()),
  short: Type.Optional(Type.Number()),
});

/** What consumers shall hold with the providers of one shard, all of it. */
const Part = Type.Object({ shard: Shard, consumers: ConsumerChanges });
export type Part = Static<typeof Part>;

export const transactionMessages = {
  /**
   * Asks a shard to coordinate a change. A consumer is named in the part of every shard that may hold something for it:
   * with no allocations, it holds nothing there from then on. Asked again with the same key it is answered the same.
   */
  'change-together': message('change-together', {
    ask: Ask,
    key: Id,
    parts: Type.Array(Part, { minItems: 1, maxItems: 64 }),
  }),
  /** Coordinator to shard: hold your part. */
  hold: message('hold', {
    transaction: Transaction,
    consumers: ConsumerChanges,
    /** After this time (ms since the epoch) it is void. */
    expiresAt: Type.Number(),
  }),
  /** Shard to coordinator. */
  held: message('held', { transaction: Transaction }),
  'hold-refused': message('hold-refused', { transaction: Transaction, refusal: RefusalTold }),
  /** Coordinator to shard: it is decided. Confirmed, what is held becomes what the consumers hold; else it is given back. */
  'end-hold': message('end-hold', { transaction: Transaction, confirmed: Type.Boolean() }),
  /** Shard to coordinator. */
  'hold-ended': message('hold-ended', { transaction: Transaction }),
  /** What consumers hold with this shard, and whether that is in doubt. */
  'consumers-read': message('consumers-read', {
    ask: Ask,
    consumers: Type.Array(Type.String({ maxLength: 255 }), { minItems: 1, maxItems: 1000 }),
  }),
};
export type TransactionMessage = MessageOf<typeof transactionMessages>;
export type TransactionMessageOf<Kind extends TransactionMessage['type']> = Extract<TransactionMessage, { type: Kind }>;
