// Judging one host: what it would give to a request, or the first thing that stands in the way, by the same filters and
// the same look at its providers by which hosts are ranked.

import type { Allocation } from '../../../machines/instance-build.ts';
import { fit, fitAtOnce } from '../../fitting/fit.ts';
import type { ServerPreference } from '../../fitting/offer.ts';
import type { RequestSpec } from '../../messages/common.ts';
import { OTHER } from '../../messages/decision.ts';
import type { Provider } from '../../placement/providers.ts';
import { type Asked, changeBy, type Filter, filtersFor, refusedBy } from '../filters/filter.ts';
import { stateWords } from '../filters/service-state.ts';
import { toldMisfitOfGroup } from '../group-rules.ts';
import type { Request } from '../request.ts';
import type { HostFacts } from '../view/host-facts.ts';
import { treeOf, type View, type ViewHost } from '../view/view.ts';
import { factsOf, lookAgainAfter } from '../view/view-hosts.ts';
import type { Obstacle } from './census.ts';
import { misfitOf, plainMisfitOf } from './misfit.ts';

export type Judged =
  | {
      readonly obstacle: null;
      readonly facts: HostFacts;
      readonly tree: readonly Provider[];
      readonly allocations: readonly Allocation[];
    }
  | {
      readonly obstacle: Obstacle & { readonly message: string };
      /** The filter that refused it, if it was one. */
      readonly filter?: string;
    };

/** All filters that a request concerns, those that are asked late after the others. */
export function allFiltersFor(filters: readonly Filter[], request: Request): Asked[] {
  return [...filtersFor(filters, request, false), ...filtersFor(filters, request, true)];
}

/**
 * @param isThorough Whether to go on when what the host would give is not found at once.
 * @param isExplained Whether it is found out what its providers are short of.
 */
export function judge(
  view: View,
  filters: readonly Asked[],
  spec: RequestSpec,
  host: ViewHost,
  preference?: ServerPreference,
  isThorough = true,
  isExplained = true,
): Judged {
  const tree = treeOf(view, host.root);
  if (tree[0]?.spec.id !== host.root) return { obstacle: untold(host) };
  const facts = factsOf(view, host, tree);
  lookAgainFor(view, host.root, filters, facts);
  const refused = refusedBy(filters, facts);
  if (refused !== null) {
    const { code, about, short, message } = refused.refusal;
    return { obstacle: { code, about, short, message }, filter: refused.filter };
  }
  const allocations = isThorough ? fit(spec, tree, preference) : fitAtOnce(spec, tree, preference);
  if (allocations === undefined) return { obstacle: hardToTell(host) };
  if (allocations !== null) {
    const apart = toldMisfitOfGroup(view, spec, host.root);
    if (apart === null) return { obstacle: null, facts, tree, allocations };
    return { obstacle: { code: apart.code, message: apart.message } };
  }
  if (!isExplained) return { obstacle: UNEXPLAINED };
  const misfit = isThorough ? misfitOf(spec, tree) : plainMisfitOf(spec, tree);
  const { code, resourceClass, condition, short, message } = misfit;
  return { obstacle: { code, about: resourceClass ?? condition, short, message } };
}

/** Has a host looked at again when one of the filters will say something else of it. */
export function lookAgainFor(view: View, root: string, filters: readonly Asked[], facts: HostFacts): void {
  for (const asked of filters) {
    if (asked.filter.changesAt === undefined) continue;
    const at = changeBy(asked, facts);
    if (at !== null && at > view.now) lookAgainAfter(view, root, at - view.now);
  }
}

/** The code of a host that was not searched to the end, because the request is as hard on so many others. */
export const HARD_TO_TELL = 'hard-to-tell';

/** Of a host that is not asked what it lacks: nobody is told of it. */
const UNEXPLAINED = { code: OTHER, message: 'the host cannot serve the request' } as const;

export function hardToTell({ host }: ViewHost): Obstacle & { message: string } {
  return { code: HARD_TO_TELL, message: `whether '${host}' could serve all groups at once takes long to find out` };
}

/** A host of which placement has not told: how it stands says more, if it is out of service. */
export function untold(host: ViewHost): Obstacle & { message: string } {
  if (host.state !== 'up') return { code: `host-${host.state}`, message: stateWords(host) };
  return { code: 'unknown-provider', message: `placement has not told of host '${host.host}'` };
}
