// Hosting build machines: what the super conductor and the cells have in common. A hosted build is stepped by events,
// each of which is recorded; it has one deadline, set on entering a state, and its obligation is done again, at a
// slowing pace, until something comes of it.

import {
  type Attempt,
  type InstanceBuildContext,
  type InstanceBuildEvent,
  type InstanceBuildState,
  instanceBuild,
} from '../machines/instance-build.ts';
import { begin, can, type Effect, revive, step } from '../machines/step.ts';
import type { Address, PublicEvent, SteadyTime, Turn } from './actor.ts';
import type { RequestSpec } from './messages/common.ts';
import type { Where } from './messages/where.ts';
import { present } from './present.ts';
import { fnv1a } from './routing.ts';
import type { Times } from './times.ts';
import { wakeId } from './wakes.ts';

type BuildSnapshot = ReturnType<typeof begin<typeof instanceBuild>>['snapshot'];

/** What a build carries with it, wherever it is hosted. */
export interface BuildFacts {
  readonly instance: string;
  readonly request: string;
  readonly spec: RequestSpec;
  /** Where it may go, as far as schedulers alone know of it; of no use once a host is chosen. */
  readonly where?: Where | undefined;
  readonly project?: string | undefined;
  readonly payload?: unknown;
  readonly traceparent?: string | undefined;
}

export interface HostedBuild {
  facts: BuildFacts;
  snapshot: BuildSnapshot;
  /** When the state that it is in times out, ms since the epoch; null when it may last. */
  deadlineAt: number | null;
  /** The same by the clock that nobody sets, since it was entered, or read, in this life; not recorded. */
  endsAt: SteadyTime | null;
  /** How often the obligation of the state was done again; not recorded. */
  repeats: number;
  /** When the attempt under way was begun, or the one that was built, ms since the epoch; 0: that is not known. */
  begunAt: number;
  /** How long it took until it was built, ms; null: it is not built, or that is not known. */
  tookMs: number | null;
  /** When attempts that came to nothing were begun and ended; undefined while there are none. */
  past: readonly PastAttempt[] | undefined;
}

/** When an attempt was, ms since the epoch; `begunAt` is absent of one that was refused before it was begun. */
export interface PastAttempt {
  readonly attempt: number;
  readonly begunAt?: number;
  readonly endedAt: number;
}

/** How long a build may stay in a state, ms. A state that is not named may last for as long as it takes. */
export type StateDeadlines = Readonly<Partial<Record<InstanceBuildState, number>>>;

export interface StoredSnapshot {
  readonly value: InstanceBuildState;
  readonly context: InstanceBuildContext;
}

export interface StoredBuild {
  readonly facts: BuildFacts;
  readonly snapshot: StoredSnapshot;
  readonly deadlineAt: number | null;
  /** As in `HostedBuild`; absent where there is nothing to tell, and of nodes of before attempts had times. */
  readonly begunAt?: number;
  readonly tookMs?: number | null;
  readonly past?: readonly PastAttempt[];
}

const NO_TIMES = { begunAt: 0, tookMs: null, past: undefined };
/** As it is entered, or read: nobody has asked yet when it ends, and nothing was done again. */
const NEW = { endsAt: null, repeats: 0 };

export function beginBuild(facts: BuildFacts, at: number, deadlines: StateDeadlines): HostedBuild {
  const { snapshot } = begin(instanceBuild, { instance: facts.instance });
  return { facts, snapshot, deadlineAt: deadlineOf(snapshot, at, deadlines), ...NEW, ...NO_TIMES };
}

/** Takes over a build that another actor hosted. */
export function adoptBuild(
  facts: BuildFacts,
  stored: StoredSnapshot,
  at: number,
  deadlines: StateDeadlines,
): HostedBuild {
  const snapshot = revive(instanceBuild, { value: stored.value, context: stored.context });
  return { facts, snapshot, deadlineAt: deadlineOf(snapshot, at, deadlines), ...NEW, ...NO_TIMES, begunAt: at };
}

