// Requests in company. A dozen messages follow from each build, and what comes together goes on together: in one turn,
// one entry of a journal, one message to each actor. While very many come, each by itself, they therefore set out at the
// beat of a few milliseconds, which halves what each of them costs and, with that, how long it takes.

import type { Clock } from '../clock.ts';

/** The time between two beats, ms: what a request may wait for company. */
export const BEAT_MS = 10;
/** So many in one beat are many, so that fewer than 800 a second never wait. */
export const MANY = 8;

/** @returns What each request waits for; resolved at once unless many came during the last beat. */
export function companyOf(clock: Clock): () => Promise<void> {
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

  return () => {
    const now = clock.monotonic();
    count(now);
    if (waiting.length === 0) {
      if (beats.cameBefore < MANY) {
        leftAt = now;
        return Promise.resolve();
      }
      const waitMs = leftAt + BEAT_MS - now;
      if (waitMs > 0) clock.after(waitMs, leave);
      else clock.soon(leave);
    }
    return new Promise((resolve) => waiting.push(resolve));
  };
}
