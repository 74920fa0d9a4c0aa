// All ways to serve a request from one tree, one after the other: a search that gives up a way as soon as it cannot
// lead anywhere, instead of listing all combinations and throwing most of them away.

import { type Amounts, adjustAll } from '../../../amounts.ts';
import type { CandidatesRequest } from '../../../messages/placement-api.ts';
import type { Provider } from '../../providers.ts';
import { type ById, isSubtree } from '../../subtree.ts';
import { canBeIsolated, canHoldTogether } from './feasibility.ts';
import type { Slot } from './options.ts';
import { SubtreeTops } from './tops.ts';

/** One way to serve a request. */
export interface Candidate {
  /** Amounts by provider and class. */
  readonly allocations: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** By suffix, the providers that serve the group. */
  readonly mappings: Readonly<Record<string, readonly string[]>>;
}

/** How many choices are tried in one tree from one way to the next: of one that is hard, others are not the worse. */
const MAX_IN_VAIN = 100_000;

/** After how many choices the search may rest, whether or not they lead to a way. */
const CHOICES_IN_STEP = 20_000;

/** How many choices a query may still try, over all trees: so that no question can hold up the shard for long. */
export interface Budget {
  steps: number;
}

/** How far a search has come: which option of each slot it is at, as far as one is chosen. */
export interface Course {
  order: readonly Slot[];
  at: readonly number[];
}

export const newCourse = (): Course => ({ order: [], at: [] });

/**
 * The ways to fill the slots, each once; null: others may be served before it goes on.
 * @param course Where it notes how far it has come.
 * @param before How far one has come that it goes on for, if it can: something of the tree was another then.
 */
export function* search(
  slots: readonly Slot[],
  request: CandidatesRequest,
  providers: ById,
  budget: Budget,
  course: Course,
  before: Course | null,
): Generator<Candidate | null> {
  // The choice with the fewest options first: a dead end shows soonest there.
  const order = [...slots].sort((one, other) => one.options.length - other.options.length);
  const begins = before === null ? [] : beginsAfter(before, order);
  const at: number[] = [];
  const note = (chosenOf: number) => {
    course.order = order;
    course.at = at.slice(0, chosenOf);
  };
  note(0);
  const isolate = request.groupPolicy === 'isolate';
  if (!canHoldTogether(order)) return;
  if (isolate && !canBeIsolated(order.filter(({ group }) => group.suffix !== ''))) return;
  const chosen: Provider[] = [];
  const taken = new Map<Provider, Map<string, number>>();
  const tops = new SubtreeTops(order, request, providers);
  let inVain = 0;

  function* fill(position: number, isBegin: boolean): Generator<Candidate | null> {
    const slot = order[position];
    if (slot === undefined) {
      if (!holds(order, chosen, request, providers)) return;
      inVain = 0;
      note(position);
      yield candidateOf(order, chosen, taken);
      return;
    }
    const begin = isBegin ? (begins[position] ?? 0) : 0;
    for (let option = begin; option < slot.options.length; option += 1) {
      const provider = slot.options[option] as Provider;
      at[position] = option;
      budget.steps -= 1;
      inVain += 1;
      if (budget.steps % CHOICES_IN_STEP === 0) {
        note(position + 1);
        yield null;
      }
      if (budget.steps < 0 || inVain > MAX_IN_VAIN) return;
      if (isolate && slot.group.suffix !== '' && isServing(order, chosen, position, provider)) continue;
      if (!take(taken, provider, slot.resources)) continue;
      if (tops.choose(slot, provider)) {
        chosen.push(provider);
        yield* fill(position + 1, isBegin && option === begin);
        chosen.pop();
      }
      tops.undo(slot);
      adjustAll(taken.get(provider) as Map<string, number>, slot.resources, -1);
    }
  }
  yield* fill(0, true);
}

/**
 * With which option of each slot a search begins that goes on for another: those before it that are options yet have been
 * tried. None, and so all are tried again, where the slots, or the options that both have, are in another order.
 */
