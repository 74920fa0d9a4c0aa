// What the stream of a journal has: all of it, as it is opened, or its last entry. What is missing is told from what no owner
// ever wrote.

import type { StreamInfo } from 'nats';
import type { Address } from '../../actors/actor.ts';
import { atLength } from '../at-length.ts';
import type { NatsBus } from '../bus/nats.ts';
import type { Clock } from '../clock.ts';
import { CellwrightError } from '../errors.ts';
import { type Assembled, assembler, assembling } from './entries.ts';
import type { MadeJournals } from './made.ts';
import { MOST_BYTES_AT_ONCE, type Reading, readStream } from './reading.ts';
import { firstUnlike, numberOf, type Range } from './strays.ts';
import { gone, managerOf, whatIsThere } from './stream.ts';
import type { Turns } from './turns.ts';
import type { StoredTail } from './writer.ts';

export interface StoredOptions {
  readonly bus: NatsBus;
  readonly clock: Clock;
  readonly subject: string;
  readonly stream: string;
  readonly owner: Address;
  readonly made: MadeJournals;
  /** Of those that are read at the same time. */
  readonly turns: Turns;
}

export interface Stored<R> {
  /**
   * All of it; null when somebody has written meanwhile, and may have purged what was to be read.
   * @param state Its `last_seq` is the number of the last entry that ever stood in the stream, whether it still does or not.
   * @throws CellwrightError `journal-lost` when something is missing, `journal-unreadable` when there are strays.
   */
  readAll(state: StreamInfo['state'], signal: AbortSignal): Promise<Assembled<R> | null>;
  /** Gives up what is being read. */
  stop(): void;
  /** The entry that stands last, see the options of a writer. */
  readTail(known: number): Promise<StoredTail | null>;
  /** Whether anything was written after the entry `last`. */
  hasGrown(last: number): Promise<boolean>;
}

/** So many entries removed at the end are looked for, beside the strays: an operator removes them one at a time. */
const MAX_REMOVED = 1_000;
/** How often what lacks entries is read: the copy of a server of 2.9 that was killed may lack what the others have. */
const MOST_COPIES = 4;

/** The entry that stands last. */
interface There {
  readonly seq: number;
  readonly id: string | undefined;
}

