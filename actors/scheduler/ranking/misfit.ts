// Why a request does not fit a host as the view has it: the first thing that really stands in the way, so that whoever
// asked knows what to ask for instead.

import { listed } from '../../count-words.ts';
import { fit } from '../../fitting/fit.ts';
import { type Choice, isMet, optionsOf, planOf } from '../../fitting/fit-choices.ts';
import type { RequestSpec, ResourceGroup } from '../../messages/common.ts';
import type { Refusal } from '../../messages/placement.ts';
import { asksOfRoot, unmet, unmetByRoot } from '../../placement/conditions.ts';
import { fits, offUnitsBy, refusalOf, type Stock, shortWords, unitAllowed } from '../../placement/inventory.ts';
import type { Provider } from '../../placement/providers.ts';
import { misfitOfAll, plainMisfitOfAll } from './misfit-together.ts';

/** What placement would refuse a claim for, or what is only seen where all of a host is looked at. */
export interface Misfit extends Omit<Refusal, 'code'> {
  readonly code: Refusal['code'] | 'not-on-one-provider';
}

type Demanded = Choice['demands'][number];

/** Why a request does not fit a tree: what stands in the way first, said of the provider that came nearest. */
export function misfitOf(spec: RequestSpec, tree: readonly Provider[]): Misfit {
  const alone = misfitOfOne(spec, tree);
  if (alone !== null) return inAll(alone, spec, tree);
  const { choices } = planOf(spec);
  const spread = choices.find(({ ofAll }) => ofAll !== null);
  const ofSpread = spread === undefined ? null : misfitOfSpread(spread, choices, tree);
  if (ofSpread !== null) return ofSpread;
  return shortOfClass(spec, tree) ?? misfitOfAll(spec, tree);
}

/** The same as far as it is seen at once. */
export function plainMisfitOf(spec: RequestSpec, tree: readonly Provider[]): Misfit {
  const alone = misfitOfOne(spec, tree);
  if (alone !== null) return inAll(alone, spec, tree);
  return shortOfClass(spec, tree) ?? plainMisfitOfAll(spec, tree);
}

/** What the host does not meet, or a group that nothing could serve if it were alone. */
function misfitOfOne(spec: RequestSpec, tree: readonly Provider[]): Misfit | null {
  const root = tree[0] as Provider;
  const ofRoot = asksOfRoot(spec) ? unmetByRoot(spec, root) : null;
  if (ofRoot !== null) return ofRoot;
  const { ofHost, kinds } = planOf(spec);
  for (const group of ofHost) {
    const refusal = unmet(group, [root], root);
    if (refusal !== null) return refusal;
  }
  for (const kind of kinds) {
    const nearest = nearestTo(kind, tree);
    if (nearest !== null) return missingOf(kind, nearest, tree) ?? misfitOfProvider(kind, nearest, root);
  }
  return null;
}

/**
 * A class that keeps every provider from serving a choice, as it is not there: one that the host lacks altogether is told
 * before one that another of its providers has, as that is only not where the group needs it. Of those it is one beside
 * which a provider has all others, if there is one.
 */
function missingOf({ group, demands }: Choice, nearest: Provider, tree: readonly Provider[]): Misfit | null {
  const missing = demands.filter(({ resourceClass }) => !nearest.stocks.has(resourceClass));
  if (missing.length === 0) return null;
  const { spec } = tree[0] as Provider;
  const absent = missing.find(({ resourceClass }) => !tree.some(({ stocks }) => stocks.has(resourceClass)));
  if (absent !== undefined) return refusalOf(spec, absent.resourceClass, undefined, absent.amount, 0);
  const othersThan = (one: string) => demands.flatMap(({ resourceClass: other }) => (other === one ? [] : [other]));
  const isAlone = ({ resourceClass }: Demanded) => {
    const others = othersThan(resourceClass);
    return tree.some(({ stocks }) => others.every((other) => stocks.has(other)));
  };
  const { resourceClass } = missing.find(isAlone) ?? demands.find(isAlone) ?? (missing[0] as Demanded);
  const message = `no provider of host '${spec.name}' has ${resourceClass} beside ${listed(othersThan(resourceClass))}, which group '${group.name}' asks of one`;
  return { code: 'not-on-one-provider', message, provider: spec.id, resourceClass };
}

/**
 * The provider that comes nearest to serving a choice, or null when one can serve it. Of several the same one, in whatever
 * order schedulers have heard of them: so all of them say the same of a host.
 */
function nearestTo(kind: Choice, tree: readonly Provider[]): Provider | null {
  const root = tree[0] as Provider;
  let nearest = root;
  let least = Number.POSITIVE_INFINITY;
  for (const provider of tree) {
    const distance = distanceOf(kind, provider, root);
    if (distance === null) return null;
    if (distance > least || distance === Number.POSITIVE_INFINITY) continue;
    if (distance === least && (nearest === root || nearest.spec.name < provider.spec.name)) continue;
    nearest = provider;
    least = distance;
  }
  return nearest;
}

