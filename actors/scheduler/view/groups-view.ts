// Where the members of instance groups are, as far as a scheduler knows: what placement told of each host, and what this
// scheduler has claimed and has no answer for yet.

/** Members by root. */
type ByRoot = Map<string, number>;

export interface GroupsView {
  /** By group. */
  readonly told: Map<string, ByRoot>;
  /** The rule of each group by the roots on which it has members, as told of them: shards may know different ones. */
  readonly rules: Map<string, Map<string, string>>;
  /** The groups that have members on a root, as told last. */
  readonly onRoot: Map<string, readonly string[]>;
  /** Claimed and not yet answered, by group. */
  readonly promised: Map<string, ByRoot>;
}

const NONE: ReadonlyMap<string, number> = new Map();

export function emptyGroupsView(): GroupsView {
  return { told: new Map(), rules: new Map(), onRoot: new Map(), promised: new Map() };
}

/** Takes all that is told of a root: of groups that are not named it has no member. Answers whether members have left. */
export function learnMembers(
  { told, rules, onRoot }: GroupsView,
  root: string,
  groups: Readonly<Record<string, number>> | undefined,
  ruleByGroup: Readonly<Record<string, string>> | undefined,
): boolean {
  const before = onRoot.get(root);
  if (before === undefined && groups === undefined) return false;
  let haveLeft = false;
  for (const group of before ?? []) {
    if ((groups?.[group] ?? 0) < (told.get(group)?.get(root) ?? 0)) haveLeft = true;
    if (groups?.[group] !== undefined) continue;
    set(told, group, root, 0);
    rules.get(group)?.delete(root);
    if (rules.get(group)?.size === 0) rules.delete(group);
  }
  const named = Object.keys(groups ?? {});
  for (const group of named) set(told, group, root, groups?.[group] as number);
  for (const [group, rule] of Object.entries(ruleByGroup ?? {})) {
    const byRoot = rules.get(group);
    if (byRoot === undefined) rules.set(group, new Map([[root, rule]]));
    else byRoot.set(root, rule);
  }
  if (named.length === 0) onRoot.delete(root);
  else onRoot.set(root, named);
  return haveLeft;
}

/** Counts a member while its claim is under way (1), and no longer when it is answered (-1). */
export function promiseMember({ promised }: GroupsView, group: string, root: string, sign: 1 | -1): void {
  set(promised, group, root, (promised.get(group)?.get(root) ?? 0) + sign);
}

function set(counts: Map<string, ByRoot>, group: string, root: string, members: number): void {
  let byRoot = counts.get(group);
  if (byRoot === undefined) {
    if (members === 0) return;
    byRoot = new Map();
    counts.set(group, byRoot);
  }
  if (members === 0) byRoot.delete(root);
  else byRoot.set(root, members);
  if (byRoot.size === 0) counts.delete(group);
}

/** How many members of a group are on a root, as placement told last. */
export function toldOn({ told }: GroupsView, group: string, root: string): number {
  return told.get(group)?.get(root) ?? 0;
}

/** How many members of a group are on a root, or will be if a claim is granted. */
export function membersOn({ told, promised }: GroupsView, group: string, root: string): number {
  return (told.get(group)?.get(root) ?? 0) + (promised.get(group)?.get(root) ?? 0);
}

/** The roots on which a group has members, or will have. */
export function rootsOf({ told, promised }: GroupsView, group: string): string[] {
  const known = told.get(group) ?? NONE;
  const roots = [...known.keys()];
  for (const root of promised.get(group)?.keys() ?? []) if (!known.has(root)) roots.push(root);
  return roots;
}
