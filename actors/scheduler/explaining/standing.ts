// How all hosts stand to a request: which fit, what refuses the others, and which of those came nearest. The ranking keeps
// the figures anyway; what it does not go by is counted of the hosts that it has, see refused-late.ts.

import { fit } from '../../fitting/fit.ts';
import type { RequestSpec } from '../../messages/common.ts';
import type { RefusedHosts } from '../../messages/decision.ts';
import { keepsTogether } from '../../placement/groups.ts';
import { present } from '../../present.ts';
import { type Asked, refusedBy } from '../filters/filter.ts';
import { type Counted, mostRefusingFirst, type NearHost } from '../ranking/census.ts';
import { allFiltersFor, judge } from '../ranking/judging.ts';
import { type Fleet, lateFiltersOf, shapeOf } from '../ranking/ranking.ts';
import type { Request } from '../request.ts';
import { silentOf } from '../view/silence.ts';
import { treeOf, type View, type ViewHost } from '../view/view.ts';
import { factsOf } from '../view/view-hosts.ts';
import { isMoreInTheWay } from './more-obstacles.ts';
import { refusedLate } from './refused-late.ts';
import { NO_ROOM_TOGETHER, shortForAll } from './room-together.ts';

/** How all hosts stand to a request. */
export interface Standing {
  readonly hosts: number;
  readonly fits: number;
  readonly refused: readonly RefusedHosts[];
  /** Some hosts were not searched to the end. */
  readonly partly?: true;
}

/**
 * How all hosts stand to a request: those that fit, and what refuses the others. They add up to all hosts.
 * @param count For how many instances at once: a group that keeps together needs a host with room for all.
 */
export function standing(fleet: Fleet, request: Request, count: number): Standing {
  const { rankings, view } = fleet;
  const { current } = shapeOf(fleet, request);
  const late = lateFiltersOf(rankings, request);
  const refused = refusedByRank(fleet, request, count);
  let fits = current.size;
  let isWhole = true;
  if (late.length > 0 || request.spec.instanceGroup !== undefined) {
    // This may replace the ranking by one that tells the same by numbers.
    const lately = refusedLate(fleet, request, count);
    isWhole = lately.isWhole;
    fits -= lately.census.hosts;
    refused.push(...lately.census.counted());
    mostRefusingFirst(refused);
  }
  const told = { hosts: view.hosts.size, fits, refused: refusedHosts(view, refused, late) };
  return isWhole ? told : { ...told, partly: true };
}

/**
 * What the ranking counts of the hosts that it refuses, with those that came nearest: of each it is known whether more stands
 * in its way, which is asked once until it changes, or every time for a member of a group. Filters that are asked late are
 * not: whoever names hosts asks them.
 * @param count For how many instances at once: the ranking counts what hosts lack for one.
 */
export function refusedByRank(fleet: Fleet, request: Request, count = 1): Counted[] {
  const { view } = fleet;
  const shape = shapeOf(fleet, request);
  if (shape.refusals.hosts === 0) return [];
  const { spec, filters } = shape;
  const inUse = filters.map(({ filter }) => filter);
  const together = keepsTogether(request.spec) ? count : 1;
  const lacksMore = (root: string): boolean => {
    const host = view.hosts.get(root) as ViewHost;
    const judged = judge(view, filters, spec, host);
    if (judged.obstacle === null) return false;
    const obstacle = shortForAll(judged.obstacle, spec, treeOf(view, root), together);
    return isMoreInTheWay(inUse, view, request, host, { ...judged, obstacle }, together);
  };
  const counted = shape.refusals.counted({ lacksMore, isKept: request.spec.instanceGroup === undefined });
  if (together === 1) return counted;
  // Of each reason this looks at one host again.
  return counted.map(({ nearest, ...reason }) => {
    if (nearest === undefined) return { ...reason, nearest };
    const lacking = { ...reason, short: nearest.short };
    const { short } = shortForAll(lacking, spec, treeOf(view, nearest.root), together);
    return { ...reason, nearest: { ...nearest, short } };
  });
}

/** The host that came nearest, as the census has it: for whoever goes on with it here; it is no part of messages and records. */
const NEAR = Symbol('near');

type Nearest = NonNullable<RefusedHosts['nearest']> & { readonly [NEAR]?: NearHost };

