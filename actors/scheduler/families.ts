// Requests that differ in nothing but the amounts that they ask of one unnamed group are a family. What its members go by
// of a host that alone could serve them, and none of its children, is a few numbers, which are kept here for all of them: so
// one more such request, of an amount that nobody asked for before, looks at numbers and not at hosts. Other hosts are
// looked at as usual.

import type { Allocation } from '../../machines/instance-build.ts';
import type { RequestSpec, ResourceGroup } from '../messages/common.ts';
import { asksOfRoot, unmet, unmetByRoot } from '../placement/conditions.ts';
import type { Provider } from '../placement/providers.ts';
import type { Obstacle } from './census.ts';
import { type Asked, refusedBy } from './filters/filter.ts';
import { lookAgainFor } from './judging.ts';
import type { Slots } from './slots.ts';
import { treeOf, type View } from './view.ts';
import { factsOf, lookAgainAt } from './view-hosts.ts';
import { classOfFree } from './weighers/free.ts';
import { freeShare } from './weighers/free-share.ts';
import { packDevices } from './weighers/pack-devices.ts';
import { spareDevices } from './weighers/spare-devices.ts';
import {
  type AskedWeigher,
  changeOf,
  contributionOf,
  multiplierFor,
  type Overrides,
  type Weigher,
} from './weighers/weigher.ts';

/** What is known of a host. */
export const KIND = {
  /** It must be looked at itself. */
  other: 0,
  /** Its numbers tell all. */
  plain: 1,
  /** A filter refuses it, whatever the amounts. */
  refused: 2,
  /** It is none, or no more. */
  none: 3,
} as const;

/** Weighers that say the same whatever amounts are asked where none of the children serves. */
const OF_DEVICES: ReadonlySet<Weigher['weigh']> = new Set([packDevices.weigh, spareDevices.weigh]);

/** One resource class, by slot. */
export interface Column {
  readonly resourceClass: string;
  used: Float64Array;
  capacity: Float64Array;
  /** The most that one allocation may have. */
  maxUnit: Float64Array;
  /** The least of these that there ever was. */
  leastUnit: number;
}

/** What a weigher goes by: what is left of all classes, or of one, or nothing that depends on amounts. */
type GoesBy = 'all-classes' | Column | null;

/** What a weigher has in a host, by slot: what it counts for, or how much that counts by which it goes. */
export interface Said {
  readonly asked: AskedWeigher;
  readonly goesBy: GoesBy;
  values: Float64Array;
  /** On no host it ever was more or less than nothing. */
  isNothing: boolean;
}

export interface Family {
  /** Names it among all. */
  readonly key: string;
  readonly spec: RequestSpec;
  readonly filters: readonly Asked[];
  readonly columns: readonly Column[];
  readonly said: readonly Said[];
  kinds: Uint8Array;
  readonly obstacles: (Obstacle | undefined)[];
  readonly cells: string[];
  /** The position in the changes up to which this is true. */
  seen: number;
  /** Counts whatever changes but numbers: of which hosts these tell all, and where the others are. */
  revision: number;
}

type Parts = Pick<Family, 'spec' | 'filters'> & { readonly weighers: readonly AskedWeigher[] };

/** The group that all is asked of, where a request is of a kind that a family is made for. */
function groupOf({ spec, filters, weighers }: Parts): ResourceGroup | null {
  const [group] = spec.groups;
  if (group === undefined || spec.groups.length > 1 || group.name !== '') return null;
  if (Object.keys(group.resources).length === 0) return null;
  const isTold = filters.every(({ filter }) => filter.goesBy !== undefined) && weighers.every(isToldByNumbers);
  return isTold ? group : null;
}

function isToldByNumbers({ weigher }: AskedWeigher): boolean {
  const { ignoresAmounts, weigh } = weigher;
  if (ignoresAmounts === true || weigh === freeShare.weigh || OF_DEVICES.has(weigh)) return true;
  return classOfFree(weigher) !== undefined;
}

/** Names the family of a request; undefined: it has none. */
export function familyKeyOf(parts: Parts, ...others: readonly unknown[]): string | undefined {
  const group = groupOf(parts);
  if (group === null) return undefined;
  const classes = Object.keys(group.resources).sort();
  return JSON.stringify([{ ...parts.spec, groups: [{ ...group, resources: classes }] }, ...others]);
}

export function newFamily(key: string, { spec, filters, weighers }: Parts): Family {
  const [group] = spec.groups as [ResourceGroup];
  const none = new Float64Array(0);
  const byFree = weighers.flatMap(({ weigher }) => classOfFree(weigher) ?? []);
  const columns = new Map(
    [...Object.keys(group.resources), ...byFree]
      .sort()
      .map((resourceClass) => [
        resourceClass,
        { resourceClass, used: none, capacity: none, maxUnit: none, leastUnit: Infinity } as Column,
      ]),
  );
  const goesBy = ({ weigher }: AskedWeigher): GoesBy =>
    weigher.weigh === freeShare.weigh ? 'all-classes' : (columns.get(classOfFree(weigher) ?? '') ?? null);
  return {
    key,
    spec,
    filters,
    columns: [...columns.values()],
    said: weighers.map((asked) => ({ asked, goesBy: goesBy(asked), values: none, isNothing: true })),
    kinds: new Uint8Array(0),
    obstacles: [],
    cells: [],
    seen: -1,
    revision: 0,
  };
}

