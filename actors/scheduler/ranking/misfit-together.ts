// Why groups that each fit a host do not all fit it at once: what keeps them together or apart, or which of them is one too
// many.

import type { Allocation } from '../../../machines/instance-build.ts';
import { shortened } from '../../count-words.ts';
import { fit, fitAtOnce } from '../../fitting/fit.ts';
import { isMet, optionsOf, type Plan, planOf } from '../../fitting/fit-choices.ts';
import type { RequestSpec, ResourceGroup } from '../../messages/common.ts';
import type { Refusal } from '../../messages/placement.ts';
import { refusalOf } from '../../placement/inventory.ts';
import type { Provider } from '../../placement/providers.ts';

/** Each group fits by itself, and yet not all at once. */
export function misfitOfAll(spec: RequestSpec, tree: readonly Provider[]): Refusal {
  return looserFit(spec, tree, (looser) => fit(looser, tree) !== null) ?? shortBeside(spec, tree) ?? tooMuch(tree);
}

/** The same as far as it is seen at once. */
export function plainMisfitOfAll(spec: RequestSpec, tree: readonly Provider[]): Refusal {
  const fitsAtOnce = (looser: RequestSpec) => (fitAtOnce(looser, tree) ?? null) !== null;
  return looserFit(spec, tree, fitsAtOnce) ?? tooMuch(tree);
}

/** Requests that ask for less than another does; hosts are many, so they are made once. */
interface Looser {
  readonly ofNoSubtree: RequestSpec;
  readonly together: RequestSpec;
  /** The first groups alone, one more each time, under no group policy. */
  readonly beginnings: readonly RequestSpec[];
}

/** A group of a request, and the request without it. */
interface Exchange {
  readonly group: ResourceGroup;
  readonly others: RequestSpec;
}

const looser = new WeakMap<RequestSpec, Looser>();
const exchanges = new WeakMap<RequestSpec, readonly Exchange[]>();

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

/** All groups but the last, those that are alike once. */
function exchangesOf(spec: RequestSpec): readonly Exchange[] {
  let known = exchanges.get(spec);
  if (known === undefined) {
    const { choices } = planOf(spec);
    const kindOf = (group: ResourceGroup) => choices.find((choice) => choice.group === group)?.kind;
    const { groups } = spec;
    known = groups
      .filter((group, at) => groups.findLastIndex((other) => kindOf(other) === kindOf(group)) === at)
      .slice(0, -1)
      .map((group) => ({ group, others: { ...spec, groups: groups.filter((one) => one !== group) } }));
    exchanges.set(spec, known);
  }
  return known;
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
    const lists = spec.sameSubtree.map((names) => shortened(names.join(', '))).join('; ');
    const message = `no subtree of '${name}' serves the groups that must share one: ${lists}`;
    return { code: 'not-one-subtree', message };
  }
  if (spec.groupPolicy !== 'isolate' || !fits(together)) return null;
  return { code: 'not-isolated', message: `the groups cannot each be served by a provider of their own of '${name}'` };
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

/** Of how many groups each is looked at as the one that is one too many, rather than the last one alone. */
const MAX_EXCHANGED = 8;

/** The first groups for which there is no room together: the one of them that is short of least beside the others. */
function shortBeside(spec: RequestSpec, tree: readonly Provider[]): Refusal | null {
  const plan = planOf(spec);
  if (plan.choices.length > MAX_EXPLAINED) return null;
  let before: readonly Allocation[] = [];
  for (const [last, beginning] of looserOf(spec).beginnings.entries()) {
    // All of them have been looked for in vain.
    const now = last + 1 < spec.groups.length ? fit(beginning, tree) : null;
    if (now !== null) {
      before = now;
      continue;
    }
    const refusals = refusalsBeside(before, spec.groups[last] as ResourceGroup, plan, tree);
    for (const { group, others } of last < MAX_EXCHANGED ? exchangesOf(beginning) : []) {
      const served = fitAtOnce(others, tree) ?? null;
      if (served !== null) refusals.push(...refusalsBeside(served, group, plan, tree));
    }
    if (refusals.length === 0) return null;
    const { refusal } = nearest(refusals);
    const message = `${refusal.message}, beside the other groups of the request`;
    return { ...refusal, code: 'exceeds-capacity', message };
  }
  return null;
}

interface Lacking {
  readonly refusal: Refusal;
  /** Which part of all that is asked of its class it is: amounts of two classes cannot be compared. */
  readonly share: number;
}

/** What each provider that may serve a group is short of for it, beside what it gives to others. */
function refusalsBeside(
  served: readonly Allocation[],
  group: ResourceGroup,
  { choices, askers }: Plan,
  tree: readonly Provider[],
): Lacking[] {
  const root = tree[0] as Provider;
  const shareOf = (resourceClass: string, { short = Number.POSITIVE_INFINITY }: Refusal) =>
    short / (askers.get(resourceClass) ?? []).reduce((sum, { amount, times }) => sum + amount * times, 0);
  const refusals: Lacking[] = [];
  for (const choice of choices) {
    if (choice.group !== group) continue;
    // Of those that are as near, one that could serve it alone is named.
    for (const { spec, stocks } of [...optionsOf(choice, tree), ...tree.filter((one) => isMet(choice, one, root))]) {
      const ofProvider = choice.demands.flatMap(({ resourceClass, amount }) => {
        let taken = 0;
        for (const { provider, resources } of served) if (provider === spec.id) taken += resources[resourceClass] ?? 0;
        const refusal = refusalOf(spec, resourceClass, stocks.get(resourceClass), amount, taken);
        return refusal === null ? [] : [{ refusal, share: shareOf(resourceClass, refusal) }];
      });
      if (ofProvider.length > 0 && ofProvider.every(({ share }) => share < Number.POSITIVE_INFINITY)) {
        refusals.push(farthest(ofProvider));
      }
    }
  }
  return refusals;
}

const nearest = (refusals: readonly Lacking[]): Lacking =>
  refusals.reduce((best, one) => (one.share < best.share ? one : best));

const farthest = (refusals: readonly Lacking[]): Lacking =>
  refusals.reduce((worst, one) => (one.share > worst.share ? one : worst));
