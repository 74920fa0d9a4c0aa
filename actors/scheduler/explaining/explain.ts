// Saying why: what stood in the way of a request, on every host that the scheduler knows.

import { howMany, shortened } from '../../count-words.ts';
import { MAX_REASON_LENGTH } from '../../messages/common.ts';
import { type Absent, OTHER, type RefusedHosts, type RoomForSome } from '../../messages/decision.ts';
import type { Fleet } from '../ranking/ranking.ts';
import type { Request } from '../request.ts';
import type { View } from '../view/view.ts';
import { firstOnNamed, type OnNamed, wordsOnNamed } from './named-obstacles.ts';
import { nearestMiss, type Standing, standing } from './standing.ts';

/** Of the words that a failure may have, in characters, so many may be reasons. */
const MAX_REASONS_LENGTH = MAX_REASON_LENGTH / 4;

export interface WhyOptions {
  /** What alone keeps the request from fitting is said after it: a host that lacks more came near to nothing. */
  readonly isCauseTold?: boolean;
  /** What stands in the way on hosts that the request names, where that is known. */
  readonly onNamed?: readonly OnNamed[];
  /** For how many instances at once it was counted how hosts stand; default 1. */
  readonly count?: number;
}

/** What is said instead of numbers where there is nothing to count. */
export const NO_HOST_KNOWN = 'no host is known';

/** What is said of hosts that fit, where each was claimed. */
export const REFUSED_THE_CLAIM = 'refused the claim';

/** What is said of them where none was: by another count they have no room, or only now have. */
export const NOT_FOUND_IN_TIME = 'may have room that was not found in time';

/**
 * Why no host was left, in numbers that add up to all hosts.
 * @param count For how many instances at once.
 */
export function whyNone(fleet: Fleet, request: Request, count = 1, ofFitting = REFUSED_THE_CLAIM): string {
  return whyNoneOf(fleet, request, standing(fleet, request, count), ofFitting, { count });
}

/** That each instance would have a host alone is not enough. */
export function whyNoneTogether(
  fleet: Fleet,
  request: Request,
  count: number,
  stands: Standing,
  more: WhyOptions = {},
): string {
  const { hosts, fits } = stands;
  const first = `of ${howMany(hosts, 'host')}, ${fits} ${fits === 1 ? 'has' : 'have'} room for some`;
  const why =
    fits > 0
      ? whyOf(fleet, request, stands, { ...more, count, first })
      : whyNoneOf(fleet, request, stands, undefined, { ...more, count });
  return `no room for ${count} instances at once: ${why}`;
}

/** The same as `whyNone`, of how all hosts stand. */
export function whyNoneOf(
  fleet: Fleet,
  request: Request,
  stands: Standing,
  ofFitting = REFUSED_THE_CLAIM,
  more: WhyOptions = {},
): string {
  const { hosts, fits } = stands;
  if (hosts === 0) return NO_HOST_KNOWN;
  const first = fits > 0 ? `${fits} ${ofFitting}` : undefined;
  return `none of ${howMany(hosts, 'host')}: ${whyOf(fleet, request, stands, { ...more, first })}`;
}

/** `room for 3 of 5 instances: c1/h1 (2), c1/h4 (1)`. */
export function roomWords({ instances, of, hosts, named }: RoomForSome): string {
  const told = named.map((one) => `${one.cell}/${one.host} (${one.instances})`).join(', ');
  const more = hosts - named.length;
  const others = more > 0 ? ` and ${howMany(more, 'more host')}` : '';
  return `room for ${instances} of ${of} instances: ${told}${others}`;
}

/** @param options With what is said first of the hosts that fit, if any do. */
function whyOf(
  fleet: Fleet,
  request: Request,
  { refused }: Standing,
  { first, isCauseTold = false, onNamed, count = 1 }: WhyOptions & { first: string | undefined },
): string {
  const named = wordsOnNamed(onNamed ?? firstOnNamed(fleet, request, count));
  const told = [...(first === undefined ? [] : [first]), ...reasonsIn(refused)].join(', ');
  const near = nearestMiss(fleet, request, refused, { butLackingMore: isCauseTold, count });
  const nearly = near === null || named.some(({ place }) => near.startsWith(`${place}: `)) ? '' : `; nearest ${near}`;
  const absent = absentOf(fleet.view, request);
  const absence = absent === undefined ? '' : `; ${absenceWords(absent)}`;
  return `${named.map(({ words }) => `${words}; `).join('')}${told}${nearly}${absence}`;
}

/** The reasons as far as there is room for them, and how many hosts all others refused: what else is to be said follows. */
function reasonsIn(refused: readonly RefusedHosts[]): string[] {
  const told: string[] = [];
  let length = 0;
  for (const [position, one] of refused.entries()) {
    const words = obstacleWords(one);
    length += words.length;
    if (position > 0 && length > MAX_REASONS_LENGTH) {
      const hosts = refused.slice(position).reduce((sum, other) => sum + other.hosts, 0);
      return [...told, obstacleWords({ code: OTHER, hosts })];
    }
    told.push(words);
  }
  return told;
}

/** The list of the request that names nothing which is in the view, if there is one: the view itself has hosts. */
export function absentOf({ hosts }: Pick<View, 'hosts'>, { where, spec }: Request): Absent | undefined {
  if (hosts.size === 0) return undefined;
  if (where?.cells !== undefined && !isAnyIn(where.cells, hosts)) return 'cells';
  return spec.tree?.oneOf?.some((root) => hosts.has(root)) === false ? 'hosts' : undefined;
}

function isAnyIn(cells: readonly string[], hosts: View['hosts']): boolean {
  for (const { cell } of hosts.values()) if (cells.includes(cell)) return true;
  return false;
}

const ABSENCES: Readonly<Record<Absent, string>> = {
  cells: 'there is no such cell, or it has told of no host since the scheduler came up',
  hosts: 'there is no such host, or its cell has not told of it since the scheduler came up',
};

export const absenceWords = (absent: Absent): string => ABSENCES[absent];

/** Of codes that say too little by themselves. */
const MEANINGS: ReadonlyMap<string, string> = new Map([
  ['too-many-instances', ' (as many as they may have)'],
  ['too-many-builds', ' (building as many as they may)'],
]);

/** `2 exceeds-capacity VCPU`, `2 hosts disabled`: how many hosts one reason refused. */
export function obstacleWords({
  code,
  about,
  message,
  hosts,
}: Pick<RefusedHosts, 'code' | 'about' | 'message' | 'hosts'>): string {
  if (code === 'unknown-provider') return `${hosts} not known to placement`;
  if (code === OTHER) return `${hosts} for other reasons`;
  const state = code.slice('host-'.length).replace('-', ' ');
  const words = code.startsWith('host-') ? `${hosts === 1 ? 'host' : 'hosts'} ${state}` : code;
  const said = message === undefined ? (MEANINGS.get(code) ?? '') : ` (${message})`;
  return `${hosts} ${words}${about === undefined ? '' : ` ${shortened(about)}`}${said}`;
}
