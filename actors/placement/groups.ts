// Instance groups, and where their members are: decided in the claim itself, so that no two claims, however parallel, can
// break a group between them. What a host must know, how many members are on it, stands with its root provider; what
// only the group as a whole can know, where its members' home is and what its rule is, stands in `Groups`, which all
// others reach through the functions here. A group exists for as long as it has members.

import type { Allocation } from '../../machines/instance-build.ts';
import { adjust } from '../amounts.ts';
import type { InstanceGroup, RequestSpec } from '../messages/common.ts';
import type { Claim, GroupKnown, Refusal } from '../messages/placement.ts';
import type { Consumer, Consumers, Identity } from './consumers.ts';
import { fits } from './inventory.ts';
import { noteQuietly, type Provider, type Providers, rootOf, rootServing } from './providers.ts';
import { SHARES_VIA_AGGREGATE } from './standard-traits.ts';

interface Group {
  /** As its first member said it. */
  rule: InstanceGroup;
  /** The consumers that hold something, each of which has a `Place`. */
  readonly members: Set<string>;
  /** How many members have their home on each root: what is left behind on a host that went silent is no home. */
  readonly homes: Map<string, number>;
}

/** Where a member is. */
export interface Place {
  readonly group: string;
  /** The root on which its latest attempt holds something, or null while none does. */
  readonly home: string | null;
  /**
   * The roots on which any attempt holds something: something of it may run there. None: it holds only what is shared, or of
   * providers that are not there; by its rule nothing is measured then, but the group goes on with that rule.
   */
  readonly roots: readonly string[];
}

export interface Groups {
  readonly known: Map<string, Group>;
  /** By consumer. */
  readonly places: Map<string, Place>;
}

interface Grouped {
  readonly providers: Providers;
  readonly consumers: Consumers;
  readonly groups: Groups;
  readonly untold: { readonly used: Set<string> };
}

export function emptyGroups(): Groups {
  return { known: new Map(), places: new Map() };
}

/** Takes note of where a consumer is now, after anything of what it holds has changed. */
export function locate(state: Grouped, id: string): void {
  const { groups, consumers, providers } = state;
  const consumer = consumers.holding.get(id);
  const before = groups.places.get(id);
  if (before === undefined && consumer?.group === undefined) return;
  const now = consumer === undefined ? null : placeOf(consumer, providers);
  if (now !== null) {
    if (before !== undefined && isSame(now, before)) return;
    groups.places.set(id, now);
    enter(state, id, now, consumer?.group as InstanceGroup);
  } else {
    groups.places.delete(id);
  }
  if (before !== undefined) leave(state, id, before, now);
}

function isSame(one: Place, other: Place): boolean {
  const alike = one.group === other.group && one.home === other.home && one.roots.length === other.roots.length;
  return alike && one.roots.every((root) => other.roots.includes(root));
}

/** Where a member is by what it holds, or null when it is none or holds nothing. */
export function placeOf(
  { group, held, latest, away }: Identity & Pick<Consumer, 'held'>,
  providers: Providers,
): Place | null {
  if (group === undefined || held.length === 0) return null;
  const roots: string[] = [];
  let home: string | null = null;
  for (const { attempt, allocations, several } of held) {
    for (const { spec } of hostsOf(allocations, several === true, providers)) {
      if (!roots.includes(spec.id)) roots.push(spec.id);
      if (attempt === latest && away !== true) home ??= spec.id;
    }
  }
  return { group: group.id, home, roots };
}

/**
 * The roots that an attempt is on. What is shared by many hosts is none of them; only callers of the Placement API take of
 * it. A host that shares is a host all the same, for who has no other.
 */
function hostsOf(allocations: readonly Allocation[], hasOthers: boolean, providers: Providers): readonly Provider[] {
  const roots: Provider[] = [];
  let doAnyShare = false;
  for (const { provider } of allocations) {
    const root = rootOf(provider, providers);
    if (root === undefined || roots.includes(root)) continue;
    roots.push(root);
    doAnyShare ||= shares(root);
  }
  if (!doAnyShare) return roots;
  const sharingNothing = roots.filter((root) => !shares(root));
  return hasOthers || sharingNothing.length > 0 ? sharingNothing : roots.filter((root) => !isPool(root));
}

export function shares({ traits }: Pick<Provider, 'traits'>): boolean {
  return traits.has(SHARES_VIA_AGGREGATE);
}

