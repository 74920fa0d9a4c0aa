// The words that messages share: ids, resources, request specs, selections. Every message is a typebox schema, and
// its TypeScript type is derived from it, so what the compiler believes and what the wire check enforces are one.

import Type, { type Static, type TObject, type TProperties } from 'typebox';
import { MAX_AMOUNT, MAX_COUNT } from './limits.ts';
import {
  CELL_HOST_PATTERN,
  ID_PATTERN,
  MAX_TOKEN_LENGTH,
  METRIC_PATTERN,
  SYMBOL_PATTERN,
  TOKEN_PATTERN,
} from './names.ts';

/** Of how many attempts one message tells that they are on a host, or should be. */
export const MAX_RUNNING_TOLD = 10_000;
/**
 * Which of the lists that its driver made of what runs there a compute goes by: later ones in its life have higher numbers, so
 * that what is late is known for that. Absent: it has none in this life but the first, or is of before.
 */
export const Listed = Type.Optional(Type.Integer({ minimum: 0 }));
/** Of how many a heartbeat tells that they are missing. */
export const MAX_MISSING_TOLD = 1_000;
/** Groups in one request spec. */
export const MAX_GROUPS = 32;
/** Hosts, cells, aggregates or instances in one list of where a request may go. */
export const MAX_NAMED = 64;
/** Allocations of one claim. */
export const MAX_ALLOCATIONS = 64;

/** An id as it may stand in a subject. */
export const Token = Type.String({ pattern: TOKEN_PATTERN, maxLength: MAX_TOKEN_LENGTH });
/** A life of an actor that keeps no journal: the name of its node, `-` and twelve hexadecimal digits. */
export const Incarnation = Type.String({ maxLength: MAX_TOKEN_LENGTH + 13 });
/** The id of a provider, an aggregate or a consumer. */
export const Id = Type.String({ pattern: ID_PATTERN, maxLength: MAX_TOKEN_LENGTH });
/** A host, as roles name it: `<cell>/<host>`. */
export const CellHost = Type.String({ pattern: CELL_HOST_PATTERN, maxLength: 2 * MAX_TOKEN_LENGTH + 1 });
/** A resource class or trait name. */
export const Symbolic = Type.String({ pattern: SYMBOL_PATTERN });
const Symbols = Type.Array(Symbolic, { maxItems: 64 });

/** Amounts by resource class, each at least 1. */
export const Resources = Type.Record(
  Type.String({ pattern: SYMBOL_PATTERN }),
  Type.Integer({ minimum: 1, maximum: MAX_AMOUNT }),
  { maxProperties: 32, additionalProperties: false },
);
export type Resources = Readonly<Record<string, number>>;

/**
 * Part of what an instance needs. A named group is served by one provider alone; the unnamed group, '', may be spread
 * over the providers of one tree, and its traits need only be there somewhere in what serves it.
 */
export const ResourceGroup = Type.Object({
  name: Type.String({ maxLength: MAX_TOKEN_LENGTH }),
  resources: Resources,
  /** Traits that must all be there. */
  required: Type.Optional(Symbols),
  /** Of each list, one trait must be there. */
  anyOf: Type.Optional(Type.Array(Symbols, { maxItems: 16 })),
  /** Traits that must not be there. */
  forbidden: Type.Optional(Symbols),
  /** Of each list, the provider or its root must be in one aggregate. */
  memberOf: Type.Optional(Type.Array(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64 }), { maxItems: 16 })),
});
export type ResourceGroup = Static<typeof ResourceGroup>;

/** Conditions on the whole tree of providers that serves a request, whichever of them do. */
export const TreeConditions = Type.Object({
  /** Of each list, the root must be in one aggregate. */
  memberOf: Type.Optional(Type.Array(Type.Array(Id, { maxItems: 2000 }), { maxItems: 4 })),
  /** Aggregates that the root must not be in. */
  notMemberOf: Type.Optional(Type.Array(Id, { maxItems: 2000 })),
  /** The root must be one of these. */
  oneOf: Type.Optional(Type.Array(Id, { maxItems: MAX_NAMED })),
  /** The root must be none of these. */
  noneOf: Type.Optional(Type.Array(Id, { maxItems: MAX_NAMED })),
  /** One of these consumers must have its home in the tree: what an earlier attempt left behind there is not enough. */
  heldBy: Type.Optional(Type.Array(Id, { maxItems: MAX_NAMED })),
  /** None of these consumers may hold anything of the tree. */
  notHeldBy: Type.Optional(Type.Array(Id, { maxItems: MAX_NAMED })),
});
export type TreeConditions = Static<typeof TreeConditions>;
/**
 * A group of instances and the rule by which they share hosts or keep apart. A hard rule is a condition of every claim:
 * `affinity`: all members on one host; `anti-affinity`: no host has more than `maxPerHost` of them. A soft one is a wish.
 */
export const InstanceGroup = Type.Object({
  /** `<project>/<name>`: a group belongs to a project; `/<name>` when the caller named none. */
  id: Type.String({ pattern: '^[a-z0-9-]*/[a-z0-9-]+$', maxLength: 2 * MAX_TOKEN_LENGTH + 1 }),
  policy: Type.Union([
    Type.Literal('affinity'),
    Type.Literal('anti-affinity'),
    Type.Literal('soft-affinity'),
    Type.Literal('soft-anti-affinity'),
  ]),
  /** Of anti-affinity: how many members one host may have; default 1. */
  maxPerHost: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_COUNT })),
});
export type InstanceGroup = Static<typeof InstanceGroup>;

