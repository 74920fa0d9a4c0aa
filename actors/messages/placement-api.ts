// What a placement shard takes from callers who speak the OpenStack Placement API, whatever front they come through:
// changes and questions by provider and by consumer. Each is decided as one; the answer says what came of it, or why
// it was refused with a stable code. How that reads in HTTP is the front's business.

import Type, { type Static } from 'typebox';
import { Ask, Id, InstanceGroup, type MessageOf, message } from './common.ts';
import { MAX_AMOUNT } from './limits.ts';

const strict = { additionalProperties: false };
/** A name as a caller may write it; whether it is known is decided by the shard. */
const Name = Type.String({ maxLength: 255 });
/** The most consumers, aggregates, traits or providers that one message names in a list. */
export const MAX_LISTED = 1000;
const Names = Type.Array(Name, { maxItems: MAX_LISTED });
const NameLists = Type.Array(Names, { maxItems: MAX_LISTED });
const Identity = Type.String({ minLength: 1, maxLength: 255 });
const Generation = Type.Integer();
/** Aggregates, consumers and providers that are only looked for may be named in any way. */
const Key = Type.String({ maxLength: 255 });
const Keys = Type.Array(Key, { maxItems: MAX_LISTED });
const Shards = Type.Array(Type.Integer({ minimum: 0, maximum: 9_999 }), { maxItems: 64 });
const Amounts = Type.Record(Type.String({ maxLength: 255 }), Type.Integer({ minimum: 1 }));

/** An inventory as the API lets it be: a ratio of any size, and more reserved than there is. */
export const ApiInventory = Type.Object(
  {
    total: Type.Integer({ minimum: 1, maximum: MAX_AMOUNT }),
    reserved: Type.Integer({ minimum: 0, maximum: MAX_AMOUNT }),
    min_unit: Type.Integer({ minimum: 1, maximum: MAX_AMOUNT }),
    max_unit: Type.Integer({ minimum: 1, maximum: MAX_AMOUNT }),
    step_size: Type.Integer({ minimum: 1, maximum: MAX_AMOUNT }),
    allocation_ratio: Type.Number(),
  },
  strict,
);
export type ApiInventory = Static<typeof ApiInventory>;
export const ApiInventories = Type.Record(Type.String({ maxLength: 255 }), ApiInventory);
export type ApiInventories = Static<typeof ApiInventories>;

/** What a consumer shall hold with one provider; with one that is named twice it holds both. */
const GivenAllocation = Type.Object(
  {
    provider: Type.String({ maxLength: 64 }),
    /** Amounts by class. */
    resources: Amounts,
    /** Where it stands among the consumer's allocations with all shards; absent: they are all here. */
    position: Type.Optional(Type.Integer({ minimum: 0 })),
  },
  strict,
);
export type GivenAllocation = Static<typeof GivenAllocation>;

/** What one consumer shall hold from now on, all of it; nothing ends the consumer. */
export const ConsumerChange = Type.Object(
  {
    consumer: Id,
    allocations: Type.Array(GivenAllocation),
    /** Null: whoever asks does not say, and the record of the consumer says so. */
    project: Type.Union([Identity, Type.Null()]),
    user: Type.Union([Identity, Type.Null()]),
    /** Absent: it stays as it is. */
    consumerType: Type.Optional(Identity),
    /** Absent: not compared. Null: there must be no such consumer. */
    generation: Type.Optional(Type.Union([Generation, Type.Null()])),
    /** The generation that it gets. Absent: one more than it has with this shard. */
    becomes: Type.Optional(Generation),
    /** It will hold something with other shards too. */
    several: Type.Optional(Type.Boolean()),
    /** For the consumer's home shard: with which other shards it holds something, as far as is known, and will. */
    homes: Type.Optional(Type.Object({ expected: Shards, become: Shards }, strict)),
    /** What the consumer is, for shards in which it holds nothing yet: its latest attempt; absent: it is no instance. */
    latest: Type.Optional(Type.Integer({ minimum: 1 })),
    /** The instance group that it is a member of; absent: of none. */
    group: Type.Optional(InstanceGroup),
    /** Coordinator to shard: the same change has it hold something with other shards. */
    elsewhere: Type.Optional(Type.Boolean()),
  },
  strict,
);
export type ConsumerChange = Static<typeof ConsumerChange>;
export const ConsumerChanges = Type.Array(ConsumerChange, { maxItems: MAX_LISTED });

/** The inventories that providers get, each as the provider was when its caller looked. */
export const ReshapedInventories = Type.Array(
  Type.Object({ provider: Key, generation: Generation, inventories: ApiInventories }, strict),
  { maxItems: MAX_LISTED },
);

