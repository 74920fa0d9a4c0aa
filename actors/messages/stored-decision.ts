// The record of a scheduler's decision as it is kept: a short text of bounded length, written for every instance and read
// only when somebody asks for it.

import Type, { type Static } from 'typebox';
import { present } from '../present.ts';
import { Advice } from './advice.ts';
import { clipped } from './common.ts';
import {
  Absent,
  classesApart,
  type Decision,
  type GroupHeld,
  LikeNames,
  OTHER,
  type RefusedClaim,
  type RefusedHosts,
  type RoomForSome,
  type RunsOut,
  type TooLarge,
  UnknownName,
  type Weighing,
  withClasses,
} from './decision.ts';
import { onNamedOf, StoredOnNamed, storedOnNamed } from './stored-on-named.ts';
import { Where, withoutClosed, withoutHostNames, withoutOrigins } from './where.ts';

/** The longest record, in characters. A usual one has about 200. */
export const MAX_DECISION_LENGTH = 4_096;
/** How many reasons a record names; the hosts of all others are counted together. */
const MAX_REASONS = 24;
/** How many refused claims a record names; all are counted. */
export const MAX_CLAIMS_TOLD = 8;
/** How many silent cells a record names. */
const MAX_SILENT_TOLD = 8;
/** The longest word on where it may go that a record has, in characters. */
const MAX_WHERE_LENGTH = 1_024;
/** How long the names that nothing known carries may be together, in characters: traits may be long, and a name is told whole. */
const MAX_UNKNOWN_LENGTH = 1_024;
const MAX_NAME_LENGTH = 64;
/** An id, and for whom what it names is kept. */
export const MAX_ABOUT_LENGTH = 160;
/** Of what was said for people: by a refused claim, by a filter that failed, in advice. */
export const MAX_MESSAGE_LENGTH = 240;

export const DecisionText = Type.String({ maxLength: MAX_DECISION_LENGTH });

/** Of some of several instances: how many, of how many, on how many hosts; then names, with a number for each. */
const ForSome = Type.Tuple([
  Type.Integer(),
  Type.Integer(),
  Type.Integer(),
  Type.Array(Type.Tuple([Type.String(), Type.Integer()])),
]);

