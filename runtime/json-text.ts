// Reads JSON that people write, into files: a byte order mark, as some editors put it first, is no fault; a name that
// stands twice in one object is, in a file as in a request, for which of the two counts would be a guess.

import { isUtf8 } from 'node:buffer';
import { MalformedError, messageOf } from './errors.ts';

/** The longest path to a fault that is told. */
const MAX_PATH_LENGTH = 256;

/** Whether a path to a fault may be told: keys are anybody's, they may be long, or break a line. */
export const isTold = (path: string): boolean => path.length <= MAX_PATH_LENGTH && !/\p{Cc}/u.test(path);

/** @throws MalformedError in words that are about the text, without the name of a file. */
export function jsonIn(bytes: Uint8Array): unknown {
  if (!isUtf8(bytes)) throw new MalformedError('it is not text in UTF-8');
  const text = new TextDecoder().decode(bytes);
  if (text.trim() === '') throw new MalformedError('it is empty');
  let value: unknown;
  try {
    value = JSON.parse(text, checked);
  } catch (cause) {
    if (cause instanceof MalformedError) throw cause;
    throw new MalformedError(`it is not readable JSON: ${messageOf(cause)}`, { cause });
  }
  refuseRepeats(text);
  return value;
}

/**
 * @param text Known to be JSON.
 * @throws MalformedError when a name stands twice in one object, with the path to it as its field if that can be told.
 */
export function refuseRepeats(text: string): void {
  const path = repeatedIn(text);
  if (path === undefined) return;
  const where = path.length === 1 ? '' : `, at '${path.slice(0, -1).join('.')}'`;
  const message = `the name '${path.at(-1)}' stands twice in one object`;
  const field = path.join('.');
  if (!isTold(field)) throw new MalformedError(message);
  throw new MalformedError(`${message}${where}`, { field });
}

/** A text that is known to be JSON, with nothing in its strings, of which there may be long ones. */
export function outsideStrings(text: string): string {
  const parts: string[] = [];
  let from = 0;
  for (let start = text.indexOf('"'); start >= 0; start = text.indexOf('"', from)) {
    parts.push(text.slice(from, start));
    let end = text.indexOf('"', start + 1);
    while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
    from = end + 1;
  }
  parts.push(text.slice(from));
  return parts.join('""');
}

function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text[before - 1] === '\\') before -= 1;
  return (at - before) % 2 === 1;
}

function checked(name: string, value: unknown): unknown {
  if (name === '__proto__') throw new MalformedError("the name '__proto__' is not allowed");
  if (typeof value === 'number' && !Number.isFinite(value)) throw new MalformedError('a number in it is too large');
  return value;
}

/** The path to the first name that stands twice in one object of a text that is known to be JSON. */
function repeatedIn(text: string): string[] | undefined {
  /** The objects and arrays that the reading is in: the names so far of an object, and what is read now of each. */
  const inside: { names: Set<string> | null; at: string | number }[] = [];
  for (const [token] of text.matchAll(/"(?:[^"\\]+|\\.)*"\s*:?|[{}[\],]/gs)) {
    const current = inside.at(-1);
    if (token === '{') inside.push({ names: new Set(), at: '' });
    else if (token === '[') inside.push({ names: null, at: 0 });
    else if (token === '}' || token === ']') inside.pop();
    else if (token === ',') {
      if (current !== undefined && typeof current.at === 'number') current.at += 1;
    } else if (token.endsWith(':') && current !== undefined) {
      current.at = JSON.parse(token.slice(0, -1)) as string;
      if (current.names?.has(current.at) === true) return inside.map(({ at }) => String(at));
      current.names?.add(current.at);
    }
  }
  return undefined;
}
