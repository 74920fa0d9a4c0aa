// Brings a ranking up to date: has its family know of what has changed, and weighs hosts by a look at each, all of them or
// those of which its family does not tell.

import { effort } from '../../fitting/effort.ts';
import type { ServerPreference } from '../../fitting/offer.ts';
import { changesEnd, type View } from '../view/view.ts';
import { lookAgainAfter } from '../view/view-hosts.ts';
import { changeOf, type Overrides, weightOf } from '../weighers/weigher.ts';
import { type Family, keepUp } from './families.ts';
import { KIND } from './family-hosts.ts';
import { HARD_TO_TELL, judge } from './judging.ts';
import type { Shape } from './shape.ts';
import type { EachOnce, Slots } from './slots.ts';
import { Unseen } from './unseen.ts';

/** What of a fleet hosts are weighed by. */
interface Fleet {
  readonly view: View;
  readonly rankings: {
    readonly overrides: Overrides;
    readonly preference: ServerPreference | undefined;
    readonly onlyFills: boolean;
    readonly eachOnce: EachOnce;
  };
}

/**
 * How many looks at providers hosts that are weighed in one go may cost, for each of them and beyond, before those that
 * are left are searched only as far as can be told at once; as much again is for those that fitted before. Dozens of
 * groups that nearly fit each of thousands of hosts would take minutes, in which nobody else is served: such hosts are
 * searched later, a few a turn; see searching.ts.
 */
const LOOKS = { forEach: 300, beyondForAll: 1_000_000, beyondForChanged: 100_000 } as const;

/** The hosts that have changed since a position, each once. */
function changedSince({ rankings: { eachOnce } }: Fleet, slots: Slots, seen: number): readonly number[] {
  const first = seen - slots.changesDropped;
  if (first < 0) return slots.all;
  return slots.changes.length === first + 1
    ? slots.changes.slice(first)
    : eachOnce.of(slots.changes, first, slots.size);
}

/** Has a family know of what has changed since it was looked at last. */
function keepFamilyUp(fleet: Fleet, family: Family, most: number): boolean {
  const { rankings, view } = fleet;
  const end = changesEnd(view);
  const changed = family.seen === end ? [] : changedSince(fleet, family.slots, family.seen);
  family.seen = end;
  return keepUp(family, view, rankings.overrides, changed, most);
}

/**
 * Weighs the hosts anew that have changed since this was done last; of a shape that is new, all. Answers whether all are
 * weighed.
 * @param most Up to so many of those that were never looked at.
 */
export function catchUp(fleet: Fleet, shape: Shape, most: number): boolean {
  const { slots, member, own } = shape;
  const end = changesEnd(fleet.view);
  own.setApart();
  if (member !== null && !keepFamilyUp(fleet, member.known, most)) return false;
  if (shape.unseen === null) {
    shape.unseen = new Unseen(member === null ? slots.all.slice() : [...member.known.hosts.others]);
    shape.seen = end;
  }
  const { seen } = shape;
  const isRanked = weighUnseen(fleet, shape, shape.unseen, most);
  if (seen === end) return isRanked;
  shape.seen = end;
  if (member?.known.hosts.others.size === 0 && own.isEmpty && shape.unsearched.size === 0) return isRanked;
  weighChanged(fleet, shape, changedSince(fleet, slots, seen));
  return isRanked;
}

function weighUnseen(fleet: Fleet, shape: Shape, unseen: Unseen, most: number): boolean {
  const taken = Math.min(most, unseen.left);
  if (taken > 0) {
    const end = effort.looks + LOOKS.forEach * taken + LOOKS.beyondForAll * (taken / unseen.size);
    for (const slot of unseen.take(taken)) weighIfOwn(fleet, shape, slot, effort.looks < end);
  }
  return unseen.left === 0;
}

function weighChanged(fleet: Fleet, shape: Shape, changed: readonly number[]): void {
  const looks = LOOKS.forEach * changed.length + LOOKS.beyondForChanged;
  // Those that fitted come first, so that none is lost because of what others cost.
  let end = effort.looks + looks;
  const others: number[] = [];
  for (const slot of changed) {
    if (shape.own.isRanked(slot)) weighIfOwn(fleet, shape, slot, effort.looks < end);
    else if (!fleet.rankings.onlyFills) others.push(slot);
  }
  end = effort.looks + looks;
  for (const slot of others) weighIfOwn(fleet, shape, slot, effort.looks < end);
}

function weighIfOwn(fleet: Fleet, shape: Shape, slot: number, isThorough: boolean): void {
  if (shape.member === null || shape.member.known.hosts.kindOf(slot) === KIND.other)
    weigh(fleet, shape, slot, isThorough);
  else leave(shape, slot);
}

/** It is no host any more, or one that the family tells of. */
function leave({ own, unsearched, slots }: Shape, slot: number): void {
  if (unsearched.size > 0) unsearched.delete(slots.roots[slot] as string);
  own.leave(slot);
}

/** Weighs a host anew, to the end, of which much was not searched. */
export function weighAnew(fleet: Fleet, shape: Shape, root: string): void {
  const slot = shape.slots.of(root);
  if (slot === undefined) return;
  weigh(fleet, shape, slot, true);
  shape.first.rankedAnew(slot);
}

/** Weighs a host anew by all that is known of it. */
function weigh(
  { rankings: { overrides, preference, onlyFills }, view }: Fleet,
  shape: Shape,
  slot: number,
  isThorough: boolean,
): void {
  const { own } = shape;
  const root = shape.slots.roots[slot] as string;
  const host = view.hosts.get(root);
  const judged =
    host === undefined ? undefined : judge(view, shape.filters, shape.spec, host, preference, isThorough, !onlyFills);
  // A filter of somebody's own may say the same word: what was searched to the end is not searched again.
  if (!isThorough && judged?.obstacle?.code === HARD_TO_TELL) shape.unsearched.add(root);
  else shape.unsearched.delete(root);
  if (host === undefined || judged === undefined) return own.leave(slot);
  if (judged.obstacle !== null) {
    if (onlyFills) own.leave(slot);
    else own.refuse(slot, judged.obstacle);
    return;
  }
  const { facts, tree, allocations } = judged;
  const weight = weightOf(shape.weighers, { host: facts, tree, allocations }, overrides);
  for (const { weigher } of shape.weighers) {
    const at = weigher.changesAt === undefined ? null : changeOf(weigher, facts);
    if (at !== null && at > view.now) lookAgainAfter(view, root, at - view.now);
  }
  own.rank(slot, root, host.cell, weight);
}
