// A question for the instances that are like a name, while it is looked into.

import type { Address, SteadyTime } from '../actor.ts';
import type { LikeFinder } from '../alike.ts';

export interface Likening {
  readonly from: Address;
  readonly ask: number;
  readonly sought: readonly { readonly name: string; readonly digits: string; readonly finder: LikeFinder }[];
  readonly isHolding: boolean;
  /** When whoever asks waits no longer. */
  readonly until: SteadyTime;
  /** The instances that were not looked at; undefined: none was. */
  left: Iterator<string> | undefined;
}