/** Whether an event means something to a build in the state that it is in. */
export function canStep({ snapshot }: HostedBuild, event: InstanceBuildEvent): boolean {
  return can(instanceBuild, snapshot, event);
}

/** Steps a build; null when the event means nothing in the state that it is in, and then nothing has changed. */
export function stepBuild(
  build: HostedBuild,
  event: InstanceBuildEvent,
  at: number,
  deadlines: StateDeadlines,
): readonly Effect[] | null {
  const { snapshot, effects } = step(instanceBuild, build.snapshot, event);
  if (snapshot === build.snapshot) return null;
  const before = build.snapshot.context;
  build.snapshot = snapshot;
  noteTimes(build, before, at);
  build.deadlineAt = deadlineOf(snapshot, at, deadlines);
  build.endsAt = null;
  build.repeats = 0;
  return effects;
}

/** Notes when attempts begin and end: their machine keeps no time. */
function noteTimes(build: HostedBuild, before: InstanceBuildContext, at: number): void {
  const { value, context } = build.snapshot;
  if (context.attempts.length > before.attempts.length) {
    const { attempt } = context.attempts.at(-1) as Attempt;
    const begun = attempt === before.attempt && build.begunAt > 0 ? { begunAt: build.begunAt } : {};
    build.past = [...(build.past ?? []), { attempt, ...begun, endedAt: at }];
    build.begunAt = 0;
  }
  if (value === 'active') {
    // A clock may have been set back meanwhile.
    if (build.begunAt > 0) build.tookMs = Math.max(0, at - build.begunAt);
  } else if (context.attempt > before.attempt && value === 'claimed') build.begunAt = at;
}

/** The attempts that came to nothing, with when each was begun and ended, as far as that is known. */
export function attemptsOf({ snapshot, past }: HostedBuild): (Attempt & Partial<PastAttempt>)[] {
  return snapshot.context.attempts.map((one) => {
    const times = past?.find(({ attempt }) => attempt === one.attempt);
    return { ...one, ...present({ begunAt: times?.begunAt, endedAt: times?.endedAt }) };
  });
}

/** When the attempt under way was begun, and when it was built, as far as that is known. */
export function timesOf({ begunAt, tookMs }: HostedBuild): { begunAt?: number; builtAt?: number } {
  if (begunAt === 0) return {};
  return tookMs === null ? { begunAt } : { begunAt, builtAt: begunAt + tookMs };
}

function deadlineOf(snapshot: BuildSnapshot, at: number, deadlines: StateDeadlines): number | null {
  const limit = deadlines[snapshot.value];
  return limit === undefined ? null : at + limit;
}

/** What tells when a build ends. */
export interface Timing {
  readonly turn: Times;
  readonly deadlines: StateDeadlines;
}

/**
 * When the state that a build is in times out; null when it may last. It is settled when this is asked first, as the state
 * is entered, or is read: another life has said no more than the time of day. Its clock may have been ahead, so that no
 * state lasts longer than it may from now on; one that was behind cannot be told from time that passed.
 */
export function endOfState(build: HostedBuild, { turn, deadlines }: Timing): SteadyTime | null {
  if (build.deadlineAt === null) return null;
  build.endsAt ??=
    turn.steady + Math.min(build.deadlineAt - turn.now, deadlines[build.snapshot.value] ?? Number.POSITIVE_INFINITY);
  return build.endsAt;
}

export function stateOfBuild(build: HostedBuild): InstanceBuildState {
  return build.snapshot.value;
}

export function storeBuild({ facts, snapshot, deadlineAt, begunAt, tookMs, past }: HostedBuild): StoredBuild {
  const stored = { facts, snapshot: { value: snapshot.value, context: snapshot.context }, deadlineAt };
  if (begunAt === 0 && past === undefined) return stored;
  return {
    ...stored,
    ...(begunAt === 0 ? {} : { begunAt }),
    ...(tookMs === null ? {} : { tookMs }),
    ...(past === undefined ? {} : { past }),
  };
}

