// Whether a request fits on a host, by the plainest reckoning there is: every way to spread it over the host's providers is
// tried. It shares no code with actors/.

import type { RequestSpec, ResourceGroup } from '../../actors/messages/common.ts';
import type { Inventory, ProviderSpec } from '../../actors/messages/placement.ts';
import type { Allocation } from '../../machines/instance-build.ts';

/** A provider of a host, and what of it is in use. The first of a tree is its root. */
export interface Used {
  readonly spec: ProviderSpec;
  readonly used: Readonly<Record<string, number>>;
}

/** What one provider gives a group. */
interface Part {
  readonly group: ResourceGroup;
  readonly by: Used;
  readonly resources: Readonly<Record<string, number>>;
}

type Asked = Omit<Part, 'by'>;

/** What is asked of one provider each: all of a named group, each class of one without a name. */
const askedIn = ({ groups }: RequestSpec): Asked[] =>
  groups.flatMap((group) =>
    group.name === ''
      ? Object.entries(group.resources).map(([name, amount]) => ({ group, resources: { [name]: amount } }))
      : [{ group, resources: group.resources }],
  );

/** In how many ways a request could be spread over a tree, fitting or not. */
export const waysIn = (spec: RequestSpec, tree: readonly Used[]): number => tree.length ** askedIn(spec).length;

/** Whether any way to serve the request is allowed. */
export function canServe(spec: RequestSpec, tree: readonly Used[]): boolean {
  const isServable = (asked: readonly Asked[], parts: readonly Part[]): boolean => {
    const [next, ...later] = asked;
    if (next === undefined) return isAllowed(spec, tree, parts);
    return tree.some((by) => {
      const more = [...parts, { ...next, by }];
      return hasRoom(by, more) && isServable(later, more);
    });
  };
  return isServable(askedIn(spec), []);
}

/** Whether what was found is all that is asked for, and is allowed. */
export function isServedBy(spec: RequestSpec, tree: readonly Used[], found: readonly Allocation[]): boolean {
  const isComplete = spec.groups.every(({ name, resources }) => {
    const given = found.filter(({ group }) => group === name);
    const entries = given.flatMap((one) => Object.entries(one.resources));
    const isOfOne = name === '' || given.length === 1;
    return isOfOne && entries.map(String).sort().join(' ') === Object.entries(resources).map(String).sort().join(' ');
  });
  const parts = found.map(({ group: name, provider, resources }) => ({
    group: spec.groups.find((group) => group.name === name) as ResourceGroup,
    by: tree.find(({ spec }) => spec.id === provider) as Used,
    resources,
  }));
  return isComplete && parts.every(({ by }) => hasRoom(by, parts)) && isAllowed(spec, tree, parts);
}

/** Whether a provider can give all that the parts want of it. */
function hasRoom(by: Used, parts: readonly Part[]): boolean {
  const wanted = new Map<string, number>();
  for (const { resources } of parts.filter((part) => part.by === by)) {
    for (const [name, amount] of Object.entries(resources)) {
      const inventory: Inventory | undefined = by.spec.inventories[name];
      if (inventory === undefined || amount < inventory.min_unit || amount % inventory.step_size !== 0) return false;
      wanted.set(name, (wanted.get(name) ?? 0) + amount);
    }
  }
  return [...wanted].every(([name, amount]) => {
    const { total, reserved, allocation_ratio, max_unit } = by.spec.inventories[name] as Inventory;
    return amount <= max_unit && (by.used[name] ?? 0) + amount <= (total - reserved) * allocation_ratio;
  });
}

function isAllowed(spec: RequestSpec, tree: readonly Used[], parts: readonly Part[]): boolean {
  const [root] = tree as [Used];
  const has = ({ spec: { traits } }: Used, trait: string) => traits.includes(trait);
  if (spec.rootRequired?.every((trait) => has(root, trait)) === false) return false;
  if (spec.rootForbidden?.some((trait) => has(root, trait)) === true) return false;
  const named = parts.filter(({ group }) => group.name !== '');
  if (spec.groupPolicy === 'isolate' && new Set(named.map(({ by }) => by)).size < named.length) return false;
  const areTogether = (names: readonly string[]) => {
    const by = named.filter(({ group }) => names.includes(group.name)).map((part) => part.by);
    return by.some((top) => by.every((one) => isIn(tree, one, top)));
  };
  if (spec.sameSubtree?.every(areTogether) === false) return false;
  return spec.groups.every((group) => {
    const given = parts.filter((part) => part.group === group).map(({ by }) => by);
    // Of a group that wants nothing, the host itself is what its conditions are about.
    return meets(group, given.length === 0 ? [root] : given, root);
  });
}

function meets(
  { required = [], anyOf = [], forbidden = [], memberOf = [] }: ResourceGroup,
  by: readonly Used[],
  root: Used,
): boolean {
  const anyHas = (trait: string) => by.some(({ spec }) => spec.traits.includes(trait));
  const isMember = ({ spec }: Used, list: readonly string[]) =>
    list.some((id) => spec.aggregates.includes(id) || root.spec.aggregates.includes(id));
  return (
    required.every(anyHas) &&
    anyOf.every((list) => list.some(anyHas)) &&
    !forbidden.some(anyHas) &&
    memberOf.every((list) => by.every((one) => isMember(one, list)))
  );
}

/** Whether a provider is another one, or somewhere below it. */
function isIn(tree: readonly Used[], one: Used, top: Used): boolean {
  if (one === top) return true;
  const parent = tree.find(({ spec }) => spec.id === one.spec.parent);
  return parent !== undefined && isIn(tree, parent, top);
}
