// Advice on amounts: what a group of a request might ask for of one class instead. For one host, the largest amount that
// any of them can give; for several instances, the largest with which hosts hold all of them between them.

import { effort } from '../../fitting/effort.ts';
import type { RequestSpec, ResourceGroup } from '../../messages/common.ts';
import { keepsTogether } from '../../placement/groups.ts';
import type { Provider } from '../../placement/providers.ts';
import { mapped, type Steps } from '../steps.ts';
import { type AmountSearch, largestOf, rangesBelow, type Trial, timesAtMost } from './amount-ranges.ts';
import type { GroupToChange } from './groups.ts';
import { add, noRoom, type Refused, type Room, roomOn, rootOfTree, silencedOf } from './rooms.ts';

/** How many amounts of one class are kept apart. */
const MAX_AMOUNTS = 64;
/** How many larger amounts that a host might give are tried on it. */
const MAX_AMOUNTS_TRIED = 4;
/** Among how many hosts those are searched for that hold all instances between them. */
const MAX_HOSTS_BETWEEN = 8_192;
/** How many hosts, and looks at their providers, the searches for amounts that let several fit may take: some 50 ms. */
const MAX_HOSTS_SEARCHED = 4_096;
const MAX_LOOKS_SEARCHED = 40_000;
/** After how many looks at its providers no further amounts are tried on a host, and no further changes of other kinds. */
export const MAX_LOOKS_ON_ONE = 20_000;

/** An amount that would let hosts fit. */
export interface Amount {
  readonly to: number;
  /** Of the hosts that are known to fit with it. */
  readonly room: Room;
}

/** Amounts of one class that a group of the request might ask for instead. */
export interface Amounts {
  readonly of: GroupToChange;
  readonly resourceClass: string;
  readonly asked: number;
  /** The largest below what is asked, if one host is enough. */
  less: Amount | null;
  /** The hosts that some amount below what is asked would let fit. */
  readonly trees: (readonly Provider[])[];
  /** Those above it. */
  readonly more: Map<number, Amount>;
  /** The hosts that one of those would let fit. */
  readonly treesForMore: (readonly Provider[])[];
  /** The request with amounts that were tried. */
  readonly specs: Map<number, RequestSpec>;
}

export interface AdviserOnAmounts extends Refused {
  /** By group and class: what each amount would let fit. */
  readonly amounts: Map<string, Amounts>;
}

/** A host that does not fit, and its tree: what of a class could it give instead? */
export function considerAmounts(
  adviser: AdviserOnAmounts,
  of: GroupToChange,
  resourceClass: string,
  tree: readonly Provider[],
  endOfLooks: number,
): void {
  const noted = amountsOf(adviser, of, resourceClass);
  if (effort.looks <= endOfLooks) considerLess(adviser, noted, tree, endOfLooks);
  if (effort.looks <= endOfLooks) considerMore(adviser, noted, tree, endOfLooks);
}

function considerLess(adviser: AdviserOnAmounts, noted: Amounts, tree: readonly Provider[], endOfLooks: number): void {
  const ranges = rangesBelow(noted.asked, noted.resourceClass, [tree]);
  const holds = (amount: number) => roomOn(adviser, specWith(adviser, noted, amount), tree, { endOfLooks }) > 0;
  if (!ranges.some(({ from }) => holds(from))) return;
  noted.trees.push(tree);
  if (needsOneHost(adviser)) searchOn(adviser, noted, tree);
}

/** The next larger amount that a provider gives, where it does not give what is asked. */
function considerMore(adviser: AdviserOnAmounts, noted: Amounts, tree: readonly Provider[], endOfLooks: number): void {
  const amounts = new Set(tree.map((provider) => leastAbove(provider, noted.resourceClass, noted.asked)));
  amounts.delete(null);
  const tried = ([...amounts] as number[]).sort((one, other) => one - other).slice(0, MAX_AMOUNTS_TRIED);
  for (const amount of tried) {
    const times = roomOn(adviser, specWith(adviser, noted, amount), tree, { endOfLooks });
    if (times === 0) continue;
    noted.treesForMore.push(tree);
    add(noteMore(noted, amount), times, silencedOf(adviser, tree));
    return;
  }
}

