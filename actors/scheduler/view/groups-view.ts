// Where the members of instance groups are, as far as a scheduler knows: what placement told of each host, and what this
// scheduler has claimed and has no answer for yet.

import { addTo, deleteFrom } from '../../multimap.ts';

/** Members by root. */
type ByRoot = Map<string, number>;

/** What is told of a root, by group. */
interface OnRoot {
  readonly members: Readonly<Record<string, number>>;
  readonly rules: Readonly<Record<string, string>>;
  /** How many groups that are. */
  readonly count: number;
}

const NOBODY: OnRoot = { members: {}, rules: {}, count: 0 };

/** The roots on which members of a group came or left, in order. */
export interface Movements {
  readonly roots: string[];
  /** How many were dropped from the front. */
  dropped: number;
}

export interface GroupsView {
  /** By group. */
  readonly told: Map<string, ByRoot>;
  /** The roots of members by the rule that is told of them, of each group: shards may know different ones. */
  readonly rules: Map<string, Map<string, Set<string>>>;
  /** The members that are on a root, as told last. */
  readonly onRoot: Map<string, OnRoot>;
  /** Claimed and not yet answered, by group. */
  readonly promised: Map<string, ByRoot>;
  /** Of groups that somebody has asked it of, as long as they have members. */
  readonly movements: Map<string, Movements>;
}

/** The hosts that have so many members of a group, or more. */
export interface FullBy {
  readonly group: string;
  readonly mostOnHost: number;
}

const NONE: ReadonlyMap<string, number> = new Map();

/** How many movements of a group are kept; whoever is further behind begins anew. */
const MAX_MOVEMENTS = 4_096;

export function emptyGroupsView(): GroupsView {
  return { told: new Map(), rules: new Map(), onRoot: new Map(), promised: new Map(), movements: new Map() };
}

/**
 * Takes all that is told of a root: of groups that are not named it has no member. Answers whether members have left. It is
 * told with every claim there, of thousands of groups it may be, of which hardly any has changed.
 */
export function learnMembers(
  view: GroupsView,
  root: string,
  members: OnRoot['members'] = NOBODY.members,
  rules: OnRoot['rules'] = NOBODY.rules,
): boolean {
  const { told, onRoot } = view;
  const before = onRoot.get(root) ?? NOBODY;
  if (members === before.members && rules === before.rules) return false;
  let [count, stayed, haveLeft] = [0, 0, false];
  for (const group in members) {
    count += 1;
    const now = members[group] as number;
    const known = before.members[group];
    if (known !== undefined) stayed += 1;
    if (now !== known) set(view, told, group, root, now);
    if (known !== undefined && now < known) haveLeft = true;
    const rule = rules[group];
    if (rule !== undefined && rule !== before.rules[group]) setRule(view, group, root, rule);
  }
  if (stayed < before.count) {
    haveLeft = true;
    for (const group in before.members) {
      if (members[group] !== undefined) continue;
      set(view, told, group, root, 0);
      setRule(view, group, root, undefined);
    }
  }
  if (count === 0) onRoot.delete(root);
  else onRoot.set(root, { members, rules, count });
  return haveLeft;
}

/** Counts a member while its claim is under way (1), and no longer when it is answered (-1). */
export function promiseMember(view: GroupsView, group: string, root: string, sign: 1 | -1): void {
  const { promised } = view;
  set(view, promised, group, root, (promised.get(group)?.get(root) ?? 0) + sign);
}

function set(view: GroupsView, counts: Map<string, ByRoot>, group: string, root: string, members: number): void {
  let byRoot = counts.get(group);
  if (members === (byRoot?.get(root) ?? 0)) return;
  if (byRoot === undefined) {
    byRoot = new Map();
    counts.set(group, byRoot);
  }
  if (members === 0) byRoot.delete(root);
  else byRoot.set(root, members);
  if (byRoot.size === 0) counts.delete(group);
  noteMovement(view, group, root);
}

function noteMovement(view: GroupsView, group: string, root: string): void {
  const movements = view.movements.get(group);
  if (movements === undefined) return;
  if (!hasMembers(view, group)) return void view.movements.delete(group);
  movements.roots.push(root);
  if (movements.roots.length <= MAX_MOVEMENTS) return;
  movements.roots.splice(0, MAX_MOVEMENTS / 2);
  movements.dropped += MAX_MOVEMENTS / 2;
}

function setRule({ rules }: GroupsView, group: string, root: string, rule: string | undefined): void {
  const byRule = rules.get(group) ?? new Map<string, Set<string>>();
  for (const other of byRule.keys()) if (other !== rule) deleteFrom(byRule, other, root);
  if (rule !== undefined) addTo(byRule, rule, root);
  if (byRule.size === 0) rules.delete(group);
  else rules.set(group, byRule);
}

/** The movements of the members of a group from now on; from others than before, they are not of one series. */
export function movementsOf({ movements }: GroupsView, group: string): Movements {
  let known = movements.get(group);
  if (known === undefined) {
    known = { roots: [], dropped: 0 };
    movements.set(group, known);
  }
  return known;
}

/** The rules that are told of members of a group, each once. */
export function rulesOf({ rules }: GroupsView, group: string | undefined): Iterable<string> {
  return rules.get(group ?? '')?.keys() ?? [];
}

/** How many members of a group are on a root, as placement told last. */
export function toldOn({ told }: GroupsView, group: string, root: string): number {
  return told.get(group)?.get(root) ?? 0;
}

/** How many members of a group are on a root, or will be if a claim is granted. */
export function membersOn({ told, promised }: GroupsView, group: string, root: string): number {
  return (told.get(group)?.get(root) ?? 0) + (promised.get(group)?.get(root) ?? 0);
}

/** Whether a group has members, or will have. */
export function hasMembers({ told, promised }: GroupsView, group: string): boolean {
  return told.has(group) || promised.has(group);
}

/** On how many roots a group has members, or will have. */
export function rootCount({ told, promised }: GroupsView, group: string): number {
  const known = told.get(group) ?? NONE;
  let count = known.size;
  for (const root of promised.get(group)?.keys() ?? []) if (!known.has(root)) count += 1;
  return count;
}

/** The roots on which a group has members, or will have. */
export function rootsOf({ told, promised }: GroupsView, group: string): string[] {
  const known = told.get(group) ?? NONE;
  const roots = [...known.keys()];
  for (const root of promised.get(group)?.keys() ?? []) if (!known.has(root)) roots.push(root);
  return roots;
}
