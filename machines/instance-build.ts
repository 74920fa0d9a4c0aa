// The build of one instance, from the request to `active` or `failed`: the specification of what may happen to it.
// It keeps no time and does nothing: time-outs are events, and what must be done is named by the entry effects.
//
// | state        | effect on entry | what it asks of the actor that hosts the machine                                 |
// |--------------|-----------------|----------------------------------------------------------------------------------|
// | requested    | askScheduler    | ask for a selection with as many alternates as the caller named                   |
// | claimed      | dispatch        | outside the cell: hand the build over to it; inside: tell the compute to build     |
// | building     | awaitCompute    | wait for the compute's word; done again, it asks the compute again                 |
// | rescheduling | claimAlternate  | give back the failed host and claim `alternates[0]`, in one command to placement   |
// | failed       | release, report | give back whatever is held; say why                                               |
// | active       | report          | say so                                                                            |

import { assign, setup } from 'xstate';

/** The resources that one provider gives to one group of the request. */
export interface Allocation {
  readonly provider: string;
  /** The request group that this serves; '' is the unnamed group. */
  readonly group: string;
  readonly resources: Readonly<Record<string, number>>;
}

/** A host chosen for an instance, with the allocations that were, or are to be, claimed there. */
export interface Selection {
  readonly cell: string;
  readonly host: string;
  /** The root provider of the host. */
  readonly provider: string;
  /** Absent when the host's own provider gives all that the request asks, which is then one unnamed group. */
  readonly allocations?: readonly Allocation[];
  /** How many instances the host may have, this one included, where that is limited: a condition of the claim. */
  readonly maxInstances?: number;
}

/** How an attempt came to nothing. */
export type AttemptOutcome =
  | 'refused' // the compute would not take it, or the host was out of service
  | 'build-failed' // it failed there; another host may succeed
  | 'build-aborted' // it failed there, and would anywhere
  | 'timed-out' // no word within the deadline
  | 'host-lost' // the host went silent
  | 'claim-refused' // the alternate's resources were gone, or it was out of service
  | 'passed-over' // the host is a last resort: it stands behind all other alternates, to be tried when it is its turn
  | 'deleted'; // the caller ended it

/** An attempt that came to nothing. Attempts count the claims made for the instance, or passed over, from 1. */
export interface Attempt {
  readonly attempt: number;
  readonly host: string;
  readonly outcome: AttemptOutcome;
  readonly reason: string;
  /** Something of the attempt may be on the host still: its resources stay held until the host says otherwise. */
  readonly mayRun: boolean;
}

/** Why a build failed: the code is for programs, the message for people. */
export interface Failure {
  readonly code: FailureCode;
  readonly message: string;
}

/** Why a build failed, as far as its machine knows; an instance may also be lost, or its cell silent, afterwards. */
export type FailureCode =
  | 'no-valid-host'
  | 'scheduling-timed-out'
  | 'alternates-exhausted'
  | 'build-aborted'
  | 'deleted';

/** What the machine of a build remembers; it is journaled. */
export interface InstanceBuildContext {
  /** The version of this shape; a stored one of another version is refused by name. */
  readonly v: 1;
  readonly instance: string;
  /** The host whose resources are held for the build, or null while none is. */
  readonly selection: Selection | null;
  /** The hosts still to be tried, in order, all of the cell of the selection; those that were passed over are the last. */
  readonly alternates: readonly Selection[];
  /** How many claims were made or passed over so far; the one that counts is this one. */
  readonly attempt: number;
  readonly attempts: readonly Attempt[];
  readonly failure: Failure | null;
}

/** What befalls a build. An event of an attempt that is not the current one means nothing. */
export type InstanceBuildEvent =
  | { type: 'SELECTED'; selection: Selection; alternates: readonly Selection[] }
  | { type: 'NO_VALID_HOST'; reason: string }
  | { type: 'ACCEPTED'; attempt: number }
  | { type: 'REFUSED'; attempt: number; reason: string }
  | { type: 'BUILT'; attempt: number }
  | { type: 'BUILD_FAILED'; attempt: number; reason: string }
  | { type: 'BUILD_ABORTED'; attempt: number; reason: string }
  | { type: 'HOST_LOST'; attempt: number; reason: string }
  /** `allocations`: what was granted, where it is not what the alternate names. */
  | { type: 'CLAIM_GRANTED'; attempt: number; allocations?: readonly Allocation[] }
  | { type: 'CLAIM_REFUSED'; attempt: number; reason: string }
  /** The host that was claimed, or is to be claimed next, is a last resort, and others are left: it is to be the last. */
  | { type: 'PASSED_OVER'; attempt: number; reason: string }
  | { type: 'TIMED_OUT'; reason?: string }
  | { type: 'DELETED' };

type Context = InstanceBuildContext;

