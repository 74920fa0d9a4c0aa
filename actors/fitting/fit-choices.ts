// The choices that a request makes of a tree: a provider for each class of the unnamed group, and one for all of each
// named group; and which providers could be chosen if nothing else were asked.

import type { RequestSpec, ResourceGroup } from '../messages/common.ts';
import { unmet } from '../placement/conditions.ts';
import { hasRoom } from '../placement/inventory.ts';
import type { Provider } from '../placement/providers.ts';

interface Demand {
  readonly resourceClass: string;
  readonly amount: number;
}

/** One choice to be made: a provider for one class of the unnamed group, or for all of a named group. */
export interface Choice {
  /** Its place among all choices: those of the unnamed group first, then the groups in the order of the request. */
  readonly position: number;
  readonly group: ResourceGroup;
  readonly isNamed: boolean;
  readonly resources: Readonly<Record<string, number>>;
  readonly demands: readonly Demand[];
  /** What one provider gives that serves it and all choices of the unnamed group that come before it. */
  readonly upToHere: Readonly<Record<string, number>>;
  /** Choices of one kind are alike: whatever serves one could serve the other in its stead. They are counted from 0. */
  readonly kind: number;
  /** The conditions that each server must meet by itself; null: there are none. */
  readonly ofEach: ResourceGroup | null;
  /** Those that all that serve the group must meet together; null: there are none. */
  readonly ofAll: ResourceGroup | null;
  /** The same, said one by one. */
  readonly needs: readonly Need[];
}

/** Traits of which one is to be had. */
export type Need = readonly string[];

export type ChoiceList = readonly Choice[];

/** The choices of a request. */
export interface Plan {
  /** The unnamed group when it asks for nothing but conditions: the host itself must meet them. */
  readonly ofHost: readonly ResourceGroup[];
  readonly choices: readonly Choice[];
  /** The first choice of each kind, by kind. */
  readonly kinds: readonly Choice[];
  /** The choices of named groups that must be served by one subtree, list by list. */
  readonly sameSubtree: readonly ChoiceList[];
  /** Who asks for each class. */
  readonly askers: ReadonlyMap<string, readonly Asker[]>;
}

/** All choices of one kind that ask for a class. */
interface Asker {
  readonly choice: Choice;
  readonly amount: number;
  times: number;
}

/** A request is fitted to host after host, so its plan is made once. */
const plans = new WeakMap<RequestSpec, Plan>();

export function planOf(spec: RequestSpec): Plan {
  let plan = plans.get(spec);
  if (plan === undefined) {
    plan = newPlan(spec);
    plans.set(spec, plan);
  }
  return plan;
}

function newPlan({ groups, sameSubtree = [] }: RequestSpec): Plan {
  const unnamed = groups.filter(({ name }) => name === '');
  const choices: Choice[] = [];
  const kinds: Choice[] = [];
  const kindByKey = new Map<string, number>();
  const add = (choice: Omit<Choice, 'position' | 'kind' | 'demands'>, key: string) => {
    const kind = kindByKey.get(key) ?? kinds.length;
    const demands = Object.entries(choice.resources).map(([resourceClass, amount]) => ({ resourceClass, amount }));
    const made = { ...choice, position: choices.length, kind, demands };
    choices.push(made);
    if (kind < kinds.length) return;
    kindByKey.set(key, kind);
    kinds.push(made);
  };
  let upToHere: Choice['upToHere'] | undefined;
  for (const group of unnamed) {
    const ofEach = conditionsOf(group, ['forbidden', 'memberOf']);
    const ofAll = conditionsOf(group, ['required', 'anyOf']);
    const needs = [...(ofAll?.required ?? []).map((trait) => [trait]), ...(ofAll?.anyOf ?? [])];
    for (const resourceClass in group.resources) {
      const resources = { [resourceClass]: group.resources[resourceClass] as number };
      upToHere = upToHere === undefined ? resources : { ...upToHere, ...resources };
      add({ group, isNamed: false, resources, upToHere, ofEach, ofAll, needs }, `${choices.length}`);
    }
  }
  for (const group of groups) {
    if (group.name === '') continue;
    const ofEach = conditionsOf(group, ['required', 'anyOf', 'forbidden', 'memberOf']);
    const lists = sameSubtree.map((names) => names.includes(group.name));
    const key = JSON.stringify([{ ...group, name: '' }, lists]);
    const { resources } = group;
    add({ group, isNamed: true, resources, upToHere: resources, ofEach, ofAll: null, needs: [] }, key);
  }
  const ofHost = unnamed.filter(({ resources }) => Object.keys(resources).length === 0);
  const lists = sameSubtree.map((names) =>
    choices.filter(({ isNamed, group }) => isNamed && names.includes(group.name)),
  );
  return { ofHost, choices, kinds, sameSubtree: lists, askers: askersOf(choices) };
}

function askersOf(choices: readonly Choice[]): Map<string, Asker[]> {
  const askers = new Map<string, Asker[]>();
  for (const choice of choices) {
    for (const { resourceClass, amount } of choice.demands) {
      const all = askers.get(resourceClass) ?? [];
      askers.set(resourceClass, all);
      const alike = all.find((one) => one.choice.kind === choice.kind);
      if (alike === undefined) all.push({ choice, amount, times: 1 });
      else alike.times += 1;
    }
  }
  return askers;
}

type Condition = 'required' | 'anyOf' | 'forbidden' | 'memberOf';

/** Some conditions of a group without all else, or null when it has none of them. */
function conditionsOf(group: ResourceGroup, names: readonly Condition[]): ResourceGroup | null {
  const asked = names.filter((name) => (group[name]?.length ?? 0) > 0);
  if (asked.length === 0) return null;
  return { name: group.name, resources: {}, ...Object.fromEntries(asked.map((name) => [name, group[name]])) };
}

/** The providers that could serve a choice if it were alone, in the order of the tree. */
export function optionsOf({ demands, ofEach }: Choice, tree: readonly Provider[]): Provider[] {
  const root = tree[0] as Provider;
  const options: Provider[] = [];
  for (const provider of tree) {
    if (!hasRoomFor(provider, demands)) continue;
    if (ofEach === null || unmet(ofEach, [provider], root) === null) options.push(provider);
  }
  return options;
}

/** Whether a provider meets what the choice asks of each that serves it, room or not. */
export const isMet = ({ ofEach }: Choice, provider: Provider, root: Provider): boolean =>
  ofEach === null || unmet(ofEach, [provider], root) === null;

function hasRoomFor({ stocks }: Provider, demands: readonly Demand[]): boolean {
  for (const { resourceClass, amount } of demands) {
    const stock = stocks.get(resourceClass);
    if (stock === undefined || !hasRoom(stock, amount)) return false;
  }
  return true;
}
