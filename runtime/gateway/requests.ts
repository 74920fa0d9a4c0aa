// What people and programs may ask of the API, checked strictly: an unknown field is an error, not ignored.

import Type, { type Static } from 'typebox';
import {
  Id,
  InstanceGroup,
  MAX_GROUPS,
  PageLimit,
  Payload,
  RequestSpec,
  ResourceGroup,
  Resources,
  Symbolic,
  Token,
} from '../../actors/messages/common.ts';
import { MAX_WAIT_MS } from '../../actors/messages/conductor.ts';
import { DEFAULT_ALTERNATES, MAX_ALTERNATES, MAX_COUNT } from '../../actors/messages/limits.ts';
import { MAX_TOKEN_LENGTH } from '../../actors/messages/names.ts';
import { MAX_HOSTS_NAMED } from '../../actors/messages/questions.ts';
import { isResourceClass } from '../../actors/messages/resource-classes.ts';
import { present } from '../../actors/present.ts';
import { instanceNames } from '../../actors/routing.ts';
import { encode, isDeeperThan } from '../codec.ts';
import { MalformedError } from '../errors.ts';
import { HOST_PATTERN, WORDS_PATTERN } from '../fault-words.ts';
import { checkOf } from '../schemas.ts';
import { PlacementRequest } from './placing.ts';

/**
 * How often a provider may be chosen in all for one request: for each group of each instance, on its host and on each
 * alternate. All of that is told, recorded and handed over, in messages of which one turn may have many: with as many as this
 * telling takes no turn longer than about half a second. Finding hosts with room for all of them may, with dozens of groups.
 */
const MAX_CHOSEN = 128_000;

const strict = { additionalProperties: false };
const { required, forbidden } = ResourceGroup.properties;
/** As in the spec; but a list of none, of which one must be there, could never be kept. */
const anyOf = Type.Optional(Type.Array(Type.Array(Symbolic, { minItems: 1, maxItems: 64 }), { maxItems: 16 }));
const memberOf = Type.Optional(Type.Array(Type.Array(Id, { minItems: 1, maxItems: 64 }), { maxItems: 16 }));

/** A named group of a request: one provider of the host's tree must serve all of it. */
const GroupRequest = Type.Object(
  { name: Token, resources: Type.Optional(Resources), required, anyOf, forbidden, memberOf },
  strict,
);

/**
 * The group of instances, of the request's project, that what is built is a member of. All members must say the same
 * rule. A group begins with its first member and ends with its last.
 */
const InstanceGroupRequest = Type.Object(
  {
    name: Token,
    /**
     * `affinity`: all members on one host; `anti-affinity`: at most `maxPerHost` members on any host; `soft-...`: as far
     * as hosts allow.
     */
    policy: InstanceGroup.properties.policy,
    /** With `anti-affinity` alone; default 1. */
    maxPerHost: InstanceGroup.properties.maxPerHost,
  },
  strict,
);

/** The body of `build`. */
export const BuildRequest = Type.Object(
  {
    /**
     * Names the request, and with a count of 1 the instance; made up when absent. Sent again with the same id it is
     * not built again, and `failed` of the answer says which of it has failed since; what asks for something else by that
     * id, another count included, is refused as `already-exists` (one for several, or the other way round, not where the
     * first instance was deleted, or where an id that ends in a number has several conductor shards).
     */
    id: Type.Optional(Token),
    /** How many instances, all or none; default 1. With more they are named `<id>-0`, `<id>-1` ... */
    count: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_COUNT })),
    /** How many more hosts are named up front, to be tried in turn should a build fail; default 2. */
    alternates: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_ALTERNATES })),
    /** Amounts by resource class that the host's tree must have, wherever in it. */
    resources: Type.Optional(Resources),
    required,
    anyOf,
    forbidden,
    memberOf,
    groups: Type.Optional(Type.Array(GroupRequest, { maxItems: MAX_GROUPS - 1 })),
    /** `isolate`: no two groups on one provider; default `none`. */
    groupPolicy: Type.Optional(Type.Union([Type.Literal('none'), Type.Literal('isolate')])),
    /** Traits that the host itself must have, or must not, wherever in its tree the resources are. */
    rootRequired: RequestSpec.properties.rootRequired,
    rootForbidden: RequestSpec.properties.rootForbidden,
    /**
     * Of each list of names of `groups`, the providers that serve them must be one subtree of the host, such as a NUMA
     * node and a GPU below it: one of them is all others' ancestor, or serves them all.
     */
    sameSubtree: Type.Optional(
      Type.Array(Type.Array(Token, { minItems: 1, maxItems: MAX_GROUPS }), { maxItems: MAX_GROUPS }),
    ),
    instanceGroup: Type.Optional(InstanceGroupRequest),
    project: Type.Optional(Token),
    /** With no host that has room: wait for one, for so long, instead of failing at once. */
    wait: Type.Optional(Type.Object({ forMs: Type.Integer({ minimum: 1, maximum: MAX_WAIT_MS }) }, strict)),
    /** Where it may go: cells, zones, aggregates and hosts to be used or avoided. */
    placement: Type.Optional(PlacementRequest),
    /** Handed to the driver unread. */
    payload: Payload,
  },
  strict,
);
export type BuildRequest = Static<typeof BuildRequest>;

