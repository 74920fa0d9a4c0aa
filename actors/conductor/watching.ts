// Hearing how builds end that are in the hands of cells. A cell tells it once, when it happens; what was lost on the
// way is asked for, at a steady pace, of every build whose end is not known.

import type { Address } from '../actor.ts';
import type { ConductorMessage } from '../messages/conductor.ts';
import { append } from '../multimap.ts';
import { present } from '../present.ts';
import { cellAddress } from '../routing.ts';
import { commit, type Work } from './work.ts';

/** Instances in one question. */
const MAX_ASKED = 1_000;
/** Instances that are asked about in one turn, and how long until the next ones are, ms. */
const MAX_IN_TURN = 5_000;
const ASK_MORE_MS = 50;

export const WATCH_WAKE = 'ask-ends';

export function ended(
  work: Work,
  { instance, state, code, reason }: Extract<ConductorMessage, { type: 'ended' }>,
  from: Address,
): void {
  if (state === 'lost') work.turn.send(from, { type: 'lost-noted', instance });
  const entry = work.state.instances.get(instance);
  // One that is lost stays so: that it was active is told late.
  if (entry?.phase !== 'in-cell' || entry.told?.state === state || entry.told?.state === 'lost') return;
  commit(work, { type: 'ended', instance, state, ...present({ code, reason }) });
}

/** Asks the cells about every build that is theirs and of whose end nothing was heard; of many, some at a time. */
export function askEnds({ state, turn }: Work, watchMs: number): void {
  const byCell = new Map<Address, string[]>();
  state.asking ??= state.unended.values();
  for (let count = 0; count < MAX_IN_TURN; count += 1) {
    const { value: instance, done } = state.asking.next();
    if (done === true) {
      state.asking = null;
      break;
    }
    const to = cellAddress(state.instances.get(instance)?.cell as string);
    append(byCell, to, instance);
  }
  for (const [to, instances] of byCell) {
    for (let first = 0; first < instances.length; first += MAX_ASKED) {
      turn.send(to, { type: 'ask-ends', instances: instances.slice(first, first + MAX_ASKED) });
    }
  }
  turn.wakeAfter(WATCH_WAKE, state.asking === null ? watchMs : ASK_MORE_MS);
}
