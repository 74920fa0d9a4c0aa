// What an instance asked for, made back into a request as its caller would write it, as far as that is known; and in
// words, on one line. Pure.

import { clipped, type RequestSpec, type ResourceGroup, type TreeConditions } from '../../actors/messages/common.ts';
import { type Origins, type Where, withoutOrigins } from '../../actors/messages/where.ts';
import { present } from '../../actors/present.ts';
import { wishedOfAggregates } from './placing.ts';
import type { BuildRequest } from './requests.ts';

/**
 * What was asked for. `alternates`, `count`, `wait` and `payload` are not known any more; and of an instance that has a host,
 * where `placement` named many hosts, one is told by the id of its provider where nothing else names it.
 */
export type Asked = Omit<BuildRequest, 'id' | 'count' | 'alternates' | 'wait' | 'payload'>;

/** Names the host of a root provider, where that is known. */
export type HostNames = (provider: string) => string | undefined;

/** How many of a list are told, and how many characters of all; of others it is said how many they are. */
const MOST_OF_LIST = 4;
const MOST_LENGTH = 400;

export function askedOf(
  spec: RequestSpec,
  where: Where | undefined,
  project: string | undefined,
  hostOf: HostNames,
): Asked {
  const { groups, groupPolicy, rootRequired, rootForbidden, sameSubtree, instanceGroup, tree } = spec;
  const unnamed = groups.find(({ name }) => name === '');
  const named = groups.filter(({ name }) => name !== '').map((one) => ({ name: one.name, ...conditionsOf(one) }));
  const placement = { ...withoutOrigins(where), ...placementOf(tree, where?.origins, hostOf) };
  const group = instanceGroup && {
    name: instanceGroup.id.slice(instanceGroup.id.indexOf('/') + 1),
    policy: instanceGroup.policy,
    ...present({ maxPerHost: instanceGroup.maxPerHost }),
  };
  return {
    ...(unnamed === undefined ? {} : conditionsOf(unnamed)),
    ...(named.length === 0 ? {} : { groups: named }),
    ...(groupPolicy === 'none' ? {} : { groupPolicy }),
    ...present({ rootRequired, rootForbidden, sameSubtree, instanceGroup: group, project }),
    ...(Object.keys(placement).length === 0 ? {} : { placement }),
  };
}

function conditionsOf({ resources, required, anyOf, forbidden, memberOf }: ResourceGroup) {
  const some = Object.keys(resources).length === 0 ? {} : { resources: { ...resources } };
  return { ...some, ...present({ required, anyOf, forbidden, memberOf }) };
}

/**
 * Where nothing is known of what its conditions on aggregates come from, a list that the host must be in one of is told as
 * that, and those that it must not be in are kept for others and were not asked for.
 */
function placementOf(
  tree: TreeConditions = {},
  origins: Origins = {},
  hostOf: HostNames,
): NonNullable<Asked['placement']> {
  const { oneOf, noneOf, heldBy, notHeldBy } = tree;
  const { hosts, avoidHosts } = origins;
  const named = (roots: string[] | undefined) => roots?.map((root) => hostOf(root) ?? root);
  return present({
    ...wishedOfAggregates(tree, origins),
    hosts: hosts ?? named(oneOf),
    avoidHosts: avoidHosts ?? named(noneOf),
    sameHostAs: heldBy,
    differentHostFrom: notHeldBy,
  });
}

