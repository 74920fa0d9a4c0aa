// What a placement shard takes and what it answers. Nothing here says where a provider stands in the deployment:
// placement knows providers and consumers only.

import Type, { type Static } from 'typebox';
import {
  AllocationSchema,
  Ask,
  Attempt,
  Id,
  Incarnation,
  InstanceGroup,
  MAX_ALLOCATIONS,
  MAX_NAMED,
  MaxInstances,
  type MessageOf,
  message,
  PageLimit,
  Reason,
  RequestSpec,
} from './common.ts';
import { MAX_AMOUNT } from './limits.ts';
import { SYMBOL_PATTERN } from './names.ts';

const Amount = Type.Integer({ minimum: 0, maximum: MAX_AMOUNT });
/** Of a root provider: how many attempts of builds hold something of its tree. Absent: none. */
const Tenants = Type.Optional(Type.Integer({ minimum: 1 }));
/**
 * Of a root provider: how many members of each instance group count there. Of groups that keep apart those of which anything
 * may run there; of those that keep together those that have their home there. Absent: none of any.
 */
const MembersByGroup = Type.Optional(Type.Record(Type.String(), Type.Integer({ minimum: 1 })));
/** The rule of each of these groups, in a word. */
const RuleByGroup = Type.Optional(Type.Record(Type.String(), Type.String()));

/** The fields of an inventory, as in the Placement API. Capacity is `(total - reserved) * allocation_ratio`. */
export const Inventory = Type.Object({
  total: Type.Integer({ minimum: 1, maximum: MAX_AMOUNT }),
  reserved: Amount,
  min_unit: Type.Integer({ minimum: 1, maximum: MAX_AMOUNT }),
  max_unit: Type.Integer({ minimum: 1, maximum: MAX_AMOUNT }),
  step_size: Type.Integer({ minimum: 1, maximum: MAX_AMOUNT }),
  allocation_ratio: Type.Number({ exclusiveMinimum: 0, maximum: 1_000_000 }),
});
export type Inventory = Static<typeof Inventory>;

/** A provider as it is told to placement: the parent stands before its children. */
export const ProviderSpec = Type.Object({
  id: Id,
  name: Type.String({ minLength: 1, maxLength: 200 }),
  parent: Type.Union([Id, Type.Null()]),
  inventories: Type.Record(Type.String({ pattern: SYMBOL_PATTERN }), Inventory, { additionalProperties: false }),
  traits: Type.Array(Type.String({ pattern: SYMBOL_PATTERN }), { maxItems: 1000 }),
  aggregates: Type.Array(Id, { maxItems: 1000 }),
});
export type ProviderSpec = Static<typeof ProviderSpec>;

/** An inventory as placement tells it: callers of the Placement API may give it any ratio. */
const ToldInventory = Type.Object({ ...Inventory.properties, allocation_ratio: Type.Number() });

/** How much of a provider is used, and by whom: what a claim changes. */
export const ProviderUsage = Type.Object({
  id: Id,
  /** Every change of the provider counts it up. */
  generation: Type.Integer({ minimum: 0 }),
  /** By class. */
  used: Type.Record(Type.String(), Amount),
  tenants: Tenants,
  groups: MembersByGroup,
  groupRules: RuleByGroup,
});
export type ProviderUsage = Static<typeof ProviderUsage>;

/** A provider as placement tells it. */
export const ProviderState = Type.Object({
  ...ProviderSpec.properties,
  ...ProviderUsage.properties,
  inventories: Type.Record(Type.String({ pattern: SYMBOL_PATTERN }), ToldInventory, { additionalProperties: false }),
  root: Id,
});
export type ProviderState = Static<typeof ProviderState>;

