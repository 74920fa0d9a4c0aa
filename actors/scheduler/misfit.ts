// Why a request does not fit a host as the view has it: the first thing that really stands in the way, so that whoever
// asked knows what to ask for instead.

import type { RequestSpec, ResourceGroup } from '../messages/common.ts';
import type { Refusal } from '../messages/placement.ts';
import { asksOfRoot, unmet, unmetByRoot } from '../placement/conditions.ts';
import { fits, refusalOf, shortOfUnits, unitAllowed } from '../placement/inventory.ts';
import type { Provider } from '../placement/providers.ts';
import { fit, fitAtOnce } from './fit.ts';
import { type Choice, optionsOf, planOf } from './fit-choices.ts';

/** Why a request does not fit a tree: what stands in the way first, said of the provider that came nearest. */
export function misfitOf(spec: RequestSpec, tree: readonly Provider[]): Refusal {
  const alone = misfitOfOne(spec, tree);
  if (alone !== null) return alone;
  const { choices } = planOf(spec);
  const spread = choices.find(({ ofAll }) => ofAll !== null);
  const ofSpread = spread === undefined ? null : misfitOfSpread(spread, choices, tree);
  if (ofSpread !== null) return ofSpread;
  return shortOfClass(choices, tree) ?? misfitOfAll(spec, tree);
}

/** The same as far as it is seen at once. */
export function plainMisfitOf(spec: RequestSpec, tree: readonly Provider[]): Refusal {
  return misfitOfOne(spec, tree) ?? shortOfClass(planOf(spec).choices, tree) ?? plainMisfitOfAll(spec, tree);
}

/** What the host does not meet, or a group that nothing could serve if it were alone. */
function misfitOfOne(spec: RequestSpec, tree: readonly Provider[]): Refusal | null {
  const root = tree[0] as Provider;
  const ofRoot = asksOfRoot(spec) ? unmetByRoot(spec, root) : null;
  if (ofRoot !== null) return ofRoot;
  const { ofHost, kinds } = planOf(spec);
  for (const group of ofHost) {
    const refusal = unmet(group, [root], root);
    if (refusal !== null) return refusal;
  }
  for (const kind of kinds) {
    const nearest = nearestTo(kind, tree);
    if (nearest !== null) return misfitOfProvider(kind, nearest, root);
  }
  return null;
}

/** The provider that comes nearest to serving a choice, or null when one can serve it. */
function nearestTo(kind: Choice, tree: readonly Provider[]): Provider | null {
  const root = tree[0] as Provider;
  let nearest = root;
  let least = Number.POSITIVE_INFINITY;
  for (const provider of tree) {
    const distance = distanceOf(kind, provider, root);
    if (distance === null) return null;
    if (distance >= least) continue;
    nearest = provider;
    least = distance;
  }
  return nearest;
}

/**
 * How far a provider is from serving a choice, by the first thing that stands in its way: that it lacks a class says
 * least; being short of it says most, the less the nearer. Null: it can serve.
 */
function distanceOf({ demands, ofEach }: Choice, provider: Provider, root: Provider): number | null {
  for (const { resourceClass, amount } of demands) {
    const stock = provider.stocks.get(resourceClass);
    if (stock === undefined) return Number.POSITIVE_INFINITY;
    if (!unitAllowed(stock.inventory, amount)) return shortOfUnits(stock, amount) ?? 0;
    if (!fits(stock, amount)) return stock.used + amount - stock.capacity;
  }
  const refusal = ofEach === null ? null : unmet(ofEach, [provider], root);
  return refusal === null ? null : distanceBy(refusal);
}

function misfitOfProvider({ demands, ofEach }: Choice, provider: Provider, root: Provider): Refusal | null {
  for (const { resourceClass, amount } of demands) {
    const refusal = refusalOf(provider.spec, resourceClass, provider.stocks.get(resourceClass), amount, 0);
    if (refusal !== null) return refusal;
  }
  return ofEach === null ? null : unmet(ofEach, [provider], root);
}

/** The refusal that says most. */
function nearest(refusals: readonly (Refusal | null)[]): Refusal {
  const said = refusals.filter((refusal) => refusal !== null);
  return said.reduce((best, one) => (distanceBy(one) < distanceBy(best) ? one : best));
}

const distanceBy = ({ code, short }: Refusal): number =>
  code === 'no-inventory' ? Number.POSITIVE_INFINITY : (short ?? 0);

/** What the unnamed group asks of all that serve it together, and cannot have, though there is room for each class. */
function misfitOfSpread(
  { group, ofAll }: Choice,
  choices: readonly Choice[],
  tree: readonly Provider[],
): Refusal | null {
  const root = tree[0] as Provider;
  const asked = ofAll as ResourceGroup;
  const options = choices.filter((choice) => choice.group === group).map((choice) => optionsOf(choice, tree));
  const refusal = unmet(asked, [...new Set(options.flat())], root);
  if (refusal !== null || fit(aloneOf(group), tree) !== null) return refusal;
  // What is asked is there, but not in what can serve all classes at once.
  return unmet(asked, [...new Set(options.map(([first]) => first as Provider))], root);
}

