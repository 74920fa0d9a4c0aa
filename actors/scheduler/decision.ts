// The record of each decision while it is made: what was known when a host was ranked, the claims that were refused, and
// in the end the alternates. The numbers come from figures that the ranking keeps anyway.

import type { Selection } from '../../machines/instance-build.ts';
import type { RequestSpec } from '../messages/common.ts';
import type { RefusedClaim, Weighing } from '../messages/decision.ts';
import {
  type DecisionToPack,
  isOfPlace,
  MAX_CLAIMS_TOLD,
  packDecision,
  textOfWeighing,
  type WeighingText,
} from '../messages/stored-decision.ts';
import { withoutHostNames, withoutOpened } from '../messages/where.ts';
import { isSoft, keepsTogether } from '../placement/groups.ts';
import { placementShardOf } from '../routing.ts';
import type { FurtherHosts } from './explaining/further-hosts.ts';
import { ROOM_TOGETHER } from './explaining/room-together.ts';
import { refusedByRank, refusedHosts, standing } from './explaining/standing.ts';
import { INSTANCE_GROUP, membersAllowedAtMost } from './group-rules.ts';
import { firstOfGroup, type Picked } from './grouping.ts';
import { type Ranked, rankedOf } from './picking.ts';
import { mostRefusingFirst } from './ranking/census.ts';
import { type Fleet, lateFiltersOf, shapeOf } from './ranking/ranking.ts';
import type { Shape } from './ranking/shape.ts';
import type { Weighed } from './ranking/weighings.ts';
import type { Request } from './request.ts';
import { hasMembers, membersOn, rootsOf } from './view/groups-view.ts';
import { silentAmong } from './view/silence.ts';
import { treeOf, type View, type ViewHost } from './view/view.ts';
import { factsOf } from './view/view-hosts.ts';
import { type AskedWeigher, contributionOf, type Overrides } from './weighers/weigher.ts';

/** How many hosts a record weighs beside the best one. */
const RUNNERS_UP = 2;

/**
 * At how many hosts the filters look that are asked only when one is picked, for the record alone: a tenth of a millisecond.
 * For several that keep together a host is looked at as often as they are.
 */
const MAX_LOOKED_AT = 64;

/** How many names of hosts that a request names are kept in the record of an instance. */
const MAX_HOST_NAMES = 8;

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

/** A record that is not finished: how it ends is not in it yet. */
export interface Draft extends Writable<DecisionToPack> {
  refusedClaims: RefusedClaim[];
  /** What is said of the hosts that fit when the request fails all the same; null: it fails by something else. */
  ofFitting: string | null;
}

export function emptyDraft({ where }: Pick<Request, 'where'>): Draft {
  return {
    at: 0,
    scheduler: '',
    waitedSince: undefined,
    chosen: undefined,
    alternates: [],
    alternatesAsked: undefined,
    furtherInCell: undefined,
    furtherElsewhere: undefined,
    where,
    hosts: 0,
    fits: 0,
    refused: [],
    absent: undefined,
    unknown: undefined,
    room: undefined,
    runsOut: undefined,
    tooLarge: undefined,
    groupHeld: undefined,
    onNamed: undefined,
    weights: [],
    group: undefined,
    ofFitting: null,
    claimsRefused: 0,
    refusedClaims: [],
    advice: [],
    narrowedBy: [],
    silentCells: [],
    silentShards: [],
    shards: undefined,
  };
}

/**
 * Notes how all hosts stand to a request, as it is ranked. Filters that are asked only when a host is picked look at all
 * that are left where these are not many; else they are named. So it is with room for all that keep together.
 * @param count For how many instances together.
 */
export function noteStanding(draft: Draft, fleet: Fleet, request: Request, count: number): void {
  const { rankings, view } = fleet;
  const shape = shapeOf(fleet, request);
  const { current } = shape;
  const late = lateFiltersOf(rankings, request);
  const isTogether = count > 1 && keepsTogether(request.spec);
  Object.assign(draft, silentAmong(view));
  const looks = current.size * (isTogether ? count : 1);
  if ((late.length > 0 || isTogether) && looks <= MAX_LOOKED_AT) return noteAll(draft, fleet, request, count);
  const byGroup = late.length > 0 ? [] : refusedByGroup(view, request.spec, shape);
  draft.hosts = view.hosts.size;
  draft.fits = byGroup.reduce((fits, { hosts }) => fits - hosts, current.size);
  draft.refused = mostRefusingFirst([...refusedHosts(view, refusedByRank(fleet, request), late), ...byGroup]);
  draft.narrowedBy = [
    ...late.map(({ filter }) => filter.name),
    ...(late.length > 0 && request.spec.instanceGroup !== undefined ? [INSTANCE_GROUP] : []),
    ...(isTogether ? [ROOM_TOGETHER] : []),
  ];
}

/** How many of the hosts that fit the rule of the request's group refuses: those where its members are, or all others. */
function refusedByGroup({ groups }: View, spec: RequestSpec, shape: Shape) {
  const { instanceGroup: group } = spec;
  if (group === undefined || isSoft(group) || !hasMembers(groups, group.id)) return [];
  const { current } = shape;
  const refused =
    group.policy === 'affinity'
      ? current.size - rootsOf(groups, group.id).filter((root) => current.has(root)).length
      : shape.first.fullFor(group.id, membersAllowedAtMost(spec));
  return refused === 0 ? [] : [{ code: `group-${group.policy}`, hosts: refused }];
}