/** A record as it is kept: a `Decision` in few letters, with places as `cell/host`, and without what is empty and may be. */
export const StoredDecision = Type.Object({
  /** The version. */
  v: Type.Literal(1),
  at: Type.Number(),
  /** `scheduler`. */
  by: Type.String(),
  /** `hosts`, and `fits` of them. */
  n: Type.Integer({ minimum: 0 }),
  f: Type.Integer({ minimum: 0 }),
  /** `refused`: the code, what it is about ('' if nothing) and how many hosts; then the nearest and how much it is short. */
  r: Type.Array(
    Type.Union([
      Type.Tuple([Type.String(), Type.String(), Type.Integer()]),
      Type.Tuple([Type.String(), Type.String(), Type.Integer(), Type.String(), Type.Number()]),
    ]),
  ),
  /** Which of `r` have a nearest host that lacks more, by their places. */
  k: Type.Optional(Type.Array(Type.Integer())),
  /** The messages of those of `r` that have one, by their places. */
  d: Type.Optional(Type.Array(Type.Tuple([Type.Integer(), Type.String()]))),
  /** `absent`. */
  o: Type.Optional(Absent),
  /** Resource classes of `unknown`. */
  y: Type.Optional(Type.Array(Type.String())),
  /** The other names of it: the kind and the name. */
  z: Type.Optional(Type.Array(Type.Tuple([UnknownName.properties.kind, Type.String()]))),
  /** `like` of those. */
  like: Type.Optional(LikeNames),
  /** `room`: the places of the hosts that are named, and for how many each. */
  p: Type.Optional(ForSome),
  /** `runsOut`: the classes, and on how many of the hosts each runs out. */
  out: Type.Optional(ForSome),
  /** The same of its `rules`, by their codes. */
  rules: Type.Optional(ForSome),
  /** `tooLarge`: the class, how much of it is asked for, and the most that a host can give; then 1 where that is of one provider. */
  large: Type.Optional(
    Type.Array(
      Type.Union([
        Type.Tuple([Type.String(), Type.Integer(), Type.Integer()]),
        Type.Tuple([Type.String(), Type.Integer(), Type.Integer(), Type.Integer()]),
      ]),
    ),
  ),
  /** `groupHeld`: the group, the place, how the host is, how many members there are, and those that are named. */
  held: Type.Optional(
    Type.Tuple([Type.String(), Type.String(), Type.String(), Type.Integer(), Type.Array(Type.String())]),
  ),
  /** `disabled` of `groupHeld`. */
  off: Type.Optional(Type.Literal(true)),
  /** `withCell` of `groupHeld`. */
  cell: Type.Optional(Type.Literal(true)),
  /** `asideUntil` of `groupHeld`. */
  rest: Type.Optional(Type.Number()),
  /** `freedBy` of `groupHeld`, where it is not both. */
  free: Type.Optional(Type.Array(Type.String())),
  /** `onNamed`. */
  on: Type.Optional(Type.Array(StoredOnNamed)),
  /** `chosen`. */
  g: Type.Optional(Type.String()),
  /** The names of the weighers that have a part in each of `w`. */
  m: Type.Array(Type.String()),
  /** `weights`: the place, the weight, and the parts in the order of `m`. */
  w: Type.Array(Type.Array(Type.Union([Type.String(), Type.Number()]), { minItems: 2 })),
  /** `group`: the policy, and the members on each of `w`. */
  i: Type.Optional(Type.Tuple([Type.String(), Type.Array(Type.Integer())])),
  /** `claimsRefused`. */
  t: Type.Optional(Type.Integer()),
  /** `refusedClaims`: the place, the code and the message. */
  c: Type.Optional(Type.Array(Type.Tuple([Type.String(), Type.String(), Type.String()]))),
  /** `alternates`. */
  a: Type.Array(Type.String()),
  /** `alternatesAsked`. */
  b: Type.Optional(Type.Integer()),
  /** `furtherInCell`. */
  h: Type.Optional(Type.Integer()),
  /** `furtherElsewhere`. */
  j: Type.Optional(Type.Integer()),
  /** `advice`. */
  x: Type.Optional(Type.Array(Advice)),
  /** `narrowedBy`. */
  l: Type.Optional(Type.Array(Type.String())),
  /** `silentCells`. */
  q: Type.Optional(Type.Array(Type.String())),
  /** `silentShards`. */
  s: Type.Optional(Type.Array(Type.Integer())),
  /** `shards`: of each of `w`. */
  u: Type.Optional(Type.Array(Type.Integer())),
  /** `where`. */
  e: Type.Optional(Where),
  /** `waitedSince`. */
  waited: Type.Optional(Type.Number()),
});
export type StoredDecision = Static<typeof StoredDecision>;

/** What records say of the weighing of a host, written once however many of them name it. */
export interface WeighingText {
  /** The names of the weighers, as JSON. */
  readonly names: string;
  readonly text: string;
}

export function textOfWeighing({ cell, host, weight, parts }: Weighing): WeighingText {
  const numbers = [weight, ...Object.values(parts)].map(brief);
  return { names: JSON.stringify(Object.keys(parts)), text: `[${placeText({ cell, host })},${numbers.join()}]` };
}

/** Whether it is what was written of this host. */
export const isOfPlace = ({ text }: WeighingText, place: Pick<Weighing, 'cell' | 'host'>): boolean =>
  text.startsWith(`[${placeText(place)},`);

type ReadOnly<Value> = Value extends (infer Item)[] ? readonly Item[] : Value;
/** What may be absent may be undefined as well. */
type Told<T> = {
  readonly [Key in keyof T]: ReadOnly<T[Key]> | (T extends Record<Key, unknown> ? never : undefined);
};

/** A decision as it is packed: its weighings, all of the same weighers, are written already. */
export type DecisionToPack = Told<Omit<Decision, 'weights'>> & { readonly weights: readonly WeighingText[] };

/** The record as a text that is kept, never longer than it may be; what is long of `where` is not kept. */
export function packDecision(whole: DecisionToPack): string {
  const decision = withoutLongWhere(whole);
  for (let reasons = MAX_REASONS, claims = MAX_CLAIMS_TOLD; ; reasons >>= 1, claims >>= 1) {
    const text = textOf(decision, reasons, claims);
    if (text.length <= MAX_DECISION_LENGTH) return text;
    // What is left is names of whoever wrote weighers, and of hosts: the numbers matter more.
    if (reasons === 0) return textOf({ ...decision, ...NO_NAMES }, 0, 0);
  }
}

function isLong(where: Where | undefined): boolean {
  return where !== undefined && JSON.stringify(where).length > MAX_WHERE_LENGTH;
}

