// What the rule of an instance group says of one host, as far as the view knows where its members are.

import type { RequestSpec } from '../messages/common.ts';
import type { Refusal } from '../messages/placement.ts';
import { nameOf } from '../placement/groups.ts';
import { membersOn, rootsOf } from './groups-view.ts';
import type { View } from './view.ts';

/** Why the rule of its group keeps a new member off a host, as far as is known, or null. */
export function misfitOfGroup(view: View, { instanceGroup }: RequestSpec, root: string): Refusal | null {
  if (instanceGroup === undefined) return null;
  const { id, policy, maxPerHost = 1 } = instanceGroup;
  const which = `instance group '${nameOf(instanceGroup)}'`;
  const hostOf = (provider: string) => view.hosts.get(provider)?.host ?? provider;
  if (policy === 'anti-affinity') {
    const members = membersOn(view.groups, id, root);
    if (members < maxPerHost) return null;
    const message = `${which} may have ${maxPerHost} on each host, and host '${hostOf(root)}' has ${members}`;
    return { code: 'group-anti-affinity', message, provider: root };
  }
  if (policy !== 'affinity') return null;
  const roots = rootsOf(view.groups, id);
  if (roots.length === 0 || roots.includes(root)) return null;
  const [elsewhere] = roots as [string];
  const message = `${which} keeps together, and it is on host '${hostOf(elsewhere)}', not on '${hostOf(root)}'`;
  return { code: 'group-affinity', message, provider: elsewhere };
}
