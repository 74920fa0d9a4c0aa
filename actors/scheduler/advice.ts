// Advice: which one change would let a request fit that no host fits. Each host is tried with one condition of the
// request left out, or one amount lowered to what the host can give, but only those that stand in its way; so what is
// advised has been tried on the very hosts that are counted.

import type { Advice } from '../messages/advice.ts';
import type { RequestSpec, ResourceGroup } from '../messages/common.ts';
import type { Provider } from '../placement/providers.ts';
import { fit } from './fit.ts';
import { timesIn } from './fit-times.ts';
import type { ViewHost } from './view.ts';

/** How many amounts of one class are kept apart. */
const MAX_AMOUNTS = 64;
/** How many amounts that a host might give are tried on it. */
const MAX_AMOUNTS_TRIED = 4;
/** How many changes are advised. */
const MAX_ADVICE = 3;
/** How many changes are tried on the hosts that fit without any, and on about how many hosts in all. */
const MAX_CHANGES_TRIED = 64;
const MAX_HOSTS_TRIED = 8_192;

/** What a change would let fit: hosts, and how many instances they would hold. */
interface Room {
  hosts: number;
  times: number;
  /** The most that one of the hosts would hold. */
  most: number;
  until?: number | undefined;
}

interface Change {
  readonly advice: Omit<Advice, 'hosts'>;
  /** How much it asks of whoever makes it, from 0 on. */
  readonly cost: number;
  /** The request with the change; absent where it is not the request that changes. */
  readonly changed?: RequestSpec;
}

/** An amount that would let hosts fit, and the request with it. */
interface Amount {
  readonly changed: RequestSpec;
  /** Of the hosts for which it is the nearest that would. */
  readonly room: Room;
}

/** Amounts of one class that a group of the request might ask for instead. */
interface Amounts {
  readonly group: string;
  readonly resourceClass: string;
  readonly asked: number;
  readonly amounts: Map<number, Amount>;
  /** The hosts that one of them would let fit. */
  readonly trees: (readonly Provider[])[];
}

export interface Adviser {
  readonly spec: RequestSpec;
  /** How many instances must fit. */
  readonly count: number;
  /** How many more members of the request's instance group a host may have, by its root, and how many more instances. */
  readonly membersAllowed: (root: string) => number;
  readonly instancesAllowed: (root: string) => number;
  readonly rooms: Map<string, { change: Change; room: Room }>;
  /** By group and class: what each amount would let fit. */
  readonly amounts: Map<string, Amounts>;
}

export function newAdviser(
  spec: RequestSpec,
  count: number,
  membersAllowed: Adviser['membersAllowed'] = () => Number.POSITIVE_INFINITY,
  instancesAllowed: Adviser['instancesAllowed'] = () => Number.POSITIVE_INFINITY,
): Adviser {
  return { spec, count, membersAllowed, instancesAllowed, rooms: new Map(), amounts: new Map() };
}

/** A host that is out of service, and its tree: it might fit when it comes back. */
export function considerAway(adviser: Adviser, host: ViewHost, tree: readonly Provider[]): void {
  const times = roomOn(adviser, adviser.spec, tree);
  if (times === 0) return;
  // Those that are set aside come back by themselves; the others need an operator.
  const cost = host.state === 'set-aside' ? 0.4 : 0.8;
  const { until } = host;
  note(adviser, { advice: { code: 'host-state', about: host.state }, cost }, times, until);
}

/** A host that only one filter refuses, and its tree. */
export function considerFilter(adviser: Adviser, filter: string, tree: readonly Provider[]): void {
  const times = roomOn(adviser, adviser.spec, tree);
  if (times > 0) note(adviser, { advice: { code: 'without-filter', about: filter }, cost: 0.6 }, times);
}

/** A host that only one wish of the request refuses, of where it may go, and its tree. */
export function considerWish(adviser: Adviser, advice: Omit<Advice, 'hosts'>, tree: readonly Provider[]): void {
  const times = roomOn(adviser, adviser.spec, tree);
  if (times > 0) note(adviser, { advice, cost: 0.6 }, times);
}