/** The body of `fit`: that of `build`, of which `id`, `alternates`, `wait` and `payload` make no difference. */
export const FitRequest = Type.Object(
  {
    ...BuildRequest.properties,
    /** How many of the best hosts the answer names; default 10. */
    limit: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_HOSTS_NAMED })),
  },
  strict,
);
export type FitRequest = Static<typeof FitRequest>;

/** The body of `why-not`. */
export const WhyNotRequest = Type.Object(
  {
    id: Token,
    /** The host's name, or `<cell>/<host>` where `cell` is absent. */
    host: Type.String({ pattern: HOST_PATTERN }),
    /** Needed when several cells have a host of that name, and `host` does not say which. */
    cell: Type.Optional(Token),
  },
  strict,
);
export type WhyNotRequest = Static<typeof WhyNotRequest>;

/**
 * The host that is asked about, by name, and its cell if that is said.
 * @throws MalformedError when the cell is said twice, or the name has more parts.
 */
export function hostAndCellOf({ host: named, cell }: Pick<WhyNotRequest, 'host' | 'cell'>): {
  host: string;
  cell?: string;
} {
  const [first = '', host, ...more] = named.split('/');
  if (more.length > 0)
    throw new MalformedError(`'host' must be a name, or <cell>/<host>, not '${named}'`, { field: 'host' });
  if (host === undefined) return { host: first, ...(cell === undefined ? {} : { cell }) };
  if (cell === undefined) return { host, cell: first };
  throw new MalformedError(`'cell' does not go with a cell in 'host', '${named}'`, { field: 'cell' });
}

/** The body of `delete`, `show` and `explain`. */
export const InstanceRequest = Type.Object({ id: Token }, strict);
export type InstanceRequest = Static<typeof InstanceRequest>;

/** The body of `list`: all instances as the conductors know them, or those of one cell as the cell does. */
export const ListRequest = Type.Object(
  {
    cell: Type.Optional(Token),
    /** The `next` of the page before. */
    after: Type.Optional(Token),
    limit: Type.Optional(PageLimit),
  },
  strict,
);
export type ListRequest = Static<typeof ListRequest>;

/** The body of `cells`: nothing. */
const CellsRequest = Type.Object({}, strict);

/** The body of `hosts`. */
export const HostsRequest = Type.Object(
  {
    ...ListRequest.properties,
    cell: Token,
    /** This one alone; none when there is no such host. */
    host: Type.Optional(Token),
  },
  strict,
);
export type HostsRequest = Static<typeof HostsRequest>;

/** The body of `host`: takes a host out of service, puts it back, fences or removes it. */
export const HostRequest = Type.Object(
  {
    cell: Token,
    host: Token,
    /** False takes the host out of service: it keeps what it has and is offered nothing new. True puts it back. */
    enabled: Type.Optional(Type.Boolean()),
    /**
     * States that nothing runs on the host any more, which must be down: what waits for its word is done without it,
     * and what was active there is lost.
     */
    fence: Type.Optional(Type.Literal(true)),
    /**
     * States that the host, which must be fenced, does not come back: it is forgotten, and its providers with all that is
     * below them.
     */
    remove: Type.Optional(Type.Literal(true)),
    reason: Type.Optional(Type.String({ minLength: 1, maxLength: 1024, pattern: WORDS_PATTERN })),
    /**
     * That of the host as `hosts` tells it, 0 where it tells none: if somebody has set the host since, the request is
     * refused as `outdated`. Clients say it, so that a request which was made again, and held up, undoes nothing. Absent:
     * the host is set in any case.
     */
    revision: Type.Optional(Type.Integer({ minimum: 0 })),
  },
  strict,
);
export type HostRequest = Static<typeof HostRequest>;

/** The body of `cell`: takes a whole cell out of service, or puts it back. */
export const CellRequest = Type.Object(
  {
    cell: Token,
    /**
     * False takes the cell out of service: it keeps what it has, goes on with builds that have a host there, and is offered
     * nothing new, nor are hosts that join it. True puts it back: each of its hosts is as it was set itself. Absent: nothing
     * is set, and the answer tells how the cell stands.
     */
    enabled: Type.Optional(Type.Boolean()),
    reason: HostRequest.properties.reason,
    /** As that of a host; the answer to this request tells it. */
    revision: HostRequest.properties.revision,
  },
  strict,
);
export type CellRequest = Static<typeof CellRequest>;

