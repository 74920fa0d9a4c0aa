// Looks for callers of the Placement API that may take long, and how much of one is done in one turn.

import type { Address } from '../../actor.ts';
import type { ApiOutcome } from '../../messages/placement-api.ts';

/** A look under way. What it has found is of the providers as they were when it came to them. */
export interface Looking {
  /** Does some of it at a time. */
  readonly steps: Generator<void, ApiOutcome>;
  /** A provider is gone: it is not answered with, though it was found. */
  readonly gone: (id: string) => void;
  /** A tree has got providers of another one. */
  readonly grown?: (root: string) => void;
}

/** One that is not answered yet, by whom and as which question it was asked first. */
export interface Look {
  readonly from: Address;
  readonly first: number;
  readonly ask: number;
  /** Of which no provider that goes has a part any more, once all is found. */
  gone: Looking['gone'] | null;
  readonly grown: Looking['grown'];
  /** Looks, then puts the answer into words, and answers in how many parts that is. */
  readonly steps: Generator<void, readonly string[]>;
  parts: readonly string[] | null;
  sent: number;
}

/** In the order of their turns; more than take turns at one time wait behind those. */
export type Looks = Look[];

/** So much is done at a time, of which a look at a provider is 1: some milliseconds of work. */
const MOST = 2_000;

export interface Pace {
  /** Notes what was done; answers whether that is enough for now. */
  isDue(effort: number): boolean;
}

export function paceOfLook(): Pace {
  let done = 0;
  return {
    isDue(effort) {
      done += effort;
      if (done < MOST) return false;
      done = 0;
      return true;
    },
  };
}