/** What a request said itself is worth more than what its conditions come from, and of that the names of hosts are worth least. */
function withoutLongWhere(whole: DecisionToPack): DecisionToPack {
  if (!isLong(whole.where)) return whole;
  const { where, ...rest } = whole;
  const kept = [withoutHostNames(where), withoutClosed(where), withoutOrigins(where)].find((one) => !isLong(one));
  return kept === undefined ? rest : { ...rest, where: kept };
}

const NO_NAMES = {
  weights: [],
  alternates: [],
  alternatesAsked: undefined,
  furtherInCell: undefined,
  furtherElsewhere: undefined,
  room: undefined,
  runsOut: undefined,
  tooLarge: undefined,
  groupHeld: undefined,
  onNamed: undefined,
  advice: [],
  narrowedBy: [],
  unknown: [],
};

/**
 * A `StoredDecision` as JSON. One is written for every instance, so it is put together without an object between; and
 * joined, for a string that grows by pieces keeps every one of them.
 */
function textOf(decision: DecisionToPack, reasons: number, claims: number): string {
  const { at, scheduler, hosts, fits, refused, chosen, weights, claimsRefused, refusedClaims } = decision;
  const {
    absent,
    unknown = [],
    room,
    runsOut,
    tooLarge,
    groupHeld,
    onNamed,
    alternates,
    alternatesAsked,
    furtherInCell,
    furtherElsewhere,
    advice,
    narrowedBy,
    silentCells,
    silentShards,
    shards,
    where,
    group,
    waitedSince,
  } = decision;
  const told = fewer(refused, reasons);
  const reasonsTold = told.length === 0 ? '[]' : JSON.stringify(told.map(storedReason));
  const fields = [
    `{"v":1,"at":${at},"by":${JSON.stringify(scheduler)},"n":${hosts},"f":${fits},"r":${reasonsTold}`,
    `"m":${weights[0]?.names ?? '[]'},"w":[${weights.map(({ text }) => text).join()}]`,
    `"a":${JSON.stringify(alternates)}`,
  ];
  if (alternatesAsked !== undefined) fields.push(`"b":${alternatesAsked}`);
  if (furtherInCell !== undefined) fields.push(`"h":${furtherInCell}`);
  if (furtherElsewhere !== undefined) fields.push(`"j":${furtherElsewhere}`);
  if (told.length > 0) fields.push(...moreOfReasons(told));
  if (absent !== undefined) fields.push(`"o":"${absent}"`);
  if (unknown.length > 0) fields.push(...storedUnknown(unknown));
  if (room !== undefined) {
    const named = room.named.map((one) => `[${placeText(one)},${one.instances}]`);
    fields.push(`"p":[${room.instances},${room.of},${room.hosts},[${named.join()}]]`);
  }
  if (runsOut !== undefined) fields.push(...runsOutFields(runsOut));
  if (tooLarge !== undefined) fields.push(`"large":${JSON.stringify(tooLarge.map(storedTooLarge))}`);
  if (groupHeld !== undefined) fields.push(...heldFields(groupHeld));
  if (onNamed !== undefined) fields.push(`"on":${JSON.stringify(onNamed.told.map(storedOnNamed))}`);
  if (chosen !== undefined) fields.push(`"g":${placeText(chosen)}`);
  if (group !== undefined && weights.length > 0) {
    fields.push(`"i":["${group.policy}",${JSON.stringify(group.members)}]`);
  }
  if (claimsRefused > 0) fields.push(`"t":${claimsRefused}`);
  if (refusedClaims.length > 0) {
    fields.push(`"c":${JSON.stringify(refusedClaims.slice(refusedClaims.length - claims).map(storedClaim))}`);
  }
  if (narrowedBy.length > 0) fields.push(`"l":${JSON.stringify(narrowedBy)}`);
  if (silentCells.length > 0) fields.push(`"q":${JSON.stringify(silentCells.slice(0, MAX_SILENT_TOLD))}`);
  if (silentShards !== undefined && silentShards.length > 0) fields.push(`"s":${JSON.stringify(silentShards)}`);
  if (shards !== undefined && weights.length > 0) fields.push(`"u":${JSON.stringify(shards)}`);
  if (where !== undefined) fields.push(`"e":${JSON.stringify(where)}`);
  if (waitedSince !== undefined) fields.push(`"waited":${waitedSince}`);
  if (advice.length > 0) fields.push(`"x":${JSON.stringify(advice.map(storedAdvice))}`);
  fields[fields.length - 1] += '}';
  return fields.join();
}