/** Why a claim was refused: stable codes, the first thing that did not fit. */
export const RefusalCode = Type.Union([
  Type.Literal('consumer-deleted'),
  Type.Literal('superseded'),
  Type.Literal('expired'),
  Type.Literal('unknown-provider'),
  Type.Literal('not-one-tree'),
  Type.Literal('does-not-serve-request'),
  Type.Literal('no-inventory'),
  Type.Literal('unit-constraint'),
  Type.Literal('exceeds-capacity'),
  Type.Literal('trait-missing'),
  Type.Literal('trait-forbidden'),
  Type.Literal('not-in-aggregate'),
  Type.Literal('not-isolated'),
  Type.Literal('in-avoided-aggregate'),
  Type.Literal('not-a-named-provider'),
  Type.Literal('avoided-provider'),
  /** Another consumer had to hold something of the tree. */
  Type.Literal('consumer-missing'),
  /** Another consumer must not hold anything of the tree. */
  Type.Literal('consumer-present'),
  Type.Literal('not-one-subtree'),
  /** Another member of the instance group said another rule of it. */
  Type.Literal('group-policy-conflict'),
  /** The instance group is on another host. */
  Type.Literal('group-affinity'),
  /** The host has as many members of the instance group as it may. */
  Type.Literal('group-anti-affinity'),
  /** The instance group, of a soft rule, has come to where the claimant did not know of it. */
  Type.Literal('group-changed'),
  /** As many consumers as the claim allows hold something of the tree. */
  Type.Literal('too-many-instances'),
]);
export type RefusalCode = Static<typeof RefusalCode>;

export const Refusal = Type.Object({
  code: RefusalCode,
  message: Reason,
  provider: Type.Optional(Id),
  resourceClass: Type.Optional(Type.String()),
  /** The trait, or the traits or aggregates with commas between, that was asked for in vain or is forbidden. */
  condition: Type.Optional(Type.String()),
  /** How much was asked beyond what was free, or beyond the nearest amount that units allow. */
  short: Type.Optional(Type.Number()),
});
export type Refusal = Static<typeof Refusal>;

/**
 * How late among all first claims for a consumer one was made. With several shards nobody but the claimants knows that a
 * consumer was refused here and may hold something elsewhere: so a claim that comes late, or twice, is known by its
 * order, and void when a later one was decided, or a recall has come.
 */
export const Order = Type.Integer({ minimum: 0 });

/**
 * What a claimant knew of its instance group, which has a soft rule, when it chose a tree. Where others have claimed
 * meanwhile what may let it choose otherwise, the claim is refused as `group-changed`: soft anti-affinity, when the tree
 * has more members; soft affinity, when it has none and others of the shard have, with room, unless none were expected
 * and those were known of.
 */
export const GroupKnown = Type.Object({
  /** How many members hold something of the tree. */
  members: Type.Integer({ minimum: 0 }),
  /** Of soft affinity: how many other trees of the shard members hold something of. */
  others: Type.Optional(Type.Integer({ minimum: 0 })),
  /** Of soft affinity: no member was known of in any shard, so the keeper of the group is asked (group-keeping.ts). */
  isFirst: Type.Optional(Type.Literal(true)),
});
export type GroupKnown = Static<typeof GroupKnown>;