/**
 * What a census counted, with the hosts by their names.
 * @param unasked Filters that hosts were not asked by: one that they refuse came near to nothing.
 */
export function refusedHosts(view: View, reasons: readonly Counted[], unasked: readonly Asked[] = []): RefusedHosts[] {
  const mayServe = (host: ViewHost) =>
    unasked.length === 0 || refusedBy(unasked, factsOf(view, host, treeOf(view, host.root))) === null;
  const told = (nearest: NearHost): { nearest?: Nearest } => {
    const near = view.hosts.get(nearest.root);
    if (near === undefined || !mayServe(near)) return {};
    const more = nearest.lacksMore === true ? { lacksMore: true as const } : {};
    return { nearest: { cell: near.cell, host: near.host, short: nearest.short, ...more, [NEAR]: nearest } };
  };
  return reasons.map(({ code, about, message, hosts, nearest }) => ({
    code,
    ...present({ about, message }),
    hosts,
    ...(nearest === undefined ? {} : told(nearest)),
  }));
}

/**
 * What is told of the host that came nearest of all, in words: of one that falls short of that alone, if there is any.
 * Hosts of several cells may have one name.
 * @param options `butLackingMore`: of no host that lacks more. `count`: for how many instances at once it was counted.
 */
export function nearestMiss(
  { rankings, view }: Fleet,
  request: Request,
  refused: readonly RefusedHosts[],
  { butLackingMore, count }: { readonly butLackingMore: boolean; readonly count: number },
): string | null {
  // Those that hold some of the instances that keep together come nearer than any that hold none.
  const holdingSome = keepsTogether(request.spec) && refused.find(({ code }) => code === NO_ROOM_TOGETHER);
  if (holdingSome) {
    const { cell, host, short, [NEAR]: found } = (holdingSome.nearest ?? {}) as Partial<Nearest>;
    // It may have gone, or been filled, since it was counted; then none is named.
    const tree = found !== undefined && view.hosts.has(found.root) ? treeOf(view, found.root) : [];
    if (tree.length === 0 || fit(request.spec, tree) === null) return null;
    return `${cell}/${host}: room for all but ${short} of the instances`;
  }
  const together = keepsTogether(request.spec) ? count : 1;
  const near = refused
    .flatMap(({ nearest, ...reason }) => {
      const { cell = '', host = '', short = 0, [NEAR]: found } = (nearest ?? {}) as Partial<Nearest>;
      if (found === undefined) return [];
      const { root, lacksMore = false } = found;
      if (lacksMore && butLackingMore) return [];
      const share = shareShort(request.spec, reason, short, together);
      return [{ cell, host, root, code: reason.code, short, lacksMore, share }];
    })
    .sort(
      (one, other) =>
        Number(one.lacksMore) - Number(other.lacksMore) || one.share - other.share || one.short - other.short,
    );
  const filters = allFiltersFor(rankings.filters, request);
  for (const { cell, host: name, root, code, short, lacksMore } of near) {
    const host = view.hosts.get(root);
    const { obstacle: ofOne } = host === undefined ? { obstacle: null } : judge(view, filters, request.spec, host);
    const obstacle = ofOne && shortForAll(ofOne, request.spec, treeOf(view, root), together);
    // Where a filter refuses it that was not asked before, it is not what it is short of that stands in the way.
    if (obstacle?.code !== code || obstacle.short !== short) continue;
    const { silentCells, silentShards } = silentOf(view, cell, root);
    const isSilent = silentCells.length + silentShards.length > 0;
    return `${cell}/${name}${isSilent ? ' (of which nothing was heard lately)' : ''}: ${obstacle.message}${lacksMore ? ', and more stands in its way' : ''}`;
  }
  return null;
}

/**
 * Which part of what is asked of a class is not there: amounts of two classes cannot be compared. What filters count by
 * measures of their own comes last.
 */
function shareShort(
  { groups }: RequestSpec,
  { code, about = '' }: Pick<RefusedHosts, 'code' | 'about'>,
  short: number,
  count: number,
) {
  // What units do not allow is counted of one.
  const times = code === 'exceeds-capacity' ? count : 1;
  const asked = times * groups.reduce((sum, { resources }) => sum + (resources[about] ?? 0), 0);
  const isOfClass = code === 'exceeds-capacity' || code === 'unit-constraint';
  return isOfClass && asked > 0 ? short / asked : Number.MAX_VALUE;
}
