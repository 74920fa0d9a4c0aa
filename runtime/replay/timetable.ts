// The timetable of a workload: its arrivals, and between them the ends of the instances that have arrived, in order of
// time. Pure; the ends that lie ahead are the only thing it keeps.

import { type HeapTimer, timerHeap } from '../timer-heap.ts';
import { type Arrival, instanceIds } from '../workload/workload.ts';

export type Entry =
  | { readonly type: 'arrival'; readonly atMs: number; readonly arrival: Arrival }
  | { readonly type: 'end'; readonly atMs: number; readonly instance: string; readonly request: string };

/** What ends at the time of an arrival comes before it, so that its resources can be taken over. */
export function* timetable(arrivals: Iterable<Arrival>): Generator<Entry> {
  const ends = timerHeap();
  const due: Entry[] = [];

  function* endsUntil(atMs: number): Generator<Entry> {
    for (let next: HeapTimer | undefined = ends.peek(); next !== undefined && next.at <= atMs; next = ends.peek()) {
      ends.take()?.();
      yield* due.splice(0);
    }
  }

  for (const arrival of arrivals) {
    yield* endsUntil(arrival.atMs);
    yield { type: 'arrival', atMs: arrival.atMs, arrival };
    for (const [position, instance] of instanceIds(arrival).entries()) {
      const atMs = arrival.endAtMs[position];
      if (atMs === undefined) continue;
      ends.add(atMs, () => due.push({ type: 'end', atMs, instance, request: arrival.id }));
    }
  }
  yield* endsUntil(Number.POSITIVE_INFINITY);
}
