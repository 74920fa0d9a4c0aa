// Answers a question for allocation candidates: the ways to serve a request as things stand, and the providers of the
// trees that they touch. With a limit, trees take turns: every tree gives one way before any gives a second.

import type { ApiMessage, ApiOutcome, CandidateGroup, CandidatesRequest } from '../../../messages/placement-api.ts';
import { isKnownTrait } from '../../catalog.ts';
import type { Provider } from '../../providers.ts';
import type { PlacementState } from '../../state.ts';
import { unknownClass } from '../checks.ts';
import { noTrait } from '../refusals.ts';
import { type Landscape, landscapeOf } from './foreign.ts';
import { type Sharers, sharersOf, slotsOf } from './options.ts';
import { type Budget, type Candidate, search } from './search.ts';
import { type CandidateSummary, summariesOf } from './summaries.ts';

/** The most choices that one question may try, some tenths of a second. */
const MAX_STEPS = 3_000_000;
/** The most providers named in all candidates of an answer together. */
const MAX_ENTRIES = 400_000;

export interface Candidates {
  readonly requests: readonly Candidate[];
  readonly summaries: Readonly<Record<string, CandidateSummary>>;
  /** When other shards are asked too: how many of the ways came in each round, in which no tree gives two. */
  readonly rounds?: readonly number[];
}

type Asked = CandidatesRequest & Pick<ApiMessage<'candidates'>, 'foreign'>;

export function findCandidates(state: PlacementState, request: Asked): ApiOutcome {
  const fault = unknownName(state, request);
  if (fault !== null) return fault;
  const landscape = landscapeOf(state, request.foreign);
  const rounds: number[] = [];
  const requests = collect(landscape, request, rounds);
  const found: Candidates = {
    requests,
    summaries: summariesOf(landscape, requests, request.nested),
    ...(request.foreign === undefined ? {} : { rounds }),
  };
  return { ok: found };
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

/** The ways; `rounds` is given how many came in each. */
function collect(landscape: Landscape, request: CandidatesRequest, rounds: number[]): Candidate[] {
  const { state, providers } = landscape;
  const treesAsked = new Map<CandidateGroup, string>();
  for (const group of request.groups) {
    if (group.inTree === null) continue;
    const provider = providers.get(group.inTree);
    if (provider === undefined) return [];
    treesAsked.set(group, provider.root);
  }
  const sharers = sharersOf(state, landscape.sharers);
  const budget: Budget = { steps: MAX_STEPS };
  const found: Candidate[] = [];
  const known = new Set<string>();
  // Only a provider that serves several trees, or a group that is spread, can lead to one way twice.
  const mayRepeat = sharers.areAny || request.groups.length > 1;
  let entries = 0;
  let goingOn: Generator<Candidate>[] = [];
  const isFull = () => found.length >= (request.limit ?? Number.POSITIVE_INFINITY) || entries >= MAX_ENTRIES;

  /** Takes the next new way of a tree; false when there is none. */
  const next = (ways: Generator<Candidate>): boolean => {
    for (;;) {
      const { value, done } = ways.next();
      if (done === true) return false;
      if (mayRepeat) {
        const key = keyOf(value);
        if (known.has(key)) continue;
        known.add(key);
      }
      found.push(value);
      entries += Object.keys(value.allocations).length;
      return true;
    }
  };

  for (const root of rootsFor(state, request, treesAsked, sharers)) {
    if (isFull()) break;
    const tree = landscape.tree(root);
    if (!rootServes(tree[0] as Provider, request)) continue;
    const slots = slotsOf(request.groups, tree, sharers.with(tree), treesAsked);
    if (slots === null) continue;
    const ways = search(slots, request, providers, budget);
    if (next(ways)) goingOn.push(ways);
  }
  rounds.push(found.length);
  while (goingOn.length > 0 && !isFull()) {
    const before = found.length;
    goingOn = goingOn.filter((ways) => !isFull() && next(ways));
    rounds.push(found.length - before);
  }
  return found;
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
