// Looking at all hosts, a slice of them a turn, so that requests for hosts go on being served in between: one sweep at a
// time, the others wait.

import { effort } from '../fitting/effort.ts';
import type { Sweep, Work } from './state.ts';

/** Hosts looked at in one turn, or looks at their providers: some milliseconds of work. */
const HOSTS_A_SLICE = 500;
const LOOKS_A_SLICE = 20_000;
/** After how many looks at providers a sweep goes on with what is found at once: some seconds of work. */
const MAX_LOOKS = 4_000_000;
/** Between two slices, ms: others have the greater part of the time. */
const BETWEEN_MS = 3;
/** How often those who wait for sweeps are told that they are under way, ms: more often than anybody asks again. */
const TELL_MS = 400;
/** How many sweeps may wait. */
const MAX_SWEEPS = 16;

export const SWEEP_WAKE = 'sweep';

/** Begins a sweep, or puts it in line; false when too many wait already. What one slice can do is done there and then. */
export function beginSweep(work: Work, sweep: Sweep): boolean {
  const { sweeps, view } = work.state;
  if (sweeps.length >= MAX_SWEEPS) return false;
  sweeps.push({ sweep, roots: [...view.hosts.keys()], toldAt: work.turn.now, position: 0, looks: 0 });
  if (sweeps.length === 1) goOnSweeping(work);
  return true;
}

/** Whether a sweep that begins now is done in this turn, but for hosts that take long to look at. */
export function isShort({ state: { sweeps, view } }: Work): boolean {
  return sweeps.length === 0 && view.hosts.size <= HOSTS_A_SLICE;
}

/** Looks at the next slice of the sweep whose turn it is. */
export function goOnSweeping(work: Work): void {
  const { sweeps, view } = work.state;
  const current = sweeps[0];
  if (current === undefined) return;
  tellUnderWay(work);
  const end = Math.min(current.roots.length, current.position + HOSTS_A_SLICE);
  const before = effort.looks - current.looks;
  const most = current.looks + LOOKS_A_SLICE;
  let goesOn = true;
  while (goesOn && current.position < end && current.looks < most) {
    const host = view.hosts.get(current.roots[current.position] as string);
    current.position += 1;
    if (host !== undefined) goesOn = current.sweep.visit(host, current.looks < MAX_LOOKS);
    current.looks = effort.looks - before;
  }
  if (goesOn && current.position < current.roots.length)
    return work.turn.wakeAt(SWEEP_WAKE, work.turn.now + BETWEEN_MS);
  sweeps.shift();
  if (sweeps.length > 0) work.turn.wakeAt(SWEEP_WAKE, work.turn.now + BETWEEN_MS);
  current.sweep.done(work);
}

/** Of those that wait in line as well: asking again would not bring them on. */
function tellUnderWay(work: Work): void {
  for (const one of work.state.sweeps) {
    if (work.turn.now - one.toldAt < TELL_MS) continue;
    one.toldAt = work.turn.now;
    one.sweep.tellUnderWay?.(work);
  }
}