/** The fields that tell more of some of the reasons. */
function moreOfReasons(told: readonly RefusedHosts[]): string[] {
  const lackingMore = told.flatMap(({ nearest }, position) => (nearest?.lacksMore === true ? [position] : []));
  const messages = told.flatMap(({ message }, position) => (message === undefined ? [] : [[position, message]]));
  return [
    ...(lackingMore.length === 0 ? [] : [`"k":${JSON.stringify(lackingMore)}`]),
    ...(messages.length === 0 ? [] : [`"d":${JSON.stringify(messages)}`]),
  ];
}

/** Cells and hosts are tokens, so there is nothing in them to be escaped. */
function placeText({ cell, host }: { cell: string; host: string }): string {
  return `"${cell}/${host}"`;
}

/** The first reasons, those that name a host which came near before others, and what is left as one: the numbers still add up. */
function fewer(refused: readonly RefusedHosts[], most: number): readonly RefusedHosts[] {
  if (refused.length <= most) return refused;
  const near = refused.filter(({ nearest }) => nearest !== undefined);
  const others = refused.filter(({ nearest }) => nearest === undefined);
  const told = new Set([...near, ...others].slice(0, most));
  const rest = refused.reduce((sum, one) => (told.has(one) ? sum : sum + one.hosts), 0);
  return [...refused.filter((one) => told.has(one)), { code: OTHER, hosts: rest }];
}

function storedReason({ code, about = '', hosts, nearest }: RefusedHosts): StoredDecision['r'][number] {
  const [short, long] = [clipped(code, MAX_NAME_LENGTH), clipped(about, MAX_ABOUT_LENGTH)];
  if (nearest === undefined) return [short, long, hosts];
  return [short, long, hosts, `${nearest.cell}/${nearest.host}`, nearest.short];
}

function runsOutFields({ instances, of, hosts, classes, rules = [] }: Told<RunsOut>): string[] {
  const field = (name: 'out' | 'rules', some: readonly (readonly [string, number])[]) =>
    some.length === 0 ? [] : [`"${name}":${JSON.stringify([instances, of, hosts, some])}`];
  const byClasses = classes.map((one) => [one.about, one.hosts] as const);
  const byRules = rules.map((one) => [one.code, one.hosts] as const);
  return [...field('out', byClasses), ...field('rules', byRules)];
}

function heldFields(told: Told<GroupHeld>): string[] {
  const { group, cell, host, state, disabled, withCell, asideUntil, members, named, freedBy } = told;
  const held = `"held":${JSON.stringify([group, `${cell}/${host}`, state, members, named])}`;
  return [
    held,
    ...(disabled === true ? ['"off":true'] : []),
    ...(withCell === true ? ['"cell":true'] : []),
    ...(asideUntil === undefined ? [] : [`"rest":${asideUntil}`]),
    ...(freedBy?.length === 1 ? [`"free":${JSON.stringify(freedBy)}`] : []),
  ];
}

/** The fields for the names, as many as there is room for. */
function storedUnknown(unknown: readonly UnknownName[]): string[] {
  let length = 0;
  const told = unknown.filter(({ kind, name, like }) => {
    length += JSON.stringify([kind, name, like]).length;
    return length <= MAX_UNKNOWN_LENGTH;
  });
  const { classes, others, like } = classesApart(told);
  return [
    ...(classes.length === 0 ? [] : [`"y":${JSON.stringify(classes)}`]),
    ...(others.length === 0 ? [] : [`"z":${JSON.stringify(others.map(({ kind, name }) => [kind, name]))}`]),
    ...(like.length === 0 ? [] : [`"like":${JSON.stringify(like)}`]),
  ];
}

function storedAdvice(advice: Advice): Advice {
  const { about, traits } = advice;
  const told = about === undefined ? advice : { ...advice, about: clipped(about, MAX_MESSAGE_LENGTH) };
  return traits === undefined ? told : { ...told, ...someTraits(traits, advice.needed) };
}

/** As many of the traits as there is room for, one at least: a name is told whole. */
function someTraits(traits: readonly string[], needed = traits.length): Pick<Advice, 'traits' | 'needed'> {
  let length = 0;
  const some = traits.filter((trait, at) => {
    length += trait.length;
    return at === 0 || length <= MAX_MESSAGE_LENGTH;
  });
  return { traits: some, ...(needed > some.length ? { needed } : {}) };
}

