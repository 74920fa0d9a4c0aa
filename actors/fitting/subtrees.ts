// The search for groups that must be served by one subtree: whether a provider may serve a group beside what serves the
// others already. What cannot come to anything any more is cut off at once.

import type { Provider } from '../placement/providers.ts';
import { type Ancestry, ancestryOf, isBelow, meetOf } from './ancestry.ts';
import type { Choice, ChoiceList } from './fit-choices.ts';
import type { Served } from './fit-served.ts';

export interface Subtrees {
  /** The choices in the order in which they are best made: groups that belong together one after the other. */
  readonly order: readonly Choice[];
  readonly lists: readonly ChoiceList[];
  readonly ancestry: Ancestry;
  /** The providers that could serve a choice if it were alone. */
  readonly optionsOf: (choice: Choice) => readonly Provider[];
}

/** What serves groups of one list already. */
export interface Standing {
  /** The lowest provider that all of it is below; undefined: there is none. */
  readonly meet: Provider | undefined;
  /** Whether that one is part of it. */
  readonly isSubtree: boolean;
  /** The choices of the list that are still to be made beside the one in question. */
  readonly open: readonly Choice[];
  /** Of providers, whether one that is still to be chosen may be what they are below, as far as that was looked at. */
  readonly mayBeBelow: Map<Provider, boolean>;
}

export function subtreesOf(
  lists: readonly ChoiceList[],
  choices: readonly Choice[],
  tree: readonly Provider[],
  optionsOf: Subtrees['optionsOf'],
): Subtrees {
  const named = choices.filter(({ isNamed }) => isNamed);
  const few = (choice: Choice) => optionsOf(choice).length;
  const rankOf = (choice: Choice) => {
    const list = lists.findIndex((one) => one.includes(choice));
    return list === -1 ? lists.length : list;
  };
  named.sort((one, other) => rankOf(one) - rankOf(other) || few(one) - few(other));
  const order = [...choices.filter(({ isNamed }) => !isNamed), ...named];
  return { order, lists, ancestry: ancestryOf(tree), optionsOf };
}

/** What a server of the choice must be of one subtree with, list by list. */
export function standingFor(subtrees: Subtrees, choice: Choice, served: readonly Served[]): readonly Standing[] {
  const standing: Standing[] = [];
  for (const list of subtrees.lists) {
    const stands = list.includes(choice) ? standingIn(subtrees, list, choice, served) : null;
    if (stands !== null) standing.push(stands);
  }
  return standing;
}

function standingIn(
  { ancestry }: Subtrees,
  list: ChoiceList,
  choice: Choice,
  served: readonly Served[],
): Standing | null {
  const open = list.filter((one) => one !== choice);
  let isAny = false;
  let meet: Provider | undefined;
  let isSubtree = false;
  for (const { choice: made, provider } of served) {
    const at = open.indexOf(made);
    if (at < 0) continue;
    open.splice(at, 1);
    const before = meet;
    if (!isAny) meet = provider;
    else if (meet !== undefined) meet = meetOf(ancestry, meet, provider);
    isSubtree = meet === provider || (isSubtree && meet === before);
    isAny = true;
  }
  return isAny ? { meet, isSubtree, open, mayBeBelow: new Map() } : null;
}

/**
 * Whether a provider is of one subtree with what stands, or may become it.
 * @param search Each provider that is looked at for it is taken off its `looks`; with none left, none can.
 */
export function mayJoin(
  subtrees: Subtrees,
  standing: readonly Standing[],
  provider: Provider,
  search: { looks: number },
): boolean {
  for (const one of standing) {
    if (!isSubtreeWith(subtrees, one, provider) && !mayBecomeOne(subtrees, one, provider, search)) return false;
  }
  return true;
}

function isSubtreeWith({ ancestry }: Subtrees, { meet, isSubtree }: Standing, provider: Provider): boolean {
  if (meet === undefined) return false;
  return (isSubtree && isBelow(ancestry, provider, meet)) || isBelow(ancestry, meet, provider);
}

/** Whether one that is still to be chosen may be what all others are below. */
function mayBecomeOne(subtrees: Subtrees, standing: Standing, provider: Provider, search: { looks: number }): boolean {
  const { meet, mayBeBelow } = standing;
  const top = meet === undefined ? undefined : meetOf(subtrees.ancestry, meet, provider);
  if (top === undefined) return false;
  // Of a wide tree many providers meet what stands at the same one.
  let may = mayBeBelow.get(top);
  if (may === undefined) {
    may = mayBeBelowOpen(subtrees, standing, top, search);
    mayBeBelow.set(top, may);
  }
  return may;
}

function mayBeBelowOpen(
  { ancestry, optionsOf }: Subtrees,
  { open }: Standing,
  top: Provider,
  search: { looks: number },
): boolean {
  for (const [at, choice] of open.entries()) {
    // Those that are alike have the same options.
    if (open.findIndex(({ kind }) => kind === choice.kind) < at) continue;
    for (const other of optionsOf(choice)) {
      search.looks -= 1;
      if (search.looks < 0) return false;
      if (isBelow(ancestry, top, other)) return true;
    }
  }
  return false;
}
