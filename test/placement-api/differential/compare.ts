// Puts an answer into a form in which two servers that mean the same say the same: what has no order is sorted, and
// what differs for a known reason is taken out. The reasons stand in known.ts.

import { isDeepStrictEqual } from 'node:util';
import type { Answer, Request } from './exchange.ts';
import { withoutKnown } from './known.ts';

export function difference(request: Request, reference: Answer, ours: Answer): string | null {
  const expected = normal(request, reference);
  const got = normal(request, ours);
  if (isDeepStrictEqual(expected, got)) return null;
  const { minor, ...asked } = request;
  return [
    `${JSON.stringify(asked)} at 1.${minor}`,
    `  the reference: ${JSON.stringify(expected)}`,
    `  ours:          ${JSON.stringify(got)}`,
  ].join('\n');
}

function normal(request: Request, answer: Answer): Answer {
  return sorted(withoutKnown(request, answer)) as Answer;
}

/** Lists in an order of their own; nothing that the API lists has one that means something. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(sorted);
    return items.sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
  }
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, one]) => [key, sorted(one)]));
}
