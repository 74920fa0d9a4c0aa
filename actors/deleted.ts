// What was deleted, and when: remembered for a while, so that what comes late for it is known for what it is. It is
// forgotten oldest first, some at a time, however much there is.

import type { Turn } from './actor.ts';
import { inSteps } from './snapshot.ts';
import { Table } from './table.ts';

/** The most that one record forgets, but for those of the same millisecond. */
const MOST_FORGOTTEN = 1_000;
/** How long until the next ones are forgotten, ms, where there are more. */
const FORGET_MORE_MS = 50;

const FORGET_FIRST_MS = 5_000;

/** A clock that was ahead by so much, ms, was wrong: no two that may be right differ by it. */
export const WRONG_BY_MS = 86_400_000;

/** How long until it is looked again what is to be forgotten, ms, where it is remembered for `rememberMs`. */
export function forgetAgainMs(rememberMs: number, isAll = true): number {
  return isAll ? Math.max(FORGET_MORE_MS, rememberMs / 4) : FORGET_MORE_MS;
}

/** The same in a new life, which may be a short one. */
export function forgetFirstMs(rememberMs: number): number {
  return Math.min(FORGET_FIRST_MS, forgetAgainMs(rememberMs));
}

/**
 * Those that are older than `before`, of some that stand oldest first. What is of a clock that was wrong, and far ahead,
 * stands in no other's way.
 */
export function* olderThan<One>(some: Iterable<One>, timeOf: (one: One) => number, before: number): Generator<One> {
  for (const one of some) {
    const at = timeOf(one);
    if (at < before) yield one;
    else if (at - before <= WRONG_BY_MS) return;
  }
}

export const FORGET_WAKE = 'forget-deleted';

/** Forgets what was deleted long enough ago, some of it at a time, and looks again later. */
export function forgetDeleted(
  deleted: Deleted,
  turn: Pick<Turn<never>, 'now' | 'wakeAfter'>,
  rememberMs: number,
  forget: (before: number) => void,
): void {
  const due = deleted.dueBefore(turn.now - rememberMs);
  if (due !== null) forget(due.before);
  turn.wakeAfter(FORGET_WAKE, forgetAgainMs(rememberMs, due?.isAll));
}

/** When each was deleted, ms since the epoch, oldest first. */
export class Deleted extends Table<number> {
  /** No later one counts as deleted before this, ms since the epoch. */
  #newest = 0;

  constructor() {
    super((at, key) => [key, at]);
  }

  /**
   * Remembers one from now on. Where clocks differ it counts as deleted no earlier than those before it; but if those were
   * deleted by a clock that was wrong they count as deleted now: for as long as it was ahead nothing would be forgotten.
   * @param setRight Told of each of those.
   */
  remember(key: string, at: number, setRight: (key: string, at: number) => void = () => {}): number {
    if (this.#newest - at > WRONG_BY_MS) this.#setRight(at, setRight);
    this.#newest = this.size === 0 ? at : Math.max(at, this.#newest);
    this.delete(key);
    this.set(key, this.#newest);
    return this.#newest;
  }

  #setRight(now: number, setRight: (key: string, at: number) => void): void {
    this.#newest = now;
    for (const [key, at] of this) {
      if (at <= now) continue;
      this.set(key, now);
      setRight(key, now);
    }
  }

  /** Puts back rows of a snapshot, in whatever order they come: there may be a million, so it is some in each step. */
  *restoring(rows: readonly [string, number][]): Generator<void, void> {
    const oldestFirst = rows.toSorted(([, one], [, other]) => one - other);
    yield* inSteps(oldestFirst, ([key, at]) => {
      if (!this.has(key)) this.remember(key, at);
    });
  }

  /** Up to when to forget, of what was deleted before `before`: not too much in one go. Null: there is nothing. */
  dueBefore(
    before: number,
    isKept: (key: string) => boolean = () => false,
  ): { readonly before: number; readonly isAll: boolean } | null {
    let count = 0;
    for (const [key, at] of this) {
      if (at >= before) break;
      if (isKept(key)) continue;
      count += 1;
      if (count === MOST_FORGOTTEN) return { before: at + 1, isAll: false };
    }
    return count === 0 ? null : { before, isAll: true };
  }

  /** Takes out those that were deleted before `before`, but for those to keep. */
  forget(
    before: number,
    isKept: (key: string) => boolean = () => false,
    forgotten: (key: string) => void = () => {},
  ): void {
    let last = 0;
    for (const [key, at] of this) {
      if (at >= before) return;
      if (isKept(key)) {
        last = at;
        continue;
      }
      this.delete(key);
      forgotten(key);
    }
    this.#newest = last;
  }
}
