// The end of what an attempt left behind: first nothing may run on its host any more, then its resources are given
// back, never the other way round. Deleting an instance is the removal of its last attempt, with `final` set: its
// consumer is then remembered as deleted, so that a claim that arrives late is refused.
//
// | state      | effect on entry | what it asks of the cell                                                  |
// |------------|-----------------|---------------------------------------------------------------------------|
// | destroying | destroy         | tell the compute to destroy the attempt, until it says that nothing is left |
// | releasing  | release         | tell placement to give the resources back, until it says that it has       |
// | removed    | forget          | nothing is owed any more                                                    |

import { setup } from 'xstate';

/** What the machine of a removal remembers; it is journaled. */
export interface RemovalContext {
  readonly v: 1;
  readonly instance: string;
  /** The attempt that is removed. */
  readonly attempt: number;
  /** The host on which something of it may run; null when nothing does: it takes DESTROYED as it begins, which is not recorded. */
  readonly host: string | null;
  /** The instance ends with this: its consumer may never claim again. */
  readonly final: boolean;
  /** When it began, ms since the epoch. */
  readonly since?: number;
}

/** What befalls a removal. */
export type RemovalEvent =
  /** Nothing of the attempt is left on the host: its compute says so, or an operator who fenced the host. */
  { type: 'DESTROYED' } | { type: 'RELEASED' };

/** The machine of a removal; the table above says what each state asks of the cell. */
export const removal = setup({
  types: {
    context: {} as RemovalContext,
    events: {} as RemovalEvent,
    input: {} as Omit<RemovalContext, 'v'>,
  },
  actions: { destroy() {}, release() {}, forget() {} },
}).createMachine({
  id: 'removal',
  initial: 'destroying',
  context: ({ input }) => ({ v: 1, ...input }),
  states: {
    destroying: { entry: 'destroy', on: { DESTROYED: 'releasing' } },
    releasing: { entry: 'release', on: { RELEASED: 'removed' } },
    removed: { type: 'final', entry: 'forget' },
  },
});

/** The states of `removal`. */
export type RemovalState = 'destroying' | 'releasing' | 'removed';
