// What callers of the Placement API ask that may take a look at all providers, and answers as large: both are done in slices,
// one a turn, so that claims go on being decided in between. A slice is done as soon as something is asked, which is all
// that most of it takes; the others wait in line, where each has its turn.

import type { Address, Turn } from '../../actor.ts';
import type { ApiMessage, ApiOutcome } from '../../messages/placement-api.ts';
import type { PlacementRecord } from '../records.ts';
import type { PlacementState } from '../state.ts';
import { partsOf, sendParts } from './answer.ts';
import { lookForCandidates } from './candidates/find.ts';
import { lookForProviders } from './find-providers.ts';
import type { Look } from './looking.ts';

export const LOOK_WAKE = 'look';
/** Between two slices, ms: what came meanwhile is served. */
const BETWEEN_MS = 1;
/** How many of the line take turns: so that of very many the first are answered in time, and not all of them late. */
const MOST_AT_ONCE = 4;
/** The most that are in line; more are answered only if that takes one slice, and are asked again otherwise. */
const MAX_LOOKS = 64;
/** How many parts of an answer are sent in one turn: a megabyte. */
const MAX_PARTS_SENT = 8;

type Asked = ApiMessage<'candidates'> | ApiMessage<'providers-find'>;

export function look(state: PlacementState, asked: Asked, from: Address, turn: Turn<PlacementRecord>): void {
  const { looks } = state;
  const { ask, again: first = ask } = asked;
  // Whoever asks again has not heard yet, and will.
  if (looks.some((one) => one.from === from && one.first === first)) return;
  const { steps, gone, grown } =
    asked.type === 'candidates' ? lookForCandidates(state, asked) : lookForProviders(state, asked);
  const one: Look = { from, first, ask, gone, grown, steps: answering(steps), parts: null, sent: 0 };
  looks.push(one);
  goOn(one, turn);
  if (isAnswered(one) || looks.length > MAX_LOOKS) {
    looks.pop();
    // What it goes through is let go.
    one.steps.return([]);
  }
  if (looks.length === 1 && looks[0] === one) turn.wakeAfter(LOOK_WAKE, BETWEEN_MS);

  function* answering(finding: Generator<void, ApiOutcome>): Generator<void, readonly string[]> {
    const outcome = yield* finding;
    one.gone = null;
    return yield* partsOf(outcome);
  }
}

/** Does the next slice of the one whose turn it is. */
export function lookFurther(state: PlacementState, turn: Turn<PlacementRecord>): void {
  const { looks } = state;
  const one = looks.shift();
  if (one === undefined) return;
  goOn(one, turn);
  if (!isAnswered(one)) looks.splice(MOST_AT_ONCE - 1, 0, one);
  if (looks.length > 0) turn.wakeAfter(LOOK_WAKE, BETWEEN_MS);
}

function goOn(one: Look, turn: Turn<PlacementRecord>): void {
  if (one.parts === null) {
    const { done, value } = one.steps.next();
    if (done !== true) return;
    one.parts = value;
  }
  const end = Math.min(one.parts.length, one.sent + MAX_PARTS_SENT);
  sendParts(one.from, one.ask, one.parts, one.sent, end, turn);
  one.sent = end;
}

function isAnswered({ parts, sent }: Look): boolean {
  return parts !== null && sent === parts.length;
}
