// All that stands in the way of a request on one host, for whoever asks about that host: one thing after the other is taken
// out of the way, until the request would fit or nothing further is found.

import { effort } from '../../fitting/effort.ts';
import { fit } from '../../fitting/fit.ts';
import { leftAfter, MAX_LOOKS_TO_COUNT, timesIn } from '../../fitting/fit-times.ts';
import type { RequestSpec } from '../../messages/common.ts';
import type { Provider } from '../../placement/providers.ts';
import { wishesOf } from '../advice/places.ts';
import { type Asked, type Filter, type FilterRefusal, refusedBy } from '../filters/filter.ts';
import { toldMisfitOfGroup } from '../group-rules.ts';
import type { Obstacle } from '../ranking/census.ts';
import { allFiltersFor, untold } from '../ranking/judging.ts';
import { type Misfit, misfitOf } from '../ranking/misfit.ts';
import type { Request } from '../request.ts';
import type { HostFacts } from '../view/host-facts.ts';
import { treeOf, type View, type ViewHost } from '../view/view.ts';
import { factsOf } from '../view/view-hosts.ts';
import { apart, isTold, SAYING_ONE, withMoreOf, withoutClass, withoutCondition } from './more-obstacles.ts';
import { shortForAll } from './room-together.ts';

/** How many things in the way of resources are told. */
const MAX_TOLD = 8;

export interface InTheWay {
  /** The first of them is what a host is refused for. */
  readonly all: readonly (Obstacle & { readonly message: string })[];
  /** Without all of them it would fit. */
  readonly isWhole: boolean;
  /** Something further was found that is not told; else it may be that there is none. */
  readonly isMore: boolean;
}

/**
 * What stands in the way of a request on a host.
 * @param count How many instances it must hold: what it lacks is counted for all of them. That it has room for some, and
 *     not for all, is not in the way of any one of them, and not told.
 */
export function allInTheWay(
  filters: readonly Filter[],
  view: View,
  request: Request,
  host: ViewHost,
  count = 1,
): InTheWay {
  const { spec } = request;
  if (!isTold(view, host.root)) return { all: [untold(host)], isWhole: false, isMore: false };
  const tree = treeOf(view, host.root);
  const facts = factsOf(view, host, tree);
  const refusing = allFiltersFor(filters, request).flatMap((one) => refusalsBy(one, request, facts));
  const ofGroup = toldMisfitOfGroup(view, spec, host.root);
  const ofTree = misfitsOf(spec, tree, count);
  const all = [
    ...refusing.map(({ code, about, short, message }) =>
      shortForAll({ code, about, short, message }, spec, tree, count),
    ),
    ...ofTree.all,
    ...(ofGroup === null ? [] : [{ code: ofGroup.code, message: ofGroup.message }]),
  ];
  return { all, isWhole: ofTree.isWhole, isMore: ofTree.isMore };
}

/** All that a filter refuses a host for: where it says one thing, and several wishes stand in the way, one after the other. */
function refusalsBy(one: Asked, request: Request, facts: HostFacts): FilterRefusal[] {
  const { refusal } = refusedBy([one], facts) ?? {};
  if (refusal === undefined) return [];
  const wishes = SAYING_ONE.has(one.filter.name) ? wishesOf(request, facts) : [];
  for (const { without } of wishes) {
    const [asked] = allFiltersFor([one.filter], without);
    const others = asked === undefined ? [] : refusalsBy(asked, without, facts);
    if (others[0]?.code !== refusal.code) return [refusal, ...others];
  }
  return [refusal];
}

/**
 * What a host's providers lack, one after the other.
 * @param count For how many instances, if they have room for none.
 */
export function misfitsOf(asked: RequestSpec, has: readonly Provider[], count = 1): InTheWay {
  const all: (Obstacle & { message: string })[] = [];
  const known = new Set<string>();
  const endOfLooks = effort.looks + MAX_LOOKS_TO_COUNT;
  let spec = asked;
  let tree = has;
  const lacking = (): Misfit | null => {
    if (fit(spec, tree) === null) return misfitOf(spec, tree);
    if (count === 1 || all.length === 0) return null;
    // What it lacks for one is out of the way: now it may lack something for the others.
    const times = timesIn(spec, tree, count, true, endOfLooks);
    const left = leftAfter(spec, tree, times);
    // One that took too long to count may have room for more.
    return times >= count || fit(spec, left) !== null ? null : misfitOf(spec, left);
  };
  for (let found = lacking(); found !== null; found = lacking()) {
    const { code, resourceClass, condition } = found;
    const about = resourceClass ?? condition;
    const { short, message } = shortForAll({ ...found, about }, spec, tree, count);
    const key = `${code} ${about}`;
    // What was said of a thing may be said of it again, where it was not wholly taken out of the way.
    const isAgain = known.has(key);
    const isOutOfLooks = effort.looks > endOfLooks;
    if (isAgain || all.length === MAX_TOLD || isOutOfLooks) {
      return { all, isWhole: false, isMore: !isAgain && !isOutOfLooks };
    }
    known.add(key);
    all.push({ code, about, short, message });
    if (resourceClass !== undefined && short !== undefined) tree = withMoreOf(tree, resourceClass, short);
    else if (resourceClass !== undefined && code === 'not-on-one-provider') spec = apart(spec, resourceClass, tree);
    else if (resourceClass !== undefined) spec = withoutClass(spec, resourceClass);
    else {
      const left = withoutCondition(spec, { code, about });
      if (left === null) return { all, isWhole: false, isMore: false };
      spec = left;
    }
  }
  return { all, isWhole: true, isMore: false };
}
