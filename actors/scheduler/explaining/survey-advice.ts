// Those who advise on a request while its hosts are surveyed: what they know of hosts, and what they are told of one that
// refuses.

import type { RequestSpec } from '../../messages/common.ts';
import { traitsRequired } from '../../messages/where.ts';
import { keepsTogether } from '../../placement/groups.ts';
import { type Adviser, newAdviser } from '../advice/adviser.ts';
import { allBuilt, emptied, mayServeIfEmpty, mayServeWhenBuilt } from '../advice/empty.ts';
import {
  consider,
  considerAway,
  considerBuilt,
  considerEmpty,
  considerFilter,
  considerGroup,
  considerHeldBack,
  considerOwnRule,
  considerWish,
} from '../advice/hosts.ts';
import { wishesOf } from '../advice/places.ts';
import { ALWAYS } from '../filters/always.ts';
import { company } from '../filters/company.ts';
import { type Asked, limitersOf, refusedBy } from '../filters/filter.ts';
import { serviceState } from '../filters/service-state.ts';
import { groupSoFar, INSTANCE_GROUP, membersAllowed } from '../group-rules.ts';
import { instancesLeft } from '../instance-room.ts';
import { allFiltersFor } from '../ranking/judging.ts';
import type { Rankings } from '../ranking/ranking.ts';
import type { Request } from '../request.ts';
import { membersOn } from '../view/groups-view.ts';
import { isAnySilenced, type Silenced, silencedFor } from '../view/silence.ts';
import { treeOf, type View, type ViewHost } from '../view/view.ts';
import { factsOf } from '../view/view-hosts.ts';
import { isTold, refusingOf, WISHES } from './more-obstacles.ts';

/** Those who advise on a request. */
export interface Advisers {
  /** On hosts of which nobody is silent. */
  readonly ofHeard: Adviser;
  /** On all, where some are silent. */
  readonly ofAll: Adviser | undefined;
}

/** @param silent Who is silent as the survey begins. */
export function newAdvisers(
  rankings: Rankings,
  view: View,
  request: Request,
  count: number,
  silent: Silenced,
): Advisers {
  const { spec } = request;
  const newOne = (more: Pick<Adviser, 'silencedOn'> = {}) =>
    newAdviser(spec, count, {
      membersAllowed: (asked, root) => membersAllowed(view, asked, root),
      instancesAllowed: (root, but) => leftOn(rankings, view, request, root, but),
      limits: rankings.limits.map(({ name }) => name),
      limitersOn: (root, name, more) => limitersOn(rankings, view, root, name, more),
      letBy: letByAll(letByOwn(rankings, view, request), letByTraits(view, request)),
      group: groupSoFar(view, spec),
      mustStay: (root) => hasCompany(view, request, root),
      ...more,
    });
  const silencedOn = (root: string) => silencedFor(silent, view.hosts.get(root)?.cell ?? '', root, view.shards);
  return { ofHeard: newOne(), ofAll: isAnySilenced(silent) ? newOne({ silencedOn }) : undefined };
}

/** Those who are told of a host. */
export function advisersOn({ ofHeard, ofAll }: Advisers, isHeard: boolean): Adviser[] {
  return [...(isHeard ? [ofHeard] : []), ...(ofAll === undefined ? [] : [ofAll])];
}

/** Whether on some host not all was tried. */
export const isCut = ({ ofHeard, ofAll }: Advisers): boolean => ofHeard.isCut || ofAll?.isCut === true;

export const holdsNewGroup = ({ ofHeard, ofAll }: Advisers): boolean =>
  ofHeard.holdsNewGroup || ofAll?.holdsNewGroup === true;

/** Whether a host has instances that the request must be with: those whose host it is to share, or members of its group. */
function hasCompany({ groups }: View, { spec, company }: Request, root: string): boolean {
  const { instanceGroup } = spec;
  const hasMembers = instanceGroup !== undefined && membersOn(groups, instanceGroup.id, root) > 0;
  return company?.near?.has(root) === true || (keepsTogether(spec) && hasMembers);
}

/** How many more instances a host may have, as far as filters limit that. */
export function leftOn(rankings: Rankings, view: View, request: Request, root: string, but?: string): number {
  if (rankings.limits.length === 0) return Number.POSITIVE_INFINITY;
  const host = view.hosts.get(root);
  if (host === undefined || !isTold(view, root)) return 0;
  return instancesLeft(rankings, request, factsOf(view, host, treeOf(view, root)), but);
}