export const placementMessages = {
  /**
   * Takes resources for a consumer, with all the conditions that they must meet, or refuses. It is one decision:
   * whatever the consumer holds under attempts other than `keep` is given back, then the new allocations are taken.
   * Attempts only count up: an older one is refused as superseded, the same one is answered as it was answered
   * before, with what is held for it.
   */
  claim: message('claim', {
    consumer: Id,
    attempt: Attempt,
    spec: RequestSpec,
    /** What serves the request, all of one tree. */
    allocations: Type.Array(AllocationSchema, { minItems: 1, maxItems: MAX_ALLOCATIONS }),
    /**
     * The root of that tree, where other providers of it will do as well: they are granted where what is named is taken by
     * now, or gone, and the request fits the tree all the same. Absent: what is named, or nothing.
     */
    root: Type.Optional(Id),
    /** Attempts whose resources stay held beside the new ones: something may still run there. */
    keep: Type.Array(Attempt, { maxItems: 64 }),
    /** After this time (ms since the epoch) the claim is void: whoever sent it has given up. */
    expiresAt: Type.Number(),
    /** See Order; told where there are several shards. */
    order: Type.Optional(Order),
    /** How many consumers may hold something of the tree, this one included, where the claimant limits that. */
    maxInstances: Type.Optional(MaxInstances),
    /** Told where the group has a soft rule and the claimant would choose anew; absent: the tree is taken as it is. */
    groupKnown: Type.Optional(GroupKnown),
  }),
  /**
   * Asks what is held for an attempt: answered as a claim of it would be, or with `nothing-held`. With an order, claims
   * that were made before are void from then on where nothing is held; without, it changes nothing.
   */
  recall: message('recall', {
    consumer: Id,
    attempt: Attempt,
    order: Type.Optional(Order),
    /** With an order: until when such claims may come, ms since the epoch. */
    expiresAt: Type.Optional(Type.Number()),
  }),
  /**
   * Takes a first claim back: what is held for it goes back, and the consumer is as if it had never been claimed for.
   * Claims up to this order are void, and a claimant that has learned of it by a later recall keeps what is held.
   */
  unclaim: message('unclaim', {
    consumer: Id,
    attempt: Attempt,
    order: Order,
    /** Until when claims up to this order may come, ms since the epoch. */
    expiresAt: Type.Number(),
  }),
  /** Asks on which trees consumers hold something, and for members of a group. Changes nothing. */
  locate: message('locate', {
    ask: Ask,
    consumers: Type.Array(Id, { minItems: 1, maxItems: 2 * MAX_NAMED }),
    /** Whose members are to be named, and whose rule; a shard of an earlier version does not. */
    group: Type.Optional(InstanceGroup.properties.id),
  }),
  /**
   * Gives back what a consumer holds: one attempt, or all but `keep`. `deleted` ends the consumer for good: later
   * claims for it are refused. With `before` it gives back the attempts before that one, but `keep`, and no claim of
   * them is granted any more: the consumer moves to a tree of another shard.
   */
  release: message('release', {
    consumer: Id,
    attempt: Type.Optional(Attempt),
    keep: Type.Optional(Type.Array(Attempt, { maxItems: 64 })),
    before: Type.Optional(Attempt),
    deleted: Type.Boolean(),
  }),
  /**
   * Makes a tree of providers be as told; the root comes first. A provider that is told no more
   * goes; one on which something is held stays, with nothing more to give, until the tree is told without that.
   */
  'put-tree': message('put-tree', {
    /** Counts what the host has had in one life of its compute. */
    ask: Ask,
    /** Which life that is: what it told before may come after what it tells now. Absent: of a node that did not say yet. */
    incarnation: Type.Optional(Incarnation),
    providers: Type.Array(ProviderSpec, { minItems: 1, maxItems: 512 }),
    /** It was told before: nothing is done unless its root is gone, or what is there was told otherwise. */
    again: Type.Optional(Type.Boolean()),
  }),
  /**
   * The host of a tree is gone for good: all its providers go, those that callers have put below it too, unless something is
   * held on one of them.
   */
  'withdraw-tree': message('withdraw-tree', { ask: Ask, root: Id }),
  /** Asks for all providers, a page at a time, for a picture of them that the feed then keeps. */
  'list-providers': message('list-providers', {
    ask: Ask,
    after: Type.Optional(Id),
    limit: PageLimit,
  }),
  /** Asks for all consumers and what they hold, a page at a time. */
  'list-consumers': message('list-consumers', {
    ask: Ask,
    after: Type.Optional(Id),
    limit: PageLimit,
  }),
};
export type PlacementMessage = MessageOf<typeof placementMessages>;
export type Claim = Static<typeof placementMessages.claim>;
export type Locate = Static<typeof placementMessages.locate>;
export type Unclaim = Static<typeof placementMessages.unclaim>;
export type Recall = Static<typeof placementMessages.recall>;
export type Release = Static<typeof placementMessages.release>;
export type PutTree = Static<(typeof placementMessages)['put-tree']>;
export type WithdrawTree = Static<(typeof placementMessages)['withdraw-tree']>;