/** Whether all that a root has is shared: no compute has told of it. */
export function isPool(root: Pick<Provider, 'traits' | 'told'>): boolean {
  return root.told === null && shares(root);
}

function enter(state: Grouped, member: string, { group: id, home, roots }: Place, rule: InstanceGroup): void {
  let group = state.groups.known.get(id);
  if (group === undefined) {
    group = { rule, members: new Set(), homes: new Map() };
    state.groups.known.set(id, group);
  }
  group.members.add(member);
  if (home !== null) adjust(group.homes, home, 1);
  for (const root of countedOn(group.rule, { home, roots })) count(state, root, id, 1, group.rule);
}

/** A member is where it was no more, but `now`. */
function leave(state: Grouped, member: string, { group: id, home, roots }: Place, now: Place | null): void {
  const group = state.groups.known.get(id) as Group;
  if (now?.group !== id) group.members.delete(member);
  if (group.members.size === 0) state.groups.known.delete(id);
  if (home !== null) adjust(group.homes, home, -1);
  for (const root of countedOn(group.rule, { home, roots })) count(state, root, id, -1, group.rule);
}

/**
 * The roots on which a member counts. Others keep apart from whatever of it may run; together they keep where it is: what
 * was left behind on a host that went silent draws nobody there.
 */
function countedOn({ policy }: InstanceGroup, { home, roots }: Pick<Place, 'home' | 'roots'>): readonly string[] {
  if (policy === 'anti-affinity' || policy === 'soft-anti-affinity') return roots;
  return home === null ? [] : [home];
}

/** Counts members on a root. */
function count({ providers, untold }: Grouped, root: string, group: string, by: number, rule: InstanceGroup): void {
  const provider = providers.get(root);
  if (provider === undefined) return;
  const groups = new Map(provider.groups);
  adjust(groups, group, by);
  provider.groups = groups;
  const rules = new Map(provider.groupRules);
  if (groups.has(group)) rules.set(group, ruleOf(rule));
  else rules.delete(group);
  provider.groupRules = rules;
  noteQuietly(providers, provider, untold.used);
}

/** Why the group that a claim names forbids it, or null. The claimant itself does not count: it may be moving. */
export function refusalOfGroup(
  {
    consumer,
    allocations,
    spec,
    groupKnown,
  }: Pick<Claim, 'consumer' | 'allocations' | 'spec'> & { groupKnown?: GroupKnown | undefined },
  { providers, groups, consumers }: Pick<Grouped, 'providers' | 'groups' | 'consumers'>,
): Refusal | null {
  const asked = spec.instanceGroup;
  if (asked === undefined && groups.places.size === 0) return null;
  const standing = consumers.holding.get(consumer);
  if (standing !== undefined && standing.held.length > 0 && standing.group?.id !== asked?.id) {
    const was = standing.group === undefined ? 'no instance group' : `instance group '${nameOf(standing.group)}'`;
    return { code: 'group-policy-conflict', message: `'${consumer}' keeps what it holds as a member of ${was}` };
  }
  const group = asked === undefined ? undefined : groups.known.get(asked.id);
  if (asked === undefined || group === undefined) return null;
  const place = groups.places.get(consumer);
  const mine = place?.group === asked.id ? place : undefined;
  const provider = rootServing(allocations, providers) as Provider;
  const { id: root, name } = provider.spec;
  const which = `instance group '${nameOf(asked)}'`;
  if (ruleOf(asked) !== ruleOf(group.rule)) {
    const message = `${which} has the rule '${ruleOf(group.rule)}', not '${ruleOf(asked)}'`;
    return { code: 'group-policy-conflict', message };
  }
  const isCounted = mine !== undefined && countedOn(asked, mine).includes(root);
  const others = (provider.groups.get(asked.id) ?? 0) - (isCounted ? 1 : 0);
  if (asked.policy === 'anti-affinity') {
    const most = asked.maxPerHost ?? 1;
    if (others < most) return null;
    const message = `${which} may have ${most} on each host, and host '${name}' has ${others}`;
    return { code: 'group-anti-affinity', message, provider: root };
  }
  if (asked.policy === 'affinity') {
    const elsewhere = homesOf(groups, asked.id, consumer).find((home) => home !== root);
    if (elsewhere === undefined) return null;
    const where = providers.get(elsewhere)?.spec.name ?? elsewhere;
    const message = `${which} keeps together, and it is on host '${where}', not on '${name}'`;
    return { code: 'group-affinity', message, provider: elsewhere };
  }
  if (groupKnown === undefined) return null;
  if (asked.policy === 'soft-anti-affinity') {
    if (others <= groupKnown.members) return null;
    const message = `${which} keeps apart if it can, and host '${name}' has ${others} of it, not ${groupKnown.members}`;
    return { code: 'group-changed', message, provider: root };
  }
  // One that chose the tree for members whose claims were refused knew of none there.
  const known = groupKnown.members > 0 ? 0 : (groupKnown.others ?? 0);
  // Those that the group came to last are what is news, and one without room is no reason to choose anew.
  const news = others > 0 ? [] : homesOf(groups, asked.id, consumer, known);
  const newest = news.findLast((home) => hasRoom(providers.get(home), allocations));
  if (newest === undefined) return null;
  const message = `${which} keeps together if it can, and it has come to host '${providers.get(newest)?.spec.name}'`;
  return { code: 'group-changed', message, provider: newest };
}

