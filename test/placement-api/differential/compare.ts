// Puts an answer into a form in which two servers that mean the same say the same: what has no order is sorted, and
// what differs for a known reason is taken out. The reasons stand in known.ts.

import { isDeepStrictEqual } from 'node:util';
import type { Answer, Request } from './exchange.ts';
import { withoutKnown } from './known.ts';

const SHARES = 'MISC_SHARES_VIA_AGGREGATE';

export function difference(request: Request, reference: Answer, ours: Answer): string | null {
  if (reference.status === 500 && ours.status < 500) return null;
  if (isUnknownNameUnseen(request, reference, ours)) return null;
  const expected = normal(request, reference);
  const got = normal(request, ours);
  if (isDeepStrictEqual(expected, got) || isMoreBySharing(request, expected, got)) return null;
  const { minor, ...asked } = request;
  return [`${JSON.stringify(asked)} at 1.${minor}`, ...apart(expected, got, '')].join('\n');
}

/** Each place in which two values differ, with what either has there. */
export function apart(expected: unknown, got: unknown, path: string): string[] {
  if (isDeepStrictEqual(expected, got)) return [];
  const isBranch = (value: unknown) => typeof value === 'object' && value !== null;
  if (!isBranch(expected) || !isBranch(got)) {
    return [`  ${path}: the reference has ${JSON.stringify(expected)}, ours ${JSON.stringify(got)}`];
  }
  const [one, other] = [expected as Record<string, unknown>, got as Record<string, unknown>];
  const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...keys].flatMap((key) => apart(one[key], other[key], `${path}/${key}`));
}

interface Found {
  readonly allocation_requests: readonly object[];
  readonly provider_summaries: Readonly<Record<string, { traits?: readonly string[] }>>;
}

/**
 * Where a shared provider serves the unnamed group of several trees by itself, the reference goes on with one of these
 * trees, whichever it is, and loses what other groups have in the others. Ours must have all that it has, and more.
 */
function isMoreBySharing({ path }: Request, reference: Answer, ours: Answer): boolean {
  const hasNamed = /[?&](resources|required|member_of|in_tree)[0-9_]/.test(path);
  const hasSeveralGroups = path.startsWith('/allocation_candidates?') && hasNamed && /[?&]resources=/.test(path);
  if (!hasSeveralGroups || reference.status !== 200 || ours.status !== 200) return false;
  const [expected, got] = [reference.body as Found, ours.body as Found];
  const isShared = Object.values(got.provider_summaries).some(({ traits }) => traits?.includes(SHARES));
  const known = new Set(got.allocation_requests.map((one) => JSON.stringify(one)));
  const isLess = expected.allocation_requests.length < known.size;
  return isShared && isLess && expected.allocation_requests.every((one) => known.has(JSON.stringify(one)));
}

/** Ours looks at all names that a query has, the reference at none after a part that nothing meets. */
function isUnknownNameUnseen({ path }: Request, reference: Answer, ours: Answer): boolean {
  if (!/^\/(allocation_candidates|resource_providers)\?/.test(path)) return false;
  if (reference.status !== 200 || ours.status !== 400) return false;
  const found = reference.body as { allocation_requests?: unknown[]; resource_providers?: unknown[] };
  return (
    (found.allocation_requests ?? found.resource_providers)?.length === 0 &&
    /No such (resource class|trait)/.test(JSON.stringify(ours.body))
  );
}

function normal(request: Request, answer: Answer): Answer {
  return sorted(withoutKnown(request, answer)) as Answer;
}

/** Lists in an order of their own; nothing that the API lists has one that means something. */
export function sorted(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(sorted);
    return items.sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
  }
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, one]) => [key, sorted(one)]));
}
