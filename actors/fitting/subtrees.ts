// The search for groups that must be served by one subtree: whether a provider may serve a group beside what serves the
// others already. What cannot come to anything any more is cut off at once.

import type { Provider } from '../placement/providers.ts';
import { isBelow, isSubtree } from '../placement/subtree.ts';
import type { Choice, Served } from './fit-choices.ts';

export interface Subtrees {
  /** The choices in the order in which they are best made: groups that belong together one after the other. */
  readonly order: readonly Choice[];
  /**
   * Whether the group can be served by the provider, those before it being served as they are.
   * @param search Each provider that is looked at for it is taken off its `looks`.
   */
  mayServe(group: string, provider: Provider, search: { readonly served: readonly Served[]; looks: number }): boolean;
}

/** @param optionsOf The providers that could serve a choice if it were alone. */
export function subtreesOf(
  sameSubtree: readonly (readonly string[])[],
  choices: readonly Choice[],
  tree: readonly Provider[],
  optionsOf: (choice: Choice) => readonly Provider[],
): Subtrees {
  const byId = new Map(tree.map((provider) => [provider.spec.id, provider]));
  const named = choices.filter(({ isNamed }) => isNamed);
  const options = new Map(named.map((choice) => [choice.group.name, optionsOf(choice)]));
  const few = (choice: Choice) => optionsOf(choice).length;
  const rankOf = ({ group }: Choice) => {
    const list = sameSubtree.findIndex((names) => names.includes(group.name));
    return list === -1 ? sameSubtree.length : list;
  };
  named.sort((one, other) => rankOf(one) - rankOf(other) || few(one) - few(other));
  const order = [...choices.filter(({ isNamed }) => !isNamed), ...named];

  return {
    order,
    mayServe(group, provider, search) {
      const { served } = search;
      for (const names of sameSubtree) {
        if (!names.includes(group)) continue;
        const serving = [provider];
        const open: string[] = [];
        for (const name of names) {
          if (name === group) continue;
          const server = served.find((one) => one.choice.group.name === name)?.provider;
          if (server !== undefined) serving.push(server);
          else if (options.has(name)) open.push(name);
        }
        if (isSubtree(serving, byId)) continue;
        // One that is still to be chosen may be what all others are below.
        const mayBeTop = (top: Provider) => {
          search.looks -= 1;
          return serving.every((one) => isBelow(one, top, byId));
        };
        if (!open.some((name) => options.get(name)?.some(mayBeTop))) return false;
      }
      return true;
    },
  };
}
