// The search for providers that can serve all choices of a request at once. It goes back from dead ends, and leaves out
// what could only repeat them: choices that are alike are not permuted, nor are providers that are.

import type { Allocation } from '../../machines/instance-build.ts';
import { adjust } from '../amounts.ts';
import type { RequestSpec } from '../messages/common.ts';
import { freeOf } from '../placement/inventory.ts';
import type { Provider } from '../placement/providers.ts';
import { spend } from './effort.ts';
import { type Choice, optionsOf, type Plan } from './fit-choices.ts';
import {
  allocationsOf,
  freeBeside,
  hasRoomBeside,
  NOTHING,
  type Served,
  servedBy,
  servesNamed,
  takenOf,
} from './fit-served.ts';
import { hasAll, neededOf, type Offered } from './needs.ts';
import type { PartialOffer, ServerPreference } from './offer.ts';
import { mayJoin, type Subtrees, standingFor, subtreesOf } from './subtrees.ts';
import { twinsOf } from './twins.ts';

/**
 * How many looks at a provider the search in the order of the request may take, or twice as many as it takes without a
 * dead end if that is more: enough for nearly all that fit.
 */
const MAX_STRAIGHT_LOOKS = 1_000;
/** How many the search may take that makes the choice with the fewest options first: 5 ms or so. */
const MAX_THOROUGH_LOOKS = 20_000;

interface Asked {
  readonly spec: RequestSpec;
  readonly tree: readonly Provider[];
  readonly isolate: boolean;
  readonly subtrees: Subtrees | null;
  readonly preference: ServerPreference | undefined;
  /** The providers that could serve a choice if nothing else were asked, by kind. */
  readonly options: readonly (readonly Provider[])[];
}

interface Search extends Asked {
  /** What the providers have that could serve a choice of the unnamed group, by kind, as far as that was looked at. */
  readonly offered: Offered[];
  /** Providers that were tried in vain for a choice of a kind, and so need not be tried for others of it; by kind. */
  readonly barred: readonly Provider[][];
  /** Numbers of providers that are interchangeable; null: the choices are taken in their order. */
  readonly twins: ReadonlyMap<Provider, number> | null;
  /** The choices that are still to be made. */
  readonly open: Choice[];
  readonly served: Served[];
  /** How many of them each provider serves; those that serve none are not in it. */
  readonly serving: Map<Provider, number>;
  /** How many more looks may be taken. */
  looks: number;
}

/**
 * The allocations that serve the choices, or null: there are none, or they were not found in time.
 * @param straightLooks How many looks are taken before the thorough search begins.
 */
export function serve(
  plan: Plan,
  spec: RequestSpec,
  tree: readonly Provider[],
  preference: ServerPreference | undefined,
  straightLooks?: number,
): Allocation[] | null {
  const asked = askedBy(plan, spec, tree, preference);
  if (asked === null) return null;
  const found = straightlyServed(plan, asked, straightLooks);
  if (found !== undefined) return found;
  const order = largestFirst(plan.choices, plan.kinds, asked.options);
  const thorough = newSearch(asked, order, MAX_THOROUGH_LOOKS, twinsOf(tree));
  return isServed(thorough) ? allocationsOf(thorough.served) : null;
}

/** The same as far as it is found at once; undefined when only a thorough search would tell. */
export function serveAtOnce(
  plan: Plan,
  spec: RequestSpec,
  tree: readonly Provider[],
  preference: ServerPreference | undefined,
): Allocation[] | null | undefined {
  const asked = askedBy(plan, spec, tree, preference);
  return asked === null ? null : straightlyServed(plan, asked);
}

/** Null: a choice can be served by none. */
function askedBy(
  { choices, kinds, sameSubtree }: Plan,
  spec: RequestSpec,
  tree: readonly Provider[],
  preference: ServerPreference | undefined,
): Asked | null {
  const options: Provider[][] = [];
  for (const kind of kinds) {
    const found = optionsOf(kind, tree);
    if (found.length === 0) return null;
    options.push(found);
  }
  const subtrees =
    sameSubtree.length === 0 ? null : subtreesOf(sameSubtree, choices, tree, ({ kind }) => options[kind] as Provider[]);
  return { spec, tree, isolate: spec.groupPolicy === 'isolate', subtrees, preference, options };
}

function straightlyServed(
  { choices, askers }: Plan,
  asked: Asked,
  looks = looksFor(choices, asked),
): Allocation[] | null | undefined {
  const simply = simplyServed(choices, asked, looks);
  if (simply !== null) return simply;
  if (!isEnoughTogether(askers, asked.tree)) return null;
  const straight = newSearch(asked, asked.subtrees?.order ?? choices, looks, null);
  if (isServed(straight)) return allocationsOf(straight.served);
  // With looks to spare it has tried everything.
  return straight.looks >= 0 ? null : undefined;
}

