// Following numbered feeds: noticing that a number was missed, and asking for the whole again, page by page, without
// ceasing to serve. One follower stands for one feed: a placement shard's or a cell's.

import type { SteadyTime } from '../../actor.ts';

/** Who tells a feed. */
export type Teller =
  | { readonly shard: number; readonly cell?: undefined }
  | { readonly cell: string; readonly shard?: undefined };

export const placementFeed = (shard: number): string => `placement ${shard}`;
export const cellFeed = (cell: string): string => `cell ${cell}`;

export interface Follower {
  readonly of: Teller;
  /** Which life of the teller is being followed. */
  epoch: number;
  /** The last number heard. */
  sequence: number;
  /** The question that is under way for the whole, or null; answers to other questions are old. */
  ask: number | null;
  /** After what the page begins that is asked for; undefined: it is the first. */
  after: string | undefined;
  /** How often that page was asked for again. */
  repeats: number;
  /** When the feed was last heard, or may have been by a scheduler that was held up. */
  heardAt: SteadyTime;
  /** When it was last heard for certain, ms since the epoch. */
  saidAt: number;
  /** The same by the clock that nobody sets. */
  said: SteadyTime;
  /** While the whole is asked for: ids named on the pages so far, or by the feed meanwhile. */
  readonly listed: Set<string>;
  /** While the whole is asked for: what the feed told to be gone since, with the number of the change. */
  readonly goneAt: Map<string, number>;
  /** While the whole is asked for: whether a number was missed since. */
  hasMissedMore: boolean;
  /** Why the cell that is followed is out of service as a whole; undefined: it is not, or that was not told yet. */
  disabled: string | undefined;
}

export function newFollower(of: Teller): Follower {
  return {
    of,
    epoch: -1,
    sequence: 0,
    ask: null,
    after: undefined,
    repeats: 0,
    heardAt: 0,
    saidAt: 0,
    said: 0,
    listed: new Set(),
    goneAt: new Map(),
    hasMissedMore: false,
    disabled: undefined,
  };
}

/**
 * Takes the number of a feed message. True when something was missed, so that the whole must be asked for: a beat only
 * repeats the last number, so one that tells a new number means that the change of that number was lost.
 */
export function follow(follower: Follower, epoch: number, sequence: number, isBeat: boolean): boolean {
  const isNext = !isBeat && sequence === follower.sequence + 1;
  const inStep = epoch === follower.epoch && (isNext || sequence === follower.sequence);
  follower.epoch = epoch;
  follower.sequence = sequence;
  return !inStep;
}