const OUTCOMES = {
  REFUSED: { outcome: 'refused', mayRun: false },
  BUILD_FAILED: { outcome: 'build-failed', mayRun: false },
  BUILD_ABORTED: { outcome: 'build-aborted', mayRun: false },
  HOST_LOST: { outcome: 'host-lost', mayRun: true },
  TIMED_OUT: { outcome: 'timed-out', mayRun: true },
  DELETED: { outcome: 'deleted', mayRun: true },
  PASSED_OVER: { outcome: 'passed-over', mayRun: false },
} as const satisfies Record<string, { outcome: AttemptOutcome; mayRun: boolean }>;

function ended(context: Context, event: InstanceBuildEvent): readonly Attempt[] {
  const how = OUTCOMES[event.type as keyof typeof OUTCOMES];
  const host = context.selection?.host ?? '';
  const reason = ('reason' in event ? event.reason : undefined) ?? how.outcome;
  return [...context.attempts, { attempt: context.attempt, host, reason, ...how }];
}

/** All attempts have come to nothing: hosts of several cells may have the same names. */
function exhausted(attempts: readonly Attempt[], cell = ''): Failure {
  // Of some outcomes there is no more to say, and a driver need not say why.
  const why = ({ outcome, reason }: Attempt) => (reason === '' || reason === outcome ? '' : ` (${reason})`);
  // One that was passed over was tried later.
  const tried = attempts.filter(({ outcome }) => outcome !== 'passed-over');
  const told = tried.map((one) => `${one.host}: ${one.outcome}${why(one)}`).join('; ');
  return { code: 'alternates-exhausted', message: `no host is left to try in cell '${cell}': ${told}` };
}

/** Each host is passed over once at most: then it is tried when it is its turn, whatever is said of it. */
const isNew = ({ attempts }: Context, next: Selection | null | undefined) =>
  !attempts.some(({ outcome, host }) => outcome === 'passed-over' && host === next?.host);

const build = setup({
  types: {
    context: {} as Context,
    events: {} as InstanceBuildEvent,
    input: {} as { instance: string },
  },
  actions: {
    askScheduler() {},
    dispatch() {},
    awaitCompute() {},
    claimAlternate() {},
    release() {},
    report() {},
  },
  guards: {
    /** Words of an earlier attempt change nothing. */
    ofThisAttempt: ({ context, event }) => 'attempt' in event && event.attempt === context.attempt,
    ofThisAttemptAndAlternatesLeft: ({ context, event }) =>
      'attempt' in event && event.attempt === context.attempt && context.alternates.length > 0,
    alternatesLeft: ({ context }) => context.alternates.length > 0,
    ofNextAttempt: ({ context, event }) => 'attempt' in event && event.attempt === context.attempt + 1,
    ofNextAttemptAndMoreLeft: ({ context, event }) =>
      'attempt' in event && event.attempt === context.attempt + 1 && context.alternates.length > 1,
    ofThisAttemptAndMayWait: ({ context, event }) =>
      'attempt' in event &&
      event.attempt === context.attempt &&
      context.alternates.length > 0 &&
      isNew(context, context.selection),
    ofNextAttemptAndMayWait: ({ context, event }) =>
      'attempt' in event &&
      event.attempt === context.attempt + 1 &&
      context.alternates.length > 1 &&
      isNew(context, context.alternates[0]),
  },
});

const select = build.assign(({ event }) => {
  if (event.type !== 'SELECTED') return {};
  return { selection: event.selection, alternates: event.alternates, attempt: 1 };
});

function asGranted(alternate: Selection | null, event: InstanceBuildEvent): Selection | null {
  const allocations = event.type === 'CLAIM_GRANTED' ? event.allocations : undefined;
  return alternate === null || allocations === undefined ? alternate : { ...alternate, allocations };
}

const takeAlternate = build.assign(({ context, event }) => ({
  selection: asGranted(context.alternates[0] ?? null, event),
  alternates: context.alternates.slice(1),
  attempt: context.attempt + 1,
}));

/** The alternate that was to be claimed next has come to nothing, or is to wait. */
function withoutNext(context: Context, event: InstanceBuildEvent, outcome: 'claim-refused' | 'passed-over') {
  const [next, ...alternates] = context.alternates;
  const attempt = context.attempt + 1;
  const reason = 'reason' in event ? (event.reason ?? '') : '';
  const one = { attempt, host: next?.host ?? '', outcome, reason, mayRun: false };
  return { alternates, attempt, attempts: [...context.attempts, one] };
}

const dropAlternate = build.assign(({ context, event }) => withoutNext(context, event, 'claim-refused'));

const dropLastAlternate = build.assign(({ context, event }) => {
  const dropped = withoutNext(context, event, 'claim-refused');
  return { ...dropped, failure: exhausted(dropped.attempts, context.alternates[0]?.cell) };
});

