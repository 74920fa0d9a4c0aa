// Tests that mostly wait, beside each other: a file of them takes as long as its longest ones.

import { withResolvers } from '../../runtime/with-resolvers.ts';

type Body = () => Promise<void>;

/**
 * When the first of the tests is run the bodies of all begin, so many at a time, in the order in which they were given;
 * each test waits for its own. A body must share nothing with the others.
 */
export function beside(atOnce: number): (body: Body) => Body {
  const waiting: Body[] = [];
  let isBegun = false;

  async function runInTurn(): Promise<void> {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await next();
  }

  return (body) => {
    const outcome = withResolvers();
    // Each test is judged in its turn, which may come later.
    outcome.promise.catch(() => {});
    waiting.push(() => body().then(outcome.resolve, outcome.reject));
    return () => {
      if (!isBegun) for (let times = 0; times < atOnce; times += 1) void runInTurn();
      isBegun = true;
      return outcome.promise;
    };
  };
}
