// The live figures of a replay, counted from the story of builds: states, reschedules, failures by reason, cells, and
// the time from accepted to active. Events may be lost, so these figures are for the eye; the accounts at the end are
// made of lists.

import { build as buildHistogram } from 'hdr-histogram-js';
import { append } from '../../actors/multimap.ts';
import type { Bus } from '../bus/bus.ts';
import type { Subjects } from '../subjects.ts';
import { type Story, storyOf } from './story.ts';

/** How often each thing was seen. */
export type Counts = Readonly<Record<string, number>>;

export interface Figures {
  /** Instances by the state that was told last. */
  readonly states: Counts;
  /** The same for each cell. */
  readonly cells: Readonly<Record<string, Counts>>;
  /** Times that a build turned to its next alternate. */
  readonly reschedules: number;
  /** Attempts that came to nothing, by the host's reason, or how else they ended. */
  readonly attemptsFailed: Counts;
  /** Builds that failed for good, by code; those that were deleted on the way are not among them. */
  readonly failed: Counts;
  /** Builds that became active, whatever became of them later. */
  readonly built: number;
  /** Builds a second, from the first request to the last build that became active; 0 when none did. */
  readonly buildsPerSecond: number;
  /** From accepted to active, ms. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface Tally {
  take(story: Story): void;
  figures(): Figures;
  /** Builds that are neither active nor failed nor deleted. */
  open(): number;
  hasFailed(instance: string): boolean;
  /** Resolves when it is told that the build of an instance is over, which may never be. */
  untilEnded(instance: string): Promise<void>;
}

interface Told {
  state: string;
  cell: string | null;
  /** When the request was accepted, ms since the epoch; null once the build has ended. */
  acceptedAt: number | null;
}

/** Times are kept to three digits. */
const DIGITS = 3;
const ENDED: ReadonlySet<string> = new Set(['active', 'failed', 'deleted']);

export function tallyOf(): Tally {
  const instances = new Map<string, Told>();
  const states = new Map<string, number>();
  const cells = new Map<string, Map<string, number>>();
  const attemptsFailed = new Map<string, number>();
  const failed = new Map<string, number>();
  const waiting = new Map<string, (() => void)[]>();
  const latency = buildHistogram({ numberOfSignificantValueDigits: DIGITS });
  let reschedules = 0;
  let built = 0;
  let firstAt: number | null = null;
  let lastBuiltAt = 0;

  function move(told: Told, state: string, cell: string | null): void {
    add(states, told.state, -1);
    add(states, state, 1);
    if (told.cell !== null) add(countsOf(cells, told.cell), told.state, -1);
    if (cell !== null) add(countsOf(cells, cell), state, 1);
    told.state = state;
    told.cell = cell;
  }

  function take({ at, instance, state: toldState, cell, lastAttempt, failure }: Story): void {
    // A build that its caller ended did not fail: it is on its way to `deleted`, which not every teller says.
    const state = toldState === 'failed' && failure === 'deleted' ? 'deleted' : toldState;
    firstAt ??= at;
    let told = instances.get(instance);
    if (told === undefined) {
      told = { state, cell, acceptedAt: at };
      instances.set(instance, told);
      add(states, state, 1);
      if (cell !== null) add(countsOf(cells, cell), state, 1);
    } else {
      if (told.state === 'deleted') return;
      move(told, state, cell ?? told.cell);
    }
    if (state === 'rescheduling') reschedules += 1;
    if (lastAttempt !== undefined && state !== 'deleted') add(attemptsFailed, lastAttempt, 1);
    if (state === 'failed') add(failed, failure ?? 'unknown', 1);
    if (state === 'active' && told.acceptedAt !== null) {
      built += 1;
      lastBuiltAt = Math.max(lastBuiltAt, at);
      latency.recordValue(Math.max(0, Math.round(at - told.acceptedAt)));
    }
    if (!ENDED.has(state)) return;
    told.acceptedAt = null;
    for (const resolve of waiting.get(instance) ?? []) resolve();
    waiting.delete(instance);
  }

  return {
    take,
    hasFailed: (instance) => instances.get(instance)?.state === 'failed',
    async untilEnded(instance) {
      const told = instances.get(instance);
      if (told !== undefined && ENDED.has(told.state)) return;
      await new Promise<void>((resolve) => append(waiting, instance, resolve));
    },
    open: () => [...states].reduce((sum, [state, count]) => (ENDED.has(state) ? sum : sum + count), 0),
    figures: () => ({
      states: plain(states),
      cells: Object.fromEntries([...cells].sort(byName).map(([cell, counts]) => [cell, plain(counts)])),
      reschedules,
      attemptsFailed: plain(attemptsFailed),
      failed: plain(failed),
      built,
      buildsPerSecond: firstAt === null || built === 0 ? 0 : (built * 1_000) / Math.max(1, lastBuiltAt - firstAt),
      p50Ms: built === 0 ? 0 : latency.getValueAtPercentile(50),
      p99Ms: built === 0 ? 0 : latency.getValueAtPercentile(99),
    }),
  };
}

/** A tally that follows the story on a bus, until it is told to stop. */
export function followStories(bus: Bus, subjects: Subjects): { tally: Tally; stop(): void } {
  const tally = tallyOf();
  const subscriptions = subjects.stories.map((subject) =>
    bus.subscribe(subject, (message) => {
      const story = storyOf(message, bus.maxPayloadBytes);
      if (story !== null) tally.take(story);
    }),
  );
  return {
    tally,
    stop() {
      for (const subscription of subscriptions) subscription.unsubscribe();
    },
  };
}

function add(counts: Map<string, number>, key: string, by: number): void {
  counts.set(key, (counts.get(key) ?? 0) + by);
}

function countsOf(cells: Map<string, Map<string, number>>, cell: string): Map<string, number> {
  const counts = cells.get(cell) ?? new Map<string, number>();
  cells.set(cell, counts);
  return counts;
}

/** In the order of the names, so that equal figures are written alike. */
function plain(counts: ReadonlyMap<string, number>): Counts {
  return Object.fromEntries([...counts].filter(([, count]) => count !== 0).sort(byName));
}

function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1;
}