/** A host that only the rule of the instance group refuses, and its tree. */
export function considerGroup(adviser: Adviser, tree: readonly Provider[]): void {
  const { instanceGroup: _, ...changed } = adviser.spec;
  const times = roomOn(adviser, changed, tree);
  if (times > 0) note(adviser, { advice: { code: 'without-instance-group' }, cost: 0.6, changed }, times);
}

/** A host that does not fit, and its tree: which change would help there? */
export function consider(adviser: Adviser, tree: readonly Provider[]): void {
  const { spec } = adviser;
  for (const [position, group] of spec.groups.entries()) {
    const alone = aloneIn(spec, group);
    // In the way are groups that do not fit even alone; when each does, any of them may be.
    if (spec.groups.length > 1 && fit(alone, tree) !== null && !eachFitsAlone(spec, tree)) continue;
    for (const { advice, cost, without } of conditionsOf(group)) {
      const changed = replaced(spec, position, without);
      const times = roomOn(adviser, changed, tree);
      if (times > 0) note(adviser, { advice: { ...advice, group: group.name }, cost, changed }, times);
    }
    for (const resourceClass of Object.keys(group.resources)) considerAmount(adviser, position, resourceClass, tree);
  }
  for (const { advice, cost, changed } of conditionsOfAll(spec)) {
    const times = roomOn(adviser, changed, tree);
    if (times > 0) note(adviser, { advice, cost, changed }, times);
  }
  if (spec.groupPolicy === 'isolate') {
    const changed: RequestSpec = { ...spec, groupPolicy: 'none' };
    const times = roomOn(adviser, changed, tree);
    if (times > 0) note(adviser, { advice: { code: 'without-isolation' }, cost: 0.6, changed }, times);
  }
}

const eachFitsAlone = (spec: RequestSpec, tree: readonly Provider[]): boolean =>
  spec.groups.every((group) => fit(aloneIn(spec, group), tree) !== null);

function aloneIn({ sameSubtree: _, ...spec }: RequestSpec, group: ResourceGroup): RequestSpec {
  return { ...spec, groups: [group] };
}

/** The conditions on the whole of a host's tree, each with the request as it would be without. */
function conditionsOfAll(spec: RequestSpec): (Change & { changed: RequestSpec })[] {
  const { rootRequired = [], rootForbidden = [], sameSubtree = [] } = spec;
  const others = <T>(all: readonly T[], left: number) => all.filter((_, position) => position !== left);
  const cost = 0.6;
  return [
    ...rootRequired.map((about, left) => ({
      advice: { code: 'without-root-required', about },
      cost,
      changed: { ...spec, rootRequired: others(rootRequired, left) },
    })),
    ...rootForbidden.map((about, left) => ({
      advice: { code: 'without-root-forbidden', about },
      cost,
      changed: { ...spec, rootForbidden: others(rootForbidden, left) },
    })),
    ...sameSubtree.map((names, left) => ({
      advice: { code: 'without-same-subtree', about: names.join(', ') },
      cost,
      changed: { ...spec, sameSubtree: others(sameSubtree, left) },
    })),
  ];
}

/** The conditions of a group beside amounts, each with the group as it would be without. */
function conditionsOf(group: ResourceGroup): (Change & { without: ResourceGroup })[] {
  const { required = [], anyOf = [], forbidden = [], memberOf = [] } = group;
  const others = <T>(all: readonly T[], left: number) => all.filter((_, position) => position !== left);
  const cost = 0.5;
  return [
    ...required.map((about, left) => ({
      advice: { code: 'without-required', about },
      cost,
      without: { ...group, required: others(required, left) },
    })),
    ...anyOf.map((traits, left) => ({
      advice: { code: 'without-any-of', about: traits.join(', ') },
      cost,
      without: { ...group, anyOf: others(anyOf, left) },
    })),
    ...forbidden.map((about, left) => ({
      advice: { code: 'without-forbidden', about },
      cost,
      without: { ...group, forbidden: others(forbidden, left) },
    })),
    ...memberOf.map((aggregates, left) => ({
      advice: { code: 'without-member-of', about: aggregates.join(', ') },
      cost,
      without: { ...group, memberOf: others(memberOf, left) },
    })),
  ];
}