function leastAbove({ stocks }: Provider, resourceClass: string, asked: number): number | null {
  const stock = stocks.get(resourceClass);
  if (stock === undefined) return null;
  const { min_unit, max_unit, step_size } = stock.inventory;
  const least = Math.ceil(Math.max(min_unit, asked) / step_size) * step_size;
  return least > asked && least <= Math.min(max_unit, stock.capacity - stock.used) ? least : null;
}

/** Whether a host must hold all instances by itself: there is one, or they keep together. */
const needsOneHost = ({ spec, count }: AdviserOnAmounts): boolean => count === 1 || keepsTogether(spec);

/** Looks on a host for a larger amount than was found on others, and counts it if it fits with the largest found. */
function searchOn(adviser: AdviserOnAmounts, noted: Amounts, tree: readonly Provider[]): void {
  const to = lessOn(adviser, noted, tree);
  if (to !== null) noted.less = { to, room: noRoom() };
  if (noted.less === null || timesAtMost(noted.less.to, noted.resourceClass, tree) === 0) return;
  const times = roomOn(adviser, specWith(adviser, noted, noted.less.to), tree);
  if (times > 0) add(noted.less.room, times, silencedOf(adviser, tree));
}

/** The largest amount below what is asked, and above what was found, with which a host holds all instances. */
function lessOn(adviser: AdviserOnAmounts, noted: Amounts, tree: readonly Provider[]): number | null {
  const { count } = adviser;
  const { asked, resourceClass, less } = noted;
  const endOfLooks = effort.looks + MAX_LOOKS_ON_ONE;
  const wouldDo = ({ amount, roughly }: Trial) =>
    roughly
      ? timesAtMost(amount, resourceClass, tree) >= count
      : effort.looks < endOfLooks && roomOn(adviser, specWith(adviser, noted, amount), tree, { endOfLooks }) >= count;
  const search: AmountSearch = largestOf(rangesBelow(asked, resourceClass, [tree]), less?.to ?? 0);
  let asking = search.next();
  while (asking.done !== true) asking = search.next(wouldDo(asking.value));
  return asking.value;
}

/** What searches for amounts may still cost. */
export interface Budget {
  /** For each class, how many hosts. */
  readonly hosts: number;
  /** For all of them, how many looks at providers. */
  looks: number;
}

export function budgetOf({ amounts }: AdviserOnAmounts): Budget {
  return { hosts: Math.floor(MAX_HOSTS_SEARCHED / amounts.size), looks: MAX_LOOKS_SEARCHED };
}

/** Does one thing on account of a budget. */
function spending<Result>(budget: Budget, act: () => Result): Result {
  const before = effort.looks;
  const result = act();
  budget.looks -= effort.looks - before;
  return result;
}

/** The largest amount below what is asked with which hosts hold all instances between them. */
function* searchOverAll(
  adviser: AdviserOnAmounts,
  noted: Amounts,
  fitting: readonly (readonly Provider[])[],
  budget: Budget,
): Steps<Amount | null> {
  const { count } = adviser;
  const { asked, resourceClass } = noted;
  const refusing = noted.trees.slice(0, MAX_HOSTS_BETWEEN);
  const trees = [...refusing, ...fitting.slice(0, MAX_HOSTS_BETWEEN)];
  let { hosts } = budget;
  let room: Room | null = null;
  function* wouldDo({ amount, roughly }: Trial): Steps<boolean> {
    const most = yield* mapped(trees, (tree) => mostOn(adviser, noted, amount, tree));
    let still = sumOf(most);
    if (roughly) return still >= count;
    const changed = specWith(adviser, noted, amount);
    const ofRefusing: Room = noRoom();
    let held = 0;
    for (const [at, tree] of trees.entries()) {
      if (held >= count || held + still < count || hosts <= 0 || budget.looks < 0) break;
      if (most[at] === 0) continue;
      hosts -= 1;
      still -= most[at] as number;
      const times = spending(budget, () => roomOn(adviser, changed, tree));
      held += times;
      if (times > 0 && at < refusing.length) add(ofRefusing, times, silencedOf(adviser, tree));
      yield;
    }
    if (held < count) return false;
    room = ofRefusing;
    return true;
  }
  const search: AmountSearch = largestOf(rangesBelow(asked, resourceClass, trees), 0);
  let asking = search.next();
  while (asking.done !== true) asking = search.next(yield* wouldDo(asking.value));
  const to = asking.value;
  return to === null || room === null ? null : { to, room };
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0);

