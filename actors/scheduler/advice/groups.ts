// The groups of a request that advice is sought for: of named groups that ask for the same, one, for what helps with it
// would with each; and all of them together, as where all ask for what nobody has. (Of several instances, which are fitted
// one after the other, it may hang on which group is changed whether all find room: now and then one that is not looked at
// would have helped.)

import type { RequestSpec, ResourceGroup } from '../../messages/common.ts';
import { append } from '../../multimap.ts';
import { orderedText } from '../../ordered-text.ts';

export interface GroupToChange {
  /** Their places among the groups of the request. */
  readonly positions: readonly number[];
  readonly group: ResourceGroup;
  /** The names of all, where they are several. */
  readonly names?: readonly string[];
  /** The request with nothing but this group, wherever it is served. */
  readonly alone: RequestSpec;
}

/** Of several alike the one whose name comes first. */
export function groupsToChange(spec: RequestSpec): GroupToChange[] {
  return kindsOf(spec).map((all) => toChange(spec, all.slice(0, 1)));
}

/** Those that are alike, where they are several, as if they were one. */
export function alikeToChange(spec: RequestSpec): GroupToChange[] {
  return kindsOf(spec)
    .filter((all) => all.length > 1)
    .map((all) => ({ ...toChange(spec, all), names: all.map(({ group }) => group.name) }));
}

interface Placed {
  readonly position: number;
  readonly group: ResourceGroup;
}

/** The groups that ask for the same, by name. */
function kindsOf({ groups, sameSubtree = [] }: RequestSpec): (readonly Placed[])[] {
  const byKind = new Map<string, Placed[]>();
  for (const [position, group] of groups.entries()) {
    const { name, ...asked } = group;
    const kind = name === '' ? '' : orderedText([asked, sameSubtree.map((names) => names.includes(name))]);
    append(byKind, kind, { position, group });
  }
  return [...byKind.values()].map((all) => all.sort((one, other) => (one.group.name < other.group.name ? -1 : 1)));
}

function toChange({ sameSubtree: _, ...spec }: RequestSpec, all: readonly Placed[]): GroupToChange {
  const { group } = all[0] as Placed;
  return { positions: all.map(({ position }) => position), group, alone: { ...spec, groups: [group] } };
}

/** Whether a group asks for more of who serves it than amounts. */
export const hasConditions = ({ required, anyOf, forbidden, memberOf }: ResourceGroup): boolean =>
  [required, anyOf, forbidden, memberOf].some((all = []) => all.length > 0);
