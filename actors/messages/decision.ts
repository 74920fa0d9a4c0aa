// The record of a scheduler's decision: what it considered, what stood against each host, what it weighed, claimed and
// named as alternates. It travels in the scheduler's answer and is kept with the request as a short text, see
// stored-decision.ts, which is read only when somebody asks for it.

import Type, { type Static } from 'typebox';
import { Advice } from './advice.ts';
import { OnNamedHosts } from './in-the-way.ts';
import { Where } from './where.ts';

const Place = { cell: Type.String(), host: Type.String() };

/** The list of a request that names nothing which is there, as far as the scheduler knows. */
export const Absent = Type.Union([Type.Literal('cells'), Type.Literal('hosts')]);
export type Absent = Static<typeof Absent>;

/** A name of a request that nothing carries which the scheduler knows; of an instance: it holds nothing. */
export const UnknownName = Type.Object({
  /** Checked as any text: a node of a later version may know more. */
  kind: Type.Unsafe<'class' | 'trait' | 'cell' | 'host' | 'aggregate' | 'instance'>(Type.String()),
  /** Of a host: `<cell>/<host>`. */
  name: Type.String(),
  /** The name of that kind that is most like it, of those that are carried, where one is much like it. */
  like: Type.Optional(Type.String()),
});
export type UnknownName = Static<typeof UnknownName>;

/** What is much like names that nothing carries: kind and name, and what is like it. */
export const LikeNames = Type.Array(Type.Tuple([Type.String(), Type.String(), Type.String()]));
export type LikeNames = Static<typeof LikeNames>;

/**
 * Resource classes are told and kept apart from other names: nodes of earlier versions refuse kinds that they do not know.
 * What is like any of them is, too: those read kinds and names alone.
 */
export function classesApart(unknown: readonly UnknownName[]): {
  classes: string[];
  others: UnknownName[];
  like: LikeNames;
} {
  return {
    classes: unknown.filter(({ kind }) => kind === 'class').map(({ name }) => name),
    others: unknown.filter(({ kind }) => kind !== 'class').map(({ kind, name }) => ({ kind, name })),
    like: unknown.flatMap(({ kind, name, like }): LikeNames => (like === undefined ? [] : [[kind, name, like]])),
  };
}

/** The names as they were before that. */
export function withClasses(
  classes: readonly string[] | undefined,
  others: readonly UnknownName[] | undefined,
  like: LikeNames | undefined,
): UnknownName[] | undefined {
  if (classes === undefined && others === undefined) return undefined;
  const all = [...(classes ?? []).map((name): UnknownName => ({ kind: 'class', name })), ...(others ?? [])];
  return all.map((one) => {
    const [, , alike] = like?.find(([kind, name]) => kind === one.kind && name === one.name) ?? [];
    return alike === undefined ? one : { ...one, like: alike };
  });
}

/** The code of the hosts that are counted together, where there are more reasons than are told. */
export const OTHER = 'other';

/** How many hosts one reason refused. Codes are stable; `about` is a resource class, a trait or the like. */
export const RefusedHosts = Type.Object({
  code: Type.String(),
  about: Type.Optional(Type.String()),
  /** Of a filter that failed: what it said of the first host. */
  message: Type.Optional(Type.String()),
  hosts: Type.Integer(),
  /** The host that came nearest, and by how much it fell short: where none fits, one that lacks nothing else, if there is any. */
  nearest: Type.Optional(
    Type.Object({
      ...Place,
      short: Type.Number(),
      /** More stands in its way than what it is short of. */
      lacksMore: Type.Optional(Type.Literal(true)),
    }),
  ),
});
export type RefusedHosts = Static<typeof RefusedHosts>;

/** The weight of a host, and what each weigher had in it: the parts add up to the weight. */
export const Weighing = Type.Object({
  ...Place,
  weight: Type.Number(),
  parts: Type.Record(Type.String(), Type.Number()),
});
export type Weighing = Static<typeof Weighing>;

export const RefusedClaim = Type.Object({ ...Place, code: Type.String(), message: Type.String() });
export type RefusedClaim = Static<typeof RefusedClaim>;

/** Room for some of several instances: on the hosts that had it, or on those that some had been given already. */
export const RoomForSome = Type.Object({
  instances: Type.Integer(),
  /** How many were asked for. */
  of: Type.Integer(),
  hosts: Type.Integer(),
  /** The first few of the hosts, those with most room first. */
  named: Type.Array(Type.Object({ ...Place, instances: Type.Integer() })),
});
export type RoomForSome = Static<typeof RoomForSome>;

/** Where there is room for some of several instances: what lets in no more, and after how many of them. */
export const RunsOut = Type.Object({
  instances: Type.Integer(),
  /** How many were asked for. */
  of: Type.Integer(),
  /** How many hosts have that room; of instances that keep together: as much as any other host. */
  hosts: Type.Integer(),
  /** On how many of those hosts a class is short for one more: the classes that are on most hosts first. */
  classes: Type.Array(Type.Object({ about: Type.String(), hosts: Type.Integer() })),
  /**
   * On how many of those hosts one more would be refused whatever is left, and by what, as a code of refusals: by the rule
   * of its instance group, by a limit on instances or builds, or as its groups are to share a subtree, or none.
   */
  rules: Type.Optional(Type.Array(Type.Object({ code: Type.String(), hosts: Type.Integer() }))),
});
export type RunsOut = Static<typeof RunsOut>;

