// Brings a ranking up to date: has its family know of what has changed, and weighs hosts by a look at each, all of them or
// those of which its family does not tell.

import { effort } from '../../fitting/effort.ts';
import type { ServerPreference } from '../../fitting/offer.ts';
import type { EachOnce, Slots } from '../view/slots.ts';
import { changesEnd, type View } from '../view/view.ts';
import { lookAgainAfter } from '../view/view-hosts.ts';
import { changeOf, type Overrides, weightOf } from '../weighers/weigher.ts';
import { type Family, keepUp } from './families.ts';
import { KIND } from './family-hosts.ts';
import { HARD_TO_TELL, judge } from './judging.ts';
import type { Shape } from './shape.ts';

/** What of a fleet hosts are weighed by. */
interface Fleet {
  readonly view: View;
  readonly rankings: {
    readonly overrides: Overrides;
    readonly preference: ServerPreference | undefined;
    readonly countsRefusals: boolean;
    readonly eachOnce: EachOnce;
  };
}

/** So many looks at providers hosts may cost, for each of them and beyond, before they are searched no further. */
interface Looks {
  readonly forEach: number;
  readonly beyond: number;
}

/** The hosts that have changed since a position, each once. */
function changedSince({ rankings: { eachOnce } }: Fleet, slots: Slots, seen: number): readonly number[] {
  const first = seen - slots.changesDropped;
  if (first < 0) return slots.all;
  return slots.changes.length === first + 1
    ? slots.changes.slice(first)
    : eachOnce.of(slots.changes, first, slots.size);
}

/** Has a family know of what has changed since it was looked at last. */
function keepFamilyUp(fleet: Fleet, family: Family): void {
  const { rankings, view } = fleet;
  const end = changesEnd(view);
  keepUp(family, view, rankings.overrides, family.seen === end ? [] : changedSince(fleet, family.slots, family.seen));
  family.seen = end;
}

/** Weighs the hosts anew that have changed since this was done last; of a shape that is new, all. */
export function catchUp(fleet: Fleet, shape: Shape, looks: Looks): void {
  const { slots, seen, member, own } = shape;
  const end = changesEnd(fleet.view);
  own.setApart();
  if (member !== null) keepFamilyUp(fleet, member.known);
  if (seen === end) return;
  shape.seen = end;
  if (member?.known.hosts.others.size === 0 && own.isEmpty && shape.unsearched.size === 0) return;
  const changed = seen < 0 && member !== null ? [...member.known.hosts.others] : changedSince(fleet, slots, seen);
  weighAll(fleet, shape, changed, looks.forEach * changed.length + looks.beyond);
}

/** @param looks How many looks at providers those that fitted may take, and the others, before they are searched no further. */
function weighAll(fleet: Fleet, shape: Shape, changed: readonly number[], looks: number): void {
  // Those that fitted come first, so that none is lost because of what others cost.
  let end = effort.looks + looks;
  const others: number[] = [];
  for (const slot of changed) {
    if (shape.member !== null && shape.member.known.hosts.kindOf(slot) !== KIND.other) leave(shape, slot);
    else if (shape.own.isRanked(slot)) weigh(fleet, shape, slot, effort.looks < end);
    else others.push(slot);
  }
  end = effort.looks + looks;
  for (const slot of others) weigh(fleet, shape, slot, effort.looks < end);
}

/** It is no host any more, or one that the family tells of. */
function leave({ own, unsearched, slots }: Shape, slot: number): void {
  if (unsearched.size > 0) unsearched.delete(slots.roots[slot] as string);
  own.leave(slot);
}

/** Weighs a host anew, of which much was not searched to the end. */
export function weighAnew(fleet: Fleet, shape: Shape, root: string, isThorough: boolean): void {
  const slot = shape.slots.of(root);
  if (slot === undefined) return;
  weigh(fleet, shape, slot, isThorough);
  shape.rankedAnew(slot);
}

/** Weighs a host anew by all that is known of it. */
function weigh(
  { rankings: { overrides, preference, countsRefusals }, view }: Fleet,
  shape: Shape,
  slot: number,
  isThorough: boolean,
): void {
  const { own } = shape;
  const root = shape.slots.roots[slot] as string;
  const host = view.hosts.get(root);
  const judged =
    host === undefined
      ? undefined
      : judge(view, shape.filters, shape.spec, host, preference, isThorough, countsRefusals);
  // A filter of somebody's own may say the same word: what was searched to the end is not searched again.
  if (!isThorough && judged?.obstacle?.code === HARD_TO_TELL) shape.unsearched.add(root);
  else shape.unsearched.delete(root);
  if (host === undefined || judged === undefined) return own.leave(slot);
  if (judged.obstacle !== null) {
    if (countsRefusals) own.refuse(slot, judged.obstacle);
    else own.leave(slot);
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
