// The groups of a request that advice is sought for: of named groups that ask for the same, one, for what helps with it
// would with each. (Of several instances, which are fitted one after the other, it may hang on which group is changed
// whether all find room: now and then one that is not looked at would have helped.)

import type { RequestSpec, ResourceGroup } from '../../messages/common.ts';

export interface GroupToChange {
  /** Its place among the groups of the request. */
  readonly position: number;
  readonly group: ResourceGroup;
  /** The request with nothing but this group, wherever it is served. */
  readonly alone: RequestSpec;
}

/** Of several alike the one whose name comes first. */
export function groupsToChange({ sameSubtree = [], ...spec }: RequestSpec): GroupToChange[] {
  const byKind = new Map<string, GroupToChange>();
  for (const [position, group] of spec.groups.entries()) {
    const { name, ...asked } = group;
    const kind = name === '' ? '' : JSON.stringify([asked, sameSubtree.map((names) => names.includes(name))]);
    const first = byKind.get(kind)?.group.name;
    if (first === undefined || name < first) {
      byKind.set(kind, { position, group, alone: { ...spec, groups: [group] } });
    }
  }
  return [...byKind.values()];
}

/** Whether a group asks for more of who serves it than amounts. */
export const hasConditions = ({ required, anyOf, forbidden, memberOf }: ResourceGroup): boolean =>
  [required, anyOf, forbidden, memberOf].some((all = []) => all.length > 0);