/** A class of which a request asks for more than any host can give, even when empty. */
export const TooLarge = Type.Object({
  about: Type.String(),
  /** How much is asked for of one host: by all groups, and by all instances that keep together. */
  asked: Type.Integer(),
  /** The most that a host can give. */
  most: Type.Integer(),
  /** Both are of one provider: a host may give as much from several, and one group asks it of one. */
  onOne: Type.Optional(Type.Literal(true)),
});
export type TooLarge = Static<typeof TooLarge>;

/** An instance group that keeps together, on a host that takes no more. */
export const GroupHeld = Type.Object({
  /** Its name. */
  group: Type.String(),
  ...Place,
  /** How the host is: `down`, `disabled`, `set-aside` or `fenced`. */
  state: Type.String(),
  /** It is disabled, too, when it is back. */
  disabled: Type.Optional(Type.Literal(true)),
  /** It is disabled with its cell, and back with it. */
  withCell: Type.Optional(Type.Literal(true)),
  /** Until when it is set aside if it is back before that, ms since the epoch. */
  asideUntil: Type.Optional(Type.Number()),
  /** How many of its instances hold it there. */
  members: Type.Integer(),
  /** The first few of them; none where that was not asked, or nobody told. */
  named: Type.Array(Type.String()),
  /**
   * What lets the request fit, each by itself: that the host takes instances again, or that the members are gone. Absent
   * where an earlier version told: either may.
   */
  freedBy: Type.Optional(Type.Array(Type.Union([Type.Literal('host'), Type.Literal('members')]))),
});
export type GroupHeld = Static<typeof GroupHeld>;

/** How many hosts with room for some are named. */
export const MAX_ROOMS_NAMED = 5;

/** The record of a scheduler's decision for one instance: what was considered, refused, weighed, claimed and chosen. */
export const Decision = Type.Object({
  /** When it was made, ms since the epoch. */
  at: Type.Number(),
  /** The scheduler that made it. */
  scheduler: Type.String(),
  /** How many hosts it knew: those that fit and those that were refused add up to it. */
  hosts: Type.Integer(),
  fits: Type.Integer(),
  refused: Type.Array(RefusedHosts),
  /** Where no host fits: of the cells, or of the hosts, that the request names none is known. */
  absent: Type.Optional(Absent),
  /** Where it has no host, and all were looked at for that: names of the request that nothing known carries, the first ones. */
  unknown: Type.Optional(Type.Array(UnknownName)),
  /** Where there was room for some of several instances, and not for all; absent too where it was not counted. */
  room: Type.Optional(RoomForSome),
  /** Where there was room for some of several instances: what ran out; absent too where it is not known. */
  runsOut: Type.Optional(RunsOut),
  /** Where it has no host, and all were looked at for that: the classes of which no host is large enough, the first ones. */
  tooLarge: Type.Optional(Type.Array(TooLarge)),
  /** What its instance group is held by, where that keeps it from fitting. */
  groupHeld: Type.Optional(GroupHeld),
  /** Where it has no host: what stood in the way on the first hosts that the request names. */
  onNamed: Type.Optional(OnNamedHosts),
  /** Of one that had waited until it had a host: since when it was asked for, ms since the epoch. */
  waitedSince: Type.Optional(Type.Number()),
  /** The host that was claimed; absent when there was none. */
  chosen: Type.Optional(Type.Object(Place)),
  /** The best host, then the runners-up, in the order in which they would be taken but for chance and silence. */
  weights: Type.Array(Weighing),
  /** Of a request with an instance group: its policy, and how many members each host of `weights` had, in that order. */
  group: Type.Optional(Type.Object({ policy: Type.String(), members: Type.Array(Type.Integer()) })),
  /** How many claims were refused before one was granted, or none was left to try. */
  claimsRefused: Type.Integer(),
  /** The last of them. */
  refusedClaims: Type.Array(RefusedClaim),
  /** The hosts named to be tried should the build fail, all in the cell of the chosen one. */
  alternates: Type.Array(Type.String()),
  /** How many of them were asked for, where there are fewer: no other host of the cell was found to fit. */
  alternatesAsked: Type.Optional(Type.Integer()),
  /** How many more hosts of its cell fitted, which more alternates would have named; absent: that is not known. */
  furtherInCell: Type.Optional(Type.Integer()),
  /** Where its cell has no more: how many hosts of other cells fitted; absent: that is not known. */
  furtherElsewhere: Type.Optional(Type.Integer()),
  /**
   * Where none was left: single changes that would have let it fit, the one that asks least first. In an explanation of one
   * whose build failed on all that were named: what would have given it more hosts to try.
   */
  advice: Type.Array(Advice),
  /** Filters that were asked only of the best hosts, one by one: of those that fit, they may refuse some. */
  narrowedBy: Type.Array(Type.String()),
  /** Cells that nothing was heard of lately: their hosts are chosen only when no other fits, whatever they weigh. */
  silentCells: Type.Array(Type.String()),
  /** Placement shards that nothing was heard of lately: the same goes for the hosts that they keep. */
  silentShards: Type.Optional(Type.Array(Type.Integer())),
  /** While any placement shard of several is silent: the one that keeps each host of `weights`, in that order. */
  shards: Type.Optional(Type.Array(Type.Integer())),
  /** What the request said of where it may go that only schedulers know of. */
  where: Type.Optional(Where),
});
export type Decision = Static<typeof Decision>;