/** Whether the tree has as much of each class as all choices ask together: else no search finds how to deal it. */
function isEnoughTogether(askers: Plan['askers'], tree: readonly Provider[]): boolean {
  for (const [resourceClass, all] of askers) {
    let missing = 0;
    let choices = 0;
    for (const { amount, times } of all) {
      missing += amount * times;
      choices += times;
    }
    // For one alone there are providers that could serve it.
    if (choices > 1 && !hasInAll(tree, resourceClass, missing)) return false;
  }
  return true;
}

/** In vain it costs as many looks as there are providers; else the search that follows does. */
function hasInAll(tree: readonly Provider[], resourceClass: string, amount: number): boolean {
  let missing = amount;
  for (const { stocks } of tree) {
    const stock = stocks.get(resourceClass);
    if (stock !== undefined) missing -= freeOf(stock);
    if (missing <= 0) return true;
  }
  spend(tree.length);
  return false;
}

function looksFor(choices: readonly Choice[], { options }: Asked): number {
  return Math.max(MAX_STRAIGHT_LOOKS, 2 * looksWithoutDeadEnd(choices, options));
}

function looksWithoutDeadEnd(choices: readonly Choice[], options: Asked['options']): number {
  let looks = 0;
  for (const { kind } of choices) looks += (options[kind] as readonly Provider[]).length;
  return looks;
}

/**
 * What the search finds for the unnamed group and at most one other, as most requests are: there is little to choose and
 * nothing to go back on. Null: it takes a search.
 */
function simplyServed(choices: readonly Choice[], asked: Asked, looks: number): Allocation[] | null {
  const { options, subtrees } = asked;
  const needed = looksWithoutDeadEnd(choices, options);
  if (subtrees !== null || needed > looks) return null;
  const served: Served[] = [];
  for (const choice of choices) {
    if (choice.ofAll !== null || (choice.isNamed && choice !== choices.at(-1))) return null;
    const provider = bestOf(asked, served, choice);
    if (provider === null) return null;
    served.push({ choice, provider });
  }
  spend(needed);
  return allocationsOf(served);
}

/** The first of the preferred servers of a choice, or null. */
function bestOf(asked: Asked, served: readonly Served[], choice: Choice): Provider | null {
  const offer = choice.isNamed ? offerOf(asked, served) : null;
  let best: Provider | null = null;
  let least = 0;
  for (const provider of asked.options[choice.kind] as readonly Provider[]) {
    if (served.length > 0 && !hasRoomBeside(served, provider, choice)) continue;
    if (!choice.isNamed) return provider;
    const left = leftBy(asked, offer, servedBy(served, provider), choice, provider);
    if (best !== null && left >= least) continue;
    best = provider;
    least = left;
  }
  return best;
}

function isServed(search: Search): boolean {
  const { looks } = search;
  const found = serveOpen(search);
  spend(looks - search.looks);
  return found;
}

function newSearch(
  { spec, tree, isolate, subtrees, preference, options }: Asked,
  order: readonly Choice[],
  looks: number,
  twins: Search['twins'],
): Search {
  const barred: Provider[][] = [];
  for (const _ of options) barred.push([]);
  return {
    spec,
    tree,
    isolate,
    subtrees,
    preference,
    options,
    offered: [],
    barred,
    twins,
    open: order.slice(),
    served: [],
    serving: new Map(),
    looks,
  };
}

/** The choices that take most of what could serve them first, those that are alike one after the other. */
function largestFirst(
  choices: readonly Choice[],
  kinds: readonly Choice[],
  options: readonly (readonly Provider[])[],
): Choice[] {
  const sizes = kinds.map(({ kind, demands }) => {
    const providers = options[kind] as readonly Provider[];
    const parts = demands.map(({ resourceClass, amount }) =>
      Math.min(...providers.map(({ stocks }) => amount / (stocks.get(resourceClass)?.capacity ?? amount))),
    );
    return Math.max(0, ...parts);
  });
  const sizeOf = ({ kind }: Choice) => sizes[kind] as number;
  return choices.slice().sort((one, other) => sizeOf(other) - sizeOf(one) || one.kind - other.kind);
}

/** Makes the choices that are open; those made on the way to a dead end are taken back. */
function serveOpen(search: Search): boolean {
  const { open, served, serving, barred, twins } = search;
  const found = nextOf(search);
  if (found === null) return open.length === 0;
  const { choice, servers } = found;
  const at = open.indexOf(choice);
  open.splice(at, 1);
  const inVain = barred[choice.kind] as Provider[];
  const inVainBefore = inVain.length;
  for (const provider of preferred(search, choice, servers)) {
    if (inVain.includes(provider)) continue;
    served.push({ choice, provider });
    adjust(serving, provider, 1);
    if (serveOpen(search)) return true;
    served.pop();
    adjust(serving, provider, -1);
    if (search.looks < 0) break;
    inVain.push(provider);
    // Its like that serve nothing either would be tried in vain too.
    const twin = twins?.get(provider);
    if (twin === undefined || serving.has(provider)) continue;
    for (const other of servers) {
      if (other !== provider && twins?.get(other) === twin && !serving.has(other)) inVain.push(other);
    }
  }
  inVain.length = inVainBefore;
  open.splice(at, 0, choice);
  return false;
}

