// Requests that differ in nothing but the amounts that they ask of one unnamed group are a family. What its members go by
// of a host that alone could serve them, and none of its children, is a few numbers, which are kept here for all of them, and
// by which such hosts stand in boxes of those that are alike. So the amounts that are asked for, and how many different ones
// there are, make no difference to what a choice costs. Other hosts are looked at as usual.

import type { Allocation } from '../../../machines/instance-build.ts';
import { mapKey } from '../../map-key.ts';
import type { RequestSpec, ResourceGroup } from '../../messages/common.ts';
import type { Refusal } from '../../messages/placement.ts';
import { asksOfRoot, unmet, unmetByRoot } from '../../placement/conditions.ts';
import type { Provider } from '../../placement/providers.ts';
import { type Asked, refusedBy } from '../filters/filter.ts';
import { changesEnd, treeOf, type View } from '../view/view.ts';
import { factsOf, lookAgainAfter } from '../view/view-hosts.ts';
import { classOfFree } from '../weighers/free.ts';
import { freeShare } from '../weighers/free-share.ts';
import { packDevices } from '../weighers/pack-devices.ts';
import { spareDevices } from '../weighers/spare-devices.ts';
import {
  type AskedWeigher,
  changeOf,
  contributionOf,
  multiplierFor,
  type Overrides,
  type Weigher,
} from '../weighers/weigher.ts';
import { Bounds } from './bounds.ts';
import type { Obstacle } from './census.ts';
import { type Column, MEASURES_OF_COLUMN, OF_COLUMN } from './columns.ts';
import { FamilyHosts, KIND } from './family-hosts.ts';
import { lookAgainFor } from './judging.ts';
import { Moves } from './moves.ts';
import { Rows } from './rows.ts';
import type { Slots } from './slots.ts';
import { Unseen } from './unseen.ts';

/** Weighers that say the same whatever amounts are asked where none of the children serves. */
const OF_DEVICES: ReadonlySet<Weigher['weigh']> = new Set([packDevices.weigh, spareDevices.weigh]);

/** The least distance that counts: hosts are divided by this only where they differ in nothing else. */
const HARDLY_APART = Number.MIN_VALUE;

/** What a weigher goes by: what is left of all classes, or of one, or nothing that depends on amounts. */
type GoesBy = 'all-classes' | Column | null;

/** What a weigher has in a host: what it counts for, or how much that counts by which it goes. */
interface Said {
  readonly asked: AskedWeigher;
  readonly goesBy: GoesBy;
  /** Where that stands in the row of a host. */
  readonly at: number;
  /** On no host it ever was more or less than nothing. */
  isNothing: boolean;
}

export interface Family {
  /** Names it among all. */
  readonly key: string;
  readonly spec: RequestSpec;
  readonly filters: readonly Asked[];
  readonly slots: Slots;
  readonly columns: readonly Column[];
  readonly said: readonly Said[];
  /** By slot: the measures of all columns, what all weighers have, and how much is used of each column. */
  readonly rows: Rows;
  /** Those of boxes. */
  readonly bounds: Bounds;
  readonly hosts: FamilyHosts;
  readonly moves: Moves;
  readonly unseen: Unseen;
  /** Those that change before all are known; then what is left of them; null: all are known as they are. */
  unsettled: Set<number> | Unseen | null;
  /** The shape, by its key, that was ranked by itself until there was another one; it is kept while hosts are looked at. */
  replaces: string | null;
  /** The position in the changes up to which this is true, or up to which they are unsettled. */
  seen: number;
  /** By which count of choices it was used last. */
  usedAt: number;
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
  return mapKey(JSON.stringify([{ ...parts.spec, groups: [{ ...group, resources: classes }] }, ...others]));
}

export function newFamily(
  key: string,
  { spec, filters, weighers }: Parts,
  slots: Slots,
  view: View,
  replaces: string | null,
): Family {
  const [group] = spec.groups as [ResourceGroup];
  const byFree = weighers.flatMap(({ weigher }) => classOfFree(weigher) ?? []);
  const classes = [...new Set([...Object.keys(group.resources), ...byFree])].sort();
  const first = MEASURES_OF_COLUMN * classes.length;
  const count = first + weighers.length;
  const columns = classes.map((resourceClass, place): Column => {
    return { resourceClass, at: MEASURES_OF_COLUMN * place, usedAt: count + place };
  });
  const goesBy = ({ weigher }: AskedWeigher): GoesBy =>
    weigher.weigh === freeShare.weigh
      ? 'all-classes'
      : (columns.find(({ resourceClass }) => resourceClass === classOfFree(weigher)) ?? null);
  const said = weighers.map((asked, place): Said => {
    return { asked, goesBy: goesBy(asked), at: first + place, isNothing: true };
  });
  const rows = new Rows(count + columns.length);
  const bounds = new Bounds(count);
  const hosts = new FamilyHosts(slots, view, { rows, count, bounds, distance });
  const moves = new Moves(columns, rows, hosts);
  const unseen = new Unseen(slots.all.slice());
  const seen = changesEnd(view);
  const unsettled = new Set<number>();
  return {
    key,
    spec,
    filters,
    slots,
    columns,
    said,
    rows,
    bounds,
    hosts,
    moves,
    unseen,
    unsettled,
    replaces,
    seen,
    usedAt: 0,
  };

  /** By what counts in weight, and hosts of one kind by themselves; what else differs as a rule follows from that. */
  function distance(measure: number, least: number, most: number): number {
    if (measure >= first) return most - least;
    const ofColumn = measure % MEASURES_OF_COLUMN;
    if (ofColumn === OF_COLUMN.share) return most - least;
    const isOfKind = ofColumn === OF_COLUMN.capacity || ofColumn === OF_COLUMN.maxUnit;
    return isOfKind ? (most - least) / most : HARDLY_APART;
  }
}