/** Farther than any share: what has enough, and would not do; and what never has as much as is asked, however little. */
const FAR = 2 ** 40;
const FARTHER = 2 * FAR;

/**
 * How far a provider is from serving a choice: that it lacks a class says least; being short says most, by the part of
 * what is asked that is not there, as of two classes amounts cannot be compared, but where it would not do if it had
 * enough, which says less than that one with enough would not. Null: it can serve.
 */
function distanceOf(choice: Choice, provider: Provider, root: Provider): number | null {
  let distance = 0;
  for (const { resourceClass, amount } of choice.demands) {
    const stock = provider.stocks.get(resourceClass);
    if (stock === undefined) return Number.POSITIVE_INFINITY;
    distance = Math.max(distance, shareLacking(stock, amount));
  }
  const mayServe = isMet(choice, provider, root);
  if (distance === 0) return mayServe ? null : FAR;
  return mayServe ? distance : FARTHER + distance;
}

/** Which part of an amount is not there. */
function shareLacking(stock: Stock, amount: number): number {
  if (!unitAllowed(stock.inventory, amount)) {
    const off = offUnitsBy(stock, amount);
    return off === undefined ? FARTHER : off / amount;
  }
  return fits(stock, amount) ? 0 : (stock.used + amount - stock.capacity) / amount;
}

/** What a provider that has inventories of all that is asked lacks most. */
function misfitOfProvider({ demands, ofEach }: Choice, provider: Provider, root: Provider): Refusal | null {
  let worst: Refusal | null = null;
  let most = 0;
  for (const { resourceClass, amount } of demands) {
    const stock = provider.stocks.get(resourceClass) as Stock;
    const lacking = shareLacking(stock, amount);
    if (lacking <= most) continue;
    worst = refusalOf(provider.spec, resourceClass, stock, amount, 0);
    most = lacking;
  }
  return worst ?? (ofEach === null ? null : unmet(ofEach, [provider], root));
}

/** What the unnamed group asks of all that serve it together, and cannot have, though there is room for each class. */
function misfitOfSpread(
  { group, ofAll }: Choice,
  choices: readonly Choice[],
  tree: readonly Provider[],
): Refusal | null {
  const root = tree[0] as Provider;
  const asked = ofAll as ResourceGroup;
  const options = choices.filter((choice) => choice.group === group).map((choice) => optionsOf(choice, tree));
  const able = [...new Set(options.flat())];
  const refusal = unmet(asked, able, root);
  if (refusal !== null) return misfitOfFull(asked, able, choices, tree) ?? refusal;
  if (fit(aloneOf(group), tree) !== null) return null;
  // What is asked is there, but not in what can serve all classes at once.
  return unmet(asked, [...new Set(options.map(([first]) => first as Provider))], root);
}

/** What the nearest of those is short of that would meet the conditions of the unnamed group, beside all that have room. */
function misfitOfFull(
  asked: ResourceGroup,
  able: readonly Provider[],
  choices: readonly Choice[],
  tree: readonly Provider[],
): Refusal | null {
  const root = tree[0] as Provider;
  let nearest: Refusal | null = null;
  let least = FAR;
  for (const choice of choices) {
    if (choice.ofAll !== asked) continue;
    for (const provider of tree) {
      const distance = distanceOf(choice, provider, root);
      if (distance === null || distance >= least || unmet(asked, [...able, provider], root) !== null) continue;
      nearest = misfitOfProvider(choice, provider, root);
      least = distance;
    }
  }
  return nearest;
}

/** A class of which all choices together ask for more than there is. */
function shortOfClass(spec: RequestSpec, tree: readonly Provider[]): Misfit | null {
  for (const resourceClass of planOf(spec).askers.keys()) {
    if (!isAskedTwice(spec, resourceClass)) continue;
    const lack = lackOf(resourceClass, spec, tree);
    if (lack.short > 0) return shortTogether('exceeds-capacity', resourceClass, lack, tree);
  }
  return null;
}

/** What is said of a class when all choices that ask for it lack more of it than the one that was looked at. */
function inAll(alone: Misfit, spec: RequestSpec, tree: readonly Provider[]): Misfit {
  const { code, short, resourceClass } = alone;
  if (short === undefined || resourceClass === undefined || !isAskedTwice(spec, resourceClass)) return alone;
  if (code === 'unit-constraint' && !isOfMaximum(alone, spec, tree)) return alone;
  const barred = barredFrom(resourceClass, spec, tree);
  if (barred !== null) return barred;
  const lack = lackOf(resourceClass, spec, tree);
  return lack.short > short ? shortTogether(code, resourceClass, lack, tree) : alone;
}

/**
 * What one that asks for a class requires, and no provider that has it: with that it can have nothing of it, however much is
 * free, so how much all of them lack is not to be counted before.
 */
function barredFrom(resourceClass: string, spec: RequestSpec, tree: readonly Provider[]): Refusal | null {
  const root = tree[0] as Provider;
  for (const { choice } of planOf(spec).askers.get(resourceClass) ?? []) {
    if (choice.ofEach === null) continue;
    const nearest = nearestTo(choice, tree);
    // Of those that have all that it asks for, the ones that may serve it are nearer than all others.
    if (nearest === null || isMet(choice, nearest, root)) continue;
    const hasAll = choice.demands.every((demand) => nearest.stocks.has(demand.resourceClass));
    if (hasAll) return unmet(choice.ofEach, [nearest], root);
  }
  return null;
}

