// What the rule of an instance group says of one host, as far as the view knows where its members are.

import type { InstanceGroup, RequestSpec } from '../messages/common.ts';
import type { GroupKnown, Refusal } from '../messages/placement.ts';
import type { GroupRule } from '../messages/questions.ts';
import { groupOf, isSoft, nameOf, ruleOf } from '../placement/groups.ts';
import { placementShardOf } from '../routing.ts';
import type { Request } from './request.ts';
import { type FullBy, hasMembers, membersOn, rootsOf, rulesOf } from './view/groups-view.ts';
import { isShardSilent } from './view/silence.ts';
import type { View } from './view/view.ts';

/** The name by which the rule of an instance group stands among filters. */
export const INSTANCE_GROUP = 'instance-group';

/** Whether the rule of its group lets a new member onto a host, as far as is known. */
export function groupAllows(view: View, { instanceGroup }: RequestSpec, root: string): boolean {
  if (instanceGroup === undefined) return true;
  const { id, policy, maxPerHost = 1 } = instanceGroup;
  if (policy === 'anti-affinity') return membersOn(view.groups, id, root) < maxPerHost;
  if (policy !== 'affinity' || membersOn(view.groups, id, root) > 0) return true;
  return !hasMembers(view.groups, id);
}

/** What members an instance group has already. */
export interface GroupSoFar {
  readonly hasMembers: boolean;
  /** The group by the rule that all of them are known to have. */
  readonly byOwnRule?: InstanceGroup | undefined;
}

export function groupSoFar({ groups }: View, { instanceGroup }: RequestSpec): GroupSoFar {
  if (instanceGroup === undefined || !hasMembers(groups, instanceGroup.id)) return { hasMembers: false };
  const [rule = '', ...others] = rulesOf(groups, instanceGroup.id);
  return { hasMembers: true, byOwnRule: others.length === 0 ? groupOf(instanceGroup.id, rule) : undefined };
}

/** How many more members of its group a host may have. */
export function membersAllowed(view: View, spec: RequestSpec, root: string): number {
  const { instanceGroup: group } = spec;
  const most = membersAllowedAtMost(spec);
  return group === undefined ? most : Math.max(0, most - membersOn(view.groups, group.id, root));
}

/** How many members of its group a request lets a host have. */
export function membersAllowedAtMost({ instanceGroup: group }: RequestSpec): number {
  return group?.policy === 'anti-affinity' ? (group.maxPerHost ?? 1) : Number.POSITIVE_INFINITY;
}

/**
 * The hosts that are passed by for the members that they have: those to which the rule of an anti-affinity group lets no
 * more of them; where a rule is soft, those with any, which are known, when one without is looked for.
 */
export function fullByRule(spec: RequestSpec): FullBy | undefined {
  const { instanceGroup: group } = spec;
  if (group === undefined || group.policy === 'affinity') return undefined;
  return { group: group.id, mostOnHost: isSoft(group) ? 1 : membersAllowedAtMost(spec) };
}

/** Why the rule of its group keeps a new member off a host, as far as is known, or null. */
function misfitOfGroup(view: View, spec: RequestSpec, root: string): Refusal | null {
  const { instanceGroup } = spec;
  if (instanceGroup === undefined || groupAllows(view, spec, root)) return null;
  const { id, policy, maxPerHost = 1 } = instanceGroup;
  const which = `instance group '${nameOf(instanceGroup)}'`;
  // Hosts of several cells may have one name.
  const hostOf = (provider: string) => {
    const known = view.hosts.get(provider);
    return known === undefined ? provider : `${known.cell}/${known.host}`;
  };
  if (policy === 'anti-affinity') {
    const members = membersOn(view.groups, id, root);
    const message = `${which} may have ${maxPerHost} on each host, and host '${hostOf(root)}' has ${members}`;
    return { code: 'group-anti-affinity', message, provider: root };
  }
  const [elsewhere] = rootsOf(view.groups, id) as [string];
  const message = `${which} keeps together, and it is on host '${hostOf(elsewhere)}', not on '${hostOf(root)}'`;
  return { code: 'group-affinity', message, provider: elsewhere };
}

/** What is known of the group of a request, which has a soft rule, when this tree is chosen by it. */
export function groupKnownAt(view: View, request: Request, root: string): GroupKnown {
  const { groups, shards } = view;
  const { id, policy } = request.spec.instanceGroup as InstanceGroup;
  const members = membersOn(groups, id, root);
  if (policy === 'soft-anti-affinity') return { members };
  const shard = placementShardOf(root, shards);
  const others = rootsOf(groups, id).filter((one) => one !== root && placementShardOf(one, shards) === shard).length;
  const known = { members, others };
  // A keeper that is silent would not answer.
  const isFirst = !groups.told.has(id) && request.groupAt === undefined && !isShardSilent(view, id);
  return isFirst ? { ...known, isFirst } : known;
}

/** The code by which a group with a soft rule is refused to whoever knew less of where it is than placement. */
export const GROUP_CHANGED = 'group-changed';

/** The code by which a group is refused to whoever says another rule of it than its members do. */
export const GROUP_CONFLICT = 'group-policy-conflict';

/**
 * As `misfitOfGroup`, or that the group has members of another rule. For what is explained only: a group ends with its last
 * member, and a view that has not heard of that yet must refuse nothing.
 */
export function toldMisfitOfGroup(view: View, spec: RequestSpec, root: string): Refusal | null {
  const other = otherRuleOf(spec, rulesOf(view.groups, spec.instanceGroup?.id));
  if (other === undefined) return misfitOfGroup(view, spec, root);
  return { code: GROUP_CONFLICT, message: conflictWords(spec, other) };
}

/** The first of some rules of its group that is not the one that a request says. */
export function otherRuleOf({ instanceGroup }: RequestSpec, rules: Iterable<string>): string | undefined {
  if (instanceGroup === undefined) return undefined;
  const asked = ruleOf(instanceGroup);
  for (const rule of rules) if (rule !== asked) return rule;
  return undefined;
}

/** The rule that the group of a request has, where members are told to have said another one. */
export function toldRuleOf({ groups }: View, spec: RequestSpec): GroupRule | undefined {
  const { instanceGroup: group } = spec;
  const rule = otherRuleOf(spec, rulesOf(groups, group?.id));
  return group === undefined || rule === undefined ? undefined : { group: nameOf(group), rule, asked: ruleOf(group) };
}

/** `instance group 'db' has the rule 'affinity', not 'soft-affinity'`. */
export function conflictWords({ instanceGroup }: RequestSpec, other: string): string {
  const group = instanceGroup as InstanceGroup;
  return groupRuleWords({ group: nameOf(group), rule: other, asked: ruleOf(group) });
}

const groupRuleWords = ({ group, rule, asked }: GroupRule): string =>
  `instance group '${group}' has the rule '${rule}', not '${asked}'`;

/** Of a request that other things stand in the way of, too. */
export const keptRuleWords = (rule: GroupRule): string =>
  `${groupRuleWords(rule)}, and keeps it as long as it has members`;

/**
 * Whether members of its group are told to have another rule. A placement shard refuses a claim for that only where it has
 * such members itself; with several shards all are asked whether they have before any claim is made, if such are told of.
 */
export function mayHaveOtherRule({ groups, shards }: View, spec: RequestSpec): boolean {
  if (shards === 1 || spec.instanceGroup === undefined) return false;
  return otherRuleOf(spec, rulesOf(groups, spec.instanceGroup.id)) !== undefined;
}
