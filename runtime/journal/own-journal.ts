// A journal that a deployment brings itself is anybody's code. An owner goes by what it says of each entry, once: a second
// word, or a promise that fails where nobody waits for it, must neither hold an actor up nor end the process.

import type { Address } from '../../actors/actor.ts';
import { present } from '../../actors/present.ts';
import type { Clock } from '../clock.ts';
import { CellwrightError, messageOf, TimeoutError } from '../errors.ts';
import { heedFailure } from '../unfailing.ts';
import { within } from '../within.ts';
import type { Journal, Recorded, SnapshotWriter } from './journal.ts';

/** How long one may take to close, ms: a node that stops waits for it. */
const CLOSED_WITHIN_MS = 10_000;

/** The journal that does what the given one does, as far as that is what a journal may do. */
export function guardedJournal<R>(own: Journal<R>, owner: Address, clock: Clock): Journal<R> {
  /** Why a part of a snapshot is not stored, where that was said by and by. */
  let unsaid: { readonly error: unknown } | undefined;
  /** How often it was opened: what fails of a snapshot of before is nothing to who has opened it since. */
  let opened = 0;
  let closing: Promise<void> | undefined;

  /** A part that fails at once is told at once, and one that fails later with what is done next. */
  function insistStored(): void {
    if (unsaid === undefined) return;
    const { error } = unsaid;
    unsaid = undefined;
    throw error;
  }

  function guardedWriter(writer: SnapshotWriter): SnapshotWriter {
    const mine = opened;
    return {
      add(part, isLast, stored) {
        insistStored();
        const took: unknown = writer.add(part, isLast, stored);
        heedFailure(took, (error) => {
          if (mine === opened) unsaid = { error };
        });
        return typeof took === 'number' && took >= 0 ? took : 0;
      },
      ...present({ recordBytes: writer.recordBytes }),
    };
  }

  async function closed(): Promise<void> {
    const ended = (async () => own.close())();
    if (await within(CLOSED_WITHIN_MS, ended, clock)) return ended;
    throw new TimeoutError('', 0, `the journal of '${owner}' was not closed within ${CLOSED_WITHIN_MS} ms`);
  }

  return {
    async open(tenure) {
      opened += 1;
      unsaid = undefined;
      closing = undefined;
      return insistRecorded(await own.open(tenure), owner);
    },
    append(records, done) {
      let isSaid = false;
      const said = (error: unknown) => {
        const fault = (error ?? null) === null ? null : asError(error, owner);
        if (isSaid && fault === null) return;
        isSaid = true;
        done(fault);
      };
      insistStored();
      const pending: unknown = own.append(records, said);
      heedFailure(pending, (error) => said(error ?? new Error('it does not say why')));
    },
    get refusal() {
      return own.refusal;
    },
    get wantsSnapshot() {
      return own.wantsSnapshot;
    },
    beginSnapshot: () => guardedWriter(own.beginSnapshot()),
    settle: async (onWanted) => own.settle?.(onWanted),
    close() {
      closing ??= closed();
      return closing;
    },
  };
}

const asError = (error: unknown, owner: Address): Error =>
  error instanceof Error ? error : new Error(`the journal of '${owner}' failed: ${messageOf(error)}`);

function insistRecorded<R>(recorded: Recorded<R>, owner: Address): Recorded<R> {
  const { snapshot, records } = (recorded ?? {}) as Partial<Recorded<R>>;
  const isRead = snapshot === null || Array.isArray(snapshot);
  if (isRead && typeof records?.[Symbol.iterator] === 'function') return recorded;
  const what = `open of the journal of '${owner}' must answer { snapshot, a list or null, and records, a list }`;
  throw new CellwrightError('bad-option', what, { field: 'journals' });
}