/** What an instance needs; a claim carries it, and placement checks it again where it decides. */
export const RequestSpec = Type.Object({
  groups: Type.Array(ResourceGroup, { minItems: 1, maxItems: MAX_GROUPS }),
  /** `isolate`: no two named groups on one provider. */
  groupPolicy: Type.Union([Type.Literal('none'), Type.Literal('isolate')]),
  tree: Type.Optional(TreeConditions),
  /** Traits that the host itself must have, or must not, wherever in its tree the groups are served. */
  rootRequired: Type.Optional(Symbols),
  rootForbidden: Type.Optional(Symbols),
  /**
   * Of each list of named groups, the providers that serve them must be one subtree: one of them is all others' ancestor,
   * or serves them all. As `same_subtree` of the Placement API.
   */
  sameSubtree: Type.Optional(
    Type.Array(
      Type.Array(Type.String({ minLength: 1, maxLength: MAX_TOKEN_LENGTH }), { minItems: 1, maxItems: MAX_GROUPS }),
      {
        maxItems: MAX_GROUPS,
      },
    ),
  ),
  /** The group of instances that the instance is a member of. */
  instanceGroup: Type.Optional(InstanceGroup),
});
export type RequestSpec = Static<typeof RequestSpec>;

export const AllocationSchema = Type.Object({
  provider: Id,
  group: Type.String({ maxLength: MAX_TOKEN_LENGTH }),
  resources: Resources,
});

/** A limit on the instances of a host. */
export const MaxInstances = Type.Integer({ minimum: 0, maximum: MAX_AMOUNT });

export const SelectionSchema = Type.Object({
  cell: Token,
  host: Token,
  provider: Id,
  /** Absent: the provider gives the one unnamed group that is asked. */
  allocations: Type.Optional(Type.Array(AllocationSchema, { maxItems: MAX_ALLOCATIONS })),
  /** How many instances the host may have, this one included; absent: as many as have room. */
  maxInstances: Type.Optional(MaxInstances),
});

/** Why an instance is not, or not known to be, active: what its machine says, and what befalls it afterwards. */
export const FailureCode = Type.Union([
  Type.Literal('no-valid-host'),
  Type.Literal('scheduling-timed-out'),
  Type.Literal('alternates-exhausted'),
  Type.Literal('build-aborted'),
  Type.Literal('deleted'),
  Type.Literal('host-fenced'),
  Type.Literal('cell-silent'),
]);
export type FailureCode = Static<typeof FailureCode>;

/** What a driver measures on its host, by names of its own such as `load` or `temperature`. */
export const Metrics = Type.Record(Type.String({ pattern: METRIC_PATTERN }), Type.Number(), {
  maxProperties: 16,
  additionalProperties: false,
});
export type Metrics = Readonly<Record<string, number>>;

/** The caller's number for a question; the answer carries it back. */
export const Ask = Type.Integer({ minimum: 0 });

/**
 * The number before the first question of an asker that begins at this time, ms since the epoch: an answer that comes
 * late, to an earlier life of the same name, is then to none of its own. Its numbers would have to grow by a million a
 * second to meet those of the next life.
 */
export const asksFrom = (now: number): number => Math.floor(now) * 1_000;

/** What a driver is asked to do with an attempt. */
export const DriverTask = Type.Union([Type.Literal('build'), Type.Literal('destroy')]);

/** How many of a list an answer may tell. */
export const PageLimit = Type.Integer({ minimum: 1, maximum: 1000 });

export const Attempt = Type.Integer({ minimum: 0, maximum: 1000 });
export const MAX_REASON_LENGTH = 4096;
export const Reason = Type.String({ maxLength: MAX_REASON_LENGTH });
/** Of a trace context; today's have 55, later versions may append. https://www.w3.org/TR/trace-context/ */
export const MAX_TRACEPARENT_LENGTH = 128;
export const Traceparent = Type.Optional(Type.String({ maxLength: MAX_TRACEPARENT_LENGTH }));
/** The caller's own words about the instance, handed to the driver unread. */
export const Payload = Type.Optional(Type.Unknown());

/** The beginning of a text that is too long, and a mark, without half a character before it, which could not be sent. */
export function clipped(text: string, length: number): string {
  if (length <= 0) return '';
  return text.length <= length ? text : `${text.slice(0, length - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/** Declares a message: its type tag and its fields. */
export function message<const Tag extends string, Fields extends TProperties>(
  tag: Tag,
  fields: Fields,
): TObject<Fields & { type: ReturnType<typeof Type.Literal<Tag>> }> {
  return Type.Object({ type: Type.Literal(tag), ...fields }) as never;
}

/** The schemas of all messages that an actor takes, by type. */
export type Protocol = Readonly<Record<string, TObject>>;
/** The union of the messages of a protocol. */
export type MessageOf<P extends Protocol> = { [T in keyof P]: Static<P[T]> & { type: T } }[keyof P];
