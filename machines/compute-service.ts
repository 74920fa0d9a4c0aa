// Whether a host may be given instances, as its cell sees it. A host that is not up keeps what it has and finishes what
// it began; it is only offered nothing new. Only of a fenced host is it certain that nothing runs there: an operator
// has said so, and so its compute is not listened to any more until it begins a new life.
//
// | state    | effect on entry               | what it asks of the cell                                           |
// |----------|-------------------------------|--------------------------------------------------------------------|
// | down     | announce, loseBuilds          | tell the schedulers; reschedule the builds in progress on the host |
// | up       | announce                      | tell the schedulers                                                |
// | aside    | announce                      | tell the schedulers: its builds kept failing, it rests for a while |
// | disabled | announce                      | tell the schedulers                                                |
// | fenced   | announce, confirmGone         | tell the schedulers; take all that it had as destroyed             |

import { assign, setup } from 'xstate';

/** Why a host rests, and until when, ms since the epoch. */
export interface Rest {
  readonly reason: string;
  readonly until: number;
}

/** What the machine of a host remembers. */
export interface ComputeServiceContext {
  readonly v: 1;
  readonly host: string;
  /** Why an operator keeps the host out of service, or null. */
  readonly disabledReason: string | null;
  /** Why the host is set aside, or null; it stays so while the host is down, and ends by its time. */
  readonly rest: Rest | null;
}

/** What befalls a host, as its cell learns it. */
export type ComputeServiceEvent =
  /** The compute has said a word. */
  | { type: 'HEARD' }
  /** A new life of the compute has presented itself. */
  | { type: 'REBORN' }
  /** It has said nothing for longer than a healthy one ever would. */
  | { type: 'SILENT' }
  /** Its builds keep failing. */
  | { type: 'SET_ASIDE'; reason: string; until: number }
  /** It has rested for long enough. */
  | { type: 'RESTED' }
  /** An operator states that nothing runs there any more. */
  | { type: 'FENCE' }
  | { type: 'DISABLE'; reason: string }
  | { type: 'ENABLE' };

const service = setup({
  types: {
    context: {} as ComputeServiceContext,
    events: {} as ComputeServiceEvent,
    input: {} as { host: string },
  },
  actions: { announce() {}, loseBuilds() {}, confirmGone() {} },
  guards: {
    isDisabled: ({ context }) => context.disabledReason !== null,
    isResting: ({ context }) => context.rest !== null,
  },
});

const disable = service.assign({
  disabledReason: ({ event }) => (event.type === 'DISABLE' ? event.reason : null),
});
/** An operator who puts a host back into service has looked at it: it need not rest any more. */
const enable = service.assign({ disabledReason: null, rest: null });
const rested = service.assign({ rest: null });

/** Where a host is that can be heard. */
const heard = [
  { guard: 'isDisabled', target: 'disabled' },
  { guard: 'isResting', target: 'aside' },
  { target: 'up' },
] as const;

/** The machine of a host's service; the table above says what each state asks of the cell. */
export const computeService = service.createMachine({
  id: 'compute-service',
  initial: 'down',
  context: ({ input }) => ({ v: 1, host: input.host, disabledReason: null, rest: null }),
  states: {
    down: {
      entry: ['announce', 'loseBuilds'],
      on: {
        HEARD: heard,
        FENCE: 'fenced',
        RESTED: { actions: [rested] },
        DISABLE: { actions: [disable] },
        ENABLE: { actions: [enable] },
      },
    },
    up: {
      entry: 'announce',
      on: {
        SILENT: 'down',
        SET_ASIDE: {
          target: 'aside',
          actions: assign({ rest: ({ event: { reason, until } }) => ({ reason, until }) }),
        },
        DISABLE: { target: 'disabled', actions: [disable] },
      },
    },
    aside: {
      entry: 'announce',
      on: {
        SILENT: 'down',
        RESTED: { target: 'up', actions: [rested] },
        ENABLE: { target: 'up', actions: [enable] },
        DISABLE: { target: 'disabled', actions: [disable] },
      },
    },
    disabled: {
      entry: 'announce',
      on: {
        SILENT: 'down',
        RESTED: { actions: [rested] },
        ENABLE: { target: 'up', actions: [enable] },
        DISABLE: { actions: [disable] },
      },
    },
    fenced: {
      entry: ['announce', 'confirmGone'],
      on: {
        REBORN: heard,
        RESTED: { actions: [rested] },
        DISABLE: { actions: [disable] },
        ENABLE: { actions: [enable] },
      },
    },
  },
});

/** The states of `computeService`. */
export type ComputeServiceState = 'up' | 'aside' | 'disabled' | 'down' | 'fenced';