/**
 * A stored build, as it was.
 * @throws Error when it was stored by a version of the machine that this one does not read.
 */
export function restoreBuild({
  facts,
  snapshot,
  deadlineAt,
  begunAt = 0,
  tookMs = null,
  past,
}: StoredBuild): HostedBuild {
  if (snapshot.context.v !== 1) {
    throw new Error(`build '${facts.instance}' is stored in version ${snapshot.context.v}; this version reads 1`);
  }
  return { facts, snapshot: revive(instanceBuild, snapshot), deadlineAt, ...NEW, begunAt, tookMs, past };
}

/** The pace at which a step that was not answered is done again: slower each time, up to a limit. */
export interface Patience {
  /** The first wait, ms. */
  readonly firstMs: number;
  /** The longest wait, ms. */
  readonly mostMs: number;
}

/**
 * How long to wait before a step is done again, ms.
 * @param who Whose step it is: of the many that wait for somebody who was away, each comes back at a time of its own, up
 * to a quarter earlier.
 */
export function waitMs({ firstMs, mostMs }: Patience, repeats: number, who = ''): number {
  const longest = Math.min(mostMs, firstMs * 2 ** Math.min(repeats, 20));
  if (who === '') return longest;
  return Math.ceil(longest * (1 - (fnv1a(` ${repeats}`, fnv1a(who)) % SPREAD) / (4 * SPREAD)));
}

/** Into how many parts the times of a step are spread. */
const SPREAD = 1_024;

/**
 * Arms the one wake of a build: for its deadline, or to do its obligation again, whichever is first. A deadline that has
 * passed while nobody could be heard gives whoever is asked now until he would be asked again.
 * @param awaited Whose answer the build waits for.
 */
export function armBuild(
  build: HostedBuild,
  { turn, deadlines, patience }: Timing & { readonly turn: Turn<never>; readonly patience: Patience },
  awaited: Address,
): void {
  const againMs = waitMs(patience, build.repeats, build.facts.instance);
  const endsAt = endOfState(build, { turn, deadlines });
  const leftMs = endsAt === null || endsAt <= turn.steady ? againMs : Math.min(againMs, endsAt - turn.steady);
  turn.wakeAfter(wakeOfBuild(build.facts.instance), leftMs, awaited);
}

export const BUILD_WAKE = 'build';

export const wakeOfBuild = (instance: string): string => wakeId(BUILD_WAKE, instance);

/** Cancels the wake of a build that is over. In every other state that is entered it is armed anew, in the same turn. */
export function disarmIfOver({ facts, snapshot }: HostedBuild, turn: Turn<never>): void {
  if (snapshot.status === 'done') turn.cancelWake(wakeOfBuild(facts.instance));
}

/** One line of the story of builds: `<scope>.build.<instance>.<state>`. */
export function buildEvent(scope: readonly string[], build: HostedBuild, at: number, cause: string): PublicEvent {
  const { instance, request, project, traceparent } = build.facts;
  const { selection, attempt, attempts, failure, alternates } = build.snapshot.context;
  const state = stateOfBuild(build);
  const body: Record<string, unknown> = { at, instance, request, state, cause };
  if (project !== undefined) body.project = project;
  if (selection !== null) body.host = selection.host;
  if (attempt > 0) body.attempt = attempt;
  if (state === 'rescheduling') body.next = alternates[0]?.host;
  const last = attempts.at(-1);
  if (last !== undefined && (state === 'rescheduling' || state === 'failed')) {
    body.last = { host: last.host, outcome: last.outcome, reason: last.reason };
  }
  if (failure !== null) body.failure = failure;
  return { topic: [...scope, 'build', instance, state], body, cause, traceparent };
}
