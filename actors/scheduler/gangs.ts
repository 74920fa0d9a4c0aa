// Requests that wait, as they are weighed up before they are tried. Those for several instances are placed together or not
// at all, as far as the view can tell, so that two that wait do not each hold what the other needs.

import type { Allocation } from '../../machines/instance-build.ts';
import { effort } from '../fitting/effort.ts';
import { MAX_LOOKS_TO_COUNT } from '../fitting/fit-times.ts';
import { keepsTogether } from '../placement/groups.ts';
import { noteAll } from './decision.ts';
import { whyNoneOf, whyNoneTogether } from './explaining/explain.ts';
import { isEnoughFor, roomTogether } from './explaining/room-together.ts';
import { cells } from './filters/cells.ts';
import { mayHaveMissed } from './following.ts';
import { GROUP_CONFLICT } from './group-rules.ts';
import { pickOfGroup } from './grouping.ts';
import { isSomebodyDue, lotOf } from './lots.ts';
import { allFiltersFor, judge } from './ranking/judging.ts';
import { type Fleet, lateFiltersOf, shapeOf } from './ranking/ranking.ts';
import type { Shape } from './ranking/shape.ts';
import type { Request } from './request.ts';
import { isOrdered } from './rounds.ts';
import { awaitsSearch } from './searching.ts';
import { countToPlace, draftOf } from './selecting.ts';
import type { Open, Parked, Work } from './state.ts';
import { promiseMember, rootCount } from './view/groups-view.ts';
import { promise } from './view/promises.ts';
import { expectNoMore, promiseBuild } from './view/view-hosts.ts';

/** Stands for an instance that is looked for a place only to see whether there is one. No instance has a space in its name. */
const nameOf = (place: number): string => `place ${place}`;

/** Room for several instances at once. */
interface RoomAtOnce {
  /** It is there only as hosts are counted: without what they would rather give. */
  readonly isCounted: boolean;
}

/** Whether there is room for so many instances at once; null when there is not. */
function roomAtOnce({ state }: Work, request: Request, count: number): RoomAtOnce | null {
  if (count > 1 && keepsTogether(request.spec)) {
    const picked = pickOfGroup(state, request, { count, isOfSeveral: true }, () => false, '');
    if (picked === null) return null;
    if (roomTogether(state, request, picked.found.root, count, effort.looks) === true) return { isCounted: true };
  }
  if (!isEnoughFor(state, request, count)) return null;
  if (fitsAll(state, request, count, false)) return { isCounted: false };
  const mayDiffer = count > 1 && state.rankings.preference !== undefined;
  return mayDiffer && fitsAll(state, request, count, true) ? { isCounted: true } : null;
}

/** Whether so many instances find places, one after the other. Nothing is held, nor counted as used, when it returns. */
function fitsAll(fleet: Fleet, request: Request, count: number, isCounted: boolean): boolean {
  const { view } = fleet;
  const places: { readonly root: string; readonly allocations: readonly Allocation[] }[] = [];
  const group = request.spec.instanceGroup?.id;
  const { revision } = view;
  const { policy } = request.spec.instanceGroup ?? {};
  const isTogether = policy === 'affinity' || policy === 'soft-affinity';
  while (places.length < count) {
    const left = isTogether && places.length > 0 ? 1 : count - places.length;
    const toPlace = { count: left, isOfSeveral: count > 1, isCounted };
    const found = pickOfGroup(fleet, request, toPlace, () => false, '')?.found;
    if (found === undefined) break;
    places.push(found);
    promiseBuild(view, nameOf(places.length), found.root, found.allocations);
    if (group !== undefined) promiseMember(view.groups, group, found.root, 1);
  }
  // What only seemed to be used has not come free, and nothing has changed.
  const { freed } = view;
  view.freed = null;
  for (const [index, { root, allocations }] of places.entries()) {
    expectNoMore(view, nameOf(index + 1));
    promise(view, root, allocations, -1);
    if (group !== undefined) promiseMember(view.groups, group, root, -1);
  }
  view.freed = freed;
  view.revision = revision;
  return places.length === count;
}

