// Which instances may be meant by names that are none's. There may be a million, so it is looked for a part a turn, and one
// question after the other; whoever asks does without where too many ask.

import type { Address } from '../actor.ts';
import { digitsOf, hasDigits, likeFinder } from '../alike.ts';
import type { LikeInstances } from '../messages/conductor.ts';
import type { Likening } from './likening.ts';
import type { Entry } from './state.ts';
import type { Work } from './work.ts';

export const LIKE_WAKE = 'like';

/** How many names are passed over in a turn: some two milliseconds; and how long until the next turn, ms: others have more of the time. */
const LOOKS_IN_TURN = 20_000;
const BETWEEN_MS = 5;
/** How many are compared in a turn, which takes longer. */
const COMPARED_IN_TURN = 1_000;
const MAX_WAITING = 8;
/** How long gateways wait for an answer, ms; what is looked into for longer holds others up for nothing. */
export const LIKENED_WITHIN_MS = 1_000;

export function likeAsked(work: Work, { ask, names, holding }: LikeInstances, from: Address): void {
  const { likenings } = work.state;
  // Put once more, as no answer has come yet: that comes all the same.
  if (likenings.some((one) => one.ask === ask && one.from === from)) return;
  const sought = names.map((name) => ({ name, digits: digitsOf(name), finder: likeFinder(name) }));
  const until = work.turn.steady + LIKENED_WITHIN_MS;
  const likening: Likening = { from, ask, sought, isHolding: holding === true, until, left: undefined };
  if (likenings.length >= MAX_WAITING) return answer(work, likening);
  likenings.push(likening);
  if (likenings.length === 1) goOnLikening(work);
}

/** Looks at the next instances for the question whose turn it is. */
export function goOnLikening(work: Work): void {
  const { state, turn } = work;
  // One that is left unfinished goes no further through the instances, which would have to stand as they are for it.
  while ((state.likenings[0]?.until ?? turn.steady) < turn.steady) state.likenings.shift()?.left?.return?.();
  const [current] = state.likenings;
  if (current === undefined) return;
  if (lookFurther(current, state.instances)) {
    state.likenings.shift();
    answer(work, current);
  }
  if (state.likenings.length > 0) turn.wakeAfter(LIKE_WAKE, BETWEEN_MS);
}

/** True when all were looked at. */
function lookFurther(current: Likening, instances: Work['state']['instances']): boolean {
  const { sought, isHolding } = current;
  current.left ??= instances.keys();
  let compared = 0;
  for (let looks = 0; looks < LOOKS_IN_TURN && compared < COMPARED_IN_TURN; looks += sought.length) {
    const { value: instance, done } = current.left.next();
    if (done === true) return true;
    for (const { digits, finder } of sought) {
      // Their numbers tell instances apart: those with others are passed over in next to no time.
      if (!hasDigits(instance, digits)) continue;
      if (isHolding && !mayHold(instances.get(instance) as Entry)) continue;
      if (finder.meet(instance)) compared += 1;
    }
  }
  return false;
}

/** Whether placement may hold something for an instance, as far as is known here. */
function mayHold({ phase, cell, told }: Entry): boolean {
  if (phase === 'here') return cell !== null;
  return phase === 'in-cell' && told?.state !== 'failed';
}

function answer({ state, turn }: Work, { from, ask, sought }: Likening): void {
  const like = sought.flatMap(({ name, finder }): [string, string][] => {
    const found = state.instances.has(name) ? name : finder.found();
    return found === undefined ? [] : [[name, found]];
  });
  turn.send(from, { type: 'like-told', ask, like });
}