const checks = {
  build: checkOf(BuildRequest, 'the build request'),
  delete: checkOf(InstanceRequest, 'the delete request'),
  show: checkOf(InstanceRequest, 'the show request'),
  explain: checkOf(InstanceRequest, 'the explain request'),
  'why-not': checkOf(WhyNotRequest, 'the why-not request'),
  fit: checkOf(FitRequest, 'the fit request'),
  list: checkOf(ListRequest, 'the list request'),
  cells: checkOf(CellsRequest, 'the cells request'),
  hosts: checkOf(HostsRequest, 'the hosts request'),
  host: checkOf(HostRequest, 'the host request'),
  cell: checkOf(CellRequest, 'the cell request'),
} as const;
export type Verb = keyof typeof checks;

/** @throws MalformedError when a request is none, by the first field that is wrong. */
export function checkRequest(verb: Verb, request: unknown): void {
  const fault = checks[verb](request);
  if (fault !== null) throw fault;
}

/** How deep a payload may be nested: it is kept, and sent on, within other things, which have a limit together. */
const MAX_PAYLOAD_DEPTH = 48;

/**
 * How large the payloads of all instances of a request may be together, bytes, and what all of them ask for: each is claimed
 * and handed over with its own. With some times as much owners were held up for seconds, and would lose their leases.
 */
const MAX_COPIES_BYTES = 16 * 1024 * 1024;

/** @throws MalformedError for a payload that is too deep, or too large for so many instances. */
function refusePayload(payload: BuildRequest['payload'], count: number): void {
  if (payload === undefined) return;
  if (isDeeperThan(MAX_PAYLOAD_DEPTH, payload))
    throw new MalformedError(`'payload' is nested deeper than ${MAX_PAYLOAD_DEPTH}`, { field: 'payload' });
  if (count === 1) return;
  const { byteLength } = encode({ payload });
  if (byteLength * count <= MAX_COPIES_BYTES) return;
  const product = `its ${byteLength} bytes * ${count} instances are over ${MAX_COPIES_BYTES}`;
  throw new MalformedError(`'payload' is too large: ${product}`, { field: 'payload' });
}

/**
 * The names of the instances that a request asks for.
 * @param id Names the request.
 * @throws MalformedError for a payload or an id that the schema cannot see to be too deep, too large or too long.
 */
export function namesOf({ count = 1, payload }: BuildRequest, id: string): string[] {
  refusePayload(payload, count);
  const names = instanceNames(id, count);
  const longest = names.at(-1) as string;
  if (longest.length > MAX_TOKEN_LENGTH) {
    const why = `the instance '${longest}' has over ${MAX_TOKEN_LENGTH} characters`;
    throw new MalformedError(`'id' is too long: ${why}`, { field: 'id' });
  }
  return names;
}

/** The request that an instance may be of, by its name. */
export const requestOf = (id: string): string => id.replace(/-\d+$/, '');

/**
 * The spec of a request as the actors take it.
 * @throws MalformedError for what the schema cannot see: unknown classes, groups named alike, nothing asked for.
 */
export function specOf(request: BuildRequest, what = 'the build request'): RequestSpec {
  const groups: ResourceGroup[] = [];
  const { resources = {}, required, anyOf, forbidden, memberOf, rootRequired, rootForbidden } = request;
  const unnamed = { resources, ...present({ required, anyOf, forbidden, memberOf }) };
  if (Object.keys(unnamed).length > 1 || Object.keys(unnamed.resources).length > 0)
    groups.push({ name: '', ...unnamed });
  const named = request.groups ?? [];
  for (const [position, group] of named.entries()) {
    if (groups.some(({ name }) => name === group.name)) {
      const field = `groups.${position}.name`;
      throw new MalformedError(`'${field}' of ${what} is '${group.name}', as another group is named`, { field });
    }
    groups.push({ resources: {}, ...group });
  }
  refuseTooLarge(request, groups.length, what);
  refuseTooMuchToSay(request, what);
  for (const [position, group] of groups.entries()) {
    const at = group.name === '' ? '' : `groups.${named.findIndex(({ name }) => name === group.name)}.`;
    refuseContradiction(group.required, group.forbidden, `${at}forbidden`, what);
    groups[position] = onceEach(group);
  }
  refuseContradiction(rootRequired, rootForbidden, 'rootForbidden', what);
  let asked = false;
  for (const { name, resources } of groups) {
    for (const resourceClass of Object.keys(resources)) {
      asked = true;
      if (isResourceClass(resourceClass)) continue;
      const at = name === '' ? '' : `groups.${named.findIndex((group) => group.name === name)}.`;
      const field = `${at}resources.${resourceClass}`;
      const rule = 'it is neither a standard class nor named CUSTOM_...';
      throw new MalformedError(`'${field}' of ${what} is an unknown resource class: ${rule}`, { field });
    }
  }
  if (!asked) throw new MalformedError(`${what} asks for no resources`, { field: 'resources' });
  const ofRoot = present({
    rootRequired: rootRequired && [...new Set(rootRequired)],
    rootForbidden: rootForbidden && [...new Set(rootForbidden)],
  });
  const spec: RequestSpec = { groups, groupPolicy: request.groupPolicy ?? 'none', ...ofRoot };
  if (request.sameSubtree !== undefined) spec.sameSubtree = sameSubtreeOf(request.sameSubtree, named, what);
  if (request.instanceGroup !== undefined) {
    spec.instanceGroup = instanceGroupOf(request.instanceGroup, request.project, what);
  }
  return spec;
}

