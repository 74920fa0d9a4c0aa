// How far a scheduler has come with what it was told. All that wait may be asked for at once: what placement answers of the
// first of them then stands in the mailbox behind hundreds of others, and nobody is to be passed over for that.

import type { SteadyTime } from '../actor.ts';
import type { Work } from './state.ts';

/** How long those who come later wait for what one who is out of line is to say or claim, ms. */
export const UNCOUNTED_MS = 50;
/** How often it is noted how far it has come, ms. */
const NOTE_MS = 10;

export const HEARD_WAKE = 'heard';

/** Somebody is out of line from now on, and an answer is awaited. Answers since when. */
export function awaitAnswer(work: Work): SteadyTime {
  const { parking } = work.state;
  parking.awaitsSince = work.turn.steady;
  if (parking.notesFrom === null) noteSoon(work);
  return parking.awaitsSince;
}

function noteSoon({ state: { parking }, turn }: Work): void {
  parking.notesFrom = turn.steady;
  turn.wakeAfter(HEARD_WAKE, NOTE_MS);
}

/** It has come to this wake, and so to all that came before that was due. */
export function noteHeard(work: Work): void {
  const { parking } = work.state;
  if (parking.notesFrom !== null) parking.heardUntil = parking.notesFrom + NOTE_MS;
  parking.notesFrom = null;
  if (isAwaited(work, parking.awaitsSince)) noteSoon(work);
}

/** Whether those who come later wait for an answer that is awaited since then: it was not long in coming yet, or is not read. */
export function isAwaited({ state: { parking } }: Work, since: SteadyTime): boolean {
  return parking.heardUntil - since < UNCOUNTED_MS;
}
