// Answers a question for allocation candidates: the ways to serve a request as things stand, and the providers of the
// trees that they touch. With a limit, trees take turns: every tree gives one way before any gives a second.

import type { ApiMessage, ApiOutcome, CandidateGroup, CandidatesRequest } from '../../../messages/placement-api.ts';
import { isKnownTrait } from '../../catalog.ts';
import type { Provider } from '../../providers.ts';
import type { PlacementState } from '../../state.ts';
import { unknownClass } from '../checks.ts';
import { type Looking, paceOfLook } from '../looking.ts';
import { noTrait } from '../refusals.ts';
import { type Landscape, landscapeOf } from './foreign.ts';
import { type Sharers, sharersOf, slotsOf } from './options.ts';
import { type Budget, type Candidate, search } from './search.ts';
import { type CandidateSummary, type Summaries, summariesOf } from './summaries.ts';

type Search = Generator<Candidate | null>;

/** The most choices that one question may try, some tenths of a second. */
const MAX_STEPS = 3_000_000;
/** The most providers named in all candidates of an answer together. */
const MAX_ENTRIES = 400_000;

/** How much more than a look at a provider it takes to put a way together. */
const EFFORT_OF_WAY = 8;
/** How many choices take as much as a look at a provider. */
const CHOICES_OF_LOOK = 16;

export interface Candidates {
  readonly requests: readonly Candidate[];
  readonly summaries: Readonly<Record<string, CandidateSummary>>;
  /** When other shards are asked too: how many of the ways came in each round, in which no tree gives two. */
  readonly rounds?: readonly number[];
}

type Asked = CandidatesRequest & Pick<ApiMessage<'candidates'>, 'foreign'>;

/** What is found, as it grows. */
interface Found {
  readonly ways: Candidate[];
  /** By which providers each serves. */
  readonly serving: (readonly string[])[];
  /** In which round each came. */
  readonly rounds: number[];
  readonly summaries: Summaries;
  /** The providers that went meanwhile: how many ways had been found then. */
  readonly gone: Map<string, number>;
}

/**
 * The ways, each as things stood when its tree was looked at, in steps: others may be served in between. A provider that
 * goes meanwhile is in none of them.
 */
export function lookForCandidates(state: PlacementState, request: Asked): Looking {
  const landscape = landscapeOf(state, request.foreign);
  const summaries = summariesOf(landscape, request.nested);
  const found: Found = { ways: [], serving: [], rounds: [], summaries, gone: new Map() };
  return {
    steps: stepsOf(landscape, request, found),
    gone(id) {
      found.gone.set(id, found.ways.length);
      found.summaries.forget(id);
    },
  };
}

function* stepsOf(landscape: Landscape, request: Asked, found: Found): Generator<void, ApiOutcome> {
  const fault = unknownName(landscape.state, request);
  if (fault !== null) return fault;
  yield* collect(landscape, request, found);
  const [requests, rounds] = found.gone.size === 0 ? [found.ways, found.rounds] : standing(found);
  return {
    ok: { requests, summaries: found.summaries.all, ...(request.foreign === undefined ? {} : { rounds }) },
  };
}

/** All providers of a way: one that serves a group without resources gives nothing. */
function providersOf({ mappings }: Candidate): string[] {
  return Object.values(mappings).flat();
}

/** The ways of which all providers are still there, and how many came in each round. All are looked at in one turn. */
function standing({ ways, serving, rounds, gone }: Found): [Candidate[], number[]] {
  const left: Candidate[] = [];
  let place = 0;
  const counts = rounds.map((count) => {
    const before = left.length;
    for (const end = place + count; place < end; place += 1) {
      const stands = (serving[place] as readonly string[]).every((id) => place >= (gone.get(id) ?? 0));
      if (stands) left.push(ways[place] as Candidate);
    }
    return left.length - before;
  });
  return [left, counts];
}

function unknownName(state: PlacementState, { groups, rootRequired, rootForbidden }: CandidatesRequest) {
  const unknownIn = (names: readonly string[]) => names.find((name) => !isKnownTrait(state.catalog, name));
  const ofRoot = unknownIn([...rootRequired, ...rootForbidden]);
  if (ofRoot !== undefined) return noTrait(ofRoot);
  for (const { resources, required, forbidden } of groups) {
    const fault = unknownClass(state, Object.keys(resources));
    if (fault !== null) return fault;
    const unknown = unknownIn([...required.flat(), ...forbidden]);
    if (unknown !== undefined) return noTrait(unknown);
  }
  return null;
}

