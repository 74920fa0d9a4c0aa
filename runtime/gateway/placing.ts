// Where a build request may go, in its caller's words: made into conditions that placement checks at every claim, and
// into what is for the schedulers alone.

import Type, { type Static } from 'typebox';
import { likeWords, mostLike } from '../../actors/alike.ts';
import { CellHost, Id, MAX_NAMED, type RequestSpec, Token, type TreeConditions } from '../../actors/messages/common.ts';
import { listsAskedFor, type Origins, traitsRequired, Where } from '../../actors/messages/where.ts';
import { present } from '../../actors/present.ts';
import { type Aggregates, type Closed, closedTo, openedBy } from '../aggregates.ts';
import { providerId } from '../drivers/naming.ts';
import { MalformedError } from '../errors.ts';

const listOf = <T extends typeof Token>(item: T) =>
  Type.Optional(Type.Array(item, { minItems: 1, maxItems: MAX_NAMED }));

/** All of it must hold; within one list any one does. */
export const PlacementRequest = Type.Object(
  {
    /** Cells that the host must be in one of. */
    cells: Where.properties.cells,
    avoidCells: Where.properties.avoidCells,
    /**
     * Cells whose hosts come before all others, as the rule of an instance group allows; if none fits, others do. Beside
     * `cells` one of them at least must be among those.
     */
    preferCells: Where.properties.preferCells,
    /** Availability zones, as the operator made them of aggregates, or the default one, that the host must be in one of. */
    zones: listOf(Token),
    avoidZones: listOf(Token),
    /** Aggregates that the host must be in one of. For several at once, see `memberOf`. */
    aggregates: listOf(Id),
    avoidAggregates: listOf(Id),
    /** Hosts, `<cell>/<host>`, one of which it must be. */
    hosts: listOf(CellHost),
    avoidHosts: listOf(CellHost),
    /** Instances with one of which it must share a host. */
    sameHostAs: listOf(Token),
    /** Instances with none of which it may share a host. */
    differentHostFrom: listOf(Token),
    /** Words for the operator's own filters and weighers. */
    hints: Where.properties.hints,
  },
  { additionalProperties: false },
);
export type PlacementRequest = Static<typeof PlacementRequest>;

const OPPOSITES = [
  ['cells', 'avoidCells'],
  ['preferCells', 'avoidCells'],
  ['zones', 'avoidZones'],
  ['aggregates', 'avoidAggregates'],
  ['hosts', 'avoidHosts'],
  ['sameHostAs', 'differentHostFrom'],
] as const;

/** By what it is told which aggregates are closed to a request. */
export interface Asking {
  readonly project?: string | undefined;
  readonly spec: Pick<RequestSpec, 'groups' | 'rootRequired'>;
}

/**
 * What a request's wishes mean to placement and to the schedulers.
 * @throws MalformedError for zones that there are not, for wishes that contradict each other, and for a project that may
 * ask for nothing; it names the field.
 */
export function placingOf(
  wishes: PlacementRequest = {},
  { project, spec }: Asking,
  aggregates: Aggregates,
  what = 'the build request',
): { tree?: TreeConditions; where?: Where } {
  refuseContradictions(wishes, what);
  refuseZones(wishes, aggregates, what);
  refuseUnconfined(project, aggregates, what);
  const placement = eachOnce(wishes);
  const { hosts, avoidHosts, sameHostAs, differentHostFrom } = placement;
  const ofAggregates = conditionsOnAggregates(placement, ofOperator(aggregates, project, spec), aggregates);
  const origins = originsOf(ofAggregates, present({ hosts, avoidHosts }));
  const ofHosts = present({
    oneOf: hosts?.map(rootOf),
    noneOf: avoidHosts?.map(rootOf),
    heldBy: sameHostAs,
    notHeldBy: differentHostFrom,
  });
  const { cells, avoidCells, preferCells, hints } = placement;
  const where = present({ cells, avoidCells, preferCells, hints, origins });
  return said({ ...aggregatesIn(ofAggregates), ...ofHosts }, where);
}

/** What a request was accepted with. */
export interface Accepted {
  readonly spec: RequestSpec;
  readonly where?: Where | undefined;
  readonly project?: string | undefined;
}

/**
 * What the wishes of a request that was accepted mean by what the operator says of aggregates now: no host is in a zone that
 * there is not any more. Null where it is not known which of its conditions are the operator's, as of requests that a node
 * has taken which did not tell.
 */
export function placingNow(
  { spec, where, project }: Accepted,
  aggregates: Aggregates,
): { tree?: TreeConditions; where?: Where } | null {
  const { memberOf = [], notMemberOf = [], ...others } = spec.tree ?? {};
  const { origins, ...besides } = where ?? {};
  const isKnown = origins === undefined ? notMemberOf.length === 0 && memberOf.length <= 1 : origins.cut !== true;
  if (!isKnown) return null;
  const ofAggregates = onAggregatesNow(wishedOfAggregates(spec.tree, origins), { project, spec }, aggregates);
  const { hosts, avoidHosts } = origins ?? {};
  return said(
    { ...aggregatesIn(ofAggregates), ...others },
    { ...besides, ...present({ origins: originsOf(ofAggregates, present({ hosts, avoidHosts })) }) },
  );
}

