// Looks now and then whether the stream of a journal still has what its owner needs to start again, while the owner runs and
// knows all of it: entries may have been purged or deleted, or dropped by a limit that somebody has set. Then a snapshot
// is wanted at once, which takes the place of all that is gone.

import type { StreamAPI, StreamConfig, StreamInfo } from 'nats';
import type { Address } from '../../actors/actor.ts';
import { fnv1a } from '../../actors/routing.ts';
import type { Clock, Timer } from '../clock.ts';
import { CellwrightError } from '../errors.ts';
import { within } from '../within.ts';
import { firstUnlike, type Range } from './strays.ts';
import { whatIsThere } from './stream.ts';

/** A server that leads no more may tell of how a stream stood for a moment: a loss is believed that is still told after that. */
export const SURE_AFTER_MS = 1_000;
/** How long a look may take, ms: a server that has died while it was asked never answers. */
const LOOK_WITHIN_MS = 2_000;

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

  function lookAfter(delayMs: number): void {
    timer?.cancel();
    timer = isStopped ? undefined : clock.after(delayMs, () => void look());
  }

  async function look(): Promise<void> {
    if (looking !== null) return;
    const mine: Look = { isOver: false };
    looking = mine;
    let isSure: boolean | undefined;
    // What hinders a look hinders what is appended, too, and is told of there.
    const done = lookNow(mine).then((found) => {
      isSure = found;
    });
    await within(LOOK_WITHIN_MS, done, clock);
    mine.isOver = true;
    looking = null;
    if (isSure === undefined) suspectedAt = null;
    failures = isSure === undefined ? failures + 1 : 0;
    if (isSure === true) lookAfter(everyMs);
    // One that was answered by nobody is soon repeated; later each time, as a server may be away for long.
    else lookAfter(Math.min(everyMs, SURE_AFTER_MS * 2 ** Math.max(0, failures - 1)));
  }

  /** Answers whether what it has found is certain. */
  async function lookNow(mine: Look): Promise<boolean> {
    // One that was dropped as soon as it was safe would be so again: the next is not written without a pause.
    const wasNew = isNew;
    isNew = false;
    const last = options.lastStored();
    const info = await whatIsThere(streams.info(stream));
    if (mine.isOver || isStopped) return true;
    if (info !== null) tellUnfit(info.config);
    if (info === null || info.created !== created || info.state.last_seq < last) {
      suspectedAt = null;
      const isThere = await options.lookAtTail();
      const isNowIn = isThere && !mine.isOver && !isStopped;
      if (isNowIn && info !== null && info.created !== created) goesOnIn(info.created);
      return isThere;
    }
    const isEnough = await hasWhatIsNeeded(info.state, last);
    if (mine.isOver || isStopped) return true;
    if (isEnough !== false) {
      suspectedAt = null;
      options.onWell();
      if (isEnough === true && isDamaged) mended();
      return true;
    }
    suspectedAt ??= clock.monotonic();
    if (!isDamaged && clock.monotonic() - suspectedAt < SURE_AFTER_MS) return false;
    if (!wasNew) damaged();
    return true;
  }

  /** Undefined while that cannot be told. */
  async function hasWhatIsNeeded(state: StreamInfo['state'], last: number): Promise<boolean | undefined> {
    const { first_seq: first, last_seq, messages } = state;
    if (coming !== null && coming.first === undefined) return undefined;
    if (isMissing(first)) return false;
    if (last_seq - first + 1 === messages) return whole();
    // An operator deletes them one at a time.
    const { state: detailed } = await streams.info(stream, { deleted_details: true });
    const strays = await options.straysOf();
    const deleted = (detailed.deleted ?? []).filter((sequence) => sequence <= last);
    const own = deleted.filter((sequence) => firstUnlike(strays, [sequence, sequence]) !== null);
    return own.some((sequence) => isMissing(sequence + 1)) ? false : whole();
  }

  /** What is being written stands for what is before it once it is whole. */
  const neededNow = () => coming?.first ?? needed;

  /** Whether nothing before this entry is there, though it is needed. */
  function isMissing(first: number): boolean {
    const from = neededNow();
    return from === null || first > from;
  }

  const whole = () => (coming === null ? true : undefined);

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
      if (isDamaged) {
        isNew = true;
        lookAfter(0);
      }
      return true;
    },
    goesOnIn,
    stop() {
      isStopped = true;
      timer?.cancel();
    },
  };
}
