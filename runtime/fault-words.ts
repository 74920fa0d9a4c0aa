// What a schema's check says of a value, in the words of people.

import { inspect } from 'node:util';
import { CELL_HOST_PATTERN, ID_PATTERN, SYMBOL_PATTERN, TOKEN_PATTERN } from '../actors/messages/names.ts';

const TYPES: Readonly<Record<string, string>> = {
  string: 'a text',
  integer: 'a whole number',
  number: 'a number',
  object: 'an object',
  array: 'a list',
  boolean: 'true or false',
  null: 'null',
};
const NAME = '[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?';
/** A host by its name, or by that of its cell too. */
export const HOST_PATTERN = `^${NAME}(/${NAME})?$`;
/** Words for people to read. */
export const WORDS_PATTERN = '\\S';
/** The first tokens of subjects. */
export const PREFIX_PATTERN = '^[^\\s.*>]+(\\.[^\\s.*>]+)*$';
const PATTERNS: ReadonlyMap<string, string> = new Map([
  [TOKEN_PATTERN, 'lower-case letters, digits and inner hyphens'],
  [SYMBOL_PATTERN, 'upper-case letters, digits and _, a letter first'],
  [ID_PATTERN, 'letters, digits, _ and -, not these two first'],
  [CELL_HOST_PATTERN, 'a host as <cell>/<host>'],
  [HOST_PATTERN, 'the name of a host, or <cell>/<host>, each of lower-case letters, digits and inner hyphens'],
  [WORDS_PATTERN, 'more than blanks'],
  [PREFIX_PATTERN, 'tokens with dots between, without spaces, * and >'],
]);
const BOUNDS: Readonly<Record<string, string>> = {
  '>=': 'at least',
  '<=': 'at most',
  '>': 'more than',
  '<': 'less than',
};

/** The rule that was broken, such as `must be a whole number`. */
export function faultWords({ keyword, message, params }: { keyword: string; message: string; params: object }): string {
  if (keyword === 'type') {
    const types = [(params as { type?: string | readonly string[] }).type ?? []].flat();
    const known = types.map((type) => TYPES[type]);
    if (known.length > 0 && known.every((words) => words !== undefined)) return `must be ${known.join(' or ')}`;
  }
  if (keyword === 'pattern') {
    const rule = PATTERNS.get(String((params as { pattern?: string | RegExp }).pattern));
    if (rule !== undefined) return `must be ${rule}`;
  }
  return message
    .replace(/^must be (>=|<=|>|<) /, (_, bound: string) => `must be ${BOUNDS[bound]} `)
    .replace(/ 1 (character|item)s$/, ' 1 $1')
    .replace(/ 1 properties$/, ' 1 property');
}

/** How much of a wrong value is said back, in characters: one with many fields would fill the screen. */
const MAX_SHOWN = 200;

/** A wrong value, whatever it is, as short as can be said back. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 80));
  const options = { depth: 0, maxArrayLength: 3, maxStringLength: 80, breakLength: Number.POSITIVE_INFINITY };
  const text = inspect(value, options);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