const widened = (values: Float64Array, size: number): Float64Array<ArrayBuffer> => {
  const wider = new Float64Array(size);
  wider.set(values);
  return wider;
};

function widen(family: Family, size: number): void {
  for (const column of family.columns) {
    column.used = widened(column.used, size);
    column.capacity = widened(column.capacity, size);
    column.maxUnit = widened(column.maxUnit, size);
  }
  for (const said of family.said) said.values = widened(said.values, size);
  const kinds = new Uint8Array(size);
  kinds.set(family.kinds);
  family.kinds = kinds;
}

/** Has the family know all hosts as they are now. */
export function keepUp(
  family: Family,
  slots: Slots,
  view: View,
  overrides: Overrides,
  changed: readonly number[],
): void {
  if (family.kinds.length < slots.size) widen(family, Math.ceil(slots.size * 1.25));
  for (const slot of changed) look(family, slot, slots.roots[slot] as string, view, overrides);
}

/** Looks at one host. */
function look(family: Family, slot: number, root: string, view: View, overrides: Overrides): void {
  const { kinds, cells, columns } = family;
  const [kindBefore, cellBefore] = [kinds[slot], cells[slot]];
  family.obstacles[slot] = undefined;
  const kind = kindOf(family, slot, root, view, overrides);
  kinds[slot] = kind;
  if (kind === KIND.plain && kindBefore === kind && cells[slot] === cellBefore) return;
  family.revision += 1;
  if (kind === KIND.plain) return;
  // It lacks nothing by numbers that are not looked at.
  for (const { used, capacity } of columns) {
    used[slot] = 0;
    capacity[slot] = Number.POSITIVE_INFINITY;
  }
}

/** What is known of a host, with all that is noted of it. */
function kindOf(family: Family, slot: number, root: string, view: View, overrides: Overrides): number {
  const { spec, filters, columns, said } = family;
  const host = view.hosts.get(root);
  if (host === undefined) return KIND.none;
  family.cells[slot] = host.cell;
  const tree = treeOf(view, root);
  const [provider] = tree;
  if (provider?.spec.id !== root) return KIND.other;
  const facts = factsOf(view, host, tree);
  lookAgainFor(view, root, filters, facts);
  const refused = refusedBy(filters, facts);
  if (refused !== null) {
    const { code, about, short, message } = refused.refusal;
    family.obstacles[slot] = { code, about, short, message };
    return KIND.refused;
  }
  const [group] = spec.groups as [ResourceGroup];
  if (isSpread(columns, tree) || !isMet(spec, group, provider) || !note(columns, slot, provider)) return KIND.other;
  const allocations: Allocation[] = [{ provider: root, group: '', resources: group.resources }];
  const candidate = { host: facts, tree, allocations };
  for (const one of said) {
    const { asked, goesBy } = one;
    const { weigher } = asked;
    const value =
      goesBy !== null ? multiplierFor(weigher, facts, overrides) : contributionOf(asked, candidate, overrides);
    one.values[slot] = value;
    if (value !== 0) one.isNothing = false;
    const at = weigher.changesAt === undefined ? null : changeOf(weigher, facts);
    if (at !== null && at > view.now) lookAgainAt(view, root, at);
  }
  return KIND.plain;
}

/** Whether others than the host itself have something of what is asked. */
function isSpread(columns: readonly Column[], tree: readonly Provider[]): boolean {
  for (let place = 1; place < tree.length; place += 1) {
    const { stocks } = tree[place] as Provider;
    for (const { resourceClass } of columns) if (stocks.has(resourceClass)) return true;
  }
  return false;
}

const isMet = (spec: RequestSpec, group: ResourceGroup, root: Provider): boolean =>
  (!asksOfRoot(spec) || unmetByRoot(spec, root) === null) && unmet(group, [root], root) === null;

/** Notes how much there is of each class; false where that does not tell all. */
function note(columns: readonly Column[], slot: number, { stocks }: Provider): boolean {
  for (const column of columns) {
    const { resourceClass, used, capacity, maxUnit } = column;
    const stock = stocks.get(resourceClass);
    if (stock === undefined || stock.inventory.min_unit > 1 || stock.inventory.step_size !== 1) return false;
    used[slot] = stock.used;
    capacity[slot] = stock.capacity;
    maxUnit[slot] = stock.inventory.max_unit;
    column.leastUnit = Math.min(column.leastUnit, stock.inventory.max_unit);
  }
  return true;
}
