// A journal that a deployment brings itself is anybody's code. An owner goes by what it says of each entry, once: a second
// word, or a promise that fails where nobody waits for it, must neither hold an actor up nor end the process.

import type { Address } from '../../actors/actor.ts';
import { CellwrightError, messageOf } from '../errors.ts';
import type { Journal, Recorded } from './journal.ts';

/** The journal that does what the given one does, as far as that is what a journal may do. */
export function guardedJournal<R>(own: Journal<R>, owner: Address): Journal<R> {
  return {
    async open(tenure) {
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
      const pending: unknown = own.append(records, said);
      if (pending instanceof Promise) pending.catch((error) => said(error ?? new Error('it does not say why')));
    },
    get refusal() {
      return own.refusal;
    },
    get wantsSnapshot() {
      return own.wantsSnapshot;
    },
    beginSnapshot: () => own.beginSnapshot(),
    close: async () => own.close(),
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
