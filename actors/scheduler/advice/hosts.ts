// Advice, host by host: each is tried with one condition of the request left out, or one amount changed to what the host
// can give, but only those that stand in its way; so what is advised has been tried on the very hosts that are counted.

import { effort } from '../../fitting/effort.ts';
import { fit } from '../../fitting/fit.ts';
import type { InstanceGroup } from '../../messages/common.ts';
import { keepsTogether } from '../../placement/groups.ts';
import type { Provider } from '../../placement/providers.ts';
import type { HostFacts } from '../view/host-facts.ts';
import type { ViewHost } from '../view/view.ts';
import { type Adviser, changesOf, note, roomWith } from './adviser.ts';
import { considerAmounts, MAX_LOOKS_ON_ONE } from './amounts.ts';
import {
  type ChangeOfRequest,
  WHEN_BUILT,
  WHEN_EMPTY,
  withOwnRule,
  withoutFilter,
  withoutInstanceGroup,
} from './changes.ts';
import { type Emptied, noteEmptiest } from './empty.ts';
import { noteLimiters } from './limits.ts';
import { addTo } from './lists.ts';
import type { Wish } from './places.ts';
import { add, roomOn, rootOfTree, silencedOf } from './rooms.ts';

/** A host that is out of service, and its tree: it might fit when it comes back. */
export function considerAway(
  adviser: Adviser,
  host: ViewHost,
  { tree, asideUntil }: Pick<HostFacts, 'tree' | 'asideUntil'>,
): void {
  const times = roomOn(adviser, adviser.spec, tree);
  if (times === 0) return;
  const { cell, state, disabled, withCell, until } = host;
  if (withCell === true) {
    // Neither its cell nor the host itself is the one thing to change.
    if (disabled === true || asideUntil !== undefined) return;
    return note(adviser, { advice: { code: 'cell-state', about: cell }, cost: 0.8 }, times, tree);
  }
  // Those that are set aside come back by themselves; the others need an operator.
  const cost = state === 'set-aside' ? 0.4 : 0.8;
  const change = { advice: { code: 'host-state' as const, about: state }, cost };
  const { room, away } = roomWith(adviser, change);
  const silent = silencedOf(adviser, tree);
  away.push({ host: `${cell}/${host.host}`, times, until, isDisabled: disabled === true, asideUntil, silent });
  add(room, times, silent);
}

/** A host that only one filter refuses, or for which it fails, and its tree. */
export function considerFilter(adviser: Adviser, filter: string, hasFailed: boolean, tree: readonly Provider[]): void {
  const times = roomOn(adviser, adviser.spec, tree, { but: filter });
  if (times === 0) return;
  const { advice, cost } = withoutFilter(filter);
  const change = { advice: hasFailed ? { ...advice, failed: true as const } : advice, cost };
  note(adviser, change, times, tree);
  if (adviser.limits.includes(filter)) noteLimiters(roomWith(adviser, change).limiters, adviser, filter, tree, times);
}

/** How many hosts are kept that filters are asked about once more for each change: each such look is their code's. */
const MAX_HELD_BACK = 4_096;

/** A host that only filters of a deployment's own refuse, and its tree: they may go by what a change is about. */
export function considerHeldBack(adviser: Adviser, tree: readonly Provider[]): void {
  if (adviser.heldBack.length < MAX_HELD_BACK) adviser.heldBack.push(tree);
  else adviser.isMoreHeldBack = true;
}

/** A host that only one wish of the request refuses, of where it may go, and its tree. */
export function considerWish(
  adviser: Adviser,
  { advice, against }: Pick<Wish, 'advice' | 'against'>,
  tree: readonly Provider[],
): void {
  const times = roomOn(adviser, adviser.spec, tree);
  if (times === 0) return;
  // What is kept for others, or confines a project, only an operator opens.
  const cost = advice.code === 'without-kept' || advice.code === 'without-confinement' ? 0.8 : 0.6;
  const { room, parts } = roomWith(adviser, { advice, cost });
  add(room, times, silencedOf(adviser, tree));
  if (against !== undefined) addTo(parts, against, times, silencedOf(adviser, tree));
}

