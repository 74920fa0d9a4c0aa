// Changes of what consumers hold over several placement shards: all of it or nothing of it. One shard coordinates: it has
// each shard hold its part, in the order of the shards, decides when all do or one refuses, and tells them until they have
// done so. What is held counts as used and is seen by nobody.

import Type, { type Static } from 'typebox';
import { Ask, Id, Incarnation, type MessageOf, message } from './common.ts';
import { ProviderSpec } from './placement.ts';
import {
  ApiRefusal,
  ConsumerChanges,
  MovingProvider,
  placementApiMessages,
  ReshapedInventories,
} from './placement-api.ts';

/** The coordinating shard, and its number for the transaction: `2-17`. */
const Transaction = Type.String({ pattern: '^\\d{1,4}-\\d{1,15}$' });
const Shard = Type.Integer({ minimum: 0, maximum: 9_999 });
const Key = Type.String({ maxLength: 255 });

/** What shall be in one shard: what consumers hold with its providers, all of it, and what else changes with that. */
const content = {
  consumers: ConsumerChanges,
  /** Inventories that change at the same moment. */
  inventories: Type.Optional(ReshapedInventories),
  /** A change of a name, a provider or a place in a tree; its `ask` means nothing. */
  change: Type.Optional(
    Type.Union([
      placementApiMessages['provider-create'],
      placementApiMessages['provider-update'],
      placementApiMessages['class-put'],
      placementApiMessages['class-rename'],
      placementApiMessages['class-delete'],
      placementApiMessages['trait-put'],
      placementApiMessages['trait-delete'],
    ]),
  ),
  /** A provider, and all below it, that goes to another shard, as it was when it was looked at; nothing may be held on it. */
  leaves: Type.Optional(Type.Object({ id: Key, generations: Type.Record(Key, Type.Integer()) })),
  /** Providers that come from another shard: the first gets this parent, the others are below it. */
  joins: Type.Optional(Type.Object({ parent: Key, providers: Type.Array(MovingProvider, { minItems: 1 }) })),
  /** What a compute has told of its tree that may be with another shard: it comes in, below what is there of the tree. */
  comes: Type.Optional(
    Type.Object({
      root: Id,
      providers: Type.Array(ProviderSpec, { minItems: 1 }),
      incarnation: Type.Optional(Incarnation),
      ask: Ask,
    }),
  ),
  /** The class or trait that is made must be new. */
  fresh: Type.Optional(Type.Boolean()),
  /** No provider may have this id, or one of these, or this name. */
  absent: Type.Optional(
    Type.Object({
      id: Type.Optional(Key),
      ids: Type.Optional(Type.Array(Key)),
      name: Type.Optional(Type.String({ maxLength: 200 })),
    }),
  ),
  /** The provider must still have this name. */
  named: Type.Optional(Type.Object({ id: Key, name: Type.String({ maxLength: 255 }) })),
  /** The classes that the whole change is about; absent: it is all here. */
  classes: Type.Optional(Type.Array(Type.String({ maxLength: 255 }))),
  /** False: a plain deletion, which the providers do not count. */
  counted: Type.Optional(Type.Boolean()),
  /** Something of it is to be seen in other shards too. */
  wide: Type.Optional(Type.Boolean()),
};
const Part = Type.Object({ shard: Shard, ...content });
export type Part = Static<typeof Part>;
export type PartContent = Omit<Part, 'shard'>;

export const transactionMessages = {
  /**
   * Asks a shard to coordinate a change. A consumer is named in the part of every shard that may hold something for it:
   * with no allocations, it holds nothing there from then on. Asked again with the same key it is answered the same.
   */
  'change-together': message('change-together', {
    ask: Ask,
    key: Id,
    parts: Type.Array(Part, { minItems: 1, maxItems: 64 }),
    /** It is answered when all shards have made it, and forgotten then: nobody asks again by its key. */
    brief: Type.Optional(Type.Boolean()),
    /** How long it may wait for its turn and for shards that are away, ms. */
    withinMs: Type.Optional(Type.Integer({ minimum: 1 })),
  }),
  /** Whether a part could be held as things stand: nothing is held or changed. */
  consider: message('consider', { ask: Ask, ...content }),
  /** Coordinator to shard: hold your part. */
  hold: message('hold', {
    transaction: Transaction,
    ...content,
    /** After this time (ms since the epoch) it is void. */
    expiresAt: Type.Number(),
    brief: Type.Optional(Type.Boolean()),
  }),
  /** Shard to coordinator. */
  held: message('held', { transaction: Transaction }),
  'hold-refused': message('hold-refused', { transaction: Transaction, refusal: ApiRefusal }),
  /** Coordinator to shard: it is decided. Confirmed, what is held becomes what the consumers hold; else it is given back. */
  'end-hold': message('end-hold', {
    transaction: Transaction,
    confirmed: Type.Boolean(),
    brief: Type.Optional(Type.Boolean()),
  }),
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