/** A provider as another shard sees it: one of a tree in which something is shared. */
export const ForeignProvider = Type.Object(
  {
    id: Key,
    name: Type.String(),
    parent: Type.Union([Key, Type.Null()]),
    root: Key,
    inventories: ApiInventories,
    traits: Type.Array(Type.String()),
    aggregates: Type.Array(Type.String()),
    used: Type.Record(Type.String(), Type.Number()),
  },
  strict,
);
export type ForeignProvider = Static<typeof ForeignProvider>;

export const CandidateGroup = Type.Object(
  {
    /** '' is the group that may be spread over a tree; any other is served by one provider. */
    suffix: Type.String({ maxLength: 64 }),
    resources: Amounts,
    /** Of each list, one trait must be there. */
    required: NameLists,
    forbidden: Names,
    /** Of each list, one aggregate. */
    memberOf: Type.Array(Keys, { maxItems: MAX_LISTED }),
    notMemberOf: Keys,
    inTree: Type.Union([Key, Type.Null()]),
  },
  strict,
);
export type CandidateGroup = Static<typeof CandidateGroup>;

export const CandidatesRequest = Type.Object(
  {
    groups: Type.Array(CandidateGroup, { maxItems: 256 }),
    groupPolicy: Type.Union([Type.Literal('none'), Type.Literal('isolate'), Type.Null()]),
    rootRequired: Names,
    rootForbidden: Names,
    /** Suffixes of each list: what serves them must stand below one of the providers that serve them. */
    sameSubtree: Type.Array(Type.Array(Type.String({ maxLength: 64 })), { maxItems: 256 }),
    /** Null: all that there are. */
    limit: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()]),
    /** False: no more than one provider of a tree, for callers that do not know of nesting. */
    nested: Type.Boolean(),
  },
  strict,
);
export type CandidatesRequest = Static<typeof CandidatesRequest>;

/** A provider that goes from one shard to another. */
export const MovingProvider = Type.Object(
  {
    id: Key,
    name: Type.String(),
    parent: Type.Union([Key, Type.Null()]),
    inventories: ApiInventories,
    traits: Type.Array(Type.String()),
    aggregates: Type.Array(Type.String()),
    generation: Generation,
    /** How many of its changes callers are not to notice. */
    quiet: Generation,
    changedAt: Type.Number(),
  },
  strict,
);
export type MovingProvider = Static<typeof MovingProvider>;

/** The number under which the same was asked first, and was not answered yet. */
const Again = Type.Optional(Ask);

export const placementApiMessages = {
  'provider-create': message('provider-create', {
    ask: Ask,
    id: Id,
    name: Type.String({ maxLength: 200 }),
    parent: Type.Union([Key, Type.Null()]),
  }),
  /** `parent` absent: it stays. `reparent` allows to change or end a parent once given. */
  'provider-update': message('provider-update', {
    ask: Ask,
    id: Key,
    name: Type.String({ maxLength: 200 }),
    parent: Type.Optional(Type.Union([Key, Type.Null()])),
    reparent: Type.Boolean(),
  }),
  'provider-delete': message('provider-delete', { ask: Ask, id: Key }),
  /** `all`: these and no other. `add`, `update`: one that must be new, or must be there. `remove`: the named ones. */
  'inventories-put': message('inventories-put', {
    ask: Ask,
    id: Key,
    how: Type.Union([Type.Literal('all'), Type.Literal('add'), Type.Literal('update'), Type.Literal('remove')]),
    inventories: ApiInventories,
    removed: Names,
    /** Absent: not compared. */
    generation: Type.Optional(Generation),
    /** Whether the reserved part may be as large as the total. */
    allReserved: Type.Boolean(),
  }),
  'traits-put': message('traits-put', { ask: Ask, id: Key, traits: Names, generation: Type.Optional(Generation) }),
  /** `counted`: it counts the provider's generation up, as callers from 1.19 on expect. */
  'aggregates-put': message('aggregates-put', {
    ask: Ask,
    id: Key,
    aggregates: Type.Array(Id, { maxItems: MAX_LISTED }),
    generation: Type.Optional(Generation),
    counted: Type.Boolean(),
  }),
  'class-put': message('class-put', { ask: Ask, name: Name }),
  'class-rename': message('class-rename', { ask: Ask, name: Name, to: Name }),
  'class-delete': message('class-delete', { ask: Ask, name: Name }),
  'trait-put': message('trait-put', { ask: Ask, name: Name }),
  'trait-delete': message('trait-delete', { ask: Ask, name: Name }),
  /** Changes what one or several consumers hold, all of it or nothing of it. */
  'allocations-put': message('allocations-put', { ask: Ask, consumers: ConsumerChanges }),
  'allocations-delete': message('allocations-delete', {
    ask: Ask,
    consumer: Key,
    /** Absent: not compared. */
    generation: Type.Optional(Generation),
  }),
  /** Changes inventories and, at the same moment, what consumers hold. */
  reshape: message('reshape', {
    ask: Ask,
    inventories: ReshapedInventories,
    consumers: ConsumerChanges,
  }),
  'provider-show': message('provider-show', { ask: Ask, id: Key }),
  'providers-find': message('providers-find', {
    ask: Ask,
    again: Again,
    name: Type.Optional(Type.String({ maxLength: 200 })),
    id: Type.Optional(Key),
    inTree: Type.Optional(Key),
    memberOf: Type.Array(Keys, { maxItems: MAX_LISTED }),
    notMemberOf: Keys,
    required: NameLists,
    forbidden: Names,
    resources: Amounts,
  }),
  'provider-allocations': message('provider-allocations', { ask: Ask, id: Key }),
  /** `standing`: with what a change of it over several shards must know. */
  'consumer-show': message('consumer-show', { ask: Ask, consumer: Key, standing: Type.Optional(Type.Boolean()) }),
  /** What the consumers of a project hold, by consumer type. */
  usages: message('usages', {
    ask: Ask,
    project: Identity,
    user: Type.Optional(Identity),
  }),
  'classes-list': message('classes-list', { ask: Ask }),
  'traits-list': message('traits-list', { ask: Ask }),
  /** `foreign`: the trees of other shards in which something is shared; then it is told which ways came in which round. */
  candidates: message('candidates', {
    ask: Ask,
    again: Again,
    ...CandidatesRequest.properties,
    foreign: Type.Optional(Type.Array(ForeignProvider)),
  }),
  /** A provider and all that is below it, as another shard needs them to take them over. */
  'subtree-show': message('subtree-show', { ask: Ask, id: Key }),
  /** The trees in which something is shared. */
  'sharing-list': message('sharing-list', { ask: Ask }),
};
export type PlacementApiMessage = MessageOf<typeof placementApiMessages>;
export type ApiMessage<Kind extends PlacementApiMessage['type']> = Extract<PlacementApiMessage, { type: Kind }>;

