// Picking hosts from the ranking that a request shares with others: here what the request says for itself counts, such
// as the cells and hosts that it names, and chance, so that several schedulers do not all run to the same host.

import type { Allocation } from '../../machines/instance-build.ts';
import { effort, spend } from '../fitting/effort.ts';
import { fit } from '../fitting/fit.ts';
import { fnv1a, scattered } from '../routing.ts';
import { refusedBy } from './filters/filter.ts';
import type { Choice } from './ranking/first-in-rank.ts';
import { before } from './ranking/heap.ts';
import { lookAgainFor } from './ranking/judging.ts';
import { type Fleet, lateFiltersOf, shapeOf } from './ranking/ranking.ts';
import type { Several } from './ranking/several.ts';
import type { Shape } from './ranking/shape.ts';
import { HEARINGS, type Hearing } from './ranking/stands.ts';
import type { Weighed } from './ranking/weighings.ts';
import type { Request } from './request.ts';
import type { FullBy } from './view/groups-view.ts';
import { isShardSilent, SILENCE, type Silence } from './view/silence.ts';
import { treeOf, type View, type ViewHost } from './view/view.ts';
import { factsOf } from './view/view-hosts.ts';

export interface Ranked {
  readonly root: string;
  readonly cell: string;
  readonly host: string;
  readonly weight: number;
  readonly allocations: readonly Allocation[];
}

/** The hosts of a cell whose placement shard was heard lately, or those whose shard is silent. */
export interface PartOfCell {
  readonly cell: string;
  readonly hearing: Hearing;
}

type Accept = (one: Weighed) => boolean;
type Cells = Pick<Choice, 'cells' | 'avoids'>;

/**
 * The best host that `skip` does not name, or one of the best few: one of the cells that the request prefers, whatever it
 * weighs, if there is any there; one of a silent cell or placement shard, which may take its time, only if there is no
 * other at all.
 * @param seed Makes chance repeatable: the same seed picks the same of the best few.
 * @param several The only hosts that may do, where there must be room for several at once.
 * @param full Of which `skip` names all.
 */
export function best(
  fleet: Fleet,
  request: Request,
  skip: (root: string) => boolean,
  seed = '',
  several?: Several,
  full?: FullBy,
): Ranked | null {
  const { rankings, view } = fleet;
  const shape = shapeOf(fleet, request);
  const accept = acceptedBy(fleet, request, skip);
  const named = namedBy(request);
  const preferCells = request.where?.preferCells;
  const pickIn = (silence: Silence, isPreferred: boolean): Weighed | undefined => {
    const hearing = silence === SILENCE.ofShard ? 'silent' : 'heard';
    const part = partOfFleet(fleet, request, silence, preferCells === undefined ? undefined : isPreferred);
    const { cells, avoids } = part;
    if (named !== null) {
      const isThere: Accept = (one) =>
        hearingOf(view, one.root) === hearing && isInCells(part, one.cell) && accept(one);
      return byChance(among(shape, named, isThere).slice(0, rankings.pickAmong), rankings.salt, seed);
    }
    const choice: Choice = { hearings: [hearing], cells, avoids, several, full };
    if (rankings.pickAmong === Number.POSITIVE_INFINITY) {
      return shape.first.anyOf(choice, accept, drawer(`${rankings.salt} ${seed}`));
    }
    return byChance(shape.first.bestOf(choice, rankings.pickAmong, accept), rankings.salt, seed);
  };
  const pick = (silence: Silence) =>
    pickIn(silence, true) ?? (preferCells === undefined ? undefined : pickIn(silence, false));
  const found =
    pick(SILENCE.ofNobody) ??
    (view.silentCells.size === 0 ? undefined : pick(SILENCE.ofCell)) ??
    (view.silentShards.size === 0 ? undefined : pick(SILENCE.ofShard));
  return found === undefined ? null : rankedOf(fleet, shape, found);
}

/** One of the best few; the same seed draws the same. */
export function byChance<One>(few: readonly One[], salt: string, seed: string): One | undefined {
  return few[few.length < 2 ? 0 : fnv1a(`${salt} ${seed}`) % few.length];
}

/** Draws a number below another, each as likely as the others, and another one each time; the same seed draws the same. */
function drawer(seed: string): (below: number) => number {
  let draws = 0;
  return (below) => {
    draws += 1;
    return scattered(fnv1a(`${seed} ${draws - 1}`)) % below;
  };
}

/**
 * The best hosts of all cells that `skip` does not name, those of preferred cells first, each of them best first and
 * without chance.
 * @param silence How silent their cells and placement shards may be; default: they count like others.
 * @param full Of which `skip` names all.
 */
export function bestOfAll(
  fleet: Fleet,
  request: Request,
  most: number,
  skip: (root: string) => boolean = () => false,
  silence: Silence = SILENCE.ofShard,
  full?: FullBy,
): readonly Weighed[] {
  const { view } = fleet;
  const shape = shapeOf(fleet, request);
  const accept = acceptedBy(fleet, request, skip);
  const named = namedBy(request);
  const hearings: readonly Hearing[] = silence === SILENCE.ofShard ? HEARINGS : ['heard'];
  const bestBy = (isPreferred: boolean | undefined, count: number) => {
    const part = partOfFleet(fleet, request, silence, isPreferred);
    const { cells, avoids } = part;
    if (named === null) return shape.first.bestOf({ hearings, cells, avoids, full }, count, accept);
    const isThere: Accept = (one) =>
      isInCells(part, one.cell) && hearings.includes(hearingOf(view, one.root)) && accept(one);
    return among(shape, named, isThere).slice(0, count);
  };
  if (request.where?.preferCells === undefined) return bestBy(undefined, most);
  const first = bestBy(true, most);
  return [...first, ...bestBy(false, most - first.length)];
}

