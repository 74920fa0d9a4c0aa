// The search for groups that must be served by one subtree: whether a provider may serve a group beside what serves the
// others already. What cannot come to anything any more is cut off at once.

import type { Allocation } from '../../machines/instance-build.ts';
import type { ResourceGroup } from '../messages/common.ts';
import type { Provider } from '../placement/providers.ts';
import { isBelow, isSubtree } from '../placement/subtree.ts';

export interface Subtrees {
  /** The named groups in the order in which they are best served: those that belong together one after the other. */
  readonly order: readonly ResourceGroup[];
  /** Whether the group can be served by the provider, those before it being served as they are. */
  mayServe(group: string, provider: Provider, allocations: readonly Allocation[]): boolean;
}

/**
 * @param optionsOf The providers that could serve a group if it were alone.
 * @returns null when nothing is asked of subtrees.
 */
export function subtreesOf(
  sameSubtree: readonly (readonly string[])[],
  named: readonly ResourceGroup[],
  tree: readonly Provider[],
  optionsOf: (group: ResourceGroup) => readonly Provider[],
): Subtrees | null {
  if (sameSubtree.length === 0) return null;
  const byId = new Map(tree.map((provider) => [provider.spec.id, provider]));
  const options = new Map(named.map((group) => [group.name, optionsOf(group)]));
  const few = (group: ResourceGroup) => options.get(group.name)?.length ?? 0;
  const rankOf = ({ name }: ResourceGroup) => {
    const list = sameSubtree.findIndex((names) => names.includes(name));
    return list === -1 ? sameSubtree.length : list;
  };
  const order = [...named].sort((one, other) => rankOf(one) - rankOf(other) || few(one) - few(other));

  return {
    order,
    mayServe(group, provider, allocations) {
      for (const names of sameSubtree) {
        if (!names.includes(group)) continue;
        const serving = [provider];
        const open: string[] = [];
        for (const name of names) {
          if (name === group) continue;
          const server = byId.get(allocations.find((one) => one.group === name)?.provider ?? '');
          if (server !== undefined) serving.push(server);
          else if (options.has(name)) open.push(name);
        }
        if (isSubtree(serving, byId)) continue;
        // One that is still to be chosen may be what all others are below.
        const mayBeTop = (top: Provider) => serving.every((one) => isBelow(one, top, byId));
        if (!open.some((name) => options.get(name)?.some(mayBeTop))) return false;
      }
      return true;
    },
  };
}
