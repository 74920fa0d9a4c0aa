// Saying why: what stood in the way of a request, on every host that the scheduler knows.

import type { Advice } from '../messages/advice.ts';
import type { RefusedHosts } from '../messages/decision.ts';
import { nearestMiss, type Standing, standing } from './decision.ts';
import type { Rankings } from './ranking.ts';
import type { Request } from './request.ts';
import type { View } from './view.ts';

interface Known {
  readonly view: View;
  readonly rankings: Rankings;
}

/** What is said of hosts that fit, where each was claimed. */
export const REFUSED_THE_CLAIM = 'refused the claim';

/**
 * Why no host was left, in numbers that add up to all hosts.
 * @param count For how many instances at once.
 */
export function whyNone(state: Known, request: Request, count = 1): string {
  return whyNoneOf(state, request, standing(state.rankings, state.view, request, count));
}

/** That each instance would have a host alone is not enough. */
export function whyNoneTogether(
  state: Known,
  request: Request,
  count: number,
  stands: Standing & { readonly advice?: readonly Advice[] },
): string {
  return `no room for ${count} instances at once: ${whyNoneOf(state, request, stands, 'with room for some')}`;
}

/** The same as `whyNone`, of how all hosts stand, and what is advised. */
export function whyNoneOf(
  { view, rankings }: Known,
  request: Request,
  { hosts, fits, refused, advice = [] }: Standing & { readonly advice?: readonly Advice[] },
  ofFitting = REFUSED_THE_CLAIM,
): string {
  if (hosts === 0) return 'no host is known';
  const told = refused.map(obstacleWords);
  if (fits > 0) told.unshift(`${fits} ${ofFitting}`);
  const near = nearestMiss(rankings, view, request, refused);
  const nearly = near === null ? '' : `; nearest ${near}`;
  const absence = absenceWords(hosts, refused, advice);
  const absent = absence === null ? '' : `; ${absence}`;
  return `none of ${hosts} ${hosts === 1 ? 'host' : 'hosts'}: ${told.join(', ')}${nearly}${absent}`;
}

/**
 * That nothing of what a request names is there: all hosts are refused because they are none of it, or for what is asked
 * of them before that, so that it cannot be told whether they are. Null: something is there, as far as that is known.
 */
export function absenceWords(
  hosts: number,
  refused: readonly RefusedHosts[],
  advice: readonly Advice[],
): string | null {
  const named = refused.find(({ code }) => NOTHING_NAMED.has(code));
  const isNamed = (one: RefusedHosts) => one === named || ASKED_BEFORE.test(one.code);
  if (named === undefined || !refused.every(isNamed)) return null;
  const { wish, alone, beside } = NOTHING_NAMED.get(named.code) as Absence;
  // Another change lets in only hosts that are named.
  if (advice.some(({ code }) => code !== wish)) return null;
  const sum = refused.reduce((all, one) => all + one.hosts, 0);
  return sum < hosts ? null : named.hosts === hosts ? alone : beside;
}

/** What is said where that is all, and where others are refused for something else. */
interface Absence {
  /** The code of the advice to leave the name out. */
  readonly wish: string;
  readonly alone: string;
  readonly beside: string;
}

const NOTHING_NAMED: ReadonlyMap<string, Absence> = new Map([
  [
    'not-in-cell',
    {
      wish: 'without-cells',
      alone: 'there is no such cell, or none of its hosts is known',
      beside: 'there is no such cell, or none of its hosts is known but for those refused otherwise',
    },
  ],
  [
    'not-a-named-provider',
    {
      wish: 'without-hosts',
      alone: 'there is no such host: none of those that it names is known',
      beside: 'there is no such host, unless it is one of those refused otherwise',
    },
  ],
]);
const ASKED_BEFORE = /^(host-.*|unknown-provider|not-in-aggregate|in-avoided-aggregate)$/;

/** `2 exceeds-capacity VCPU`, `2 hosts disabled`: how many hosts one reason refused. */
export function obstacleWords({
  code,
  about,
  message,
  hosts,
}: Pick<RefusedHosts, 'code' | 'about' | 'message' | 'hosts'>): string {
  if (code === 'unknown-provider') return `${hosts} not known to placement`;
  const state = code.slice('host-'.length).replace('-', ' ');
  const words = code.startsWith('host-') ? `${hosts === 1 ? 'host' : 'hosts'} ${state}` : code;
  const said = message === undefined ? '' : ` (${message})`;
  return `${hosts} ${words}${about === undefined ? '' : ` ${about}`}${said}`;
}
