// Weighers: how good a host would be that fits. Each is a small pure function of the host as it would stand after the
// claim and of a part of the request, on a scale of its own from 0 to 1, and counts with its multiplier. The scale is
// fixed, not stretched from the worst to the best of the hosts that happen to be there: so one failed build does not
// count as much as a thousand, one host more changes no order among the others, and a host is weighed again only when
// it has changed.

import type { Allocation } from '../../../machines/instance-build.ts';
import type { ServerPreference } from '../../fitting/offer.ts';
import type { Provider } from '../../placement/providers.ts';
import type { Request } from '../request.ts';
import { partOf, Unreadable } from '../request-parts.ts';
import type { HostFacts } from '../view/host-facts.ts';

/** A host that fits, with what it would give. */
export interface Candidate {
  /** As it stands without the claim. */
  readonly host: HostFacts;
  /** The tree of the host, the root first. */
  readonly tree: readonly Provider[];
  /** What the claim would take, of which providers of the tree. */
  readonly allocations: readonly Allocation[];
}

/** How good a host would be: what all weighers say, times their multipliers, is summed up. */
export interface Weigher<Part = unknown> {
  /** Unique among the weighers in use: explanations and overrides of multipliers go by it. */
  readonly name: string;
  /** How much it counts beside the others; a negative one turns it round, 0 switches it off. */
  readonly multiplier: number;
  /**
   * The part of a request that the weigher goes by, as plain data. Undefined: it does not concern this request. Requests
   * with equal parts share one ranking of all hosts, so a part should take few different values. Default: what every
   * ranking is made for, the request spec but for its instance group and what it says of single hosts and of other
   * instances.
   */
  goesBy?(request: Request): Part | undefined;
  /**
   * How good the candidate is: 0 the worst, 1 the best that there can be. NaN: it cannot be said, and the candidate counts
   * as the worst, with a negative multiplier too.
   */
  weigh(candidate: Candidate, part: Part): number;
  /** When it would say something else though the host did not change, ms since the epoch; null: never. */
  changesAt?(host: HostFacts): number | null;
  /**
   * True: it does not look at what the claim would take, nor by `goesBy` at the amounts that are asked for. Hosts are then
   * not weighed again for each amount.
   */
  readonly ignoresAmounts?: boolean;
  /** True: it does not look at `stats` of a host, a change of which alone is then no reason to weigh it again. */
  readonly ignoresStats?: boolean;
  /**
   * Which provider of a host is to serve a named group, such as which of its devices. The first weigher that has a
   * preference decides; default: the provider that is left with least.
   */
  readonly prefers?: ServerPreference;
  /** Told of what each claim of this scheduler is granted: for one that goes by more than how much is in use. */
  granted?(allocations: readonly Allocation[]): void;
}

/** For hosts of an aggregate, by its id: multipliers to be used, by the names of weighers, instead of the usual ones. */
export type Overrides = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** A weigher with the part of a request that it is to go by. */
export interface AskedWeigher {
  readonly weigher: Weigher;
  readonly part: unknown;
}

/** The weighers that a request concerns. */
export function weighersFor(weighers: readonly Weigher[], request: Request): AskedWeigher[] {
  return weighers
    .map((weigher) => ({ weigher, part: partOf(weigher, request) }))
    .filter(({ part }) => part !== undefined && !(part instanceof Unreadable));
}

/** The sum of what all weighers count for on a host. */
export function weightOf(asked: readonly AskedWeigher[], candidate: Candidate, overrides: Overrides): number {
  let weight = 0;
  for (const one of asked) weight += contributionOf(one, candidate, overrides);
  return weight;
}

/** What a weigher counts for on a host: what it says, times the multiplier that counts there. */
export function contributionOf({ weigher, part }: AskedWeigher, candidate: Candidate, overrides: Overrides): number {
  const multiplier = multiplierFor(weigher, candidate.host, overrides);
  return multiplier === 0 ? 0 : multiplier * valueBy(weigher, candidate, part, multiplier);
}

/**
 * What a weigher says, held within its scale; one that throws or says no finite number says what is the worst with the
 * multiplier by which it counts.
 */
export function valueBy(
  weigher: Weigher,
  candidate: Candidate,
  part: unknown,
  multiplier: number = weigher.multiplier,
): number {
  const worst = multiplier < 0 ? 1 : 0;
  try {
    const value = weigher.weigh(candidate, part);
    // It may be anybody's code: a text is not finite either.
    return Number.isFinite(value) ? Math.min(1, Math.max(0, value)) : worst;
  } catch {
    return worst;
  }
}

/** When a weigher would say something else of a host that did not change; one that throws says never. */
export function changeOf(weigher: Weigher, host: HostFacts): number | null {
  try {
    const at = weigher.changesAt?.(host) ?? null;
    return typeof at === 'number' && Number.isFinite(at) ? at : null;
  } catch {
    return null;
  }
}

/** The preference of the first weigher that has one; what it says is no more trusted than what weighers say. */
export function preferenceOf(weighers: readonly Weigher[]): ServerPreference | undefined {
  const weigher = weighers.find(({ prefers, multiplier }) => prefers !== undefined && multiplier !== 0);
  if (weigher === undefined) return undefined;
  return (offer, server) => {
    try {
      const value = weigher.prefers?.(offer, server);
      return typeof value === 'number' && !Number.isNaN(value) ? value : -Number.MAX_VALUE;
    } catch {
      return -Number.MAX_VALUE;
    }
  };
}

/** Tells all weighers that go by it what a claim was granted. Answers whether there are any. */
export function tellGranted(weighers: readonly Weigher[], allocations: readonly Allocation[]): boolean {
  let isTold = false;
  for (const weigher of weighers) {
    if (weigher.granted === undefined) continue;
    isTold = true;
    try {
      weigher.granted(allocations);
    } catch {
      // It may be anybody's code: what it makes of it is its own loss.
    }
  }
  return isTold;
}

/** The multiplier that counts on a host: the lowest that one of its aggregates says, or the weigher's own. */
export function multiplierFor({ name, multiplier }: Weigher, { aggregates }: HostFacts, overrides: Overrides): number {
  if (overrides.size === 0) return multiplier;
  let lowest: number | undefined;
  for (const aggregate of aggregates) {
    const told = overrides.get(aggregate)?.get(name);
    if (told !== undefined && (lowest === undefined || told < lowest)) lowest = told;
  }
  return lowest ?? multiplier;
}