export function storedIn<R>({ bus, clock, subject, stream, owner, made, turns }: StoredOptions): Stored<R> {
  let reading: Reading | undefined;

  async function readAll(state: StreamInfo['state'], signal: AbortSignal): Promise<Assembled<R> | null> {
    const { messages, last_seq: last } = state;
    if (messages === 0) {
      // Somebody has made it: what its owner begins with is noted when that stands there.
      if (last === 0 && (await made.has(owner))) throw gone({ stream, owner, made });
      const hadOwn = last > 0 && firstUnlike(await made.straysOf(owner), [1, last]) !== null;
      if (hadOwn) throw lost(`had ${last} entries and has none`);
      return assembler<R>().assembled();
    }
    const there = await lastThere(last);
    if (there === null) return null;
    for (let copies = 1; ; copies += 1) {
      const recorded = await readCopy(state, there, signal);
      if (recorded === null || !recorded.hasGap) return recorded;
      if (await hasGrown(last)) return null;
      if (copies === MOST_COPIES) throw lost('lacks entries that no snapshot stands for');
    }
  }

  /**
   * What stands in the copy of a server that the server which leads picks for each reader, any of those that have one; null
   * when somebody has written meanwhile.
   */
  async function readCopy(
    { bytes, first_seq: first, last_seq: last }: StreamInfo['state'],
    there: There,
    signal: AbortSignal,
  ): Promise<Assembled<R> | null> {
    const firstOwn = first > 1 ? (firstUnlike(await made.straysOf(owner), [1, first]) ?? first) : 1;
    const { entries, strays, lastId } = await turns.take(Math.min(bytes, MOST_BYTES_AT_ONCE), signal, async () => {
      reading = readStream({ bus, clock, stream, first, last: there.seq, firstOwn });
      return { entries: await reading.entries, strays: reading.strays, lastId: reading.lastId };
    });
    // Any server that has a copy is read, and the one that leads told of the last entry. Where one of 2.9 and a newer one
    // are in one cluster, a copy may have an entry twice, so that its numbers run ahead and the last ones would be missed.
    if (there.id !== undefined && lastId !== there.id) {
      if (await hasGrown(last)) return null;
      const [here, led] = [lastId, there.id].map((id) => `'${id ?? ''}'`);
      const why = `entry ${there.seq} of journal '${stream}' is ${here} in one copy and ${led} in that of the server that leads it`;
      throw new CellwrightError('journal-stalled', `${why}; another copy is tried`, { retryable: true });
    }
    if (strays.length > 0) await refuseStrays(strays);
    const recorded = await atLength(clock, assembling<R>(entries), () => !signal.aborted);
    if (recorded === undefined) throw signal.reason;
    return recorded;
  }

  /**
   * The last entry that stands in the stream. What was removed after it may have been the journal's own,
   * of which nothing that is left tells, unless it was seen to be strays. (The server is asked for one number after the
   * other: before 2.10 it finds no last one by its subject when the very last was removed.) Null when somebody has
   * written meanwhile.
   */
  async function lastThere(last: number): Promise<There | null> {
    const { streams } = await managerOf(bus, stream);
    const at = async (seq: number) => {
      const message = await whatIsThere(streams.getMessage(stream, { seq }));
      return message === null ? null : { seq, id: message.header.get('Nats-Msg-Id') };
    };
    const standing = await at(last);
    if (standing !== null) return standing;
    const strays = await made.straysOf(owner);
    const least = Math.max(0, last - MAX_REMOVED - numberOf(strays));
    let there = last - 1;
    let entry = there > least ? await at(there) : null;
    while (there > least && entry === null) {
      there -= 1;
      entry = there > least ? await at(there) : null;
    }
    if (await hasGrown(last)) return null;
    const first = firstUnlike(strays, [there + 1, last]);
    if (first === null) return { seq: there, id: entry?.id };
    throw lost(
      `ends with entry ${there}, and had entries to ${last}: entry ${first} is gone, which was not seen to be a ` +
        `stray. Restore it; or, if nothing from ${first} to ${last} was the journal's own, say so: ` +
        made.howToAllow(owner, [...strays, [first, last]]),
    );
  }

  async function hasGrown(last: number): Promise<boolean> {
    const { streams } = await managerOf(bus, stream);
    return (await streams.info(stream)).state.last_seq > last;
  }

  async function refuseStrays(strays: readonly Range[]): Promise<void> {
    await made.noteStrays(owner, strays);
    const [[sequence]] = strays as [Range];
    const others = numberOf(strays) - 1;
    const message =
      `entry ${sequence} of journal '${stream}' is one that no owner wrote: somebody has published to '${subject}'. ` +
      `Remove it: nats stream rmm ${stream} ${sequence}${others > 0 ? `; and so ${others} more` : ''}`;
    throw new CellwrightError('journal-unreadable', message);
  }

  function lost(why: string): CellwrightError {
    return new CellwrightError('journal-lost', `journal '${stream}' ${why}`);
  }

  async function readTail(known: number): Promise<StoredTail | null> {
    const { streams } = await managerOf(bus, stream);
    // Asked before the last message is: what is stored between the two was not removed.
    const info = await whatIsThere(streams.info(stream));
    if (info === null || info.state.messages === 0) return null;
    const { last_seq: last } = info.state;
    // Before 2.10 none is found by the subject when the very last was removed.
    const tail =
      (await whatIsThere(streams.getMessage(stream, { last_by_subj: subject }))) ??
      (await whatIsThere(streams.getMessage(stream, { seq: known })));
    const id = tail?.header.get('Nats-Msg-Id') ?? '';
    const { seq: sequence } = tail ?? { seq: 0 };
    return sequence < last ? { id, sequence, removed: last } : { id, sequence };
  }

  return { readAll, stop: () => reading?.stop(), readTail, hasGrown };
}
