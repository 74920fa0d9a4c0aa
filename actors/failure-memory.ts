// How failed builds are remembered of a host: each counts one, and fades by half every ten minutes; a build that
// succeeds halves at once what is left. So a host that fails again and again stands out, and one that failed once is
// forgotten, whether it is tried again or not.

import type { FailureMemory } from './messages/scheduler.ts';

export const FAILURE_HALF_LIFE_MS = 600_000;
/** Fading is seen in steps, so that a host need not be looked at all the time. */
const FADING_STEP_MS = FAILURE_HALF_LIFE_MS / 4;
/** What is left of a failure when it is forgotten. */
const FORGOTTEN = 0.1;

/**
 * What is left of a host's memory of failed builds, in builds; 0 when it is forgotten.
 * @param now ms since the epoch.
 */
export function recalled(memory: FailureMemory | undefined, now: number): number {
  if (memory === undefined) return 0;
  const steps = Math.max(0, Math.floor((now - memory.at) / FADING_STEP_MS));
  const left = memory.weight * 2 ** ((-steps * FADING_STEP_MS) / FAILURE_HALF_LIFE_MS);
  return left < FORGOTTEN ? 0 : left;
}

/** When there will be less of it, ms since the epoch; null when nothing is left. */
export function fadesAt(memory: FailureMemory | undefined, now: number): number | null {
  if (memory === undefined || recalled(memory, now) === 0) return null;
  const steps = Math.max(0, Math.floor((now - memory.at) / FADING_STEP_MS));
  return memory.at + (steps + 1) * FADING_STEP_MS;
}

export function afterFailure(memory: FailureMemory | undefined, at: number): FailureMemory {
  return { weight: recalled(memory, at) + 1, at };
}

export function afterSuccess(memory: FailureMemory | undefined, at: number): FailureMemory | undefined {
  const weight = recalled(memory, at) / 2;
  return weight < FORGOTTEN ? undefined : { weight, at };
}
