// Where a build request may go, in its caller's words: made into conditions that placement checks at every claim, and
// into what is for the schedulers alone.

import Type, { type Static } from 'typebox';
import { Id, MAX_NAMED, Token, type TreeConditions } from '../../actors/messages/common.ts';
import { Where } from '../../actors/messages/where.ts';
import { type Aggregates, closedTo } from '../aggregates.ts';
import { providerId } from '../drivers/naming.ts';
import { MalformedError } from '../errors.ts';

const TOKEN = '[a-z0-9]([a-z0-9-]*[a-z0-9])?';
/** A host, as roles name it: `<cell>/<host>`. */
const Host = Type.String({ pattern: `^${TOKEN}/${TOKEN}$`, maxLength: 129 });
const listOf = <T extends typeof Token>(item: T) =>
  Type.Optional(Type.Array(item, { minItems: 1, maxItems: MAX_NAMED }));

/** All of it must hold; within one list any one does. */
export const PlacementRequest = Type.Object(
  {
    /** Cells that the host must be in one of. */
    cells: Where.properties.cells,
    avoidCells: Where.properties.avoidCells,
    /** Cells whose hosts come before all others, as the rule of an instance group allows; if none fits, others do. */
    preferCells: Where.properties.preferCells,
    /** Availability zones, as the operator made them of aggregates, or the default one, that the host must be in one of. */
    zones: listOf(Token),
    avoidZones: listOf(Token),
    /** Aggregates that the host must be in one of. For several at once, see `memberOf`. */
    aggregates: listOf(Id),
    avoidAggregates: listOf(Id),
    /** Hosts, `<cell>/<host>`, one of which it must be. */
    hosts: listOf(Host),
    avoidHosts: listOf(Host),
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

/**
 * What a request's wishes mean to placement and to the schedulers.
 * @throws MalformedError for zones that there are not, and for wishes that contradict each other; it names the field.
 */
export function placingOf(
  placement: PlacementRequest = {},
  project: string | undefined,
  aggregates: Aggregates,
  what = 'the build request',
): { tree?: TreeConditions; where?: Where } {
  refuseContradictions(placement, what);
  const { hosts, avoidHosts, sameHostAs, differentHostFrom } = placement;
  const ofZones = conditionsOfZones(placement, aggregates, what);
  const memberOf = [...ofZones.memberOf, ...(placement.aggregates === undefined ? [] : [placement.aggregates])];
  const notMemberOf = new Set([
    ...ofZones.notMemberOf,
    ...(placement.avoidAggregates ?? []),
    ...closedTo(aggregates, project),
  ]);
  const tree: TreeConditions = {
    ...(memberOf.length === 0 ? {} : { memberOf }),
    ...(notMemberOf.size === 0 ? {} : { notMemberOf: [...notMemberOf] }),
    ...(hosts === undefined ? {} : { oneOf: hosts.map(rootOf) }),
    ...(avoidHosts === undefined ? {} : { noneOf: avoidHosts.map(rootOf) }),
    ...(sameHostAs === undefined ? {} : { heldBy: sameHostAs }),
    ...(differentHostFrom === undefined ? {} : { notHeldBy: differentHostFrom }),
  };
  const { cells, avoidCells, preferCells, hints } = placement;
  const where: Where = {
    ...(cells === undefined ? {} : { cells }),
    ...(avoidCells === undefined ? {} : { avoidCells }),
    ...(preferCells === undefined ? {} : { preferCells }),
    ...(hints === undefined ? {} : { hints }),
  };
  return {
    ...(Object.keys(tree).length === 0 ? {} : { tree }),
    ...(Object.keys(where).length === 0 ? {} : { where }),
  };
}

/** The root provider of a host that is named `<cell>/<host>`. */
function rootOf(named: string): string {
  const [cell, host] = named.split('/') as [string, string];
  return providerId(cell, host, '');
}

/** The zones of a request in aggregates: who is in the default zone is in no aggregate of another one. */
function conditionsOfZones(
  { zones, avoidZones }: PlacementRequest,
  aggregates: Aggregates,
  what: string,
): { memberOf: string[][]; notMemberOf: string[] } {
  const { defaultZone } = aggregates;
  const memberOf: string[][] = [];
  const notMemberOf = avoidZones === undefined ? [] : aggregatesOfZones(avoidZones, 'avoidZones', aggregates, what);
  const ofAnyZone = [...aggregates.zones.values()].flat();
  if (zones !== undefined) {
    const wanted = aggregatesOfZones(zones, 'zones', aggregates, what);
    if (!zones.some((name) => name === defaultZone)) memberOf.push(wanted);
    else notMemberOf.push(...ofAnyZone.filter((id) => !wanted.includes(id)));
  }
  const position = defaultZone === undefined ? -1 : (avoidZones?.indexOf(defaultZone) ?? -1);
  if (position < 0) return { memberOf, notMemberOf };
  if (ofAnyZone.length === 0) throw malformed(what, `avoidZones.${position}`, `is '${defaultZone}', the only zone`);
  return { memberOf: [...memberOf, ofAnyZone], notMemberOf };
}

/** Of the default zone there are none. */
function aggregatesOfZones(
  names: readonly string[],
  list: string,
  { zones, defaultZone }: Aggregates,
  what: string,
): string[] {
  return names.flatMap((name, position) => {
    const ids = zones.get(name);
    if (ids !== undefined) return ids;
    if (name === defaultZone) return [];
    const all = [...zones.keys(), ...(defaultZone === undefined ? [] : [defaultZone])];
    const known = all.length === 0 ? 'there are none' : `zones are ${all.sort().slice(0, 20).join(', ')}`;
    throw malformed(what, `${list}.${position}`, `is '${name}', which is no zone: ${known}`);
  });
}

function refuseContradictions(placement: PlacementRequest, what: string): void {
  for (const [wanted, avoided] of OPPOSITES) {
    const position = placement[avoided]?.findIndex((one) => placement[wanted]?.includes(one)) ?? -1;
    if (position < 0) continue;
    throw malformed(
      what,
      `${avoided}.${position}`,
      `is '${placement[avoided]?.[position]}', which is in '${wanted}' too`,
    );
  }
  const { cells, avoidCells, hosts = [] } = placement;
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