/** The choice to be made next and the providers that can serve it; null: there is none, or one can be served by none. */
function nextOf(search: Search): { choice: Choice; servers: readonly Provider[] } | null {
  const { open, twins } = search;
  let next: { choice: Choice; servers: readonly Provider[] } | null = null;
  for (let at = 0; at < open.length; at += 1) {
    const choice = open[at] as Choice;
    // Those that are alike have the same servers.
    if (at > 0 && choice.kind === (open[at - 1] as Choice).kind) continue;
    const servers = serversOf(search, choice);
    if (!areEnough(search, choice, servers)) return null;
    if (next === null || servers.length < next.servers.length) next = { choice, servers };
    if (twins === null) break;
  }
  return next;
}

/** The providers that can serve a choice beside what is served already, in the order of the tree. */
function serversOf(search: Search, choice: Choice): Provider[] {
  const { options, barred, isolate, subtrees, served, serving } = search;
  const inVain = barred[choice.kind] as Provider[];
  const standing = subtrees === null || !choice.isNamed ? null : standingFor(subtrees, choice, served);
  const needed = choice.ofAll === null ? null : neededOf(search, choice);
  const servers: Provider[] = [];
  for (const provider of options[choice.kind] as Provider[]) {
    if (search.looks < 0) break;
    search.looks -= 1;
    if (inVain.includes(provider)) continue;
    if (serving.has(provider)) {
      if (isolate && choice.isNamed && servesNamed(served, provider)) continue;
      if (!hasRoomBeside(served, provider, choice)) continue;
    }
    if (standing !== null && !mayJoin(subtrees as Subtrees, standing, provider, search)) continue;
    if (needed !== null && !hasAll(provider, needed)) continue;
    servers.push(provider);
  }
  return servers;
}

/** Whether the providers have room for all open choices that are like this one. */
function areEnough({ isolate, open, served, serving }: Search, choice: Choice, servers: readonly Provider[]): boolean {
  if (servers.length === 0) return false;
  if (!choice.isNamed) return true;
  let missing = 0;
  for (const { kind } of open) if (kind === choice.kind) missing += 1;
  if (isolate || missing === 1) return servers.length >= missing;
  for (const provider of servers) {
    let times = missing;
    const beside = serving.has(provider) ? served : NOTHING;
    for (const { resourceClass, amount } of choice.demands) {
      times = Math.min(times, Math.floor(freeBeside(beside, provider, resourceClass) / amount));
    }
    missing -= times;
    if (missing <= 0) return true;
  }
  return false;
}

/** Servers in the order in which they are tried: for a class of the unnamed group that of the tree, the host first. */
function preferred(search: Search, choice: Choice, servers: readonly Provider[]): readonly Provider[] {
  const { served, serving } = search;
  if (!choice.isNamed || servers.length < 2) return servers;
  const offer = offerOf(search, served);
  const ranked: Rated[] = [];
  for (const provider of servers) {
    const beside = serving.has(provider) ? served : NOTHING;
    ranked.push({ provider, left: leftBy(search, offer, beside, choice, provider) });
  }
  ranked.sort(byLeft);
  return ranked.map(providerOf);
}

type Rated = { readonly provider: Provider; readonly left: number };
const byLeft = (one: Rated, other: Rated): number => one.left - other.left;
const providerOf = ({ provider }: Rated): Provider => provider;

/** An offer to which the allocations in question are added in turn. */
interface OpenOffer extends PartialOffer {
  readonly allocations: Allocation[];
}

/** What is served already; null: nobody has a preference that goes by it. */
function offerOf({ spec, tree, preference }: Asked, served: readonly Served[]): OpenOffer | null {
  return preference === undefined ? null : { spec, tree, allocations: allocationsOf(served) };
}

/**
 * By what servers are ordered, the least first.
 * @param beside What is served, if the provider serves any of it.
 */
function leftBy(
  { preference }: Asked,
  offer: OpenOffer | null,
  beside: readonly Served[],
  choice: Choice,
  provider: Provider,
): number {
  if (preference === undefined || offer === null) return leftOf(beside, provider, choice);
  const { allocations } = offer;
  allocations.push({ provider: provider.spec.id, group: choice.group.name, resources: choice.resources });
  const left = -preference(offer, provider);
  allocations.pop();
  return left;
}

/** How much of the classes of a choice the provider is left with, as parts of all that it has. */
function leftOf(beside: readonly Served[], provider: Provider, { demands }: Choice): number {
  let left = 0;
  for (const { resourceClass, amount } of demands) {
    const { used, capacity } = provider.stocks.get(resourceClass) as { used: number; capacity: number };
    left += (capacity - used - takenOf(beside, provider, resourceClass) - amount) / capacity;
  }
  return left;
}
