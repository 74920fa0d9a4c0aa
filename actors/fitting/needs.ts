// What all that serve the unnamed group must have together: a provider may serve one of its classes only if what it lacks
// itself is had by those that serve the others already, or by one that could.

import type { Provider } from '../placement/providers.ts';
import type { Choice, Need } from './fit-choices.ts';
import type { Served } from './fit-served.ts';

/** By need of a choice: whether any of the providers that could serve it has it. */
export type Offered = readonly boolean[];

/** What the search knows, as far as it is asked here. */
interface Search {
  readonly open: readonly Choice[];
  readonly served: readonly Served[];
  /** The providers that could serve a choice if nothing else were asked, by kind. */
  readonly options: readonly (readonly Provider[])[];
  /** What those have, as far as it was looked at, by kind. */
  readonly offered: Offered[];
  /** Each provider that is looked at for it is taken off. */
  looks: number;
}

/** What a server of the choice must have itself, since nobody else can. */
export function neededOf(search: Search, choice: Choice): readonly Need[] {
  return choice.needs.filter((need, at) => !isServed(search, choice, need) && !mayBeServed(search, choice, at));
}

export function hasAll(provider: Provider, needs: readonly Need[]): boolean {
  for (const need of needs) if (!hasOne(provider, need)) return false;
  return true;
}

function hasOne({ traits }: Provider, need: Need): boolean {
  for (const trait of need) if (traits.has(trait)) return true;
  return false;
}

function isServed({ served }: Search, { group }: Choice, need: Need): boolean {
  for (const one of served) if (one.choice.group === group && hasOne(one.provider, need)) return true;
  return false;
}

function mayBeServed(search: Search, choice: Choice, at: number): boolean {
  for (const one of search.open) {
    if (one !== choice && one.group === choice.group && offeredFor(search, one)[at]) return true;
  }
  return false;
}

function offeredFor(search: Search, { kind, needs }: Choice): Offered {
  const known = search.offered[kind];
  if (known !== undefined) return known;
  const offered = needs.map(() => false);
  let missing = needs.length;
  for (const provider of search.options[kind] as readonly Provider[]) {
    if (missing === 0) break;
    search.looks -= 1;
    for (let at = 0; at < needs.length; at += 1) {
      if (offered[at] || !hasOne(provider, needs[at] as Need)) continue;
      offered[at] = true;
      missing -= 1;
    }
  }
  search.offered[kind] = offered;
  return offered;
}
