// What refuses hosts that are ranked: the filters that are asked late, the rule of a group, and the lack of room for all that
// keep together. Hosts of one cell that the request does not name, and that have no member of its group, are all alike to
// most of that: one of them is asked for all, and they are as many as the ranking says. So it takes no longer with more hosts.

import { effort } from '../../fitting/effort.ts';
import { MAX_LOOKS_TO_COUNT } from '../../fitting/fit-times.ts';
import { append } from '../../multimap.ts';
import { isSoft, keepsTogether } from '../../placement/groups.ts';
import { type Asked, isNamingFilter, refusedBy } from '../filters/filter.ts';
import { toldMisfitOfGroup } from '../group-rules.ts';
import { Census, type Obstacle } from '../ranking/census.ts';
import { hardToTell } from '../ranking/judging.ts';
import { type Fleet, lateFiltersOf, shapeOf } from '../ranking/ranking.ts';
import type { Several } from '../ranking/several.ts';
import { HEARINGS } from '../ranking/stands.ts';
import type { Request } from '../request.ts';
import { rootsOf } from '../view/groups-view.ts';
import { treeOf, type ViewHost } from '../view/view.ts';
import { factsOf } from '../view/view-hosts.ts';
import { mayHoldAll, noRoomTogether, roomTogether } from './room-together.ts';

export interface RefusedLate {
  readonly census: Census;
  /** Whether every host was searched to the end. */
  readonly isWhole: boolean;
}

/** @param count For how many instances at once. */
export function refusedLate(fleet: Fleet, request: Request, count: number): RefusedLate {
  const { rankings, view } = fleet;
  const { spec } = request;
  const isTogether = count > 1 && keepsTogether(spec);
  const several = isTogether ? mayHoldAll(fleet, request, count) : undefined;
  const shape = shapeOf(fleet, request);
  const late = lateFiltersOf(rankings, request);
  const first = late.findIndex(({ filter }) => !isNamingFilter(filter));
  const naming = first < 0 ? late : late.slice(0, first);
  const isAskedOfEach = first >= 0;
  const census = new Census();
  const endOfLooks = effort.looks + MAX_LOOKS_TO_COUNT;
  let isWhole = true;

  const by = (asked: readonly Asked[], root: string) =>
    refusedBy(asked, factsOf(view, view.hosts.get(root) as ViewHost, treeOf(view, root)))?.refusal ?? null;
  const refuse = (root: string, obstacle: Obstacle | null, hosts = 1) => {
    if (obstacle !== null) census.refuse(root, { ...obstacle, short: undefined }, hosts);
  };
  const lackOfRoom = (root: string) => {
    const isRoom = roomTogether(fleet, request, root, count, endOfLooks);
    if (isRoom === undefined) isWhole = false;
    const host = view.hosts.get(root) as ViewHost;
    return isRoom === true ? null : isRoom === false ? noRoomTogether(count, host.host) : hardToTell(host);
  };
  const askEach = (root: string) =>
    refuse(root, by(late, root) ?? toldMisfitOfGroup(view, spec, root) ?? lackOfRoom(root));

  const named = [...namedBy(fleet, request, naming)].filter((root) => shape.current.has(root));
  const isNamed = new Set(named);
  const namedIn = new Map<string, string[]>();
  for (const root of named) {
    askEach(root);
    const { cell } = view.hosts.get(root) as ViewHost;
    append(namedIn, cell, root);
  }
  /** Cells whose hosts must be asked each. */
  const open = new Set<string>();
  for (const cell of shape.cells()) {
    const [one] = shape.first.bestOf({ hearings: HEARINGS, cells: [cell] }, 1, ({ root }) => !isNamed.has(root));
    if (one === undefined) continue;
    const { root } = one;
    const namedHere = namedIn.get(cell) ?? [];
    const hosts = shape.fitsIn(cell) - namedHere.length;
    const refusal = by(naming, root) ?? (isAskedOfEach ? null : toldMisfitOfGroup(view, spec, root));
    if (refusal !== null) refuse(root, refusal, hosts);
    else if (isAskedOfEach) open.add(cell);
    else if (several !== undefined) refuseWithoutRoom(several, cell, root, hosts, namedHere);
    else if (isTogether) open.add(cell);
  }
  if (open.size > 0) {
    for (const root of [...shape.current.keys()]) {
      if (!isNamed.has(root) && open.has(view.hosts.get(root)?.cell ?? '')) askEach(root);
    }
  }
  return { census, isWhole };

  /** @param one Stands for all of the cell but those that are named. */
  function refuseWithoutRoom(
    several: Several,
    cell: string,
    one: string,
    hosts: number,
    namedHere: readonly string[],
  ): void {
    const untold = [...several.untoldIn(cell)].filter((root) => !isNamed.has(root));
    const namedTold = namedHere.filter((root) => several.isTold(shape.slots.of(root) as number) && several.has(root));
    const told = several.toldIn(cell) - namedTold.length;
    refuse(one, noRoomTogether(count, (view.hosts.get(one) as ViewHost).host), hosts - told - untold.length);
    for (const [position, root] of untold.entries()) {
      if (effort.looks > endOfLooks) {
        // There is no time for the others.
        isWhole = false;
        return refuse(root, hardToTell(view.hosts.get(root) as ViewHost), untold.length - position);
      }
      refuse(root, lackOfRoom(root));
    }
  }
}

/** The hosts that a request names for itself, or that have members of its group; each once. */
function namedBy({ view }: Fleet, { spec }: Request, naming: readonly Asked[]): ReadonlySet<string> {
  const named = new Set<string>();
  for (const { filter, part } of naming) {
    if (isNamingFilter(filter)) for (const root of filter.named(part)) named.add(root);
  }
  const group = spec.instanceGroup;
  if (group !== undefined && !isSoft(group)) for (const root of rootsOf(view.groups, group.id)) named.add(root);
  return named;
}
