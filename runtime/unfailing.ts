// Telling somebody whose code may be anybody's.

import { isPromise } from './objects.ts';

/**
 * Tells somebody who may fail at once or by and by: that ends nothing.
 * @param failed Told of it, and must not fail. Default: there is nobody left to tell of that.
 */
export function unfailing<Said extends readonly unknown[]>(
  tell: (...said: Said) => unknown,
  failed: (error: unknown, ...said: Said) => void = () => {},
): (...said: Said) => void {
  return (...said) => {
    try {
      heedFailure(tell(...said), (error) => failed(error, ...said));
    } catch (error) {
      failed(error, ...said);
    }
  };
}

/** Tells when what somebody's code returned fails by and by. */
export function heedFailure(returned: unknown, failed: (error: unknown) => void): void {
  if (isPromise(returned)) Promise.resolve(returned).catch(failed);
}