function makeRoom({ slots, rows, moves }: Family): void {
  if (rows.size >= slots.size) return;
  const size = Math.ceil(slots.size * 1.25);
  moves.makeRoom(size);
  rows.widen(size);
}

/**
 * Has a family know those hosts as they are now that have changed. Answers whether it knows all.
 * @param most Up to so many of those that it does not know yet.
 */
export function keepUp(
  family: Family,
  view: View,
  overrides: Overrides,
  changed: readonly number[],
  most: number,
): boolean {
  const { hosts, moves, unseen, unsettled } = family;
  makeRoom(family);
  const lookAt = (slot: number) => look(family, slot, view, overrides);
  if (unsettled instanceof Set) {
    for (const slot of changed) unsettled.add(slot);
    for (const slot of unseen.take(most)) lookAt(slot);
    if (unseen.left > 0 || !hosts.makeBoxes(most)) return false;
    family.unsettled = new Unseen([...unsettled]);
    return keepUp(family, view, overrides, [], most);
  }
  hosts.setApart();
  for (const slot of changed) moves.note(slot, lookAt);
  if (unsettled === null) return true;
  for (const slot of unsettled.take(most)) moves.note(slot, lookAt);
  if (unsettled.left > 0) return false;
  family.unsettled = null;
  return true;
}

/** Whether a family knows all hosts, and numbers tell of each. */
export const tellsOfAll = ({ unsettled, hosts }: Family): boolean => unsettled === null && hosts.others.size === 0;

/** Looks at one host. */
function look(family: Family, slot: number, view: View, overrides: Overrides): void {
  const { spec, filters, columns, said, rows, slots, hosts } = family;
  const root = slots.roots[slot] as string;
  const host = view.hosts.get(root);
  if (host === undefined) return hosts.putAside(slot, KIND.none);
  const tree = treeOf(view, root);
  const [provider] = tree;
  if (provider?.spec.id !== root) return hosts.putAside(slot, KIND.other);
  const facts = factsOf(view, host, tree);
  lookAgainFor(view, root, filters, facts);
  const refused = refusedBy(filters, facts);
  if (refused !== null) return hosts.putRefused(slot, refused.refusal);
  const ofRoot = asksOfRoot(spec) ? unmetByRoot(spec, provider) : null;
  if (ofRoot !== null) return hosts.putRefused(slot, obstacleOf(ofRoot));
  if (isSpread(columns, tree) || !note(family, slot, provider)) return hosts.putAside(slot, KIND.other);
  const [group] = spec.groups as [ResourceGroup];
  if (unmet(group, [provider], provider) !== null) return putUnmet(family, slot, group, provider);
  const allocations: Allocation[] = [{ provider: root, group: '', resources: group.resources }];
  const candidate = { host: facts, tree, allocations };
  for (const one of said) {
    const { asked, goesBy } = one;
    const { weigher } = asked;
    const value =
      goesBy !== null ? multiplierFor(weigher, facts, overrides) : contributionOf(asked, candidate, overrides);
    rows.values[slot * rows.width + one.at] = value;
    if (value !== 0) one.isNothing = false;
    const at = weigher.changesAt === undefined ? null : changeOf(weigher, facts);
    if (at !== null && at > view.now) lookAgainAfter(view, root, at - view.now);
  }
  hosts.putPlain(slot, host.cell);
}

/** Whether others than the host itself have something of what is asked. */
function isSpread(columns: readonly Column[], tree: readonly Provider[]): boolean {
  for (let place = 1; place < tree.length; place += 1) {
    const { stocks } = tree[place] as Provider;
    for (const { resourceClass } of columns) if (stocks.has(resourceClass)) return true;
  }
  return false;
}

/** As misfit.ts has it: what each server must meet is asked with the first class, what all must meet together at last. */
function putUnmet({ hosts, said, rows }: Family, slot: number, group: ResourceGroup, provider: Provider): void {
  const ofEach = unmet({ ...group, required: [], anyOf: [] }, [provider], provider);
  // None is weighed: it is divided from others by what it is short of alone.
  for (const { at } of said) rows.values[slot * rows.width + at] = 0;
  const obstacle = obstacleOf(ofEach ?? (unmet(group, [provider], provider) as Refusal));
  hosts.putUnmet(slot, obstacle, ofEach === null ? Object.keys(group.resources).length : 1);
}

const obstacleOf = ({ code, condition, message }: Refusal): Obstacle => ({ code, about: condition, message });

/** Notes how much there is of each class; false where that does not tell all. */
function note({ columns, rows: { values, width } }: Family, slot: number, { stocks }: Provider): boolean {
  for (const { resourceClass, at, usedAt } of columns) {
    const stock = stocks.get(resourceClass);
    if (stock === undefined || stock.inventory.min_unit > 1 || stock.inventory.step_size !== 1) return false;
    const row = slot * width;
    const free = stock.capacity - stock.used;
    values[row + at + OF_COLUMN.free] = free;
    values[row + at + OF_COLUMN.capacity] = stock.capacity;
    values[row + at + OF_COLUMN.share] = stock.capacity > 0 ? Math.max(0, free) / stock.capacity : 0;
    values[row + at + OF_COLUMN.maxUnit] = stock.inventory.max_unit;
    values[row + usedAt] = stock.used;
  }
  return true;
}
