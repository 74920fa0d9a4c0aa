// Looking at all hosts and concluding from it, a slice a turn, so that requests for hosts go on being served in between:
// one sweep at a time, the others wait.

import { effort } from '../fitting/effort.ts';
import type { Sweep, Sweeping, Work } from './state.ts';
import type { View } from './view/view.ts';

/** Steps in one turn, of which a look at a host is one, or looks at providers: some milliseconds of work. */
const STEPS_A_SLICE = 500;
const LOOKS_A_SLICE = 20_000;
/** After how many looks at providers a sweep goes on with what is found at once: some seconds of work. */
const MAX_LOOKS = 4_000_000;
/** Between two slices, ms: others have the greater part of the time. */
const BETWEEN_MS = 3;
/** How often those who wait for sweeps are told that they are under way, ms: more often than anybody asks again. */
export const TELL_MS = 400;
/** How many sweeps may wait. */
const MAX_SWEEPS = 16;

export const SWEEP_WAKE = 'sweep';

/** Begins a sweep, or puts it in line; false when too many wait already. What one slice can do is done there and then. */
export function beginSweep(work: Work, sweep: Sweep): boolean {
  const { sweeps, view } = work.state;
  if (!mayBeginSweep(work)) return false;
  sweeps.push({
    sweep,
    roots: [...view.hosts.keys()],
    toldAt: work.turn.steady,
    position: 0,
    conclusion: undefined,
    looks: 0,
  });
  if (sweeps.length === 1) goOnSweeping(work);
  return true;
}

/** Whether not too many wait already. */
export function mayBeginSweep({ state: { sweeps } }: Work): boolean {
  return sweeps.length < MAX_SWEEPS;
}

/** Does the next slice of the sweep whose turn it is. */
export function goOnSweeping(work: Work): void {
  const { sweeps, view } = work.state;
  const [current] = sweeps;
  if (current === undefined) return;
  tellUnderWay(work);
  const isDone = sliceOf(view, current);
  if (isDone) sweeps.shift();
  if (sweeps.length > 0) work.turn.wakeAfter(SWEEP_WAKE, BETWEEN_MS);
  if (isDone) current.sweep.done(work);
}

/** True when nothing is left to do. */
function sliceOf(view: View, current: Sweeping): boolean {
  const before = effort.looks - current.looks;
  const most = current.looks + LOOKS_A_SLICE;
  for (let steps = 0; steps < STEPS_A_SLICE && current.looks < most; steps += 1) {
    if (!stepOf(view, current)) return true;
    current.looks = effort.looks - before;
  }
  return false;
}

/** Looks at one host, or does a step of the conclusion; false when there was nothing left to do. */
function stepOf({ hosts }: View, current: Sweeping): boolean {
  const { sweep, roots, position, looks } = current;
  if (position === roots.length) {
    current.conclusion ??= sweep.conclude?.();
    return current.conclusion?.next().done === false;
  }
  const host = hosts.get(roots[position] as string);
  const goesOn = host === undefined || sweep.visit(host, looks < MAX_LOOKS);
  current.position = goesOn ? position + 1 : roots.length;
  return true;
}

/** Of those that wait in line as well: asking again would not bring them on. */
function tellUnderWay(work: Work): void {
  for (const one of work.state.sweeps) {
    if (work.turn.steady - one.toldAt < TELL_MS) continue;
    one.toldAt = work.turn.steady;
    one.sweep.tellUnderWay?.(work);
  }
}