/** More instances than this do not fit on a host with an amount. */
function mostOn(
  adviser: AdviserOnAmounts,
  { resourceClass }: Amounts,
  amount: number,
  tree: readonly Provider[],
): number {
  const { spec, count } = adviser;
  const members = adviser.membersAllowed(spec, rootOfTree(tree));
  return Math.max(0, Math.min(timesAtMost(amount, resourceClass, tree), members, count));
}

export function specWith(
  { spec }: AdviserOnAmounts,
  { of, resourceClass, specs }: Amounts,
  amount: number,
): RequestSpec {
  const known = specs.get(amount);
  if (known !== undefined) return known;
  const made = replaced(spec, of, ({ resources }) => ({ resources: { ...resources, [resourceClass]: amount } }));
  if (specs.size >= MAX_AMOUNTS) specs.clear();
  specs.set(amount, made);
  return made;
}

export function replaced(
  spec: RequestSpec,
  { positions }: GroupToChange,
  by: (group: ResourceGroup) => Partial<ResourceGroup>,
): RequestSpec {
  const groups = spec.groups.map((one, at) => (positions.includes(at) ? { ...one, ...by(one) } : one));
  return { ...spec, groups };
}

function amountsOf({ amounts }: AdviserOnAmounts, of: GroupToChange, resourceClass: string): Amounts {
  const key = `${of.positions.join()} ${resourceClass}`;
  let found = amounts.get(key);
  if (found === undefined) {
    const asked = of.group.resources[resourceClass] as number;
    found = {
      of,
      resourceClass,
      asked,
      less: null,
      trees: [],
      more: new Map(),
      treesForMore: [],
      specs: new Map(),
    };
    amounts.set(key, found);
  }
  return found;
}

/** Where hosts fit, and too few: less of anything might let them hold more. */
export function noteAllAmounts(adviser: AdviserOnAmounts, groups: readonly GroupToChange[]): void {
  for (const one of groups) {
    for (const resourceClass of Object.keys(one.group.resources)) amountsOf(adviser, one, resourceClass);
  }
}

function noteMore({ more }: Amounts, to: number): Room {
  const { room } = more.get(to) ?? { room: noRoom() };
  more.set(to, { to, room });
  if (more.size > MAX_AMOUNTS) more.delete(Math.max(...more.keys()));
  return room;
}

/** The amounts that might do instead of what is asked, the nearest first. */
export function* nearestOf(
  adviser: AdviserOnAmounts,
  noted: Amounts,
  fitting: readonly (readonly Provider[])[],
  budget: Budget,
): Steps<Amount[]> {
  const { asked, more } = noted;
  if (!needsOneHost(adviser)) noted.less = yield* searchOverAll(adviser, noted, fitting, budget);
  else {
    for (const tree of fitting.slice(0, budget.hosts)) {
      if (budget.looks < 0) break;
      const to = spending(budget, () => lessOn(adviser, noted, tree));
      if (to !== null) noted.less = { to, room: noRoom() };
      yield;
    }
  }
  const all = [...(noted.less === null ? [] : [noted.less]), ...more.values()];
  return all.sort(({ to: one }, { to: other }) => Math.abs(one - asked) - Math.abs(other - asked));
}