/**
 * The cells in which hosts are looked for.
 * @param isPreferred Whether in those that the request prefers, or in others; undefined: in both.
 */
function partOfFleet({ view }: Fleet, { where }: Request, silence: Silence, isPreferred: boolean | undefined): Cells {
  const { cells, avoidCells, preferCells = [] } = where ?? {};
  const isSilentOut = silence === SILENCE.ofNobody && view.silentCells.size > 0;
  const out = [...(avoidCells ?? []), ...(isPreferred === false ? preferCells : [])];
  const avoids = out.length > 0 ? new Set(isSilentOut ? [...out, ...view.silentCells] : out) : view.silentCells;
  return {
    cells: isPreferred === true ? (cells ?? preferCells).filter((cell) => preferCells.includes(cell)) : cells,
    avoids: out.length > 0 || isSilentOut ? avoids : undefined,
  };
}

function isInCells({ cells, avoids }: Cells, cell: string): boolean {
  return cells?.includes(cell) !== false && avoids?.has(cell) !== true;
}

/** So many hosts are fitted at least, where many are asked for. */
const LEAST_FITTED = 4_000;
/** After how many looks at providers no further ones are: a quarter of a second. */
const MAX_LOOKS_TO_FIT = 1_000_000;

/**
 * Up to `most` hosts of a part of one cell that `skip` does not name, best first; fewer, but thousands, where it would take
 * long to find out with which devices each of them would serve.
 * @param full Of which `skip` names all.
 */
export function bestOfCell(
  fleet: Fleet,
  request: Request,
  part: PartOfCell,
  most: number,
  skip: (root: string) => boolean,
  full?: FullBy,
): readonly Ranked[] {
  const { view } = fleet;
  const shape = shapeOf(fleet, request);
  const accept = acceptedBy(fleet, request, skip);
  const named = namedBy(request);
  const found =
    named === null
      ? shape.first.bestOf({ hearings: [part.hearing], cells: [part.cell], full }, most, accept)
      : among(shape, named, (one) => isInPart(view, part, one) && accept(one)).slice(0, most);
  const endOfLooks = effort.looks + MAX_LOOKS_TO_FIT;
  const fitted: Ranked[] = [];
  for (const one of found) {
    if (fitted.length >= LEAST_FITTED && effort.looks >= endOfLooks) break;
    fitted.push(rankedOf(fleet, shape, one));
  }
  return fitted;
}

/** Those of some hosts that can serve a request and that `skip` does not name, those of preferred cells first. */
export function rankedAmong(
  fleet: Fleet,
  request: Request,
  roots: Iterable<string>,
  skip: (root: string) => boolean,
): readonly Ranked[] {
  const shape = shapeOf(fleet, request);
  const found = among(shape, roots, acceptedBy(fleet, request, skip));
  const preferred = request.where?.preferCells;
  if (preferred !== undefined) {
    found.sort((one, other) => Number(preferred.includes(other.cell)) - Number(preferred.includes(one.cell)));
  }
  return found.map((one) => rankedOf(fleet, shape, one));
}

/** One that is refused costs as much as a look at a provider: a group may be on thousands of the hosts that rank first. */
function acceptedBy({ rankings, view }: Fleet, request: Request, skip: (root: string) => boolean): Accept {
  const late = lateFiltersOf(rankings, request);
  const isRefused = (root: string) => {
    if (skip(root)) return true;
    if (late.length === 0) return false;
    const facts = factsOf(view, view.hosts.get(root) as ViewHost, treeOf(view, root));
    if (refusedBy(late, facts) === null) return false;
    lookAgainFor(view, root, late, facts);
    return true;
  };
  return ({ root }) => {
    if (!isRefused(root)) return true;
    spend(1);
    return false;
  };
}

/** The only hosts that can serve a request, if it names any: they are looked at one by one. */
function namedBy({ spec, company }: Request): Iterable<string> | null {
  return spec.tree?.oneOf ?? company?.near ?? null;
}

/** Up to `most` of some hosts, each named once, that can serve a request and that `skip` does not name, in no order. */
export function acceptedAmong(
  fleet: Fleet,
  request: Request,
  roots: Iterable<string>,
  skip: (root: string) => boolean,
  most: number,
): Weighed[] {
  return acceptedOf(shapeOf(fleet, request), roots, acceptedBy(fleet, request, skip), most);
}

function acceptedOf({ current }: Shape, roots: Iterable<string>, accept: Accept, most: number): Weighed[] {
  const found: Weighed[] = [];
  for (const root of roots) {
    if (found.length === most) break;
    const one = current.get(root);
    if (one !== undefined && accept(one)) found.push(one);
  }
  return found;
}

/** The best first. */
function among(shape: Shape, roots: Iterable<string>, accept: Accept): Weighed[] {
  return acceptedOf(shape, new Set(roots), accept, Number.POSITIVE_INFINITY).sort((one, other) =>
    before(one, other) ? -1 : 1,
  );
}

export function isInPart(
  view: View,
  { cell, hearing }: PartOfCell,
  one: { readonly root: string; readonly cell: string },
) {
  return one.cell === cell && hearingOf(view, one.root) === hearing;
}

function hearingOf(view: View, root: string): Hearing {
  return isShardSilent(view, root) ? 'silent' : 'heard';
}

/** The ranking is up to date, so what fitted when the host was ranked fits, and in the same way. */
export function rankedOf({ rankings: { preference }, view }: Fleet, { spec }: Shape, one: Weighed): Ranked {
  const { root, cell, host, weight } = one;
  one.offered ??= fit(spec, treeOf(view, root), preference) as readonly Allocation[];
  return { root, cell, host, weight, allocations: one.offered };
}
