// Questions whose answer depends on where other instances are: that is found out first, as it is for a request that is to
// be served. A question that placement does not answer is forgotten in the end; whoever asked has given up by then.

import { waitMs } from '../builds.ts';
import type { RequestSpec } from '../messages/common.ts';
import type { Located } from '../messages/placement.ts';
import { wakeId } from '../wakes.ts';
import { askWhere, companyOf, learnRoots, namesOthers } from './locating.ts';
import type { Company } from './request.ts';
import type { Asker, Work } from './state.ts';

/** How many questions may wait at one time. */
const MAX_WAITING = 16;
/** How often a question is said again before it is forgotten. */
const MAX_REPEATS = 5;

export const QUESTION_WAKE = 'question';

/** Whether a question was put before and is being looked into: one answer is enough. */
export function isUnderWay({ state: { questions, sweeps } }: Work, { from, ask }: Asker): boolean {
  const isIt = (asker?: Asker) => asker?.ask === ask && asker.from === from;
  return sweeps.some(({ sweep }) => isIt(sweep.asker)) || [...questions.values()].some(({ asker }) => isIt(asker));
}

/** Answers a question once it is known where the instances are that it names; false when too many wait. */
export function withCompany(
  work: Work,
  asker: Asker,
  spec: RequestSpec,
  then: (work: Work, company: Company | undefined) => void,
): boolean {
  if (!namesOthers(spec)) {
    then(work, undefined);
    return true;
  }
  const { questions } = work.state;
  if (questions.size >= MAX_WAITING) return false;
  const locating = askWhere(work, spec, []);
  questions.set(locating.ask, { asker, locating, spec, then, repeats: 0 });
  arm(work, locating.ask, 0);
  return true;
}

function arm({ turn, patience }: Work, ask: number, repeats: number): void {
  turn.wakeAt(wakeId(QUESTION_WAKE, ask), turn.now + waitMs(patience, repeats));
}

export function sayQuestionAgain(work: Work, ask: number): void {
  const { questions } = work.state;
  const question = questions.get(ask);
  if (question === undefined) return;
  question.repeats += 1;
  if (question.repeats > MAX_REPEATS) {
    questions.delete(ask);
    return;
  }
  askWhere(work, question.spec, [], question.locating);
  arm(work, ask, question.repeats);
}

/** Placement has told where others are; true when that was for a question. */
export function locatedForQuestion(work: Work, message: Located): boolean {
  const { questions } = work.state;
  const question = questions.get(message.ask);
  if (question === undefined) return false;
  if (!learnRoots(question.locating, message)) return true;
  questions.delete(message.ask);
  work.turn.cancelWake(wakeId(QUESTION_WAKE, message.ask));
  question.then(work, companyOf(question.spec, question.locating.roots));
  return true;
}
