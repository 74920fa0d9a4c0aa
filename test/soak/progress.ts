// How a soak goes: when builds became active, so that it can be said for how long nothing went on.

import type { Bus } from '../../runtime/bus/bus.ts';
import type { Struck } from './chaos.ts';

/** A time in which no build became active, ms since the epoch. */
interface Gap {
  readonly from: number;
  readonly to: number;
}

export interface Progress {
  readonly active: number;
  /** The longest time without an active build that began near one of these blows, ms. */
  longestStallMs(near: readonly Struck[]): number;
  stop(): void;
}

/** Shorter ones are the pace of the load. */
const SHORTEST_GAP_MS = 500;

export function watchProgress(bus: Bus): Progress {
  const gaps: Gap[] = [];
  let active = 0;
  let last: number | null = null;
  const subscription = bus.subscribe('cw.cell.*.build.*.active', () => {
    const now = Date.now();
    if (last !== null && now - last >= SHORTEST_GAP_MS) gaps.push({ from: last, to: now });
    last = now;
    active += 1;
  });
  return {
    get active() {
      return active;
    },
    longestStallMs(near) {
      const touched = gaps.filter(({ from, to }) => near.some(({ at, healedAt }) => at <= to && from <= healedAt));
      return Math.max(0, ...touched.map(({ from, to }) => to - from));
    },
    stop: () => subscription.unsubscribe(),
  };
}