/** Notes how all hosts stand, each looked at by every filter. */
export function noteAll(draft: Draft, fleet: Fleet, request: Request, count: number): void {
  Object.assign(draft, {
    ...standing(fleet, request, count),
    narrowedBy: [],
    ...silentAmong(fleet.view),
  });
}

/**
 * Notes the host that was picked, and those that came next.
 * @param count For how many instances together.
 */
export function noteRanked(draft: Draft, fleet: Fleet, request: Request, picked: Picked, count = 1): void {
  const { view } = fleet;
  if (picked.isForAll === true) draft.narrowedBy = [...draft.narrowedBy, ROOM_TOGETHER];
  const top = firstOfGroup(fleet, request, count, RUNNERS_UP + 1, picked);
  const shape = shapeOf(fleet, request);
  const taken = shape.current.get(picked.found.root) as Weighed;
  const all = top.includes(taken) ? top : [...top.slice(0, RUNNERS_UP), taken];
  draft.weights = all.map((one) => toldOf(fleet, shape, one));
  draft.shards = view.silentShards.size === 0 ? undefined : all.map(({ root }) => placementShardOf(root, view.shards));
  const group = request.spec.instanceGroup;
  if (group === undefined) return;
  draft.group = { policy: group.policy, members: all.map(({ root }) => membersOn(view.groups, group.id, root)) };
}

/** Written once for each weighing of a host: those that come next are told of again and again. */
function toldOf(fleet: Fleet, shape: Shape, one: Weighed): WeighingText {
  const { rankings, view } = fleet;
  one.told ??= textOfWeighing(weighingOf(shape.weighers, rankings.overrides, view, rankedOf(fleet, shape, one)));
  return one.told;
}

/**
 * Notes that an earlier question had been granted a host: whatever that weighs, it is not for its weight that it is taken, and
 * it is told as none of those that were weighed.
 */
export function noteGrantedEarlier(draft: Draft, held: Pick<Selection, 'cell' | 'host'>): void {
  const at = draft.weights.findIndex((one) => isOfPlace(one, held));
  if (at === -1) return;
  const others = <One>(all: readonly One[]) => all.filter((_, position) => position !== at);
  draft.weights = others(draft.weights);
  if (draft.shards !== undefined) draft.shards = others(draft.shards);
  if (draft.group !== undefined) draft.group = { ...draft.group, members: others(draft.group.members) };
}

/** Notes a claim that placement refused. */
export function noteRefused(draft: Draft, { cell, host }: Selection, code: string, message: string): void {
  draft.claimsRefused += 1;
  draft.refusedClaims.push({ cell, host, code, message });
  if (draft.refusedClaims.length > MAX_CLAIMS_TOLD) draft.refusedClaims.shift();
}

/** Notes the refused claims of the other instances of a request that fails: one record is told of all of them. */
export function noteRefusedOfOthers(draft: Draft, all: Iterable<Draft>): void {
  const others = [...all].filter((one) => one !== draft && one.claimsRefused > 0);
  for (const { claimsRefused } of others) draft.claimsRefused += claimsRefused;
  const claims = [...others.flatMap(({ refusedClaims }) => refusedClaims), ...draft.refusedClaims];
  draft.refusedClaims = claims.slice(-MAX_CLAIMS_TOLD);
}

/** Notes the hosts that are left to try beside those that were chosen and named. */
export function noteFurther(draft: Draft, { furtherInCell, furtherElsewhere }: FurtherHosts): void {
  draft.furtherInCell = furtherInCell;
  draft.furtherElsewhere = furtherElsewhere;
}

/**
 * The names of hosts that a request names are kept with it for as long as it has none. Of an instance that has a host
 * nothing else tells them: in its record they are kept, if they are few.
 */
function withFewHostNames(where: Request['where'], most: number): Request['where'] {
  const { hosts = [], avoidHosts = [] } = where?.origins ?? {};
  return hosts.length + avoidHosts.length <= most ? where : withoutHostNames(where);
}

/**
 * The finished record, as it is kept.
 * @param wanted How many alternates were asked for.
 */
export function decided(
  draft: Draft,
  at: number,
  scheduler: string,
  chosen: Selection | null,
  alternates: readonly Selection[],
  wanted = 0,
): string {
  draft.at = at;
  draft.scheduler = scheduler;
  draft.chosen = chosen ?? undefined;
  draft.where = withFewHostNames(withoutOpened(draft.where), chosen === null ? 0 : MAX_HOST_NAMES);
  draft.alternates = alternates.map(({ host }) => host);
  draft.alternatesAsked = alternates.length < wanted ? wanted : undefined;
  return packDecision(draft);
}

/** The weight of a host that fits, and each weigher's part in it. */
export function weighingOf(
  weighers: readonly AskedWeigher[],
  overrides: Overrides,
  view: View,
  { root, cell, host, weight, allocations }: Ranked,
): Weighing {
  const tree = treeOf(view, root);
  const candidate = { host: factsOf(view, view.hosts.get(root) as ViewHost, tree), tree, allocations };
  const parts: Record<string, number> = {};
  for (const asked of weighers) parts[asked.weigher.name] = contributionOf(asked, candidate, overrides);
  return { cell, host, weight, parts };
}
