// Waiting that an AbortSignal may end.

import { CellwrightError } from './errors.ts';

/** @param what What is given up, for the error. @throws CellwrightError `interrupted` when the signal has come. */
export function throwIfAborted(signal: AbortSignal | undefined, what: string): void {
  if (signal?.aborted === true) throw givenUpError(what);
}

/**
 * What comes of it, unless the signal comes first.
 * @param what What is given up, for the error.
 * @param late Told what came after it was given up.
 * @throws CellwrightError `interrupted`.
 */
export async function unlessAborted<Result>(
  coming: Promise<Result>,
  signal: AbortSignal | undefined,
  what: string,
  late: (result: Result) => unknown = () => undefined,
): Promise<Result> {
  if (signal === undefined) return coming;
  let giveUp = (): void => {};
  const givenUp = new Promise<never>((_, reject) => {
    giveUp = () => reject(givenUpError(what));
    if (signal.aborted) giveUp();
    signal.addEventListener('abort', giveUp);
  });
  try {
    return await Promise.race([coming, givenUp]);
  } catch (error) {
    if (signal.aborted) coming.then(late).catch(() => undefined);
    throw error;
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

function givenUpError(what: string): CellwrightError {
  return new CellwrightError('interrupted', `${what} was given up`);
}