/**
 * The answer: JSON of an ApiOutcome, in parts when it is long, because a message has its limit.
 */
export const placementApiAnswers = {
  'placement-answer': message('placement-answer', {
    ask: Ask,
    part: Type.Integer({ minimum: 0 }),
    parts: Type.Integer({ minimum: 1 }),
    text: Type.String(),
  }),
};
export type PlacementApiAnswer = MessageOf<typeof placementApiAnswers>;

/** Why something was refused; the codes are stable. */
export const ApiRefusal = Type.Object({
  code: Type.Unsafe<ApiRefusalCode>(Type.String({ maxLength: 64 })),
  message: Type.String({ maxLength: 4096 }),
  /** The name, id or class that it is about. */
  subject: Type.Optional(Type.String()),
  provider: Type.Optional(Type.String()),
  resourceClass: Type.Optional(Type.String()),
  consumer: Type.Optional(Type.String()),
  /** The generation that stands; null when there is no such consumer. */
  expected: Type.Optional(Type.Union([Type.Number(), Type.Null()])),
  given: Type.Optional(Type.Union([Type.Number(), Type.Null()])),
  /** The amount that was asked, and by how much it was too large. */
  requested: Type.Optional(Type.Number()),
  short: Type.Optional(Type.Number()),
});
export type ApiRefusal = Readonly<Static<typeof ApiRefusal>>;

export type ApiRefusalCode =
  | 'no-provider'
  | 'no-parent'
  | 'own-parent'
  | 'no-reparenting'
  | 'no-unparenting'
  | 'loop'
  | 'no-name'
  | 'duplicate-name'
  | 'duplicate-id'
  | 'has-children'
  | 'provider-in-use'
  | 'provider-generation'
  | 'consumer-generation'
  | 'consumer-deleted'
  | 'no-class'
  | 'class-exists'
  | 'class-standard'
  | 'class-in-use'
  | 'no-trait'
  | 'trait-standard'
  | 'trait-in-use'
  | 'inventory-exists'
  | 'no-inventory-record'
  | 'inventory-in-use'
  | 'reserved-exceeds-total'
  | 'no-inventory'
  | 'unit-constraint'
  | 'exceeds-capacity'
  | 'no-allocations'
  | 'group-affinity'
  | 'group-anti-affinity'
  | 'too-many-combinations'
  | 'bad-parts'
  | 'not-decided'
  | 'other-shard'
  /** From here on: for whoever asks several shards, which looks again. */
  | 'consumer-moved'
  | 'changed-meanwhile'
  | 'name-exists';

export type ApiOutcome =
  /** `seen` names the last change over several shards that it shows; absent: there was none lately. */
  { readonly ok: unknown; readonly seen?: string } | { readonly refused: ApiRefusal };