/** A host that only the rule of the instance group refuses, and its tree. */
export function considerGroup(adviser: Adviser, tree: readonly Provider[]): void {
  const change = withoutInstanceGroup(adviser.spec);
  const times = roomOn(adviser, change.changed, tree);
  if (times > 0) note(adviser, change, times, tree);
  // A new group would have to be on one host, too.
  if (keepsTogether(adviser.spec) && roomOn(adviser, adviser.spec, tree) > 0) adviser.holdsNewGroup = true;
}

/** A host that the group would let it have if the request said the rule that its members have, and its tree. */
export function considerOwnRule(adviser: Adviser, byOwnRule: InstanceGroup, tree: readonly Provider[]): void {
  const change = withOwnRule(adviser.spec, byOwnRule);
  const times = roomOn(adviser, change.changed, tree);
  if (times > 0) note(adviser, change, times, tree);
}

/** A host that does not fit, and its tree: which change would help there? */
export function consider(adviser: Adviser, tree: readonly Provider[], empty: () => Emptied): void {
  const { spec } = adviser;
  const { ofGroups, ofRoot, betweenGroups } = changesOf(adviser);
  // In the way are groups that do not fit even alone; when each does, any of them may be.
  const unfit = spec.groups.length > 1 ? ofGroups.filter(({ alone }) => fit(alone, tree) === null) : [];
  const inTheWay = unfit.length > 0 ? unfit : ofGroups;
  // Those of the whole request are few, and most likely to help where it is hard to tell.
  const endOfChanges = effort.looks + MAX_LOOKS_ON_ONE;
  considerChanges(adviser, ofRoot, tree, endOfChanges);
  considerChanges(adviser, betweenGroups, tree, endOfChanges);
  for (const { ofConditions, ofResources } of inTheWay) {
    considerChanges(adviser, ofConditions, tree, endOfChanges);
    considerChanges(adviser, ofResources, tree, endOfChanges);
  }
  const endOfAmounts = effort.looks + MAX_LOOKS_ON_ONE;
  for (const one of inTheWay)
    for (const resourceClass of Object.keys(one.group.resources))
      considerAmounts(adviser, one, resourceClass, tree, endOfAmounts);
  if (effort.looks > endOfAmounts) adviser.isCut = true;
  if (isUsed(tree)) considerEmpty(adviser, tree, empty());
}

/** A host that has room for some of those that keep together, and its tree: it may have room for all if nothing is used. */
export function considerIfEmpty(adviser: Adviser, tree: readonly Provider[], empty: Emptied): void {
  if (empty.instances > 0 || isUsed(tree)) considerEmpty(adviser, tree, empty);
}

const isUsed = (tree: readonly Provider[]): boolean =>
  tree.some(({ stocks }) => [...stocks.values()].some(({ used }) => used > 0));

/**
 * A host that only limits on builds refuse, and its tree; answers whether it would hold all when that is over.
 * @param allowed How many more instances it may have when what is being built there is built.
 */
export function considerBuilt(adviser: Adviser, tree: readonly Provider[], allowed: number): boolean {
  const times = roomOn(adviser, adviser.spec, tree, { allowed });
  if (times > 0) note(adviser, WHEN_BUILT, times, tree);
  return times >= adviser.count;
}

/** A host that is only too full, of resources or of instances: it is something else if it is too small. */
export function considerEmpty(
  adviser: Adviser,
  tree: readonly Provider[],
  { facts, allowed, instances }: Emptied,
): void {
  // Which part of it those have that must stay is not known.
  if (allowed === 0 || adviser.mustStay(rootOfTree(tree))) return;
  const endOfLooks = effort.looks + MAX_LOOKS_ON_ONE;
  const times = roomOn(adviser, adviser.spec, facts.tree, { endOfLooks, allowed });
  if (effort.looks > endOfLooks) adviser.isCut = true;
  if (times === 0) return;
  note(adviser, WHEN_EMPTY, times, tree);
  const { cell, host } = facts;
  noteEmptiest(roomWith(adviser, WHEN_EMPTY).toEmpty, { host: `${cell}/${host}`, times, instances });
}

function considerChanges(
  adviser: Adviser,
  changes: readonly ChangeOfRequest[],
  tree: readonly Provider[],
  endOfLooks: number,
): void {
  for (const change of changes) {
    if (effort.looks > endOfLooks) break;
    const times = roomOn(adviser, change.changed, tree, { endOfLooks });
    if (times > 0) note(adviser, change, times, tree);
  }
  if (effort.looks > endOfLooks) adviser.isCut = true;
}
