// What a replay came to, whether that is good, and the record of it that goes into a file. Of an in-memory replay the
// record holds figures of virtual time alone, so that the same seed writes the same bytes.

import type { Accounts } from './accounts.ts';
import type { Figures } from './tally.ts';
import type { Fault } from './verify/fault.ts';
import { countOf } from './verify/faults.ts';

interface ReplaySettings {
  readonly workload: string;
  readonly on: 'memory' | 'nats';
  readonly seed: string;
  readonly hosts: number;
  readonly cells: number;
  readonly speed: number;
  readonly alternates: number;
  readonly failRate: number;
}

export interface ReplayResult {
  readonly settings: ReplaySettings;
  readonly accounts: Accounts;
  readonly figures: Figures;
  readonly faults: readonly Fault[];
  /** The instances whose delete the API did not take, with the code of its last answer. */
  readonly undeleted: ReadonlyMap<string, string>;
  /** From the first arrival until all was verified, ms of the replay's own clock. */
  readonly runMs: number;
  /** The whole replay, ms of the wall's clock. */
  readonly wallMs: number;
}

/** What is wrong with a result, for people; empty when every request is accounted for and the final state is sound. */
export function problemsOf({ accounts, faults, undeleted }: ReplayResult): string[] {
  const { requested, active, deleted, failed, unfinished, missing } = accounts;
  const ended = active + deleted + failed;
  return [
    ...(ended === requested ? [] : [`${requested} were requested, but only ${ended} are active, deleted or failed`]),
    ...unfinished.map((what) => `unfinished: ${what}`),
    ...missing.map((what) => `missing: ${what}`),
    ...[...undeleted].map(([instance, code]) => `undeleted: the API declined to delete '${instance}' (${code})`),
    ...faults.map(({ kind, what }) => `${kind}: ${what}`),
  ];
}

/** The record of a result, as plain JSON in a fixed order. */
export function recordOf(result: ReplayResult): Record<string, unknown> {
  const { settings, accounts, figures, faults, undeleted, runMs } = result;
  return {
    ...settings,
    requested: accounts.requested,
    active: accounts.active,
    deleted: accounts.deleted,
    failed: accounts.failed,
    failedByReason: accounts.failedByReason,
    rescheduled: figures.reschedules,
    attemptsFailedByReason: figures.attemptsFailed,
    unfinished: accounts.unfinished.length,
    missing: accounts.missing.length,
    undeleted: undeleted.size,
    overcommitted: countOf(faults, 'overcommitted'),
    leaked: countOf(faults, 'leaked'),
    twoHomes: countOf(faults, 'two-homes'),
    misplaced: countOf(faults, 'misplaced'),
    notRunning: countOf(faults, 'not-running'),
    built: figures.built,
    buildsPerSecond: Math.round(figures.buildsPerSecond * 1_000) / 1_000,
    p50Ms: figures.p50Ms,
    p99Ms: figures.p99Ms,
    runMs,
    kinds: accounts.kinds,
  };
}