/** The most of a class that the host could give instead, or whether it would fit with none of it. */
function considerAmount(adviser: Adviser, position: number, resourceClass: string, tree: readonly Provider[]): void {
  const { spec } = adviser;
  const group = spec.groups[position] as ResourceGroup;
  const asked = group.resources[resourceClass] as number;
  const amounts = new Set(
    tree.map((provider) => amountOf(provider, resourceClass, asked)).filter((one) => one !== null),
  );
  amounts.delete(asked);
  const tried = [...amounts].sort((one, other) => Math.abs(one - asked) - Math.abs(other - asked));
  for (const amount of tried.slice(0, MAX_AMOUNTS_TRIED)) {
    const resources = { ...group.resources, [resourceClass]: amount };
    const changed = replaced(spec, position, { ...group, resources });
    const times = roomOn(adviser, changed, tree);
    if (times === 0) continue;
    const noted = amountsOf(adviser, group.name, resourceClass, asked);
    noted.trees.push(tree);
    add(noteAmount(noted, amount, changed).room, times);
    // With a part of it the host would hold several.
    for (let parts = 2; times < adviser.count && parts <= Math.min(adviser.count, MAX_AMOUNTS_TRIED); parts += 1) {
      const part = Math.floor(amount / parts);
      const split = { ...group.resources, [resourceClass]: part };
      if (part > 0) noteAmount(noted, part, replaced(spec, position, { ...group, resources: split }));
    }
    break;
  }
  const { [resourceClass]: _, ...resources } = group.resources;
  const isAll = spec.groups.every(({ resources: all }, at) => at === position || Object.keys(all).length === 0);
  if (Object.keys(resources).length === 0 && isAll) return;
  const changed = replaced(spec, position, { ...group, resources });
  const times = roomOn(adviser, changed, tree);
  const advice = { code: 'without-resource', group: group.name, about: resourceClass };
  if (times > 0) note(adviser, { advice, cost: 1, changed }, times);
}

/** The amount nearest to what is asked that a provider could give by itself, or null. */
function amountOf({ stocks }: Provider, resourceClass: string, asked: number): number | null {
  const stock = stocks.get(resourceClass);
  if (stock === undefined) return null;
  const { min_unit, max_unit, step_size } = stock.inventory;
  const most = Math.min(max_unit, Math.floor(stock.capacity - stock.used));
  const below = Math.min(asked, most) - (Math.min(asked, most) % step_size);
  if (below >= min_unit && below > 0) return below;
  const least = Math.ceil(min_unit / step_size) * step_size;
  return least > asked && least <= most ? least : null;
}

function replaced(spec: RequestSpec, position: number, group: ResourceGroup): RequestSpec {
  return { ...spec, groups: spec.groups.map((one, at) => (at === position ? group : one)) };
}

/** How many instances a host would hold, as its resources, limits and the rule of the instance group let it. */
function roomOn(adviser: Adviser, spec: RequestSpec, tree: readonly Provider[]): number {
  const root = (tree[0] as Provider).spec.id;
  const members = spec.instanceGroup === undefined ? Number.POSITIVE_INFINITY : adviser.membersAllowed(root);
  return Math.min(timesOn(adviser, spec, tree), members, adviser.instancesAllowed(root));
}

function timesOn({ count }: Adviser, spec: RequestSpec, tree: readonly Provider[]): number {
  if (count > 1) return timesIn(spec, tree, count);
  return fit(spec, tree) === null ? 0 : 1;
}

function note(adviser: Adviser, change: Change, times: number, until?: number): void {
  const { code, group, about } = change.advice;
  const key = `${code} ${group} ${about}`;
  let found = adviser.rooms.get(key);
  if (found === undefined) {
    found = { change, room: { hosts: 0, times: 0, most: 0 } };
    adviser.rooms.set(key, found);
  }
  add(found.room, times);
  if (until !== undefined) found.room.until = Math.min(until, found.room.until ?? until);
}

