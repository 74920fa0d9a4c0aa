// The choice of a host for one instance: rank, claim the best, and if that is refused rank again without it, until a
// claim is granted or nothing is left to try. Resources are held when it ends in `selected`: choosing is claiming.
// Before it gives up it asks whether an earlier ask, of which the answer was lost, was granted a claim: in a full fleet
// that claim may be the very reason why nothing fits.
//
// | state     | effect on entry | what it asks of the scheduler                                            |
// |-----------|-----------------|--------------------------------------------------------------------------|
// | ranking   | rank            | name the best host that fits and is not in `tried`                       |
// | claiming  | claim           | claim `candidate` in placement; done again, it sends the same claim      |
// | recalling | recall          | ask placement what it holds for the instance already                     |
// | selected  | pickAlternates  | the next in rank, of the same cell, each with its own allocations        |
// | exhausted | explain         | say why no host was left                                                  |

import { assign, setup } from 'xstate';
import type { Selection } from './instance-build.ts';

/** How many claims one selection makes before it gives up; each refusal also corrects the scheduler's view. */
export const MAX_CLAIMS_PER_SELECTION = 64;

/** What the machine of a selection remembers. */
export interface SelectionContext {
  readonly v: 1;
  readonly instance: string;
  readonly candidate: Selection | null;
  /** The root providers that refused, and are not tried again. */
  readonly tried: readonly string[];
  /** How many claims were refused by others, which may do all the same. */
  readonly passing: number;
  readonly reason: string | null;
}

/** What befalls a selection. */
export type SelectionEvent =
  | { type: 'RANKED'; candidate: Selection }
  | { type: 'NONE_FITS'; reason: string }
  /** Placement holds nothing for the instance. */
  | { type: 'NOTHING_HELD'; reason: string }
  /** `held` is what placement holds for the instance: what was asked for, or what an earlier ask was granted. */
  | { type: 'GRANTED'; held: Selection }
  /** `isPassing`: for a reason that may be gone by the next claim, so the host is not left out. */
  | { type: 'REFUSED'; reason: string; isPassing?: boolean }
  /** No host can help: the instance is deleted, or somebody else has the claim in hand. */
  | { type: 'GAVE_UP'; reason: string };

/** How many of its claims were refused. */
export function claimsRefused({ tried, passing }: Pick<SelectionContext, 'tried' | 'passing'>): number {
  return tried.length + passing;
}

/** The machine of the choice of one instance's host; the table above says what each state asks of the scheduler. */
export const selection = setup({
  types: {
    context: {} as SelectionContext,
    events: {} as SelectionEvent,
    /** `tried`: hosts that are left out from the start; they and `passing` count as claims. */
    input: {} as { instance: string; tried?: readonly string[]; passing?: number },
  },
  actions: { rank() {}, claim() {}, recall() {}, pickAlternates() {}, explain() {} },
  guards: {
    mayTryMore: ({ context }) => claimsRefused(context) + 1 < MAX_CLAIMS_PER_SELECTION,
  },
}).createMachine({
  id: 'selection',
  initial: 'ranking',
  context: ({ input: { instance, tried = [], passing = 0 } }) => ({
    v: 1,
    instance,
    candidate: null,
    tried,
    passing,
    reason: null,
  }),
  states: {
    ranking: {
      entry: 'rank',
      on: {
        RANKED: { target: 'claiming', actions: assign({ candidate: ({ event }) => event.candidate }) },
        NONE_FITS: { target: 'recalling', actions: assign({ reason: ({ event }) => event.reason }) },
      },
    },
    claiming: {
      entry: 'claim',
      on: {
        GRANTED: { target: 'selected', actions: assign({ candidate: ({ event }) => event.held }) },
        REFUSED: [
          {
            guard: 'mayTryMore',
            target: 'ranking',
            actions: assign({
              tried: ({ context: { tried, candidate }, event: { isPassing } }) =>
                isPassing === true ? tried : [...tried, candidate?.provider ?? ''],
              passing: ({ context, event }) => context.passing + (event.isPassing === true ? 1 : 0),
              candidate: null,
              reason: ({ event }) => event.reason,
            }),
          },
          {
            target: 'exhausted',
            actions: assign({
              reason: ({ event }) => `the last of ${MAX_CLAIMS_PER_SELECTION} claims was refused: ${event.reason}`,
            }),
          },
        ],
        GAVE_UP: { target: 'exhausted', actions: assign({ reason: ({ event }) => event.reason }) },
      },
    },
    recalling: {
      entry: 'recall',
      on: {
        GRANTED: { target: 'selected', actions: assign({ candidate: ({ event }) => event.held }) },
        RANKED: { target: 'claiming', actions: assign({ candidate: ({ event }) => event.candidate }) },
        NOTHING_HELD: { target: 'exhausted', actions: assign({ reason: ({ event }) => event.reason }) },
      },
    },
    selected: { type: 'final', entry: 'pickAlternates' },
    exhausted: { type: 'final', entry: 'explain' },
  },
});