/** Whether each instance could have a host of its own, as hosts are ranked. */
function hasAmpleRoom({ state }: Work, { request }: Open, count: number): boolean {
  const group = request.spec.instanceGroup;
  if (keepsTogether(request.spec)) return false;
  // How many hosts of a cell fit is counted anyway.
  if (lateFiltersOf(state.rankings, request).some(({ filter }) => filter !== cells)) return false;
  const taken = group?.policy === 'anti-affinity' ? rootCount(state.view.groups, group.id) : 0;
  return hostsThatFit(shapeOf(state, request), request) - taken >= count;
}

/** How many hosts fit in the cells to which a request may go. */
function hostsThatFit(shape: Shape, { where }: Request): number {
  const inAll = (some: readonly string[]) => [...new Set(some)].reduce((sum, cell) => sum + shape.fitsIn(cell), 0);
  const { cells: named, avoidCells = [] } = where ?? {};
  return named === undefined ? shape.current.size - inAll(avoidCells) : inAll(named);
}

/** Whether there is room for all of several instances, noted; undefined while it is too early to say that there is none. */
export function isRoomForAll(work: Work, open: Open): boolean | undefined {
  const count = open.asked.instances.length;
  if (hasAmpleRoom(work, open, count) || notesRoom(work, open, count)) return true;
  return mayHaveMissed(work) || awaitsSearch(work, open) ? undefined : false;
}

/** Whether there is room for so many of its instances; how they are to be placed then is noted. */
export function notesRoom(work: Work, open: Open, count: number): boolean {
  const room = roomAtOnce(work, open.request, count);
  if (room !== null) open.isCounted = room.isCounted;
  return room !== null;
}

/**
 * Whether it must be known of all instances what they hold before any is placed: an earlier question, whose answer was
 * lost, may have been granted some.
 */
export function gathersFirst(work: Work, one: Pick<Open, 'key' | 'asked'>, isInTurn: boolean): boolean {
  const { waits, instances, round } = one.asked;
  if (instances.length > 1) return waits !== undefined || (isOrdered(work, one) && round > 1);
  return waits !== undefined && !isInTurn && (isSomebodyDue(work) || lotOf(work, one) !== undefined);
}

/** What is said of hosts with room, to one that is not tried as others that ask for the same wait. */
const FOR_THE_FIRST = 'with room for whoever is first in line';

/** That there is no room for all together, or only for those who came before. It looks no oftener than it must. */
export function whyNotTried(work: Work, open: Open, instance: string, isBehind: boolean): string {
  const { state } = work;
  const { request } = open;
  const count = countToPlace(open);
  const draft = draftOf(open, instance);
  noteAll(draft, state, request, count);
  const isRoom = isBehind && (count === 1 || (draft.fits > 0 && roomAtOnce(work, request, count) !== null));
  if (!isRoom) return whyNoneTogether(state, request, count, draft);
  draft.ofFitting = FOR_THE_FIRST;
  return whyNoneOf(state, request, draft, FOR_THE_FIRST, { count });
}

/**
 * Whether a host, by its root, has room for one instance of a request, or for all of those that must keep together. That its
 * group has another rule is for placement to say: whoever brought that may be gone by now. If not, the request fails, as it
 * should.
 */
export function admits({ state }: Work, { asked: { instances }, request }: Parked, root: string): boolean {
  const { view, rankings } = state;
  const host = view.hosts.get(root);
  if (host === undefined) return false;
  // Nobody is told what the host lacks, and all kinds that wait look at each host that has changed.
  const isExplained = false;
  const filters = allFiltersFor(rankings.filters, request);
  const { obstacle } = judge(view, filters, request.spec, host, undefined, true, isExplained);
  if (obstacle !== null) return obstacle.code === GROUP_CONFLICT;
  return roomTogether(state, request, root, instances.length, effort.looks + MAX_LOOKS_TO_COUNT) !== false;
}

/** Whether there is room for all instances of a request. */
export function anyAdmits(work: Work, { asked: { instances }, request }: Pick<Parked, 'asked' | 'request'>): boolean {
  if (instances.length > 1) return roomAtOnce(work, request, instances.length) !== null;
  return pickOfGroup(work.state, request, { count: 1, isOfSeveral: false }, () => false, '') !== null;
}
