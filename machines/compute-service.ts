// Whether a host may be given instances, as its cell sees it: up, disabled by an operator, or silent and so down.
// A disabled host keeps what it has and finishes what it began; it is only offered nothing new.
//
// | state    | effect on entry     | what it asks of the cell                                              |
// |----------|---------------------|-----------------------------------------------------------------------|
// | down     | announce, loseBuilds| tell the schedulers; reschedule the builds in progress on the host    |
// | up       | announce            | tell the schedulers                                                   |
// | disabled | announce            | tell the schedulers                                                   |

import { assign, setup } from 'xstate';

export interface ComputeServiceContext {
  readonly v: 1;
  readonly host: string;
  /** Why an operator keeps the host out of service, or null. */
  readonly disabledReason: string | null;
}

export type ComputeServiceEvent =
  /** The compute has said a word. */
  | { type: 'HEARD' }
  /** It has said none for longer than a healthy one ever would. */
  | { type: 'SILENT' }
  | { type: 'DISABLE'; reason: string }
  | { type: 'ENABLE' };

export const computeService = setup({
  types: {
    context: {} as ComputeServiceContext,
    events: {} as ComputeServiceEvent,
    input: {} as { host: string },
  },
  actions: { announce() {}, loseBuilds() {} },
  guards: { isDisabled: ({ context }) => context.disabledReason !== null },
}).createMachine({
  id: 'compute-service',
  initial: 'down',
  context: ({ input }) => ({ v: 1, host: input.host, disabledReason: null }),
  states: {
    down: {
      entry: ['announce', 'loseBuilds'],
      on: {
        HEARD: [{ guard: 'isDisabled', target: 'disabled' }, { target: 'up' }],
        DISABLE: { actions: assign({ disabledReason: ({ event }) => event.reason }) },
        ENABLE: { actions: assign({ disabledReason: null }) },
      },
    },
    up: {
      entry: 'announce',
      on: {
        SILENT: 'down',
        DISABLE: { target: 'disabled', actions: assign({ disabledReason: ({ event }) => event.reason }) },
      },
    },
    disabled: {
      entry: 'announce',
      on: {
        SILENT: 'down',
        ENABLE: { target: 'up', actions: assign({ disabledReason: null }) },
        DISABLE: { actions: assign({ disabledReason: ({ event }) => event.reason }) },
      },
    },
  },
});

export type ComputeServiceState = 'up' | 'disabled' | 'down';
