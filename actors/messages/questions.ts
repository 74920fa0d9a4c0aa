// What may be asked of a scheduler beside a choice: whether a request would fit, why it is not on a host, and which cells
// there are. All are answered from its view of all hosts, and hold nothing.

import Type, { type Static } from 'typebox';
import { Advice } from './advice.ts';
import { Ask, message, Reason, RequestSpec, Token } from './common.ts';
import { Absent, GroupHeld, LikeNames, RefusedHosts, RunsOut, TooLarge, UnknownName, Weighing } from './decision.ts';
import { InTheWay, OnNamedHosts } from './in-the-way.ts';
import { MAX_COUNT } from './limits.ts';
import { Where } from './where.ts';

/** The most hosts that an answer names. */
export const MAX_HOSTS_NAMED = 100;

const ofRequest = { spec: RequestSpec, where: Type.Optional(Where), project: Type.Optional(Token) };

export const questionMessages = {
  /** Would so many instances fit, where, and how many more? */
  fit: message('fit', {
    ask: Ask,
    ...ofRequest,
    count: Type.Integer({ minimum: 1, maximum: MAX_COUNT }),
    /** How many of the best hosts the answer names. */
    limit: Type.Integer({ minimum: 0, maximum: MAX_HOSTS_NAMED }),
  }),
  /** How does one host stand to a request? */
  'why-not': message('why-not', {
    ask: Ask,
    /** Whose request it is. */
    instance: Type.Optional(Token),
    ...ofRequest,
    cell: Type.Optional(Token),
    host: Token,
  }),
  /** Which cells are there? */
  'list-cells': message('list-cells', { ask: Ask }),
};

/** The question is being looked into, which takes some time: it need not be put again soon. */
export const Answering = message('answering', { ask: Ask });

/** An instance group, the rule that it has, and the one that is asked for: policies, and `n per host` of `maxPerHost`. */
export const GroupRule = Type.Object({ group: Type.String(), rule: Type.String(), asked: Type.String() });
export type GroupRule = Static<typeof GroupRule>;

/** A cell, or a placement shard, of which nothing was heard lately: what is told of its hosts is as of when it was heard last. */
export const Silence = Type.Object({
  cell: Type.Optional(Token),
  shard: Type.Optional(Type.Integer()),
  /** When it was heard last, ms since the epoch. */
  since: Type.Number(),
});
export type Silence = Static<typeof Silence>;

/** A host that fits, and what its place among the others goes by. */
export const RankedHost = Type.Object({
  ...Weighing.properties,
  /** Members of the request's instance group that it has, where a soft rule goes by them before it goes by weight. */
  members: Type.Optional(Type.Integer()),
  /** The placement shard that keeps it, if nothing was heard of that lately: it comes after those that others keep. */
  silentShard: Type.Optional(Type.Integer()),
});
export type RankedHost = Static<typeof RankedHost>;

export const FittingHost = Type.Object({
  ...RankedHost.properties,
  /** How many instances it would hold, one after the other; at least, where not all was searched. */
  times: Type.Integer(),
});
export type FittingHost = Static<typeof FittingHost>;

