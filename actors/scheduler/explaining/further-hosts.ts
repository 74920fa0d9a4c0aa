// How many more hosts an instance might have gone to than it was given: kept with its record, so that of a build that
// failed on all of its own it can be said what would have given it more to try.

import type { Selection } from '../../../machines/instance-build.ts';
import type { RequestSpec } from '../../messages/common.ts';
import { MAX_ALTERNATES } from '../../messages/limits.ts';
import { isSoft, keepsTogether } from '../../placement/groups.ts';
import { cells } from '../filters/cells.ts';
import { groupAllows } from '../group-rules.ts';
import { type Fleet, lateFiltersOf, shapeOf } from '../ranking/ranking.ts';
import type { Request } from '../request.ts';
import { rootCount, rootsOf } from '../view/groups-view.ts';
import type { View } from '../view/view.ts';

/** At how many hosts with members of its group a request looks: no build is to take longer for it. */
const MAX_LOOKED_AT = 64;

/** Fields that are absent are not known. */
export interface FurtherHosts {
  /** Of its cell. */
  readonly furtherInCell?: number;
  /** Of other cells that it may go to; where its own has none. */
  readonly furtherElsewhere?: number;
}

/**
 * The hosts that fit beside its own and those that it was dealt as alternates, for each instance of a request that has its
 * hosts. They come from what the ranking counts anyway: where hosts are asked more than it goes by, they are not known.
 */
export function furtherHosts(
  fleet: Fleet,
  request: Request,
  chosen: readonly Selection[],
  alternates: readonly (readonly Selection[])[],
  wanted: number,
): readonly FurtherHosts[] {
  const { where, spec } = request;
  const isAskedMore = lateFiltersOf(fleet.rankings, request).some(({ filter }) => filter !== cells);
  const members = membersOf(fleet.view, spec);
  if (isAskedMore || keepsTogether(spec) || members === null) {
    return chosen.map(() => ({}));
  }
  const shape = shapeOf(fleet, request);
  const { current } = shape;
  const full = members.filter((root) => current.has(root) && !groupAllows(fleet.view, spec, root));
  const openIn = (cell: string) => shape.fitsIn(cell) - full.filter((root) => current.get(root)?.cell === cell).length;
  const openInAll = (cells: readonly string[]) => [...new Set(cells)].reduce((sum, cell) => sum + openIn(cell), 0);
  const { cells: named, avoidCells = [] } = where ?? {};
  const openInCells = named === undefined ? current.size - full.length - openInAll(avoidCells) : openInAll(named);
  return chosen.map(({ cell, provider }, position): FurtherHosts => {
    const open = openIn(cell);
    const own = current.has(provider) && !full.includes(provider) ? 1 : 0;
    const furtherInCell = open - own - (alternates[position] as readonly Selection[]).length;
    if (furtherInCell <= 0) return { furtherInCell, furtherElsewhere: openInCells - open };
    // Of one that was given as many as may be asked for, others of its cell are no help.
    return wanted >= MAX_ALTERNATES ? {} : { furtherInCell };
  });
}

/** The hosts where members of the request's group are, if it has a hard rule; null: they are too many to be looked at. */
function membersOf({ groups }: View, { instanceGroup: group }: RequestSpec): readonly string[] | null {
  if (group === undefined || isSoft(group)) return [];
  return rootCount(groups, group.id) > MAX_LOOKED_AT ? null : rootsOf(groups, group.id);
}