/** @throws MalformedError for a request that is too large in all, though none of its parts is. */
function refuseTooLarge(
  { count = 1, alternates = DEFAULT_ALTERNATES }: BuildRequest,
  groups: number,
  what: string,
): void {
  const chosen = count * (1 + alternates) * groups;
  if (chosen <= MAX_CHOSEN) return;
  const product = `count * (1 + alternates) * groups is ${count} * (1 + ${alternates}) * ${groups} = ${chosen}`;
  throw new MalformedError(`'count' of ${what} is too large: ${product}, over ${MAX_CHOSEN}`, { field: 'count' });
}

/** @throws MalformedError for a request that asks for so much that it cannot be said for each of its instances. */
function refuseTooMuchToSay({ count = 1, payload: _, ...asked }: BuildRequest, what: string): void {
  if (count > 1) refuseCopies(asked, 'in which it says what it asks for', count, what);
}

/**
 * @throws MalformedError for a request that comes to so much, with what the operator says of aggregates, that it cannot be
 * claimed for each of its instances: a zone may be a thousand aggregates.
 */
export function refuseTooMuchToClaim(spec: RequestSpec, { count = 1 }: BuildRequest, what = 'the build request'): void {
  if (count === 1 || spec.tree === undefined) return;
  const which = 'of what it asks for, with all aggregates that zones, projects and traits come to here,';
  refuseCopies(spec, which, count, what);
}

function refuseCopies(copied: object, which: string, count: number, what: string): void {
  const { byteLength } = encode(copied);
  if (byteLength * count <= MAX_COPIES_BYTES) return;
  const product = `the ${byteLength} bytes ${which} * ${count} instances are over ${MAX_COPIES_BYTES}`;
  throw new MalformedError(`'count' of ${what} is too large: ${product}`, { field: 'count' });
}

/** @throws MalformedError for a trait that must be there and must not. */
function refuseContradiction(
  required: readonly string[] = [],
  forbidden: readonly string[] = [],
  at: string,
  what: string,
): void {
  const position = forbidden.findIndex((trait) => required.includes(trait));
  if (position < 0) return;
  const field = `${at}.${position}`;
  throw new MalformedError(`'${field}' of ${what} is '${forbidden[position]}', which is required too`, { field });
}

/** What is asked twice is asked once: so that leaving it out is one change. */
function onceEach(group: ResourceGroup): ResourceGroup {
  const { required, forbidden, anyOf, memberOf } = group;
  const listsOf = (all: readonly (readonly string[])[]) => [
    ...new Map(all.map((list) => [JSON.stringify([...new Set(list)].sort()), [...new Set(list)]])).values(),
  ];
  return {
    ...group,
    ...present({
      required: required && [...new Set(required)],
      forbidden: forbidden && [...new Set(forbidden)],
      anyOf: anyOf && listsOf(anyOf),
      memberOf: memberOf && listsOf(memberOf),
    }),
  };
}

function sameSubtreeOf(
  lists: readonly (readonly string[])[],
  named: readonly { name: string }[],
  what: string,
): string[][] {
  for (const [at, names] of lists.entries()) {
    for (const [position, name] of names.entries()) {
      if (named.some((group) => group.name === name) && names.indexOf(name) === position) continue;
      const field = `sameSubtree.${at}.${position}`;
      const fault = names.indexOf(name) < position ? 'names a group twice' : 'names no group of it';
      throw new MalformedError(`'${field}' of ${what} ${fault}: '${name}'`, { field });
    }
  }
  return lists.map((names) => [...names]);
}

function instanceGroupOf(asked: Static<typeof InstanceGroupRequest>, project = '', what: string): InstanceGroup {
  const { name, policy, maxPerHost } = asked;
  const id = `${project}/${name}`;
  if (policy === 'anti-affinity') return { id, policy, maxPerHost: maxPerHost ?? 1 };
  if (maxPerHost === undefined) return { id, policy };
  const field = 'instanceGroup.maxPerHost';
  throw new MalformedError(`'${field}' of ${what} goes with 'anti-affinity' only`, { field });
}
