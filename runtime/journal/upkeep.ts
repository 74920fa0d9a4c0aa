// Looks now and then whether the stream of a journal still has what its owner needs to start again, while the owner runs and
// knows all of it: entries may have been purged or deleted, or dropped by a limit that somebody has set. Then a snapshot
// is wanted at once, which takes the place of all that is gone.

import type { StreamAPI, StreamConfig, StreamInfo } from 'nats';
import type { Address } from '../../actors/actor.ts';
import { fnv1a } from '../../actors/routing.ts';
import type { Clock, Timer } from '../clock.ts';
import { CellwrightError } from '../errors.ts';
import { type Resolvers, withResolvers } from '../with-resolvers.ts';
import { within } from '../within.ts';
import { firstUnlike, type Range } from './strays.ts';
import { whatIsThere } from './stream.ts';

/** A server that leads no more may tell of how a stream stood for a moment: a loss is believed that is still told after that. */
export const SURE_AFTER_MS = 1_000;
/** How long a look may take, ms: a server that has died while it was asked never answers. */
const LOOK_WITHIN_MS = 2_000;
/** The same of one that a stop waits for. */
const LAST_LOOK_WITHIN_MS = 1_000;

export interface UpkeepOptions {
  readonly clock: Clock;
  readonly streams: StreamAPI;
  readonly stream: string;
  readonly owner: Address;
  /** When the server made the stream. */
  readonly created: string;
  /** The first entry that is needed to start again. */
  readonly needed: number;
  readonly everyMs: number;
  /** The last entry that was acknowledged here. */
  lastStored(): number;
  straysOf(): Promise<readonly Range[]>;
  /** Why the stream may lose entries, or null. */
  faultOf(config: StreamConfig): CellwrightError | null;
  /** Has the writer look whether it can go on in the stream as it is now; resolves when it can, with true. */
  lookAtTail(): Promise<boolean>;
  /** Has a snapshot taken as soon as it can be. */
  wantSnapshot(): void;
  /** Told at each look that finds nothing missing. */
  onWell(): void;
  onError(error: CellwrightError): void;
}

/** A snapshot that is being written. */
export interface Coming {
  /** Its first entry stands there. */
  first?: number;
}

/**
 * What a look has found: all that is needed is there; what is missing will be, when the snapshot is whole that is being
 * written; something is missing; or that may be, and is to be looked at again.
 */
type Found = 'whole' | 'coming' | 'missing' | 'unsure';

/** One look at the stream. */
interface Look {
  /** Nobody waits for it any longer. */
  isOver: boolean;
}

export interface Upkeep {
  /** A snapshot begins. */
  begun(): Coming;
  /** It is safe: answers whether it stands for all that is before it. */
  ended(coming: Coming): boolean;
  /** The writer goes on in a stream that has lost what was acknowledged, or was made anew. */
  goesOnIn(created: string): void;
  /**
   * Looks at once, and often from now on. Resolves when all is there that is needed; or the server does not answer; or with
   * `stop`.
   * @param onWanted Told again and again until a snapshot that is wanted has been taken.
   */
  settle(onWanted: () => void): Promise<void>;
  stop(): void;
}