/** The answers to a claim and a release, for whoever sends them. */
export const claimAnswers = {
  'claim-granted': message('claim-granted', {
    consumer: Id,
    attempt: Attempt,
    /**
     * What is held for the attempt: not what was asked if an earlier claim of the same attempt was granted, or if other
     * providers of the tree serve the request.
     */
    allocations: Type.Array(AllocationSchema, { maxItems: MAX_ALLOCATIONS }),
    /** How the providers of the allocations stand, and their root: by it the host is known, whatever device it gives. */
    usages: Type.Array(ProviderUsage, { maxItems: 2 * MAX_ALLOCATIONS }),
    /** That of the claim or recall, if it had one. */
    order: Type.Optional(Order),
  }),
  'claim-refused': message('claim-refused', {
    consumer: Id,
    attempt: Attempt,
    refusal: Refusal,
    /**
     * How the providers named in the claim stand, and those where the claim's instance group is: the claimant's picture
     * is mended by the refusal.
     */
    usages: Type.Array(ProviderUsage, { maxItems: 2 * MAX_ALLOCATIONS }),
    /** That of the claim, if it had one. */
    order: Type.Optional(Order),
  }),
  released: message('released', {
    consumer: Id,
    attempt: Type.Optional(Attempt),
    before: Type.Optional(Attempt),
    deleted: Type.Boolean(),
  }),
};
export type ClaimGranted = Static<(typeof claimAnswers)['claim-granted']>;
export type ClaimRefused = Static<(typeof claimAnswers)['claim-refused']>;
export type Released = Static<typeof claimAnswers.released>;

/** The numbered feed of a shard, and the pages that a listener asks for when it starts or has missed a number. */
export const feedMessages = {
  'providers-changed': message('providers-changed', {
    shard: Type.Integer({ minimum: 0 }),
    /** Which life of the shard is speaking; numbers of different lives do not compare. */
    epoch: Type.Number(),
    /** The number of this change; a beat that tells nothing new repeats the last one. */
    sequence: Type.Integer({ minimum: 0 }),
    changed: Type.Array(ProviderState),
    used: Type.Array(ProviderUsage),
    removed: Type.Array(Id),
    /** Consumers that were deleted while they held something: nothing comes any more of what was claimed for them. */
    deleted: Type.Optional(Type.Array(Id)),
  }),
  providers: message('providers', {
    ask: Ask,
    shard: Type.Integer({ minimum: 0 }),
    epoch: Type.Number(),
    /** The number of the last change that the page contains. */
    sequence: Type.Integer({ minimum: 0 }),
    providers: Type.Array(ProviderState),
    next: Type.Union([Id, Type.Null()]),
  }),
};
export type ProvidersChanged = Static<(typeof feedMessages)['providers-changed']>;
export type ProvidersPage = Static<typeof feedMessages.providers>;

/** What a caller of the Placement API takes for a consumer of its own is held for this attempt; builds count from 1. */
export const OF_NO_BUILD = 0;

/** What one consumer holds, by attempt. */
export const ConsumerState = Type.Object({
  consumer: Id,
  held: Type.Array(Type.Object({ attempt: Attempt, allocations: Type.Array(AllocationSchema) })),
});
export type ConsumerState = Static<typeof ConsumerState>;

/** On which trees consumers hold something; one that holds nothing here is not told. */
export const Located = message('located', {
  ask: Ask,
  shard: Type.Integer({ minimum: 0 }),
  consumers: Type.Array(
    Type.Object({
      consumer: Id,
      /** Where it holds anything: something of it may run there. */
      roots: Type.Array(Id),
      /** Those of them where it is, where earlier attempts have left something behind on others; absent: all. */
      homes: Type.Optional(Type.Array(Id)),
    }),
  ),
  /** The first few members of the group that have their home with this shard. */
  members: Type.Optional(Type.Array(Id)),
  /** The rule of the group, if any member holds something with this shard. */
  rule: Type.Optional(Type.String({ maxLength: 100 })),
});
export type Located = Static<typeof Located>;

export const placementAnswers = {
  'tree-put': message('tree-put', { ask: Ask, root: Id }),
  'tree-refused': message('tree-refused', { ask: Ask, root: Id, reason: Reason }),
  /** There is no such tree any more, or there never was. */
  'tree-withdrawn': message('tree-withdrawn', { ask: Ask, root: Id }),
  /** It stays: something is held there. */
  'tree-kept': message('tree-kept', { ask: Ask, root: Id, reason: Reason }),
  consumers: message('consumers', {
    ask: Ask,
    consumers: Type.Array(ConsumerState),
    /** What counts as used for changes that are not decided yet, beyond what consumers hold; absent when there are none. */
    inDoubt: Type.Optional(Type.Array(AllocationSchema)),
    next: Type.Union([Id, Type.Null()]),
  }),
};
