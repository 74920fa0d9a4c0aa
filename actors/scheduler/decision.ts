// The record of each decision while it is made: what was known when a host was ranked, the claims that were refused, and
// in the end the alternates. The numbers come from figures that the ranking keeps anyway.

import type { Selection } from '../../machines/instance-build.ts';
import type { RequestSpec } from '../messages/common.ts';
import type { RefusedClaim, RefusedHosts, Weighing } from '../messages/decision.ts';
import {
  type DecisionToPack,
  MAX_CLAIMS_TOLD,
  packDecision,
  textOfWeighing,
  type WeighingText,
} from '../messages/stored-decision.ts';
import { isSoft } from '../placement/groups.ts';
import { present } from '../present.ts';
import { placementShardOf } from '../routing.ts';
import { type Counted, counted, emptyCensus, type NearHost, refuse } from './census.ts';
import { type Asked, refusedBy } from './filters/filter.ts';
import { groupAllows, toldMisfitOfGroup } from './group-rules.ts';
import { firstOfGroup, lackOfRoom, type Picked } from './grouping.ts';
import { membersOn, rootsOf } from './groups-view.ts';
import { allFiltersFor, judge } from './judging.ts';
import { type Ranked, rankedOf } from './picking.ts';
import { lateFiltersOf, type Rankings, type Shape, shapeOf, type Weighed } from './ranking.ts';
import type { Request } from './request.ts';
import { treeOf, type View, type ViewHost } from './view.ts';
import { factsOf } from './view-hosts.ts';
import { type AskedWeigher, contributionOf, type Overrides, weighersFor } from './weighers/weigher.ts';

/** How many hosts a record weighs beside the best one. */
const RUNNERS_UP = 2;

/** At how many hosts the filters look that are asked only when one is picked, for the record alone: a tenth of a millisecond. */
const MAX_LOOKED_AT = 64;

/** The name by which the rule of an instance group stands among filters. */
export const INSTANCE_GROUP = 'instance-group';

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

/** A record that is not finished: how it ends is not in it yet. */
export interface Draft extends Writable<Omit<DecisionToPack, 'at' | 'scheduler' | 'chosen' | 'alternates'>> {
  refusedClaims: RefusedClaim[];
  /** What is said of the hosts that fit when the request fails all the same; null: it fails by something else. */
  ofFitting: string | null;
}

