// The choices that are made on the way of a search: what they take of providers, and the allocations that they come to.

import type { Allocation } from '../../machines/instance-build.ts';
import type { Stock } from '../placement/inventory.ts';
import type { Provider } from '../placement/providers.ts';
import type { Choice } from './fit-choices.ts';

/** A choice that is made. */
export interface Served {
  readonly choice: Choice;
  readonly provider: Provider;
}

/** Whether a provider has room for a choice beside what the choices that are made take. */
export function hasRoomBeside(served: readonly Served[], provider: Provider, { demands }: Choice): boolean {
  const beside = servedBy(served, provider);
  for (const { resourceClass, amount } of demands) {
    if (amount > freeBeside(beside, provider, resourceClass)) return false;
  }
  return true;
}

/** How much more of a class of a provider one claim may take, beside what the choices that are made take. */
export function freeBeside(served: readonly Served[], provider: Provider, resourceClass: string): number {
  const { used, capacity, inventory } = provider.stocks.get(resourceClass) as Stock;
  return Math.min(capacity - used, inventory.max_unit) - takenOf(served, provider, resourceClass);
}

export const NOTHING: readonly Served[] = [];

/** What is served, for a provider that serves any of it: most serve nothing, of which no class need be looked at. */
export function servedBy(served: readonly Served[], provider: Provider): readonly Served[] {
  for (const one of served) if (one.provider === provider) return served;
  return NOTHING;
}

/** What the choices that are made take of a class of a provider. */
export function takenOf(served: readonly Served[], provider: Provider, resourceClass: string): number {
  let sum = 0;
  for (const one of served) if (one.provider === provider) sum += one.choice.resources[resourceClass] ?? 0;
  return sum;
}

export function servesNamed(served: readonly Served[], provider: Provider): boolean {
  for (const one of served) if (one.provider === provider && one.choice.isNamed) return true;
  return false;
}

const byPosition = (one: Served, other: Served): number => one.choice.position - other.choice.position;

function isInOrder(served: readonly Served[]): boolean {
  for (let at = 1; at < served.length; at += 1) {
    if (byPosition(served[at - 1] as Served, served[at] as Served) > 0) return false;
  }
  return true;
}

/** What a provider gives that serves a choice too; as a rule it has served all before it, and nothing need be made. */
function together(before: Allocation['resources'], last: Choice | undefined, choice: Choice): Allocation['resources'] {
  const isNext = last !== undefined && last.position + 1 === choice.position && last.upToHere === before;
  return isNext ? choice.upToHere : { ...before, ...choice.resources };
}

/** What is served, in the order of the request; what one provider gives to the unnamed group is one allocation. */
export function allocationsOf(served: readonly Served[]): Allocation[] {
  const inOrder = isInOrder(served) ? served : served.slice().sort(byPosition);
  const allocations: Allocation[] = [];
  let last: Choice | undefined;
  for (const { choice, provider } of inOrder) {
    const { id } = provider.spec;
    const { group, isNamed, resources } = choice;
    let given = isNamed ? allocations.length : 0;
    while (given < allocations.length && allocations[given]?.provider !== id) given += 1;
    const before = allocations[given]?.resources;
    allocations[given] = {
      provider: id,
      group: group.name,
      resources: before === undefined ? resources : together(before, last, choice),
    };
    last = choice;
  }
  return allocations;
}