export const Fitted = message('fitted', {
  ask: Ask,
  /** How many hosts the scheduler knows: those that fit and those that were refused add up to it. */
  hosts: Type.Integer(),
  fits: Type.Integer(),
  /**
   * How many instances would fit on all of them, or on the one that holds most where they keep together; at least, where
   * not all was searched.
   */
  times: Type.Integer(),
  /** Some hosts were not searched to the end: there may be room for more. */
  partly: Type.Optional(Type.Literal(true)),
  refused: Type.Array(RefusedHosts),
  /** Where some of several instances would fit, and not all: what runs out; absent too where it is not resources, or not known. */
  runsOut: Type.Optional(RunsOut),
  /** Where it does not fit: the classes of which it asks for more than any host can give, even when empty, the first ones. */
  tooLarge: Type.Optional(Type.Array(TooLarge)),
  /** Members of its instance group have said another rule, which it keeps as long as it has any: whatever fits is refused. */
  groupRule: Type.Optional(GroupRule),
  /** What its instance group is held by, where that keeps it from fitting; no member is named. */
  groupHeld: Type.Optional(GroupHeld),
  /** What stands in the way on the hosts that the request names, where any of those that are known do not do. */
  onNamed: Type.Optional(OnNamedHosts),
  /** Of the cells, or of the hosts, that the request names none is known. */
  absent: Type.Optional(Absent),
  /** Names of the request that nothing known carries, also where it fits: the first 20 of them. */
  unknown: Type.Optional(Type.Array(UnknownName)),
  /** Resource classes of them. */
  unknownClasses: Type.Optional(Type.Array(Type.String())),
  /** What is much like names that nothing known carries. */
  unknownLike: Type.Optional(LikeNames),
  best: Type.Array(FittingHost),
  /** Cells that nothing was heard of lately: their hosts come last, whatever they weigh. */
  silentCells: Type.Array(Token),
  /** Placement shards that nothing was heard of lately: the hosts that they keep come last as well. */
  silentShards: Type.Optional(Type.Array(Type.Integer())),
  /** They fit, but not without hosts that those keep: what is asked for would wait for them, and may be refused then. */
  needsSilentShards: Type.Optional(Type.Literal(true)),
  /** They fit, but not without hosts of cells that are silent: how these hosts are now nobody knows, and builds there wait. */
  needsSilentCells: Type.Optional(Type.Literal(true)),
  /**
   * Root providers with room for it of which no cell has told since the scheduler came up, as far as there are any: hosts of a
   * cell that is down since before, perhaps. They are not among `hosts`.
   */
  untold: Type.Optional(Type.Integer()),
  /** Since when those are silent; absent when nobody is. */
  silence: Type.Optional(Type.Array(Silence)),
  /** What would let it fit, one change at a time, if it does not. */
  advice: Type.Array(Advice),
});
export type Fitted = Static<typeof Fitted>;

/** How a host stands to a request. */
export const HostStanding = Type.Object({
  cell: Token,
  host: Token,
  ...InTheWay,
  /** Absent when it fits. */
  refusal: Type.Optional(InTheWay.refusal),
  /** What it weighs, when it fits. */
  weighing: Type.Optional(RankedHost),
  /** Its place among the hosts that are known to fit, from 1; hosts with nothing between them share one. */
  rank: Type.Optional(Type.Integer()),
  /** The host that ranks first. */
  best: Type.Optional(RankedHost),
  hosts: Type.Integer(),
  fits: Type.Integer(),
  /**
   * The scheduler has claimed that host for the instance, and the placement shard has not answered: what is claimed counts
   * as used.
   */
  claiming: Type.Optional(Type.Object({ cell: Token, host: Token, shard: Type.Integer() })),
  /**
   * The scheduler waits for these placement shards to say what they hold for the instance, or where others are: it claims
   * nothing before. Absent where it waits for none.
   */
  awaiting: Type.Optional(Type.Array(Type.Integer())),
  /** Nothing was heard of its cell lately: it comes after all others, whatever it weighs. */
  silent: Type.Optional(Type.Literal(true)),
  /** Since when its cell is silent, or the placement shard that keeps it; absent when neither is. */
  silence: Type.Optional(Type.Array(Silence)),
});
export type HostStanding = Static<typeof HostStanding>;

export const WhyNotTold = message('why-not-told', { ask: Ask, standing: HostStanding });

/** A cell, as a scheduler has heard of it. */
export const CellView = Type.Object({
  cell: Token,
  /** How many hosts it has, in whatever state. */
  hosts: Type.Integer(),
  /** How many of them are up: offered instances. */
  up: Type.Integer(),
  /** Nothing was heard of it lately: the figures are of before. */
  silent: Type.Optional(Type.Literal(true)),
  /** Why the whole cell is out of service, so that none of its hosts is up; absent: it is not. */
  disabled: Type.Optional(Reason),
});
export type CellView = Static<typeof CellView>;

export const CellsTold = message('cells', { ask: Ask, cells: Type.Array(CellView) });
