// What a request says of where it may go that placement does not know of: it is for the schedulers alone. What
// placement can check stands in the request spec, as conditions on the tree that serves it.

import Type, { type Static } from 'typebox';
import { present } from '../present.ts';
import { CellHost, Id, MAX_NAMED, type RequestSpec, Symbolic, Token, type TreeConditions } from './common.ts';

/** Where in `notMemberOf` of the claim's conditions aggregates stand. */
const Places = Type.Array(Type.Integer({ minimum: 0 }), { maxItems: 2000 });
/** What zones were made into: a list of `memberOf`, by its place there, and aggregates of `notMemberOf`. */
const madeInto = { list: Type.Optional(Type.Integer({ minimum: 0 })), closed: Type.Optional(Places) };

/**
 * What the claim's conditions on aggregates and hosts come from, in words of the request, so that what stands in its way
 * can be said in them. It names aggregates by their places: conditions may be long. A list of which nothing is said is of
 * the aggregates that were asked for; an aggregate of which nothing is said is kept for other projects.
 */
export const Origins = Type.Object({
  zones: Type.Optional(Type.Object({ names: Type.Array(Token, { maxItems: MAX_NAMED }), ...madeInto })),
  avoidZones: Type.Optional(Type.Array(Type.Object({ name: Token, ...madeInto }), { maxItems: MAX_NAMED })),
  avoidAggregates: Type.Optional(Places),
  /** The aggregates that its project is confined to: a list of `memberOf`, by its place there. */
  confined: Type.Optional(Type.Integer({ minimum: 0 })),
  /** Aggregates that are kept for others, of those that the request avoids as well. */
  kept: Type.Optional(Places),
  /**
   * Of aggregates that are kept for requests which require some traits: those that the request does not; and whether it is
   * kept for other projects, too.
   */
  reserved: Type.Optional(
    Type.Array(
      Type.Object({
        place: Type.Integer({ minimum: 0 }),
        traits: Type.Array(Symbolic, { maxItems: MAX_NAMED }),
        projects: Type.Optional(Type.Literal(true)),
      }),
      { maxItems: 2000 },
    ),
  ),
  /**
   * The aggregates that are kept for requests which require some traits, and are open to the request because it requires
   * all of them: if it required less they would be closed.
   */
  opened: Type.Optional(
    Type.Array(Type.Object({ aggregate: Id, traits: Type.Array(Symbolic, { maxItems: MAX_NAMED }) }), {
      maxItems: 2000,
    }),
  ),
  /** Which aggregates of `notMemberOf` come from what is not told: that was long. */
  cut: Type.Optional(Type.Literal(true)),
  /** The names of the hosts in `oneOf` of the claim's conditions, and in `noneOf`, in their order. */
  hosts: Type.Optional(Type.Array(CellHost, { maxItems: MAX_NAMED })),
  avoidHosts: Type.Optional(Type.Array(CellHost, { maxItems: MAX_NAMED })),
});
export type Origins = Static<typeof Origins>;

const Cells = Type.Array(Token, { minItems: 1, maxItems: MAX_NAMED });

export const Where = Type.Object({
  /** The host must be in one of these cells. */
  cells: Type.Optional(Cells),
  /** The host must be in none of these cells. */
  avoidCells: Type.Optional(Cells),
  /** Hosts of these cells come before all others, as the rule of an instance group allows. */
  preferCells: Type.Optional(Cells),
  /** Words for filters and weighers of the deployment's own. */
  hints: Type.Optional(
    Type.Record(Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$' }), Type.String({ maxLength: 255 }), {
      maxProperties: 16,
      additionalProperties: false,
    }),
  ),
  /** Absent where there is nothing but aggregates asked for, and in what nodes send that do not tell. */
  origins: Type.Optional(Origins),
});
export type Where = Static<typeof Where>;

/** Of the lists of aggregates in the claim's conditions those that the request names itself: others come of zones, or of the operator. */
export function listsAskedFor(
  memberOf: readonly string[][],
  { zones, avoidZones = [], confined }: Origins,
): readonly string[][] {
  const ofOthers = new Set([zones?.list, confined, ...avoidZones.map(({ list }) => list)]);
  return memberOf.filter((_, place) => !ofOthers.has(place));
}

export function withTree({ tree: _, ...others }: RequestSpec, tree: TreeConditions | undefined): RequestSpec {
  return tree === undefined ? others : { ...others, tree };
}

/** The traits that a request requires, of whatever provider. */
export function traitsRequired({
  groups,
  rootRequired = [],
}: Pick<RequestSpec, 'groups' | 'rootRequired'>): Set<string> {
  return new Set([...groups.flatMap(({ required = [] }) => required), ...rootRequired]);
}

/** Without the names of the hosts that the request names; undefined where that is nothing. */
export function withoutHostNames(where: Where | undefined): Where | undefined {
  if (where?.origins === undefined) return where;
  const { hosts: _, avoidHosts: __, ...ofAggregates } = where.origins;
  if (Object.keys(ofAggregates).length === 0) return withoutOrigins(where);
  return { ...where, origins: ofAggregates };
}

/** Without what may be long: of lists of aggregates it is still known which the request asked for, and what others are. */
export function withoutClosed(where: Where | undefined): Where | undefined {
  if (where?.origins === undefined) return where;
  const { zones, avoidZones, confined } = where.origins;
  const ofZones = zones && { names: zones.names, ...present({ list: zones.list }) };
  const ofAvoided = avoidZones?.map(({ name, list }) => ({ name, ...present({ list }) }));
  const known = present({ zones: ofZones, avoidZones: ofAvoided, confined });
  return Object.keys(known).length === 0 ? withoutOrigins(where) : { ...where, origins: { ...known, cut: true } };
}

/** Without what would be closed to the request if it asked for less: only whoever gives advice on it needs that. */
export function withoutOpened(where: Where | undefined): Where | undefined {
  if (where?.origins?.opened === undefined) return where;
  const { opened: _, ...others } = where.origins;
  if (Object.keys(others).length === 0) return withoutOrigins(where);
  return { ...where, origins: others };
}

/** What the request says itself; undefined where that is nothing. */
export function withoutOrigins(where: Where | undefined): Omit<Where, 'origins'> | undefined {
  if (where?.origins === undefined) return where;
  const { origins: _, ...said } = where;
  return Object.keys(said).length === 0 ? undefined : said;
}
