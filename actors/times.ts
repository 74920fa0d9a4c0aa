// Times as they are told: by the time of day, though how long things last goes by a clock that nobody sets.

import type { SteadyTime, Turn } from './actor.ts';

/** What time it is by both clocks. */
export type Times = Pick<Turn<never>, 'now' | 'steady'>;

/** By so much the time of day may differ from what was recorded, ms: clocks are put right by and by all the time. */
const SAME_WITHIN_MS = 1_000;

/**
 * When something is, by the time of day as it is now, ms since the epoch.
 * @param recorded When it is by what was recorded.
 * @param steadyAt When it is, which counts; null: it is not settled in this life.
 */
export function timeTold(recorded: number, steadyAt: SteadyTime | null, { now, steady }: Times): number {
  if (steadyAt === null) return recorded;
  const at = now + steadyAt - steady;
  return Math.abs(at - recorded) < SAME_WITHIN_MS ? recorded : Math.round(at);
}