export function emptyDraft({ where }: Pick<Request, 'where'>): Draft {
  return {
    where,
    hosts: 0,
    fits: 0,
    refused: [],
    absent: undefined,
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
 * that are left where these are not many; else they are named. One that has room for one instance counts as one that fits.
 */
export function noteStanding(draft: Draft, rankings: Rankings, view: View, request: Request): void {
  const { current, census } = shapeOf(rankings, view, request);
  const late = lateFiltersOf(rankings, request);
  Object.assign(draft, silentAmong(view));
  if (late.length > 0 && current.size <= MAX_LOOKED_AT) return noteAll(draft, rankings, view, request, 1);
  const byGroup = late.length > 0 ? [] : refusedByGroup(view, request.spec, current);
  draft.hosts = view.hosts.size;
  draft.fits = byGroup.reduce((fits, { hosts }) => fits - hosts, current.size);
  draft.refused = [...refusedHosts(view, counted(census), late), ...byGroup].sort(
    (one, other) => other.hosts - one.hosts,
  );
  draft.narrowedBy = late.map(({ filter }) => filter.name);
  if (late.length > 0 && request.spec.instanceGroup !== undefined) {
    draft.narrowedBy = [...draft.narrowedBy, INSTANCE_GROUP];
  }
}

/** How many of some hosts the rule of the request's group refuses: those where its members are, or all others. */
function refusedByGroup(view: View, spec: RequestSpec, hosts: { readonly size: number; has(root: string): boolean }) {
  const { instanceGroup: group } = spec;
  if (group === undefined || isSoft(group)) return [];
  const roots = rootsOf(view.groups, group.id);
  if (roots.length === 0) return [];
  const allowed = roots.filter((root) => hosts.has(root) && groupAllows(view, spec, root)).length;
  const refused =
    group.policy === 'affinity' ? hosts.size - allowed : roots.filter((root) => hosts.has(root)).length - allowed;
  return refused === 0 ? [] : [{ code: `group-${group.policy}`, hosts: refused }];
}

interface Silent {
  readonly silentCells: readonly string[];
  readonly silentShards: readonly number[];
}

const NONE_SILENT: Silent = { silentCells: [], silentShards: [] };

/** The cells and placement shards that nothing was heard of lately. */
export function silentAmong({ silentCells, silentShards }: View): Silent {
  if (silentCells.size === 0 && silentShards.size === 0) return NONE_SILENT;
  return { silentCells: [...silentCells].sort(), silentShards: [...silentShards].sort((one, other) => one - other) };
}

/** Notes how all hosts stand, each looked at by every filter. */
export function noteAll(draft: Draft, rankings: Rankings, view: View, request: Request, count: number): void {
  Object.assign(draft, {
    ...standing(rankings, view, request, count),
    narrowedBy: [],
    ...silentAmong(view),
  });
}

/**
 * Notes the host that was picked, and those that came next.
 * @param count For how many instances together.
 */
export function noteRanked(
  draft: Draft,
  rankings: Rankings,
  view: View,
  request: Request,
  picked: Picked,
  count = 1,
): void {
  const top = firstOfGroup(rankings, view, request, count, RUNNERS_UP + 1, picked);
  const shape = shapeOf(rankings, view, request);
  const taken = shape.current.get(picked.found.root) as Weighed;
  const all = top.includes(taken) ? top : [...top.slice(0, RUNNERS_UP), taken];
  draft.weights = all.map((one) => toldOf(rankings, view, shape, one));
  draft.shards = view.silentShards.size === 0 ? undefined : all.map(({ root }) => placementShardOf(root, view.shards));
  const group = request.spec.instanceGroup;
  if (group === undefined) return;
  draft.group = { policy: group.policy, members: all.map(({ root }) => membersOn(view.groups, group.id, root)) };
}

/** Written once for each weighing of a host: those that come next are told of again and again. */
function toldOf(rankings: Rankings, view: View, shape: Shape, one: Weighed): WeighingText {
  one.told ??= textOfWeighing(
    weighingOf(shape.weighers, rankings.overrides, view, rankedOf(rankings, view, shape, one)),
  );
  return one.told;
}

/** Notes a claim that placement refused. */
export function noteRefused(draft: Draft, { cell, host }: Selection, code: string, message: string): void {
  draft.claimsRefused += 1;
  draft.refusedClaims.push({ cell, host, code, message });
  if (draft.refusedClaims.length > MAX_CLAIMS_TOLD) draft.refusedClaims.shift();
}

/** The finished record, as it is kept. */
export function decided(
  draft: Draft,
  at: number,
  scheduler: string,
  chosen: Selection | null,
  alternates: readonly Selection[],
): string {
  return packDecision({
    ...draft,
    at,
    scheduler,
    chosen: chosen ?? undefined,
    alternates: alternates.map(({ host }) => host),
  });
}

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
export function standing(rankings: Rankings, view: View, request: Request, count: number): Standing {
  const { current, census } = shapeOf(rankings, view, request);
  const late = lateFiltersOf(rankings, request);
  const refused = counted(census);
  let fits = current.size;
  if (late.length > 0 || request.spec.instanceGroup !== undefined) {
    const lately = emptyCensus();
    for (const root of current.keys()) {
      const host = view.hosts.get(root) as ViewHost;
      const by = refusedBy(late, factsOf(view, host, treeOf(view, root)));
      const refusal =
        by?.refusal ?? toldMisfitOfGroup(view, request.spec, root) ?? lackOfRoom(rankings, view, request, root, count);
      if (refusal !== null) refuse(lately, root, { ...refusal, short: undefined });
    }
    fits -= lately.refused.size;
    refused.push(...counted(lately));
    refused.sort((one, other) => other.hosts - one.hosts);
  }
  return { hosts: view.hosts.size, fits, refused: refusedHosts(view, refused, late) };
}

/** The host that came nearest, as the census has it: for whoever goes on with it here; it is no part of messages and records. */
const NEAR = Symbol('near');

type Nearest = NonNullable<RefusedHosts['nearest']> & { readonly [NEAR]?: NearHost };

/**
 * What a census counted, with the hosts by their names.
 * @param unasked Filters that hosts were not asked by: one that they refuse came near to nothing.
 */
export function refusedHosts(view: View, reasons: readonly Counted[], unasked: readonly Asked[] = []): RefusedHosts[] {
  const mayServe = (host: ViewHost, root: string) =>
    unasked.length === 0 || refusedBy(unasked, factsOf(view, host, treeOf(view, root))) === null;
  return reasons.map(({ code, about, message, hosts, nearest }) => {
    const more = nearest?.lacksMore === true ? { lacksMore: true as const } : {};
    const named = nearest === undefined ? undefined : view.hosts.get(nearest.root);
    const near = named !== undefined && mayServe(named, nearest?.root ?? '') ? named : undefined;
    return {
      code,
      ...present({ about, message }),
      hosts,
      ...(near === undefined || nearest === undefined
        ? {}
        : { nearest: { cell: near.cell, host: near.host, short: nearest.short, ...more, [NEAR]: nearest } }),
    };
  });
}

/** The weighers that a request concerns, as the ranking asks them. */
export function weighersOf({ weighers }: Rankings, request: Request): readonly AskedWeigher[] {
  return weighersFor(weighers, request);
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

/**
 * What is told of the host that came nearest of all, in words: of one that falls short of that alone, if there is any.
 * Hosts of several cells may have one name.
 */
export function nearestMiss(
  rankings: Rankings,
  view: View,
  request: Request,
  refused: readonly RefusedHosts[],
): string | null {
  const near = refused
    .flatMap(({ nearest, ...reason }) => {
      const { cell = '', host = '', short = 0, [NEAR]: found } = (nearest ?? {}) as Partial<Nearest>;
      if (found === undefined) return [];
      const { root, lacksMore = false } = found;
      return [{ cell, host, root, short, lacksMore, share: shareShort(request.spec, reason, short) }];
    })
    .sort(
      (one, other) =>
        Number(one.lacksMore) - Number(other.lacksMore) || one.share - other.share || one.short - other.short,
    );
  const filters = allFiltersFor(rankings.filters, request);
  for (const { cell, host: name, root, short, lacksMore } of near) {
    const host = view.hosts.get(root);
    const obstacle = host === undefined ? null : judge(view, filters, request.spec, host).obstacle;
    // Where a filter refuses it that was not asked before, it is not what it is short of that stands in the way.
    if (obstacle?.short !== short) continue;
    return `${cell}/${name}: ${obstacle.message}${lacksMore ? ', and more stands in its way' : ''}`;
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
) {
  const asked = groups.reduce((sum, { resources }) => sum + (resources[about] ?? 0), 0);
  const isOfClass = code === 'exceeds-capacity' || code === 'unit-constraint';
  return isOfClass && asked > 0 ? short / asked : Number.MAX_VALUE;
}
