// Which of two hosts that fit comes first, where hosts are compared for an answer: as they would be picked, chance and
// claims of its group that are under way aside.

import type { RequestSpec } from '../messages/common.ts';
import { isSoft } from '../placement/groups.ts';
import { membersOn } from './groups-view.ts';
import type { Request } from './request.ts';
import type { View } from './view.ts';

export interface Standing {
  readonly cell: string;
  readonly weight: number;
  /** Members of the request's instance group that it has, where a soft rule goes by them. */
  readonly members?: number | undefined;
}

/** The members that the soft rule of a request's instance group goes by; nothing where it has no such rule. */
export function softMembers(view: View, { instanceGroup }: RequestSpec, root: string): { members?: number } {
  if (instanceGroup === undefined || !isSoft(instanceGroup)) return {};
  return { members: membersOn(view.groups, instanceGroup.id, root) };
}

/**
 * One of a silent cell comes after all others; then a soft rule is asked, then which cells the request prefers, whatever
 * hosts of others weigh, and then what they weigh.
 */
export function comesBefore(
  { silentCells }: View,
  { spec, where }: Pick<Request, 'spec' | 'where'>,
  one: Standing,
  other: Standing,
): boolean {
  const isSilent = silentCells.has(one.cell);
  if (isSilent !== silentCells.has(other.cell)) return !isSilent;
  const more = (one.members ?? 0) - (other.members ?? 0);
  if (more !== 0) return spec.instanceGroup?.policy === 'soft-affinity' ? more > 0 : more < 0;
  const isPreferred = where?.preferCells?.includes(one.cell) ?? false;
  if (isPreferred !== (where?.preferCells?.includes(other.cell) ?? false)) return isPreferred;
  return one.weight > other.weight;
}
