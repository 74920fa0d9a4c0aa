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
import { type Budget, type Candidate, type Course, newCourse, search } from './search.ts';
import { type CandidateSummary, type Summaries, summariesOf } from './summaries.ts';

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
  /** How often one went, and which time it was that each did last. */
  goings: number;
  readonly wentAs: Map<string, number>;
  /** The roots of trees to which others came that may not have been come to, and are not looked at again yet. */
  readonly grown: Set<string>;
}

/** What trees are looked at by, as things stand. */
interface Bearings {
  readonly sharers: Sharers;
  /** The roots of the trees that groups ask for; null: there is no such tree. */
  readonly treesAsked: ReadonlyMap<CandidateGroup, string> | null;
}

/** A tree of which ways are found, one after the other. */
interface Going {
  readonly root: string;
  /** All that may serve, and what stands above it in the tree. */
  readonly seen: readonly Provider[];
  readonly hasChoice: boolean;
  readonly search: Generator<Candidate | null>;
  readonly course: Course;
  /** How often a provider had gone when it began: with one of its own that comes again all is tried again. */
  readonly goings: number;
  /** In which slice it was seen last that nothing of it is another by now. */
  slice: number;
}

/**
 * The ways, each as things stood when its tree was looked at, in steps: others may be served in between. A provider that
 * goes meanwhile is in none of them.
 */
