// Shortens a run that fails: leaves out what callers do, what befalls actors, and single faults, for as long as the
// same invariant is still found broken. What is left is what it takes.

import { type RunOptions, type RunResult, simulate } from './run.ts';

/** The name of the invariant that was found broken first. */
export const invariantOf = ({ faults }: Pick<RunResult, 'faults'>): string => (faults[0] ?? '').split(':')[0] as string;

/**
 * The shortest run found that fails as this one does, told as a story.
 * @param maxTries How many shorter runs are tried at most.
 */
export async function shortened(failing: RunResult, options: RunOptions, maxTries = 400): Promise<RunResult> {
  const wanted = invariantOf(failing);
  let spared: ReadonlySet<string> = options.spared ?? new Set();
  let best = failing;
  let tries = 0;

  async function without(more: readonly string[]): Promise<boolean> {
    if (more.length === 0 || tries >= maxTries) return false;
    tries += 1;
    const tried = new Set([...spared, ...more]);
    const result = await simulate({ ...options, spared: tried, story: false });
    if (result.faults.length === 0 || invariantOf(result) !== wanted || result.steps > best.steps) return false;
    spared = tried;
    best = result;
    return true;
  }

  /** Leaves out as many of these as can be, in halves, then in halves of those. */
  async function leaveOut(candidates: readonly string[]): Promise<void> {
    if (candidates.length === 0 || (await without(candidates)) || candidates.length === 1) return;
    const half = Math.ceil(candidates.length / 2);
    await leaveOut(candidates.slice(0, half));
    await leaveOut(candidates.slice(half));
  }

  for (const kind of [...new Set(best.happened.map((fault) => fault.slice(0, fault.indexOf(' '))))]) {
    await without([`${kind} *`]);
  }
  // Once more: what could not be left out at first may be needless when other things are gone.
  for (let round = 0; round < 2; round += 1) {
    await leaveOut(best.plan.operations.map(({ id }) => id));
    await leaveOut(best.plan.incidents.map(({ id }) => id));
    await leaveOut(best.happened);
  }
  return simulate({ ...options, spared, story: true });
}
