// Saying why: what stood in the way of a request, on every host that the scheduler knows.

import { filtersFor, refusedBy } from './filters/filter.ts';
import { fit, misfitOf } from './fit.ts';
import { misfitOfGroup } from './grouping.ts';
import type { Rankings } from './ranking.ts';
import type { Request } from './request.ts';
import { treeOf, type View } from './view.ts';
import { factsOf } from './view-hosts.ts';

/** Why no host was left, in numbers that add up to all hosts. */
export function whyNone(
  { view, rankings }: { readonly view: View; readonly rankings: Rankings },
  request: Request,
): string {
  const { spec } = request;
  const { filters } = rankings;
  const asked = [...filtersFor(filters, request, false), ...filtersFor(filters, request, true)];
  if (view.hosts.size === 0) return 'no host is known';
  const counts = new Map<string, number>();
  let nearest: { short: number; message: string } | undefined;
  for (const host of view.hosts.values()) {
    const { root, state } = host;
    const tree = treeOf(view, root);
    const refused = tree[0]?.spec.id === root ? refusedBy(asked, factsOf(view, host, tree)) : null;
    let why: string;
    if (state !== 'up') why = `host ${state}`;
    else if (!view.providers.has(root)) why = 'not known to placement';
    else if (refused !== null) why = refused.refusal.code;
    else if (fit(spec, tree) !== null) why = misfitOfGroup(view, spec, root)?.code ?? 'refused the claim';
    else {
      const { code, resourceClass, short, message } = misfitOf(spec, tree);
      why = resourceClass === undefined ? code : `${code} ${resourceClass}`;
      if (short !== undefined && (nearest === undefined || short < nearest.short)) nearest = { short, message };
    }
    counts.set(why, (counts.get(why) ?? 0) + 1);
  }
  const told = [...counts].sort((one, other) => other[1] - one[1]).map(([why, count]) => `${count} ${why}`);
  const nearly = nearest === undefined ? '' : `; nearest: ${nearest.message}`;
  return `none of ${view.hosts.size} hosts: ${told.join(', ')}${nearly}`;
}
