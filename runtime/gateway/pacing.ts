// The pacing of requests. A dozen messages follow from each build, and what comes together goes on together: in one turn,
// one entry of a journal, one message to each actor. While very many come, each by itself, they therefore set out at the
// beat of a few milliseconds, which halves what each of them costs and, with that, how long it takes.

import type { Clock } from '../clock.ts';

/** The longest time between two beats, ms: what a request may wait for company. */
export const BEAT_MS = 10;
/** So many in that time are many: of an even stream of fewer than 800 a second none waits. */
export const MANY = 8;
/** The beat is the quicker the fewer come: for each that came during the last `BEAT_MS`, so much of it, ms. */
export const MS_FOR_EACH = 0.35;

export interface Pacing {
  /** What a request waits for; null: it goes at once. */
  join(): Promise<void> | null;
  /** The same for what must not overtake a request, and needs no company itself: it waits only if one does. */
  behind(): Promise<void> | null;
}

/** Where it saves nothing to go together. */
export const unpaced: Pacing = { join: () => null, behind: () => null };

export function pacingOf(clock: Clock): Pacing {
  /** Of the time of one longest beat, and of the one before it. */
  const beats = { current: 0, came: 0, cameBefore: 0 };
  let leftAt = Number.NEGATIVE_INFINITY;
  let waiting: (() => void)[] = [];

  function count(now: number): void {
    const beat = Math.floor(now / BEAT_MS);
    if (beat !== beats.current) {
      beats.cameBefore = beat === beats.current + 1 ? beats.came : 0;
      beats.came = 0;
      beats.current = beat;
    }
    beats.came += 1;
  }

  function leave(): void {
    leftAt = clock.monotonic();
    const together = waiting;
    waiting = [];
    for (const go of together) go();
  }

  const inLine = () => new Promise<void>((resolve) => waiting.push(resolve));

  return {
    join() {
      const now = clock.monotonic();
      count(now);
      if (waiting.length > 0) return inLine();
      if (beats.cameBefore < MANY) {
        leftAt = now;
        return null;
      }
      const waitMs = leftAt + Math.min(BEAT_MS, beats.cameBefore * MS_FOR_EACH) - now;
      if (waitMs > 0) clock.after(waitMs, leave);
      else clock.soon(leave);
      return inLine();
    },
    behind: () => (waiting.length > 0 ? inLine() : null),
  };
}