function beginsAfter({ order: before, at }: Course, now: readonly Slot[]): readonly number[] {
  if (before.length !== now.length) return [];
  const begins: number[] = [];
  let isOnCourse = true;
  for (const [position, slot] of now.entries()) {
    const other = before[position] as Slot;
    if (!isSameChoice(slot, other)) return [];
    const places = new Map(slot.options.map(({ spec }, place) => [spec.id, place]));
    const common = other.options.map(({ spec }) => places.get(spec.id));
    let last = -1;
    for (const place of common) {
      if (place === undefined) continue;
      if (place < last) return [];
      last = place;
    }
    const option = at[position];
    if (!isOnCourse || option === undefined) continue;
    const next = common.findIndex((place, one) => one >= option && place !== undefined);
    begins.push(next < 0 ? slot.options.length : (common[next] as number));
    isOnCourse = next === option;
  }
  return begins;
}

function isSameChoice(one: Slot, other: Slot): boolean {
  const classesOf = ({ resources }: Slot) => Object.keys(resources).join();
  return one.group === other.group && classesOf(one) === classesOf(other);
}

/** Whether a provider serves a named group already. */
function isServing(order: readonly Slot[], chosen: readonly Provider[], until: number, provider: Provider): boolean {
  for (let position = 0; position < until; position += 1) {
    if (chosen[position] === provider && order[position]?.group.suffix !== '') return true;
  }
  return false;
}

/** Counts resources as taken, if the provider has room for all that is taken of it together. */
function take(taken: Map<Provider, Map<string, number>>, provider: Provider, resources: Amounts): boolean {
  let sums = taken.get(provider);
  for (const resourceClass in resources) {
    const stock = provider.stocks.get(resourceClass);
    if (stock === undefined) return false;
    const sum = (sums?.get(resourceClass) ?? 0) + (resources[resourceClass] as number);
    // Rounded down, as the capacity that a candidate tells is.
    if (stock.used + sum > Math.trunc(stock.capacity) || sum > stock.inventory.max_unit) return false;
  }
  if (sums === undefined) {
    sums = new Map();
    taken.set(provider, sums);
  }
  adjustAll(sums, resources, 1);
  return true;
}

/** The conditions on all choices together. */
function holds(
  order: readonly Slot[],
  chosen: readonly Provider[],
  { sameSubtree, nested }: CandidatesRequest,
  providers: ById,
): boolean {
  const unnamed = order.find(({ group }) => group.suffix === '')?.group;
  if (unnamed !== undefined && unnamed.required.length > 0) {
    const serving = chosen.filter((_, position) => order[position]?.group === unnamed);
    const has = (trait: string) => serving.some(({ traits }) => traits.has(trait));
    if (!unnamed.required.every((any) => any.some(has))) return false;
  }
  for (const suffixes of sameSubtree) {
    const serving = chosen.filter((_, position) => suffixes.includes(order[position]?.group.suffix ?? ''));
    if (serving.length > 0 && !isSubtree(serving, providers)) return false;
  }
  return nested || !sharesTree(order, chosen);
}

/** Whether two of the providers that give something are of one tree. */
function sharesTree(order: readonly Slot[], chosen: readonly Provider[]): boolean {
  const giving = new Set(chosen.filter((_, position) => Object.keys(order[position]?.resources ?? {}).length > 0));
  return new Set([...giving].map(({ root }) => root)).size < giving.size;
}

function candidateOf(
  order: readonly Slot[],
  chosen: readonly Provider[],
  taken: ReadonlyMap<Provider, ReadonlyMap<string, number>>,
): Candidate {
  const allocations = new Map<string, Record<string, number>>();
  for (const [{ spec }, sums] of taken) if (sums.size > 0) allocations.set(spec.id, Object.fromEntries(sums));
  // A map: callers choose the suffixes, and `constructor` is one that they may choose.
  const mappings = new Map<string, string[]>();
  for (const [position, { spec }] of chosen.entries()) {
    const suffix = order[position]?.group.suffix ?? '';
    const serving = mappings.get(suffix);
    if (serving === undefined) mappings.set(suffix, [spec.id]);
    else if (!serving.includes(spec.id)) serving.push(spec.id);
  }
  return { allocations: Object.fromEntries(allocations), mappings: Object.fromEntries(mappings) };
}
