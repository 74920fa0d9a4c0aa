// Weighers: how good a host would be that fits. Each is a small pure function of the host as it would stand after the
// claim and of a part of the request, on a scale of its own from 0 to 1, and counts with its multiplier. None looks at
// other hosts, so that a host's weight changes only when the host does, and one host more changes no order.

import type { Allocation } from '../../../machines/instance-build.ts';
import type { Provider } from '../../placement/providers.ts';
import type { HostFacts } from '../host-facts.ts';

/** A host that fits, with what it would give. */
export interface Candidate {
  readonly host: HostFacts;
  /** The tree of the host, the root first. */
  readonly tree: readonly Provider[];
  readonly allocations: readonly Allocation[];
}

export interface Weigher {
  /** Unique among the weighers in use: explanations and overrides of multipliers go by it. */
  readonly name: string;
  /** How much it counts beside the others; a negative one turns it round, 0 switches it off. */
  readonly multiplier: number;
  /** How good the candidate is: 0 the worst, 1 the best that there can be. */
  weigh(candidate: Candidate): number;
}

/** The sum of what all weighers say, each times its multiplier. */
export function weightOf(weighers: readonly Weigher[], candidate: Candidate): number {
  let weight = 0;
  for (const weigher of weighers) weight += weigher.multiplier * normalised(weigher.weigh(candidate));
  return weight;
}

/** What a weigher said, held within its scale; what is no number is the worst. */
export function normalised(value: number): number {
  return Number.isNaN(value) ? 0 : Math.min(1, Math.max(0, value));
}
