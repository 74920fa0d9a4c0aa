// A compute that has begun anew, as its cell sees it: it presents itself, is asked whether it lives, and answers.

import * as assert from 'uvu/assert';
import type { CellMessage } from '../../actors/messages/cell.ts';
import { type Bench, sentOf, type Turned } from './turn.ts';

type ComputeUp = Extract<CellMessage, { type: 'compute-up' }>;

/** Brings a new life of a compute up; answers the turn in which the cell takes it. */
export function comesUp<State, Recorded>(on: Bench<State, CellMessage, Recorded>, word: ComputeUp): Turned<Recorded> {
  const from = `compute/c1/${word.host}`;
  const asking = on.tell(word, from);
  assert.equal(asking.records, [], 'nothing is believed yet');
  const [asked] = sentOf(asking, 'who-are-you');
  assert.is(asked?.message.incarnation, word.incarnation);
  return on.tell({ ...word, challenge: asked?.message.challenge as number }, from);
}