const putNextLast = build.assign(({ context, event }) => {
  const passed = withoutNext(context, event, 'passed-over');
  return { ...passed, alternates: [...passed.alternates, ...context.alternates.slice(0, 1)] };
});

/** What it holds goes back with the next claim, and is claimed anew when it is its turn. */
const putHostLast = build.assign(({ context, event }) => ({
  attempts: ended(context, event),
  alternates: context.selection === null ? context.alternates : [...context.alternates, context.selection],
  selection: null,
}));

const endAttempt = build.assign(({ context, event }) => ({ attempts: ended(context, event), selection: null }));

const endLastAttempt = build.assign(({ context, event }) => {
  const attempts = ended(context, event);
  return { attempts, selection: null, failure: exhausted(attempts, context.selection?.cell) };
});

const abort = build.assign(({ event }) => ({
  failure: {
    code: 'build-aborted' as const,
    message: 'reason' in event && event.reason !== '' ? event.reason : 'the host aborted the build',
  },
}));

const deleted = build.assign({ failure: { code: 'deleted' as const, message: 'the caller deleted the instance' } });

/** An attempt is over and another host may do: the next alternate, or the end. */
const orElse = [
  { guard: 'ofThisAttemptAndAlternatesLeft', target: 'rescheduling', actions: [endAttempt] },
  { guard: 'ofThisAttempt', target: 'failed', actions: [endLastAttempt] },
] as const;

const timedOut = [
  { guard: 'alternatesLeft', target: 'rescheduling', actions: [endAttempt] },
  { target: 'failed', actions: [endLastAttempt] },
] as const;

const aborted = { guard: 'ofThisAttempt', target: 'failed', actions: [endAttempt, abort] } as const;
const deletedOnHost = { target: 'failed', actions: [endAttempt, deleted] } as const;
const deletedElsewhere = { target: 'failed', actions: [deleted] } as const;

/** The machine of one instance's build; the table above says what each state asks of its host. */
export const instanceBuild = build.createMachine({
  id: 'instance-build',
  initial: 'requested',
  context: ({ input }) => ({
    v: 1,
    instance: input.instance,
    selection: null,
    alternates: [],
    attempt: 0,
    attempts: [],
    failure: null,
  }),
  states: {
    requested: {
      entry: 'askScheduler',
      on: {
        SELECTED: { target: 'claimed', actions: [select] },
        NO_VALID_HOST: {
          target: 'failed',
          actions: assign({ failure: ({ event }) => ({ code: 'no-valid-host' as const, message: event.reason }) }),
        },
        TIMED_OUT: {
          target: 'failed',
          actions: assign({
            failure: ({ event }) => ({
              code: 'scheduling-timed-out' as const,
              message: event.reason ?? 'no scheduler answered within the deadline',
            }),
          }),
        },
        DELETED: deletedElsewhere,
      },
    },
    claimed: {
      entry: 'dispatch',
      on: {
        ACCEPTED: { guard: 'ofThisAttempt', target: 'building' },
        BUILT: { guard: 'ofThisAttempt', target: 'active' },
        REFUSED: orElse,
        PASSED_OVER: { guard: 'ofThisAttemptAndMayWait', target: 'rescheduling', actions: [putHostLast] },
        BUILD_FAILED: orElse,
        HOST_LOST: orElse,
        BUILD_ABORTED: aborted,
        TIMED_OUT: timedOut,
        DELETED: deletedOnHost,
      },
    },
    building: {
      entry: 'awaitCompute',
      on: {
        BUILT: { guard: 'ofThisAttempt', target: 'active' },
        REFUSED: orElse,
        BUILD_FAILED: orElse,
        HOST_LOST: orElse,
        BUILD_ABORTED: aborted,
        TIMED_OUT: timedOut,
        DELETED: deletedOnHost,
      },
    },
    rescheduling: {
      entry: 'claimAlternate',
      on: {
        CLAIM_GRANTED: { guard: 'ofNextAttempt', target: 'claimed', actions: [takeAlternate] },
        CLAIM_REFUSED: [
          { guard: 'ofNextAttemptAndMoreLeft', target: 'rescheduling', reenter: true, actions: [dropAlternate] },
          { guard: 'ofNextAttempt', target: 'failed', actions: [dropLastAlternate] },
        ],
        PASSED_OVER: {
          guard: 'ofNextAttemptAndMayWait',
          target: 'rescheduling',
          reenter: true,
          actions: [putNextLast],
        },
        DELETED: deletedElsewhere,
      },
    },
    failed: { type: 'final', entry: ['release', 'report'] },
    active: { type: 'final', entry: 'report' },
  },
});

/** The states of a build, exactly. */
export type InstanceBuildState = 'requested' | 'claimed' | 'building' | 'rescheduling' | 'failed' | 'active';