function storedTooLarge({ about, asked, most, onOne }: TooLarge): NonNullable<StoredDecision['large']>[number] {
  return onOne === true ? [about, asked, most, 1] : [about, asked, most];
}

function storedClaim({ cell, host, code, message }: RefusedClaim): [string, string, string] {
  return [`${cell}/${host}`, clipped(code, MAX_NAME_LENGTH), clipped(message, MAX_MESSAGE_LENGTH)];
}

/** Six digits: enough to tell weights apart. What is no number that JSON knows, of somebody's own weigher, counts as none. */
function brief(value: number): number {
  if (!Number.isFinite(value)) return 0;
  return Math.abs(value) < 1e9 ? Math.round(value * 1e6) / 1e6 : value;
}

export function unpackDecision(stored: StoredDecision): Decision {
  const { r, k, d, o, y, z, like, p, out, held, on, g, m, w, i, s, u, e } = stored;
  const messages = new Map(d);
  return {
    at: stored.at,
    scheduler: stored.by,
    hosts: stored.n,
    fits: stored.f,
    refused: r.map(([code, about, hosts, where, short], position) => ({
      code,
      ...(about === '' ? {} : { about }),
      ...present({ message: messages.get(position) }),
      hosts,
      ...(where === undefined || short === undefined
        ? {}
        : { nearest: { ...placeOf(where), short, ...(k?.includes(position) ? { lacksMore: true as const } : {}) } }),
    })),
    ...present({
      absent: o,
      unknown: withClasses(
        y,
        z?.map(([kind, name]) => ({ kind, name })),
        like,
      ),
      room: p && roomOf(p),
      runsOut: runsOutOf(out, stored.rules),
      tooLarge: stored.large?.map(([about, asked, most, onOne]) => ({
        ...{ about, asked, most },
        ...(onOne === undefined ? {} : { onOne: true as const }),
      })),
      groupHeld: held && heldOf(held, stored),
      onNamed: on && { told: on.map((one) => ({ ...placeOf(one[0]), ...onNamedOf(one) })) },
      waitedSince: stored.waited,
      chosen: g === undefined ? undefined : placeOf(g),
    }),
    weights: w.map(([where, weight, ...parts]) => ({
      ...placeOf(String(where)),
      weight: Number(weight),
      parts: Object.fromEntries(m.map((name, position) => [name, Number(parts[position] ?? 0)])),
    })),
    ...(i === undefined ? {} : { group: { policy: i[0], members: i[1] } }),
    claimsRefused: stored.t ?? 0,
    refusedClaims: (stored.c ?? []).map(([where, code, message]) => ({ ...placeOf(where), code, message })),
    alternates: stored.a,
    ...present({ alternatesAsked: stored.b, furtherInCell: stored.h, furtherElsewhere: stored.j }),
    advice: stored.x ?? [],
    narrowedBy: stored.l ?? [],
    silentCells: stored.q ?? [],
    ...present({ silentShards: s, shards: u, where: e }),
  };
}

function roomOf([instances, of, hosts, named]: NonNullable<StoredDecision['p']>): RoomForSome {
  return { instances, of, hosts, named: named.map(([where, some]) => ({ ...placeOf(where), instances: some })) };
}

function runsOutOf(out: StoredDecision['out'], byRules: StoredDecision['rules']): RunsOut | undefined {
  const one = out ?? byRules;
  if (one === undefined) return undefined;
  const [instances, of, hosts] = one;
  const classes = (out?.[3] ?? []).map(([about, some]) => ({ about, hosts: some }));
  const rules = byRules?.[3].map(([code, some]) => ({ code, hosts: some }));
  return { instances, of, hosts, classes, ...present({ rules }) };
}

function heldOf(
  [group, where, state, members, named]: NonNullable<StoredDecision['held']>,
  { free, off: disabled, cell: withCell, rest: asideUntil }: StoredDecision,
): GroupHeld {
  // Of a later version nothing may be known of what frees it.
  const known = free?.filter((one) => one === 'host' || one === 'members') ?? [];
  const freedBy = known.length > 0 ? known : ['host' as const, 'members' as const];
  return { group, ...placeOf(where), state, ...present({ disabled, withCell, asideUntil }), members, named, freedBy };
}

function placeOf(text: string): { cell: string; host: string } {
  const at = text.indexOf('/');
  return { cell: text.slice(0, at), host: text.slice(at + 1) };
}
