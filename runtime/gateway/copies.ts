// Copies of requests. Whoever waits for an answer asks again, lest the one who took his request has died with it: while it
// is being answered, the copy gets the same answer, and nobody is asked for it once more.

import { isDeepStrictEqual } from 'node:util';
import { PassingMap } from '../../actors/passing-map.ts';

interface UnderWay {
  readonly request: object;
  readonly answer: Promise<object>;
}

export class Copies {
  readonly #underWay = new PassingMap<string, UnderWay>();

  /**
   * @param name Tells what the request is about; of a name the latest request is known.
   * @param request All that the answer depends on.
   */
  answer<Answer extends object>(name: string, request: object, call: () => Promise<Answer>): Promise<Answer> {
    const same = this.#underWay.get(name);
    if (same !== undefined && isDeepStrictEqual(same.request, request)) return same.answer as Promise<Answer>;
    const answer = call().finally(() => {
      if (this.#underWay.get(name)?.answer === answer) this.#underWay.delete(name);
    });
    this.#underWay.set(name, { request, answer });
    return answer;
  }

  /** What comes from now on is no copy of what is under way. */
  forget(name: string): void {
    this.#underWay.delete(name);
  }
}