export function upkeepOf(options: UpkeepOptions): Upkeep {
  const { clock, streams, stream, owner, everyMs, wantSnapshot, onError } = options;
  let { created } = options;
  /** Null when nothing that stands there is enough. */
  let needed: number | null = options.needed;
  let coming: Coming | null = null;
  let isDamaged = false;
  /** Since when something seems to be missing, at all looks one after the other. */
  let suspectedAt: number | null = null;
  let toldUnfit: string | undefined;
  let isStopped = false;
  /** The look under way. */
  let looking: Look | null = null;
  /** How many looks came to nothing, one after the other. */
  let failures = 0;
  /** A snapshot is safe since the last look. */
  let isNew = false;
  let timer: Timer | undefined;
  /** Its owner waits for it before it ends. */
  let settling: (Resolvers<void> & { onWanted(): void }) | null = null;

  function lookAfter(delayMs: number): void {
    timer?.cancel();
    timer = undefined;
    if (!isStopped) timer = clock.after(delayMs, () => void (looking ?? look()));
  }

  async function look(): Promise<void> {
    const mine: Look = { isOver: false };
    looking = mine;
    let found: Found | undefined;
    // What hinders a look hinders what is appended, too, and is told of there.
    const done = lookNow(mine).then((what) => {
      found = what;
    });
    await within(settling === null ? LOOK_WITHIN_MS : LAST_LOOK_WITHIN_MS, done, clock);
    mine.isOver = true;
    if (looking !== mine) return;
    looking = null;
    if (found === undefined) suspectedAt = null;
    failures = found === undefined ? failures + 1 : 0;
    if (found === undefined || found === 'whole') settling?.resolve();
    else if (settling !== null) clock.soon(settling.onWanted);
    lookAfter(isNew ? 0 : pauseAfter(found));
  }

  function pauseAfter(found: Found | undefined): number {
    // One that was answered by nobody is soon repeated; later each time, as a server may be away for long.
    if (found === undefined) return Math.min(everyMs, SURE_AFTER_MS * 2 ** (failures - 1));
    return found === 'unsure' || settling !== null ? Math.min(everyMs, SURE_AFTER_MS) : everyMs;
  }

  async function lookNow(mine: Look): Promise<Found> {
    // One that was dropped as soon as it was safe would be so again: the next is not written without a pause.
    const wasNew = isNew;
    isNew = false;
    const last = options.lastStored();
    const info = await whatIsThere(streams.info(stream));
    if (mine.isOver || isStopped) return 'unsure';
    if (info !== null) tellUnfit(info.config);
    if (info === null || info.created !== created || info.state.last_seq < last) {
      suspectedAt = null;
      const isThere = await options.lookAtTail();
      const isNowIn = isThere && !mine.isOver && !isStopped;
      if (isNowIn && info !== null && info.created !== created) goesOnIn(info.created);
      if (!isThere) return 'unsure';
      return isDamaged ? 'missing' : 'whole';
    }
    const found = await foundIn(info.state, last);
    if (mine.isOver || isStopped) return 'unsure';
    if (found !== 'missing') {
      suspectedAt = null;
      options.onWell();
      if (found === 'whole' && isDamaged) mended();
      return found;
    }
    suspectedAt ??= clock.monotonic();
    if (!isDamaged && clock.monotonic() - suspectedAt < SURE_AFTER_MS) return 'unsure';
    if (!wasNew) damaged();
    return 'missing';
  }

  async function foundIn(state: StreamInfo['state'], last: number): Promise<Found> {
    const { first_seq: first, last_seq, messages } = state;
    let own: readonly number[] = [];
    if (last_seq - first + 1 !== messages) {
      // An operator deletes them one at a time.
      const { state: detailed } = await streams.info(stream, { deleted_details: true });
      const strays = await options.straysOf();
      const deleted = (detailed.deleted ?? []).filter((sequence) => sequence <= last);
      own = deleted.filter((sequence) => firstUnlike(strays, [sequence, sequence]) !== null);
    }
    const hasAllFrom = (from: number) => first <= from && !own.some((sequence) => sequence >= from);
    if (needed !== null && hasAllFrom(needed)) return 'whole';
    if (coming === null) return 'missing';
    return coming.first === undefined || hasAllFrom(coming.first) ? 'coming' : 'missing';
  }

  function damaged(): void {
    wantSnapshot();
    if (isDamaged) return;
    isDamaged = true;
    const message =
      `journal '${stream}' lacks entries that '${owner}' needs to start again: they were removed or dropped, or the server ` +
      'has lost them. It writes all that it knows anew: do not stop it before it says journal-mended';
    onError(new CellwrightError('journal-damaged', message));
  }

  function mended(): void {
    isDamaged = false;
    onError(
      new CellwrightError('journal-mended', `journal '${stream}' has all again that '${owner}' needs to start again`),
    );
  }

  function tellUnfit(config: StreamConfig): void {
    const fault = options.faultOf(config);
    if (fault !== null && fault.message !== toldUnfit) {
      onError(
        new CellwrightError('journal-unfit', `${fault.message}. '${owner}' runs on, and cannot start again like that`),
      );
    }
    toldUnfit = fault?.message;
  }

  function goesOnIn(made: string): void {
    created = made;
    needed = null;
    coming = null;
    damaged();
  }

  // Those of one process do not all look at the same time.
  lookAfter(everyMs * (0.5 + (fnv1a(owner) % 1_000) / 2_000));

  return {
    begun() {
      coming = {};
      return coming;
    },
    ended(ending) {
      if (ending !== coming || ending.first === undefined) return false;
      needed = ending.first;
      coming = null;
      isNew = isDamaged;
      if (isDamaged || settling !== null) lookAfter(0);
      return true;
    },
    goesOnIn,
    settle(onWanted) {
      if (isStopped) return Promise.resolve();
      settling = { ...withResolvers(), onWanted };
      // Of one under way the server may have been asked before the last entries went.
      if (looking !== null) looking.isOver = true;
      void look();
      return settling.promise;
    },
    stop() {
      isStopped = true;
      settling?.resolve();
      timer?.cancel();
    },
  };
}
