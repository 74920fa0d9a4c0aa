// Which cells there are: each says at a steady pace that it is there, and one that is down says nothing.

import { FEED_BEAT_MS } from '../../actors/feed-beat.ts';
import type { Bus } from '../bus/bus.ts';
import type { Clock } from '../clock.ts';
import { limitOf } from '../pause.ts';
import type { Subjects } from '../subjects.ts';

/** A beat may be lost, or late. */
const BEATS = 2.5;

/**
 * Listens for as long as a few beats take.
 * @throws CellwrightError `permission-denied` where that is forbidden: cells that nobody else names would be passed over.
 */
export async function cellsHeard(
  { bus, clock, subjects }: { bus: Bus; clock: Clock; subjects: Subjects },
  signal?: AbortSignal,
): Promise<Set<string>> {
  const heard = new Set<string>();
  const feed = subjects.event(['cell', '*', 'feed']);
  const position = feed.split('.').indexOf('*');
  let forbidden: Error | undefined;
  const hear = ({ subject }: { subject: string }) => heard.add(subject.split('.')[position] as string);
  const onForbidden = (error: Error) => {
    forbidden = error;
  };
  const subscription = bus.subscribe(feed, hear, { onForbidden });
  try {
    await limitOf(clock, BEATS * FEED_BEAT_MS, 'the audit', signal).over;
    if (forbidden !== undefined) throw forbidden;
  } finally {
    subscription.unsubscribe();
  }
  return heard;
}
