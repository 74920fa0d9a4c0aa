// Saying why: what stood in the way of a request, on every host that the scheduler knows.

import type { RequestSpec } from '../messages/common.ts';
import { fit, misfitOf } from './fit.ts';
import { treeOf } from './ranking.ts';
import type { View } from './view.ts';

/** Why no host was left, in numbers that add up to all hosts. */
export function whyNone(view: View, spec: RequestSpec): string {
  if (view.hosts.size === 0) return 'no host is known';
  const counts = new Map<string, number>();
  let nearest: { short: number; message: string } | undefined;
  for (const { root, state } of view.hosts.values()) {
    let why: string;
    if (state !== 'up') why = `host ${state}`;
    else if (!view.providers.has(root)) why = 'not known to placement';
    else if (fit(spec, treeOf(view, root)) !== null) why = 'refused the claim';
    else {
      const { code, resourceClass, short, message } = misfitOf(spec, treeOf(view, root));
      why = resourceClass === undefined ? code : `${code} ${resourceClass}`;
      if (short !== undefined && (nearest === undefined || short < nearest.short)) nearest = { short, message };
    }
    counts.set(why, (counts.get(why) ?? 0) + 1);
  }
  const told = [...counts].sort((one, other) => other[1] - one[1]).map(([why, count]) => `${count} ${why}`);
  const nearly = nearest === undefined ? '' : `; nearest: ${nearest.message}`;
  return `none of ${view.hosts.size} hosts: ${told.join(', ')}${nearly}`;
}
