// Telling somebody whose code may be anybody's.

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
      const telling = tell(...said);
      if (telling instanceof Promise) telling.catch((error) => failed(error, ...said));
    } catch (error) {
      failed(error, ...said);
    }
  };
}
