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
  const mayRepeat = sharers.size > 0 || request.groups.length > 1;
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
    const slots = slotsOf(request.groups, tree, sharers.get(root) ?? [], treesAsked);
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

/** The trees that can serve the request: the one that it names, when nobody outside shares. */
function rootsFor(
  { trees }: PlacementState,
  { groups }: CandidatesRequest,
  treesAsked: ReadonlyMap<CandidateGroup, string>,
  sharers: Sharers,
): Iterable<string> {
  const asked = new Set(treesAsked.values());
  if (sharers.size > 0 || asked.size === 0) return trees.keys();
  // A group without resources may be served wherever it likes; what serves it must still be of the same tree.
  const withResources = groups.some((group) => treesAsked.has(group) && Object.keys(group.resources).length > 0);
  if (!withResources || asked.size > 1) return trees.keys();
  return [...asked].filter((root) => trees.has(root));
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