/** Whether a root has as much free as is taken of any one root; what is below it is not looked at. */
function hasRoom(root: Provider | undefined, allocations: Claim['allocations']): boolean {
  return allocations.every(({ resources }) =>
    Object.entries(resources).every(([resourceClass, amount]) => {
      const stock = root?.stocks.get(resourceClass);
      return stock === undefined || fits(stock, amount);
    }),
  );
}

/**
 * The roots on which other members of a group have their home, but for those that it came to first; of an affinity group that
 * is one at most. As a rule there is no other, of thousands: then none is looked at.
 */
function homesOf({ known, places }: Groups, id: string, besides: string, butFirst = 0): string[] {
  const { homes } = known.get(id) ?? {};
  if (homes === undefined || homes.size <= butFirst) return [];
  const mine = places.get(besides);
  const own = mine?.group === id ? mine.home : null;
  return [...homes]
    .filter(([root, members]) => members > (root === own ? 1 : 0))
    .map(([root]) => root)
    .slice(butFirst);
}

/** How many members are named, and how many are looked at for it: a part of a millisecond. */
const MAX_MEMBERS_NAMED = 5;
const MAX_LOOKED_AT = 10_000;

/** The first few members of a group that have a home, for whoever explains; fewer where very many have none. */
export function someMembers({ known, places }: Groups, id: string): string[] {
  const found: string[] = [];
  let looks = 0;
  for (const consumer of known.get(id)?.members ?? []) {
    if (places.get(consumer)?.home !== null) found.push(consumer);
    looks += 1;
    if (found.length === MAX_MEMBERS_NAMED || looks === MAX_LOOKED_AT) break;
  }
  return found.sort();
}

/** The rule of a group in a word: two members of one group must say the same. */
export function ruleOf({ policy, maxPerHost = 1 }: InstanceGroup): string {
  return policy === 'anti-affinity' && maxPerHost > 1 ? `${policy}, ${maxPerHost} per host` : policy;
}

/** The group of which `ruleOf` says a rule. */
export function groupOf(id: string, rule: string): InstanceGroup | undefined {
  const policies = ['affinity', 'anti-affinity', 'soft-affinity', 'soft-anti-affinity'] as const;
  const policy = policies.find((one) => rule === one);
  if (policy !== undefined) return { id, policy };
  const [, most] = /^anti-affinity, (\d+) per host$/.exec(rule) ?? [];
  return most === undefined ? undefined : { id, policy: 'anti-affinity', maxPerHost: Number(most) };
}

/** The policy of a group if it must be kept, or null. */
export function hardRuleOf({ policy }: InstanceGroup): 'affinity' | 'anti-affinity' | null {
  return policy === 'affinity' || policy === 'anti-affinity' ? policy : null;
}

/** Whether the rule of a group is a wish, that is kept as far as hosts allow. */
export function isSoft(group: InstanceGroup): boolean {
  return hardRuleOf(group) === null;
}

/** Whether the instances of a request must share a host. */
export function keepsTogether({ instanceGroup }: RequestSpec): boolean {
  return instanceGroup?.policy === 'affinity';
}

/** The name of a group without its project. */
export function nameOf({ id }: InstanceGroup): string {
  return id.slice(id.indexOf('/') + 1);
}
