// Tells people of what went wrong, on stderr: a line, and the same one once, whether it came beside an answer or instead
// of it.

import { messageOf } from '../errors.ts';
import { printable } from './text.ts';

/** Of a command that goes on for long, how many lines are remembered. */
const MOST_REMEMBERED = 100;

const told = new Set<string>();

/** Also to be told of what no call of a connection can be told. */
export function tell(error: unknown): void {
  const message = messageOf(error);
  if (told.has(message)) return;
  if (told.size === MOST_REMEMBERED) told.clear();
  told.add(message);
  console.error(printable(`cellwright: ${message}`.split('\n')));
}
