// The ownership of one actor by one process. Any number of processes stand by for an actor; the one that holds its
// lease opens its journal and serves it, and gives both up in order. The lease is the guide, the journal is the fence:
// whatever is lost or doubtful here, no second writer gets a record in.
//
// | state     | effect on entry | what it asks of its host                                                        |
// |-----------|-----------------|---------------------------------------------------------------------------------|
// | standby   | watch           | follow the lease: say when it is free, or has not changed for as long as it lasts  |
// | acquiring | acquire         | take the lease, on condition that it is as it was seen                            |
// | opening   | renew, open     | keep renewing the lease from now on; take messages, read the journal              |
// | owning    | serve           | take turns                                                                        |
// | unsure    | hold            | take none until the lease is renewed: another process may own the actor by now    |
// | draining  | drain           | take no more messages; finish those that are there                                |
// | dropping  | drop            | forget the state, close the journal, renew no more                                |
// | releasing | release         | mark the lease as free, so that whoever stands by acquires it at once              |
// | resting   | rest            | leave the lease to others for a while                                             |
// | stopped   | none            | nothing any more                                                                  |

import { setup } from 'xstate';

/** What the machine of an ownership remembers. */
export interface OwnershipContext {
  readonly v: 1;
  readonly address: string;
  /** The lease is this process's, as far as it knows. */
  readonly holds: boolean;
  /** The process is to stop: it does not stand by again. */
  readonly leaving: boolean;
}

/** What befalls an ownership. */
export type OwnershipEvent =
  /** Nobody holds the lease. */
  | { type: 'VACANT' }
  /** The lease has not changed for as long as it lasts, by the clock of whoever watched it. */
  | { type: 'EXPIRED' }
  | { type: 'ACQUIRED' }
  /** Another process was faster. */
  | { type: 'TAKEN' }
  | { type: 'OPENED' }
  /** What was under way came to nothing, or the actor fails again and again: others may do better. */
  | { type: 'FAILED' }
  /** The lease may be over: it was not renewed in time. */
  | { type: 'STALE' }
  | { type: 'RENEWED' }
  /** The lease is another process's. */
  | { type: 'LOST' }
  /** The journal has refused a record: another owner has written. */
  | { type: 'FENCED' }
  | { type: 'DRAINED' }
  /** What was to be finished is not, and is not waited for any longer. */
  | { type: 'TIMED_OUT' }
  | { type: 'DROPPED' }
  /** The lease is free, or will be when it is over. */
  | { type: 'RELEASED' }
  | { type: 'RESTED' }
  /** The process is to stop. */
  | { type: 'STOP' };

const base = setup({
  types: {
    context: {} as OwnershipContext,
    events: {} as OwnershipEvent,
    input: {} as { address: string },
  },
  actions: {
    watch() {},
    acquire() {},
    renew() {},
    open() {},
    serve() {},
    hold() {},
    drain() {},
    drop() {},
    release() {},
    rest() {},
  },
  guards: {
    isLeaving: ({ context }) => context.leaving,
    holdsLease: ({ context }) => context.holds,
  },
});

const leave = base.assign({ leaving: true });
const gain = base.assign({ holds: true });
const lose = base.assign({ holds: false });

/** The machine of a process's ownership of an actor; the table above says what each state asks of its host. */
export const ownership = base.createMachine({
  id: 'ownership',
  initial: 'standby',
  context: ({ input }) => ({ v: 1, address: input.address, holds: false, leaving: false }),
  states: {
    standby: {
      entry: 'watch',
      on: { VACANT: 'acquiring', EXPIRED: 'acquiring', FAILED: 'resting', STOP: { target: 'stopped', actions: leave } },
    },
    acquiring: {
      entry: 'acquire',
      on: {
        ACQUIRED: [
          { guard: 'isLeaving', target: 'releasing', actions: gain },
          { target: 'opening', actions: gain },
        ],
        TAKEN: [{ guard: 'isLeaving', target: 'stopped' }, { target: 'standby' }],
        FAILED: [{ guard: 'isLeaving', target: 'stopped' }, { target: 'resting' }],
        STOP: { actions: leave },
      },
    },
    opening: {
      entry: ['renew', 'open'],
      on: {
        OPENED: 'owning',
        FAILED: 'dropping',
        FENCED: 'dropping',
        LOST: { target: 'dropping', actions: lose },
        STOP: { target: 'dropping', actions: leave },
      },
    },
    owning: {
      entry: 'serve',
      on: {
        STALE: 'unsure',
        FAILED: 'dropping',
        FENCED: 'dropping',
        LOST: { target: 'dropping', actions: lose },
        STOP: { target: 'draining', actions: leave },
      },
    },
    unsure: {
      entry: 'hold',
      on: {
        RENEWED: 'owning',
        FAILED: 'dropping',
        FENCED: 'dropping',
        LOST: { target: 'dropping', actions: lose },
        // Nothing can be finished without the lease.
        STOP: { target: 'dropping', actions: leave },
      },
    },
    draining: {
      entry: 'drain',
      on: {
        DRAINED: 'dropping',
        TIMED_OUT: 'dropping',
        FAILED: 'dropping',
        FENCED: 'dropping',
        LOST: { target: 'dropping', actions: lose },
      },
    },
    dropping: {
      entry: 'drop',
      on: {
        DROPPED: [
          { guard: 'holdsLease', target: 'releasing' },
          { guard: 'isLeaving', target: 'stopped' },
          { target: 'standby' },
        ],
        LOST: { actions: lose },
        STOP: { actions: leave },
      },
    },
    releasing: {
      entry: 'release',
      on: {
        RELEASED: [
          { guard: 'isLeaving', target: 'stopped', actions: lose },
          { target: 'resting', actions: lose },
        ],
        STOP: { actions: leave },
      },
    },
    resting: {
      entry: 'rest',
      on: { RESTED: 'standby', STOP: { target: 'stopped', actions: leave } },
    },
    stopped: { type: 'final' },
  },
});

/** The states of `ownership`. */
export type OwnershipState =
  | 'standby'
  | 'acquiring'
  | 'opening'
  | 'owning'
  | 'unsure'
  | 'draining'
  | 'dropping'
  | 'releasing'
  | 'resting'
  | 'stopped';
