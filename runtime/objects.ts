// What values that came from elsewhere are.

/** Whether it is an object, and no list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether it is a promise of any make, of which `instanceof` knows one only. */
export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

/** What keeps what somebody's code made from being used, or null. It may run code of its own to say what it has. */
export function faultInMade(made: unknown, methods: readonly string[]): string | null {
  if (typeof made !== 'object' || made === null) return 'is no object';
  if (isPromise(made)) return 'is a promise: it must be made at once';
  const lacking = methods.find((method) => typeof made[method as keyof typeof made] !== 'function');
  return lacking === undefined ? null : `lacks the method '${lacking}'`;
}