/** What was worked out last of aggregates: many requests ask alike, and all are looked at when a shard begins anew. */
const nowOf = new WeakMap<Aggregates, Map<string, OnAggregates>>();
const MAX_KNOWN_NOW = 1_024;

function onAggregatesNow(wishes: PlacementRequest, { project, spec }: Asking, aggregates: Aggregates): OnAggregates {
  const known = nowOf.get(aggregates) ?? new Map<string, OnAggregates>();
  nowOf.set(aggregates, known);
  const key = JSON.stringify([wishes, project, [...traitsRequired(spec)].sort()]);
  const found = known.get(key) ?? conditionsOnAggregates(wishes, ofOperator(aggregates, project, spec), aggregates);
  if (known.size >= MAX_KNOWN_NOW) known.clear();
  known.set(key, found);
  return found;
}

/** What a request names of zones and aggregates itself. */
export function wishedOfAggregates(
  { memberOf = [], notMemberOf = [] }: TreeConditions = {},
  origins: Origins = {},
): Pick<PlacementRequest, 'zones' | 'avoidZones' | 'aggregates' | 'avoidAggregates'> {
  const { zones, avoidZones, avoidAggregates } = origins;
  return present({
    zones: zones?.names,
    avoidZones: avoidZones?.map(({ name }) => name),
    aggregates: listsAskedFor(memberOf, origins)[0],
    avoidAggregates: avoidAggregates?.map((place) => notMemberOf[place]).filter((id) => id !== undefined),
  });
}

function said(tree: TreeConditions, where: Where): { tree?: TreeConditions; where?: Where } {
  return {
    ...(Object.keys(tree).length === 0 ? {} : { tree }),
    ...(Object.keys(where).length === 0 ? {} : { where }),
  };
}

/** What a list has twice is meant, and told, once. */
function eachOnce(wishes: PlacementRequest): PlacementRequest {
  const lists = Object.entries(wishes).map(([name, one]) => [name, Array.isArray(one) ? [...new Set(one)] : one]);
  return Object.fromEntries(lists) as PlacementRequest;
}

/** The root provider of a host that is named `<cell>/<host>`. */
function rootOf(named: string): string {
  const [cell, host] = named.split('/') as [string, string];
  return providerId(cell, host, '');
}

/** What an operator says of aggregates, as it concerns a request. */
interface OfOperator {
  readonly closed: readonly Closed[];
  readonly confined: readonly string[] | undefined;
  readonly opened: NonNullable<Origins['opened']>;
}

function ofOperator(aggregates: Aggregates, project: string | undefined, spec: Asking['spec']): OfOperator {
  const required = traitsRequired(spec);
  const closed = closedTo(aggregates, project, required);
  const confined = project === undefined ? undefined : aggregates.confined.get(project);
  return { closed, confined, opened: required.size === 0 ? [] : openedBy(aggregates, closed) };
}

interface OnAggregates {
  readonly memberOf: string[][];
  readonly notMemberOf: string[];
  /** What they come from, if that is not plain. */
  readonly origins: Origins | undefined;
}

const aggregatesIn = ({ memberOf, notMemberOf }: OnAggregates): TreeConditions => ({
  ...(memberOf.length === 0 ? {} : { memberOf }),
  ...(notMemberOf.length === 0 ? {} : { notMemberOf }),
});

function originsOf({ origins }: OnAggregates, named: Pick<Origins, 'hosts' | 'avoidHosts'>): Origins | undefined {
  return Object.keys(named).length === 0 ? origins : { ...origins, ...named };
}

/**
 * Zones, aggregates and what is kept for others as conditions on aggregates: who is in the default zone is in no
 * aggregate of another one.
 */