/** Whether what is refused is too much of a class, rather than too little or between two steps. */
function isOfMaximum({ provider, resourceClass = '' }: Misfit, spec: RequestSpec, tree: readonly Provider[]): boolean {
  const { min_unit = 1, step_size = 1 } =
    tree.find(({ spec: { id } }) => id === provider)?.stocks.get(resourceClass)?.inventory ?? {};
  const askers = planOf(spec).askers.get(resourceClass) ?? [];
  return askers.every(({ amount }) => amount >= min_unit && amount % step_size === 0);
}

function isAskedTwice(spec: RequestSpec, resourceClass: string): boolean {
  const askers = planOf(spec).askers.get(resourceClass) ?? [];
  return askers.length > 1 || (askers[0]?.times ?? 0) > 1;
}

interface Lack {
  readonly asked: number;
  readonly free: number;
  /** How much more there must be; 0 or less: there is enough. */
  readonly short: number;
}

/**
 * What all choices that ask for a class ask together, and the most that they can have: each has no more of it than one
 * provider can give, and all of them no more than as many providers as they are. Of equal amounts each provider gives as
 * many as it has room for, and the rest of its room to one that has less.
 * @param count For how many instances; each of them claims for itself.
 */
export function lackOf(resourceClass: string, spec: RequestSpec, tree: readonly Provider[], count = 1): Lack {
  const root = tree[0] as Provider;
  /** By the place of a provider in the tree. */
  const rooms: number[] = tree.map(() => 0);
  let choices = 0;
  let asked = 0;
  let had = 0;
  const stocks = new Set<Stock>();
  const askers = planOf(spec).askers.get(resourceClass) ?? [];
  for (const { choice, amount, times: timesInOne } of askers) {
    const times = timesInOne * count;
    // Where none may serve it that is told by itself: more of the class would not help, and is not what is lacking.
    const isAnyMet = tree.some(
      ({ stocks }, at) => stocks.has(resourceClass) && isMet(choice, tree[at] as Provider, root),
    );
    let most = 0;
    for (let place = 0; place < tree.length; place += 1) {
      const provider = tree[place] as Provider;
      const stock = provider.stocks.get(resourceClass);
      if (stock === undefined || (isAnyMet && !isMet(choice, provider, root))) continue;
      stocks.add(stock);
      const room = roomOf(stock, count);
      rooms[place] = room;
      most = Math.max(most, room);
    }
    choices += times;
    asked += times * amount;
    had += times * Math.min(amount, most);
  }
  const equal = asked / choices;
  let served = 0;
  if (askers.every(({ amount }) => amount === equal)) {
    for (const [place, room] of rooms.entries()) {
      served += Math.floor(room / equal);
      rooms[place] = room % equal;
    }
  }
  if (served >= choices) return { asked, free: had, short: asked - had };
  const others = choices - served;
  if (rooms.length > others) rooms.sort((one, other) => other - one);
  let free = served * equal;
  for (let place = 0; place < others && place < rooms.length; place += 1) free += rooms[place] as number;
  free = Math.min(had, free);
  return { asked, free, short: asked - free + takenBeyond(stocks) };
}

/** What is taken of the only one that can give anything, and is not there: so much more must come before any is free. */
function takenBeyond(stocks: ReadonlySet<Stock>): number {
  const [only] = stocks;
  return only === undefined || stocks.size > 1 ? 0 : Math.max(0, only.used - Math.floor(only.capacity));
}

function shortTogether(code: Misfit['code'], resourceClass: string, lack: Lack, [root]: readonly Provider[]): Misfit {
  const { id, name } = (root as Provider).spec;
  const message = shortTogetherWords(code, resourceClass, lack, 'the groups', name);
  return { code, message, provider: id, resourceClass, short: lack.short };
}

/** @param askers Who ask for it together. */
export function shortTogetherWords(
  code: Misfit['code'],
  resourceClass: string,
  { asked, free, short }: Lack,
  askers: string,
  host: string,
): string {
  return (
    `${asked} ${resourceClass}, which ${askers} ask together, exceed the most that they can have on '${host}'` +
    `: ${free} (${shortWords(code, short)})`
  );
}

/** The most that so many claims can have of a provider. */
const roomOf = ({ capacity, used, inventory }: Stock, claims: number): number =>
  Math.max(0, Math.min(Math.floor(capacity) - used, inventory.max_unit * claims));

/** Requests of one group alone; hosts are many, so they are made once. */
const alone = new WeakMap<ResourceGroup, RequestSpec>();

function aloneOf(group: ResourceGroup): RequestSpec {
  let known = alone.get(group);
  if (known === undefined) {
    known = { groups: [group], groupPolicy: 'none' };
    alone.set(group, known);
  }
  return known;
}