/** A class of which all choices together ask for more than there is in all that could serve them. */
function shortOfClass(choices: readonly Choice[], tree: readonly Provider[]): Refusal | null {
  if (choices.length < 2) return null;
  const root = tree[0] as Provider;
  const asked = new Map<string, { amount: number; providers: Set<Provider> }>();
  const options: (readonly Provider[])[] = [];
  for (const choice of choices) {
    options[choice.kind] ??= optionsOf(choice, tree);
    for (const { resourceClass, amount } of choice.demands) {
      const sum = asked.get(resourceClass) ?? { amount: 0, providers: new Set() };
      sum.amount += amount;
      for (const provider of options[choice.kind] as readonly Provider[]) sum.providers.add(provider);
      asked.set(resourceClass, sum);
    }
  }
  for (const [resourceClass, { amount, providers }] of asked) {
    let free = 0;
    for (const { stocks } of providers) {
      const { capacity = 0, used = 0, inventory } = stocks.get(resourceClass) ?? {};
      free += Math.max(0, Math.min(Math.floor(capacity) - used, inventory?.max_unit ?? 0));
    }
    if (amount <= free) continue;
    const short = amount - free;
    const message =
      `${amount} ${resourceClass}, which the groups ask together, exceed what is free for them on '${root.spec.name}'` +
      `: ${free} (short by ${short})`;
    return { code: 'exceeds-capacity', message, provider: root.spec.id, resourceClass, short };
  }
  return null;
}

/** Requests that ask for less than another does; hosts are many, so they are made once. */
interface Looser {
  readonly ofNoSubtree: RequestSpec;
  readonly together: RequestSpec;
  /** The first groups alone, one more each time, under no group policy. */
  readonly beginnings: readonly RequestSpec[];
}

const looser = new WeakMap<RequestSpec, Looser>();
const alone = new WeakMap<ResourceGroup, RequestSpec>();

function looserOf(spec: RequestSpec): Looser {
  let known = looser.get(spec);
  if (known === undefined) {
    const { groups } = spec;
    const together: RequestSpec = { ...spec, groupPolicy: 'none', sameSubtree: [] };
    const beginnings = groups.map((_, last) => ({ ...together, groups: groups.slice(0, last + 1) }));
    known = { ofNoSubtree: { ...spec, sameSubtree: [] }, together, beginnings };
    looser.set(spec, known);
  }
  return known;
}

function aloneOf(group: ResourceGroup): RequestSpec {
  let known = alone.get(group);
  if (known === undefined) {
    known = { groups: [group], groupPolicy: 'none' };
    alone.set(group, known);
  }
  return known;
}

/** Each group fits by itself, and yet not all at once. */
function misfitOfAll(spec: RequestSpec, tree: readonly Provider[]): Refusal {
  return looserFit(spec, tree, (looser) => fit(looser, tree) !== null) ?? shortBeside(spec, tree) ?? tooMuch(tree);
}

function plainMisfitOfAll(spec: RequestSpec, tree: readonly Provider[]): Refusal {
  const fitsAtOnce = (looser: RequestSpec) => (fitAtOnce(looser, tree) ?? null) !== null;
  return looserFit(spec, tree, fitsAtOnce) ?? tooMuch(tree);
}

/** What keeps the groups together, or apart, without which they would fit. */
function looserFit(
  spec: RequestSpec,
  tree: readonly Provider[],
  fits: (looser: RequestSpec) => boolean,
): Refusal | null {
  const { name } = (tree[0] as Provider).spec;
  const { ofNoSubtree, together } = looserOf(spec);
  if (spec.sameSubtree !== undefined && fits(ofNoSubtree)) {
    const lists = spec.sameSubtree.map((names) => names.join(', ')).join('; ');
    const message = `no subtree of '${name}' serves the groups that must share one: ${lists}`;
    return { code: 'not-one-subtree', message };
  }
  if (spec.groupPolicy !== 'isolate' || !fits(together)) return null;
  return { code: 'not-isolated', message: `the groups cannot each be served by another provider of '${name}'` };
}

function tooMuch(tree: readonly Provider[]): Refusal {
  const { name } = (tree[0] as Provider).spec;
  return {
    code: 'exceeds-capacity',
    message: `the groups cannot all be served by the providers of '${name}' at once`,
  };
}

/** For how many choices it is found out which group is one too many. */
const MAX_EXPLAINED = 16;

/** The first group that finds no room beside those before it. */
function shortBeside(spec: RequestSpec, tree: readonly Provider[]): Refusal | null {
  if (planOf(spec).choices.length > MAX_EXPLAINED) return null;
  let before: ReturnType<typeof fit> = [];
  for (const [position, beginning] of looserOf(spec).beginnings.entries()) {
    const now = fit(beginning, tree);
    if (now !== null) {
      before = now;
      continue;
    }
    const { name } = spec.groups[position] as ResourceGroup;
    const refusals: Refusal[] = [];
    for (const choice of planOf(spec).choices) {
      if (choice.group.name !== name) continue;
      for (const provider of optionsOf(choice, tree)) {
        for (const { resourceClass, amount } of choice.demands) {
          let taken = 0;
          for (const { provider: id, resources } of before ?? []) {
            if (id === provider.spec.id) taken += resources[resourceClass] ?? 0;
          }
          const stock = provider.stocks.get(resourceClass);
          const refusal = refusalOf(provider.spec, resourceClass, stock, amount, taken);
          if (refusal !== null) refusals.push(refusal);
        }
      }
    }
    if (refusals.length === 0) return null;
    const refusal = nearest(refusals);
    return { ...refusal, message: `${refusal.message}, beside the other groups of the request` };
  }
  return null;
}
