// Whether one host has room for several instances of a request at once. What is found out of a host is kept with its
// weighing, for it is asked of very many hosts and by many requests; it is weighed anew when it changes.

import { effort, spend } from '../../fitting/effort.ts';
import { MAX_LOOKS_TO_COUNT, mostTimes, timesIn } from '../../fitting/fit-times.ts';
import type { RequestSpec } from '../../messages/common.ts';
import { keepsTogether } from '../../placement/groups.ts';
import type { Provider } from '../../placement/providers.ts';
import { type FilterRefusal, FULL_BY_LIMIT } from '../filters/filter.ts';
import { membersAllowed } from '../group-rules.ts';
import { instancesLeft } from '../instance-room.ts';
import type { Obstacle } from '../ranking/census.ts';
import { lackOf, shortTogetherWords } from '../ranking/misfit.ts';
import { type Fleet, noteGrown, type Rankings, shapeOf, shapeToldByNumbers } from '../ranking/ranking.ts';
import type { Several } from '../ranking/several.ts';
import type { Request } from '../request.ts';
import { treeOf, type ViewHost } from '../view/view.ts';
import { factsOf } from '../view/view-hosts.ts';

/** What a record names where it was not counted which hosts have room for all that keep together. */
export const ROOM_TOGETHER = 'room-together';

/** The code of a host that has room for some of those that keep together, and not for all. */
export const NO_ROOM_TOGETHER = 'no-room-together';

export const noRoomTogether = (count: number, host: string): FilterRefusal => ({
  code: NO_ROOM_TOGETHER,
  message: `no room for ${count} instances on '${host}'`,
});

/**
 * What stands in the way of one, said of all that keep together: a host that has no room for any of them, or is full of
 * instances or of builds, is short of more for all. That each asks for more than units allow is as true of one.
 */
export function shortForAll<One extends Obstacle>(
  obstacle: One,
  spec: RequestSpec,
  tree: readonly Provider[],
  count: number,
): One {
  const { code, about, short } = obstacle;
  if (short === undefined || count === 1) return obstacle;
  if (FULL_BY_LIMIT.has(code)) return { ...obstacle, short: short + count - 1 };
  const [root] = tree;
  if (code !== 'exceeds-capacity' || about === undefined || root === undefined) return obstacle;
  const lack = lackOf(about, spec, tree, count);
  // Of what is asked beside other groups, or is left over in many places, one may lack more than is counted for all.
  if (lack.asked === 0 || lack.short < short) return obstacle;
  const message = shortTogetherWords(code, about, lack, `${count} instances`, root.spec.name);
  return { ...obstacle, short: lack.short, message };
}

/** Whether a host that is ranked has room for all that must keep together. */
export const roomTogether: typeof roomForAll = (fleet, request, root, count, endOfLooks) =>
  // What is ranked has room for one.
  count === 1 || !keepsTogether(request.spec) || roomForAll(fleet, request, root, count, endOfLooks);

/**
 * Those of the hosts that are ranked that have room for so many at once, as far as that is told without counting. Undefined
 * where each must be asked: requests that are ranked alike may be limited in different ways.
 */
export function mayHoldAll(fleet: Fleet, request: Request, count: number): Several | undefined {
  const { rankings, view } = fleet;
  if (rankings.limits.some(({ late }) => late === true)) return undefined;
  const isTold = areTogetherToldByNumbers(rankings, request, count);
  const isAsMany = (root: string) => {
    const tree = treeOf(view, root);
    if (mostTimes(request.spec, tree) < count) return false;
    if (isTold) return true;
    return instancesLeft(rankings, request, factsOf(view, view.hosts.get(root) as ViewHost, tree)) >= count;
  };
  const shape = isTold ? shapeToldByNumbers(fleet, request) : shapeOf(fleet, request);
  const { size } = shape;
  const several = shape.first.severalOf(count, isAsMany, isTold);
  if (shape.size > size) noteGrown(rankings, request, shape);
  return several;
}

/** Whether for so many instances hosts are asked how many at once they hold, and nothing but resources limits that. */
export function areTogetherToldByNumbers({ limits }: Rankings, { spec }: Request, count: number): boolean {
  return count > 1 && limits.length === 0 && keepsTogether(spec);
}

/** Whether all hosts together have as much as so many instances need, as far as that is told at once: what is left over on each may fit none. */
export function isEnoughFor(fleet: Fleet, request: Request, count: number): boolean {
  const { view } = fleet;
  const { spec } = request;
  let room = 0;
  for (const ranked of shapeOf(fleet, request).current.values()) {
    ranked.most ??= mostTimes(spec, treeOf(view, ranked.root));
    room += Math.min(ranked.most, membersAllowed(view, spec, ranked.root));
    if (room >= count) return true;
  }
  return false;
}

/**
 * Whether a host has room for so many at once.
 * @param endOfLooks After so many looks at providers in all it is not counted any more: undefined, and the claims decide.
 */
export function roomForAll(
  fleet: Fleet,
  request: Request,
  root: string,
  count: number,
  endOfLooks: number,
): boolean | undefined {
  const { rankings, view } = fleet;
  const host = view.hosts.get(root);
  if (host === undefined) return false;
  const ranked = shapeOf(fleet, request).current.get(root);
  // Asked of every host, of several requests: what is known is not looked at again.
  if (ranked !== undefined && count >= ranked.tooMany) return refusedAtOnce();
  const tree = treeOf(view, root);
  if (rankings.limits.length > 0 && instancesLeft(rankings, request, factsOf(view, host, tree)) < count) {
    return refusedAtOnce();
  }
  const known = ranked?.holds ?? null;
  if (known !== null) {
    if (known.times >= count) return true;
    if (!known.isWhole && known.count === count) return undefined;
  }
  const most = ranked?.most ?? mostTimes(request.spec, tree);
  if (ranked !== undefined) ranked.most = most;
  if (most < count) return refusedAtOnce();
  if (effort.looks > endOfLooks) return undefined;
  const endOfThis = effort.looks + MAX_LOOKS_TO_COUNT;
  const times = timesIn(request.spec, tree, count, true, endOfThis);
  const isWhole = times >= count || effort.looks <= endOfThis;
  if (ranked !== undefined) {
    ranked.holds = { count, times, isWhole };
    if (isWhole && times < count) ranked.tooMany = times + 1;
  }
  return isWhole ? times >= count : undefined;
}

/** To refuse a host without counting is a look at it all the same. */
function refusedAtOnce(): false {
  spend(1);
  return false;
}
