// Work that takes long, in steps: whoever does it may leave off after each, and go on in a later turn.

/** Each step takes some microseconds. */
export type Steps<Result> = Generator<void, Result, void>;

/** How many are one step, of those that take next to no time each. */
const BRIEF = 16;

/** What comes of each, where that takes next to no time. */
export function* mapped<From, To>(all: readonly From[], toOther: (one: From) => To): Steps<To[]> {
  const others: To[] = [];
  for (const one of all) {
    others.push(toOther(one));
    if (others.length % BRIEF === 0) yield;
  }
  return others;
}

/** Those that pass a test, where that takes next to no time. */
export function* passing<One>(all: readonly One[], passes: (one: One) => boolean): Steps<One[]> {
  const isPassing = yield* mapped(all, passes);
  return all.filter((_, at) => isPassing[at]);
}