function conditionsOnAggregates(
  { zones, avoidZones, aggregates: wanted, avoidAggregates }: PlacementRequest,
  { closed, confined, opened }: OfOperator,
  aggregates: Aggregates,
): OnAggregates {
  const { defaultZone } = aggregates;
  const ofAnyZone = [...aggregates.zones.values()].flat();
  /** Of the default zone there are none. */
  const ofZone = (name: string) => aggregates.zones.get(name) ?? [];
  const memberOf: string[][] = [];
  /** The aggregates of `notMemberOf`, each with its place there. */
  const places = new Map<string, number>();
  const close = (ids: readonly string[]): number[] => {
    for (const id of ids) if (!places.has(id)) places.set(id, places.size);
    return ids.map((id) => places.get(id) as number);
  };
  const origins: Origins = {};
  const avoided = avoidZones?.map((name) => {
    return name === defaultZone ? { name } : { name, closed: close(ofZone(name)) };
  });
  if (zones !== undefined) {
    const ids = zones.flatMap(ofZone);
    const isOfDefault = zones.some((name) => name === defaultZone);
    origins.zones = isOfDefault
      ? { names: zones, closed: close(ofAnyZone.filter((id) => !ids.includes(id))) }
      : { names: zones, list: memberOf.push(ids) - 1 };
  }
  if (avoided !== undefined) {
    const list = avoided.some(({ name }) => name === defaultZone) ? memberOf.push(ofAnyZone) - 1 : -1;
    origins.avoidZones = avoided.map((one) => (one.name === defaultZone ? { ...one, list } : one));
  }
  if (wanted !== undefined) memberOf.push(wanted);
  if (confined !== undefined) origins.confined = memberOf.push([...confined]) - 1;
  if (avoidAggregates !== undefined) origins.avoidAggregates = close(avoidAggregates);
  const avoidedInAll = places.size;
  const closedPlaces = close(closed.map(({ id }) => id));
  const kept = closedPlaces.filter((place) => place < avoidedInAll);
  if (kept.length > 0) origins.kept = kept;
  const reserved = closed.flatMap(({ traits, isOfOthers }, n) => {
    const place = closedPlaces[n] as number;
    return traits.length === 0
      ? []
      : [{ place, traits: [...traits], ...(isOfOthers ? { projects: true as const } : {}) }];
  });
  if (reserved.length > 0) origins.reserved = reserved;
  if (opened.length > 0) origins.opened = opened;
  // While the default zone is the only one nothing comes of it, and it is what the request asks for all the same.
  // Nor does anything of avoiding a zone that there is not any more, but there may be one of that name again.
  const isNothing = zones === undefined && avoidZones === undefined && memberOf.length === 0 && opened.length === 0;
  const isPlain = places.size === 0 && (isNothing || Object.keys(origins).length === 0);
  return { memberOf, notMemberOf: [...places.keys()], origins: isPlain ? undefined : origins };
}

/** @throws MalformedError with the field, where projects must be confined, and that of a request is not. */
function refuseUnconfined(project: string | undefined, aggregates: Aggregates, what: string): void {
  if (!aggregates.requiresConfinement || (project !== undefined && aggregates.confined.has(project))) return;
  const fault = project === undefined ? 'is missing' : `is '${project}', which no aggregate confines`;
  const message = `'project' of ${what} ${fault}: here, projects use the hosts of aggregates that confine them, and no others`;
  throw new MalformedError(message, { field: 'project' });
}

/** @throws MalformedError with the field, when a request names a zone that there is not, or would avoid the only one. */
function refuseZones({ zones = [], avoidZones = [] }: PlacementRequest, aggregates: Aggregates, what: string): void {
  for (const [list, names] of [['avoidZones', avoidZones] as const, ['zones', zones] as const]) {
    for (const [position, name] of names.entries()) refuseUnknown(name, `${list}.${position}`, aggregates, what);
  }
  const { defaultZone } = aggregates;
  const position = defaultZone === undefined ? -1 : avoidZones.indexOf(defaultZone);
  if (position < 0 || aggregates.zones.size > 0) return;
  throw malformed(what, `avoidZones.${position}`, `is '${defaultZone}', the only zone`);
}

function refuseUnknown(name: string, at: string, { zones, defaultZone }: Aggregates, what: string): void {
  if (zones.has(name) || name === defaultZone) return;
  const all = [...zones.keys(), ...(defaultZone === undefined ? [] : [defaultZone])];
  const known = all.length === 0 ? 'there are none' : `zones are ${all.sort().slice(0, 20).join(', ')}`;
  const like = likeWords(mostLike(name, all));
  throw malformed(what, at, `is '${name}', which is no zone${like}: ${known}`);
}

/** @throws MalformedError with the field, when a request wants what it avoids. */
export function refuseContradictions(placement: PlacementRequest, what: string): void {
  for (const [wanted, avoided] of OPPOSITES) {
    const position = placement[avoided]?.findIndex((one) => placement[wanted]?.includes(one)) ?? -1;
    if (position < 0) continue;
    throw malformed(
      what,
      `${avoided}.${position}`,
      `is '${placement[avoided]?.[position]}', which is in '${wanted}' too`,
    );
  }
  const { cells, avoidCells, preferCells, hosts = [] } = placement;
  if (cells !== undefined && preferCells?.some((cell) => cells.includes(cell)) === false) {
    throw malformed(what, 'preferCells', "names none of those in 'cells', so that it could make no difference");
  }
  for (const [position, named] of hosts.entries()) {
    const cell = named.slice(0, named.indexOf('/'));
    if (cells?.includes(cell) === false)
      throw malformed(what, `hosts.${position}`, `is '${named}', and '${cell}' is not in 'cells'`);
    if (avoidCells?.includes(cell) === true)
      throw malformed(what, `hosts.${position}`, `is '${named}', and '${cell}' is in 'avoidCells'`);
  }
}

function malformed(what: string, at: string, fault: string): MalformedError {
  const field = `placement.${at}`;
  return new MalformedError(`'${field}' of ${what} ${fault}`, { field });
}