function* collect(landscape: Landscape, request: CandidatesRequest, found: Found): Generator<void, void> {
  const { state, providers } = landscape;
  const { ways, serving, rounds, summaries, gone } = found;
  const treesAsked = new Map<CandidateGroup, string>();
  for (const group of request.groups) {
    if (group.inTree === null) continue;
    const provider = providers.get(group.inTree);
    if (provider === undefined) return;
    treesAsked.set(group, provider.root);
  }
  const sharers = sharersOf(state, landscape.sharers);
  const budget: Budget = { steps: MAX_STEPS };
  const pace = paceOfLook();
  const known = new Set<string>();
  // Only a provider that serves several trees, or a group that is spread, can lead to one way twice.
  const mayRepeat = sharers.areAny || request.groups.length > 1;
  let entries = 0;
  let goingOn: Search[] = [];
  const isFull = () => ways.length >= (request.limit ?? Number.POSITIVE_INFINITY) || entries >= MAX_ENTRIES;

  /** Takes the next new way of a tree; false when there is none. */
  function* next(going: Search): Generator<void, boolean> {
    for (;;) {
      const { value: way, done } = going.next();
      if (done === true) return false;
      if (way === null) {
        yield;
        continue;
      }
      // It goes on from the providers as they were when the tree was come to.
      const ofWay = providersOf(way);
      if (ofWay.some((id) => providers.get(id) === undefined)) continue;
      if (mayRepeat) {
        // With one that has come again it is another.
        const key = keyOf(way) + ofWay.map((id) => gone.get(id) ?? '');
        if (known.has(key)) continue;
        known.add(key);
      }
      const ids = Object.keys(way.allocations);
      ways.push(way);
      serving.push(ofWay);
      entries += ids.length;
      const told = summaries.add(ids);
      if (pace.isDue(EFFORT_OF_WAY + 2 * told)) yield;
      return true;
    }
  }

  for (const root of rootsFor(state, request, treesAsked, sharers)) {
    if (isFull()) break;
    let tree = landscape.tree(root);
    if (pace.isDue(tree.length)) {
      yield;
      // It may be another by now, or gone.
      tree = landscape.tree(root);
      if (tree.length === 0) continue;
    }
    if (!rootServes(tree[0] as Provider, request)) continue;
    const slots = slotsOf(request.groups, tree, sharers.with(tree), treesAsked);
    if (slots === null) continue;
    const before = budget.steps;
    const ofTree = search(slots, request, providers, budget);
    // Where nothing can be chosen there is one way at most, and the search need not be kept.
    const isFound = yield* next(ofTree);
    if (isFound && slots.some(({ options }) => options.length > 1)) goingOn.push(ofTree);
    if (pace.isDue((before - budget.steps) / CHOICES_OF_LOOK)) yield;
  }
  rounds.push(ways.length);
  while (goingOn.length > 0 && !isFull()) {
    const before = ways.length;
    const left: Search[] = [];
    for (const going of goingOn) {
      const steps = budget.steps;
      if (!isFull() && (yield* next(going))) left.push(going);
      if (pace.isDue(1 + (steps - budget.steps) / CHOICES_OF_LOOK)) yield;
    }
    goingOn = left;
    rounds.push(ways.length - before);
  }
}

/** The trees that can serve the request, as far as that is known without a look at them, and maybe some others. */
function rootsFor(
  state: PlacementState,
  { groups }: CandidatesRequest,
  treesAsked: ReadonlyMap<CandidateGroup, string>,
  sharers: Sharers,
): Iterable<string> {
  const { trees } = state;
  // A group without resources may be served wherever it likes; what serves it must still be of the same tree.
  const [asked, ...others] = new Set(
    groups.filter(({ resources }) => Object.keys(resources).length > 0).flatMap((group) => treesAsked.get(group) ?? []),
  );
  // With another tree, only what is shared can serve two.
  if (asked !== undefined && others.length === 0 && !sharers.areIn(({ root }) => root === asked)) {
    return trees.has(asked) ? [asked] : [];
  }
  return rootsInAggregates(state, groups, sharers) ?? trees.keys();
}

/** The trees with a member of one of the aggregates of a list, of the list with the fewest; null: no list tells. */
function rootsInAggregates(
  { indexes, providers }: PlacementState,
  groups: readonly CandidateGroup[],
  sharers: Sharers,
): Iterable<string> | null {
  const lists = groups
    .filter(({ suffix, resources }) => suffix !== '' || Object.keys(resources).length > 0)
    .flatMap(({ memberOf }) => memberOf)
    .filter((list) => !sharers.areIn(({ aggregates }) => list.some((aggregate) => aggregates.has(aggregate))));
  const sizeOf = (list: readonly string[]) =>
    list.reduce((sum, aggregate) => sum + (indexes.aggregates.get(aggregate)?.size ?? 0), 0);
  const [fewest] = lists.toSorted((one, other) => sizeOf(one) - sizeOf(other));
  if (fewest === undefined) return null;
  return rootsOfMembers(fewest);

  /** One by one: with a limit, few of many are looked at. */
  function* rootsOfMembers(aggregates: readonly string[]): Iterable<string> {
    const known = new Set<string>();
    for (const aggregate of aggregates) {
      for (const id of indexes.aggregates.get(aggregate) ?? []) {
        const { root } = providers.get(id) as Provider;
        if (known.has(root)) continue;
        known.add(root);
        yield root;
      }
    }
  }
}

function rootServes({ traits }: Provider, { rootRequired, rootForbidden }: CandidatesRequest): boolean {
  return rootRequired.every((trait) => traits.has(trait)) && !rootForbidden.some((trait) => traits.has(trait));
}

/** The same for two candidates that take the same and serve each group by the same. */
export function keyOf({ allocations, mappings }: Candidate): string {
  const parts: string[] = [];
  for (const id of Object.keys(allocations).sort()) {
    const amounts = allocations[id] as Readonly<Record<string, number>>;
    const classes = Object.keys(amounts).sort();
    parts.push(id, ...classes.map((name) => `${name}:${amounts[name]}`));
  }
  for (const suffix of Object.keys(mappings).sort()) parts.push(`/${suffix}`, ...[...(mappings[suffix] ?? [])].sort());
  return parts.join(' ');
}
