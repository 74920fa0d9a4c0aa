// Checks options that are given as an object of plain fields, each of which may be left out.

import Type, { type TSchema } from 'typebox';
import type { Clock } from './clock.ts';
import { kindOfNoData } from './codec.ts';
import { CellwrightError } from './errors.ts';
import { checkOf, insist } from './schemas.ts';

/** An object with some of the fields, and no others. */
export const partly = <T extends Record<string, TSchema>>(fields: T) =>
  Type.Object(Object.fromEntries(Object.entries(fields).map(([name, of]) => [name, Type.Optional(of)])), {
    additionalProperties: false,
  });

/** What a value must be, in words, and whether it is that. */
export interface Rule {
  readonly is: string;
  holds(value: unknown): boolean;
}

export const A_FUNCTION: Rule = { is: 'a function', holds: (value) => typeof value === 'function' };
export const A_SIGNAL: Rule = {
  is: 'an AbortSignal',
  holds: (value) => hasMethods(value, ['addEventListener', 'removeEventListener'] satisfies (keyof AbortSignal)[]),
};
export const CLOCK_METHODS = ['now', 'monotonic', 'at', 'after', 'soon'] as const satisfies (keyof Clock)[];
export const A_CLOCK: Rule = {
  is: `a clock, with the methods ${CLOCK_METHODS.join(', ')}`,
  holds: (value) => hasMethods(value, CLOCK_METHODS),
};

function hasMethods(value: unknown, methods: readonly string[]): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return methods.every((method) => typeof value[method as keyof typeof value] === 'function');
}

/** @throws CellwrightError `bad-option` where options are no object: what a spread makes of a text has fields. */
export function insistObject(options: unknown, what: string): void {
  if (typeof (options ?? {}) !== 'object' || Array.isArray(options)) {
    throw new CellwrightError('bad-option', `${what} must be an object`);
  }
}

/**
 * A check that throws CellwrightError `bad-option` with the field. Absent and undefined are one.
 * @param rules For the fields that no schema can describe.
 */
export function checkOfOptions(
  fields: Record<string, TSchema>,
  what: string,
  rules: Readonly<Record<string, Rule>> = {},
): (options: object) => void {
  const check = checkOf(partly(fields), what);
  return (options) => {
    insistObject(options, what);
    const kind = kindOfNoData(options);
    if (kind !== undefined) throw new CellwrightError('bad-option', `${what} must be a plain object, not a ${kind}`);
    const given = Object.entries(options ?? {}).filter(([, value]) => value !== undefined);
    insist(check, Object.fromEntries(given), 'bad-option');
    for (const [field, value] of given) {
      const rule = rules[field];
      if (rule?.holds(value) === false) {
        throw new CellwrightError('bad-option', `'${field}' of ${what} must be ${rule.is}`, { field });
      }
      const inner = typeof value === 'object' ? kindOfNoData(value) : undefined;
      if (inner === undefined) continue;
      throw new CellwrightError('bad-option', `'${field}' of ${what} must be a plain object, not a ${inner}`, {
        field,
      });
    }
  };
}

/** @throws CellwrightError `bad-option` for what would be waited for without end. */
export function checkedMs(timeoutMs: number): number {
  if (typeof timeoutMs === 'number' && timeoutMs >= 0) return timeoutMs;
  throw new CellwrightError('bad-option', 'timeoutMs must be a number of milliseconds, 0 or more', {
    field: 'timeoutMs',
  });
}
