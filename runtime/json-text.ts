// Reads JSON that people write, into files: a byte order mark, as some editors put it first, is no fault; a name that
// stands twice in one object is, in a file as in a request, for which of the two counts would be a guess.

import { isUtf8 } from 'node:buffer';
import { MalformedError, messageOf } from './errors.ts';

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
 * @throws MalformedError when a name stands twice in one object.
 */
export function refuseRepeats(text: string): void {
  const twice = repeatedIn(text);
  if (twice !== undefined) throw new MalformedError(`the name '${twice}' stands twice in one object`);
}

function checked(name: string, value: unknown): unknown {
  if (name === '__proto__') throw new MalformedError("the name '__proto__' is not allowed");
  if (typeof value === 'number' && !Number.isFinite(value)) throw new MalformedError('a number in it is too large');
  return value;
}

/** The first name that stands twice in one object of a text that is known to be JSON. */
function repeatedIn(text: string): string | undefined {
  /** The names so far of each object that the reading is in; null for an array. */
  const inside: (Set<string> | null)[] = [];
  for (const [token] of text.matchAll(/"(?:[^"\\]+|\\.)*"\s*:?|[{}[\]]/gs)) {
    if (token === '{') inside.push(new Set());
    else if (token === '[') inside.push(null);
    else if (token === '}' || token === ']') inside.pop();
    else if (token.endsWith(':')) {
      const name = JSON.parse(token.slice(0, -1)) as string;
      const names = inside.at(-1);
      if (names?.has(name) === true) return name;
      names?.add(name);
    }
  }
  return undefined;
}
