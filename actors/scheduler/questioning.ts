// Questions whose answer depends on where other instances are: that is found out first, as it is for a request that is to
// be served. Of a question that placement does not answer it is said in the end who does not.

import { waitMs } from '../builds.ts';
import type { RequestSpec } from '../messages/common.ts';
import type { Located } from '../messages/placement.ts';
import { placementAddress } from '../routing.ts';
import { wakeId } from '../wakes.ts';
import { askWhere, companyOf, isEnough, learnRoots, namesOthers } from './locating.ts';
import type { Company } from './request.ts';
import type { Asker, Locating, Question, Work } from './state.ts';
import { silencedIn } from './view/silence.ts';

/** Said of more questions than are taken up at one time. */
export const TOO_MANY = 'too many such questions are under way';

/** How many questions may wait at one time. */
const MAX_WAITING = 16;
/**
 * How often a question is said again before whoever asked, who gives up after eight seconds, is told that nobody knows. Where
 * only those have not answered of whom nothing was heard lately, that is told at once.
 */
const MAX_REPEATS = 2;

export const QUESTION_WAKE = 'question';

/** Whether a question was put before and is being looked into: one answer is enough. */
export function isUnderWay({ state: { questions, sweeps } }: Work, { from, ask }: Asker): boolean {
  const isIt = (asker?: Asker) => asker?.ask === ask && asker.from === from;
  return sweeps.some(({ sweep }) => isIt(sweep.asker)) || [...questions.values()].some(({ asker }) => isIt(asker));
}

/**
 * Answers a question once it is known where the instances are that it names.
 * @param decline Says why that is not found out.
 */
export function withCompany(
  work: Work,
  asker: Asker,
  spec: RequestSpec,
  then: (work: Work, company: Company | undefined) => void,
  decline: (work: Work, reason: string) => void,
): void {
  if (!namesOthers(spec)) return then(work, undefined);
  const { questions } = work.state;
  if (questions.size >= MAX_WAITING) return decline(work, TOO_MANY);
  const locating = askWhere(work, spec, []);
  questions.set(locating.ask, { asker, locating, spec, then, decline, repeats: 0 });
  arm(work, locating.ask, 0);
}

function arm({ turn, patience }: Work, ask: number, repeats: number): void {
  turn.wakeAfter(wakeId(QUESTION_WAKE, ask), waitMs(patience, repeats));
}

export function sayQuestionAgain(work: Work, ask: number): void {
  const { questions } = work.state;
  const question = questions.get(ask);
  if (question === undefined) return;
  if (answerQuestion(work, question)) return;
  question.repeats += 1;
  if (question.repeats > MAX_REPEATS || isForSilent(work, question.locating)) {
    questions.delete(ask);
    return question.decline(work, notToldWords(question.locating));
  }
  askWhere(work, question.spec, [], question.locating);
  arm(work, ask, question.repeats);
}

/** Placement has told where others are; true when that was for a question. */
export function locatedForQuestion(work: Work, message: Located): boolean {
  const { questions } = work.state;
  const question = questions.get(message.ask);
  if (question === undefined) return false;
  if (learnRoots(question.locating, message)) answerQuestion(work, question);
  return true;
}

/** Answers with what is known, if that is enough. */
function answerQuestion(work: Work, { locating, spec, then }: Question): boolean {
  if (!isEnough(work, spec, locating)) return false;
  work.state.questions.delete(locating.ask);
  work.turn.cancelWake(wakeId(QUESTION_WAKE, locating.ask));
  then(work, companyOf(spec, locating));
  return true;
}

/** Whether all who have not answered are silent. */
function isForSilent({ state: { view } }: Work, { waiting }: Locating): boolean {
  const { shards } = silencedIn(view);
  return [...waiting].every((shard) => shards.has(shard));
}

function notToldWords({ waiting }: Locating): string {
  const shards = [...waiting].map((shard) => placementAddress(shard)).join(', ');
  return `${shards} ${waiting.size === 1 ? 'does' : 'do'} not tell where the instances are that it names`;
}