export function lookForCandidates(state: PlacementState, request: Asked): Looking {
  const landscape = landscapeOf(state, request.foreign);
  const summaries = summariesOf(landscape, request.nested);
  const found: Found = {
    ways: [],
    serving: [],
    rounds: [],
    summaries,
    gone: new Map(),
    goings: 0,
    wentAs: new Map(),
    grown: new Set(),
  };
  return {
    steps: stepsOf(landscape, request, found),
    gone(id) {
      found.gone.set(id, found.ways.length);
      found.goings += 1;
      found.wentAs.set(id, found.goings);
      found.summaries.forget(id);
    },
    grown: (root) => void found.grown.add(root),
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
function standing(found: Found): [Candidate[], number[]] {
  const { ways, rounds } = found;
  const left: Candidate[] = [];
  let place = 0;
  const counts = rounds.map((count) => {
    const before = left.length;
    for (const end = place + count; place < end; place += 1) {
      if (stands(found, place)) left.push(ways[place] as Candidate);
    }
    return left.length - before;
  });
  return [left, counts];
}

/** Whether nothing of a way has gone since it was found. */
function stands({ serving, gone }: Found, place: number): boolean {
  return (serving[place] as readonly string[]).every((id) => place >= (gone.get(id) ?? 0));
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

function bearingsOf({ state, providers, sharers }: Landscape, { groups }: CandidatesRequest): Bearings {
  const treesAsked = new Map<CandidateGroup, string>();
  let areAllThere = true;
  for (const group of groups) {
    if (group.inTree === null) continue;
    const provider = providers.get(group.inTree);
    if (provider === undefined) areAllThere = false;
    else treesAsked.set(group, provider.root);
  }
  return { sharers: sharersOf(state, sharers), treesAsked: areAllThere ? treesAsked : null };
}

function* collect(landscape: Landscape, request: CandidatesRequest, found: Found): Generator<void, void> {
  const { state, providers } = landscape;
  const { ways, serving, rounds, summaries, gone, grown } = found;
  let bearings = bearingsOf(landscape, request);
  const budget: Budget = { steps: MAX_STEPS };
  const pace = paceOfLook();
  let slice = 0;
  // Only a provider that serves several trees, or a group that is spread, can lead to one way twice.
  let known = bearings.sharers.areAny || request.groups.length > 1 ? new Set<string>() : null;
  let entries = 0;
  let goingOn: Going[] = [];
  const isFull = () => ways.length >= (request.limit ?? Number.POSITIVE_INFINITY) || entries >= MAX_ENTRIES;

  /** Lets others be served. */
  function* rest(): Generator<void, void> {
    yield;
    slice += 1;
    bearings = bearingsOf(landscape, request);
    if (known === null && (grown.size > 0 || bearings.sharers.areAny)) yield* learnKnown();
  }

  /** From now on a way may be come to again. */
  function* learnKnown(): Generator<void, Set<string>> {
    const keys = new Set<string>();
    known = keys;
    for (let place = 0; place < ways.length; place += 1) {
      if (stands(found, place)) keys.add(keyNow(ways[place] as Candidate, serving[place] as readonly string[]));
      if (pace.isDue(1)) yield* rest();
    }
    return keys;
  }

  /** With a provider that has come again it is another way. */
  const keyNow = (way: Candidate, ofWay: readonly string[]) => {
    const key = keyOf(way);
    if (gone.size === 0) return key;
    const goings = ofWay.filter((id) => gone.has(id)).map((id) => ` ${id}@${gone.get(id)}`);
    return key + goings.sort().join('');
  };

  function begin(root: string, tree: readonly Provider[], before: Going | null = null): Going | null {
    const { sharers, treesAsked } = bearings;
    const [top] = tree;
    if (top === undefined || treesAsked === null || !rootServes(top, request)) return null;
    const shared = sharers.with(tree);
    const slots = slotsOf(request.groups, tree, shared, treesAsked);
    if (slots === null) return null;
    // Where nothing can be chosen there is one way at most, and the search need not be kept.
    const hasChoice = slots.some(({ options }) => options.length > 1);
    const seen = shared.length === 0 ? tree : [...tree, ...shared];
    const { goings } = found;
    const course = newCourse();
    const hasLost = before?.seen.some(({ spec }) => (found.wentAs.get(spec.id) ?? 0) > before.goings);
    const goesOn = hasLost === false ? before?.course : null;
    return {
      ...{ root, seen, hasChoice, course, goings, slice },
      search: search(slots, request, providers, budget, course, goesOn ?? null),
    };
  }

  /**
   * The same, or another that goes on for it where anything is other than it was: what it was before does not go with what
   * others are now.
   */
  function* standingNow(going: Going): Generator<void, Going | null> {
    let now: Going | null = going;
    while (now !== null && now.slice !== slice) {
      if (now.seen.every((one) => providers.get(one.spec.id) === one)) now.slice = slice;
      else {
        if (known === null) yield* learnKnown();
        now = begin(now.root, landscape.tree(now.root), now);
      }
    }
    return now;
  }

  /** Takes the next new way of a tree; null when there is none, otherwise whence the one after it comes. */
  function* next(before: Going): Generator<void, Going | null> {
    let going: Going | null = before;
    for (;;) {
      going = yield* standingNow(going);
      if (going === null) return null;
      const { value: way, done } = going.search.next();
      if (done === true) return null;
      if (way === null) {
        yield* rest();
        continue;
      }
      const ofWay = providersOf(way);
      if (known !== null) {
        const key = keyNow(way, ofWay);
        if (known.has(key)) continue;
        known.add(key);
      }
      const ids = Object.keys(way.allocations);
      ways.push(way);
      serving.push(ofWay);
      entries += ids.length;
      const told = summaries.add(ids);
      if (pace.isDue(EFFORT_OF_WAY + 2 * told)) yield* rest();
      return going;
    }
  }

  if (bearings.treesAsked === null) return;
  for (const root of rootsFor(state, request, bearings.treesAsked, bearings.sharers)) {
    if (isFull()) break;
    let tree = landscape.tree(root);
    if (pace.isDue(tree.length)) {
      yield* rest();
      // It may be another by now, or gone.
      tree = landscape.tree(root);
    }
    const before = budget.steps;
    const begun = begin(root, tree);
    const going = begun === null ? null : yield* next(begun);
    if (going?.hasChoice === true) goingOn.push(going);
    if (pace.isDue((before - budget.steps) / CHOICES_OF_LOOK)) yield* rest();
  }
  rounds.push(ways.length);
  while (goingOn.length + grown.size > 0 && !isFull()) {
    for (const root of grown) {
      grown.delete(root);
      if (pace.isDue(landscape.tree(root).length)) yield* rest();
      const begun = begin(root, landscape.tree(root));
      if (begun !== null) goingOn.push(begun);
    }
    const before = ways.length;
    const left: Going[] = [];
    for (const one of goingOn) {
      const steps = budget.steps;
      const going = isFull() ? null : yield* next(one);
      if (going !== null) left.push(going);
      if (pace.isDue(1 + (steps - budget.steps) / CHOICES_OF_LOOK)) yield* rest();
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