/** `asked for: 2 VCPU, 512 MEMORY_MB; required CUSTOM_T; group 'gpu': 1 VGPU; for project p; in zone north; anti-affinity group 'web'`. */
export function askedWords(asked: Asked): string {
  const { groups = [], groupPolicy, rootRequired, rootForbidden, sameSubtree = [], instanceGroup, project } = asked;
  const parts = [
    ...conditionWords(asked),
    ...groups.map((one) => `group '${one.name}': ${conditionWords(one).join(', ')}`),
    ...(groupPolicy === 'isolate' ? ['no two groups on one provider'] : []),
    ...listWords('of the host itself required', rootRequired),
    ...listWords('of the host itself forbidden', rootForbidden),
    ...sameSubtree.map((names) => `in one subtree ${some(names)}`),
    ...(project === undefined ? [] : [`for project ${project}`]),
    ...placementWords(asked.placement),
    ...(instanceGroup === undefined ? [] : [instanceGroupWords(instanceGroup)]),
  ];
  const told: string[] = [];
  let length = 0;
  for (const part of parts) {
    length += part.length;
    if (told.length > 0 && length > MOST_LENGTH) break;
    told.push(clipped(part, MOST_LENGTH));
  }
  if (told.length < parts.length) told.push(`and ${parts.length - told.length} more`);
  return `asked for: ${told.join('; ')}`;
}

type Conditions = Pick<Asked, 'resources' | 'required' | 'anyOf' | 'forbidden' | 'memberOf'>;

function conditionWords({ resources = {}, required, anyOf = [], forbidden, memberOf = [] }: Conditions): string[] {
  const amounts = Object.entries(resources).map(([resourceClass, amount]) => `${amount} ${resourceClass}`);
  return [
    ...(amounts.length === 0 ? [] : [some(amounts)]),
    ...listWords('required', required),
    ...anyOf.map((traits) => `required ${some(traits, ' or ')}`),
    ...listWords('forbidden', forbidden),
    ...memberOf.map((ids) => `in aggregate ${some(ids, ' or ')}`),
  ];
}

function placementWords(placement: NonNullable<Asked['placement']> = {}): string[] {
  const { cells, avoidCells, preferCells, zones, avoidZones, aggregates, avoidAggregates } = placement;
  const { hosts, avoidHosts, sameHostAs, differentHostFrom, hints = {} } = placement;
  const hinted = Object.entries(hints).map(([name, value]) => `${name}=${value}`);
  return [
    ...listWords('in cell', cells, ' or '),
    ...listWords('not in cell', avoidCells, ' or '),
    ...listWords('preferably in cell', preferCells, ' or '),
    ...listWords('in zone', zones, ' or '),
    ...listWords('not in zone', avoidZones, ' or '),
    ...listWords('in aggregate', aggregates, ' or '),
    ...listWords('not in aggregate', avoidAggregates, ' or '),
    ...hostWords('on host', hosts),
    ...hostWords('not on host', avoidHosts),
    ...listWords('with instance', sameHostAs, ' or '),
    ...listWords('on no host with instance', differentHostFrom, ' or '),
    ...(hinted.length === 0 ? [] : [`hints ${some(hinted)}`]),
  ];
}

function instanceGroupWords({ name, policy, maxPerHost = 1 }: NonNullable<Asked['instanceGroup']>): string {
  return `${policy} group '${name}'${maxPerHost === 1 ? '' : ` with ${maxPerHost} on a host at most`}`;
}

const listWords = (what: string, all: readonly string[] = [], between = ', '): string[] =>
  all.length === 0 ? [] : [`${what} ${some(all, between)}`];

/** Ids of providers tell people nothing: of hosts without a name it is said how many they are. */
function hostWords(what: string, hosts: readonly string[] = []): string[] {
  const named = hosts.filter((one) => one.includes('/'));
  const others = hosts.length - named.length;
  if (others === 0) return listWords(what, hosts, ' or ');
  const told = named.slice(0, MOST_OF_LIST);
  const more = hosts.length - told.length;
  const hidden = others < more ? 'more' : `whose ${others === 1 ? 'name is' : 'names are'} not on record`;
  return [`${what} ${[...told, `${more} ${hidden}`].join(' or ')}`];
}

function some(all: readonly string[], between = ', '): string {
  if (all.length <= MOST_OF_LIST + 1) return all.join(between);
  const told = all.slice(0, MOST_OF_LIST).join(between);
  return `${told}${between === ', ' ? ' and ' : between}${all.length - MOST_OF_LIST} more`;
}
