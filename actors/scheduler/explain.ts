// Saying why: what stood in the way of a request, on every host that the scheduler knows.

import { nearestMiss, type Standing, standing } from './decision.ts';
import type { Rankings } from './ranking.ts';
import type { Request } from './request.ts';
import type { View } from './view.ts';

interface Known {
  readonly view: View;
  readonly rankings: Rankings;
}

/**
 * Why no host was left, in numbers that add up to all hosts.
 * @param count For how many instances at once.
 * @param ofFitting What is said of those that would fit.
 */
export function whyNone(state: Known, request: Request, count = 1, ofFitting = 'refused the claim'): string {
  return whyNoneOf(state, request, standing(state.rankings, state.view, request, count), ofFitting);
}

/** The same, of how all hosts stand. */
export function whyNoneOf(
  { view, rankings }: Known,
  request: Request,
  { hosts, fits, refused }: Standing,
  ofFitting = 'refused the claim',
): string {
  if (hosts === 0) return 'no host is known';
  const told = refused.map(({ code, about, hosts }) => `${hosts} ${obstacleWords(code, about)}`);
  if (fits > 0) told.unshift(`${fits} ${ofFitting}`);
  const near = nearestMiss(rankings, view, request, refused);
  const nearly = near === null ? '' : `; nearest ${near}`;
  return `none of ${hosts} ${hosts === 1 ? 'host' : 'hosts'}: ${told.join(', ')}${nearly}`;
}

export function obstacleWords(code: string, about: string | undefined): string {
  if (code === 'unknown-provider') return 'not known to placement';
  const words = code.startsWith('host-') ? `host ${code.slice('host-'.length)}` : code;
  return about === undefined ? words : `${words} ${about}`;
}