/** The aggregates by whose limits a filter keeps a host from so many more. */
function limitersOn({ limits }: Rankings, view: View, root: string, name: string, more: number): readonly string[] {
  const host = view.hosts.get(root);
  const filter = limits.find((limit) => limit.name === name);
  if (filter === undefined || host === undefined || !isTold(view, root)) return [];
  return limitersOf(filter, factsOf(view, host, treeOf(view, root)), more);
}

/** Filters of a deployment's own, asked again of a request that asks for something else of the same hosts. */
function letByOwn({ filters }: Rankings, view: View, request: Request): Adviser['letBy'] {
  const own = filters.filter((filter) => !ALWAYS.includes(filter));
  if (own.length === 0) return undefined;
  const askedOf = new WeakMap<RequestSpec, readonly Asked[]>();
  return (spec, root) => {
    const host = view.hosts.get(root);
    if (host === undefined || !isTold(view, root)) return false;
    const asked = askedOf.get(spec) ?? allFiltersFor(own, { ...request, spec });
    askedOf.set(spec, asked);
    return refusedBy(asked, factsOf(view, host, treeOf(view, root))) === null;
  };
}

/** Hosts that are kept for requests which require some traits: one that asks for less may not have them any more. */
function letByTraits(view: View, { where }: Request): Adviser['letBy'] {
  const opened = where?.origins?.opened;
  if (opened === undefined) return undefined;
  const closedTo = new WeakMap<RequestSpec, readonly string[]>();
  return (spec, root) => {
    let closed = closedTo.get(spec);
    if (closed === undefined) {
      const required = traitsRequired(spec);
      closed = opened.filter(({ traits }) => !traits.every((one) => required.has(one))).map((one) => one.aggregate);
      closedTo.set(spec, closed);
    }
    if (closed.length === 0) return true;
    const aggregates = view.providers.get(root)?.aggregates;
    return !closed.some((id) => aggregates?.has(id));
  };
}

function letByAll(one: Adviser['letBy'], other: Adviser['letBy']): Adviser['letBy'] {
  if (one === undefined || other === undefined) return one ?? other;
  return (spec, root) => other(spec, root) && one(spec, root);
}

/** Notes of a host that is refused what could let it serve. */
export function advise(
  adviser: Adviser,
  rankings: Rankings,
  view: View,
  request: Request,
  host: ViewHost,
  hasFailed: boolean,
): void {
  const { root } = host;
  if (!isTold(view, root)) return;
  const { filters } = rankings;
  const tree = treeOf(view, root);
  const facts = factsOf(view, host, tree);
  const refusing = (asked: Request) => refusingOf(filters, view, asked, root, facts);
  const names = refusing(request);
  const [only, ...more] = names;
  if (only === undefined) return consider(adviser, tree, () => emptied(rankings, request, facts));
  const isOnlyBusy = (): boolean => {
    if (!mayServeWhenBuilt(rankings, request, facts, names)) return false;
    const allowed = instancesLeft(rankings, request, allBuilt(facts));
    return considerBuilt(adviser, tree, Math.min(allowed, membersAllowed(view, request.spec, host.root)));
  };
  if (!isOnlyBusy() && names.every((name) => isByWhatRuns(rankings, name))) {
    const empty = emptied(rankings, request, facts);
    if (mayServeIfEmpty(rankings, view, request, empty, root, names)) considerEmpty(adviser, tree, empty);
  }
  if (names.every((name) => isOwn(rankings, name))) considerHeldBack(adviser, tree);
  if (more.length > 0) return;
  if (only === serviceState.name) return considerAway(adviser, host, facts);
  if (only === INSTANCE_GROUP) {
    considerGroup(adviser, tree);
    const { byOwnRule } = adviser.group;
    if (byOwnRule === undefined) return;
    const asked = { ...request, spec: { ...request.spec, instanceGroup: byOwnRule } };
    if (refusing(asked).length === 0) considerOwnRule(adviser, byOwnRule, tree);
    return;
  }
  if (!WISHES.has(only)) return considerFilter(adviser, only, hasFailed, tree);
  for (const wish of wishesOf(request, facts)) {
    if (refusing(wish.without).length === 0) considerWish(adviser, wish, tree);
  }
}

/** Whether it is a filter of a deployment's own that may go by what is asked for. */
const isOwn = ({ filters, limits }: Rankings, name: string): boolean =>
  filters.some((filter) => filter.name === name && !ALWAYS.includes(filter) && !limits.includes(filter));

/** Whether it may refuse a host for the instances that run there. */
const isByWhatRuns = ({ limits }: Rankings, name: string): boolean =>
  name === INSTANCE_GROUP || name === company.name || limits.some((limit) => limit.name === name);