function amountsOf({ amounts }: Adviser, group: string, resourceClass: string, asked: number): Amounts {
  const key = `${group} ${resourceClass}`;
  let found = amounts.get(key);
  if (found === undefined) {
    found = { group, resourceClass, asked, amounts: new Map(), trees: [] };
    amounts.set(key, found);
  }
  return found;
}

function noteAmount({ asked, amounts }: Amounts, amount: number, changed: RequestSpec): Amount {
  const one = amounts.get(amount) ?? { changed, room: { hosts: 0, times: 0, most: 0 } };
  amounts.set(amount, one);
  if (amounts.size > MAX_AMOUNTS) {
    amounts.delete(
      [...amounts.keys()].reduce((far, other) => (Math.abs(far - asked) > Math.abs(other - asked) ? far : other)),
    );
  }
  return one;
}

/** What hosts would hold, beside what was counted before. */
function roomOf(
  adviser: Adviser,
  spec: RequestSpec,
  trees: readonly (readonly Provider[])[],
  before: Room = { hosts: 0, times: 0, most: 0 },
): Room {
  const room = { ...before };
  for (const tree of trees) {
    const times = roomOn(adviser, spec, tree);
    if (times > 0) add(room, times);
  }
  return room;
}

function add(room: Room, times: number): void {
  room.hosts += 1;
  room.times += times;
  room.most = Math.max(room.most, times);
}

/**
 * The changes that would let all instances fit, the one that asks least first.
 * @param fitting The trees of the hosts that fit as it is: what they would hold with a change is counted with the rest.
 */
export function adviceOf(adviser: Adviser, fitting: readonly (readonly Provider[])[] = []): Advice[] {
  const { spec, count, rooms, amounts } = adviser;
  // A group that keeps together is on one host.
  const together = spec.instanceGroup?.policy === 'affinity';
  const found: { change: Change; room: Room; next: () => void }[] = [];
  for (const { change, room } of rooms.values()) found.push({ change, room, next() {} });
  let looked = 0;
  for (const { group, resourceClass, asked, amounts: byAmount, trees } of amounts.values()) {
    const nearest = [...byAmount].sort(([one], [other]) => Math.abs(one - asked) - Math.abs(other - asked));
    const next = () => {
      const [to, { changed, room: ofNearest }] = nearest.shift() ?? [asked, {}];
      if (changed === undefined || ofNearest === undefined) return;
      // Those for which another amount is nearer may fit with this one too; of very many, only they themselves are counted.
      looked += trees.length;
      const room = looked > MAX_HOSTS_TRIED ? ofNearest : roomOf(adviser, changed, trees);
      const advice = { code: to < asked ? 'less' : 'more', group, about: resourceClass, from: asked, to };
      found.push({ change: { advice, cost: Math.abs(asked - to) / Math.max(asked, to), changed }, room, next });
    };
    next();
  }
  const advised: Advice[] = [];
  const isEnough = (tried: number) => tried >= MAX_CHANGES_TRIED || tried * fitting.length >= MAX_HOSTS_TRIED;
  for (let tried = 0; advised.length < MAX_ADVICE && found.length > 0 && !isEnough(tried); tried += 1) {
    found.sort((one, other) => one.change.cost - other.change.cost || other.room.hosts - one.room.hosts);
    const { change, room, next } = found.shift() as (typeof found)[number];
    const all = roomOf(adviser, change.changed ?? spec, fitting, room);
    const isTogether = together && change.advice.code !== 'without-instance-group';
    if ((isTogether ? all.most : all.times) < count) {
      // No amount further off is tried where a nearer one is advised.
      next();
      continue;
    }
    const until = room.until === undefined ? {} : { until: room.until };
    // Of hosts that are away it is said which they are, of others where it would fit then.
    const { hosts } = change.advice.code === 'host-state' ? room : all;
    advised.push({ ...change.advice, hosts, ...until });
  }
  return advised;
}
