// Which of two hosts that fit comes first, where hosts are compared for an answer: as they would be picked but for
// chance, and for claims under way of a group that would rather keep together.

import type { RequestSpec } from '../../messages/common.ts';
import { isSoft } from '../../placement/groups.ts';
import { present } from '../../present.ts';
import type { Request } from '../request.ts';
import { membersOn } from '../view/groups-view.ts';
import { silenceOf, silentShardOf } from '../view/silence.ts';
import type { View } from '../view/view.ts';

/** What a host's place goes by before its weight, and beside its cell. */
interface BeforeWeight {
  /** Members of the request's instance group that it has, where a soft rule goes by them. */
  readonly members?: number;
  /** The placement shard that keeps it, if that is silent. */
  readonly silentShard?: number;
}

/** A host that fits, as it is compared with others. */
export interface Contender extends BeforeWeight {
  readonly cell: string;
  readonly weight: number;
}

export function beforeWeight(view: View, { instanceGroup }: RequestSpec, root: string): BeforeWeight {
  return {
    ...(instanceGroup === undefined || !isSoft(instanceGroup)
      ? {}
      : { members: membersOn(view.groups, instanceGroup.id, root) }),
    ...present({ silentShard: silentShardOf(view, root) }),
  };
}

/**
 * One of a silent placement shard comes after all others, and then one of a silent cell; then a soft rule is asked, then
 * which cells the request prefers, whatever hosts of others weigh, and then what they weigh.
 */
export function ranksBefore(
  view: View,
  { spec, where }: Pick<Request, 'spec' | 'where'>,
  one: Contender,
  other: Contender,
): boolean {
  const isLast = ({ silentShard }: Contender) => silentShard !== undefined && !view.isPlacementSilent;
  const silence = silenceOf(view, one.cell, isLast(one));
  const ofOther = silenceOf(view, other.cell, isLast(other));
  if (silence !== ofOther) return silence < ofOther;
  const more = (one.members ?? 0) - (other.members ?? 0);
  if (more !== 0) return spec.instanceGroup?.policy === 'soft-affinity' ? more > 0 : more < 0;
  const isPreferred = where?.preferCells?.includes(one.cell) ?? false;
  if (isPreferred !== (where?.preferCells?.includes(other.cell) ?? false)) return isPreferred;
  return one.weight > other.weight;
}
